"""Sum maps: what folds of a group only add up is added up before, and nobody sees a difference.

Families: law 6 over groups of random joins, whose maps hold what their definitions give; what a statement sees of a sum
map is as of its turn; the same where changes of sum maps are added up, and statements read them in the place of what
these are made of; how many rows are kept, made and read.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from fractions import Fraction
from math import prod
from typing import Any

import pytest
from attrs import evolve, frozen
from support.laws import law
from support.programs import Memory, Running, Tables, changed_tables, part_tables, planned, query_of
from support.schemas import Schema
from support.sizes import many
from support.strategies import Case
from support.summing import adding_up, chained_case, joined_case
from support.updates import shredded_database

import ripplenest as rn
from ripplenest.data.columns import base_types
from ripplenest.data.room import Room
from ripplenest.data.rows import Row, Rows
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import Materialize
from ripplenest.nrc.bags import BagValue, field_of
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import Bag
from ripplenest.nrc.values import to_value
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product, Step
from ripplenest.run import local, marginals, upward
from ripplenest.run.build import build
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import PythonJoiner, Task
from ripplenest.run.local import LocalJoiner
from ripplenest.run.one_state import Sign
from ripplenest.run.propagate import propagate
from ripplenest.run.rounds import Looked
from ripplenest.shred.values import Parts

BATCHES = 3
COUNTS: Counter[str] = Counter()


@pytest.mark.parametrize("materialize", ["full", "first", "cost"])
@law(joined_case, examples=many(6, 2500))
def test_law_6_with_sum_maps(materialize: Materialize, case: Case) -> None:
    """Whatever is added up, each map and the view hold what their definitions give."""
    law_6(materialize, case)


@pytest.mark.parametrize("materialize", ["full", "first", "cost"])
@law(chained_case, examples=many(3, 400))
def test_law_6_with_chains_of_matrices(materialize: Materialize, case: Case) -> None:
    COUNTS["entries of chains"] += law_6(materialize, case)


@pytest.mark.parametrize("materialize", ["full", "cost"])
@law(lambda c: joined_case(c) if c.number(2) else chained_case(c), examples=many(5, 1500))
def test_law_6_in_other_ways(materialize: Materialize, case: Case) -> None:
    """Law (upward): A ⋈ δ_R(R ⋈ C) is δ_R(A ⋈ R ⋈ C), by what folds come to, whoever else has changed by then.

    incremental-faq, section "Incrementalize it!".
    """
    with adding_up(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(upward, "_least", least)
        law_6(materialize, case)


def least(run: Run, part: str, plain: upward.Products, others: Sequence[upward.Products]) -> upward.Products:
    found = LEAST(run, part, plain, others)
    COUNTS["other ways"] += found != plain
    COUNTS["of several ways"] += found != plain and len(others) > 1
    read = [run.caused.get(s.table, {}) for p in found for s in p.sources if s.at is At.DELTA and s.table != part]
    COUNTS["of what goes"] += any(n < 0 for made in read if part in made for _, n in made[part].pairs())
    COUNTS["by several parts"] += any(len(made) > 1 for made in read)
    COUNTS["of what cancels"] += any(part not in made for made in read)
    return found


LEAST = upward._least


def law_6(materialize: Materialize, case: Case) -> int:
    """How many rows the view had, in all."""
    rows, query = 0, query_of(case.schema, case.query)
    _, plan = planned(query, Options(materialize))
    _, plain = planned(query, Options("none"))
    if not has_a_value(plain, case.parts):
        return rows
    running = Running.start(plan, case.parts)
    for i, (parts, batch) in enumerate(case.steps()):
        if not has_a_value(plain, batch.after(parts)):
            with pytest.raises(EvaluationError):
                running.apply(batch.delta)
            COUNTS["no value"] += 1
            return rows
        running = running.apply(batch.delta)
        assert running.nested() == evaluate(query.body, batch.nested_after(case.schema, parts)), f"batch {i}"
        assert running.maps() == Running.start(plan, batch.after(parts)).maps(), f"batch {i}"
        COUNTS["batches"] += 1
        COUNTS["sum maps"] += any(m.summed for m in plan.program.maps)
        COUNTS["products"] += any(len(factors) > 1 for m in plan.program.maps for factors in m.summed)
        rows += sum(1 for _ in running.nested())
    return rows


def has_a_value(plan: Plan, parts: Parts) -> bool:
    """Whether all answers fit their types."""
    try:
        Running.start(plan, parts)
    except EvaluationError:
        return False
    return True


@law(joined_case, examples=many(14, 2500))
def test_as_of_turn(case: Case) -> None:
    """Law (as_of_turn): a statement for part p sees of a sum map what adds up as its definition does, of the parts
    before p after the batch, and of those behind it before the batch; of M⁺ also of p after it."""
    _, plan = planned(query_of(case.schema, case.query), Options("full"))
    if not all(has_a_value(plan, parts) for parts in (case.parts, *(b.after(p) for p, b in case.steps()))):
        return
    running = Running.start(plan, case.parts)
    for i, (parts, batch) in enumerate(case.steps()):
        seen: list[Read] = []
        with pytest.MonkeyPatch.context() as patch, adding_up() if i % 2 else nullcontext():
            patch.setattr(Run, "_source", recording(seen))
            running = running.apply(batch.delta)
        before, after = (part_tables(plan.program, p) for p in (parts, batch.after(parts)))
        for read in (r for r in seen if r.table in summed(plan) and r.at is not At.DELTA):
            turn = plan.turns[read.part] + (read.at is At.NEW)
            tables = {n: (after if plan.turns[n] < turn else before)[n] for n in plan.program.parts}
            if {s.table for p in plan.by_name[read.table].build for s in p.sources} <= tables.keys():
                found = sums(read.asked(read.rows), plan.by_name[read.table])
                assert found == wanted(plan, read, tables)
                COUNTS["reads"] += 1
                COUNTS["reads of what is there"] += not read.rows.is_empty
                reads = plan.by_name[read.table].triggers
                COUNTS["reads of what changed"] += any(q in batch.parts and plan.turns[q] < turn for q, _ in reads)


@frozen
class Read:
    """What a statement for ``part`` saw of a table at some keys."""

    table: str
    part: str
    at: At
    columns: tuple[int, ...]
    keys: Rows
    rows: Rows

    def asked(self, rows: Rows) -> dict[Row, int]:
        """Those of ``rows`` that have the keys; what changes may have others, too."""
        keys = {row for row, _ in self.keys.pairs()}
        found = rows.counts().items()
        return {r: n for r, n in found if not self.columns or tuple(r[c] for c in self.columns) in keys}


def recording(found: list[Read]) -> Callable[..., Rows]:
    """``Run._source``, which tells what it finds."""
    source = Run._source

    def read(run: Run, p: Product, step: Step, looked: Looked, part: str, sign: Sign | None) -> Rows:
        of, rows = p.sources[step.source], source(run, p, step, looked, part, sign)
        found.append(Read(of.table, part, of.at, step.columns, looked.keys, rows))
        return rows

    return read


def summed(plan: Plan) -> set[str]:
    return {m.name for m in plan.program.maps if m.summed}


Sums = dict[tuple[object, ...], list[Fraction]]


def sums(rows: Mapping[Any, int], m: PlannedMap) -> Sums:
    """By key how many rows there are, and of each product of columns how many values it has, and what they come to."""
    assert m.folding is not None
    products = [m.folding.accumulators[a.total or 0].args for a in m.folding.answers]
    found: Sums = {}
    for row, n in rows.items():
        own = found.setdefault(row[: m.folding.keys], [Fraction(0)] * (1 + 2 * len(products)))
        factors = [[row[i] for i in columns] for columns in products]
        values = [v for xs in factors for v in ((0, 0) if None in xs else (1, prod(map(Fraction, xs))))]
        for i, v in enumerate((1, *values)):
            own[i] += n * v
    return {key: own for key, own in found.items() if any(own)}


def wanted(plan: Plan, read: Read, tables: Tables) -> Sums:
    """What the rows of the definition add up to, at the keys of ``read``."""
    m = plan.by_name[read.table]
    tasks = [Task(m.name, p, tuple(tables[s.table] for s in p.sources)) for p in m.build]
    made = PythonJoiner().join(tasks, [m.whole])[m.name]
    return sums(read.asked(made), m)


def test_a_sum_map_has_a_name_of_its_own() -> None:
    """The rows of one component, as they are and summed, of columns that are called the same."""
    rows = "[⟨b: s.b, x: s.x⟩ | r in R, s in S, r.a = s.a, s.x > 0]"
    relations = "relation R : Bag(⟨a: long⟩)\nrelation S : Bag(⟨a: long, b: long, x: long⟩)\n"
    texts = (f"view v = {rows}", f"view v = group[g](r in {rows} by b: r.b of x: sum(r.x))")
    kept = []
    for text in texts:
        (view,) = rn.parse(relations + text, "v").views
        _, plan = planned(view.query, Options("full"))
        kept.append({m.row.names: m.name for m in plan.program.maps if m.name.startswith("M/")})
    plain, sums = kept
    ((columns, name),) = [(c, n) for c, n in plain.items() if "x" in c]
    assert sorted(columns) in [sorted(c) for c in sums] and name not in sums.values()


PRICED = """
relation D : Bag(⟨id: long, name: string, orders: Bag(⟨o: long, items: Bag(⟨l: long, part: long, qty: long⟩)⟩)⟩) key id
relation P : Bag(⟨part: long, name: string, price: long⟩) key part
view worth = group[g](r in [⟨name: d.name, part: p.name, qty: i.qty, price: p.price⟩
  | d in D, o in d.orders, i in o.items, p in P, p.part = i.part]
  by name: r.name, part: r.part of v: sum(r.qty, r.price))
