"""Every scalar function on both sides: the reference meaning and the Spark column give the same value, or both fail.

Families: every entry with every signature over edge values, as columns (compiled code) and as constants (folded by the
optimizer); constants alone; failures, which must be failures of both; the case mappings over all code points.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from itertools import product

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from support.edges import EDGES, I_MAX, I_MIN, INF, L_MAX, L_MIN, signatures

from ripplenest.nrc.errors import EvaluationError, UnknownName
from ripplenest.nrc.functions.scalars import SCALARS, apply, result_type
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import NAN, canonical
from ripplenest.spark.scalars import COLUMNS, column, literal, spark_type

ARROW = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "binary": pa.binary(),
}
Case = tuple[str, tuple[Base, ...], list[tuple[object, ...]], list[object]]


def split(fn: str, types: tuple[Base, ...], most: int = 500) -> Case:
    """Rows of edge values, at most ``most`` and without those for which the reference fails, and their results."""
    rows = list(product(*([None, *EDGES[t]] for t in types)))
    good, expected = [], []
    for row in rows[:: len(rows) // most + 1]:
        with suppress(EvaluationError):
            expected.append(apply(fn, *row))
            good.append(row)
    return fn, types, good, expected


@cache
def cases() -> list[Case]:
    """Every entry with every signature that has a value for some edge values."""
    return [split(fn, types) for fn in SCALARS for types in signatures(fn)]


def arrow_type(t: Base) -> pa.DataType:
    return pa.decimal128(t.precision, t.scale) if t.kind == "decimal" else ARROW[t.kind]


def exactly(value: object) -> object:
    """Tells 1 from 1.0 and True, 0.0 from -0.0, and 1.0 from 1.00."""
    return canonical(value, Base("timestamp")) if isinstance(value, datetime) else (type(value), repr(value))


def run(spark: SparkSession, cases: Sequence[Case]) -> list[list[object]]:
    """The results of each case, all in one query over one table that is as wide as all their arguments."""
    height = max(len(rows) for _, _, rows, _ in cases)
    columns: list[pa.Array] = [pa.array(range(height), pa.int64())]
    results: list[Column] = []
    for fn, types, rows, _ in cases:
        names = [f"c{len(columns) + j}" for j in range(len(types))]
        for j, t in enumerate(types):
            columns.append(pa.array([*(row[j] for row in rows), *[None] * (height - len(rows))], arrow_type(t)))
        results.append(column(fn, [F.col(n) for n in names], types, result_type(fn, types)).alias(f"r{len(results)}"))
    table = pa.table(columns, [f"c{i}" for i in range(len(columns))])
    frame = spark.createDataFrame(table).select("c0", *results)
    for field, (fn, types, _, _) in zip(frame.schema.fields[1:], cases, strict=True):
        assert field.dataType == spark_type(result_type(fn, types)), (fn, types)
    answer = frame.toArrow().sort_by("c0")
    return [answer[f"r{i}"].to_pylist()[: len(rows)] for i, (_, _, rows, _) in enumerate(cases)]


def differences(cases: Sequence[Case], results: Sequence[Sequence[object]]) -> list[object]:
    return [
        (fn, [str(t) for t in types], row, "expected", want, "got", got)
        for (fn, types, rows, expected), answers in zip(cases, results, strict=True)
        for row, want, got in zip(rows, expected, answers, strict=True)
        if exactly(want) != exactly(got)
    ]


def differing(spark: SparkSession, cases: Sequence[Case]) -> list[object]:
    return differences(cases, run(spark, cases))


def test_the_tables_have_the_same_functions() -> None:
    assert COLUMNS.keys() == SCALARS.keys()
    assert {fn for fn, _, rows, _ in cases() if rows} == SCALARS.keys()
    with pytest.raises(UnknownName, match="possible"):
        column("drop table", [], [], Base("int"))


def test_columns_agree(compiled: SparkSession) -> None:
    wrong = [d for i in range(0, len(cases()), 60) for d in differing(compiled, cases()[i : i + 60])]
    assert not wrong, "\n".join(map(str, wrong[:20]))


def test_folded_constants_agree(spark: SparkSession) -> None:
    """The last row of each case, which has no NULL, and its first, which has nothing else."""
    sample = [(fn, types, [rows[i]], [expected[i]]) for fn, types, rows, expected in cases() for i in (0, -1)]
    results = [
        column(fn, list(map(literal, row, types)), types, result_type(fn, types)).alias(str(i))
        for i, (fn, types, [row], _) in enumerate(sample)
    ]
    [answer] = spark.range(1).select(*results).toArrow().to_pylist()
    wrong = differences(sample, [[value] for value in answer.values()])
    assert not wrong, "\n".join(map(str, wrong[:20]))


def test_literals_are_typed_and_exact(spark: SparkSession) -> None:
    values = [(v, t) for t, edges in EDGES.items() for v in [None, *edges]]
    frame = spark.range(1).select(*[literal(v, t).alias(str(i)) for i, (v, t) in enumerate(values)])
    assert [f.dataType for f in frame.schema.fields] == [spark_type(t) for _, t in values]
    [answer] = frame.toArrow().to_pylist()
    assert [exactly(v) for v in answer.values()] == [exactly(v) for v, _ in values]


def test_case_mappings_and_trim_agree_on_all_code_points(spark: SparkSession) -> None:
    text = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    rows: list[tuple[object, ...]] = [("".join(text[i : i + 4096]),) for i in range(0, len(text), 4096)]
    blanks: list[tuple[object, ...]] = [(c + " x " + c,) for c in text[:0x3100]]
    string = (Base("string", True),)
    inputs = (("upper", rows), ("lower", rows), ("trim", blanks))
    assert not differing(spark, [(fn, string, r, [apply(fn, *row) for row in r]) for fn, r in inputs])


NOT_DATES = (
    *("", "2024", "2024-1-1", " 2024-01-01", "2024-01-01\n", "2023-02-29", "2024-13-01", "0000-01-01"),
    *("+2024-01-01", "12024-01-01", "2024-01-01T00:00:00", "２０２４-01-01"),
)
FAILURES: list[tuple[str, str, tuple[object, ...]]] = [
    *(("add_int", "int int", (I_MAX, 1)), ("sub_int", "int int", (I_MIN, 1)), ("mul_int", "int int", (I_MIN, -1))),
    *(("add_long", "long long", (L_MAX, 1)), ("sub_long", "long long", (L_MIN, 1))),
    *(("mul_long", "long long", (L_MIN, -1)), ("mod_int", "int int", (1, 0)), ("mod_long", "long long", (1, 0))),
    *(("quotient_int", "int int", (1, 0)), ("quotient_int", "int int", (I_MIN, -1))),
    *(("quotient_long", "long long", (0, 0)), ("quotient_long", "long long", (L_MIN, -1))),
    *(("neg_int", "int", (I_MIN,)), ("neg_long", "long", (L_MIN,))),
    *(("abs_int", "int", (I_MIN,)), ("abs_long", "long", (L_MIN,))),
    *(("div_double", "double double", (x, 0.0)) for x in (1.0, 0.0, NAN)),
    *(("to_int", "double", (x,)) for x in (NAN, INF, 2.0**31, -(2.0**31) - 1)),
    *(("to_long", "double", (x,)) for x in (NAN, INF, -INF, 2.0**63, -(2.0**63) - 2048)),
    ("to_int", "long", (I_MAX + 1,)),
    *(("monus_int", "int int", (I_MAX, -1)), ("monus_long", "long long", (0, L_MIN))),
    *(("to_date", "string", (x,)) for x in NOT_DATES),
]


def test_failures_agree(spark: SparkSession) -> None:
    """One query each: a failing row takes the whole query with it."""
    values = []
    for fn, kinds, row in FAILURES:
        types = [Base(kind) for kind in kinds.split()]  # type: ignore[arg-type]
        with pytest.raises(EvaluationError):
            apply(fn, *row)
        names = ["a", "b"][: len(row)]
        table = pa.table([pa.array([v], arrow_type(t)) for v, t in zip(row, types, strict=True)], names)
        args = [F.col(name) for name in names]
        frame = spark.createDataFrame(table).select(column(fn, args, types, result_type(fn, types)))
        with suppress(PySparkException):
            values.append((fn, row, frame.collect()))
    assert not values, "Spark has values where the reference fails"
