"""Exact sums of doubles over DataFrames (``nrc/functions/reals.py``): a double is an integer of a power of two.

With b = max(⌊(⌊log₂|x|⌋ + 1020) / 32⌋, 0) and u = 2^(32b - 1074), x / u is an integer below 2⁸⁸, whichever way the
logarithm is rounded. It is cut into three digits of 32 bits, which are added up by b as decimals: nothing is rounded.
What a key has of each b, which are few, becomes one number where its row is made, in Python.
"""

from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, DoubleType

from ripplenest.nrc.functions import reals
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import MAX_DIGITS
from ripplenest.spark.scalars import literal, spark_type

BITS = 32  # of a digit
FIRST = 1020  # how far the least b is from the exponent of 1
UNSCALED = Base("decimal", False, MAX_DIGITS, 0)
NAMES = ("b", "d0", "d1", "d2")


def is_finite(x: Column) -> Column:
    """Whether it is a number that can be added; NULL is none."""
    return x.isNotNull() & ~F.isnan(x) & (F.abs(x) != F.lit(float("inf")))


def bucket(x: Column) -> Column:
    """b, 0 for what is not added."""
    b = F.floor((F.floor(F.log2(F.abs(x))) + FIRST) / BITS)
    return F.when(is_finite(x) & (x != 0), F.greatest(b, F.lit(0))).otherwise(F.lit(0)).cast("int")


def digits(x: Column, b: Column, weight: Column) -> list[Column]:
    """What rows add to each of the three digits, as often as they are there."""
    unit = F.pow(F.lit(2.0), b * BITS - reals.UNIT)
    whole = F.abs(x) / unit
    high = F.floor(whole / 2.0 ** (2 * BITS)).cast("double")
    rest = whole - high * 2.0 ** (2 * BITS)
    middle = F.floor(rest / 2.0**BITS).cast("double")
    low = rest - middle * 2.0**BITS
    signed = F.when(x < 0, -weight).otherwise(weight).cast(spark_type(UNSCALED))
    added = is_finite(x) & (x != 0)
    return [
        F.sum(F.when(added, d.cast("bigint").cast(spark_type(UNSCALED)) * signed).otherwise(literal(0, UNSCALED)))
        for d in (low, middle, high)
    ]


def together(b: Column, sums: list[Column]) -> Column:
    """The exact sum of what a key has of each b, as bytes."""
    parts = F.struct(*(c.alias(name) for c, name in zip([b, *sums], NAMES, strict=True)))
    found: Column = _together(F.collect_list(parts))
    return found


def answer(total: Column, n: Column, nans: Column, above: Column, below: Column) -> Column:
    """The double nearest to it, divided by ``n``."""
    found: Column = _answer(total, n, nans, above, below)
    return found


def _in_units(found: "pa.Array") -> "pa.Array":
    def one(buckets: list[dict[str, int]]) -> bytes:
        return reals.encoded(sum(int(p[d]) << BITS * (p["b"] + i) for p in buckets for i, d in enumerate(NAMES[1:])))

    return pa.array([None if p is None else one(p) for p in found.to_pylist()], pa.binary())


def _nearest(total: "pa.Array", n: "pa.Array", nans: "pa.Array", above: "pa.Array", below: "pa.Array") -> "pa.Array":
    rows = zip(*(column.to_pylist() for column in (total, n, nans, above, below)), strict=True)
    return pa.array([reals.answer(reals.decoded(t), m, *odd) if m else None for t, m, *odd in rows], pa.float64())


_together: Any = arrow_udf(_in_units, BinaryType())  # type: ignore[call-overload]  # it reads the types of the function
_answer: Any = arrow_udf(_nearest, DoubleType())  # type: ignore[call-overload]
