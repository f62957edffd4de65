"""Views that say what a column lies between: batches read what lies there, and the rows are right."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data.order import By, Ordering
from ripplenest.nrc.reserved import is_shared
from ripplenest.plan.planned import Plan
from ripplenest.run import keys
from ripplenest.vector.covers import remaining


@rn.record
class Session:
    id: int
    user: int
    start: float | None
    end: float | None


@rn.record
class Event:
    id: int
    user: int
    ts: float | None


@rn.record
class User:
    user: int
    sessions: Bag[Session]
    events: Bag[Event]


def users(E: Bag[Event]):
    return rn.group_by(E, lambda e: e.user)


@rn.view
def of_users(S: Bag[Session], E: Bag[Event]):
    """Events of a session of the same user."""
    return [{"s": s.id, "e": [e.id for e in E if e.user == s.user and s.start <= e.ts < s.end]} for s in S]


@rn.view
def of_all(S: Bag[Session], E: Bag[Event]):
    """Of whichever user."""
    return [{"s": s.id, "e": e.id} for s in S for e in E if s.start < e.ts and e.ts <= s.end + 1]


@rn.view
def later(S: Bag[Session], E: Bag[Event]):
    """From one end on, and how many."""
    return [{"s": s.id, "n": sum(1 for e in E if e.ts >= s.end)} for s in S]


@rn.view
def inside(U: Bag[User]):
    """Inner bags of one document."""
    return [
        {"u": u.user, "of": [{"s": s.id, "e": [e.id for e in u.events if s.start <= e.ts < s.end]} for s in u.sessions]}
        for u in U
    ]


COUNTS: Counter[str] = Counter()
@rn.view
def of_sums(S: Bag[Session], E: Bag[Event]):
    """Of groups, what they come to."""
    means = [{"user": user, "n": len(events), "mean": rn.avg(e.ts for e in events)} for user, events in users(E)]
    return [{"s": s.id, "of": [m["n"] for m in means if s.start <= m["mean"] <= s.end]} for s in S]


@rn.view
def by_key(S: Bag[Session], E: Bag[Event]):
    """One event at most, so that no order is kept for it."""
    return [{"s": s.id, "e": e.ts} for s in S for e in E if e.id == s.id and s.start <= e.ts < s.end]


@rn.view
def shown(S: Bag[Session], E: Bag[Event]):
    """What is shown of a session is not its edges alone."""
    return [{"end": s.end, "e": e.id} for s in S for e in E if s.start <= e.ts <= s.end]


@rn.view
def twice(S: Bag[Session], E: Bag[Event]):
    """An edge that says something else, too."""
    return [{"s": s.user, "e": e.id} for s in S for e in E if s.start <= e.ts < s.end and e.id < s.start]


@rn.view
def in_window(S: Bag[Session], E: Bag[Event]):
    """Groups of what lies in windows."""
    fit = [e for s in S for e in E if s.start <= e.ts < s.end]
    return [{"user": user, "n": len(some)} for user, some in rn.group_by(fit, lambda e: e.user)]


@rn.view
def keyed(S: Bag[Session], E: Bag[Event]):
    """Known by its user, too, which is not shown."""
    return [e.id for s in S for e in E if e.user == s.user and s.start <= e.ts < s.end]


@rn.view
def counted(S: Bag[Session], E: Bag[Event]):
    """Beside what a total is asked for by."""
    return [
        {"e": e.id, "n": sum(1 for f in E if f.user == s.user)} for s in S for e in E if s.start <= e.ts < s.end
    ]


@rn.view
def beyond(S: Bag[Session], E: Bag[Event]):
    """From one end on, of rows that are known by nothing else."""
    return [e.id for s in S for e in E if s.start <= e.ts]


@rn.view
def overlapping(S: Bag[Session]):
    """Of a session those of its user that have some of its time."""
    return [
        {
            "s": s.id,
            "of": [o.id for o in S if o.user == s.user and s.start <= o.end and o.start <= s.end],
            "n": len([o for o in S if o.user == s.user and s.start < o.end and o.start < s.end]),
        }
        for s in S
    ]


FROM_ONE = (of_users, of_all, later, inside, of_sums, by_key, shown, twice, in_window, keyed, counted, beyond)
VIEWS = (*FROM_ONE, overlapping)


def opened(folder: Path | str, views: Sequence[rn.View] = VIEWS) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("S", Session, key="id")
    db.relation("E", Event, key="id")
    db.relation("U", User, key="user", keys={"sessions": "id", "events": "id"})
    for view in views:
        db.create(view)
    return db


def session(c: Choices, key: int) -> dict[str, Any]:
    start = c.pick((None, *map(float, range(6)), float("nan")))
    return {"id": key, "user": c.number(2), "start": start, "end": c.pick((None, start, *map(float, range(8))))}


def event(c: Choices, key: int) -> dict[str, Any]:
    return {"id": key, "user": c.number(2), "ts": c.pick((None, *map(float, range(8)), -0.0, float("nan")))}


def user(c: Choices, key: int) -> dict[str, Any]:
    return {"user": key, **{name: some(c, made) for name, made in (("sessions", session), ("events", event))}}


def some(c: Choices, made: Callable[[Choices, int], dict[str, Any]]) -> list[dict[str, Any]]:
    return [made(c, key) for key in range(8) if c.one_in(3)]


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What of intervals came to nothing is counted."""

    def watched(groups: Any, low: Any, high: Any, weights: Any) -> Any:
        found = remaining(groups, low, high, weights)
        wide, left = ((b - a).astype(float).sum() for a, b in ((low, high), found[1:]))
        COUNTS["less" if left < wide / 2 else "as much"] += 1
        return found

    monkeypatch.setattr(keys, "remaining", watched)


