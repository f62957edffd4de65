"""Elimination trees: maps that are built of sums that others keep are those that are built as they are defined."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from math import inf
from random import Random

import pytest
from support.choices import Choices
from support.laws import law
from support.programs import Memory, part_tables, planned, query_of
from support.sizes import many
from support.strategies import Case
from support.summing import chain_of, chained_case, joined_case

import ripplenest as rn
from ripplenest.data.rows import Rows
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import Materialize
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.types import LONG
from ripplenest.plan.planned import PlannedMap
from ripplenest.run import build as builds
from ripplenest.run import sizes, trees
from ripplenest.run.build import build
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Joiner, PythonJoiner
from ripplenest.run.local import LocalJoiner

COUNTS: Counter[str] = Counter()
JOINERS: dict[str, Joiner] = {"by rows": PythonJoiner(), "by columns": LocalJoiner()}


def some_case(c: Choices) -> Case:
    return chained_case(c) if c.number(2) else joined_case(c)


def counting(run: Run, m: PlannedMap, pairs: float) -> trees.Products | None:
    found = trees.chosen(run, m, pairs)
    COUNTS["trees"] += found is not None
    COUNTS["of several splits"] += any(len(own) > 2 for own in m.trees)
    COUNTS["of groups"] += found is not None and m.kind.passes_on
    return found


@pytest.mark.parametrize("how", JOINERS)
@pytest.mark.parametrize("materialize", ["full", "cost"])
@law(some_case, examples=many(9, 1500))
def test_tree_or_none(how: str, materialize: Materialize, case: Case) -> None:
    """Law (tree_or_none): each map holds the same, whether it is built of other maps or not.

    incremental-faq, section "How do we go on and solve a FAQ?".
    """
    _, plan = planned(query_of(case.schema, case.query), Options(materialize))
    tables = Memory(part_tables(plan.program, case.parts), {})
    try:
        plain = build(plan, tables, PythonJoiner(), pairs=inf)
    except EvaluationError:
        COUNTS["no value"] += 1
        with pytest.raises(EvaluationError):
            build(plan, tables, JOINERS[how])
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "HEAVIER", 0)
        patch.setattr(trees, "LEAST", 0)
        patch.setattr(builds, "chosen", counting)
        patch.setattr(sizes, "FEW", 0)
        found = build(plan, tables, JOINERS[how])
    assert {n: rows.counts() for n, rows in found.items()} == {n: rows.counts() for n, rows in plain.items()}


SQUARES = """
relation A : Bag(⟨i: long, j: long, w: long⟩)
relation B : Bag(⟨i: long, j: long, w: long⟩)
view squares = group[g](r in [⟨k: b.i, x: a.w, y: b.w⟩ | a in A, b in B, b.i = a.j] by k: r.k of w: sum(r.x, r.y))
"""
WALKS = """
relation A : Bag(⟨i: long, j: long, w: long⟩)
relation B : Bag(⟨i: long, j: long, w: long⟩)
relation C : Bag(⟨i: long, j: long, w: long⟩)
view walks = group[g](r in
    [⟨i: a.i, l: c.j, x: a.w, y: b.w, z: c.w⟩ | a in A, b in B, b.i = a.j, c in C, c.i = b.j]
    + [⟨i: c.i, l: a.j, x: c.w, y: b.w, z: a.w⟩ | c in C, b in B, b.i = c.j, a in A, a.i = b.j]
  by i: r.i, l: r.l of w: sum(r.x, r.y, r.z))
