"""The rows before and behind another one: what was last, what is next, and as-of joins, at every depth."""

import datetime as dt
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.choices import Choices
from support.compiling import compiled_once
from support.laws import law
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Step:
    at: int
    name: str


@rn.record
class Event:
    id: int
    user: str | None
    at: int
    day: dt.date | None
    cost: rn.Decimal[9, 1]
    steps: Bag[Step]


@rn.record
class Quote:
    user: str | None
    at: int
    bid: float | None


D2 = dt.timedelta(days=2)


def before(event: Any, events: Any) -> Any:
    """When the event before was, in a function that views call."""
    return max((b.at for b in events if b.user == event.user and b.at < event.at), default=None)


@rn.view
def gaps(E: Bag[Event]) -> list[Any]:
    """The events before and behind one, also as a condition."""
    return [
        {
            "id": a.id,
            "before": before(a, E),
            "next": min((b.at for b in E if a.user == b.user and a.at <= b.at), default=None),
            "day": max((b.day for b in E if b.day < a.day and b.cost > 1), default=None),
        }
        for a in E
        if (before(a, E) or 0) < 4
    ]


@rn.view
def windows(E: Bag[Event], Q: Bag[Quote]) -> list[Any]:
    """What was last, if it was not long ago, and if it was later."""
    return [
        {
            "id": a.id,
            "near": max((b.day for b in E if b.user == a.user and b.day < a.day and a.day - b.day < D2), default=None),
            "soon": rn.top(2, [{"day": b.day, "at": b.at} for b in E if b.day > a.day and b.day - a.day < D2],
                           key=lambda r: (r["day"], r["at"])),
            "later": max((b.at for b in E if b.user == a.user and b.at > a.at), default=None),
            "bid": [q["bid"] for q in rn.top(1, [{"bid": q.bid, "at": q.at} for q in Q if a.at >= q.at >= a.id],
                                             key=lambda q: q["at"], desc=True)],
        }
        for a in E
    ]  # fmt: skip


@rn.view
def as_of(E: Bag[Event], Q: Bag[Quote]) -> list[Any]:
    """The last quotes, of the user and of all; a quote may be there several times."""
    return [
        {
            "id": a.id,
            "bids": [q.bid for q in sorted((q for q in Q if q.user == a.user and q.at <= a.at),
                                           key=lambda q: q.at, reverse=True)[:2]],
            "last": rn.top(1, [{"at": q.at, "bid": q.bid} for q in Q if a.at > q.at], key=lambda q: q["at"], desc=True),
            "some": sorted(q.at for q in Q if q.at > a.at and q.bid is not None)[:3],
            "texts": rn.top(1, [q.user for q in Q if q.user < a.user], key=lambda u: u, desc=True),
        }
        for a in E
    ]  # fmt: skip


@rn.view
def inside(E: Bag[Event], Q: Bag[Quote]) -> list[Any]:
    """Of rows in bags: what was quoted before each step, and the step before it; and of groups."""
    return [
        {
            "user": user,
            "first": rn.top(2, [q for q in Q if q.at >= len(events)], key=lambda q: (q.at, q.bid)),
            "events": [
                {
                    "id": a.id,
                    "steps": [
                        {
                            "name": s.name,
                            "quote": max((q.bid for q in Q if q.user == user and q.bid < s.at), default=None),
                            "before": max((t.at for t in a.steps if t.at < s.at), default=None),
                        }
                        for s in a.steps
                    ],
                }
                for a in events
            ],
        }
        for user, events in rn.group_by(E, lambda e: e.user)
    ]


@rn.view
def of_others(E: Bag[Event]) -> list[Any]:
    """Of the other events, of those with something, and from a moment that is computed."""
    return [
        {
            "id": a.id,
            "less": max((b.cost for b in E if b.user == a.user and b.id != a.id and b.cost <= a.cost), default=None),
            "odd": max((b.at for b in E if any(s.name == "x" for s in b.steps) and b.at < a.at), default=None),
            "dear": max((b.at for b in E if b.at < sum(s.at for s in a.steps)), default=None),
        }
        for a in E
    ]


@rn.view
def twice(E: Bag[Event]) -> list[Any]:
    """What was before that: one is asked for at what another one, of the same rows, answers."""
    return [{"id": a.id, "at": max((b.at for b in E if b.user == a.user and b.at < (before(a, E) or 1)), default=None)}
            for a in E]  # fmt: skip


@rn.view
def chained(E: Bag[Event]) -> list[Any]:
    """What was before that, or before the event itself where it is the first; and which events it was the last before.
    """
    return [
        {
            "id": a.id,
            "two": max((c.at for c in E if c.user == a.user and c.at < (
                max((b.at for b in E if b.user == a.user and b.at < a.at), default=a.at))), default=None),
            "behind": [n.id for n in E if n.user == a.user and before(n, E) == a.at],
        }
        for a in E
    ]  # fmt: skip