"""
USUAL = {"D": 150_000, "D.orders": 1_500_000, "D.orders.items": 6_000_000, "P": 200_000}


def rows_read(names: int, each: int) -> int:
    """By a new price of one part, which so many names have bought so often each, in as many quantities."""
    (view,) = rn.parse(PRICED, "priced").views
    _, plan = planned(evolve(view.query, keys=()), Options("cost", rows=USUAL))
    schema = Schema(view.query.relations)
    items = [{"l": i, "part": 1, "qty": i} for i in range(each)]
    bought = [{"id": n, "name": f"n{n}", "orders": [{"o": n, "items": items}]} for n in range(names)]
    old, new = ({"part": 1, "name": "pear", "price": price} for price in (3, 4))
    parts = shredded_database(schema, {"D": bag(schema, "D", bought), "P": bag(schema, "P", [old])})
    running = Running.start(plan, parts, LocalJoiner())
    changes = changed_tables(plan.program, {"P": bag(schema, "P", [new]) - bag(schema, "P", [old])})
    done = propagate(plan, Memory(running.tables, plan.indexes), changes, LocalJoiner())
    worths = running.grown({**changes, **done.changes}).nested()
    assert sum(field_of(row, "v") for row, _ in worths) == 4 * names * sum(range(each))
    return done.rows_read


def bag(schema: Schema, relation: str, rows: list[Any]) -> BagValue:
    found = to_value(rows, Bag(schema[relation]), relation)
    assert isinstance(found, BagValue)
    return found


def test_a_price_reads_rows_in_proportion_to_names() -> None:
    """100 times the items of as many names, none with the quantity of another: as many rows; ten times the names: ten
    times the rows."""
    few, items, names = rows_read(20, 1), rows_read(20, 100), rows_read(200, 1)
    assert items <= 1.5 * few and 8 * few <= names <= 12 * few


MATRICES = """
relation A : Bag(⟨i: long, j: long, w: long⟩)
relation B : Bag(⟨i: long, j: long, w: long⟩)
relation C : Bag(⟨i: long, j: long, w: long⟩)
view p = group[g](r in [⟨i: a.i, l: c.j, x: a.w, y: b.w, z: c.w⟩ | a in A, b in B, b.i = a.j, c in C, c.i = b.j]
  by i: r.i, l: r.l of w: sum(r.x, r.y, r.z))
