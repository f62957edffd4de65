"""Places of a map for which rows of several sources come together that belong to nobody: pairs, each with each.

A map that is kept for every place has a row for all values that its product has in the columns that say the place. They
are no more than one source has rows, if one row of it says them all, by what equals them and by rows that are found by
unique columns. Otherwise they are rows of several sources, joined by what many of both have: the items and the returns
of all documents that have the same line, where who asks has those of one document. Few of them are ever asked for.
"""

from collections.abc import Collection, Iterable, Iterator

from ripplenest.cost.estimate import Keys, column_names, dictionary_site, is_one
from ripplenest.nrc.paths import label_columns
from ripplenest.nrc.rewriting.equations import EQUALITIES, equations, place_told
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import Elem, Grouped, InL, Placed, Proj, Rel, Total, Var
from ripplenest.nrc.types import Site
from ripplenest.nrc.walk import free_vars


def paired(c: Comprehension, place: Iterable[Elem], whole: Collection[str], keys: Keys) -> list[str]:
    """The sources of the columns that say the ``place``, where no row of one source says them all; else none. Groups
    have rows of their own if they are kept ``whole``, and else for the places at which they are asked. ``keys``: by
    table the sets of columns that are unique."""
    columns = [t for column in place for t in _made_of(column)]
    asked = {var for t in columns for var in free_vars(t)}
    if len(asked) < 2:
        return []
    rows = (var for var, rel in c.generators if not isinstance(rel, Grouped) or _is_whole(rel, whole))
    return [] if any(_says(c, var, columns, keys) for var in rows) else sorted(asked)


def met(c: Comprehension, t: Elem, keys: Keys) -> bool:
    """Whether rows that the condition ``t`` of ``c`` equates are few of each other's, as far as is known: not those of
    an inner bag or of a place with those of others, or of a table with ``keys``, that have the same value of a column.
    """
    rels, ends = dict(c.generators), sorted(free_vars(t) & c.variables().keys())
    if len(ends) != 2 or not any(_place(rels[var]) for var in ends):
        return True
    return any(_finds(c, var, other, keys) for var, other in (ends, ends[::-1]))


def _finds(c: Comprehension, var: str, other: str, keys: Keys) -> bool:
    """Whether rows of ``other`` find few rows of ``var``: one, or those of a bag or place; or it is not known."""
    rel = dict(c.generators)[var]
    own = [a for a, b in equations(c, EQUALITIES) if free_vars(a) == {var} and free_vars(b) == {other}]
    columns = frozenset(name for t in own for name in column_names(t, c))
    place = _place(rel)
    if place and (Proj(Var(var), "label") in own or label_columns("label", place) <= columns):
        return True
    return is_one(rel, columns, keys) or not (place or keys.get(rel.name))


def _place(rel: Rel) -> Site | None:
    """What tells apart the bags, or the places, of which there are rows in ``rel``; None of a table that is one."""
    site = rel.place if isinstance(rel, Placed) else dictionary_site(rel)
    return site if site is not None and site.params else None


def _is_whole(rel: Grouped, whole: Collection[str]) -> bool:
    return rel.name in whole and not isinstance(rel, Total)  # which has a row for every place that there could be


def _made_of(t: Elem) -> Iterator[Elem]:
    if isinstance(t, InL):
        for _, arg in t.args:
            yield from _made_of(arg)
    else:
        yield t


def _says(c: Comprehension, var: str, columns: Iterable[Elem], keys: Keys) -> bool:
    """Whether a row of ``var`` says what all ``columns`` are."""
    equal = [*equations(c, EQUALITIES)]
    found, told = {var}, set[Elem]()

    def is_known(t: Elem) -> bool:
        return t in told or free_vars(t) <= found

    while True:
        told.update(a for a, b in equal if is_known(b))
        more = {v for v, rel in c.generators if v not in found and _is_found(c, v, keys, told, found)}
        if not more and all(a in told for a, b in equal if is_known(b)):
            return all(map(is_known, columns))
        found |= more


def _is_found(c: Comprehension, var: str, keys: Keys, told: set[Elem], found: set[str]) -> bool:
    """Whether what is known says one row of ``var``."""
    rel = dict(c.generators)[var]
    if isinstance(rel, Total):
        place = place_told(c, var, rel)
        return place is not None and free_vars(place) <= found
    own = (t for t in told if free_vars(t) == {var})
    return is_one(rel, frozenset(name for t in own for name in column_names(t, c)), keys)
