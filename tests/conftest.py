"""What all tests share: one Spark session for the whole run, which worker runs what, and the settings below.

Hypothesis has no deadlines: the first example of a property pays for imports and for Spark's start, and would fail at
random. It draws the same examples in every run; the long tests draw others each time (``support/strategies.py``).
``pytest --golden-update`` writes the golden files anew instead of comparing with them (``support/golden.py``).
"""

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession
from support.counts import Counts
from support.sizes import RUN
from support.states import MEMORY
from support.wide import is_wide

from ripplenest.data import room
from ripplenest.nrc.border import VARIABLE
from ripplenest.spark.session import local_session

settings.register_profile("ripplenest", deadline=None, derandomize=True)
settings.load_profile("ripplenest")

SPARK = "spark"
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
os.environ[VARIABLE] = "full"  # a test that fails shows where
room.SCANT = 0  # rows that do not fit are few here, and rooms tiny

# Two workers and some hundred processes that tests start import the same modules: compiling them, and rewriting their
# assertions, each time costs more than most tests. Also where the environment says that Python is to write no bytecode.
WRITES_NONE = "PYTHONDONTWRITEBYTECODE"
os.environ.pop(WRITES_NONE, None)
sys.dont_write_bytecode = False

# Terms and rows have no cycles, and what was imported stays: looking for garbage in it is a tenth of a law's time.
gc.set_threshold(100_000, 20, 100)

# A JVM that lives for a minute never earns back what the second compiler and a collector with threads cost: half of it.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-update", action="store_true", help="write the golden files instead of comparing")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With workers (``make test``): what uses Spark shares one worker, and so one session; so does a module whose last
    test asks what the others covered. Everything else is spread. ``support/wide.py`` says what is not in
    ``make test``."""
    on_spark = {item.nodeid for item in items if SPARK in getattr(item, "fixturenames", ())}
    modules = {item.nodeid.partition("::")[0] for item in items if item.nodeid in on_spark}
    counting = {item.nodeid.partition("::")[0] for item in items if _counts(item)}
    for item in items:
        if is_wide(item.nodeid):
            item.add_marker(pytest.mark.wide)
        name = item.nodeid.partition("::")[0]
        counts = name in counting
        if item.nodeid in on_spark or (counts and name in modules):
            item.add_marker(pytest.mark.xdist_group(SPARK))
        elif counts:
            item.add_marker(pytest.mark.xdist_group(name))


def _counts(item: pytest.Item) -> bool:
    values = vars(item.module).values() if isinstance(item, pytest.Function) else ()
    return any(isinstance(value, Counter | Counts) for value in values)


def pytest_collection_finish() -> None:
    """What modules and tests are made of lives as long as the run does."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Each JVM that a test starts, also in another process: what is in the environment goes last, and so wins. And
    ``tmp_path`` is in memory: a test that commits waits for a disk longer than it computes."""
    RUN.long = "not long" not in config.option.markexpr
    os.environ["SPARK_SUBMIT_OPTS"] = f"{SHORT_LIVED} {os.environ.get('SPARK_SUBMIT_OPTS', '')}".strip()
    if MEMORY is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def pytest_unconfigure() -> None:
    """pytest looks for garbage five times when all is done: in nothing that was there before."""
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def counted_anew(request: pytest.FixtureRequest) -> None:
    """What a module counts is its own: a counter of ``support`` has what other modules of the same worker met."""
    for value in vars(request.module).values():
        if isinstance(value, Counter):
            value.clear()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Without generated code: thousands of small queries, each of which Spark would compile for a few rows."""
    session = local_session("ripplenest-tests")
    for key, value in INTERPRETED.items():
        session.conf.set(key, value)
    yield session
    session.stop()


@pytest.fixture
def compiled(spark: SparkSession) -> Iterator[SparkSession]:
    """The session as users have it, with generated code."""
    for key in INTERPRETED:
        spark.conf.unset(key)
    yield spark
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)


@pytest.fixture
def golden_update(pytestconfig: pytest.Config) -> bool:
    """Whether golden files are to be written."""
    return bool(pytestconfig.getoption("--golden-update"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory: many commits, and no need of a disk."""
    with TemporaryDirectory(dir=MEMORY) as path:
        yield Path(path)
