"""Products that close a cycle: keys joined from several sources, and orders among which rows of a change choose.

Every state of a random history is compared with one that is built anew: by rows, by columns, with all keys and with
those of one source, where all are said to be too many.
"""

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from support.choices import Choices
from support.cycles import NAMES, ROW, body, changes, random_rows, random_view
from support.laws import law
from support.programs import Both, Memory, Running, changed_tables, part_tables, planned
from support.related import path
from support.sizes import many

from ripplenest.data.rows import Rows
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import Call, Elem, Query, Rel, Sng, Tuple
from ripplenest.nrc.types import LONG, Record
from ripplenest.plan.planned import Plan
from ripplenest.run import keys, lists, local, orders, sizes
from ripplenest.run.build import build
from ripplenest.run.joiner import PythonJoiner, Task
from ripplenest.run.local import LocalJoiner
from ripplenest.run.propagate import propagate
from ripplenest.vector import combinations
from ripplenest.vector import joins as joins_of

COUNTS: Counter[str] = Counter()


def joined(p: Plan) -> bool:
    steps = [s for m in p.maps for _, products in m.triggers for q in products for s in q.steps]
    return any(len(s.via) > 1 for s in steps)


@law(examples=many(22, 1200), shown=random_view)
def test_states_are_those_that_are_built_anew(c: Choices) -> None:
    _, program = planned(random_view(c), Options(c.pick(MODES)))
    COUNTS["joined"] += joined(program)
    held = {name: random_rows(c, 14) for name in NAMES}
    by_columns, most = c.one_in(2), c.pick((0, 3, 10**6))
    with pytest.MonkeyPatch.context() as patch, suppress(EvaluationError):  # of rows that were and rows that came
        running = Running.start(program, held)
        if by_columns:
            COUNTS["by columns"] += 1
            patch.setattr(sizes, "FEW", 0)
            patch.setattr(keys, "MOST_KEYS", most)
            running = Running(program, running.tables, Both())
        watch(patch)
        for _ in range(2):
            delta = changes(c, held)
            running = running.apply(delta)
            held = {name: bag + delta[name] if name in delta else bag for name, bag in held.items()}
        assert running.maps() == Running.start(program, held).maps()
        COUNTS["compared"] += 1


@law(examples=many(20, 1200), shown=random_view)
def test_builds_in_several_orders(c: Choices) -> None:
    """Law: a map is the same whichever rows choose which order. (incremental-faq, section "How do we go on and solve a
    FAQ?": a variable is eliminated within the bound of the cycle.)"""
    _, program = planned(random_view(c), Options(c.pick(MODES)))
    tables = Memory(part_tables(program.program, {name: random_rows(c, 14) for name in NAMES}), {})
    try:
        plain = build(program, tables, PythonJoiner())
    except EvaluationError:
        with pytest.raises(EvaluationError):
            in_parts(program, tables)
        return
    found = in_parts(program, tables)
    assert {n: rows.counts() for n, rows in found.items()} == {n: rows.counts() for n, rows in plain.items()}


def in_parts(program: Plan, tables: Memory) -> dict[str, Rows]:
    """A build whose products are in parts wherever that is possible."""
    made = lists.tasks

    def counted(*args: Any) -> list[Task]:
        found = [*made(*args)]
        COUNTS["builds in parts"] += len(found) > 1
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "WORTH", 0)
        patch.setattr(lists, "tasks", counted)
        patch.setattr(sizes, "FEW", 0)
        return build(program, tables, LocalJoiner())


def test_a_build_makes_no_more_than_the_shorter_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub on both sides of each path of two edges: there are as many paths as the product of its lists."""
    spokes = 300
    edges = {(0, i) for i in range(1, spokes)} | {(i, 0) for i in range(1, spokes)} | {(1, 2), (2, 3), (3, 1)}
    _, program = planned(triangles(), Options("none"))
    made: list[int] = []
    extended = combinations.extended
    monkeypatch.setattr(combinations, "extended", lambda *args: made.append(len(found := extended(*args))) or found)
    found = build(program, Memory(part_tables(program.program, {"E": bag(edges)}), {}), LocalJoiner())
    closed = {(x, y, z) for x, y in edges for u, z in edges if u == y and (x, z) in edges}
    assert found["V"].counts() == dict.fromkeys(closed, 1) and max(made) < 3 * len(edges), made


def test_changes_are_joined_by_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that reads several changes makes no more of them than fits together: not each beside each."""
    monkeypatch.setattr(sizes, "FEW", 0)
    _, plan = planned(triangles(), Options("full"))
    running = Running.start(plan, {"E": bag({(0, 1), (1, 2)})}, LocalJoiner())
    new = {(i, i + 1) for i in range(2, 200)} | {(0, 2)}
    made: list[int] = []
    extended = combinations.extended
    monkeypatch.setattr(combinations, "extended", lambda *args: made.append(len(found := extended(*args))) or found)
    after = running.apply({"E": bag(new)})
    monkeypatch.undo()
    assert after.maps() == Running.start(plan, {"E": bag({(0, 1), (1, 2)} | new)}).maps()
    assert made and max(made) < 2 * len(new), max(made)


