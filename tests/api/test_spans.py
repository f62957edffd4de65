"""Windows of time: rows within a span of others, constant or as rows say, on each engine as Python itself has them."""

import datetime as dt
from random import Random
from typing import Any

import pytest
from attrs import frozen
from pyspark.sql import SparkSession
from support.in_order import in_order

import ripplenest as rn
from ripplenest import Bag, errors

MONDAY = dt.date(2024, 1, 1)
START, WEEK = dt.datetime(2024, 2, 26, tzinfo=dt.UTC), dt.timedelta(weeks=1)
HALF = dt.timedelta(minutes=30)


@rn.record
class Click:
    id: int
    user: int
    at: dt.datetime
    day: dt.date
    wait: rn.Int | None


@rn.record
class Event:
    id: int
    user: int
    at: dt.datetime
    amount: int


def soon(C: Bag[Click], E: Bag[Event]) -> list[Any]:
    return [
        {"id": c.id,
         "after": [{"id": e.id, "s": (e.at - c.at).total_seconds()} for e in E
                   if e.user == c.user and c.at <= e.at and e.at <= c.at + dt.timedelta(minutes=30)]}
        for c in C
    ]  # fmt: skip


def totals(C: Bag[Click], E: Bag[Event]) -> list[Any]:
    return [
        {"id": c.id,
         "n": len([e for e in E if e.user == c.user and c.at - dt.timedelta(hours=1) < e.at and e.at <= c.at]),
         "late": any(e.at >= c.at + WEEK for e in E if e.user == c.user)}
        for c in C
    ]  # fmt: skip


def waits(C: Bag[Click], E: Bag[Event]) -> list[Any]:
    """As long as each row says, which may say nothing; that there is one depends on it."""
    return [
        {"c": c.id, "e": e.id}
        for c in C
        if c.wait is not None
        for e in E
        if e.user == c.user and e.at > c.at and e.at < dt.timedelta(hours=1, minutes=rn.coalesce(c.wait, 0)) + c.at
    ]


def days(C: Bag[Click], E: Bag[Event]) -> list[Any]:
    return [
        {"id": c.id, "next": c.day + dt.timedelta(days=1), "before": c.day - dt.timedelta(weeks=c.id % 3, days=2),
         "same": [d.id for d in C if d.day == c.day + dt.timedelta(days=1)], "most": max(e.at + WEEK for e in E)}
        for c in C
    ]  # fmt: skip


def quarters(C: Bag[Click], E: Bag[Event]) -> list[Any]:
    """Of each click the windows of its user, and how many events begin in each; weeks that begin on a Monday."""
    return [
        {"id": c.id, "week": rn.tumble(c.day, WEEK, MONDAY), "wait": rn.tumble(c.wait, 60, origin=-15),
         "windows": [
             {"start": start, "n": len(es), "most": max(e.amount for e in es)}
             for start, es in rn.group_by([e for e in E if e.user == c.user],
                                          lambda e: rn.tumble(e.at, dt.timedelta(minutes=45)))
         ]}
        for c in C
    ]  # fmt: skip


def hops(C: Bag[Click], E: Bag[Event]) -> list[Any]:
    """Windows of 40 minutes, of which one begins every quarter; and clicks beside the events of their windows."""
    return [
        {"start": start, "n": len(rows), "sum": sum(r["amount"] for r in rows)}
        for start, rows in rn.group_by(
            [
                {"start": s, "amount": e.amount}
                for e in E
                for s in rn.hop(e.at, dt.timedelta(minutes=40), dt.timedelta(minutes=15), START)
            ],
            lambda r: r["start"],
        )
    ] + [
        {"start": c.at, "n": c.id, "sum": e.amount}
        for c in C
        for e in E
        if rn.tumble(e.at, dt.timedelta(hours=1)) == rn.tumble(c.at, dt.timedelta(hours=1))
    ]


