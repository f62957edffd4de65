"""Where a column lies that is compared as a number of a wider type, in values of its own type.

Of x: long, to_double(x) > d is true of what is above ⌊d⌋, and false of what is below. So an edge is d in the type of x,
rounded in whatever direction, and not beyond the least and the greatest value that there is. Law: of all x but the edge
itself those on its side fulfil the condition, and no others; of the edge it is asked, as of all edges
(``vector/bands.py``). From 2⁵³ on several longs are one double: an edge there has no value, and says nothing.
"""

from decimal import Decimal
from math import inf

from ripplenest.nrc.functions.scalars import result_type
from ripplenest.nrc.functions.signatures import maybe_null
from ripplenest.nrc.rewriting.bands import WIDER
from ripplenest.nrc.types import DOUBLE, Base
from ripplenest.nrc.values import INT_BITS
from ripplenest.plan.product import Const, Op, Scalar

EXACT = 2.0**53


def narrowed(d: Scalar, own: Base) -> Scalar:
    """``d`` as a value of the type of the column, if it is wider (``nrc/rewriting/bands.py``); else as it is."""
    t = maybe_null(own, False)
    if (own.kind, d.type.kind) not in WIDER or maybe_null(d.type, False) == t:
        return d
    if own.kind == "decimal":
        most = Decimal((0, (9,) * t.precision, -t.scale))
        return _between(d, most.copy_negate(), most, t, _op("rounded", d, Const(most, t)))
    half, found = 1 << (INT_BITS[own.kind] - 1), _op(f"to_{own.kind}", d)
    if (own.kind, d.type.kind) == ("long", "double"):
        beyond = _op("ge", _op("abs_double", d), Const(EXACT, DOUBLE))
        return _op("if", beyond, _op("to_long", Const(inf, DOUBLE)), found)
    return found if _fits(d.type, half) else _between(d, -half, half - 1, t, found)


def _fits(t: Base, half: int) -> bool:
    """Whether all values of ``t`` are between ±``half``."""
    return t.kind == "decimal" and 10 ** (t.precision - t.scale) <= half


def _between(d: Scalar, least: Decimal | int, most: Decimal | int, t: Base, found: Scalar) -> Scalar:
    """``found``, or the least and the greatest value of type ``t`` where ``d`` is beyond them."""
    below, above = (Const(_beside(n, d.type), _kind(n, d.type, t)) for n in (least, most))
    rest = _op("if", _op("lt", d, below), Const(least, t), found)
    return _op("if", _op("gt", d, above), Const(most, t), rest)


def _beside(n: Decimal | int, other: Base) -> object:
    return {"double": float, "decimal": Decimal}.get(other.kind, int)(n)


def _kind(n: Decimal | int, other: Base, own: Base) -> Base:
    """The type of ``n`` beside a value of type ``other``."""
    if other.kind != "decimal" or own.kind == "decimal":
        return own if own.kind == "decimal" else maybe_null(other, False)
    return Base("decimal", False, len(str(abs(n))), 0)


def _op(fn: str, *args: Scalar) -> Op:
    return Op(fn, args, result_type(fn, [a.type for a in args]))
