"""The shape of a view's maps: what their statements are derived from, whatever heads make of columns.

Two views are of one shape if their maps are, by their places: the same generators and conditions, but for the names of
maps and sites, and heads that read the same columns. Rows that are folded have equal heads, with values of equal types,
as other maps may hold sums of them (``delta/added.py``). Conditions have a value for all rows in both or in none, as
maps hold no others.
"""

from collections.abc import Iterator

from attrs import evolve, frozen

from ripplenest.delta.added import folded_values
from ripplenest.delta.compile import Front
from ripplenest.delta.program import Map
from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.normal import Comprehension, is_total
from ripplenest.nrc.syntax import Elem, InL, IsSite, OutL, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.walk import children, nodes, rebuild_elem

HOLE = Var("")


def names_of(f: Front) -> Iterator[str]:
    """The names of its maps and sites, by their places; those of parts are no names of its own."""
    yield from (m.name for m in f.maps)
    yield from (m.site.name for m in f.maps if m.site is not None)
    yield from (d.site.name for d in f.sites)
    for m in f.maps:
        for t in (t for c in m.products for t in (c.head, *c.conditions, *c.times)):
            for node in nodes(t):
                match node:
                    case InL(site) | IsSite(_, site) if site not in f.parts:
                        yield site
                    case OutL(_, site) if site.name not in f.parts:
                        yield site.name


def are_alike(old: Map, new: Map) -> bool:
    """Whether two maps are of one shape, if each product of them is (``is_alike``)."""
    if (old.kind, len(old.products), old.is_folded) != (new.kind, len(new.products), new.is_folded):
        return False
    return old.group is None or new.group is None or old.group.answers == new.group.answers


def is_alike(own: Comprehension, old: Comprehension, new: Comprehension, folded: bool) -> bool:
    """Whether the product ``old``, which is ``own`` with the names of the other view, is of the shape of ``new``."""
    if evolve(own, head=new.head) != new or _total(old) != _total(new):
        return False
    if folded:
        return own.head == new.head and _values(old) == _values(new)
    return own.head == new.head or _paths(own) == _paths(new)


def _total(c: Comprehension) -> list[bool]:
    return [is_total(t, c.variables()) for t in c.conditions]


def _values(c: Comprehension) -> list[object]:
    """What kinds of values are folded."""
    types = c.variables()
    return [(elem_type(t, types), is_total(t, types)) for t in folded_values(c.head) or ()]


def _paths(c: Comprehension) -> set[Elem]:
    """The longest paths into variables that the head reads."""
    return {*_read(c.head, frozenset(c.variables()))}


def _read(t: Elem, variables: frozenset[str]) -> Iterator[Elem]:
    if root(t) in variables:
        yield t
    else:
        for child in _children(t):
            yield from _read(child, variables)


@frozen
class Heads:
    """The heads of two products of one shape, with the variables that they read."""

    old: Elem
    new: Elem
    variables: frozenset[str]

    def put(self, made: Elem) -> Elem | None:
        """σ(new) where ``made`` is σ(old) for a σ of paths; None where it is not."""
        found: dict[Elem, Elem] = {}

        def bind(old: Elem, made: Elem) -> bool:
            if root(old) in self.variables:
                return found.setdefault(old, made) == made
            same = rebuild_elem(old, lambda _: HOLE) == rebuild_elem(made, lambda _: HOLE)
            return same and all(map(bind, _children(old), _children(made)))

        def put(t: Elem) -> Elem:
            return found[t] if root(t) in self.variables else rebuild_elem(t, put)

        return put(self.new) if bind(self.old, made) else None


def _children(t: Elem) -> tuple[Elem, ...]:
    found: tuple[Elem, ...] = children(t)  # type: ignore[assignment]  # those of elements are elements
    return found
