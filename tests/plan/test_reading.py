"""What strict accepts reads no more when the state grows: what is read by a batch that changes nothing in the view, if
no more rows of maps change that are kept so that others read less, and no more rows hold the bag that it reaches into.

Whatever a batch does not touch is made many times larger, by rows whose values meet none of its keys, some of which are
the constants of the view, or NULL, in all rows or in some.
"""

from collections import Counter

import pytest
from attrs import frozen
from support.choices import Choices
from support.counts import ENOUGH
from support.failing import DEPTH, SCHEMA, Levels, term
from support.laws import law
from support.programs import Memory, Running, changed_tables, planned, query_of
from support.schemas import Schema, random_value
from support.sizes import many
from support.updates import numbered

from ripplenest.delta.compile import Options
from ripplenest.delta.judge import judge
from ripplenest.delta.materialize import MODES
from ripplenest.delta.program import MapKind
from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.syntax import Call, Elem, Lit
from ripplenest.nrc.types import LONG, Bag, Base, Record, Type
from ripplenest.plan.planned import Plan
from ripplenest.run.joiner import PythonJoiner
from ripplenest.run.propagate import propagate
from ripplenest.shred.consistency import add, labels_of
from ripplenest.shred.values import Parts, shred_relation

COUNTS: Counter[str] = Counter()
STATES = 6  # of each view
Pool = tuple[int, ...]
HERE: Pool = (1, 2)
ELSEWHERE: tuple[Pool, ...] = ((0,), (7,), (), (0, 7, 8))  # 0 is a constant of the views; () is NULL where it may be


class _Reading(Levels):
    """Views with conditions of all kinds: between tables and on one, with constants, with NULL, and disjunctions."""

    def link(self, var: str, table: str, others: dict[str, str]) -> Elem:
        if self.c.one_in(3):
            return self.condition({**others, var: table})
        return super().link(var, table, others)

    def scalar(self, scope: dict[str, str], one_in: int) -> Elem:  # noqa: ARG002
        return self.column(scope)

    def condition(self, scope: dict[str, str]) -> Elem:
        a, b = self.column(scope), self.column(scope)
        match self.c.number(7):
            case 0:
                return Call("not", (Call("is_null", (a,)),))
            case 1 | 2:
                return Call(self.c.pick(("eq", "ne", "lt")), (a, Lit(self.c.number(3), LONG)))
            case 3:
                return Call("or", (Call("eq", (a, b)), Call("eq", (self.column(scope), self.column(scope)))))
            case _:
                return Call(self.c.pick(("ne", "lt", "eq")), (a, b))


def rows(c: Choices, schema: Schema, most: int, pool: Pool, tag: str, nulls: bool = False) -> Parts:
    """Up to ``most`` rows of each relation with values out of ``pool``, shredded, under labels of their own."""
    parts: Parts = {}
    for name, row in schema.relations:
        n = 0 if c.one_in(3) else 1 + c.number(most)
        bag = BagValue.weighted((moved(random_value(c, row, 2), row, c, pool, nulls), 1) for _ in range(n))
        parts |= shred_relation(bag, row, name, (), numbered(f"{tag}{name}-"))
    return parts


def moved(value: Value, t: Type, c: Choices, pool: Pool, nulls: bool) -> Value:
    """A value of the same shape out of ``pool``; NULL only where there may be ``nulls``."""
    match t:
        case Base(_, nullable):
            return c.pick((*pool, None) if nullable and nulls else pool or (0,))
        case Record(fields):
            assert isinstance(value, tuple)
            return tuple((n, moved(v, f, c, pool, nulls)) for (n, v), (_, f) in zip(value, fields, strict=True))
        case Bag(row):
            assert isinstance(value, BagValue)
            return BagValue.weighted((moved(v, row, c, pool, nulls), n) for v, n in value)
        case _:
            raise AssertionError(f"not a type of nested data: {t}")


def inserts(c: Choices, parts: Parts) -> Parts:
    """A batch that inserts rows of one relation, or one more occurrence of a row into an inner bag that is there."""
    found = [
        (part, label, row)
        for part, bags in parts.items()
        if not isinstance(bags, BagValue)
        for label, bag in bags.items()
        for row, _ in bag
        if not list(labels_of(row))
    ]
    if found and c.number(2):
        part, label, row = c.pick(found)
        return {part: {label: BagValue({row: 1})}}
    name, row_type = c.pick(SCHEMA.relations)
    return rows(c, Schema(((name, row_type),)), 3, HERE, "Δ")


@frozen
class Reads:
    """What a batch reads in one state, whether it changes the view, and how many rows of maps that are kept for it; and
    how many places hold a bag that it reaches into: it looks at each of them."""

    rows: int
    changes: bool
    kept: int
    places: int


def reads(program: Plan, parts: Parts, delta: Parts) -> Reads:
    running = Running.start(program, parts)
    changes = changed_tables(program.program, delta)
    done = propagate(program, Memory(running.tables, program.indexes), changes, PythonJoiner())
    after = running.grown({**changes, **done.changes})
    kept = sum(len(done.changes.get(m.name, ())) for m in program.maps if m.kind is MapKind.AUXILIARY)
    labels = {n for bags in delta.values() if not isinstance(bags, BagValue) for label in bags for n in label.args}
    domains = [running.tables[m.name].counts() for m in program.maps if m.kind is MapKind.DOMAIN]
    places = sum(not labels.isdisjoint(row) for rows in domains for row in rows)
    return Reads(done.rows_read, running.nested() != after.nested(), kept, places)


@law(examples=many(93, 600))
def test_what_strict_accepts_reads_no_more_of_a_larger_state(c: Choices) -> None:
    """A batch that makes and takes no row of the view, and not more of maps that are kept for it, reads as many rows of
    a state as of a larger one, unless more rows hold what it reaches into. Compiling costs most, so each view meets
    several states."""
    query = query_of(SCHEMA, term(_Reading(c).level(1 + c.number(DEPTH), {})))
    stages, program = planned(query, Options(c.pick(MODES)))
    accepted = judge(query, stages).incremental
    COUNTS["accepted" if accepted else "refused"] += 1
    for _ in range(STATES):
        reads_no_more(c, program, accepted)


def reads_no_more(c: Choices, program: Plan, accepted: bool) -> None:
    parts = rows(c, SCHEMA, 5, HERE, "old ")
    delta = inserts(c, parts)
    larger = add(parts, rows(c, SCHEMA, 6, c.pick(ELSEWHERE), "new ", nulls=c.one_in(2)))
    small, large = reads(program, parts, delta), reads(program, larger, delta)
    if small.changes or large.changes or large.kept > small.kept or large.places > small.places:
        COUNTS["changes the view, or more of what is behind it"] += 1
        return
    if accepted:
        COUNTS["law"] += 1
        COUNTS["law, with rows read"] += small.rows > 0
        assert large.rows == small.rows
    else:
        COUNTS["refused, reads more"] += large.rows > small.rows


def test_coverage() -> None:
    if COUNTS["accepted"] + COUNTS["refused"] < ENOUGH:
        pytest.skip("the tests of this module did not all run")
    assert min(COUNTS["accepted"], COUNTS["refused"]) >= many(30, 60), COUNTS
    assert COUNTS["law"] >= many(120, 200) and COUNTS["law, with rows read"] >= many(12, 20), COUNTS
    assert COUNTS["refused, reads more"] >= many(6, 10), COUNTS