def last_but_one(x: Any, events: Any) -> Any:
    return max((b.at for b in events if b.user == x.user and b.at < before(x, events)), default=None)


@rn.view
def answered(E: Bag[Event]) -> list[Any]:
    """Whose event before the one before it was, which may be none, and events by it."""
    rows = [{"user": n.user, "at": last_but_one(n, E), "id": n.id} for n in E]
    return [
        {
            "id": a.id,
            "behind": [n.id for n in E if n.user == a.user and last_but_one(n, E) == a.at],
            "alike": [n.id for n in E if n.user == a.user and last_but_one(n, E) == before(a, E)],
            "groups": [(at, [r["id"] for r in rs]) for at, rs in rn.group_by(rows, lambda r: r["at"]) if at == a.at],
        }
        for a in E
    ]


def begins(x: Any, events: Any) -> Any:
    last = max((b.cost for b in events if b.user == x.user and b.cost < x.cost), default=None)
    return last is None or x.cost - last > 1


def begin(x: Any, events: Any) -> Any:
    of = [b.cost for b in events if b.user == x.user and b.cost <= x.cost and begins(b, events)]
    return max(of, default=None)


@rn.view
def visits(E: Bag[Event]) -> list[Any]:
    """The events of a user between whose costs there is no gap."""
    rows = [{"user": a.user, "begin": begin(a, E), "id": a.id} for a in E]
    return [
        {"user": user, "begin": begin, "ids": [r["id"] for r in rs]}
        for (user, begin), rs in rn.group_by(rows, lambda r: (r["user"], r["begin"]))
    ]


def far(x: Any, events: Any) -> Any:
    last = before(x, events)
    return last is None or x.at - last > 1


@rn.view
def moments(E: Bag[Event]) -> list[Any]:
    """How far integers lie apart: since when no event of a user was near the one before, and what was shortly before.
    """
    return [
        {
            "id": a.id,
            "since": max((b.at for b in E if b.user == a.user and b.at <= a.at and far(b, E)), default=None),
            "near": max((b.at for b in E if b.user == a.user and b.at < a.at and a.at - b.at < 3), default=None),
            "shortly": max((b.at for b in E if b.user == a.user and a.at - 2 <= b.at < a.at), default=None),
            "soon": min((b.at for b in E if b.user == a.user and a.at < b.at < a.at + 3), default=None),
            "all": [b.id for b in E if b.user == a.user and 0 <= a.at - b.at < 3],
            "again": any(b.user == a.user and a.at - 3 <= b.at < a.at for b in E),
        }
        for a in E
    ]


def moment(x: Any) -> Any:
    return {"at": x.at, "id": x.id}


@rn.view
def ordered(E: Bag[Event]) -> list[Any]:
    """The one before, and the two behind, in an order that tells all apart."""
    return [
        {
            "id": a.id,
            "before": rn.top(1, [moment(b) for b in E if b.user == a.user and (b.at, b.id) < (a.at, a.id)],
                             key=lambda r: (r["at"], r["id"]), desc=True),
            "next": rn.top(2, [moment(b) for b in E if b.user == a.user
                               and (b.at > a.at or (b.at == a.at and b.id >= a.id))], key=lambda r: (r["at"], r["id"])),
            "steps": [{"name": s.name, "last": max((t.at for t in a.steps if (t.at, t.name) <= (s.at, s.name)),
                                                   default=None)} for s in a.steps],
        }
        for a in E
    ]  # fmt: skip


def last_two(x: Any, events: Any) -> Any:
    """Of rows that have a name, and are read more than once."""
    seen = [b.at for b in events if b.user == x.user and b.at < x.at and far(b, events)]
    return {"id": x.id, "last": max(seen, default=None), "two": sorted(seen, reverse=True)[:2]}


@rn.view
def named(E: Bag[Event]) -> list[Any]:
    return [last_two(a, E) for a in E]


@rn.view
def lagging(E: Bag[Event]) -> list[Any]:
    """What was some way before and behind, which may be beyond all there is."""
    return [
        {
            "id": a.id,
            "before": max((b.at for b in E if b.user == a.user and b.at < a.at - 2), default=None),
            "long": max((b.at for b in E if b.user == a.user and b.at < a.at - 4), default=None),
            "sum": max((b.at for b in E if b.user == a.user and b.at <= a.at + a.id), default=None),
            "window": min((b.at for b in E if b.user == a.user and b.at > a.at and b.at - a.at < a.id + 3),
                          default=None),
            "later": rn.top(2, [{"d": b.day, "at": b.at} for b in E if b.user == a.user and b.day - a.day > D2],
                            key=lambda r: (r["d"], r["at"])),
        }
        for a in E
    ]  # fmt: skip


