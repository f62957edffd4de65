"""The Spark session: a local one for those who bring none, and a check of those that are brought.

``local_session`` starts Spark on this machine, for many small jobs. ``MEANING`` are the settings that change what a
view means, and ``WORKING`` what it joins at all, so that they are set here and demanded of every other session
(``check_session``). The rest only changes how fast or how private the work is, and stays the user's choice in a session
of theirs.
"""

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyspark
from attrs import frozen
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ripplenest.errors import EnvironmentProblem
from ripplenest.nrc.arguments import kind
from ripplenest.nrc.errors import WrongValue
from ripplenest.spark.java import EXTRA, Java, find_java, java_home, quiet_home

OLDEST = (4, 1)
DRIVER_MEMORY = "RIPPLENEST_DRIVER_MEMORY"


# What Spark remembers of jobs for a page that is off: 1,000 of each, and tens of kB of heap for one, unless told.
_REMEMBERED = ("spark.ui.retainedJobs", "spark.ui.retainedStages", "spark.sql.ui.retainedExecutions")
# Each hash join of a task holds at least one page until the task ends, and all joins of a program may be one task. A
# page is an array with 16 bytes before it. One that is larger than a region of the heap takes two, and what the second
# one has left is nobody's: regions are of 1 MiB, up to 2 GB of heap.
PAGE_SIZE, SMALL_PAGE = "spark.buffer.pageSize", f"{(1 << 20) - 16}b"
SMALL_PAGES = (SMALL_PAGE, "1m")


@frozen
class Setting:
    """A setting that changes meaning: its key, the values that mean the same to the engine, and what it decides."""

    key: str
    wanted: tuple[str, ...]
    why: str

    def is_met(self, got: str | None) -> bool:
        """Spark takes names in any case, and keeps them as they were set."""
        return got is not None and got.casefold() in map(str.casefold, self.wanted)


MEANING = (
    Setting("spark.sql.ansi.enabled", ("true",), "overflow and failed casts raise"),
    Setting(
        "spark.sql.session.timeZone",
        ("UTC", "Etc/UTC", "Z", "+00:00", "GMT", "Etc/GMT", "Universal", "Etc/Universal", "Zulu", "Etc/Zulu"),
        "dates and fields of timestamps",
    ),
    Setting("spark.sql.timestampType", ("TIMESTAMP_LTZ",), "what the type timestamp is"),
    Setting("spark.sql.decimalOperations.allowPrecisionLoss", ("true",), "the types of decimal arithmetic"),
)


WORKING = (Setting("spark.sql.crossJoin.enabled", ("true",), "rows of two tables that no equality links"),)
NEEDED = (MEANING, WORKING)


def local_session(app: str = "ripplenest") -> SparkSession:
    """The active session when there is one, checked; else a local one on every core that this process may use.

    The driver has 2g of memory, or RIPPLENEST_DRIVER_MEMORY such as ``512m`` (read when the JVM starts, once).
    Raises EnvironmentProblem when Java is missing, Spark does not start, or the active session has another meaning.
    """
    active = _active()
    if active is not None:
        check_session(active)
        return active
    java = find_java()
    with _environment(_variables(java)), _private_files():
        return _start(app, _settings(_cores()), java)


def is_stopped(spark: SparkSession) -> bool:
    """Whether somebody has stopped it, here or in Java, of which pyspark tells nothing but by failing; sessions of
    Connect do."""
    if not isinstance(spark, SparkSession):
        return bool(getattr(spark, "is_stopped", False))
    try:
        return spark.sparkContext.defaultParallelism < 1
    except (AttributeError, Py4JError):
        return True


