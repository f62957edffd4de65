"""How far one integer lies from another is compared as it is in mathematics, where no difference is too great.

    p - q ⋈ n  ⟶  to_decimal(p) - to_decimal(q) ⋈ to_decimal(n)      ⋈ ∈ {<, ≤, >, ≥}

A difference of integers can be beyond their type, as max - (-1) is, and what can fail is asked last: no order could be
kept of clicks that came half an hour after the one before, because one may be among them that has no such difference.
Compared with something it need not fail at all: Python compares so, and decimals have digits enough.

Law: where ⟦e⟧ has a value, ⟦exact e⟧ = ⟦e⟧; and it has one where nothing in e fails but such a difference.
"""

from decimal import Decimal

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.syntax import Call, Elem, Expr, Lit
from ripplenest.nrc.types import Base
from ripplenest.nrc.walk import rebuild, rebuild_elem

DIFFERENCES = ("sub_int", "sub_long")


def exact(e: Expr) -> Expr:
    """``e``, a nested term."""
    return rebuild(e, exact, exact_elem, lambda d: d)


def exact_elem(t: Elem) -> Elem:
    """An element ``t``, and all that is in it."""
    t = rebuild_elem(t, exact_elem)
    match t:
        case Call(op, (a, b)) if op in SWAPPED and (_is_difference(a) or _is_difference(b)):
            return Call(op, (_decimal(a), _decimal(b)))
    return t


def _is_difference(t: Elem) -> bool:
    """Whether it is what lies between two values. Of one that is moved by a constant bands tell where it lies."""
    match t:
        case Call(fn, (p, q)):
            return fn in DIFFERENCES and not isinstance(p, Lit) and not isinstance(q, Lit)
    return False


def _decimal(t: Elem) -> Elem:
    match t:
        case Call(_, (p, q)) if _is_difference(t):
            return Call("sub_decimal", (_decimal(p), _decimal(q)))
        case Lit(int() as value):
            return Lit(Decimal(value), Base("decimal", False, len(str(abs(value))), 0))
    return Call("to_decimal", (t,))