FARTHEST = 2**63 - 1
BLANK = {"day": None, "steps": []}
GROWING = (gaps, windows, as_of, inside, of_others, chained, visits, named, moments, ordered, answered, lagging)
VIEWS = (*GROWING, twice)  # of which rows are looked up by what `or` makes of them
BEHIND = dict(zip([v.name for v in VIEWS], (3, 3, 4, 3, 3, 2, 2, 3, 4, 3, 2, 5, 2), strict=True))


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    with compiled_once():
        yield


def event(c: Choices, i: int) -> dict[str, Any]:
    day = c.pick([None, dt.date.min, dt.date.max, *(dt.date(2024, 1, 1 + n) for n in range(5))])
    steps = [{"at": c.number(4), "name": c.pick("xyz")} for _ in range(c.number(3))]
    cost, at = Decimal(c.number(4)) / 2, FARTHEST if c.one_in(12) else -1 - FARTHEST if c.one_in(12) else c.number(5)
    return {"id": i, "user": c.pick(["a", "a", "b", None]), "at": at, "day": day, "cost": cost, "steps": steps}


def quote(c: Choices) -> dict[str, Any]:
    user, bid = c.pick(["a", "a", "b", None]), c.pick([None, 0.5, float("nan"), 2.0, 3.0])
    return {"user": user, "at": c.number(5), "bid": bid}


@law(examples=many(12, 200), tries=200)
def test_they_are_those_after_every_batch(c: Choices) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local", policy="incremental") as db:
        db.relation("E", Event, key="id")
        db.relation("Q", Quote)
        rows, quotes = {i: event(c, i) for i in range(c.number(7))}, [quote(c) for _ in range(c.number(7))]
        db.load("E", [*rows.values()])
        db.load("Q", quotes)
        for view in VIEWS:
            db.create(view)
        for _ in range(1 + c.number(4)):
            with db.batch() as b:
                for i in {c.number(8) for _ in range(c.number(4))}:
                    if i in rows and c.one_in(2):
                        b.delete_key("E", id=i)
                        del rows[i]
                    else:
                        rows[i] = event(c, i)
                        b.upsert("E", [rows[i]])
                for _ in range(c.number(4)):
                    if quotes and c.one_in(2):
                        b.delete("Q", [quotes.pop(c.number(len(quotes) - 1))])
                    else:
                        quotes.append(quote(c))
                        b.insert("Q", [quotes[-1]])
            for view in VIEWS:
                given = {"E": [*rows.values()], "Q": quotes}
                expected = view(**{name: given[name] for name, _ in view.query.relations})
                assert db.view(view.name).rows() == expected, view.name
        assert db.verify()


@pytest.mark.parametrize("view", VIEWS)
def test_they_are_behind_edges(tmp_path: Path, view: rn.View) -> None:
    with rn.open(tmp_path, engine="local") as db:
        db.relation("E", Event, key="id")
        db.relation("Q", Quote)
        db.create(view)
        found = [m.ranked for m in db._declared.plan().maps if m.ranked is not None]
        assert sum(r.nearest is not None for r in found) == BEHIND[view.name], [r.kept for r in found]


