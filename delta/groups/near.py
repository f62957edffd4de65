"""Totals of places that are told by those near them (``ripplenest/run/running.py``), in a product of a delta.

    for l in ΔDom union for b in R where k(b) = k(l) where at(b) ≤ at(l) union sng⟨l, v(b)⟩

Of places that come little is read of R, however many rows lie up to them. A map of sums in its place would be read up
to them, and have about as many rows.
"""

from ripplenest.nrc.paths import column_of
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import At, Call, Elem, Proj, Var
from ripplenest.nrc.types import Record
from ripplenest.nrc.walk import free_vars, nodes


def tells_near(c: Comprehension, part: str) -> bool:
    """Whether a product for the change of the places ``part`` is such a one: of one table, of which rows are told by
    equalities and by one comparison, perhaps of several columns, with all that a place has."""
    stored = [var for var, rel in c.generators if rel.at is not At.DELTA]
    places = [(var, rel.row) for var, rel in c.generators if rel.at is At.DELTA and rel.name == part]
    if len(stored) != 1 or len(places) != 1 or len(c.generators) != 2:
        return False
    ((place, row),) = places
    asked = [t for t in c.conditions if place in free_vars(t)]
    compared = [t for t in asked if isinstance(t, Call) and t.fn in (*SWAPPED, "or")]
    read = {n.field for t in asked for n in nodes(t) if isinstance(n, Proj) and n.of == Var(place)}
    every = isinstance(row, Record) and read == {*row.names}
    return len(compared) == 1 and every and all(_is_of_columns(t, place, stored[0]) for t in asked)


def _is_of_columns(t: Elem, place: str, other: str) -> bool:
    """Whether columns of the one are compared or equated with some of the other."""
    if not isinstance(t, Call) or t.fn not in ("eq", "same", "or", "and", *SWAPPED):
        return False
    if t.fn in ("or", "and"):
        return all(_is_of_columns(a, place, other) for a in t.args)
    sides = {*map(free_vars, t.args)}
    return sides == {frozenset((place,)), frozenset((other,))} and None not in map(column_of, t.args)
