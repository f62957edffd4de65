"""Tasks of a real session that fail and are tried again, and its driver killed in the middle of a load, a build, an
insert, and of what a batch has tasks compute again."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag

MANY = 150_000
MOMENTS = 6


@rn.record
class Row:
    id: int
    tags: Bag[str]


DRIVER = """
import json, os, sys, time
sys.path.insert(0, {here!r})
import ripplenest as rn
from ripplenest.intake import operations
from pyspark import TaskContext
from pyspark.sql import SparkSession, functions as F
from test_spark_killed import MANY, Row, alike
from ripplenest.spark.session import MEANING

builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
for setting in MEANING:
    builder = builder.config(setting.key, setting.wanted[0])
spark = builder.getOrCreate()

def broken(i):
    context = TaskContext.get()
    if context.attemptNumber() == 0 and i % 50_000 == 49_000:
        if context.partitionId() % 2:
            os._exit(7)
        raise ValueError("the first attempt")
    return i

tags = F.array_repeat(F.lit("t"), (F.col("id") % 3).cast("int")).alias("tags")
whole = spark.range(0, MANY, 1, 5).select("id", tags)
lost = whole.select(F.udf(broken, "bigint", useArrow=False)("id").alias("id"), "tags")

def recomputed(moment):
    with rn.open({folder!r}, engine="spark", spark=spark, memory="16MiB") as db:
        start = time.time()
        with db.batch(policy="full") as b:
            b.insert("R", [dict(id=-moment - 1, tags=["t", "u"])])
        print(json.dumps([b.report.version, time.time() - start]), flush=True)

def created():
    with rn.open({folder!r}, engine="spark", spark=spark, memory="16MiB") as db:
        start = time.time()
        db.create(alike)
        print(json.dumps([db.version, time.time() - start]), flush=True)

def inserted(seq):
    operations.SPREAD = 1000
    rows = whole.withColumn("id", F.col("id") + seq * MANY)
    with rn.open({folder!r}, engine="spark", spark=spark, memory="16MiB") as db:
        start = time.time()
        with db.batch("s", seq, policy="incremental") as b:
            b.insert("R", rows)
        print(json.dumps([b.report.version, time.time() - start]), flush=True)

def load(name, df):
    with rn.open({folder!r}, engine="local", memory="16MiB") as db:
        db.relation(name, Row)
        start = time.time()
        print(json.dumps([db.load(name, df), time.time() - start]), flush=True)
"""


@rn.view
def alike(R: Bag[Row]):
    """Of each row, its tags, and the rows that go with it."""
    return [{"id": r.id, "tags": [t for t in r.tags if t != "u"], "half": [s.id for s in R if s.id == r.id]} for r in R]


def driver(folder: Path, scratch: Path, does: str) -> "subprocess.Popen[str]":
    code = DRIVER.format(here=str(Path(__file__).parent), folder=str(folder)) + does
    own = {"TMPDIR": str(scratch), "PYTHONPATH": str(Path(__file__).parent), "PYSPARK_PYTHON": sys.executable}
    environ = {**os.environ, **own}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": (scratch / "said").open("a"), "text": True}
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True, env=environ, **pipes)  # type: ignore[call-overload, no-any-return]


def check(folder: Path, name: str) -> bool:
    """Whether the rows are there, each once; and nothing is left of who was killed."""
    with rn.open(folder, engine="local") as db:
        with db.batch() as b:  # the next writer
            b.insert(name, [])
        found = db.relation(name).count()
        assert found in (0, MANY) and db.verify().ok and db.check_files() >= 0
        assert not db.usage.orphans
    return found == MANY


def staged(folder: Path) -> list[str]:
    return [p.name for p in folder.glob("staging/*")]


@pytest.mark.long
def test_tasks_that_fail_are_tried_again(tmp_path: Path) -> None:
    """By an error, and by the end of their process: each row is there once, and no file of them stays."""
    process = driver(tmp_path / "state", tmp_path, 'load("R", lost)\nload("S", whole)\n')
    assert process.stdout is not None
    said = [json.loads(line) for line in process.stdout]
    assert process.wait(60) == 0 and len(said) == 2
    for name in ("R", "S"):
        assert check(tmp_path / "state", name)
    assert not staged(tmp_path / "state")
    told = (tmp_path / "said").read_text()
    assert "the first attempt" in told and "exited unexpectedly" in told


@pytest.mark.long
def test_a_driver_that_is_killed(tmp_path: Path) -> None:
    """At moments spread over a load: the rows are there, or they are not, and the next load is the load."""
    seed = int(os.environ.get("RIPPLENEST_SEED", random.SystemRandom().randrange(2**32)))
    chance, folder, lost = random.Random(seed), tmp_path / "state", 0
    print(f"RIPPLENEST_SEED={seed}")
    for moment in range(MOMENTS):
        name = f"R{moment}"
        does = f'load("W{moment}", whole)\nsys.stdin.readline()\nload("{name}", whole)\n'
        process = driver(folder, tmp_path, does)
        assert process.stdin is not None and process.stdout is not None
        _, seconds = json.loads(process.stdout.readline())
        process.stdin.write("now\n")
        process.stdin.flush()
        time.sleep(min(seconds, 6) * (moment + chance.random()) / MOMENTS)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        time.sleep(1)  # until the workers have seen it
        lost += not (name in names(folder) and check(folder, name))
        again = driver(folder, tmp_path, f'load("{name}", whole)\n')
        assert again.stdout is not None
        assert json.loads(again.stdout.readline())[0] > 0
        assert again.wait(60) == 0 and check(folder, name)
    assert lost > 0 and not staged(folder)


@pytest.mark.long
def test_a_driver_that_is_killed_while_tasks_recompute(tmp_path: Path) -> None:
    """At moments spread over a batch: it is there, with all that it does to views, or it is not; and nothing stays."""
    chance, folder, lost = random.Random(11), tmp_path / "state", 0
    first = driver(
        folder,
        tmp_path,
        f"""load("R", whole)
