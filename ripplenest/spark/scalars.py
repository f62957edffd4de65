"""The scalar functions as Spark columns: the same keys as ``nrc/functions/scalars.py``, with the same meanings.

Only ``pyspark.sql.functions`` and column operators, so that nothing a user wrote becomes SQL and Spark Connect works.
All of it needs ANSI mode and a UTC session. Doubles are canonical in and out: where an operation can make -0.0 of other
numbers, adding 0.0 takes the sign off (Spark's joins and groups do so by themselves, its output does not).
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
)

from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.functions.meanings import BEYOND, BEYOND_TYPE, DAY, ENDS, LOWER, NEAREST, NO_WINDOW, UPPER
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import MAX_DIGITS, canonical

Build = Callable[[Sequence[Column], Sequence[Base], Base], Column]

_EPOCH_DAY = date(1970, 1, 1).toordinal()


def spark_type(t: Base) -> DataType:
    """Spark's type for a base type; base types are one to one with Spark's."""
    match t.kind:
        case "bool":
            return BooleanType()
        case "int":
            return IntegerType()
        case "long":
            return LongType()
        case "double":
            return DoubleType()
        case "decimal":
            return DecimalType(t.precision, t.scale)
        case "string":
            return StringType()
        case "date":
            return DateType()
        case "timestamp":
            return TimestampType()
        case "binary":
            return BinaryType()
        case _:
            assert_never(t.kind)


def literal(value: object, t: Base) -> Column:
    """The canonical ``value`` of type ``t`` as a typed constant column; None is a typed NULL.

    Dates and timestamps go as numbers since 1970: the driver's own conversions pass through the machine's zone and
    through the Julian calendar, and move what lies before 1582.
    """
    match canonical(value, t):
        case datetime() as moment:
            since = moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)
            return F.timestamp_micros(F.lit(since // timedelta(microseconds=1)).cast(LongType()))
        case date() as day:
            return F.date_from_unix_date(F.lit(day.toordinal() - _EPOCH_DAY))
        case other:
            return F.lit(other).cast(spark_type(t))


def column(fn: str, args: Sequence[Column], types: Sequence[Base], result: Base) -> Column:
    """The column of ``fn`` of ``args``, which have exactly ``types``; ``result`` is the type that the rule gave."""
    if fn not in COLUMNS:
        raise UnknownName("there is no such function", got=ascii(fn), possible=COLUMNS)
    return COLUMNS[fn](args, types, result)


def _function(f: Callable[..., Column]) -> Build:
    return lambda args, _types, _result: f(*args)


def _cast(args: Sequence[Column], _: Sequence[Base], result: Base) -> Column:
    return args[0].cast(spark_type(result))


def _unsigned_zero(f: Callable[..., Column]) -> Build:
    """-0.0 + 0.0 is 0.0."""
    return lambda args, _types, _result: f(*args) + F.lit(0.0)


def _neg_decimal(args: Sequence[Column], _: Sequence[Base], result: Base) -> Column:
    """0 - x, which is exact; Spark's own minus rounds to 34 digits, and its abs uses that. Of 38 digits a difference
    has one less behind the point, so there the sign is taken off, or put on, as a letter."""
    x = args[0]
    if result.precision < MAX_DIGITS:
        return (F.lit(Decimal(0)) - x).cast(spark_type(result))
    negative = F.concat(F.lit("-"), x.cast(StringType())).cast(spark_type(result))
    return F.when(x < F.lit(0), _unsigned(x, result)).otherwise(negative)


def _unsigned(x: Column, t: Base) -> Column:
    """The absolute value, in which all digits are kept."""
    return F.regexp_replace(x.cast(StringType()), "^-", "").cast(spark_type(t))


def _abs_decimal(args: Sequence[Column], types: Sequence[Base], result: Base) -> Column:
    return F.when(args[0] < F.lit(0), _neg_decimal(args, types, result)).otherwise(args[0])


def _if(condition: Column, a: Column, b: Column) -> Column:
    return F.when(condition, a).otherwise(b)


def _quotient(args: Sequence[Column], _: Sequence[Base], result: Base) -> Column:
    """What is divided without a rest, as decimals: Spark's ``/`` of integers is one of doubles."""
    a, b = args
    rest, exact = a % b, DecimalType(20, 0)
    floored = F.when((rest != F.lit(0)) & ((rest < F.lit(0)) != (b < F.lit(0))), rest + b).otherwise(rest)
    return ((a.cast(exact) - floored.cast(exact)) / b.cast(exact)).cast(LongType()).cast(spark_type(result))


