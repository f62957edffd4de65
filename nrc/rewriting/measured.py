"""What lies between two moments is compared with a constant as a whole number, which says where rows lie.

    micros_between(a, b) / 1000000.0 < c  ⟶  micros_between(a, b) < n
    to_long(days_between(a, b)) < n  ⟶  days_between(a, b) < n
    coalesce(if(x is not NULL, x, NULL), y)  ⟶  coalesce(x, y)

More microseconds are no fewer seconds, so there is a least n whose seconds are not below c. The last one is ``x or y``
of what is false only where it is NULL.

Law: ⟦measured e⟧ = ⟦e⟧.
"""

from bisect import bisect_left
from contextlib import suppress

from ripplenest.nrc import interpret
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.syntax import Call, Elem, Expr, Lit
from ripplenest.nrc.types import INT, LONG
from ripplenest.nrc.walk import free_vars, rebuild, rebuild_elem

FARTHEST = 2**63 / 1e6 - 1  # seconds, whose microseconds have 64 bits
ROUNDED = 2**12  # microseconds, about which their number as a double may be off, and seconds of it


def measured(e: Expr) -> Expr:
    """``e``, a nested term."""
    return rebuild(e, measured, measured_elem, lambda d: d)


def measured_elem(t: Elem) -> Elem:
    """An element ``t``, and all that is in it."""
    t = rebuild_elem(t, measured_elem)
    match t:
        case Call(op, (a, b)) if op in SWAPPED:
            return _compared(a, op, b) or _turned(b, SWAPPED[op], a) or t
        case Call("coalesce", (Call("if", (Call("not", (Call("is_null", (x,)),)), same, Lit(None))), y)) if x == same:
            return Call("coalesce", (x, y))
    return t


def _turned(own: Elem, op: str, c: Elem) -> Elem | None:
    found = _compared(own, op, c)
    return None if found is None else Call(SWAPPED[op], found.args[::-1])


def _compared(own: Elem, op: str, c: Elem) -> Call | None:
    """``own`` beside a constant; None of what is neither seconds nor days."""
    match own, c:
        case Call("div_double", (Call("to_double", (Call("micros_between") as micros,)), Lit(1e6))), _:
            n = _bound(c, op in ("lt", "ge"))
            return None if n is None else Call(op, (micros, Lit(n, LONG)))
        case Call("to_long", (Call("days_between") as days,)), Lit(int() as n) if -(2**31) <= n < 2**31:
            return Call(op, (days, Lit(n, INT)))
    return None


def _bound(c: Elem, is_below: bool) -> int | None:
    """The least n whose seconds are not ``is_below`` the constant ``c``, or the greatest whose are not above it."""
    value = _value(c)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < FARTHEST:
        return None
    near = round(value * 1e6)
    around = range(near - ROUNDED, near + ROUNDED)
    beyond = (lambda n: n / 1e6 >= value) if is_below else (lambda n: n / 1e6 > value)
    return around[bisect_left(around, True, key=beyond)] - (not is_below)


def _value(c: Elem) -> object:
    """What is the same for all rows, as ``6 * 3600`` is; None of others, and of what has no value."""
    with suppress(EvaluationError):
        return None if free_vars(c) else interpret.elem(c, {})
    return None
