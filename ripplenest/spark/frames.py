"""Products as DataFrames: sources are aliased apart, joined in access order, and projected on the head.

Every column name here is one of ours (``s0.c1``); user names never reach Spark.
"""

from collections.abc import Iterable, Sequence
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


Structs = Sequence[Sequence[Base]]


def few(inputs: Iterable[Rows]) -> bool:
    """True when joining ``inputs`` in one task beats a shuffle."""
    return sum(map(len, inputs)) <= SMALL_ROWS


def frame(spark: SparkSession, rows: Rows) -> DataFrame:
    """``rows`` with columns c0, …, w; one partition when they are few."""
    df = spark.createDataFrame(rows.arrow())
    return df.coalesce(1) if few([rows]) else df


class Frames:
    """DataFrames of the inputs of one job: rows that several products read go to Spark once."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._made: dict[int, tuple[Rows, DataFrame]] = {}
        self._nulls: dict[Base, Column] = {}

    def of(self, rows: Rows) -> DataFrame:
        if id(rows) not in self._made:
            self._made[id(rows)] = (rows, frame(self._spark, rows))
        return self._made[id(rows)][1]

    def product(self, p: Product, inputs: Sequence[Rows], tag: int, maps: Structs) -> DataFrame:
        """The rows of a product as rows of ``tagged``: those of map number ``tag``. Not summed."""
        frames = [self.of(rows).alias(f"s{i}") for i, rows in enumerate(inputs)]
        joined = _joined(p, frames, few(inputs)) if frames else self._constant(p)
        weights = [F.lit(p.weight).cast("bigint"), *(F.col(f"s{i}.{WEIGHT}") for i in range(len(frames)))]
        structs = [self._struct(i, types, p.head if i == tag else None) for i, types in enumerate(maps)]
        return joined.select(F.lit(tag).alias("tag"), *structs, reduce(mul, weights).alias(WEIGHT))

    def _constant(self, p: Product) -> DataFrame:
        """The one row of a product without sources, if its conditions hold."""
        return _filtered(self._spark.range(1).coalesce(1), p.conditions)

    def _struct(self, number: int, types: Sequence[Base], head: Sequence[Scalar] | None) -> Column:
        """The column m<number>: the row of that map, or NULLs in the rows of other maps."""
        own = [self._null(t) for t in types] if head is None else [scalar(s) for s in head]
        # A struct needs a field even when the map's rows have no column.
        fields = [F.lit(0).alias("z"), *(value.alias(f"c{j}") for j, value in enumerate(own))]
        return F.struct(*fields).alias(f"m{number}")

    def _null(self, t: Base) -> Column:
        if t not in self._nulls:
            self._nulls[t] = F.lit(None).cast(spark_type(t).simpleString())
        return self._nulls[t]


def _joined(p: Product, frames: Sequence[DataFrame], small: bool) -> DataFrame:
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
    """A scalar over the columns of a product's aliased sources."""
    match s:
        case Col(source, number):
            return F.col(f"s{source}.c{number}")
        case Const(value, t):
            return literal(value, t)
        case Op(fn, args, t):
            return column(fn, [scalar(a) for a in args], [a.type for a in args], t)
        case _:
            assert_never(s)


def tagged(frames: Sequence[DataFrame], maps: Structs, small: bool) -> DataFrame:
    """Products of several maps as one frame: ``tag``, one struct column per map, and w summed.

    One job then computes all of them, in one task when they are ``small``; grouping is null-safe.
    """
    keys = ["tag", *(f"m{i}" for i in range(len(maps)))]
    union = reduce(DataFrame.unionAll, frames)
    union = union.coalesce(1) if small else union
    return union.groupBy(*keys).agg(F.sum(WEIGHT).alias(WEIGHT)).filter(F.col(WEIGHT) != 0)


def untagged(table: pa.Table, tag: int, types: tuple[Base, ...]) -> Rows:
    """The rows of one map out of the collected answer of ``tagged``."""
    own = table.filter(pc.equal(table.column("tag"), tag)).combine_chunks()
    struct = own.column(f"m{tag}").combine_chunks()
    arrays = [struct.field(f"c{j}") for j in range(len(types))]
    names = [*(f"c{j}" for j in range(len(types))), WEIGHT]
    return Rows.of_arrow(types, pa.Table.from_arrays([*arrays, own.column(WEIGHT).combine_chunks()], names=names))