def _monus(args: Sequence[Column], _: Sequence[Base], result: Base) -> Column:
    """The difference is asked for only where it is above 0, so only there it overflows."""
    a, b = args
    return F.when(a <= b, F.lit(0).cast(spark_type(result))).otherwise(a - b)


def _least(a: Column, b: Column) -> Column:
    """NULL beside a number is NULL; Spark's own least leaves NULLs out."""
    return F.when(a <= b, a).when(a > b, b)


def _fail(what: str) -> Column:
    return F.raise_error(F.lit(what))


def _to_int(args: Sequence[Column], types: Sequence[Base], _: Base) -> Column:
    """A decimal goes through long, which truncates it exactly; Spark's direct cast goes through a double."""
    x = args[0].cast(LongType()) if types[0].kind == "decimal" else args[0]
    return x.cast(IntegerType())


def _to_long(args: Sequence[Column], types: Sequence[Base], _: Base) -> Column:
    """2^63 fails (NaN is above it); Spark's cast gives 2^63 - 1."""
    x = args[0]
    if types[0].kind != "double":
        return x.cast(LongType())
    return F.when(x >= F.lit(2.0**63), _fail("long overflow")).otherwise(x.cast(LongType()))


def _rounded(args: Sequence[Column], _: Sequence[Base], result: Base) -> Column:
    """Spark's cast rounds as this does. Its minus rounds to 34 digits, so a sign is taken off as a letter."""
    x, greatest = args
    wide = Base("decimal", False, MAX_DIGITS, result.scale)
    found = x.cast(spark_type(wide))
    size = _unsigned(found, wide)
    checked = F.when(size > greatest, _fail(BEYOND_TYPE)).otherwise(found.cast(spark_type(result)))
    return F.when(greatest.isNotNull(), checked)


def _to_date(text: Column) -> Column:
    good = text.rlike(r"\A(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}\z")
    return F.when(~good, _fail("not a date as yyyy-MM-dd")).otherwise(text.cast(DateType()))


def _days_after(day: Column, n: Column) -> Column:
    since = F.unix_date(day).cast(LongType()) + n
    return F.when(_beyond(since, 1), _fail(BEYOND)).otherwise(F.date_from_unix_date(since.cast(IntegerType())))


def _micros_after(moment: Column, n: Column) -> Column:
    since = F.unix_micros(moment) + n
    return F.when(_beyond(since, DAY), _fail(BEYOND)).otherwise(F.timestamp_micros(since))


def _tumbled(numbered: Callable[[Column], Column], back: Callable[[Column, Column], Column]) -> Build:
    """How far ``x`` lies behind the start of its window, and so much ``back``."""

    def build(args: Sequence[Column], _types: Sequence[Base], _result: Base) -> Column:
        x, size, origin = args
        passed = F.pmod(F.pmod(numbered(x), size) - F.pmod(numbered(origin), size), size)
        is_none = (size <= F.lit(0)) & x.isNotNull() & origin.isNotNull()
        return F.when(is_none, _fail(NO_WINDOW)).when(size > F.lit(0), back(x, passed))

    return build


def _beyond(since: Column, each: int) -> Column:
    """Whether what is numbered since 1970, so many ``each`` day, is outside the years that there are."""
    first, last = (F.lit((d.toordinal() - _EPOCH_DAY) * each).cast(LongType()) for d in (date.min, date.max))
    return (since < first) | (since >= last + F.lit(each))


def _nearest(kind: str, is_last: bool) -> Build:
    """The greatest integer up to a decimal, or the least from there on."""
    rounded = F.floor if is_last else F.ceil
    return lambda args, _types, result: _within_ends(rounded(args[0]), kind, is_last).cast(spark_type(result))


def _nearest_after(kind: str, is_last: bool) -> Build:
    """In decimals, which do not overflow."""
    numbered, back = _NUMBERED[kind]

    def build(args: Sequence[Column], _types: Sequence[Base], _result: Base) -> Column:
        since, n = (x.cast(DecimalType(20, 0)) for x in (numbered(args[0]), args[1]))
        return back(_within_ends(since + n, kind, is_last))

    return build


def _within_ends(x: Column, kind: str, is_last: bool) -> Column:
    """A whole decimal as a long, or the end of what there is of a kind where it is beyond; NULL beyond the other."""
    first, last = (F.lit(n).cast(LongType()) for n in ENDS[kind])
    found = x.cast(LongType())
    if is_last:
        return F.when(x > last, last).when(x >= first, found)
    return F.when(x < first, first).when(x <= last, found)


