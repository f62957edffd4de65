"""Many views in one plan: what they share, in probes and in joins, is shared without any of them noticing.

Random views, the same with other constants, and the same under other names, are kept fresh together by columns, and
each alone by rows.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest
from support.choices import Choices
from support.correlated import correlated_query, folding_query
from support.laws import law
from support.nearest import nearest_query
from support.programs import Memory, changed_tables, part_tables, planned, query_of
from support.queries import grouped_query, random_query
from support.schemas import Schema, base_value, random_schema
from support.sizes import many
from support.strategies import case_of

from ripplenest.data.room import DEFAULT, Room
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import DictExpr, Elem, Expr, Lit
from ripplenest.nrc.walk import rebuild, rebuild_dict, rebuild_elem
from ripplenest.plan.families import member
from ripplenest.plan.planned import Plan, merged
from ripplenest.plan.product import Product, Step
from ripplenest.run import sizes
from ripplenest.run.build import build
from ripplenest.run.joiner import Joined, Joiner, PythonJoiner, Task
from ripplenest.run.local import LocalJoiner
from ripplenest.run.propagate import propagate
from ripplenest.vector import joins, unread
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.join import extended, parts

COUNTS: Counter[str] = Counter()
BATCHES = 3
Changed = dict[str, dict[Row, int]]


def with_other_constants(c: Choices, e: Expr) -> Expr:
    """``e`` with other values of the same types for its literals."""

    def elem(t: Elem) -> Elem:
        return Lit(base_value(c, t.type), t.type) if isinstance(t, Lit) else rebuild_elem(t, elem)

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, elem, dictionary)

    def dictionary(d: DictExpr) -> DictExpr:
        return rebuild_dict(d, expr, dictionary)

    return expr(e)


MANY = 1 << 20  # rows at once


class Counting(LocalJoiner):
    """The engine of this process, which counts what the tasks of a level have in common."""

    def join(self, tasks: list[Task], targets: object) -> Joined:  # type: ignore[override]
        families: defaultdict[object, set[object]] = defaultdict(set)
        for task in tasks:
            own = member(task.product)
            families[(id(own.family), *map(id, task.inputs))].add(own.constants)
        COUNTS["tasks"] += len(tasks)
        COUNTS["in chunks"] += sum(any(len(rows) > self._room.rows(rows.types) for rows in t.inputs) for t in tasks)
        COUNTS["equal products"] += len(tasks) - sum(map(len, families.values()))
        COUNTS["families of several"] += sum(len(members) > 1 for members in families.values())
        read = [rows for task in tasks for rows in task.inputs]
        COUNTS["inputs that several read"] += len(read) - len({id(rows) for rows in read})
        found = super().join(tasks, targets)  # type: ignore[arg-type]
        COUNTS["in files"] += bool(self._room._maps)
        return found


def in_parts(binding: Binding, step: Step, rows: Input, most: int) -> list[Binding]:
    """Law: each part has ``most`` combinations besides those of its first one, and all have those that there are."""
    found = parts(binding, step, rows, most)
    own = [extended(part, step, rows) for part in found]
    for part, several in zip(found, own, strict=True):
        assert len(several) <= most + len(extended(part.slice(0, 1), step, rows))
    assert sum(map(len, own)) == len(extended(binding, step, rows)) and len(found) <= 1 + len(binding)
    COUNTS["in parts"] += len(found) > 1
    return found


def leaving_out(p: Product, sources: Sequence[Rows], room: Room) -> list[Rows] | None:
    found = unread.without_unread(p, sources, room)
    COUNTS["without what is not read"] += found is not None and sum(map(len, found)) < sum(map(len, sources))
    return found


def changed(plan: Plan, tables: dict[str, Rows], changes: dict[str, Rows], joiner: Joiner) -> Changed | str:
    """What a batch does to each map, or that it has no value."""
    try:
        done = propagate(plan, Memory(tables, plan.indexes), changes, joiner)
    except EvaluationError:
        return "no value"
    return {name: rows.counts() for name, rows in done.changes.items()}


def views(c: Choices, schema: Schema) -> list[Expr]:
    makers = (random_query, correlated_query, folding_query, grouped_query, nearest_query)
    made = [c.pick(makers)(c, schema) for _ in range(1 + c.number(2))]
    others = [with_other_constants(c, e) for e in made for _ in range(c.number(4))]
    return [*made, *others, c.pick(made)]


@pytest.mark.parametrize(
    ("together", "at_once", "memory"),
    [(joins.TOGETHER, MANY, DEFAULT), (12, MANY, DEFAULT), (1, 2, 1 << 10), (joins.TOGETHER, 3, DEFAULT)],
)
@law(examples=many(6, 25))
def test_views_kept_fresh_together_are_those_kept_fresh_alone(
    together: int, at_once: int, memory: int, c: Choices
) -> None:
    """propagate(merged plans) = propagate(each plan), and so for builds; by columns, a chunk at a time, and by rows."""
    schema = random_schema(c)
    bodies = views(c, schema)
    plans = [planned(query_of(schema, e, f"V{i}"))[1] for i, e in enumerate(bodies)]
    every = merged(plans)
    assert all(sorted(p.program.turns, key=every.turns.__getitem__) == [*p.program.turns] for p in plans)
    case = case_of(c, schema, bodies[0], BATCHES)
    with pytest.MonkeyPatch.context() as patch:
        parts = {name: rows for p in plans for name, rows in part_tables(p.program, case.parts).items()}
        built = {name: rows for p in plans for name, rows in build(p, Memory(parts, {}), PythonJoiner()).items()}
        patch.setattr(joins, "TOGETHER", together)
        patch.setattr(joins, "parts", in_parts)
        patch.setattr(joins, "without_unread", leaving_out)
        patch.setattr(unread, "FEWER", 0)
        patch.setattr(Room, "rows", lambda *_: at_once)
        patch.setattr(sizes, "FEW", 0)
        found = build(every, Memory(parts, {}), Counting(Room(memory)))
        assert {n: rows.counts() for n, rows in found.items()} == {n: rows.counts() for n, rows in built.items()}
    tables = {**parts, **built}
    for _, batch in case.steps():
        changes = {n: rows for p in plans for n, rows in changed_tables(p.program, batch.delta).items()}
        alone = [changed(p, tables, changes, PythonJoiner()) for p in plans]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(joins, "TOGETHER", together)
            patch.setattr(joins, "parts", in_parts)
            patch.setattr(joins, "without_unread", leaving_out)
            patch.setattr(unread, "FEWER", 0)
            patch.setattr(Room, "rows", lambda *_: at_once)
            patch.setattr(sizes, "FEW", 0)
            both = changed(every, tables, changes, Counting(Room(memory)))
        if isinstance(both, str):
            assert both in alone
            COUNTS["no value"] += 1
            return
        assert both == {name: rows for own in alone if not isinstance(own, str) for name, rows in own.items()}
        assert not any(isinstance(own, str) for own in alone)
        COUNTS["batches"] += 1
        for name, rows in changes.items():
            tables[name] = tables[name].plus(rows).consolidated()
        for name, counts in both.items():
            tables[name] = tables[name].plus(Rows.of_counts(tables[name].types, counts)).consolidated()


def test_coverage() -> None:
    wanted = {"equal products", "families of several", "inputs that several read", "batches", "in chunks"}
    if COUNTS:
        assert min(COUNTS[name] for name in wanted) > 40, COUNTS
        assert min(COUNTS["in files"], COUNTS["in parts"], COUNTS["without what is not read"]) > 5, COUNTS