@pytest.mark.usefixtures("counting")
@law(examples=many(5, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        for _ in range(4):
            with db.batch() as b:
                for name, made in (("S", session), ("E", event), ("U", user)):
                    if not c.one_in(3):
                        b.upsert(name, some(c, made))
                    if c.one_in(3):
                        b.discard_key(name, [{("user" if name == "U" else "id"): c.number(8)}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "SEU"})
            COUNTS.update(view.name for view in VIEWS if len(db.view(view.name).rows()))
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(1, 100), COUNTS
    assert COUNTS["less"] > many(3, 200) < COUNTS["as much"], COUNTS


BUSY, EVENTS = 50, 20_000


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Sessions and events, of one user, whose events are one after the other."""
    with opened(tmp_path_factory.mktemp("busy"), VIEWS[:4]) as db:
        load(db)
        yield db


def load(db: Database) -> None:
    ids = range(EVENTS)
    events = pa.table({"id": ids, "user": [1] * EVENTS, "ts": [float(i) for i in ids]})
    starts = [float(400 * i) for i in range(BUSY)]
    sessions = pa.table({"id": range(BUSY), "user": [1] * BUSY, "start": starts, "end": [s + 5 for s in starts]})
    db.load("E", events)
    db.load("S", sessions)
    document = {"user": 1, "sessions": sessions.to_pylist(), "events": events.to_pylist()}
    with db.batch() as b:
        b.insert("U", [document])


def new(key: int, start: float) -> dict[str, Any]:
    return {"id": key, "user": 1, "start": start, "end": start + 10}


def test_a_batch_reads_what_lies_between(busy: Database) -> None:
    """With what lies at both ends, and of whoever asks for one end all beyond it; in inner bags as in relations."""
    with busy.batch() as b:
        b.insert("S", [new(BUSY, EVENTS - 20.0)])
    assert b.report.rows_read == 11 + 12 + 10
    with busy.batch() as b:
        b.at("U", user=1).sessions.insert([new(BUSY, 1_000.0)])
    assert b.report.rows_read < 20
    with busy.batch() as b:
        b.delete("S", [new(BUSY, EVENTS - 20.0)])
    assert b.report.rows_read < 60
    with busy.batch() as b:
        b.insert("S", [{**new(BUSY + 1, float(EVENTS)), "start": None}, {**new(BUSY + 2, 0.0), "end": None}])
    assert b.report.rows_read < 10
    assert busy.verify().ok


MOVES = ((2000, 9000, "new"), (2000, 9010, "end"), (1990, 9010, "start"), (1995, 9010, "start"))


ANEW = {of_all: "", in_window: "", counted: "", beyond: "", twice: "start", shown: "end"}


def test_what_comes_from_one_end_on_is_told_by_the_next_one(tmp_path: Path) -> None:
    with opened(tmp_path / "s", (later,)) as db:
        load(db)
        for start, end, _ in MOVES:
            with db.batch() as b:
                b.upsert("S", [{"id": BUSY, "user": 1, "start": float(start), "end": float(end)}])
            assert b.report.rows_read < 300
        assert db.verify()


@pytest.mark.parametrize("view, anew", [*ANEW.items(), (of_users, "both")])
def test_an_edge_that_moves_reads_what_lies_between_the_old_one_and_the_new(
    tmp_path: Path, view: rn.View, anew: str
) -> None:
    """What is inside before and after comes to nothing, and nobody reads it. Where the edge is shown, or is what an
    inner bag is asked for by, all of it changes."""
    with opened(tmp_path / "s", (view,)) as db:
        load(db)
        for start, end, moved in MOVES:
            with db.batch() as b:
                b.upsert("S", [{"id": BUSY, "user": 1, "start": float(start), "end": float(end)}])
            assert b.report.rows_read > 7000 if moved in ("new", anew) or anew == "both" else b.report.rows_read < 60
        assert db.verify().ok


KNOWN = (in_window, keyed, shown, twice, counted, beyond)


@pytest.mark.parametrize("views", [KNOWN, KNOWN[::-1]], ids=["forth", "back"])
def test_who_asks_alike_but_knows_rows_otherwise_reads_others(tmp_path: Path, views: tuple[rn.View, ...]) -> None:
    """The same change between the same edges: what one view may leave out another one needs."""
    with opened(tmp_path / "s", views) as db:
        with db.batch() as b:
            b.insert("E", [{"id": i, "user": i % 3 // 2, "ts": float(i)} for i in range(300)])
        for user, start, end in ((0, 20, 200), (0, 20, 210), (0, 10, 210), (1, 10, 210), (1, 30, 205), (0, 30, 205)):
            with db.batch() as b:
                b.upsert("S", [{"id": 1, "user": user, "start": float(start), "end": float(end)}])
            recomputed(db, {view.name: view for view in views}, {name: db.relation(name).rows() for name in "SE"})


def test_a_state_of_before_reads_so_when_its_views_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then it reads what it did; none of the maps that the view has is made anew."""
    with monkeypatch.context() as before:
        before.setattr(Plan, "orderings", property(lambda _: {}))
        with opened(tmp_path / "s", FROM_ONE) as db:
            load(db)
    with rn.open(tmp_path / "s", engine="local") as db:
        assert read(db, BUSY) > EVENTS < read(db, BUSY + 1)
        for view in FROM_ONE:
            db.replace(view)
            assert all(map(is_shared, db.history(1)[0].note["built"]))  # what pays now that there are rows
        assert read(db, BUSY + 2) < 100
        assert db._store.tables()["E"].ordered == (Ordering((1,), (By(2),)), Ordering((), (By(2),)))
        assert db.verify().ok


def read(db: Database, key: int) -> int:
    """The stored rows that a new session reads."""
    with db.batch() as b:
        b.insert("S", [new(key, EVENTS - 20.0)])
    return b.report.rows_read


@rn.record
class Span:
    id: int
    start: int
    end: int


@rn.record
class Point:
    id: int
    at: int


@rn.view
def until(S: Bag[Span], P: Bag[Point]):
    return [{"s": s.id, "p": p.id} for s in S for p in P if s.start <= p.at and p.at < s.end + 1]


def test_an_edge_beyond_its_type_is_beyond_all_rows(tmp_path: Path) -> None:
    """A sum of integers is compared as it is in mathematics, by those who read in order, too."""
    last = 2**63 - 1
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("S", Span, key="id")
        db.relation("P", Point, key="id")
        db.create(until)
        db.load("P", pa.table({"id": range(5000), "at": range(5000)}))
        with db.batch() as b:
            b.insert("S", [{"id": 1, "start": 4998, "end": last}, {"id": 2, "start": 4990, "end": 4993}])
        found = sorted(row["p"] for row in db.view("until").to_arrow().to_pylist())
        assert found == [4990, 4991, 4992, 4993, 4998, 4999]
        assert b.report.rows_read < 50


def test_groups_are_compared_as_they_are_seen(tmp_path: Path) -> None:
    """All of them are read."""
    with opened(tmp_path / "s", (of_sums,)) as db:
        with db.batch() as b:
            b.insert("E", [{"id": i, "user": i % 3, "ts": 10.0 * (i % 3)} for i in range(12)])
        with db.batch() as b:
            ends = ((5.0, 15.0), (0.0, 20.0))
            b.insert("S", [{"id": i, "user": 1, "start": start, "end": end} for i, (start, end) in enumerate(ends)])
        assert {r["s"]: r["of"] for r in db.view("of_sums").to_arrow().to_pylist()} == {0: [4], 1: [4, 4, 4]}
