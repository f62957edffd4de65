"""How far two values lie apart, whichever of them is greater, is said by two comparisons.

    |p - q| ≤ n  ⟶  p - q ≤ n ∧ q - p ≤ n        |p - q| > n  ⟶  p - q > n ∨ q - p > n

So with < and ≥, from the other side, of days, seconds and numbers, and of what is one of a wider type. No order is of
|p - q|, so all rows that something else does not tell would be read; p - q says where both ends lie.

Law: where ⟦t⟧ has a value, ⟦both t⟧ = ⟦t⟧.
"""

from ripplenest.nrc.rewriting.bands import AFTER, CASTS, SWAPPED
from ripplenest.nrc.syntax import Call, Elem, Lit

APART = frozenset((*AFTER, *(f"sub_{kind}" for kind in ("int", "long", "decimal"))))


def both(t: Elem) -> Elem | None:
    """The two comparisons that ``t`` is; None of all else."""
    match t:
        case Call(op, (a, b)) if op in SWAPPED:
            if (ways := _ways(a)) is not None:
                return Call("and" if op in ("lt", "le") else "or", tuple(Call(op, (way, b)) for way in ways))
            if (others := _ways(b)) is not None:
                return Call("and" if op in ("gt", "ge") else "or", tuple(Call(op, (a, way)) for way in others))
    return None


def _ways(t: Elem) -> tuple[Elem, Elem] | None:
    """p - q and q - p of |p - q|, as a number of whatever type it is."""
    match t:
        case Call(fn, (x, *beside)) if fn in CASTS and (ways := _ways(x)) is not None:
            return Call(fn, (ways[0], *beside)), Call(fn, (ways[1], *beside))
        case Call(fn, (x,)) if fn.startswith("abs_") and (other := _turned(x)) is not None:
            return x, other
    return None


def _turned(t: Elem) -> Elem | None:
    """q - p of p - q; None of what is no difference."""
    match t:
        case Call(fn, (p, q)) if fn in APART:
            return Call(fn, (q, p))
        case Call(fn, (x, *others)) if fn in CASTS and (other := _turned(x)) is not None:
            return Call(fn, (other, *others))
        case Call("mul_long", (x, Lit() as by)) if (other := _turned(x)) is not None:
            return Call("mul_long", (other, by))
        case Call("div_double", (x, Lit(float() as n) as by)) if n > 0 and (other := _turned(x)) is not None:
            return Call("div_double", (other, by))
    return None
