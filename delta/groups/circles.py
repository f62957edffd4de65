"""Groups that would be asked for by what they answer themselves.

A group with a domain has rows for the places that its readers ask for. Where one of these, a group or an inner bag, is
itself asked for at what the group answers elsewhere, the domains read each other in a circle, and nothing could be
built first:

    e = for k in K union sng⟨n: count(…k…)⟩        for r in e union … sum(q.n | q in e, q.n > r.n) …

The places of the sum have r.n, so they need the counts, of which the sum asks for others. So a reader in a circle gets
a copy of such a group for itself: no definition of a view is inside of itself, so in the end no circle is left.

Law (circles): a view has the same rows either way.
"""

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from attrs import evolve

from ripplenest.delta.groups.ranking import Ranking
from ripplenest.delta.groups.shared import Shared
from ripplenest.delta.groups.strata import Cut
from ripplenest.delta.program import Map
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.syntax import DictLit, Expr, GroupRel
from ripplenest.nrc.walk import nodes

if TYPE_CHECKING:
    import networkx as nx

Groups = tuple[Cut | Ranking, ...]
Sites = tuple[DictLit, ...]


def reading(maps: Iterable[Map]) -> "nx.DiGraph[str]":
    """Edges from what is read to the maps that read it, among ``maps``."""
    import networkx as nx  # noqa: PLC0415 - where programs are made, and not where rows of them are read

    graph: nx.DiGraph[str] = nx.DiGraph()
    every = [*maps]
    graph.add_nodes_from(m.name for m in every)
    graph.add_edges_from((read, m.name) for m in every for read in m.reads if read in graph)
    return graph


def circles(maps: Iterable[Map]) -> list[frozenset[str]]:
    """Those that read each other in a circle; none where ``maps`` have an order."""
    import networkx as nx  # noqa: PLC0415

    return [frozenset(c) for c in nx.strongly_connected_components(reading(maps)) if len(c) > 1]


def circle(maps: Iterable[Map]) -> frozenset[str]:
    """Some of them."""
    return min(circles(maps), key=sorted, default=frozenset())


def opened(
    flat: Expr, sites: Sites, groups: Groups, domains: Collection[str], fresh: Callable[[str], str]
) -> tuple[Sites, Groups]:
    """``sites`` and ``groups`` in which one reader has a group for itself; ``domains`` are the sites whose domains are
    in a circle, and ``fresh`` gives a site for the copy. What has one reader alone needs none. Raises
    LawBroken where nothing can be copied."""
    readers = [c.definition for c in groups] + [*sites]
    inside = [(d, c) for d in readers if d.site.name in domains for c in groups if c.name in domains]
    found = next(((d, c) for d, c in inside if _reads(d.body, c) and _reads_more(flat, readers, d, c)), None)
    if found is None:
        raise LawBroken("groups ask for each other in a circle", got=sorted(domains))
    reader, group = found
    copy, names = _copied(group, fresh(group.at))
    own = names.definition(reader)
    every = [evolve(c, definition=own) if c.definition is reader else c for c in groups]
    every.insert(every.index(group) + 1, copy)
    return tuple(own if d is reader else d for d in sites), tuple(every)


def _reads(e: Expr, group: Cut | Ranking) -> bool:
    return any(isinstance(n, GroupRel) and n.name == group.name for n in nodes(e))


def _reads_more(flat: Expr, readers: Iterable[DictLit], own: DictLit, group: Cut | Ranking) -> bool:
    """Whether another one than ``own`` reads it."""
    return any(_reads(e, group) for e in (flat, *(d.body for d in readers if d is not own)))


def _copied(group: Cut | Ranking, site: str) -> tuple[Cut | Ranking, Shared]:
    """The same at another site, and how its reader calls it."""
    kept = [group.kept] if isinstance(group, Ranking) else []
    names = Shared({name: f"{name.removesuffix(f'[{group.at}]')}[{site}]" for name in (group.name, *kept)})
    return evolve(names.cut(group), at=site), names
