"""Contributions that are folded piece by piece while products make them come to what all of them come to at once."""

from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from support.choices import Choices
from support.correlated import folding_query
from support.laws import law
from support.programs import Memory, Running, part_tables, planned, query_of
from support.queries import grouped_query
from support.schemas import random_schema
from support.sizes import many
from support.strategies import Case, case_of
from support.summing import chained_case, joined_case

import ripplenest as rn
from ripplenest.data import room
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.delta.compile import Options
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.functions.integers import decoded
from ripplenest.nrc.types import LONG, STRING
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import Plan
from ripplenest.run import groups, piecewise, sizes, trees
from ripplenest.run.build import build
from ripplenest.run.joiner import Joiner, PythonJoiner
from ripplenest.run.local import LocalJoiner
from ripplenest.run.propagate import propagate
from ripplenest.vector import folding

COUNTS: Counter[str] = Counter()
LITTLE, MUCH = 1 << 11, 1 << 28  # bytes of memory
ROWS_ONLY = 2.0  # where no larger sum fits, they are folded by rows
BATCHES = 2
Built = dict[Any, Any]
T = TypeVar("T")


def any_case(c: Choices) -> Case:
    make = c.pick((grouped_query, folding_query, None, None))
    if make is None:
        return joined_case(c) if c.number(2) else chained_case(c)
    schema = random_schema(c)
    return case_of(c, schema, make(c, schema), BATCHES)


def counted(f: Folding, made: Rows) -> Rows:
    """``piece``, of which it is counted what it had to do with."""
    found = PIECE(f, made)
    COUNTS["pieces"] += 1
    COUNTS["of several keys"] += len(found) > 1
    COUNTS["of no key"] += f.keys == 0
    COUNTS["of doubles"] += any(a.of == "real" for a in f.accumulators)
    there = [decoded(row[f.keys]) for row in found.counts()]
    COUNTS["less than nothing"] += any(n < 0 for n in there)
    COUNTS["nothing of something"] += 0 in there
    return found


PIECE = piecewise.piece


@law(any_case, examples=many(12, 3000))
def test_pieces(case: Case) -> None:
    """Law (pieces): what is built of pieces is what is built of all contributions, by rows and by columns, in memory
    and in files, of trees or not; and where one has no value, the other has none."""
    _, plan = planned(query_of(case.schema, case.query), Options("full"))
    alike(plan, Memory(part_tables(plan.program, case.parts), {}))


@law(any_case, examples=many(15, 3000))
def test_batches_in_pieces(case: Case) -> None:
    """The same of what statements make of a batch, over rows that are stored."""
    _, plan = planned(query_of(case.schema, case.query))
    for safe in (folding.SAFE, ROWS_ONLY):
        wanted, found = states(plan, case, PythonJoiner()), in_pieces(safe, partial(states, plan, case, LocalJoiner()))
        assert found == wanted


def states(plan: Plan, case: Case, joiner: Joiner) -> list[Built] | None:
    """All that is stored after each batch; None where one has no value."""
    try:
        running, found = Running.start(plan, case.parts, joiner), []
        for batch in case.batches:
            running = running.apply(batch.delta)
            found.append(running.everything())
    except EvaluationError:
        return None
    COUNTS["batches"] += len(found)
    return found


FOLDED = """
relation R : Bag(⟨k: {0}, x: {1}⟩)
view v = group[g](r in R by k: r.k of s: sum(r.x), a: avg(r.x), n: count(r.x))
view w = [⟨n: n⟩ | n in [sum(r.x | r in R)]]
"""
KEYS: dict[str, tuple[Any, ...]] = {
    "string?": ("a", "b", "", None), "double": (0.0, 1.5, float("nan")), "bool?": (True, None),
}  # fmt: skip
VALUES: dict[str, tuple[Any, ...]] = {
    "double?": (None, 0.1, -0.0, 1e300, -1e300, 5e-324, float("nan"), float("inf")),
    "long?": (None, 1, 0, -(2**62), 2**62 - 1),
    "decimal(38,2)?": (None, Decimal("0.01"), Decimal("-9e35"), Decimal("9e35")),  # two of them are too many digits
}


