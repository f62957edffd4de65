"""Totals of places that are told by those near them (``ripplenest/run/running.py``), in a product of a delta.

    for l in ΔDom union for b in R where k(b) = k(l) where at(b) ≤ at(l) union sng⟨l, v(b)⟩

Of places that come little is read of R, however many rows lie up to them. A map of sums in its place would be read up
to them, and have about as many rows.
"""

from collections.abc import Sequence

from ripplenest.nrc.paths import column_of, root
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.normal import Comprehension, is_total
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


def tells_moved(c: Comprehension, part: str) -> bool:
    """Whether a product for a change of ``part`` reads rows that lie between a value of it and the one that it was: by
    columns that are equal, if any, in the order of one that is compared with a value which says nothing else of the
    row.

    What an average passes when it moves is little, and a map that is read in no order would be read as far as all of
    it lies on one side.
    """
    changed = next((var for var, rel in c.generators if rel.at is At.DELTA and rel.name == part), None)
    every = (r.edges for j in joins(c) for r in j.reads() if {*r.via} <= {changed})
    found = [edges for edges in every if {v for b in edges for v in b.others} == {changed}]
    return changed is not None and any(_is_moved(c, changed, [b.condition for b in edges]) for edges in found)


def _is_moved(c: Comprehension, changed: str, compared: Sequence[Elem]) -> bool:
    """Whether what these conditions compare of the row ``changed`` is read by them alone, of rows that fulfil the
    conditions on them alone."""
    own = {t for t in c.conditions if free_vars(t) == {changed} and is_total(t, c.variables())}
    values = {n for t in compared for n in nodes(t) if isinstance(n, Proj) and root(n) == changed}
    others = (t for t in (c.head, *c.times, *c.conditions) if t not in compared and t not in own)
    read = {n for t in others for n in nodes(t)}
    return bool(compared) and not {v for v in values if column_of(v) is not None} & read


def _is_of_columns(t: Elem, place: str, other: str) -> bool:
    """Whether columns of the one are compared or equated with some of the other."""
    if not isinstance(t, Call) or t.fn not in ("eq", "same", "or", "and", *SWAPPED):
        return False
    if t.fn in ("or", "and"):
        return all(_is_of_columns(a, place, other) for a in t.args)
    sides = {*map(free_vars, t.args)}
    return sides == {frozenset((place,)), frozenset((other,))} and None not in map(column_of, t.args)