def apart(C: Bag[Click], E: Bag[Event]) -> list[Any]:
    """What lies between two moments or days, compared with spans, and deadlines that pass."""
    return [
        {"id": c.id, "since": (gap := c.at - START).total_seconds(), "over": gap > WEEK / 7 * c.id,
         "near": [{"id": e.id, "s": gap.total_seconds()} for e in E
                  if e.user == c.user and -HALF <= e.at - c.at <= 2 * HALF],
         "late": any(c.at + WEEK < e.at for e in E if e.user == c.user),
         "open": len([e for e in E if e.user == c.user and not e.at + HALF <= c.at]),
         "days": [d.id for d in C if d.user == c.user and d.id != c.id and d.day - c.day <= dt.timedelta(days=2)],
         "moved": c.day + (c.day - MONDAY) - WEEK * 2}
        for c in C
    ]  # fmt: skip


WRITTEN = (soon, totals, waits, days, quarters, hops, apart)
VIEWS = tuple(rn.view(f) for f in WRITTEN)


@frozen
class Rows:
    """What is in the relations, as dicts that Python's own comprehensions read."""

    clicks: dict[int, Click]
    events: dict[int, Event]

    def check(self, db: rn.Database) -> None:
        for f, view in zip(WRITTEN, VIEWS, strict=True):
            meant = f([*self.clicks.values()], [*self.events.values()])
            assert in_order(db.view(view.name).rows()) == in_order(meant), view.name


def a_click(random: Random, n: int) -> Click:
    wait = random.choice([None, 0, 15, 100])
    return Click(n, random.randrange(3), a_moment(random), START.date() + dt.timedelta(random.randrange(5)), wait)


def a_moment(random: Random) -> dt.datetime:
    """Often one that is a span from another."""
    return START + dt.timedelta(days=random.choice([0, 0, 0, 7]), minutes=15 * random.randrange(16))


def lives(db: rn.Database, seed: int, batches: int) -> None:
    """Rows come, move and go; each view is what Python makes of them."""
    random = Random(seed)
    clicks = {n: a_click(random, n) for n in range(8)}
    events = {n: Event(n, random.randrange(3), a_moment(random), n) for n in range(12)}
    rows = Rows(clicks, events)
    db.relation("C", Click, key="id")
    db.relation("E", Event, key="id")
    db.load("C", [*clicks.values()])
    db.load("E", [*events.values()])
    for view in VIEWS:
        db.create(view)
    rows.check(db)
    for _ in range(batches):
        some = {n: a_click(random, n) for n in random.sample(range(10), 2)}
        more = {n: Event(n, random.randrange(3), a_moment(random), n) for n in random.sample(range(16), 2)}
        gone = random.choice([n for n in events if n not in more])
        with db.batch(policy="incremental") as b:
            b.upsert("C", [*some.values()])
            b.upsert("E", [*more.values()])
            b.delete_key("E", id=gone)
        clicks |= some
        events |= more
        del events[gone]
        rows.check(db)
    assert db.verify(deep=True).ok


def test_windows_here(folder) -> None:
    with rn.open(folder / "state", engine="local") as db:
        lives(db, 1, 25)


def test_windows_on_spark(folder, spark: SparkSession) -> None:
    with rn.open(folder / "state", spark=spark, engine="spark") as db:
        lives(db, 2, 2)


def test_what_lies_in_the_window_is_read(folder) -> None:
    """Of 200 events of a user, of which 4 are in each window."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Click, key="id")
        db.relation("E", Event, key="id")
        db.load("C", [Click(0, 0, START, START.date(), 10)])
        db.load("E", [Event(n, 0, START + dt.timedelta(minutes=10 * n), n) for n in range(200)])
        for view in VIEWS[:1] + VIEWS[2:3]:
            db.create(view)
        with db.batch(policy="incremental") as b:
            b.insert("C", [Click(1, 0, START + dt.timedelta(hours=5), START.date(), 10)])
        assert len(db.view("soon").rows()[1]["after"]) == 4
        assert 0 < b.report.rows_read <= 12


def test_the_windows_of_an_event_are_read(folder) -> None:
    """Of 200 clicks of a user, of which 4 have a window that an event is in."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Click, key="id")
        db.relation("E", Event, key="id")
        db.load("C", [Click(n, 0, START + dt.timedelta(minutes=10 * n), START.date(), 10) for n in range(200)])
        db.create(VIEWS[0])
        db.create(rn.view(before))
        with db.batch(policy="incremental") as b:
            b.insert("E", [Event(1, 0, START + dt.timedelta(hours=5), 1)])
        assert sum(bool(row["after"]) for row in db.view("soon").rows()) == 4
        assert sum(row["n"] for row in db.view("before").rows()) == 6
        assert 0 < b.report.rows_read <= 4 + 3 * 6  # labels, what they have, and the clicks that show it


