"""What statements of a level ask of a table together: they find the rows that they find alone, and read no more."""

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from attrs import field, frozen
from support.choices import Choices
from support.cycles import NAMES, ROW, body, changes, random_rows, random_view
from support.laws import law
from support.programs import Both, Memory, Running, changed_tables, planned
from support.related import path
from support.sizes import many as times

from ripplenest.data.index import Places, Wanted
from ripplenest.data.order import Within
from ripplenest.data.rows import Row, Rows
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import Call, Elem, Plus, Query, Rel, Sng
from ripplenest.nrc.types import LONG, Record
from ripplenest.plan.planned import Plan
from ripplenest.run import inputs, keys, probes, propagate, rounds, sizes
from ripplenest.run.joiner import Joiner, PythonJoiner
from ripplenest.run.local import LocalJoiner
from ripplenest.run.rounds import Looked, Lookup, in_step

COUNTS: Counter[str] = Counter()


@frozen(slots=False)
class Counted(Memory):
    """Tables that count how often they are probed."""

    probes: list[str] = field(factory=list, init=False)

    def probe(self, table: str, columns: tuple[int, ...], keys: Wanted) -> Rows:
        self.probes.append(table)
        return super().probe(table, columns, keys)

    def many(self, table: str, columns: tuple[int, ...], keys: Rows) -> Places:
        self.probes.append(table)
        return super().many(table, columns, keys)

    def within(self, table: str, *ways: Within) -> Rows | None:
        """By the way that finds fewest, as a store, since rows are counted that are read."""
        found = [rows for way in ways if (rows := super(Counted, self).within(table, way)) is not None]
        return min(found, key=len, default=None)


Found = tuple[dict[str, dict[Row, int]], int, int]  # by map its change; rows that were read; probes


def applied(plan: Plan, running: Running, delta: dict[str, Rows], joiner: Joiner) -> Found | None:
    """What a batch does; None where a map has no value."""
    reader = Counted(running.tables, plan.indexes)
    try:
        done = propagate.propagate(plan, reader, delta, joiner)
    except EvaluationError:
        return None
    made = {name: rows.counts() for name, rows in done.changed.items()}
    return {n: rows for n, rows in made.items() if rows}, done.rows_read, len(reader.probes)


def alone(asked: Sequence[Lookup]) -> Iterator[list[int]]:
    yield from ([i] for i in range(len(asked)))


def each_itself(own: probes.Probes, asked: Sequence[Lookup]) -> list[Looked]:
    """Nobody is given what another one found."""
    return [own._probed(lookup, lookup.keys) for lookup in asked]


@law(examples=times(40, 1500), shown=random_view)
def test_together_is_what_each_asks_alone(c: Choices) -> None:
    """Law (in_step): who is given rows that others asked for makes the same rows of them, and asks no more of the next
    table than alone, so that no more is read than if each read what it asks for, by no more probes."""
    _, plan = planned(random_view(c), Options(c.pick(MODES)))
    held = {name: random_rows(c, 14) for name in NAMES}
    by_columns = c.one_in(2)
    with pytest.MonkeyPatch.context() as patch:
        try:
            running = Running.start(plan, held)
        except EvaluationError:
            return
        if by_columns:
            patch.setattr(sizes, "FEW", 0)
        delta, joiner = changed_tables(plan.program, changes(c, held)), Both() if by_columns else PythonJoiner()
        most = c.pick((10**6, 3, 0))
        patch.setattr(rounds, "TOGETHER", most)
        is_crowded = c.one_in(5)  # combinations that are too many are not looked at
        if is_crowded:
            patch.setattr(inputs, "MOST_KEYS", 2)
            patch.setattr(keys, "MOST_KEYS", 2)
        together = applied(plan, running, delta, joiner)
        patch.setattr(probes, "by_kind", alone)
        patch.setattr(probes.Probes, "_looked_up", each_itself)
        apart = applied(plan, running, delta, joiner)
    if together is None or apart is None:
        assert together == apart
        return
    assert together[0] == apart[0]
    assert is_crowded or (together[1] <= apart[1] and together[2] <= apart[2])
    COUNTS["by columns" if by_columns else "by rows"] += 1
    COUNTS["crowded"] += is_crowded
    COUNTS["several probes of a kind"] += most == 3
    COUNTS["fewer probes"] += together[2] < apart[2]
    COUNTS["fewer rows"] += together[1] < apart[1]


