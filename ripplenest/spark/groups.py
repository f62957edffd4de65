"""The per-key step over DataFrames, for maps that are built where their rows are. Law: the rows are those of
``run/groups.py``, which has it for rows that are here.

Sums are of integers without a point, as decimals of 38 digits: Spark raises where one does not fit. A decimal becomes
its digits, and digits a decimal, through its text where Spark's · would cut off digits to keep to 38.
"""

from functools import reduce
from operator import and_, mul

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ripplenest.data.rows import WEIGHT
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import MAX_DIGITS
from ripplenest.plan.groups import UNSCALED, Accumulator, Answered, Folding
from ripplenest.spark.scalars import literal, spark_type

EXACT = MAX_DIGITS - 2  # digits of both factors with which Spark's · keeps the scale


def folded(f: Folding, made: DataFrame) -> DataFrame:
    """The rows of a group as columns c0, …, w; of contributions in such columns."""
    keys = [f"c{i}" for i in range(f.keys)]
    sums = [_sum(a, f).alias(f"s{i}") for i, a in enumerate(f.accumulators)]
    there = F.when(F.col("s0") < 0, F.raise_error(F.lit("a group of rows that are there less than 0 times")))
    found = made.groupBy(*keys).agg(*sums).filter(there.otherwise(F.col("s0") != 0))
    answers = [_answer(a) for a in f.answers]
    columns = [*map(F.col, keys), *answers, *(F.col(f"s{i}") for i in range(len(sums)))]
    named = [c.cast(spark_type(t)).alias(f"c{i}") for i, (c, t) in enumerate(zip(columns, f.types, strict=True))]
    return found.select(*named, F.lit(1).cast("bigint").alias(WEIGHT))


def _sum(a: Accumulator, f: Folding) -> Column:
    """Over rows in which no argument is NULL, as often as they are there."""
    w = F.col(WEIGHT)
    factors = [w.cast(spark_type(UNSCALED)), *(_digits(F.col(f"c{i}"), f.made[i]) for i in a.args)] if a.adds else [w]
    valid = reduce(and_, (F.col(f"c{i}").isNotNull() for i in a.args), F.lit(True))
    return F.sum(F.when(valid, reduce(mul, factors)).otherwise(literal(0, a.type)))


def _digits(x: Column, t: Base) -> Column:
    """A number without its point."""
    if t.kind != "decimal":
        return x.cast(spark_type(UNSCALED))
    if t.precision + t.scale + 1 <= EXACT:
        power = literal(10**t.scale, Base("decimal", False, t.scale + 1, 0))
        return (x * power).cast(spark_type(UNSCALED))
    return F.concat(x.cast("string"), F.lit(f"E{t.scale}")).cast(spark_type(UNSCALED))


def _answer(a: Answered) -> Column:
    if a.total is None:
        return F.col(f"s{a.count}")
    total = F.col(f"s{a.total}")
    scaled = F.concat(total.cast("string"), F.lit(f"E-{a.type.scale}")) if a.type.kind == "decimal" else total
    return F.when(F.col(f"s{a.count}") != 0, scaled.cast(spark_type(a.type)))