def before(C: Bag[Click], E: Bag[Event]) -> list[Any]:
    return [
        {"id": c.id,
         "n": len([e for e in E if e.user == c.user and c.at - dt.timedelta(hours=1) < e.at and e.at <= c.at])}
        for c in C
    ]  # fmt: skip


NUMBERS = (-61, -60, -1, 0, 1, 59, 60, 7 * 10**9)


def windows(C: Bag[Event]) -> list[Any]:
    return [
        {"id": c.id, "n": rn.tumble(c.amount, 60), "m": rn.tumble(c.amount, size=7, origin=c.user),
         "day": rn.tumble(c.at.date(), dt.timedelta(days=10)), "own": rn.tumble(c.amount, c.id + 1),
         "hops": rn.hop(c.amount, 10, 3), "apart": rn.hop(c.amount, 3, every=10, origin=1),
         "times": rn.hop(c.at, dt.timedelta(days=1), dt.timedelta(hours=7)),
         "days": rn.hop(c.at.date(), dt.timedelta(days=9), dt.timedelta(days=4), MONDAY),
         "none": rn.hop(c.amount if c.amount != 60 else None, 2, 1)}
        for c in C
    ]  # fmt: skip


def test_windows_are_those_of_python() -> None:
    """Also before 1970, at their edges, and apart from each other."""
    times = [START, START - dt.timedelta(seconds=1), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC)]
    rows = [Event(n, n - 4, times[n % 3], amount) for n, amount in enumerate(NUMBERS)]
    found = windows(rows)
    assert in_order(rn.view(windows)(rows)) == in_order(found)
    assert {len(row["hops"]) for row in found} == {3, 4} and {len(row["apart"]) for row in found} == {0, 1}
    assert rn.tumble(None, 1) is None and rn.tumble(dt.datetime(2024, 1, 1, 9, 59), dt.timedelta(hours=1)).hour == 9


@pytest.mark.parametrize("size", [0, -1, dt.timedelta(0), dt.timedelta(hours=25), None])
def test_what_is_no_length(size: Any) -> None:
    with pytest.raises(errors.WrongValue, match="no length of windows"):
        rn.tumble(MONDAY if isinstance(size, dt.timedelta) else 1, size)


@pytest.mark.parametrize("unit", ["days", "hours"])
def test_beyond_the_years_that_there_are(folder, unit: str) -> None:
    """What has no value ends the batch, and nothing changes."""
    made = rn.view(end_of_days if unit == "days" else end_of_hours)
    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Click, key="id")
        view = db.create(made)
        for last in (dt.datetime.max.replace(tzinfo=dt.UTC), dt.datetime.min.replace(tzinfo=dt.UTC)):
            with pytest.raises(errors.EvaluationError, match="outside the years 1 to 9999"), db.batch() as b:
                b.insert("C", [Click(1, 0, last, last.date(), None)])
        assert view.rows() == []


def end_of_days(C: Bag[Click]) -> list[Any]:
    return [{"a": c.day + dt.timedelta(days=1), "b": c.day - dt.timedelta(days=1)} for c in C]


def end_of_hours(C: Bag[Click]) -> list[Any]:
    return [{"a": c.at + dt.timedelta(hours=24), "b": c.at - dt.timedelta(hours=24)} for c in C]


def test_in_text(folder) -> None:
    text = """
    relation C : Bag(⟨id: long, at: timestamp, day: date⟩) key id
    view moved = [ {a: micros_after(c.at, 60000000), b: days_after(c.day, -1), m: micros_between(c.at, c.at),
                     t: tumble(c.at, 3600000000), w: tumble(c.day, 7, date "2024-01-01"), n: tumble(c.id, 2)} | c in C ]
    """
    program = rn.parse(text, "moves")
    with rn.open(folder / "state", engine="local") as db:
        db.relation(program.relation("C"))
        db.load("C", [{"id": 1, "at": START, "day": START.date()}])
        rows = db.create(program.view("moved")).rows()
    moved = {"a": START + dt.timedelta(minutes=1), "b": dt.date(2024, 2, 25), "m": 0}
    assert rows == [{**moved, "t": START, "w": START.date(), "n": 0}]
