"""What a batch is estimated to read where tables differ very much in size: what it reads, not what they have."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data.rows import Rows
from ripplenest.run import counted, policy
from ripplenest.run.counted import looked_up
from ripplenest.state.fresh import Freshening

ROWS = 30_000


@rn.record
class Event:
    id: int
    user: int
    kind: str


@rn.record
class Watch:
    id: int
    user: int


@rn.record
class Clock:
    id: int
    now: int


@rn.record
class Other:
    id: int
    n: int


@rn.view
def watched(E: Bag[Event], W: Bag[Watch]) -> list[Any]:
    return [{"watch": w.id, "event": e.id} for w in W for e in E if e.user == w.user]


@rn.view
def some(E: Bag[Event], W: Bag[Watch]) -> list[Any]:
    """A semi-join, which is tried, as what groups pass on is not known before."""
    return [{"watch": w.id} for w in W if any(e.user == w.user and e.kind == "a" for e in E)]


@rn.view
def open_ones(E: Bag[Event], K: Bag[Clock]) -> list[Any]:
    """What constants find, beside a clock."""
    return [{"id": e.id, "age": k.now - e.user} for k in K if k.id == 1 for e in E if e.kind == "open"]


@rn.view
def both(E: Bag[Event], W: Bag[Watch], O: Bag[Other]) -> list[Any]:  # noqa: E741
    """Two tables are looked up for the rows of a third; one has nothing for them."""
    return [{"w": w.id, "e": e.id, "o": o.n} for w in W for o in O if o.id == w.id for e in E if e.user == w.user]


@rn.view
def chained(E: Bag[Event], W: Bag[Watch], O: Bag[Other]) -> list[Any]:  # noqa: E741
    """What is looked up for what is found: of few, few."""
    return [
        {"w": w.id, "o": o.n}
        for w in W
        if w.user > 102
        for e in E
        if e.user == w.user
        for o in O
        if o.n == (e.id + w.id) % 7
    ]


@rn.view
def others(O: Bag[Other]) -> list[Any]:  # noqa: E741
    return [{"n": n, "ids": [o.id for o in os]} for n, os in rn.group_by(O, lambda o: o.n)]


def opened(folder: Path, *views: rn.View, hot: int = 0) -> Database:
    db = rn.open(folder, engine="local")
    for name, record in (("E", Event), ("W", Watch), ("K", Clock), ("O", Other)):
        db.relation(name, record, key="id")
    kinds = ("a", "b", "b", "b")
    user = lambda i: -1 if i < hot else i % 9_000  # noqa: E731
    db.load("E", [{"id": i, "user": user(i), "kind": "open" if i % 600 == 0 else kinds[i % 4]} for i in range(ROWS)])
    db.load("W", [{"id": 0, "user": 5}])
    db.load("K", [{"id": 1, "now": 10}])
    db.load("O", [{"id": 10_000 + i, "n": i % 7} for i in range(ROWS)])
    for view in views:
        db.create(view)
    return db


def estimated(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What triggers are estimated to cost at most, of each batch to come."""
    found: list[float] = []
    decide = policy.decide

    def listening(how: policy.Policy, work: policy.Work) -> policy.Decision:
        found.append(work.incremental())
        assert found[-1] <= work.roughly().incremental()
        return decide(how, work)

    monkeypatch.setattr("ripplenest.state.fresh.decide", listening)
    return found


WATCHES = [{"id": 10 + i, "user": 100 + i} for i in range(20)]