@pytest.mark.parametrize("few", [0, 10**6])
def test_rows_that_others_asked_for_ask_nothing(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """R reads S and goes on to T, T reads S and goes on to R: what the many rows of one find in S is not looked up in
    the table of the other, of which each asks for one row."""
    monkeypatch.setattr(sizes, "FEW", few)
    near, far = (path("x", "a"), path("y", "a")), (path("y", "c"), path("z", "a"))
    ways = [
        body([("x", Rel(one, ROW)), ("y", Rel("S", ROW)), ("z", Rel(other, ROW))],
             [Call("eq", near), Call("eq", far)], Sng(path("z", "c")))
        for one, other in (("R", "T"), ("T", "R"))
    ]  # fmt: skip
    _, plan = planned(Query("V", Plus(*ways), tuple((name, ROW) for name in NAMES)), Options("none"))
    many = 300
    held = {
        "R": rows(*((i, i, i) for i in range(many))),
        "S": rows(*((-i, i, i % many) for i in range(2 * many))),
        "T": rows(*((i, i, i) for i in range(many))),
    }
    running = Running.start(plan, held)
    delta = {"R": rows((-1, 7, 7)), "T": rows(*((-i, 7, 7) for i in range(many, 2 * many)))}
    found = applied(plan, running, changed_tables(plan.program, delta), LocalJoiner())
    assert found is not None and found[1] < 3 * many, found[1]


@pytest.mark.parametrize("few", [0, 10**6])
def test_rows_that_others_asked_for_have_no_band(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """R reads S and what lies in T between two values of that; what T reads of S, too, has nothing to do with it."""
    monkeypatch.setattr(sizes, "FEW", few)
    near, lies = Call("eq", (path("x", "a"), path("y", "a"))), [
        Call("le", (path("y", "b"), path("z", "c"))), Call("le", (path("z", "c"), path("y", "c")))
    ]  # fmt: skip
    x, y, z = (("x", Rel("R", ROW)), ("y", Rel("S", ROW)), ("z", Rel("T", ROW)))
    both = Call("eq", (path("z", "a"), path("y", "a")))
    ways = [body([x, y, z], [near, *lies], Sng(path("z", "c"))), body([z, y], [both], Sng(path("y", "c")))]
    _, plan = planned(Query("V", Plus(*ways), tuple((name, ROW) for name in NAMES)), Options("none"))
    many = 300
    held = {
        "R": rows(),
        "S": rows(*((i, i, i) for i in range(many))),
        "T": rows(*((i, i, i) for i in range(many))),
    }
    delta = {"R": rows((7, 7, 7)), "T": rows(*((i, -i, -i) for i in range(many)))}
    found = applied(plan, Running.start(plan, held), changed_tables(plan.program, delta), LocalJoiner())
    assert found is not None and found[0]["V"][7,] == 2 and found[1] < many + 20, found[1]


@pytest.mark.parametrize("few", [0, 10**6])
def test_null_is_asked_by_one_and_not_by_another(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are given the rows whose key is NULL: only who asks where NULL is NULL joins them, as often as they come."""
    monkeypatch.setattr(sizes, "FEW", few)
    ways = [
        body([("x", Rel("R", ROW)), ("y", Rel("S", ROW))], [Call(fn, (path("x", "b"), path("y", "b")))], Sng(head))
        for fn, head in (("eq", path("y", "c")), ("same", path("y", "a")))
    ]
    _, plan = planned(Query("V", Plus(*ways), tuple((name, ROW) for name in NAMES)), Options("none"))
    held = {"R": rows((2, 5, 5)), "S": rows((7, None, 70), (8, 5, 80), (9, None, 90)), "T": rows()}
    delta = {"R": rows((3, None, 3), (4, 5, 4), (3, None, 3))}
    found = applied(plan, Running.start(plan, held), changed_tables(plan.program, delta), LocalJoiner())
    assert found is not None and found[0]["V"] == {(80,): 1, (8,): 1, (7,): 2, (9,): 2} and found[2] == 1, found


def rows(*made: tuple[int, int | None, int]) -> BagValue:
    return BagValue.of(tuple(zip(ROW.names, row, strict=True)) for row in made)


def test_triangles_take_three_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three products, each in the two orders of which rows choose: two counts of lists, a probe of each list, and one
    of what closes the triangles."""
    monkeypatch.setattr(sizes, "FEW", 0)
    edge = Record((("x", LONG), ("y", LONG)))
    sides = [("a", "y", "b", "x"), ("b", "y", "c", "y"), ("a", "x", "c", "x")]
    conditions: list[Elem] = [Call("eq", (path(u, f), path(v, g))) for u, f, v, g in sides]
    term = body([(var, Rel("E", edge)) for var in "abc"], conditions, Sng(path("b", "y")))
    _, plan = planned(Query("V", term, (("E", edge),)), Options("none"))

    def edges(*pairs: tuple[int, int]) -> dict[str, BagValue]:
        return {"E": BagValue.of((("x", x), ("y", y)) for x, y in pairs)}

    running = Running.start(plan, edges(*((x, y) for x in range(9) for y in range(x + 1, 9) if (x + y) % 4)))
    new = edges(*((x, x + 4) for x in range(5)), (9, 1), (1, 10), (10, 9), (3, 9), (0, 10))
    found = applied(plan, running, changed_tables(plan.program, new), Both())
    assert found is not None and found[0] and found[2] == 5, found


def test_a_round_is_answered_once() -> None:
    """Works of different lengths: each goes on with its own answer, and who has ended asks no more."""
    asked: list[list[str]] = []

    def work(tables: str) -> rounds.Work[str]:
        found = ""
        for table in tables:
            looked = yield Lookup(table, (0,), Rows.empty(()))
            found += looked
        return found

    def answer(lookups: Sequence[Lookup]) -> list[object]:
        asked.append([lookup.table for lookup in lookups])
        return [lookup.table.upper() for lookup in lookups]

    assert in_step(map(work, ("abc", "", "b", "xy")), answer) == ["ABC", "", "B", "XY"]
    assert asked == [["a", "b", "x"], ["b", "y"], ["c"]]
    assert in_step([], answer) == [] and len(asked) == 3


def test_coverage() -> None:
    if sum(COUNTS.values()) < 10:
        pytest.skip("the tests of this module did not all run")
    wanted = "by columns", "by rows", "fewer probes", "fewer rows", "several probes of a kind", "crowded"
    assert min(COUNTS[what] for what in wanted) > 2, COUNTS