"""
DENSE, THIN = [(i, j, 1 + i + j) for i in range(6) for j in range(6)], [(i, i, 2) for i in range(6)]


@pytest.mark.parametrize("how", JOINERS)
@pytest.mark.parametrize("dense", ["ABC", "BC", "A", ""])
def test_each_product_has_a_tree_of_its_own(dense: str, how: str) -> None:
    """Of dense matrices, and none of thin ones, whose product joins no more rows than a tree."""
    (view,) = rn.parse(WALKS, "walks").views
    _, plan = planned(view.query, Options("full"))
    tables = {x: Rows.of_counts((LONG,) * 3, dict.fromkeys(DENSE if x in dense else THIN, 1)) for x in "ABC"}
    made: list[trees.Products | None] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "chosen", lambda *asked: made.append(trees.chosen(*asked)) or made[-1])
        found = build(plan, Memory(tables, {}), JOINERS[how])
    plain = build(plan, Memory(tables, {}), PythonJoiner(), pairs=inf)
    assert {n: rows.counts() for n, rows in found.items()} == {n: rows.counts() for n, rows in plain.items()}
    assert any(own is not None and len(own) == 2 for own in made) == (len(dense) > 1)


@pytest.mark.parametrize(("pairs", "is_tree"), [(0, True), (215, True), (216, False), (inf, False)])
def test_who_looks_into_a_map_builds_it_by_definition_where_that_is_little(pairs: float, is_tree: bool) -> None:
    """Each of 36 rows of A meets 6 of B. By sizes alone, as tasks choose, all might meet all."""
    (view,) = rn.parse(SQUARES, "squares").views
    _, plan = planned(view.query, Options("full"))
    tables = {x: Rows.of_counts((LONG,) * 3, dict.fromkeys(DENSE, 1)) for x in "AB"}
    size = {name: len(rows) for name, rows in {**tables, **build(plan, Memory(tables, {}), PythonJoiner())}.items()}
    made: list[trees.Products | None] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "chosen", lambda *asked: made.append(trees.chosen(*asked)) or made[-1])
        found = build(plan, Memory(tables, {}), LocalJoiner(), pairs=pairs)
    assert {name: len(rows) for name, rows in found.items()} == {name: size[name] for name in found}
    assert any(made) == is_tree
    (m,) = (m for m in plan.maps if m.trees)
    least = 36 * 36
    assert (trees.smaller(m, size.__getitem__, least - 1) is None, trees.smaller(m, size.__getitem__, least)) == (
        False, None,
    )  # fmt: skip


Interval = tuple[int, int]  # the first and the last matrix of a product


@pytest.mark.parametrize("seed", range(many(8, 200)))
def test_the_last_product_of_a_chain_is_the_one_that_joins_least(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four to seven matrices of any sizes, at the view and at all maps below, which are kept in any case.

    incremental-faq, section "Matrix Chain Multiplication".
    """
    r, names = Random(seed), "ABCDEFG"[: 4 + seed % 4]
    (view,) = rn.parse(chain_of(names, "long"), "chain").views
    _, plan = planned(view.query, Options("full"))
    sides = [r.choice([1, 2, 4, 8, 12]) for _ in range(len(names) + 1)]
    some = [[(i, j) for i in range(n) for j in range(m) if r.random() < 0.7] for n, m in pairwise(sides)]
    chain = Chain([{(0, 0), *own} for own in some])
    tables = {x: Rows.of_counts((LONG,) * 3, {(*e, 1): 1 for e in chain.of(i, i)}) for i, x in enumerate(names)}
    taken: dict[str, trees.Products] = {}

    def chosen(run: Run, m: PlannedMap, pairs: float) -> trees.Products | None:
        found = trees.chosen(run, m, pairs)
        taken[m.name] = found or m.build
        return found

    monkeypatch.setattr(trees, "HEAVIER", 0)
    monkeypatch.setattr(trees, "LEAST", 0)
    monkeypatch.setattr(builds, "chosen", chosen)
    build(plan, Memory(tables, {}), LocalJoiner())
    spans = {m.name: span(m, names) for m in plan.maps} | {x: (i, i) for i, x in enumerate(names)}
    for name, (p,) in taken.items():
        (first, at), (_, last) = sorted(spans[s.table] for s in p.sources)
        assert (first, last) == spans[name]
        assert chain.joined(first, at, last) == min(chain.joined(first, i, last) for i in range(first, last))
        COUNTS["last products"] += 1


def span(m: PlannedMap, names: str) -> tuple[int, int]:
    """The matrices that a map multiplies."""
    read = [names.index(s.table) for p in m.build for s in p.sources if s.table in names]
    return min(read, default=0), max(read, default=0)


class Chain:
    """How many rows the products of matrices join that have values at such ``entries``. Of a product each entry is a
    row, and one more that says how many paths lead there, if these are several."""

    def __init__(self, entries: Sequence[Iterable[tuple[int, int]]]) -> None:
        self._found = {(i, i): Counter(own) for i, own in enumerate(entries)}

    def of(self, first: int, last: int) -> Counter[tuple[int, int]]:
        """Where the product of some of them has values, and of how many paths."""
        if (first, last) not in self._found:
            left, right, found = self.of(first, last - 1), self.of(last, last), Counter[tuple[int, int]]()
            for (i, j), (k, end) in product(left, right):
                found[i, end] += left[i, j] if j == k else 0
            self._found[first, last] = +found
        return self._found[first, last]

    def joined(self, first: int, at: int, last: int) -> int:
        """When those up to ``at`` are multiplied with those behind it."""
        begins = Counter[int]()
        for (i, _), n in self.of(at + 1, last).items():
            begins[i] += min(n, 2)
        return sum(begins[j] * min(n, 2) for (_, j), n in self.of(first, at).items())


def test_coverage() -> None:
    if COUNTS:
        assert min(COUNTS[what] for what in ("trees", "of several splits")) > 50 and COUNTS["of groups"] > 8, COUNTS
        assert COUNTS["last products"] > 80, COUNTS