@law(examples=many(350, 6000))
def test_pieces_of_rows_that_others_take_away(c: Choices) -> None:
    """Of contributions, some of which are there less than 0 times: a piece may have of a key less than nothing, and
    nothing that comes to something."""
    key, value = c.pick(tuple(KEYS)), c.pick(tuple(VALUES))
    view = rn.parse(FOLDED.format(key, value), "folded").views[c.number(2)]
    _, plan = planned(view.query, Options("full"))
    m = next(m for level in plan.levels for m in level if m.folding is not None)
    f = m.adding
    given = [KEYS[key]] * f.keys + [VALUES[value]] * (len(f.made) - f.keys)
    came = [(tuple(map(c.pick, given)), c.pick((1, 2, 2**59))) for _ in range(c.number(8))]
    every = [*came, *((row, -n) for row, n in came if c.number(2))]
    order = sorted(range(len(every)), key=lambda _: c.number(99))
    made = [Rows.of_pairs(f.made, [every[i] for i in order[at : at + 2]]) for at in range(0, len(order), 2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "FEW", 0)
        patch.setattr(folding, "SAFE", c.pick((folding.SAFE, ROWS_ONLY)))
        found = [counted(f, rows) for rows in made]
        if found:
            together = Rows(f.piece_types, table=pa.concat_tables([rows.arrow() for rows in found]))
            wanted = answered(partial(groups.built, m, f, Rows.of_pairs(f.made, every)))
            assert answered(partial(groups.built, m, f, together, in_pieces=True)) == wanted


def answered(build: Callable[[], Rows]) -> Built | bool:
    """Rows as often as they are there, or that there are none, which is said of a key, if it has one."""
    try:
        return dict(build().counts())
    except EvaluationError as error:
        COUNTS["no value"] += 1
        assert "view " in str(error)
        return "row " in str(error)


def alike(plan: Plan, tables: Memory) -> None:
    wanted = outcome(plan, tables, PythonJoiner())
    COUNTS["no value"] += wanted is None
    for memory, safe, heavier in product((LITTLE, MUCH), (folding.SAFE, ROWS_ONLY), (trees.HEAVIER, 0)):
        assert of_pieces(plan, tables, memory, safe, heavier) == wanted


def of_pieces(plan: Plan, tables: Memory, memory: int, safe: float, heavier: float) -> Built | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "HEAVIER", heavier)
        patch.setattr(trees, "LEAST", 0)
        return in_pieces(safe, partial(outcome, plan, tables, LocalJoiner(Room(memory))))


