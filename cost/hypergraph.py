"""The hypergraph of a product: what its generators, conditions and factors share.

Of φ(x_F) = ⊕_{x_B} ⊗_S ψ_S(x_S) (FAQ), a comprehension: vertices are classes of columns, which ``=`` and ``~`` make
equal; edges are generators, the other conditions on several generators, and the ⊗-factors of what is folded. F are the
classes of the keys, B all others. What only one generator has is summed where that is read, and so is a condition or a
factor of one: it is no vertex, and no edge. Nor is a class that is equated with a constant.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

import networkx as nx
from attrs import frozen

from ripplenest.nrc.paths import column_of
from ripplenest.nrc.printing.pretty import show_elem
from ripplenest.nrc.rewriting.access import Join
from ripplenest.nrc.syntax import Call, Elem, OutL, Proj
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Label, Record, Type
from ripplenest.nrc.walk import free_vars, rebuild_elem

Column = tuple[str, str]  # a generator, and a column of its rows


@frozen
class Edge:
    """``name``: the variable of a generator of ``table``, or the text of a condition or a factor."""

    kind: Literal["generator", "condition", "factor"]
    name: str
    vertices: frozenset[str]
    table: str = ""


@frozen
class Hypergraph:
    """``edges``, and the vertices that are ``free``: those of keys. A vertex has the name of the first of its columns.
    """

    edges: tuple[Edge, ...]
    free: frozenset[str]

    @property
    def vertices(self) -> frozenset[str]:
        """F and B."""
        return frozenset(chain(self.free, *(e.vertices for e in self.edges)))

    @property
    def bound(self) -> tuple[str, ...]:
        """B, which is folded away, by name."""
        return tuple(sorted(self.vertices - self.free))

    @property
    def tables(self) -> tuple[Edge, ...]:
        """The generators, which have rows; every vertex is one of theirs."""
        return tuple(e for e in self.edges if e.kind == "generator")


def hypergraph(j: Join, keys: Iterable[Elem], factors: Iterable[Elem] = ()) -> Hypergraph:
    """That of ``j``, whose rows are summed by ``keys``, each as often as ``times`` and ``factors`` say."""
    return _Reading(j, j.types).hypergraph(tuple(keys), (*j.product.times, *factors))


@frozen
class _Reading:
    """A product, and the types of its variables."""

    join: Join
    types: Mapping[str, Type]

    def hypergraph(self, keys: Sequence[Elem], factors: Sequence[Elem]) -> Hypergraph:
        classes, others = self._classes((*keys, *factors))
        free = frozenset(classes[c] for k in keys for c in self._columns(k))
        read = {
            (kind, t): frozenset(classes[c] for c in self._columns(t))
            for kind, found in (("condition", others), ("factor", factors))
            for t in found
            if len(self.join.sources(t)) > 1
        }
        own: dict[str, set[str]] = {var: set() for var, _ in self.join.product.generators}
        for (var, _), name in classes.items():
            own[var].add(name)
        constant = frozenset(classes[c] for c in self._constants())
        shared = frozenset(name for name in {*classes.values()} if sum(name in found for found in own.values()) > 1)
        wanted = (free | shared | frozenset(chain.from_iterable(read.values()))) - constant
        tables = (
            Edge("generator", var, frozenset(own[var]) & wanted, rel.key) for var, rel in self.join.product.generators
        )
        more = (Edge(kind, show_elem(t), found & wanted) for (kind, t), found in read.items())  # type: ignore[arg-type]
        return Hypergraph((*tables, *more), free & wanted)

    def _classes(self, read: Iterable[Elem]) -> tuple[dict[Column, str], list[Elem]]:
        """The class of every column that conditions and ``read`` have, and the conditions that equate no columns."""
        graph: nx.Graph[Column] = nx.Graph()
        others = []
        c = self.join.product
        for t in (*read, *c.conditions):
            graph.add_nodes_from(self._columns(t))
        for t in c.conditions:
            pairs = self._equal(t)
            graph.add_edges_from(pairs)
            if not pairs:
                others.append(t)
        place = {var: i for i, (var, _) in enumerate(c.generators)}
        found = {}
        for group in nx.connected_components(graph):
            var, column = min(group, key=lambda own: (place[own[0]], own[1]))
            found.update(dict.fromkeys(group, f"{var}.{column}"))
        return found, others

    def _equal(self, t: Elem) -> list[tuple[Column, Column]]:
        """The pairs of columns that a condition equates."""
        match t:
            case Call("eq" | "same", (a, b)) if column_of(a) is not None and column_of(b) is not None:
                left, right = [*self._columns(a)], [*self._columns(b)]
                return [*zip(left, right, strict=True)] if len(left) == len(right) else []
        return []

    def _constants(self) -> Iterator[Column]:
        """The columns that are equated with what no generator has."""
        for e in self.join.equations:
            if e.usable and not e.others:
                match e.condition:
                    case Call(_, (a, b)):
                        yield from self._columns(a)
                        yield from self._columns(b)

    def _columns(self, t: Elem) -> Iterator[Column]:
        """The columns of generators that ``t`` reads; of records and labels that are used whole, all of theirs."""
        column, sources = column_of(t), self.join.sources(t)
        if column is None or not sources:
            found: list[Column] = []

            def collect(part: Elem) -> Elem:
                found.extend(self._columns(part))
                return part

            if free_vars(t):
                rebuild_elem(t, collect)
            yield from found
            return
        match elem_type(t, self.types):
            case Record(fields):
                for name, _ in fields:
                    yield from self._columns(Proj(t, name))
            case Label(sites) if any(site.params for site in sites):
                for site in sites:
                    for param, _ in site.params:
                        yield from self._columns(OutL(t, site, param))
            case _:
                (var,) = sources
                yield var, column