@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
@pytest.mark.parametrize(
    ("view", "change"),
    [
        (watched, lambda b: b.insert("W", WATCHES)),
        (watched, lambda b: b.at("W", id=0).set(user=7)),
        (watched, lambda b: b.delete_key("W", id=0)),
        (some, lambda b: b.insert("W", WATCHES)),
        (open_ones, lambda b: b.at("K", id=1).set(now=11)),
    ],
    ids=["come", "moves", "goes", "semi-join", "tick"],
)
@pytest.mark.parametrize("how", ["auto", "strict"])
def test_a_small_table_leads_to_few_rows_of_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: rn.View, change: Any, how: policy.Policy
) -> None:
    """Not to all that the large one has for each row of the small one."""
    with opened(tmp_path / "s", view) as db:
        triggers = estimated(monkeypatch)
        with db.batch(policy=how) as b:
            change(b)
        assert (b.report.verdict, db.verify().ok) == ("incremental", True)
        assert b.report.rows_read < 400
        assert view is some or triggers[0] <= 4 * b.report.rows_read + 100


def test_many_rows_for_one_key_are_recomputed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted may be much, and what a source has for rows that meet nothing else is read, too."""
    with opened(tmp_path / "s", watched, both, hot=ROWS) as db:
        triggers = estimated(monkeypatch)
        with db.batch() as b:
            b.insert("W", [{"id": 10 + i, "user": -1} for i in range(20)])
        assert triggers[0] > 20 * ROWS and b.report.verdict == "full" and db.verify().ok
        assert len(db.view("watched").rows()) == 20 * ROWS


@pytest.mark.parametrize("how", ["auto", "incremental", "strict"])
def test_nothing_is_counted_where_sizes_say_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: policy.Policy
) -> None:
    """To count searches the indexes, as the batch itself does afterwards. Where sizes ask for Spark it is counted."""
    asked: list[str] = []
    many = Freshening._many

    def listening(self: Freshening, table: str, columns: Any, keys: Rows) -> Any:
        asked.append(table)
        return many(self, table, columns, keys)

    monkeypatch.setattr(Freshening, "_many", listening)
    with opened(tmp_path / "s", watched) as db:
        with db.batch(policy=how) as b:
            b.insert("E", [{"id": ROWS + i, "user": i, "kind": "a"} for i in range(12_000)])
        assert (b.report.verdict, asked) == ("incremental", [])
        with db.batch(policy=how) as b:
            b.insert("W", WATCHES)
        assert (b.report.verdict, asked) == ("incremental", [] if how == "incremental" else ["E"] * len(asked))
        assert (how == "incremental") == (not asked)
        asked.clear()
        monkeypatch.setattr(policy, "MOST", 1)
        with db.batch(policy=how) as b:
            b.insert("W", [{**row, "id": row["id"] + 100} for row in WATCHES])
        assert (b.report.verdict, {*asked}) == ("incremental", {"E"})


def test_what_is_looked_up_apart_is_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "s", both, hot=ROWS) as db:
        triggers = estimated(monkeypatch)
        with db.batch(policy="incremental") as b:
            b.insert("W", [{"id": 10, "user": -1}])  # no other has this id, all events are of this user
        assert b.report.rows_read <= 1 or triggers[0] >= b.report.rows_read


def test_rows_that_are_stored_as_arrays_are_not_counted(tmp_path: Path) -> None:
    """Of them an index knows none."""
    with opened(tmp_path / "s", watched) as db:
        snapshot = db._state.snapshot()
        keys = snapshot.scan("W").select((1,))
        for parts, found in (({}, [4]), ({"E": None}, None)):
            version: Any = SimpleNamespace(folds=[SimpleNamespace(parts=parts)], many=snapshot.many, size=snapshot.size)
            nothing: Any = None
            many = Freshening(nothing, nothing, db._declared.plan(), version, {}, nothing)._many("E", (1,), keys)
            assert (None if many is None else many.tolist()) == found


@pytest.mark.filterwarnings("ignore:view .* is kept fresh, but not")
def test_what_is_found_first_is_counted_of_rows_that_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the others no more than the share of rows that met some; nothing of very many."""
    with opened(tmp_path / "s", chained) as db:
        snapshot = db._state.snapshot()
        (p,) = (p for m in db._declared.plan().maps if m.name == "chained" for p in dict(m.triggers)["W"])
        asked: list[Any] = []

        def many(table: str, columns: Any, keys: Rows) -> Any:
            asked.append((table, sorted(keys.counts())))
            return snapshot.many(table, columns, keys)

        change = Rows.of_pairs(snapshot.scan("W").types, [((w["id"], w["user"]), 1) for w in WATCHES[:5]])
        found = looked_up(p, change, many)
        assert asked == [("E", [(103,), (104,)])] and [*found.values()] == [8]
        monkeypatch.setattr(counted, "COUNTED", 4)
        assert looked_up(p, change, many) == {} and len(asked) == 1

        def estimate(watches: list[dict[str, int]]) -> float:
            rows = Rows.of_pairs(change.types, [((w["id"], w["user"]), 1) for w in watches])
            sizes = {"W": len(rows)}
            return policy.Work(db._declared.plan(), snapshot.size, sizes, {"W": rows}, snapshot.many).incremental()

        assert estimate([{"id": i, "user": -5 - i} for i in range(4)]) <= 8 < estimate(WATCHES[3:7])