def in_pieces(safe: float, work: Callable[[], T]) -> T:
    """What is done where two rows are very many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "FEW", 0)
        patch.setattr(piecewise, "PIECE", 2)
        patch.setattr(piecewise, "WORTH", 0)
        patch.setattr(groups, "STRETCH", 2)
        patch.setattr(piecewise, "piece", counted)
        patch.setattr(folding, "SAFE", safe)
        return work()


def outcome(plan: Plan, tables: Memory, joiner: Joiner) -> Built | None:
    try:
        return {name: rows.counts() for name, rows in build(plan, tables, joiner).items()}
    except EvaluationError:
        return None


BOTH = """
relation R : Bag(⟨k: long, x: long⟩)
relation S : Bag(⟨k: long, x: long⟩)
view v = group[g](r in R + S by k: r.k of s: sum(r.x))
"""


@pytest.mark.parametrize("keys", [50, 1 << 62], ids=["few", "as many as rows"])
def test_very_many_are_folded_where_their_keys_are_few(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """And kept as they come where they are not: the first piece, of the rows of both, says which."""
    half = piecewise.PIECE // 2 + 1000
    tables = {name: rows_of(range(first, first + half), keys) for name, first in (("R", 0), ("S", half))}
    (view,) = rn.parse(BOTH, "both").views
    _, plan = planned(view.query, Options("full"))
    made: list[bool | None] = []
    end = piecewise.Contributions.end
    monkeypatch.setattr(piecewise.Contributions, "end", lambda own: (made.append(own.is_folded), end(own)))
    found = build(plan, Memory(tables, {}), LocalJoiner())
    assert made == [keys == 50]  # of the groups; others have nothing to fold
    wanted: Counter[int] = Counter()
    for x in range(2 * half):
        wanted[x % keys] += x
    assert {row[0]: row[1] for row in found["v"].counts()} == wanted


def rows_of(numbers: range, keys: int) -> Rows:
    columns = {"c0": [x % keys for x in numbers], "c1": list(numbers), "w": pa.array([1] * len(numbers), pa.int64())}
    return Rows((LONG, LONG), table=pa.table(columns))


def test_wide_rows_do_not_wait_for_very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is at most what the memory of the setting has room for, and a chunk."""
    (view,) = rn.parse("relation R : Bag(string) view v = group[g](r in R by k: r of n: count())", "wide").views
    _, plan = planned(view.query, Options("full"))
    rows = Rows.of_counts((STRING,), {(f"{i}" * 500,): 1 for i in range(1000)})
    waiting: list[int] = []
    fold = piecewise.Contributions._fold
    monkeypatch.setattr(piecewise.Contributions, "_fold", lambda own: (waiting.append(own._rows), fold(own)))
    monkeypatch.setattr(room, "FEWEST", 50)
    found = build(plan, Memory({"R": rows}, {}), LocalJoiner(Room(1 << 20)))
    assert len(found["v"]) == len(rows) and waiting and max(waiting) < len(rows)


ALIKE = {(1, sign * x): 1 for x in range(1, 9) for sign in (1, -1)}  # two by two they come to the same
OF_ONE = "relation R : Bag(⟨k: long, x: long⟩) view v = group[g](r in R by k: r.k of s: sum(r.x), n: count(r.x))"


@pytest.mark.parametrize("safe", [folding.SAFE, ROWS_ONLY])
@pytest.mark.parametrize("how", ["a build", "a batch"])
def test_pieces_may_be_equal_where_rows_are_not(how: str, safe: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a product keeps apart is there once; of what its pieces come to, that is not said."""
    (view,) = rn.parse(OF_ONE, "one").views
    _, plan = planned(view.query, Options("full"))
    rows = Rows.of_counts((LONG, LONG), ALIKE)
    monkeypatch.setattr(room, "FEWEST", 2)
    monkeypatch.setattr(piecewise, "PIECE", 2)
    monkeypatch.setattr(piecewise, "WORTH", 0)
    monkeypatch.setattr(piecewise, "piece", counted)
    monkeypatch.setattr(sizes, "FEW", 0)
    monkeypatch.setattr(folding, "SAFE", safe)
    before, joiner = COUNTS["pieces"], LocalJoiner(Room(1 << 10))
    if how == "a build":
        found = build(plan, Memory({"R": rows}, {}), joiner)
    else:
        tables = {
            name: Rows.empty(types) for name, types in (("R", rows.types), *((m.name, m.types) for m in plan.maps))
        }
        found = propagate(plan, Memory(tables, plan.indexes), {"R": rows}, joiner).changes
    assert COUNTS["pieces"] - before >= len(ALIKE) / 2
    assert [*found["v"].counts()] == [(1, 0, len(ALIKE))]


def test_coverage() -> None:
    if COUNTS:
        wanted = ("pieces", "of several keys", "of no key", "of doubles", "less than nothing", "nothing of something")
        assert min(COUNTS[what] for what in wanted) > 5, COUNTS
        assert COUNTS["no value"] > 0 and COUNTS["batches"] > 20, COUNTS