with rn.open({str(folder)!r}, engine="spark", spark=spark) as db:
    db.create(alike)
recomputed(0)
""",
    )
    assert first.stdout is not None and first.wait(120) == 0
    _, (version, seconds) = map(json.loads, first.stdout)
    for moment in range(1, MOMENTS + 1):
        process = driver(folder, tmp_path, f"print(1, flush=True)\nrecomputed({moment})\n")
        assert process.stdout is not None and process.stdout.readline() == "1\n"
        time.sleep(min(seconds, 20) * (moment - 1 + chance.random()) / MOMENTS)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        time.sleep(1)  # until the workers have seen it
        with rn.open(folder, engine="local") as db:
            assert db.version in (version, version + 1)
            lost += db.version == version
            with db.batch() as b:  # the next writer
                b.insert("R", [])
            assert db.verify().ok and not db.usage.orphans
            assert db.view("alike").size == db.relation("R").size
            version = db.version
    assert lost > 0 and not staged(folder)


def begun(folder: Path, scratch: Path, does: str) -> tuple[int, float]:
    """What a driver that lives says of what it did last: the version, and in how many seconds."""
    process = driver(folder, scratch, does)
    assert process.stdout is not None
    *_, last = map(json.loads, process.stdout)
    assert process.wait(120) == 0
    return last[0], last[1]


def killed(folder: Path, scratch: Path, does: str, after: float) -> None:
    process = driver(folder, scratch, f"print(1, flush=True)\n{does}\n")
    assert process.stdout is not None and process.stdout.readline() == "1\n"
    time.sleep(after)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    time.sleep(1)  # until the workers have seen it


@pytest.mark.long
def test_a_driver_that_is_killed_while_tasks_build(tmp_path: Path) -> None:
    """At moments spread over a build: the view is there, or it is not; nothing stays, and it can be made."""
    chance, folder, lost = random.Random(12), tmp_path / "state", 0
    _, seconds = begun(folder, tmp_path, 'load("R", whole)\ncreated()\n')
    for moment in range(MOMENTS):
        with rn.open(folder, engine="local") as db:
            version = db.drop("alike")
        killed(folder, tmp_path, "created()", min(seconds, 20) * (moment + chance.random()) / MOMENTS)
        with rn.open(folder, engine="local") as db:
            assert db.version in (version, version + 1)
            lost += db.version == version
            with db.batch() as b:  # the next writer
                b.insert("R", [])
            assert not db.usage.orphans and not staged(folder)
            db.create(alike)
            assert db.verify().ok and db.view("alike").size == db.relation("R").size
    assert lost > 0


@pytest.mark.long
def test_a_driver_that_is_killed_while_tasks_insert(tmp_path: Path) -> None:
    """At moments spread over a batch: it is there, with all that it does to views, or it is not, and comes again."""
    chance, folder, lost, seq = random.Random(13), tmp_path / "state", 0, 2
    version, seconds = begun(folder, tmp_path, 'load("R", whole)\ncreated()\ninserted(1)\n')
    for moment in range(MOMENTS):
        after = min(seconds, 20) * (moment + chance.random()) / MOMENTS
        killed(folder, tmp_path, f"inserted({seq})", after)
        with rn.open(folder, engine="local") as db:
            assert db.version in (version, version + 1)
            done = db.version > version
            with db.batch() as b:  # the next writer
                b.insert("R", [])
            assert db.relation("R").count() == MANY * (seq + done) == db.view("alike").size
            assert not db.usage.orphans and not staged(folder)
            lost, seq, version = lost + (not done), seq + done, db.version
    begun(folder, tmp_path, f"inserted({seq})\n")
    with rn.open(folder, engine="local") as db:
        assert lost > 0 and db.relation("R").count() == MANY * (seq + 1) and db.verify().ok


def names(folder: Path) -> Any:
    with rn.open(folder, engine="local") as db:
        return db.relations
