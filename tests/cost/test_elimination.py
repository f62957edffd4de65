"""Covers, bounds and orders of elimination, against brute force: vertices of the polytope, joins, all permutations."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from itertools import product as cartesian

import networkx as nx
import pytest
from support.choices import Choices
from support.laws import law
from support.related import path
from support.sizes import many

from ripplenest.cost.cover import cover, exponent, most_rows
from ripplenest.cost.elimination import Bounds, Elimination, elimination, steps
from ripplenest.cost.hypergraph import Edge, Hypergraph, hypergraph
from ripplenest.nrc.rewriting.access import joins
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import UNIT_ELEM, Call, Elem, Lit, Rel
from ripplenest.nrc.types import LONG, Record

COUNTS: Counter[str] = Counter()
Edges = list[frozenset[str]]


def graph_of(*edges: str) -> Edges:
    """Edges by the letters of their vertices."""
    return [frozenset(e) for e in edges]


def cycle(n: int) -> Edges:
    return [frozenset((str(i), str((i + 1) % n))) for i in range(n)]


def clique(n: int) -> Edges:
    return [frozenset(map(str, pair)) for pair in combinations(range(n), 2)]


def everything(edges: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*edges)


@pytest.mark.parametrize(
    ("edges", "wanted"),
    [
        (cycle(3), Fraction(3, 2)),
        (cycle(4), 2),
        (cycle(5), Fraction(5, 2)),
        (clique(4), 2),
        (clique(5), Fraction(5, 2)),
        (graph_of("ca", "cb", "cd", "ce"), 4),  # a star
        (graph_of("ab", "bc", "cd"), 2),  # a path
        (graph_of("abc", "ade", "bdf", "cef"), 2),
        (graph_of("abcd", "abce", "abde", "acde", "bcde"), Fraction(5, 4)),  # Loomis and Whitney
        ([], 0),
    ],
)
def test_known_exponents(edges: Edges, wanted: Fraction) -> None:
    assert exponent(everything(edges), edges) == wanted


def test_bounds_of_a_triangle() -> None:
    """√(|R| |S| |T|), or the product of two where the third is large."""
    edges = cycle(3)
    assert most_rows("012", edges, [100, 100, 100]) == pytest.approx(1000)
    assert most_rows("012", edges, [10, 10, 10**6]) == pytest.approx(100)
    assert most_rows("012", edges, [4, 9, 16]) == pytest.approx(24)
    assert most_rows("012", edges, [4, 0, 16]) == 0


# ---------------------------------------------------------------- laws


def random_edges(c: Choices, vertices: int, most: int) -> Edges:
    """Edges of one to three vertices, all of which are in some."""
    names = [chr(ord("a") + i) for i in range(vertices)]
    made = [frozenset(c.pick(names) for _ in range(1 + c.number(3))) for _ in range(1 + c.number(most))]
    missing = frozenset(names) - everything(made)
    return [*made, missing] if missing else made


@law(examples=many(60, 600))
def test_covers_are_the_best_corner(c: Choices) -> None:
    """The least cost of all corners of {λ ≥ 0, Aλ ≥ 1}, by solving each choice of tight constraints."""
    edges = random_edges(c, 2 + c.number(3), 3)
    costs = [Fraction(c.number(5), 1 + c.number(3)) for _ in edges]
    wanted = c.pick((everything(edges), frozenset(sorted(everything(edges))[:2])))
    found = cover(wanted, edges, costs)
    assert all(w >= 0 for w in found.weights)
    assert all(sum(w for w, e in zip(found.weights, edges, strict=True) if v in e) >= 1 for v in wanted)
    assert found.cost == sum(w * own for w, own in zip(found.weights, costs, strict=True))
    assert found.cost == min(
        sum(w * own for w, own in zip(corner, costs, strict=True)) for corner in corners(sorted(wanted), edges)
    )


def corners(vertices: Sequence[str], edges: Edges) -> Iterable[list[Fraction]]:
    n = len(edges)
    rows = [([Fraction(v in e) for e in edges], Fraction(1)) for v in vertices]
    rows += [([Fraction(i == j) for j in range(n)], Fraction(0)) for i in range(n)]
    for tight in combinations(rows, n):
        point = solved([[*row, side] for row, side in tight])
        if point is not None and all(sum(a * x for a, x in zip(r, point, strict=True)) >= b for r, b in rows):
            yield point


def solved(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """The one solution of a square system; None where there is none, or several."""
    for i in range(len(rows)):
        at = next((j for j in range(i, len(rows)) if rows[j][i]), None)
        if at is None:
            return None
        rows[i], rows[at] = rows[at], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(len(rows)):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


@law(examples=many(60, 600))
def test_no_join_has_more_rows_than_its_bound(c: Choices) -> None:
    """incremental-faq, section "How do we go on and solve a FAQ?": what run times rest on."""
    edges = random_edges(c, 2 + c.number(3), 4)
    names, values = sorted(everything(edges)), range(1 + c.number(3))
    tables = [[row for row in cartesian(values, repeat=len(e)) if c.number(4)] for e in edges]
    found = sum(
        all(tuple(row[names.index(v)] for v in sorted(e)) in t for e, t in zip(edges, tables, strict=True))
        for row in cartesian(values, repeat=len(names))
    )
    bound = most_rows(names, edges, [len(t) for t in tables])
    assert found <= bound * (1 + 1e-9)
    COUNTS["joins with rows"] += found > 0
    COUNTS["tight"] += found > 1 and bound < found * 1.01


def random_hypergraph(c: Choices, most: int) -> Hypergraph:
    """Generators, and some conditions on two of their vertices."""
    edges = random_edges(c, 2 + c.number(most - 1), 6)
    names = sorted(everything(edges))
    tables = [Edge("generator", f"x{i}", e, f"T{i}") for i, e in enumerate(edges)]
    others = [Edge("condition", f"c{i}", frozenset((c.pick(names), c.pick(names)))) for i in range(c.number(2))]
    return Hypergraph((*tables, *others), frozenset(v for v in names if c.one_in(4)))


def width_of(h: Hypergraph, order: Sequence[str]) -> Fraction:
    """By eliminating one after the other, on edges."""
    tables, left, widest = [e.vertices for e in h.tables], [e.vertices for e in h.edges], Fraction(0)
    for v in order:
        joined = everything(e for e in left if v in e)
        widest = max(widest, exponent(joined, tables))
        left = [*(e for e in left if v not in e), joined - {v}]
    return max(widest, exponent(everything(left), tables))


def rows_of(c: Choices, h: Hypergraph) -> dict[str, float]:
    return {e.table: 10.0 ** c.number(7) for e in h.tables}


@law(examples=many(40, 400))
def test_the_best_of_all_orders_is_found(c: Choices) -> None:
    """incremental-faq, section "How do we go on and solve a FAQ?": of the orders that it begins with."""
    h = random_hypergraph(c, 5)
    rows = rows_of(c, h)
    found = elimination(h, rows)
    assert found.exact and sorted(found.order) == sorted(h.bound)
    orders = [*permutations(h.bound)]
    assert found.width == width_of(h, found.order) == min(width_of(h, order) for order in orders)
    made = {order: Elimination(tuple(steps(Bounds(h, rows), order)), True) for order in orders}
    wide = [e for e in made.values() if e.width == found.width]
    assert work(found) == pytest.approx(min(map(work, wide)))
    COUNTS["orders differ"] += len({e.width for e in made.values()}) > 1
    COUNTS["ties differ"] += len({round(work(e)) for e in wide}) > 1
    is_a_tree(h, found)


def work(e: Elimination) -> float:
    return sum(s.rows for s in e.steps if s.vertex is not None)


def is_a_tree(h: Hypergraph, found: Elimination) -> None:
    """Every edge, and what each step leaves, is joined once; the last step keeps the keys."""
    joined = Counter(name for s in found.steps for name in s.joins)
    left = [f"after {s.vertex}" for s in found.steps if s.vertex is not None]
    assert joined == Counter([*(e.name for e in h.edges), *left])
    assert found.steps[-1].keeps == h.free
    assert all(s.vertex not in s.keeps for s in found.steps)


@law(examples=many(20, 200))
def test_many_variables_are_eliminated_by_least_fill(c: Choices) -> None:
    """Some order; of a tree of two-column tables none is ever filled, which leaves each join one table wide."""
    n = 8 + c.number(6)
    tree = nx.random_labeled_tree(n, seed=c.number(10**6)) if c.one_in(2) else nx.path_graph(n)
    edges = [Edge("generator", f"x{i}", frozenset(map(str, e)), f"T{i}") for i, e in enumerate(tree.edges)]
    h = Hypergraph(tuple(edges), frozenset())
    found = elimination(h, rows_of(c, h))
    assert not found.exact and sorted(found.order) == sorted(h.bound)
    assert all(len(s.keeps) <= 1 for s in found.steps) and found.width == width_of(h, found.order) == 1
    other = random_hypergraph(c, 10)
    if len(other.bound) > 6:
        COUNTS["many"] += 1
        order = elimination(other, rows_of(c, other))
        assert sorted(order.order) == sorted(other.bound) and order.width == width_of(other, order.order)
        is_a_tree(other, order)


def test_the_least_width_comes_before_the_fewest_rows() -> None:
    """With one row of a, c could be eliminated first in fewer rows, but in as many as two tables have where there are
    more of a."""
    tables = (("ac", 1000), ("a", 1), ("bc", 1000), ("b", 10))
    h = Hypergraph(tuple(Edge("generator", e, frozenset(e), e) for e, _ in tables), frozenset("b"))
    rows = {e: float(n) for e, n in tables}
    found = elimination(h, rows)
    assert found.order == ("a", "c") and found.width == 1
    other = Elimination(tuple(steps(Bounds(h, rows), ("c", "a"))), True)
    assert other.width == 2 and work(other) < work(found)


# ---------------------------------------------------------------- products

ROW = Record((("x", LONG), ("y", LONG), ("z", LONG)))


def eq(a: Elem, b: Elem) -> Elem:
    return Call("eq", (a, b))


def of(
    generators: dict[str, str], *conditions: Elem, keys: Sequence[Elem] = (), factors: Sequence[Elem] = ()
) -> Hypergraph:
    made = tuple((var, Rel(table, ROW)) for var, table in generators.items())
    (j,) = joins(Comprehension(made, conditions, UNIT_ELEM))
    return hypergraph(j, keys, factors)


def edges_of(h: Hypergraph) -> dict[str, set[str]]:
    return {e.name: set(e.vertices) for e in h.edges}


def test_a_matrix_chain() -> None:
    """P(i, l) = Σ A(i, j)·B(j, k)·C(k, l): k, then j; the other way round is as good.

    incremental-faq, section "Functional Aggregate Queries".
    """
    generators = {"a": "A", "b": "B", "c": "C"}
    chain = (eq(path("a", "y"), path("b", "x")), eq(path("c", "x"), path("b", "y")))
    values = [Call("mul_long", (path("a", "z"), path("b", "z")))]
    keys = (path("a", "x"), path("c", "y"))
    h = of(generators, *chain, keys=keys)
    assert edges_of(h) == {"a": {"a.x", "a.y"}, "b": {"a.y", "b.y"}, "c": {"b.y", "c.y"}}
    assert h.free == {"a.x", "c.y"} and h.bound == ("a.y", "b.y")
    found = elimination(h, {"A": 10.0, "B": 1000.0, "C": 1000.0})
    assert found.order == ("b.y", "a.y") and found.width == 2
    assert [s.joins for s in found.steps] == [("b", "c"), ("a", "after b.y"), ("after a.y",)]
    joint = of(generators, *chain, keys=keys, factors=values)
    assert edges_of(joint)["a.z · b.z"] == {"a.z", "b.z"} and joint.bound == ("a.y", "a.z", "b.y", "b.z")


def test_what_is_no_vertex() -> None:
    """Columns of one generator, and classes that are equated with a constant; conditions and factors of one."""
    h = of(
        {"a": "A", "b": "B"},
        eq(path("a", "x"), path("b", "x")),
        eq(path("a", "x"), Lit(3, LONG)),
        Call("lt", (path("a", "y"), path("a", "z"))),
        Call("lt", (path("a", "y"), path("b", "y"))),
        factors=[path("b", "z")],
    )
    assert edges_of(h) == {"a": {"a.y"}, "b": {"b.y"}, "a.y < b.y": {"a.y", "b.y"}}
    assert elimination(h, {"A": 5, "B": 7}).width == 2


def test_coverage() -> None:
    if COUNTS["orders differ"]:
        assert COUNTS["orders differ"] >= 5 and COUNTS["ties differ"] >= 5, COUNTS
        assert COUNTS["joins with rows"] >= 10 and COUNTS["tight"] >= 2 and COUNTS["many"] >= 2, COUNTS
