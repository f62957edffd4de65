"""The per-key step over DataFrames, for maps that are built where their rows are. Law: the rows are those of
``run/groups.py``, which has it for rows that are here.

Sums are of integers without a point, as decimals of 38 digits: Spark raises where one does not fit. A decimal becomes
its digits, and digits a decimal, through its text where Spark's · would cut off digits to keep to 38.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_, mul

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ripplenest.data.rows import WEIGHT
from ripplenest.nrc.functions.folds import DIGITS
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import MAX_DIGITS
from ripplenest.plan.groups import SPECIAL, UNSCALED, Accumulator, Answered, Folding
from ripplenest.spark import integers, reals
from ripplenest.spark.frames import scalar
from ripplenest.spark.scalars import literal, spark_type

FAR = 10  # digits of a quotient that are worked out by themselves
HALF = 18  # digits of the lower half of one of many digits
NARROW = 28  # digits of which no sum of as many rows as there can be leaves 38
EXACT = MAX_DIGITS - 2  # digits of both factors with which Spark's · keeps the scale


def folded(f: Folding, made: DataFrame) -> DataFrame:
    """The rows of a group as columns c0, …, w; of contributions in such columns."""
    keys = [f"c{i}" for i in range(f.keys)]
    there = F.when(F.col("s0") < 0, F.raise_error(F.lit("a group of rows that are there less than 0 times")))
    found = _summed(f, keys, made).filter(there.otherwise(F.col("s0") != 0))
    sums = f.accumulators
    answers = [] if f.is_endless else [_answer(a).cast(spark_type(a.type)) for a in f.answers]
    shown = answers if f.is_plain else [scalar(s, {0: answers}) for s in f.shown]
    columns = [*map(F.col, keys), *shown, *(F.col(f"s{i}") for i in range(len(sums)))]
    named = [c.cast(spark_type(t)).alias(f"c{i}") for i, (c, t) in enumerate(zip(columns, f.types, strict=True))]
    return found.select(*named, F.lit(1).cast("bigint").alias(WEIGHT))


def _summed(f: Folding, keys: Sequence[str], made: DataFrame) -> DataFrame:
    """The accumulators s0, … of each key. Doubles are added up by how large they are, and then together."""
    if f.is_endless:
        return _endless(f, keys, made)
    places = [i for i, a in enumerate(f.accumulators) if a.of == "real"]
    others = [(i, a) for i, a in enumerate(f.accumulators) if a.of != "real"]
    sums = [_sum(a, f).alias(f"s{i}") for i, a in others]
    if not places:
        return made.groupBy(*keys).agg(*sums)
    x = {i: F.col(f"c{f.accumulators[i].args[0]}") for i in places}
    sized = made.withColumns({f"b{i}": reals.bucket(x[i]) for i in places})
    digits = {i: reals.digits(x[i], F.col(f"b{i}"), F.col(WEIGHT)) for i in places}
    named = [d.alias(f"d{i}_{n}") for i, own in digits.items() for n, d in enumerate(own)]
    parts = sized.groupBy(*keys, *(f"b{i}" for i in places)).agg(*sums, *named)
    whole = [F.sum(f"s{i}").cast(spark_type(a.type)).alias(f"s{i}") for i, a in others]
    real = [reals.together(F.col(f"b{i}"), [F.col(f"d{i}_{n}") for n in range(3)]).alias(f"s{i}") for i in places]
    return parts.groupBy(*keys).agg(*whole, *real)


def _endless(f: Folding, keys: Sequence[str], made: DataFrame) -> DataFrame:
    """Sums of more digits than decimals have are added up by parts of their digits."""
    places = {i: [f.made[c] for c in a.args] for i, a in enumerate(f.accumulators) if a.of == "endless"}
    args = {i: [_digits(F.col(f"c{c}"), f.made[c]) for c in f.accumulators[i].args] for i in places}
    cut = made.withColumns({f"p{i}": integers.parts(own) for i, own in args.items()})
    sums = [
        (integers.sums(F.col(f"p{i}"), places[i], F.col(WEIGHT)) if i in places else _sum(a, f)).alias(f"s{i}")
        for i, a in enumerate(f.accumulators)
    ]
    whole = {f"s{i}": integers.together(F.col(f"s{i}")) for i in places}
    return cut.groupBy(*keys).agg(*sums).withColumns(whole)


def _sum(a: Accumulator, f: Folding) -> Column:
    """Over rows in which no argument is NULL, as often as they are there."""
    w, args = F.col(WEIGHT), [F.col(f"c{i}") for i in a.args]
    if a.of in SPECIAL:
        odd = F.isnan(args[0]) if a.of == "nan" else args[0] == F.lit(float(a.of))
        return F.sum(F.when(args[0].isNotNull() & odd, w).otherwise(literal(0, a.type)))
    factors = [w]
    if a.of == "sum":
        factors = [w.cast(spark_type(UNSCALED)), *(_digits(x, f.made[i]) for i, x in zip(a.args, args, strict=True))]
    counted = reduce(and_, [x if a.of == "true" else x.isNotNull() for x in args], F.lit(True))
    if a.of != "sum" or sum(_width(f.made[i]) for i in a.args) <= NARROW:
        return F.sum(F.when(counted, reduce(mul, factors)).otherwise(literal(0, a.type)))
    weight, *digits = factors
    high, low = _halves(reduce(mul, digits))
    totals = [F.sum(F.when(counted, half * weight).otherwise(literal(0, a.type))) for half in (high, low)]
    return totals[0] * literal(10**HALF, UNSCALED) + totals[1]


def _width(t: Base) -> int:
    """The digits of a value."""
    return t.precision if t.kind == "decimal" else DIGITS[t.kind]


def _halves(x: Column) -> tuple[Column, Column]:
    """What stands before the last digits of an integer, and these: sums of such do not overflow on the way."""
    low = x % literal(10**HALF, UNSCALED)
    return ((x - low) / literal(10**HALF, UNSCALED)).cast(spark_type(UNSCALED)), low


def _digits(x: Column, t: Base) -> Column:
    """A number without its point."""
    if t.kind != "decimal":
        return x.cast(spark_type(UNSCALED))
    if t.precision + t.scale + 1 <= EXACT:
        power = literal(10**t.scale, Base("decimal", False, t.scale + 1, 0))
        return (x * power).cast(spark_type(UNSCALED))
    return F.concat(x.cast("string"), F.lit(f"E{t.scale}")).cast(spark_type(UNSCALED))


def _answer(a: Answered) -> Column:
    n = F.col(f"s{a.count}")
    if a.fn == "any":
        return n > 0
    if a.fn == "all":
        return n == F.col("s0")
    if a.total is None:
        return n
    total = F.col(f"s{a.total}")
    if a.special is not None:
        odd = [F.col(f"s{i}") for i in a.special]
        return F.when(n != 0, reals.answer(total, n if a.fn == "avg" else F.lit(1).cast("bigint"), *odd))
    if a.fn == "avg" and a.type.kind == "double":
        return F.when(n != 0, total.cast("double") / n.cast("double"))
    digits = _mean(total, n, a.type.scale - a.scale) if a.fn == "avg" else total
    scaled = F.concat(digits.cast("string"), F.lit(f"E-{a.type.scale}")) if a.type.kind == "decimal" else digits
    return F.when(n != 0, scaled.cast(spark_type(a.type)))


def _mean(total: Column, n: Column, more: int) -> Column:
    """The digits of total / n, ``more`` than total has, halves away from 0."""
    size, by = F.abs(total), n.cast(spark_type(UNSCALED))
    rest = (size % by) * literal(2 * 10**more, UNSCALED) + by
    digits = _quotient(size, by) * literal(10**more, UNSCALED) + _quotient(rest, by * literal(2, UNSCALED))
    return F.when(total < 0, -digits).otherwise(digits)


def _quotient(a: Column, b: Column) -> Column:
    """The integer part of a / b, a ≥ 0 and b > 0, of up to 38 digits, in two steps: what is divided is a multiple, so
    that there is nothing to round, and of few enough digits for Spark to keep six behind the point."""
    large = b * literal(10**FAR, UNSCALED)
    rest = a % large
    high, low = (((x - x % y) / y).cast(spark_type(UNSCALED)) for x, y in ((a, large), (rest, b)))
    return high * literal(10**FAR, UNSCALED) + low
