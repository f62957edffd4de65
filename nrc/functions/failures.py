"""Which scalar functions have no value for some of their arguments: the one place that says so, beside the meanings.

An integer can overflow, a divisor can be 0, a cast can fail; that is all. What can fail is asked last, outside of maps
that hold more rows than are asked for, and only about labels in use, so each entry of the table that says it fails
costs something.

What can fail is asked last. Whether a scalar can fail is one fact, in its entry of the table (``fails`` in
``nrc/functions/scalars.py``, by types and constants); everything else is derived from it. A combination of rows for
which one condition is false or NULL is in no result, whatever its other conditions do; a view has no value when for
some combination one condition fails and none is false, or all are true and the head fails. So conditions that can fail
are evaluated only for combinations that fulfil all others (``nrc/rewriting/access.py``), and building a map is not
stricter than keeping it. A key can fail before it finds a partner: then the product is read again with that condition
among the last. On Spark what can fail is guarded, because the optimizer would push it below the join, and two
conditions that can fail are asked one after the other.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from attrs import frozen

from ripplenest.nrc.functions.meanings import DAY, micros_of_day
from ripplenest.nrc.types import Base

UNKNOWN = object()


@frozen
class Argument:
    """What is known of an argument before there are rows: its type, its value when it is a constant, whether it is
    ``natural``: never negative, and whether it is the text of a ``date``."""

    type: Base
    value: Any = UNKNOWN
    natural: bool = False
    date: bool = False


Fails = Callable[[Sequence[Argument]], bool]


def never(args: Sequence[Argument]) -> bool:  # noqa: ARG001
    return False


def always(args: Sequence[Argument]) -> bool:  # noqa: ARG001
    return True


def unless_date(args: Sequence[Argument]) -> bool:
    """A text as a date, unless it is put together of parts of dates."""
    return not args[0].date


def by_zero(args: Sequence[Argument]) -> bool:
    """x / y and x mod y, unless y is a constant other than 0."""
    divisor = args[1].value
    return divisor is UNKNOWN or divisor == 0


def by_zero_or_minus_one(args: Sequence[Argument]) -> bool:
    """x // y, unless y is a constant other than 0, and than -1, by which the least integer is beyond its type."""
    return by_zero(args) or args[1].value == -1


def by_negative(args: Sequence[Argument]) -> bool:
    """max(x - y, 0), unless y is known not to be negative: then it is x or less."""
    taken = args[1]
    known = taken.natural or (taken.value is not UNKNOWN and (taken.value is None or taken.value >= 0))
    return not known


def in_windows(args: Sequence[Argument]) -> bool:
    """The start of a window: its length is above 0, and none reaches back before the year 1, which begins a day."""
    x, size, origin = args
    if x.type.kind not in ("date", "timestamp") or UNKNOWN in (size.value, origin.value):
        return True
    if size.value is None or origin.value is None:
        return False
    day, passed = (1, 0) if x.type.kind == "date" else (DAY, micros_of_day(origin.value))
    return size.value <= 0 or bool(day % size.value or passed % size.value)


def beyond_greatest(args: Sequence[Argument]) -> bool:
    """A number as a decimal that is not above a greatest one: no, if that is as great as decimals of its type are, and
    they have room for all digits before the point, and one more for what is rounded up."""
    x, greatest = args
    if greatest.value is UNKNOWN or greatest.value is None:
        return greatest.value is UNKNOWN
    own, t = x.type, greatest.type
    digits = {"int": 10, "long": 19}.get(own.kind, own.precision - own.scale) + (own.scale > t.scale)
    return digits > t.precision - t.scale or greatest.value != Decimal((0, (9,) * t.precision, -t.scale))


def beyond(digits: int, *narrow: str) -> Fails:
    """Casts to an integer type that holds every number of ``digits`` digits, and every value of the kinds ``narrow``.

    Doubles are larger than any of them; decimals are cut off at the point.
    """

    def fails(args: Sequence[Argument]) -> bool:
        t = args[0].type
        return t.precision - t.scale > digits if t.kind == "decimal" else t.kind not in narrow

    return fails
