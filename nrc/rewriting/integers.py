"""Comparisons of sums and products of integers as they were before they became those of decimals, which
``nrc/rewriting/exact.py`` makes of them: for people, and for who asks what several say together."""

from decimal import Decimal

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.sums import MINUS, NEGATED, PLUS, TIMES
from ripplenest.nrc.syntax import Call, Elem, Lit
from ripplenest.nrc.types import LONG, Base
from ripplenest.nrc.walk import rebuild_elem

COMPARED = (*SWAPPED, "eq")
INTEGER = {PLUS: "add_long", MINUS: "sub_long", TIMES: "mul_long", NEGATED: "neg_long"}


def as_integers(t: Elem) -> Elem:
    """``t``, and all that is in it."""
    t = rebuild_elem(t, as_integers)
    return t if (found := of_integers(t)) is None else found


def of_integers(t: Elem) -> Elem | None:
    """The comparison of which ``t`` itself was made; None where it was made of none."""
    match t:
        case Call(op, (a, b)) if op in COMPARED and any(isinstance(n, Call) and n.fn in INTEGER for n in (a, b)):
            return None if (p := _integer(a)) is None or (q := _integer(b)) is None else Call(op, (p, q))
    return None


def _integer(t: Elem) -> Elem | None:
    """What became the decimal ``t``; None where nothing did."""
    match t:
        case Call(fn, args) if fn in INTEGER:
            found = [p for p in map(_integer, args) if p is not None]
            return Call(INTEGER[fn], tuple(found)) if len(found) == len(args) else None
        case Call("to_decimal", (x,)) if not (isinstance(x, Call) and x.fn == "to_decimal"):
            return x
        case Lit(Decimal() as value, Base(_, _, _, 0)):
            return Lit(int(value), LONG)
    return None
