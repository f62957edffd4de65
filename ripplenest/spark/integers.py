"""Sums of products that may have more digits than a decimal, over DataFrames (``nrc/functions/integers.py``).

A product is made in Python, where integers have no end, and cut into digits of 32 bits with its sign, as many as the
types of its factors can make. These are added up as decimals, and become one number where a row is made, in Python.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, BinaryType, LongType

from ripplenest.nrc.functions.folds import bound
from ripplenest.nrc.functions.integers import encoded
from ripplenest.nrc.types import Base
from ripplenest.plan.groups import UNSCALED
from ripplenest.spark.scalars import spark_type

BITS = 32  # of a digit


def parts(factors: Sequence[Column]) -> Column:
    """The digits of the product of ``factors``, the lowest first; none where one of these is NULL."""
    found: Column = _parts(F.array(*factors))
    return found


def sums(digits: Column, types: Sequence[Base], weight: Column) -> Column:
    """What digits come to of rows that are there so often, each by itself; they are of products of such factors."""
    many = prod(map(bound, types)).bit_length() // BITS + 1
    each = (F.coalesce(F.get(digits, F.lit(i)), F.lit(0)).cast(spark_type(UNSCALED)) for i in range(many))
    return F.array(*(F.sum(digit * weight) for digit in each))


def together(found: Column) -> Column:
    """The integer that has such sums as its digits, as bytes."""
    whole: Column = _together(found)
    return whole


def _cut(rows: "pa.Array") -> "pa.Array":
    return pa.array([[] if None in row else _digits(prod(map(int, row))) for row in rows.to_pylist()], ROWS)


def _digits(n: int) -> list[int]:
    sign, rest = (-1, -n) if n < 0 else (1, n)
    return [sign * (rest >> at & (1 << BITS) - 1) for at in range(0, rest.bit_length(), BITS)]


def _encoded(found: "pa.Array") -> "pa.Array":
    rows = ([int(n) for n in row] for row in found.to_pylist())
    return pa.array([encoded(sum(n << BITS * i for i, n in enumerate(row))) for row in rows], pa.binary())


ROWS = pa.list_(pa.int64())
_parts: Any = arrow_udf(_cut, ArrayType(LongType()))  # type: ignore[call-overload]  # it reads the types of the function
_together: Any = arrow_udf(_encoded, BinaryType())  # type: ignore[call-overload]
