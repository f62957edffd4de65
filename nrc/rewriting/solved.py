"""Equalities of sums of integers, and of days and moments with something added, as equalities with columns.

    p = q + 1  ⟶  p = at_most(q + 1) ∧ q = at_most(p - 1)
    p + q = r  ⟶  p + q = r ∧ p = at_most(r - q) ∧ q = at_most(r - p) ∧ r = at_most(p + q)

where p, q and r are columns of different rows, or days and moments that are computed of such. Sums are those of
decimals, which have no end (``exact.py``), and ``at_most`` is of the type of what is equated: what is beyond it equals
nothing. So rows are looked up by p and by q, and nothing fails; as it is written, a row might have no such sum, and all
would be looked at.

Law: where ⟦t⟧ has a value, ⟦solved t⟧ = ⟦t⟧; and it has one where p, q and r have.
"""

from collections.abc import Iterator, Sequence

from ripplenest.nrc.paths import column_of, root
from ripplenest.nrc.rewriting.normal import conjunction
from ripplenest.nrc.rewriting.sums import solved as solved_for
from ripplenest.nrc.syntax import Call, Elem, Lit
from ripplenest.nrc.types import LONG
from ripplenest.nrc.values import in_range
from ripplenest.nrc.walk import free_vars

AFTER = {"days_after": "date", "micros_after": "timestamp"}


def of_sums(p: Elem, q: Elem, kind: str) -> Elem | None:
    """``p`` = ``q``, decimals of integers of a ``kind``, solved for columns; None where there are none."""
    every = [*_columns(p, q, kind), *_columns(q, p, kind)]
    found = [Call("eq", side) for side in dict(every).items()]
    if len(found) == 2 and _are_each_other(every):
        return conjunction(found)
    return conjunction((Call("eq", (p, q)), *found)) if found else None


def _columns(own: Elem, other: Elem, kind: str) -> Iterator[tuple[Elem, Elem]]:
    """Columns that are added in ``own``, or are it, and the integer that each of them has to be."""
    added = ((x, rest) for x, rest, _ in solved_for(own, other, lambda fn, a, b: Call(fn, (a, b))))
    alone = ((own.args[0], other),) if isinstance(own, Call) and own.fn == "to_decimal" else ()
    for x, rest in (*added, *alone):
        if column_of(x) is not None and free_vars(rest) and root(x) not in free_vars(rest):
            yield x, Call(f"at_most_{kind}", (rest,))


def _are_each_other(found: Sequence[tuple[Elem, Elem]]) -> bool:
    """Whether each of two columns is the other one with a constant added: the greater one is, the greater is the other.
    Then where one is beyond its type, the other says so."""
    (x, a), (y, b) = found
    return all(isinstance(t, Call) and _moves(t.args[0], column) for t, column in ((a, y), (b, x)))


def _moves(t: Elem, column: Elem) -> bool:
    match t:
        case Call("to_decimal", (x,)):
            return x == column
        case Call("add_decimal" | "sub_decimal", (first, Lit())) | Call("add_decimal", (Lit(), first)):
            return _moves(first, column)
    return False


def of_moments(p: Elem, q: Elem) -> Elem | None:
    """``p`` = ``q``, of which one is a day or moment so much after another one, solved for both of them, if they are
    columns of different rows, or computed of such."""
    for own, other in ((p, q), (q, p)):
        match other:
            case Call(fn, (x, Lit(int() as n))) if fn in AFTER and in_range(-n, LONG.kind):
                if free_vars(own) and free_vars(x) and not free_vars(own) & free_vars(x):
                    at = f"at_most_{AFTER[fn]}"
                    sides = ((own, Call(at, (x, Lit(n, LONG)))), (x, Call(at, (own, Lit(-n, LONG)))))
                    return conjunction([Call("eq", side) for side in sides])
    return None
