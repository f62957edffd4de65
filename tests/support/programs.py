"""Trigger programs over tables in memory: what the law tests run instead of a store."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve, frozen

from ripplenest.data.columns import base_types, from_leaves, to_leaves
from ripplenest.data.index import Places, Wanted, key_rows
from ripplenest.data.order import First, Firsts, Within
from ripplenest.data.room import Room
from ripplenest.data.rows import Row, Rows
from ripplenest.delta.compile import Options, Stages, compile_view
from ripplenest.delta.program import TriggerProgram
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import Expr, Query
from ripplenest.nrc.types import NUMBERED, Bag, Label, Record, Site, Type, has_columns
from ripplenest.nrc.values import to_value
from ripplenest.plan.planned import Plan, Target, plan
from ripplenest.reading.arrow import NestedColumns
from ripplenest.run import sizes
from ripplenest.run.build import build
from ripplenest.run.joiner import Joined, Joiner, PythonJoiner, Task
from ripplenest.run.local import LocalJoiner
from ripplenest.run.propagate import propagate
from ripplenest.schema.shape import OutputShape, shape_of
from ripplenest.shred.contexts import stored_rows
from ripplenest.shred.values import Parts, nest
from ripplenest.store.index.arranging import in_order_of
from ripplenest.store.index.asked import Asked
from ripplenest.store.index.first import read_first
from ripplenest.store.index.ordered import OrderedIndex
from ripplenest.store.index.within import lying, read_within
from support.schemas import Schema
from support.strategies import Case

T = TypeVar("T")
Tables = dict[str, Rows]
COST = Options()


@frozen
class Memory:
    """Tables as a ``Reader``; a probe may only ask for declared access keys."""

    tables: Tables
    indexes: Mapping[str, tuple[tuple[int, ...], ...]]

    def scan(self, table: str) -> Rows:
        return self.tables[table]

    def probe(self, table: str, columns: tuple[int, ...], keys: Wanted) -> Rows:
        assert columns in self.indexes[table], f"{table} has no index on {columns}"
        wanted, rows = set(key_rows(keys)), self.tables[table]
        found = ((row, n) for row, n in rows.counts().items() if tuple(row[c] for c in columns) in wanted)
        return Rows.of_pairs(rows.types, found)

    def many(self, table: str, columns: tuple[int, ...], keys: Rows) -> Places:
        assert columns in self.indexes[table], f"{table} has no index on {columns}"
        found = Counter(tuple(row[c] for c in columns) for row, _ in self.tables[table].pairs())
        return np.array([found[key] for key, _ in keys.pairs()], np.int64)

    def first(self, table: str, asked: Firsts) -> First:
        """As a store has it; every row counts as read."""
        rows = self.tables[table]
        plus = rows if asked.plus is None else rows.plus(asked.plus)
        found = read_first([], Asked.of(asked, rows.types), plus.consolidated())
        return evolve(found, read=len(rows))

    def within(self, table: str, *ways: Within) -> Rows | None:
        """As a store has it, in whatever order, and by any of these: whichever finds fewest, rows are the same."""
        asked = ways[ASKED["between"] % len(ways)]
        rows = self.tables[table].consolidated()
        found = rows.arrow().combine_chunks()
        index = OrderedIndex.of(in_order_of(found, asked.order, Room()), asked.order, 0)
        ASKED["between"] += 1
        spans = lying([(index, lambda places: found.take(pa.array(places)))], asked)
        taken = read_within(spans, asked, rows.types)
        return Rows(rows.types, table=pa.concat_tables([Rows.empty(rows.types).arrow(), *taken]))


SAMPLED = 5  # every which batch is by columns, too: to compare all would take half of the time of the laws
FEW = 40  # nested rows of one batch
ASKED: Counter[str] = Counter()
KEYED: Counter[str] = Counter()  # labels of stored rows, by what they are made of


@frozen
class Both:
    """The engine over columns beside the evaluator of rows, however few they are. Law: the same signed rows, and no
    value for the same tasks."""

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> Joined:
        try:
            expected = PythonJoiner().join(tasks, targets)
        except EvaluationError:
            with pytest.raises(EvaluationError):
                LocalJoiner().join(tasks, targets)
            raise
        found = LocalJoiner().join(tasks, targets)
        assert {name: rows.counts() for name, rows in found.items()} == {n: r.counts() for n, r in expected.items()}
        return found


@contextmanager
def by_columns(joiner: Joiner) -> Iterator[Joiner]:
    """Now and then, all that the batch asks for is asked for and joined by columns."""
    ASKED["batches"] += 1
    if ASKED["batches"] % SAMPLED or not isinstance(joiner, PythonJoiner):
        yield joiner
        return
    ASKED["by columns"] += 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "FEW", 0)
        yield Both()


def query_of(schema: Schema, body: Expr, name: str = "V") -> Query:
    return Query(name, body, schema.relations, schema.keys)


def planned(query: Query, options: Options = COST) -> tuple[Stages, Plan]:
    stages = compile_view(query, options)
    return stages, plan(stages.program)


def _of_last(make: Callable[[TriggerProgram], T]) -> Callable[[TriggerProgram], T]:
    """``make``, which for the program that came last is not asked again: laws run one after the other, often."""
    last: list[tuple[TriggerProgram, T]] = []

    def found(program: TriggerProgram) -> T:
        if not last or last[0][0] is not program:
            last[:] = [(program, make(program))]
        return last[0][1]

    return found


_stored = _of_last(lambda program: stored_rows(program.relations, program.keys))
_shape = _of_last(shape_of)


def part_tables(program: TriggerProgram, parts: Parts) -> Tables:
    """The stored tables of shredded relations; parts that are missing have no rows."""
    return {name: _table(row, parts.get(name)) for name, row in _stored(program).items()}


def changed_tables(program: TriggerProgram, delta: Parts) -> Tables:
    """The rows of a change, of the parts that have some."""
    made = {name: _table(row, delta[name]) for name, row in _stored(program).items() if name in delta}
    return {name: rows for name, rows in made.items() if len(rows)}


def _table(row: Type, part: "BagValue | Mapping[LabelValue, BagValue] | None") -> Rows:
    if isinstance(part, Mapping):
        pairs = [((("label", label), ("row", v)), n) for label, bag in part.items() for v, n in bag]
    else:
        pairs = list(part or BagValue())
    return Rows.of_pairs(base_types(row), ((to_leaves(_keyed(v, row), row), n) for v, n in pairs))


def _keyed(value: Value, t: Type) -> Value:
    """``value`` with labels as ``t`` has them: for programs, a key is as good as any other that no other label has."""
    match value, t:
        case LabelValue(site, (number,)), Label((Site(params=params),)):
            KEYED["numbers" if params == NUMBERED else "keys"] += 1
            return LabelValue(site, tuple(number if p.kind == "long" else f"k{number}" for _, p in params))
        case tuple(), Record(fields):
            return tuple((name, _keyed(field_of(value, name), inner)) for name, inner in fields)
        case _:
            return value


@frozen
class Running:
    """A program and everything it stores."""

    plan: Plan
    tables: Tables
    joiner: Joiner

    @classmethod
    def start(cls, p: Plan, parts: Parts, joiner: Joiner | None = None) -> "Running":
        tables = part_tables(p.program, parts)
        joiner = joiner or PythonJoiner()
        with by_columns(joiner) as chosen:
            return cls(p, {**tables, **build(p, Memory(tables, {}), chosen)}, joiner)

    def apply(self, delta: Parts) -> "Running":
        """The state after a batch, by the triggers."""
        changes = changed_tables(self.plan.program, delta)
        with by_columns(self.joiner) as chosen:
            done = propagate(self.plan, Memory(self.tables, self.plan.indexes), changes, chosen)
        return self.grown({**changes, **done.changes})

    def grown(self, step: Tables) -> "Running":
        """The state with the changes of a batch added to its tables."""
        grown = {n: rows.plus(step[n]).consolidated() if n in step else rows for n, rows in self.tables.items()}
        return Running(self.plan, grown, self.joiner)

    def maps(self) -> dict[str, dict[Row, int]]:
        return {m.name: self.tables[m.name].counts() for m in self.plan.maps}

    def everything(self) -> dict[str, dict[Row, int]]:
        return {name: rows.counts() for name, rows in self.tables.items()}

    def nested(self) -> BagValue:
        """The view as a nested value. Law, asked now and then: over columns it is the same."""
        shape = _shape(self.plan.program)
        found = nested_of(shape, self.tables)
        ASKED["nested"] += 1
        is_signed = any(has_negative(self.tables[t]) for t in shape.tables)
        if is_signed or ASKED["nested"] % (4 * SAMPLED) == 0:
            ASKED["nested by columns"] += 1
            if is_shown(found):
                ASKED["signed"] += is_signed
                assert nested_by_columns(shape, self.tables) == found
            else:
                with pytest.raises(EvaluationError, match="less than 0 times"):
                    nested_by_columns(shape, self.tables)
        return found


def has_negative(rows: Rows) -> bool:
    """Whether a row is there less than 0 times: of rows with inner bags others may be the same, which are there."""
    return any(n < 0 for n in rows.counts().values())


def is_shown(value: Value) -> bool:
    """Whether no row is there less than 0 times, at any depth."""
    match value:
        case BagValue():
            return all(n > 0 and is_shown(row) for row, n in value)
        case tuple():
            return all(is_shown(inner) for _, inner in value)
    return True


def nested_by_columns(shape: OutputShape, tables: Tables) -> BagValue:
    """The rows that Arrow reads, few at a time."""
    table = NestedColumns(shape, Memory(tables, {})).reader(FEW).read_all()
    rows = table.to_pylist() if has_columns(shape.row) and shape.row.fields else table.column(0).to_pylist()
    found = to_value(rows, Bag(shape.row), "rows")
    assert isinstance(found, BagValue)
    return found


def nested_of(shape: OutputShape, tables: Tables) -> BagValue:
    flat = BagValue.weighted(_values(tables[shape.flat.table], shape.flat.row))
    found: dict[LabelValue, list[tuple[Value, int]]] = {}
    for d in shape.dictionaries:
        for entry, n in _values(tables[d.table], d.stored):
            label = field_of(entry, "label")
            assert isinstance(label, LabelValue)
            found.setdefault(label, []).append((field_of(entry, "row"), n))
    bags = {label: BagValue.weighted(rows) for label, rows in found.items()}
    return nest(flat, shape.row, lambda label: bags.get(label, BagValue()))


def _values(rows: Rows, t: Type) -> list[tuple[Value, int]]:
    return [(from_leaves(row, t), n) for row, n in rows.counts().items()]


def check_law_6(case: Case) -> None:
    """After each batch the view is its query on what is there then."""
    query = query_of(Schema(case.schema.relations), case.query)
    running = Running.start(planned(query)[1], case.parts)
    assert running.nested() == evaluate(query.body, case.db)
    for parts, batch in case.steps():
        running = running.apply(batch.delta)
        assert running.nested() == evaluate(query.body, batch.nested_after(case.schema, parts))
