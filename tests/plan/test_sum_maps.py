"""Sum maps: what folds of a group only add up is added up before, and nobody sees a difference.

Families: law 6 over groups of random joins, whose maps hold what their definitions give; what a statement sees of a sum
map is as of its turn; how many rows are kept and read.
"""

from collections import Counter
from collections.abc import Callable, Mapping
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
from support.summing import chained_case, joined_case
from support.updates import shredded_database

import ripplenest as rn
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
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import PythonJoiner, Task
from ripplenest.run.local import LocalJoiner
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
    for parts, batch in case.steps():
        seen: list[Read] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Run, "_source", recording(seen))
            running = running.apply(batch.delta)
        before, after = (part_tables(plan.program, p) for p in (parts, batch.after(parts)))
        for read in (r for r in seen if r.table in summed(plan)):
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

    def read(run: Run, p: Product, step: Step, looked: Looked, part: str) -> Rows:
        of, rows = p.sources[step.source], source(run, p, step, looked, part)
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


def test_coverage() -> None:
    """The laws above saw what they are about."""
    if COUNTS["batches"] < 100:
        pytest.skip("the tests of this module did not all run")
    assert COUNTS["sum maps"] > COUNTS["batches"] / 8, COUNTS
    assert min(COUNTS["products"], COUNTS["entries of chains"]) > COUNTS["batches"] / 20, COUNTS
    assert min(COUNTS["reads of what is there"], COUNTS["reads of what changed"]) > 10, COUNTS