def check_session(spark: SparkSession, where: str = "open: spark") -> None:
    """Raise EnvironmentProblem, which names all that the session lacks: that it runs, a newer Spark, settings without
    which views would have another meaning, and such without which it refuses to join."""
    if not isinstance(getattr(spark, "version", None), str) or not hasattr(spark, "conf"):  # of Connect it is another
        raise WrongValue("not a session", where=where, wanted="a SparkSession", got=kind(spark))
    if is_stopped(spark):
        raise EnvironmentProblem(
            "the session was stopped", where=where, wanted="one that runs", possible=("open again, with a new one",)
        )
    other, refuses = ([(s, got) for s in known if not s.is_met(got := spark.conf.get(s.key))] for known in NEEDED)
    old = _numbers(spark.version) < OLDEST
    lacks = [
        *(["this Spark is too old"] if old else []),
        *([f"the session would give views another meaning ({_whys(other)})"] if other else []),
        *([f"the session cannot join {_whys(refuses)}"] if refuses else []),
    ]
    if lacks:
        version = [("spark.version", f"{'.'.join(map(str, OLDEST))} or newer", spark.version)] if old else []
        said = [*version, *((s.key, s.wanted[0], got) for s, got in (*other, *refuses))]
        raise EnvironmentProblem(
            "; ".join(lacks),
            where=where,
            wanted=", ".join(f"{key}={wanted}" for key, wanted, _ in said),
            got=", ".join(f"{key}={got}" for key, _, got in said),
            possible=("set them with spark.conf.set", "pass spark.newSession(), which has settings of its own"),
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _whys(wrong: Sequence[tuple[Setting, object]]) -> str:
    return "; ".join(setting.why for setting, _ in wrong)


def _active() -> SparkSession | None:
    """The session of this thread, else of this process."""
    try:
        return SparkSession.active()
    except PySparkException as error:
        if error.getCondition() == "NO_ACTIVE_OR_DEFAULT_SESSION":
            return None
        raise


def _start(app: str, settings: Mapping[str, str], java: Java) -> SparkSession:
    builder = SparkSession.builder.appName(app)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        raise EnvironmentProblem(
            "Spark did not start (what it said is on stderr)",
            where=str(java.path),
            got=error,
        ) from error


def _cores() -> int:
    """How many cores this process may use, which in a container is fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _settings(cores: int) -> dict[str, str]:
    scratch = _scratch()
    return {
        "spark.master": f"local[{cores}]",
        "spark.api.mode": "classic",
        **{setting.key: setting.wanted[0] for settings in NEEDED for setting in settings},
        # Nothing listens beyond this machine, and no other user of it reads our files.
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        **dict.fromkeys(_REMEMBERED, "20"),
        "spark.hadoop.fs.permissions.umask-mode": "077",
        "spark.local.dir": str(scratch / "local"),
        # Nothing is left in the current folder.
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.sql.catalogImplementation": "in-memory",
        # The terminal belongs to the program.
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f'-Dlog4j2.configurationFile={_LOGGING.as_uri()} "-Djava.io.tmpdir={scratch}"',
        "spark.driver.memory": _driver_memory(os.environ),
        PAGE_SIZE: SMALL_PAGE,
        # Many small jobs: re-planning between stages and 200 partitions cost more than the work, and the engine's plans
        # keep their shape from batch to batch, so that compiled code is worth keeping.
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.adaptive.enabled": "false",
        # Beyond this estimate, which for joins is the product of both sides, single partitions are spread.
        "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),
        "spark.sql.codegen.cache.maxEntries": "5000",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }


_LOGGING = Path(__file__).resolve().with_name("log4j2.properties")


def _driver_memory(environ: Mapping[str, str]) -> str:
    memory = environ.get(DRIVER_MEMORY, "2g")
    if not re.fullmatch(r"[1-9]\d*[kmgt]", memory):
        raise EnvironmentProblem("not an amount of memory", where=DRIVER_MEMORY, wanted="such as 2g", got=memory)
    return memory


@cache
def _scratch() -> Path:
    """A private folder of this process for Spark's own files, removed at exit."""
    folder = Path(tempfile.mkdtemp(prefix="ripplenest-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _variables(java: Java) -> dict[str, str | None]:
    """What the environment must say (None: not say) while Spark starts."""
    home = java_home(java) if java.source == EXTRA else quiet_home(java, _scratch()) or java_home(java)
    package = Path(pyspark.__file__).parent
    return {
        "JAVA_HOME": None if home is None else str(home),
        "PYSPARK_PYTHON": sys.executable,
        # Another Spark of the user must not lend its jars to this pyspark, unless it is where pyspark comes from.
        "SPARK_HOME": str(package) if (package / "jars").is_dir() else os.environ.get("SPARK_HOME"),
        "SPARK_REMOTE": None,
    }


@contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set(variables)
        yield
    finally:
        _set(before)


@contextmanager
def _private_files() -> Iterator[None]:
    """What starts here makes files for its owner alone: the JVM keeps the umask that it started with, and Spark's
    setting of one is for tables only, not for what a shuffle writes."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