"""


def rows_made(n: int, entries: Iterator[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> int:
    """For the answer, by new entries of the middle one of three full matrices of n rows."""
    (view,) = rn.parse(MATRICES, "matrices").views
    _, plan = planned(view.query, Options("cost"))
    types = plan.program.parts["A"]
    full = {(i, j, i + j): 1 for i in range(n) for j in range(n)}
    tables = {x: Rows.of_counts(base_types(types), full) for x in "ABC"}
    tables |= build(plan, Memory(tables, {}), LocalJoiner())
    made: list[int] = []

    def joined(asked: Any, room: Room, known: Any) -> Any:
        found = [*JOINED(asked, room, known)]
        made.append(sum(len(table) for _, table in found))
        return found

    monkeypatch.setattr(local, "joined", joined)
    changes = {"B": Rows.of_counts(base_types(types), {(i, j, 1): 1 for i, j in entries})}
    done = propagate(plan, Memory(tables, plan.indexes), changes, LocalJoiner())
    fresh = build(plan, Memory({**tables, "B": tables["B"].plus(changes["B"])}, {}), LocalJoiner())
    for m in plan.maps:
        assert tables[m.name].plus(done.changes[m.name]).counts() == fresh[m.name].counts()
    return made[1]


JOINED = local.joined


@pytest.mark.parametrize("which", ["row", "column"])
def test_a_row_of_a_middle_matrix_makes_no_path_to_each_end(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """n products with each row of the others, added up before they meet the other side: n² rows, and not n³."""
    monkeypatch.setattr(marginals, "MANY", 100)
    n = 20
    entries = ((3, k) if which == "row" else (k, 3) for k in range(n))
    assert rows_made(n, entries, monkeypatch) == 2 * n * n  # what is seen of a key is a sum, and how many rows it is of


def test_entries_that_have_no_row_in_common_are_joined_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "MANY", 100)
    n = 20
    assert rows_made(n, ((k, k) for k in range(n)), monkeypatch) == n**3


def test_coverage() -> None:
    """The laws above saw what they are about."""
    if COUNTS["batches"] < 100:
        pytest.skip("the tests of this module did not all run")
    assert COUNTS["sum maps"] > COUNTS["batches"] / 8, COUNTS
    assert min(COUNTS["products"], COUNTS["entries of chains"]) > COUNTS["batches"] / 20, COUNTS
    assert min(COUNTS["reads of what is there"], COUNTS["reads of what changed"]) > 10, COUNTS
    for what in ("other ways", "of several ways", "of what goes", "of what cancels", "by several parts"):
        assert COUNTS[what] > 10, COUNTS