def test_views_of_other_relations_are_not_computed_again(tmp_path: Path) -> None:
    with opened(tmp_path / "s", watched, others) as db:
        with db.batch(policy="full") as b:
            b.insert("W", WATCHES)
        assert b.report.rows_read < ROWS + 100 and db.verify().ok
        plan = db._declared.plan()
        reached = {m.name for m in plan.reached({"W": 1}).maps}
        assert "watched" in reached and "others" not in reached
        work, alone = (policy.Work(p, db._state.snapshot().size, {"W": 1}) for p in (plan, plan.only({"watched"})))
        assert work.full() == alone.full() > ROWS
        assert {m.name for m in plan.reached({"O": 1}).maps} | reached == {m.name for m in plan.maps}
        with db.batch(policy="full") as b:
            b.insert("O", [{"id": 5, "n": 3}])
        assert db.verify().ok


@rn.view
def alike(E: Bag[Event]) -> list[Any]:
    """Rows are joined in either of two ways."""
    return [
        {"id": e.id, "alike": [f.id for f in E if f.id != e.id and (f.user == e.user or f.kind == e.kind)]} for e in E
    ]


@pytest.mark.parametrize("how", ["come", "go"])
def test_alternatives_make_together_what_a_map_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Not each of them all of it; and rows that are joined with many others are read once."""
    rows = [{"id": i, "user": i % 20, "kind": str(i % 30)} for i in range(900)]
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("E", Event, key="id")
        db.load("E", rows if how == "go" else rows[:600])
        db.create(alike)
        triggers = estimated(monkeypatch)
        with db.batch(policy="incremental") as b:
            (b.delete if how == "go" else b.insert)("E", rows[600:])
        done = 300 + policy.FOUND * b.report.rows_read + sum(b.report.rows_out.values())
        assert done / 1.25 < triggers[0] < 1.25 * done


@pytest.mark.parametrize(
    "share, how, verdict", [(0.3, "go", "incremental"), (0.9, "go", "full"), (0.9, "come", "incremental")]
)
def test_a_map_grows_as_its_tables_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, how: str, verdict: str
) -> None:
    """To compute it again is cheap where little is left, and dear where much comes."""
    monkeypatch.setattr(policy, "SMALL", 0)
    events = [{"id": i, "user": i % 50, "kind": ""} for i in range(10_000)]
    changed = int(share * len(events))
    before, after = (len(events), len(events) - changed) if how == "go" else (len(events) - changed, len(events))
    seen: list[policy.Work] = []
    decide = policy.decide
    monkeypatch.setattr("ripplenest.state.fresh.decide", lambda how, work: seen.append(work) or decide(how, work))
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("E", Event, key="id")
        db.relation("W", Watch, key="id")
        db.load("W", [{"id": i, "user": i} for i in range(50)])
        db.load("E", events[:before])
        db.create(watched)
        with db.batch() as b:
            (b.delete if how == "go" else b.insert)("E", events[-changed:])
        assert b.report.verdict == verdict
        assert seen[0].full() == pytest.approx(50 + after + before + after)