@pytest.mark.parametrize("view", GROWING)
def test_what_a_batch_reads_does_not_grow(tmp_path: Path, view: rn.View) -> None:
    """What is stored grows with the rows, and a batch reads what has become another."""
    stored, read = [], []
    for many_rows in (200, 400):
        with rn.open(tmp_path / str(many_rows), engine="local") as db:
            db.relation("E", Event, key="id")
            db.relation("Q", Quote)
            events = [{"id": i, "user": "ab"[i % 2], "at": i, "cost": Decimal(i), **BLANK} for i in range(many_rows)]
            db.load("E", events)
            db.load("Q", [{"user": "ab"[i % 2], "at": i, "bid": float(i)} for i in range(many_rows)])
            db.create(view)
            size = db._state.snapshot().size
            stored.append(sum(size(m.name) for m in db._declared.plan().maps))
            with db.batch() as b:
                b.insert("Q", [{"user": "a", "at": many_rows // 2, "bid": 7.5}])
                b.delete("Q", [{"user": "b", "at": 101, "bid": 101.0}])
                b.upsert("E", [{**events[many_rows // 2], "at": many_rows // 2 + 2}])
            read.append(b.report.rows_read)
    assert stored[1] < 2.5 * stored[0] and read[1] < 1.5 * read[0] < 600, (stored, read)


@rn.view
def again(E: Bag[Event]) -> list[Any]:
    """Which events have another one of the user shortly before them, and which have none behind them for long."""
    return [
        {"id": a.id, "last": not any(a.at < b.at <= a.at + 500 for b in E if b.user == a.user)}
        for a in E
        if len([b for b in E if b.user == a.user and b.at < a.at and a.at - b.at <= 500]) > 0
    ]


def test_whether_another_one_lies_between_is_asked_of_the_next(tmp_path: Path) -> None:
    """However many there are."""
    read = []
    for apart in (1, 100):
        with rn.open(tmp_path / str(apart), engine="local") as db:
            db.relation("E", Event, key="id")
            events = [{"id": i, "user": "ab"[i % 2], "at": i * apart, "cost": 1, **BLANK} for i in range(400)]
            db.load("E", events)
            db.create(again)
            with db.batch() as b:
                b.upsert("E", [{**events[200], "at": 201 * apart}])
            read.append(b.report.rows_read)
            events[200]["at"] = 201 * apart
            assert db.view("again").rows() == again(events) and db.verify()
    assert read[0] == read[1] < 60, read


def test_what_answers_find_is_not_said_to_be_dropped(tmp_path: Path) -> None:
    """Rows that are looked up by what several conditions imply fulfil those that they follow from."""
    with rn.open(tmp_path, engine="local") as db:
        db.relation("E", Event, key="id")
        db.load("E", [{"id": i, "user": "ab"[i % 2], "at": i, "cost": Decimal(i), **BLANK} for i in range(200)])
        db.create(chained)
        assert "note:" not in str(db.view("chained").explain())


def test_what_is_far_apart_is_compared_by_all(tmp_path: Path) -> None:
    """By views in plain Python and by the reference, too."""
    rows = [{"id": i, "user": "a", "at": at, "cost": 1, **BLANK} for i, at in enumerate((-1 - FARTHEST, 0, FARTHEST))]
    with rn.open(tmp_path, engine="local") as db:
        db.relation("E", Event, key="id")
        db.load("E", rows)
        db.create(moments)
        found = [{**row, "all": sorted(row["all"])} for row in db.view("moments").rows()]
        assert found == moments(rows) and [row["since"] for row in found] == [row["at"] for row in rows]
        verified = db.verify(deep=True)
        assert verified and not verified.not_compared


@rn.record
class Note:
    id: int
    of: str
    at: str


@rn.view
def notes(N: Bag[Note], Q: Bag[Quote]) -> list[Any]:
    """The note before each, and the quote before each."""
    return [
        {
            "id": a.id,
            "before": max((b.at for b in N if b.of == a.of and b.at < a.at), default=None),
            "quote": max((q.at for q in Q if q.at <= a.id), default=None),
        }
        for a in N
    ]


def test_texts_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    """Moments as texts, of which the first bytes are the same; and a hole before many places, which is passed once."""
    with rn.open(tmp_path, engine="local", policy="incremental") as db:
        db.relation("N", Note, key="id")
        db.relation("Q", Quote)
        moments = [(dt.datetime(2024, 1, 1) + dt.timedelta(minutes=i)).isoformat() for i in range(1001)]
        db.load("N", [{"id": i, "of": "x", "at": at} for i, at in enumerate(moments[:1000])])
        quotes = [{"user": "a", "at": i, "bid": 1.0} for i in range(1000)]
        db.load("Q", quotes)
        db.create(notes)
        with db.batch() as b:
            b.upsert("N", [{"id": 500, "of": "x", "at": moments[300] + ".5"}])
        assert b.report.rows_read < 400
        with db.batch() as b:
            b.delete("Q", quotes[1:])
        assert b.report.rows_read < 20_000
        with db.batch() as b:
            b.insert("Q", [{"user": "a", "at": 500, "bid": 2.0}])
        assert b.report.rows_read < 10_000
        found = {row["id"]: row for row in db.view("notes").rows()}
        assert [found[i]["quote"] for i in (0, 499, 500, 999)] == [0, 0, 500, 500]
        before = [moments[299], moments[300] + ".5", moments[300], moments[499]]
        assert [found[i]["before"] for i in (300, 301, 500, 501)] == before
        assert db.verify()


def test_what_went_is_merged_when_it_is_read_in_vain(tmp_path: Path) -> None:
    """Rows that move batch after batch leave others behind, which are not read for ever."""
    with rn.open(tmp_path, engine="local", policy="incremental") as db:
        db.relation("N", Note, key="id")
        db.relation("Q", Quote)
        db.load("N", [{"id": i, "of": "x", "at": f"{i:04}"} for i in range(200)])
        db.create(notes)
        read = []
        for n in range(1, 9):
            with db.batch() as b:
                b.upsert("N", [{"id": i, "of": "x", "at": f"{i * 37 * n % 200 + n * 100:04}"} for i in range(200)])
            read.append(b.report.rows_read)
        assert max(read) < 3 * read[0], read
