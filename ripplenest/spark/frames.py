"""Products as DataFrames: sources are renamed apart, joined in access order, and projected on the head.

Every column name here is one of ours (``s0_c1``); user names never reach Spark.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_, mul
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ripplenest.nrc.types import Base
from ripplenest.plan.access import Step, access
from ripplenest.plan.product import Col, Const, Op, Product, Scalar, sources_of
from ripplenest.rows import WEIGHT, Rows
from ripplenest.spark.scalars import column, literal, spark_type

SMALL_ROWS = 200_000
"""Inputs of up to this many rows are joined in one task: a shuffle costs more than it saves."""


def frame(spark: SparkSession, rows: Rows, prefix: str = "") -> DataFrame:
    """``rows`` with columns ``<prefix>c0``, …, ``<prefix>w``; one partition when they are few."""
    table = rows.arrow()
    df = spark.createDataFrame(table.rename_columns([prefix + name for name in table.column_names]))
    return df.coalesce(1) if len(rows) <= SMALL_ROWS else df


def product_frame(spark: SparkSession, p: Product, inputs: Sequence[Rows], types: Sequence[Base]) -> DataFrame:
    """The rows of a product: columns c0, … of ``types``, and w. Not summed."""
    frames = [frame(spark, rows, f"s{i}_") for i, rows in enumerate(inputs)]
    small = sum(map(len, inputs)) <= SMALL_ROWS
    return projected(_joined(spark, p, frames, small), p, types)


def projected(joined: DataFrame, p: Product, types: Sequence[Base]) -> DataFrame:
    """Head and weight of a product over its joined sources."""
    weights = [F.lit(p.weight).cast("bigint"), *(F.col(f"s{i}_w") for i in range(len(p.sources)))]
    head = [scalar(s).cast(spark_type(t)).alias(f"c{i}") for i, (s, t) in enumerate(zip(p.head, types, strict=True))]
    return joined.select(*head, reduce(mul, weights).alias(WEIGHT))


def _joined(spark: SparkSession, p: Product, frames: Sequence[DataFrame], small: bool) -> DataFrame:
    if not frames:
        return _filtered(spark.range(1).coalesce(1), p.conditions)
    joined: DataFrame | None = None
    seen: set[int] = set()
    waiting = list(p.conditions)
    for step in access(p):
        seen.add(step.source)
        ready = [c for c in waiting if sources_of(c) <= seen]
        waiting = [c for c in waiting if c not in ready]
        joined = _join(joined, frames[step.source], step, ready, small)
    assert joined is not None
    return joined


def _join(left: DataFrame | None, right: DataFrame, step: Step, conditions: list[Scalar], small: bool) -> DataFrame:
    if left is None:
        return _filtered(right, conditions)
    if not conditions:
        return left.crossJoin(right)
    hinted = right.hint("shuffle_hash") if small and step.keys else right
    return left.join(hinted, reduce(and_, map(scalar, conditions)), "inner")


def _filtered(df: DataFrame, conditions: Sequence[Scalar]) -> DataFrame:
    return df.filter(reduce(and_, map(scalar, conditions))) if conditions else df


def scalar(s: Scalar) -> Column:
    """A scalar over the renamed columns of a product's sources."""
    match s:
        case Col(source, number):
            return F.col(f"s{source}_c{number}")
        case Const(value, t):
            return literal(value, t)
        case Op(fn, args, t):
            return column(fn, [scalar(a) for a in args], [a.type for a in args], t)
        case _:
            assert_never(s)


def tagged(frames: Sequence[tuple[int, DataFrame]], types: Sequence[Sequence[Base]]) -> DataFrame:
    """Frames of several maps as one: ``tag``, one struct column per map (NULL in the rows of others), and w summed.

    One job then computes all of them; grouping is null-safe.
    """
    padded = [_padded(tag, df, types) for tag, df in frames]
    union = reduce(DataFrame.unionAll, padded)
    keys = ["tag", *(f"m{i}" for i in range(len(types)))]
    return union.coalesce(1).groupBy(*keys).agg(F.sum(WEIGHT).alias(WEIGHT)).filter(F.col(WEIGHT) != 0)


def _padded(tag: int, df: DataFrame, types: Sequence[Sequence[Base]]) -> DataFrame:
    structs = []
    for i, columns in enumerate(types):
        names = [f"c{j}" for j in range(len(columns))]
        nulls = [F.lit(None).cast(spark_type(t)).alias(n) for t, n in zip(columns, names, strict=True)]
        # A struct needs a field even when the map's rows have no column.
        own = [F.col(n) for n in names] if i == tag else nulls
        structs.append(F.struct(F.lit(0).alias("z"), *own).alias(f"m{i}"))
    return df.select(F.lit(tag).alias("tag"), *structs, WEIGHT)


def untagged(table: pa.Table, tag: int, types: tuple[Base, ...]) -> Rows:
    """The rows of one map out of the collected answer of ``tagged``."""
    own = table.filter(pc.equal(table.column("tag"), tag)).combine_chunks()
    struct = own.column(f"m{tag}").combine_chunks()
    arrays = [struct.field(f"c{j}") for j in range(len(types))]
    names = [*(f"c{j}" for j in range(len(types))), WEIGHT]
    return Rows.of_arrow(types, pa.Table.from_arrays([*arrays, own.column(WEIGHT).combine_chunks()], names=names))
