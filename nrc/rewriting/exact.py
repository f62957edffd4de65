"""Sums and differences of integers are compared as they are in mathematics, where none is too great.

    p - q < n  ⟶  to_decimal(p) - to_decimal(q) < to_decimal(n)      so with +, and with ≤, > and ≥

A difference of integers can be beyond their type, as max - (-1) is, and what can fail is asked last: no order could be
kept of clicks that came half an hour after the one before, because one may be among them that has no such difference.
Compared with something it need not fail at all: Python compares so, and decimals have digits enough.

Law: where ⟦e⟧ has a value, ⟦exact e⟧ = ⟦e⟧; and it has one where nothing in e fails but such sums.
"""

from decimal import Decimal

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.syntax import Call, Elem, Expr, Lit
from ripplenest.nrc.types import LONG, Base
from ripplenest.nrc.walk import rebuild, rebuild_elem

DECIMAL = {
    "add_int": "add_decimal", "add_long": "add_decimal", "sub_int": "sub_decimal", "sub_long": "sub_decimal",
}  # fmt: skip
INTEGER = {"add_decimal": "add_long", "sub_decimal": "sub_long"}
MOST = 16  # terms of a sum, of which each takes one more digit, and a long takes 20 of 38


def exact(e: Expr) -> Expr:
    """``e``, a nested term."""
    return rebuild(e, exact, exact_elem, lambda d: d)


def exact_elem(t: Elem) -> Elem:
    """An element ``t``, and all that is in it."""
    t = rebuild_elem(t, exact_elem)
    match t:
        case Call(op, (a, b)) if op in SWAPPED and 1 < _terms(a) * _terms(b) <= MOST:
            return Call(op, (_decimal(a), _decimal(b)))
        case Call(op, (a, b)) if _of_integers(t) is not None:  # decimals of the view itself, which may be no integers
            return Call(op, (_marked(a), _marked(b)))
    return t


def told(t: Elem) -> Elem:
    """``t`` with its comparisons as they were before, for people, and for who asks what several say together."""
    t = rebuild_elem(t, told)
    return t if (found := _of_integers(t)) is None else found


def _of_integers(t: Elem) -> Elem | None:
    """The comparison of which ``t`` itself was made; None where it was made of none."""
    match t:
        case Call(op, (a, b)) if op in SWAPPED and any(isinstance(n, Call) and n.fn in INTEGER for n in (a, b)):
            return None if (p := _integer(a)) is None or (q := _integer(b)) is None else Call(op, (p, q))
    return None


def _terms(t: Elem) -> int:
    """Of how many values it is the sum, or the difference."""
    match t:
        case Call(fn, (p, q)) if fn in DECIMAL:
            return _terms(p) + _terms(q)
    return 1


def _decimal(t: Elem) -> Elem:
    match t:
        case Call(fn, (p, q)) if fn in DECIMAL:
            return Call(DECIMAL[fn], (_decimal(p), _decimal(q)))
        case Lit(int() as value):
            return Lit(Decimal(value), Base("decimal", False, len(str(abs(value))), 0))
    return Call("to_decimal", (t,))


def _marked(t: Elem) -> Elem:
    """The same number, of which ``_integer`` makes nothing."""
    match t:
        case Call("to_decimal"):
            return Call("to_decimal", (t,))
    return rebuild_elem(t, _marked)


def _integer(t: Elem) -> Elem | None:
    """What ``_decimal`` makes ``t`` of; None where it makes no such thing."""
    match t:
        case Call(fn, (a, b)) if fn in INTEGER:
            return None if (p := _integer(a)) is None or (q := _integer(b)) is None else Call(INTEGER[fn], (p, q))
        case Call("to_decimal", (x,)) if not (isinstance(x, Call) and x.fn == "to_decimal"):
            return x
        case Lit(Decimal() as value, Base(_, _, _, 0)):
            return Lit(int(value), LONG)
    return None
