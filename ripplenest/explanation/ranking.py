"""The first rows that a view asks for as facts and as text: which rows are kept, in which order, and what is read."""

from collections.abc import Iterator

from attrs import frozen

from ripplenest.data.labels import width as columns_of
from ripplenest.delta.groups.ranking import RANKED, ROW, Ranking
from ripplenest.delta.program import Map, MapKind
from ripplenest.explanation.facts import Facts
from ripplenest.explanation.lines import Line, equation, wrapped
from ripplenest.explanation.reads import column_names
from ripplenest.nrc.paths import path_of
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.printing.text import part, path
from ripplenest.nrc.rewriting.integers import as_integers
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Call, Elem, Expr, Order, Proj, Tuple, Var
from ripplenest.nrc.types import Label
from ripplenest.nrc.walk import free_vars, nodes, rebuild_elem

STEP = "what comes in is compared with the stored rows of its place; a deletion reads on from the last of them"
STEP_BEHIND = "the rows of a place that comes are read; a row that comes or goes is one of those of the places near it"
STEP_SO_FAR = "what comes or goes is followed from place to place, until one has the same first rows as before"
STEP_BETWEEN = "what comes or goes is compared with the first rows of all places that it is between the edges of"
SHOWN = {(True, False): "≤", (True, True): "<", (False, False): "≥", (False, True): ">"}
"""How rows compare with an edge that they are behind in an order, which may be descending, and the edge open."""


@frozen
class RankingFact:
    """The first ``limit`` rows by place: ``h`` makes the rows that the map ``kept`` has in order ``by``; ``lineage``
    are the columns of the place. ``nothing`` is what is shown of a place without rows, where every place has one.
    ``edge``: behind which column of the place its rows begin, or from which on if it is not ``open``, if they do;
    ``so_far``: how they compare with it, where that is not what orders them first; there they may have ``ends``.
    ``fits``: the conditions by which one row is in the orders of several places, each of which keeps it; ``holds``:
    what it has of each of these places."""

    name: str
    at: str
    kept: str
    h: Expr
    lineage: tuple[str, ...]
    by: tuple[str, ...]
    limit: int
    nothing: tuple[str, ...] | None
    edge: str | None
    open: bool
    so_far: str | None
    ends: bool
    fits: tuple[str, ...]
    holds: tuple[str, ...]


def ranking_facts(f: Facts) -> tuple[RankingFact, ...]:
    """All of them, inner ones first."""
    return tuple(_fact(f, m, m.ranking) for _, m, _ in f.steps if m.kind is MapKind.TOP and m.ranking is not None)


def _fact(f: Facts, m: Map, r: Ranking) -> RankingFact:
    lineage = column_names(m.row, tuple(range(columns_of(Label((r.site,))))))
    nothing = tuple(map(show_elem, r.nulls)) if r.total else None
    kept = f.stages.program.by_name[r.kept]
    edge = None if r.edge is None else lineage[columns_of(Label((r.definition.site,)))]
    is_open = r.edge is not None and r.edge.open
    by, so_far = tuple(map(_way, r.order)), None
    if r.edge is not None and r.edge.by is not None:
        own, down = show_elem(_named(r.edge.by.by)), r.edge.by.descending
        so_far = f"{own} {SHOWN[down, is_open]} {edge}"
        if r.edge.until is not None:
            last = lineage[columns_of(Label((r.definition.site,))) + 1]
            so_far += f" and {own} {SHOWN[not down, r.edge.until.open]} {last}"
    fits, holds = (tuple(dict.fromkeys(found)) for found in (_fits(kept, f), _holds(kept, f)))
    ends = r.edge is not None and r.edge.until is not None
    place = lineage, by, r.limit, nothing, edge, is_open, so_far, ends
    return RankingFact(m.name, m.at, r.kept, kept.term, *place, fits, holds)


def _fits(kept: Map, f: Facts) -> Iterator[str]:
    """What compares rows with what is around them by no equality."""
    for c in kept.products:
        places = _places(c, f)
        for t in c.conditions:
            if not _is_equality(t) and free_vars(t) & places and free_vars(t) - places:
                yield show_elem(as_integers(_around(t, places)))


