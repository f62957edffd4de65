"""In which order the variables of a fold are eliminated, and what that takes (InsideOut: incremental-faq, "How do we go
on and solve a FAQ?"; Abo Khamis, Ngo and Rudra, "FAQ: Questions Asked Frequently", PODS 2016).

To eliminate v is to join the edges that have it and to fold v away: what is left is an edge on the others of them. An
order of B gives a tree of such joins; what remains on F, the keys, is joined last. The join that eliminates v is over
U_v, and takes |N|^ρ*(U_v) steps with tables of N rows, as the edges that do not have v can be semi-joined into it
(indicator projections). The width of an order is the greatest ρ*(U_v), v ∈ B, and ρ*(F) for the last join: its
FAQ-width where the result is one table. Without keys, the least width is the fractional hypertree width.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations

from attrs import frozen

from ripplenest.cost.cover import exponent, most_rows
from ripplenest.cost.hypergraph import Hypergraph

Number = Fraction | float
EXACT = 6  # variables of which all orders are compared, by their subsets


@frozen
class Step:
    """``joins``: names of edges, and of earlier steps (``after x``), that are joined to eliminate ``vertex``; None is
    the last join. ``keeps``: the vertices of what is left. ``width``: ρ* of all that are joined; ``rows``: how many
    there are of these at most."""

    vertex: str | None
    joins: tuple[str, ...]
    keeps: frozenset[str]
    width: Fraction
    rows: float


@frozen
class Elimination:
    """The steps for an order, whose ``width`` is the least of all orders if it is ``exact``."""

    steps: tuple[Step, ...]
    exact: bool

    @property
    def order(self) -> tuple[str, ...]:
        """B as it is eliminated."""
        return tuple(s.vertex for s in self.steps if s.vertex is not None)

    @property
    def width(self) -> Fraction:
        """That of the order."""
        return max(s.width for s in self.steps)


def elimination(h: Hypergraph, rows: Mapping[str, float]) -> Elimination:
    """An order for ``h`` whose tables have so many ``rows``.

    Of up to EXACT variables the least width of all orders, and of those that have it the one that makes fewest rows
    (by their bounds). Of more, the vertex of least fill each time, ties by rows: some order, with no fill where the
    graph is chordal, and then of least tree width.
    """
    bounds = Bounds(h, rows)
    exact = len(h.bound) <= EXACT
    return Elimination(tuple(steps(bounds, _best(bounds) if exact else _least_fill(bounds))), exact)


@frozen
class Bounds:
    """What joins of the tables of ``hypergraph`` may come to, which have so many ``rows``."""

    hypergraph: Hypergraph
    rows: Mapping[str, float]

    def width(self, vertices: frozenset[str]) -> Fraction:
        """ρ*(vertices)."""
        return exponent(vertices, [e.vertices for e in self.hypergraph.tables])

    def most(self, vertices: frozenset[str]) -> float:
        """The AGM bound of ``vertices``."""
        tables = self.hypergraph.tables
        return most_rows(vertices, [e.vertices for e in tables], [self.rows[e.table] for e in tables])


def steps(b: Bounds, order: Sequence[str]) -> list[Step]:
    """InsideOut for an ``order`` of B: the tree of its joins, the last one of what is left."""
    left = [(e.name, e.vertices) for e in b.hypergraph.edges]
    found = []
    for vertex in (*order, None):
        joined = [(name, own) for name, own in left if vertex is None or vertex in own]
        union = frozenset[str]().union(*(own for _, own in joined))
        keeps = union - {vertex} if vertex is not None else union
        found.append(Step(vertex, tuple(name for name, _ in joined), keeps, b.width(union), b.most(union)))
        left = [*(e for e in left if e not in joined), (f"after {vertex}", keeps)]
    return found


def _best(b: Bounds) -> tuple[str, ...]:
    """By dynamic programming over sets of eliminated vertices: what v is joined with depends on the set, not on its
    order. First the least width, then the fewest rows among orders of no greater width."""
    near = _Neighbours(b.hypergraph)
    width = cache(lambda done, v: b.width(near.joined(done, v)))
    most = cache(lambda done, v: b.most(near.joined(done, v)))
    least, _ = _search(b.hypergraph.bound, width, max, Fraction(0))

    def few(done: frozenset[str], v: str) -> float:
        return most(done, v) if width(done, v) <= least else float("inf")

    _, order = _search(b.hypergraph.bound, few, lambda a, c: a + c, 0.0)
    return order


def _search(
    bound: Sequence[str],
    cost: Callable[[frozenset[str], str], Number],
    add: Callable[[Number, Number], Number],
    nothing: Number,
) -> tuple[Number, tuple[str, ...]]:
    """The least cost of an order of ``bound``, and the first order that has it."""
    best: dict[frozenset[str], tuple[Number, tuple[str, ...]]] = {frozenset(): (nothing, ())}
    for size in range(1, len(bound) + 1):
        for some in (frozenset(own) for own in combinations(bound, size)):
            ends = [(add(best[some - {v}][0], cost(some - {v}, v)), v) for v in sorted(some)]
            total, last = min(ends)
            best[some] = total, (*best[some - {last}][1], last)
    return best[frozenset(bound)]


@frozen
class _Neighbours:
    """Which vertices are in one edge."""

    hypergraph: Hypergraph

    def joined(self, done: frozenset[str], v: str) -> frozenset[str]:
        """U_v after ``done`` are eliminated: v, and what it reaches through them."""
        found, seen, open_ = {v}, {v}, [v]
        while open_:
            at = open_.pop()
            for e in self.hypergraph.edges:
                if at in e.vertices:
                    found |= e.vertices - done
                    open_ += (e.vertices & done) - seen
                    seen |= e.vertices & done
        return frozenset(found)


def _least_fill(b: Bounds) -> tuple[str, ...]:
    near = _Neighbours(b.hypergraph)
    order: list[str] = []
    while left := [v for v in b.hypergraph.bound if v not in order]:
        done = frozenset(order)
        order.append(min(left, key=lambda v: (_fill(near, done, v), b.most(near.joined(done, v)), v)))
    return tuple(order)


def _fill(near: _Neighbours, done: frozenset[str], v: str) -> int:
    """How many pairs eliminating ``v`` brings together."""
    return sum(y not in near.joined(done, x) for x, y in combinations(sorted(near.joined(done, v) - {v}), 2))