def test_what_keys_were_asked_for_is_not_joined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the three steps of a statement only the last is left to who joins: the rows that were found by joined keys."""
    monkeypatch.setattr(sizes, "FEW", 0)
    edges = {(i, (i * 7 + j) % 40) for i in range(40) for j in range(1, 5)}
    _, plan = planned(triangles(), Options("none"))
    running = Running.start(plan, {"E": bag(edges)}, LocalJoiner())
    made: list[object] = []
    extended = combinations.extended
    monkeypatch.setattr(combinations, "extended", lambda *args: made.append(args) or extended(*args))

    def joins() -> int:
        made.clear()
        propagate(plan, Memory(running.tables, plan.indexes), new, LocalJoiner())
        return len(made)

    new = changed_tables(plan.program, {"E": bag({(1, 2), (2, 3), (1, 3)})})
    shared = joins()
    monkeypatch.setattr(local, "joined", lambda asked, room, _known: joins_of.joined(asked, room))
    alone = joins()
    assert 0 < 3 * shared <= 2 * alone, (shared, alone)


def watch(patch: pytest.MonkeyPatch) -> None:
    """Count what is asked for."""
    ask, divide = keys.joined, orders._divided

    def asked(*args: object) -> keys.Asked:
        found = ask(*args)
        COUNTS[found if isinstance(found, str) else "asked"] += 1
        return found

    def divided(*args: Any) -> list[Rows]:
        found = divide(*args)
        COUNTS["several orders"] += sum(len(rows) > 0 for rows in found) > 1
        return found

    patch.setattr(keys, "joined", asked)
    patch.setattr(orders, "_divided", divided)


@pytest.mark.parametrize("few", [0, 32])
def test_a_key_without_a_value(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of two rows that no row joins, because they go with no other: the table is read whole for it."""
    generators = [(f"x{i}", Rel(name, ROW)) for i, name in enumerate(NAMES)]
    rest = Call("mod_long", (path("x0", "c"), path("x1", "c")))
    conditions: list[Elem] = [
        Call("eq", (path("x0", "b"), path("x1", "a"))),
        Call("eq", (path("x2", "c"), rest)),
        Call("lt", (path("x2", "a"), path("x0", "a"))),
    ]
    query = Query("V", body(generators, conditions, Sng(path("x2", "a"))), tuple((name, ROW) for name in NAMES))
    _, program = planned(query, Options("none"))
    held = {"R": rows((1, 2, 3)), "S": rows((2, 3, 0), (5, 5, 2)), "T": rows((1, 1, 1))}
    running = Running.start(program, {name: rows() for name in NAMES}).apply({"T": held["T"], "S": held["S"]})
    monkeypatch.setattr(sizes, "FEW", few)
    watch(monkeypatch)
    before = COUNTS["no value"]
    after = Running(program, running.tables, Both()).apply({"R": rows((1, 2, 3), (2, 5, 3))})
    assert after.nested() == BagValue({1: 1}) and COUNTS["no value"] == before + 1


def rows(*made: tuple[int, int, int]) -> BagValue:
    return BagValue.of(tuple(zip(ROW.names, row, strict=True)) for row in made)


@pytest.mark.parametrize("hub", [50, 500])
def test_rows_read_at_a_hub(hub: int) -> None:
    """An edge between a hub and a node of two edges: its two edges are read, and what closes a triangle, whichever of
    its ends is the hub."""
    edges = {(0, i) for i in range(1, hub)} | {(i, 0) for i in range(1, hub)} | {(1, 2), (2, 3), (3, 1)}
    _, program = planned(triangles(), Options("none"))
    running = Running.start(program, {"E": bag(edges)})
    new = {(0, hub + 1), (hub + 1, 5), (hub + 2, 0), (7, hub + 2)}
    found = reads(running, bag(new))
    assert found < 30, f"{found} rows of {len(edges)}"
    after = running.apply({"E": bag(new)})
    assert after.maps() == Running.start(program, {"E": bag(edges | new)}).maps()


def triangles() -> Query:
    generators = [(var, Rel("E", EDGE)) for var in "abc"]
    conditions: list[Elem] = [
        Call("eq", (path("a", "y"), path("b", "x"))),
        Call("eq", (path("b", "y"), path("c", "y"))),
        Call("eq", (path("a", "x"), path("c", "x"))),
    ]
    head = Sng(Tuple(tuple((n, path(v, f)) for n, v, f in (("x", "a", "x"), ("y", "b", "x"), ("z", "b", "y")))))
    return Query("V", body(generators, conditions, head), (("E", EDGE),))


EDGE = Record((("x", LONG), ("y", LONG)))


def bag(edges: set[tuple[int, int]]) -> BagValue:
    return BagValue.of((("x", x), ("y", y)) for x, y in edges)


def reads(running: Running, delta: BagValue) -> int:
    made = changed_tables(running.plan.program, {"E": delta})
    memory = Memory(running.tables, running.plan.indexes)
    return propagate(running.plan, memory, made, PythonJoiner()).rows_read


def test_coverage() -> None:
    if not COUNTS["compared"] or not COUNTS["builds in parts"]:
        pytest.skip("the tests of this module did not all run")
    wanted = ("joined", "by columns", "compared", "asked", "too many", "several orders", "builds in parts")
    assert min(COUNTS[what] for what in wanted) >= 5, COUNTS
