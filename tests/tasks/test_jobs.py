"""What jobs hand to whom: a task's rows to what works on them, each once and in their order, and its answer to the
driver, once."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import asdict
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from support.choices import Choices
from support.laws import law

import ripplenest as rn
from ripplenest.errors import EvaluationError, WrongColumns
from ripplenest.intake.faults import Fault
from ripplenest.tasks.jobs import AHEAD, Batches, Beside, OnRows, OnWork, SparkJobs


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(numbers)})


def numbers(batches: Batches) -> Iterator[int]:
    for b in batches:
        yield from b.column(0).to_pylist()


@law(examples=60)
def test_all_that_is_handed_on_comes_in_its_order(c: Choices) -> None:
    """However many batches there are, and whether who works on them reads all of them."""
    given = [[c.number(9) for _ in range(c.number(3))] for _ in range(c.number(4 * AHEAD))]
    read = c.number(sum(map(len, given)) + 2)
    with Beside(lambda batches: repr([n for n, _ in zip(numbers(batches), range(read), strict=False)])) as beside:
        for rows in given:
            beside.take(batch(*rows))
        assert beside.said() == repr([n for rows in given for n in rows][:read])


def test_what_goes_wrong_is_raised_where_rows_are_handed_on() -> None:
    def fails(batches: Batches) -> str:
        next(batches)
        raise ValueError("of no use")

    with pytest.raises(ValueError, match="of no use"), Beside(fails) as beside:
        beside.take(batch(1))
        for _ in range(1000):  # it does not need to see the rest of them
            time.sleep(0.001)
            beside.take(batch(2))
        pytest.fail("nobody heard of it")
    with pytest.raises(ValueError, match="of no use"), Beside(fails) as beside:
        beside.take(batch(1))
        beside.said()


@pytest.mark.parametrize("many", [0, 1, 3 * AHEAD])
def test_rows_that_do_not_all_come_are_answered_by_nobody(many: int) -> None:
    """Who works on them is not to take them for all rows of the partition."""
    ended: list[str] = []

    def sums(batches: Batches) -> str:
        try:
            found = str(sum(numbers(batches)))
        except BaseException as error:
            ended.append(type(error).__name__)
            raise
        ended.append(found)
        return found

    with pytest.raises(KeyError), Beside(sums) as beside:
        for _ in range(many):
            beside.take(batch(1))
        raise KeyError
    assert ended == ["RowsLost"]


def counting() -> type[OnRows]:
    """A job that leaves a file whenever it is asked, and says what it was given. Spark takes it to its tasks as it
    stands here."""

    class Counting(OnRows):
        @staticmethod
        def do(common: str, share: int, batches: Batches) -> str:
            table = pa.Table.from_batches(list(batches))
            (Path(common) / f"{share}-{time.monotonic_ns()}").touch()
            return f"{table.column_names} {[c.to_pylist() for c in table.columns]}"

    return Counting


def test_each_partition_is_asked_once(spark: SparkSession, tmp_path: Path) -> None:
    """Of many batches, of one row, and of none: names may hold anything, and come twice."""
    many = F.explode(F.sequence(F.lit(1), F.col("id") * F.col("id") + 1)).alias("a.`b")
    rows = spark.range(0, 5, 1, 5).filter("id != 3").select(many)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "3")
    try:
        found = SparkJobs(rows).on_rows(counting(), str(tmp_path))
        assert found == {i: f"['a.`b'] [{list(range(1, i * i + 2))}]" for i in (0, 1, 2, 4)}
        assert sorted(p.name.partition("-")[0] for p in tmp_path.iterdir()) == ["0", "1", "2", "4"]
        twice = SparkJobs(rows.limit(1).select("*", "*")).on_rows(counting(), str(tmp_path))
        assert list(twice.values()) == ["['a.`b', 'a.`b'] [[1], [1]]"]
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_each_piece_of_work_is_asked_once(spark: SparkSession, tmp_path: Path) -> None:
    class Doubling(OnWork):
        @staticmethod
        def do(common: str, own: str) -> str:
            (Path(common) / own).touch(exist_ok=False)
            return own * 2

    jobs, works = SparkJobs(spark.range(1)), [f"w{i}" for i in range(5)]
    assert jobs.on_work(Doubling, str(tmp_path), works) == [2 * own for own in works]
    assert jobs.on_work(Doubling, str(tmp_path), []) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == works


@rn.record
class Row:
    n: int


def test_rows_without_columns_are_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(3)
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Row)
        with pytest.raises(WrongColumns) as wanted:
            db.load("R", df.drop("id").toArrow())
        with pytest.raises(WrongColumns) as found:
            db.load("R", df.drop("id"))
        assert str(found.value) == str(wanted.value) and db.version == 1


@pytest.mark.parametrize("possible", [None, ("one", "two")])
def test_a_fault_is_itself_after_it_was_text(possible: tuple[str, ...] | None) -> None:
    fault = Fault.of(EvaluationError("no value", where="here", got=7, possible=possible))
    assert fault.possible == possible and Fault.of_json(json.loads(json.dumps(asdict(fault)))) == fault
