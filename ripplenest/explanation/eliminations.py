"""How the join below a group could be folded variable by variable: its hypergraph, an order, and bounds.

No inner node of such a tree is kept: this says what an order takes, and what the join may come to.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property

from attrs import frozen

from ripplenest.cost.cover import exponent, most_rows
from ripplenest.cost.elimination import Elimination, Step, elimination
from ripplenest.cost.hypergraph import Hypergraph, hypergraph
from ripplenest.delta.choice import sizes_of
from ripplenest.delta.groups.strata import KEY, VALUES
from ripplenest.delta.program import Map
from ripplenest.explanation.facts import Facts
from ripplenest.explanation.lines import Line, wrapped
from ripplenest.nrc.printing.printable import printable
from ripplenest.nrc.printing.text import part
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Elem, Proj


@frozen(slots=False)
class Joined:
    """A join below a group, whose tables have so many ``rows``; those of ``assumed`` are taken to have them."""

    hypergraph: Hypergraph
    rows: Mapping[str, float]
    assumed: frozenset[str]

    @cached_property
    def elimination(self) -> Elimination:
        """An order."""
        return elimination(self.hypergraph, self.rows)

    @property
    def exponent(self) -> str:
        """ρ* of all vertices."""
        return str(exponent(self.hypergraph.vertices, [e.vertices for e in self.hypergraph.tables]))

    @property
    def most(self) -> float:
        """The AGM bound on the values that all vertices have together."""
        tables = self.hypergraph.tables
        found = [e.vertices for e in tables]
        return most_rows(self.hypergraph.vertices, found, [self.rows[e.table] for e in tables])


def joined(f: Facts, m: Map) -> Iterator[Joined]:
    """The joins of two generators or more that a group is made of."""
    program = f.stages.program
    sizes = sizes_of(program.maps, program.parts, f.sizes, {})
    for c in m.products:
        for j in joins(c) if len(c.generators) > 1 else ():
            found = hypergraph(j, _keys(c), _values(c))
            rows = {e.table: float(sizes[e.table]) for e in found.tables}
            yield Joined(found, rows, frozenset(rows) - f.sizes.keys())


def _keys(c: Comprehension) -> tuple[Elem, ...]:
    """The place and the keys of a row ⟨label, row: ⟨k, v⟩⟩."""
    return simplify_elem(Proj(c.head, "label")), simplify_elem(Proj(Proj(c.head, "row"), KEY))


def _values(c: Comprehension) -> tuple[Elem, ...]:
    """The ⊗-factors: what is multiplied and folded."""
    made = simplify_elem(Proj(Proj(c.head, "row"), VALUES))
    return tuple(value for _, value in getattr(made, "fields", ()))


def eliminated(found: Joined, width: int) -> Iterator[Line]:
    """The text of one join."""
    h, order = found.hypergraph, found.elimination
    edges = (f"{e.name}({_some(e.vertices)})" for e in h.edges)
    yield from wrapped("", "    hypergraph ", printable("; ".join(edges)), width, "; ")
    yield from wrapped("", "    keys ", printable(_some(h.free)) or "none", width)
    tables = ", ".join(f"{part(t)} {n:,.0f}{' assumed' * (t in found.assumed)}" for t, n in found.rows.items())
    bound = f"at most {_number(found.most)} rows are joined (AGM bound, exponent {found.exponent}; rows: {tables})"
    yield from wrapped("", "    ", bound, width, " ", 6)
    best = "the least of all orders" if order.exact else "by least fill, one order of many"
    shown = ", then ".join(order.order) or "nothing"
    yield from wrapped("", "    eliminate ", printable(f"{shown}: width {order.width}, {best}"), width, " ", 6)
    for step in order.steps:
        yield from wrapped("", "      ", printable(_step(step)), width, " ", 8)


def _step(s: Step) -> str:
    what = "last" if s.vertex is None else s.vertex
    left = f"leaves ({_some(s.keeps)}), width {s.width}, at most {_number(s.rows)} rows"
    return f"{what}: join {', '.join(s.joins) or 'nothing'}; {left}"


def _some(vertices: frozenset[str]) -> str:
    return ", ".join(sorted(vertices))


def _number(rows: float) -> str:
    """A bound to three digits, rounded up a little: it is no count."""
    return f"{float(f'{rows:.3g}'):,.0f}" if rows < 1e15 else f"{rows:.2e}"
