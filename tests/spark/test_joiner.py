"""The Spark engine against the Python engine, product by product: what random programs seldom have."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from ripplenest.delta.program import MapKind
from ripplenest.engine import PythonJoiner, Task
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, DOUBLE, LONG, STRING, Base, nullable
from ripplenest.nrc.values import NAN
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, Source
from ripplenest.rows import Rows
from ripplenest.spark.joiner import SparkJoiner

MAYBE = nullable(DOUBLE)
assert isinstance(MAYBE, Base)
EVERY = (
    BOOL,
    Base("int"),
    LONG,
    MAYBE,
    Base("decimal", True, 10, 2),
    Base("string", True),
    Base("date"),
    Base("timestamp"),
    Base("binary"),
)
ROWS = {
    (True, 1, 2**62, NAN, Decimal("1.50"), "é\x00`", date(1, 1, 1), datetime(1582, 10, 4, tzinfo=UTC), b"\x00"): 2,
    (False, -1, -(2**63), None, None, None, date(9999, 12, 31), datetime(9999, 12, 31, tzinfo=UTC), b""): -1,
    (False, -1, 0, 0.0, Decimal("-0.01"), "", date(1970, 1, 1), datetime(1969, 12, 31, tzinfo=UTC), b"x"): 3,
}


def made(name: str, types: tuple[Base, ...]) -> PlannedMap:
    return PlannedMap(name, MapKind.FLAT, types, (), ())


def same(spark: SparkSession, tasks: list[Task], maps: list[PlannedMap]) -> dict[str, dict[tuple[object, ...], int]]:
    expected = {name: rows.counts() for name, rows in PythonJoiner().join(tasks, maps).items()}
    assert {name: rows.counts() for name, rows in SparkJoiner(spark).join(tasks, maps).items()} == expected
    return expected


def copy(types: tuple[Base, ...]) -> Product:
    head: tuple[Scalar, ...] = tuple(Col(0, i, t) for i, t in enumerate(types))
    return Product((Source("T", At.DELTA, types),), (), head, 1)


def test_every_type_goes_there_and_back(spark: SparkSession) -> None:
    rows = Rows.of_counts(EVERY, ROWS)
    assert same(spark, [Task("m", copy(EVERY), (rows,))], [made("m", EVERY)]) == {"m": ROWS}


@pytest.mark.parametrize("holds", [True, False, None])
def test_products_without_sources(spark: SparkSession, holds: bool | None) -> None:
    """One row when the conditions are true, none when they are false or NULL."""
    p = Product((), (Op("eq", (Const(holds, BOOL), Const(True, BOOL)), BOOL),), (Const("a", STRING),), -3)
    found = same(spark, [Task("m", p, ())], [made("m", (STRING,))])
    assert found == {"m": {("a",): -3} if holds else {}}


def test_a_constant_condition_beside_sources(spark: SparkSession) -> None:
    never = Op("eq", (Const(1, LONG), Const(2, LONG)), BOOL)
    p = copy((LONG,))
    p = Product(p.sources, (never,), p.head, 1)
    rows = Rows.of_counts((LONG,), {(1,): 1})
    assert same(spark, [Task("m", p, (rows,))], [made("m", (LONG,))]) == {"m": {}}


def test_maps_without_columns_and_without_tasks(spark: SparkSession) -> None:
    """Rows of no column are counted; a map that nothing changes is in the answer; slots are shared by type."""
    rows = Rows.of_counts((LONG, STRING), {(1, "a"): 2, (2, "a"): 5})
    unit = Product((Source("T", At.DELTA, (LONG, STRING)),), (), (), 1)
    tasks = [Task("unit", unit, (rows,)), Task("both", copy((LONG, STRING)), (rows,)), Task("unit", unit, (rows,))]
    maps = [made("unit", ()), made("both", (LONG, STRING)), made("idle", (STRING, STRING))]
    found = same(spark, tasks, maps)
    assert found == {"unit": {(): 14}, "both": {(1, "a"): 2, (2, "a"): 5}, "idle": {}}


def test_weights_beyond_64_bits_are_refused(spark: SparkSession) -> None:
    rows = Rows.of_counts((LONG,), {(1,): 2**62})
    square = Product((Source("T", At.DELTA, (LONG,)),) * 2, (), (Col(0, 0, LONG),), 1)
    for joiner in (PythonJoiner(), SparkJoiner(spark)):
        with pytest.raises(EvaluationError):
            joiner.join([Task("m", square, (rows, rows))], [made("m", (LONG,))])
