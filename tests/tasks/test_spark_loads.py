"""Loads of DataFrames by tasks of Spark: what ``test_shared_loads.py`` asks of jobs that are played."""

import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.relations import Order

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.errors import AlreadyLoaded, DuplicateKey, EnvironmentProblem, WrongColumns, WrongValue
from ripplenest.spark import workers
from ripplenest.state import compacting
from ripplenest.store import ranges
from ripplenest.store.commit import Draft
from ripplenest.store.ref import sorted_runs
from ripplenest.tasks import jobs, loads


@rn.view
def large(R: Bag[Order]):
    return [{"order": o.order, "lines": [i.line for i in o.items if i.qty > 1.0]} for o in R]


def orders(spark: SparkSession, many: int, partitions: int = 3) -> DataFrame:
    """Orders with 0 to 3 items each, in no order of their keys."""
    line = F.sequence(F.lit(1), (F.col("id") % 3).cast("int"))
    tags = F.array_repeat(F.lit("t"), (F.col("id") % 2).cast("int"))
    qty = F.when(F.col("id") % 5 > 0, F.col("id") / 4)
    item = F.transform(line, lambda n: F.struct(n.cast("bigint").alias("line"), qty.alias("qty"), tags.alias("tags")))
    items = F.when(F.col("id") % 3 > 0, item).when(F.col("id") % 2 > 0, F.array().cast(item_type()))
    note = F.when(F.col("id") % 7 > 0, F.concat(F.lit("é"), F.col("id").cast("string")))
    found = spark.range(0, many, 1, partitions)
    return found.select(((F.col("id") * 37) % many).alias("order"), note.alias("note"), items.alias("items"))


def item_type() -> str:
    return "array<struct<line:bigint,qty:double,tags:array<string>>>"


def declared(folder: Path, **keys: Any) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("R", Order, **keys)
    return db


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("staging/*"))


KEYS: list[dict[str, Any]] = [
    {"key": "order", "keys": {"items": "line"}},
    {"key": "order", "immutable": ("items", "items.tags")},
    {},
]


LONG = pytest.param(KEYS[0], marks=pytest.mark.long)


@pytest.mark.parametrize("keys", [LONG, *KEYS[1:]], ids=["keys", "arrays", "none"])
def test_tasks_load_what_the_driver_loads(spark: SparkSession, tmp_path: Path, keys: dict[str, Any]) -> None:
    """The same version, digest and rows; views, too; and again it is the same load, whoever has the rows."""
    df = orders(spark, 101)
    with declared(tmp_path / "whole", **keys) as whole, declared(tmp_path / "tasks", **keys) as tasks:
        if not keys:
            for db in (whole, tasks):
                db.create(large)
        whole.load("R", df.toArrow())
        assert tasks.load("R", df) == whole.version
        assert tasks._store.batches() == whole._store.batches()
        assert sorted(map(repr, tasks.relation("R").rows())) == sorted(map(repr, whole.relation("R").rows()))
        for db in (whole, tasks):
            assert db.verify().ok
        if not keys:
            assert tasks.view("large").rows() == whole.view("large").rows()
            assert whole.load("R", df.repartition(2)) == whole.version
            assert tasks.load("R", df.toArrow()) == tasks.version
            with pytest.raises(AlreadyLoaded):
                tasks.load("R", df.limit(7))
        assert left(tmp_path / "tasks") == [] and not tasks.usage.orphans


@pytest.mark.parametrize(
    "spoilt, error",
    [
        (lambda df: df.unionAll(df.filter(F.col("order") % 9 == 4)), DuplicateKey),
        (lambda df: df.withColumn("order", F.when(F.col("order") % 9 > 0, F.col("order"))), WrongValue),
        (lambda df: df.drop("note"), WrongColumns),
        (lambda df: df.filter("false").drop("note"), WrongColumns),
    ],
)
def test_tasks_find_what_the_driver_finds(spark: SparkSession, tmp_path: Path, spoilt: Any, error: type) -> None:
    """The first twenty rows that are wrong, by the numbers that they have among all, and nothing has changed."""
    df = spoilt(orders(spark, 101))
    with declared(tmp_path / "s", key="order") as db:
        with pytest.raises(error) as wanted:
            db.load("R", df.toArrow())
        with pytest.raises(error) as found:
            db.load("R", df)
        assert str(found.value) == str(wanted.value)
        assert db.version == 1 and left(tmp_path / "s") == [] and not db.usage.orphans