_NUMBERED: dict[str, tuple[Callable[[Column], Column], Callable[[Column], Column]]] = {
    "date": (F.unix_date, lambda since: F.date_from_unix_date(since.cast(IntegerType()))),
    "timestamp": (F.unix_micros, F.timestamp_micros),
}


def _mapped(table: dict[str, str]) -> Build:
    matching, replace = "".join(table), "".join(table.values())
    return lambda args, _types, _result: F.translate(args[0], matching, replace)


_ADD, _SUB = _function(lambda a, b: a + b), _function(lambda a, b: a - b)
_MUL, _MOD = _function(lambda a, b: a * b), _function(lambda a, b: a % b)
_NEG, _ABS = _function(lambda a: -a), _function(F.abs)

COLUMNS: dict[str, Build] = {
    "eq": _function(lambda a, b: a == b),
    "ne": _function(lambda a, b: a != b),
    "lt": _function(lambda a, b: a < b),
    "le": _function(lambda a, b: a <= b),
    "gt": _function(lambda a, b: a > b),
    "ge": _function(lambda a, b: a >= b),
    "same": _function(lambda a, b: a.eqNullSafe(b)),
    "and": _function(lambda a, b: a & b),
    "or": _function(lambda a, b: a | b),
    "not": _function(lambda a: ~a),
    "is_null": _function(lambda a: a.isNull()),
    "is_true": _function(lambda a: F.coalesce(a, F.lit(False))),
    "if": _function(_if),
    "coalesce": _function(F.coalesce),
    **{f"{op}_{kind}": f for op, f in (("add", _ADD), ("sub", _SUB)) for kind in ("int", "long", "double", "decimal")},
    **{f"mul_{kind}": _MUL for kind in ("int", "long", "decimal")},
    **{f"neg_{kind}": _NEG for kind in ("int", "long")},
    **{f"abs_{kind}": _ABS for kind in ("int", "long", "double")},
    "neg_decimal": _neg_decimal,
    "abs_decimal": _abs_decimal,
    "mul_double": _unsigned_zero(lambda a, b: a * b),
    "neg_double": _unsigned_zero(lambda a: -a),
    "div_double": _unsigned_zero(lambda a, b: a / b),
    "floor": _unsigned_zero(lambda a: F.when(F.rint(a) > a, F.rint(a) - F.lit(1.0)).otherwise(F.rint(a))),
    "ceil": _unsigned_zero(lambda a: F.when(F.rint(a) < a, F.rint(a) + F.lit(1.0)).otherwise(F.rint(a))),
    "round": _unsigned_zero(F.rint),  # Spark's own floor and ceil are longs, of NaN 0
    "mod_int": _MOD,
    "mod_long": _MOD,
    **{f"quotient_{kind}": _quotient for kind in ("int", "long")},
    **{f"monus_{kind}": _monus for kind in ("int", "long")},
    **{f"least_{kind}": _function(_least) for kind in ("int", "long")},
    "to_int": _to_int,
    "to_long": _to_long,
    "to_double": _cast,
    "to_decimal": _cast,
    "rounded": _rounded,
    "to_string": _cast,
    "to_date": _function(_to_date),
    "concat": _function(F.concat),
    "upper": _mapped(UPPER),
    "lower": _mapped(LOWER),
    "length": _function(F.length),
    "trim": _function(F.trim),
    "substring": _function(F.substring),
    "replace": _function(F.replace),
    "starts_with": _function(F.startswith),
    "ends_with": _function(F.endswith),
    "contains": _function(F.contains),
    "year": _function(F.year),
    "month": _function(F.month),
    "day": _function(F.dayofmonth),
    "days_between": _function(F.datediff),
    "days_after": _function(_days_after),
    "micros_after": _function(_micros_after),
    **{f"{op}_{kind}": _nearest(kind, is_last) for op, is_last in NEAREST.items() for kind in ("int", "long")},
    **{f"{op}_{kind}": _nearest_after(kind, is_last) for op, is_last in NEAREST.items() for kind in _NUMBERED},
    "tumble_long": _tumbled(lambda x: x, lambda x, n: x - n),
    "tumble_date": _tumbled(lambda x: F.unix_date(x).cast(LongType()), lambda x, n: _days_after(x, -n)),
    "tumble_timestamp": _tumbled(F.unix_micros, lambda x, n: _micros_after(x, -n)),
    "micros_between": _function(lambda a, b: F.unix_micros(a) - F.unix_micros(b)),
    "date_of": _function(F.to_date),
    "hour": _function(F.hour),
    "minute": _function(F.minute),
    "second": _function(F.second),
}