def _holds(kept: Map, f: Facts) -> Iterator[str]:
    """What rows hold of what is around them, where no equality with a value of theirs says what that is."""
    for c in kept.products:
        places = _places(c, f)
        told = {own for t in c.conditions if _is_equality(t) for own in _of_places(t, places)}
        for t in _leaves(simplify_elem(Proj(c.head, ROW))):
            if {*_of_places(t, places)} - told:
                yield show_elem(as_integers(_around(t, places)))


def _places(c: Comprehension, f: Facts) -> frozenset[str]:
    """The variables of what is around."""
    domains = {m.name for m in f.stages.program.of_kind(MapKind.DOMAIN)}
    return frozenset(var for var, rel in c.generators if rel.name in domains)


def _is_equality(t: Elem) -> bool:
    return isinstance(t, Call) and t.fn in ("eq", "same")


def _of_places(t: Elem, places: frozenset[str]) -> Iterator[Elem]:
    """The columns of places that ``t`` reads."""
    return (n for n in nodes(t) if isinstance(n, Proj) and isinstance(n.of, Var) and n.of.name in places)


def _leaves(t: Elem) -> Iterator[Elem]:
    """The values that a row is made of."""
    if isinstance(t, Tuple):
        for _, own in t.fields:
            yield from _leaves(own)
    else:
        yield t


def _around(t: Elem, places: frozenset[str]) -> Elem:
    """``t`` with the paths of the view that columns of places are called by."""
    if isinstance(t, Proj) and isinstance(t.of, Var) and t.of.name in places:
        return path_of(t.field)
    return rebuild_elem(t, lambda part: _around(part, places))


def _way(o: Order) -> str:
    return show_elem(_named(o.by)) + " desc" * o.descending + (" nulls first" if o.nulls_first else " nulls last")


def _named(t: Elem) -> Elem:
    """What rows are ordered by, by the names of columns."""
    if isinstance(t, Proj) and t.of in (Var(RANKED), Proj(Var(RANKED), ROW)):
        return Var(t.field)
    return rebuild_elem(t, _named)


def ranked(f: Facts, width: int) -> Iterator[Line]:
    """Each: the rows that are kept, their order, and what reading the first ones costs."""
    for r in ranking_facts(f):
        yield "heading", f"  {part(r.name)}, of {path(r.at)}"
        yield from equation("h", r.h, width, 4)
        yield from wrapped("", "    lineage ", f"({', '.join(r.lineage)})" if r.lineage else "none: all rows", width)
        by = ", ".join(r.by) if r.by else "all columns"
        yield from wrapped("", "    first ", f"{r.limit:,} by {by}{_where(r)} in {part(r.kept)}", width)
        if r.nothing is not None:
            yield from wrapped("", "    every place has a row; that of nothing is ", f"⟨{', '.join(r.nothing)}⟩", width)
        yield from wrapped("access", "    ", _step(r), width, " ")
        if r.fits:
            shown = " and ".join(f"`{t}`" for t in r.fits)
            said = f"a row is kept once for each place that it fits by {shown}: up to the square of a group"
            yield from wrapped("access", "    ", said, width, " ")
        if r.holds:
            shown = ", ".join(f"`{t}`" for t in r.holds)
            said = f"a row is kept once for each place, of which it holds {shown}: up to the square of a group"
            yield from wrapped("access", "    ", said, width, " ")


def _step(r: RankingFact) -> str:
    if r.so_far is None:
        return STEP if r.edge is None else STEP_BEHIND
    return STEP_BETWEEN if r.ends else STEP_SO_FAR


def _where(r: RankingFact) -> str:
    """Which rows are the ones of a place, and how they are kept."""
    if r.so_far is not None:
        return f" of those with {r.so_far}, kept in the order of that"
    where = "" if r.edge is None else f" behind {r.edge}" if r.open else f" from {r.edge} on"
    return f"{where}, kept in this order"