@pytest.mark.long
def test_a_task_that_fails_at_first(spark: SparkSession, tmp_path: Path) -> None:
    """Its files are nobody's, and its rows come once. (A local session does not try again, so both are tried here.)"""
    df = orders(spark, 60)
    with declared(tmp_path / "s") as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.SparkJobs, "on_rows", twice(jobs.SparkJobs.on_rows))
        db.load("R", df)
        assert len(db.relation("R").rows()) == 60 and db.verify().ok
        assert left(tmp_path / "s") == [] and not db.usage.orphans


def twice(on_rows: Any) -> Any:
    def done(*args: Any) -> Any:
        first, second = on_rows(*args), on_rows(*args)
        return {share: (first if share % 2 else second)[share] for share in second}

    return done


def test_what_spark_says_of_its_rows_stays(spark: SparkSession, tmp_path: Path) -> None:
    df = orders(spark, 30).withColumn("order", F.raise_error(F.lit("no such number")).cast("bigint"))
    with declared(tmp_path / "s", key="order") as db:
        with pytest.raises(Exception, match="no such number"):
            db.load("R", df)
        assert db.version == 1 and left(tmp_path / "s") == []
        assert db.load("R", orders(spark, 30)) == 2


def test_workers_that_do_not_see_the_folder(spark: SparkSession, tmp_path: Path) -> None:
    with declared(tmp_path / "s") as db, pytest.MonkeyPatch.context() as patch:
        gone = str(tmp_path / "gone")
        patch.setattr(loads.TaskLoads, "_here", lambda *_: loads.surroundings(gone, gone, 1 << 24))
        with pytest.raises(EnvironmentProblem, match="do not see the folder") as refused:
            db.load("R", orders(spark, 10))
        assert "toArrow" in str(refused.value) and db.version == 1


def test_rows_that_the_driver_has_are_no_job(spark: SparkSession, tmp_path: Path) -> None:
    local = spark.createDataFrame(orders(spark, 10).toArrow())
    assert local.isLocal()
    with declared(tmp_path / "s") as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs.SparkJobs, "on_rows", lambda *_: pytest.fail("a job"))
        assert db.load("R", local) == 2 and len(db.relation("R").rows()) == 10


def test_workers_without_this_package() -> None:
    """What Spark says of it is said as what is missing, and where; all else stays what it is."""
    with pytest.raises(EnvironmentProblem, match="do not have this package") as told, workers.told_without_us():
        raise PythonException("ModuleNotFoundError: No module named 'ripplenest'")
    assert "df.toArrow()" in str(told.value)
    with pytest.raises(EnvironmentProblem, match="a Python without pyarrow") as told, workers.told_without_us():
        raise PythonException("ModuleNotFoundError: No module named 'pyarrow.compute'")
    assert f"PYSPARK_PYTHON={sys.executable}" in str(told.value)
    with pytest.raises(PythonException, match="somebody_elses"), workers.told_without_us():
        raise PythonException("ModuleNotFoundError: No module named 'somebody_elses'")


def test_tasks_merge_what_was_inserted(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver writes nothing of it, and finds nothing left to merge."""
    monkeypatch.setattr(compacting, "LARGE", 0)
    monkeypatch.setattr(ranges, "LEAST", 1 << 11)
    df = orders(spark, 300).toArrow()
    with declared(tmp_path / "s", key="order", keys={"items": "line"}) as db:
        for n in range(3):
            with db.batch() as b:
                b.insert("R", df.slice(100 * n, 100))
        rows = sorted(map(repr, db.relation("R").rows()))
    with rn.open(tmp_path / "s", engine="spark", spark=spark) as db:
        monkeypatch.setattr(Draft, "_write", lambda *_, **__: pytest.fail("the driver merges"))
        assert db.compact(everything=True) > 300 and db.compact(everything=True) == 0
        segments = db._store.snapshot().table("R").segments
        assert len(segments) > 1 and len(sorted_runs(segments)) == 1
        assert sorted(map(repr, db.relation("R").rows())) == rows and not db.usage.orphans
    with rn.open(tmp_path / "s", engine="local") as db:
        assert db.verify().ok and left(tmp_path / "s") == []
