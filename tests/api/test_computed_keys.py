"""Rows that are asked for by what is computed of them: a batch reads those that it finds, and what can fail fails only
where somebody asks for it."""

import datetime as dt
import warnings
from random import Random
from typing import Any

import pytest
from support.combinations import combinations
from support.in_order import in_order

import ripplenest as rn
from ripplenest import Bag, errors

START, WEEK = dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.timedelta(weeks=1)
FULL = 9


@rn.record
class Event:
    id: int
    mail: str
    n: int
    at: dt.datetime
    ok: bool


def mails(E: Bag[Event]) -> list[Any]:
    return [{"id": e.id, "same": [f.id for f in E if f.mail.lower() == e.mail.lower()]} for e in E]


def weeks(E: Bag[Event]) -> list[Any]:
    """A key that can fail: the first week of all days would begin before them."""
    return [
        {"week": w, "n": len(es), "ids": [e.id for e in es]}
        for w, es in rn.group_by(E, lambda e: rn.tumble(e.at.date(), WEEK))
    ]


def numbers(E: Bag[Event]) -> list[Any]:
    """Of some rows, and of what they have."""
    return [
        {"n": n, "mails": [{"id": e.id, "mail": e.mail} for e in es]}
        for n, es in rn.group_by([e for e in E if e.ok], lambda e: e.n + 1)
    ]


def retention(E: Bag[Event]) -> list[Any]:
    """Some of the rows of such a group, by what is asked of others for each of them, a day after a day."""
    seen = [
        {
            "week": rn.tumble(e.at.date(), WEEK),
            "again": any(f.at.date() == e.at.date() + dt.timedelta(days=1) for f in E if f.mail == e.mail),
        }
        for e in E
    ]
    return [
        {"week": w, "n": len(es), "again": len([e for e in es if e["again"]])}
        for w, es in rn.group_by(seen, lambda e: e["week"])
    ]


def mails_of(E: Bag[Event]) -> list[Any]:
    """Beside a column that says little."""
    return [
        {"id": e.id, "same": [f.id for f in E if f.ok == e.ok and f.mail.lower() == e.mail.lower()]}
        for e in E
        if not any(f.ok == e.ok and f.n + 1 == e.n and f.id < e.id for f in E)
    ]


def so_far(E: Bag[Event]) -> list[Any]:
    """A running total that begins anew each day."""
    return [
        {
            "id": e.id,
            "n": len([f for f in E if f.ok == e.ok and f.at.date() == e.at.date() and (f.at, f.id) <= (e.at, e.id)]),
        }
        for e in E
    ]


def of_a_day(E: Bag[Event]) -> list[Any]:
    """Whole rows of groups by both."""
    return [
        {"ok": ok, "day": day, "id": e.id, "of": len(es)}
        for (ok, day), es in rn.group_by(E, lambda e: (e.ok, e.at.date()))
        for e in es
    ]


def highest(E: Bag[Event]) -> list[Any]:
    """Rows of groups, by what is told of the group: many have the greatest number of some week."""
    return [
        {"week": w, "id": e.id, "n": e.n}
        for w, es in rn.group_by(E, lambda e: rn.tumble(e.at.date(), WEEK))
        for e in es
        if e.n % 50 == max(f.n % 50 for f in es)
    ]


def highest_of_days(E: Bag[Event]) -> list[Any]:
    """The same in an inner bag."""
    return [
        {"day": d, "ids": [e.id for e in es if e.ok == max(f.ok for f in es)]}
        for d, es in rn.group_by(E, lambda e: e.at.date())
    ]


def pairs(E: Bag[Event]) -> list[Any]:
    """Pairs of rows of a group, which agree in a column, too, and of which one has the greater number."""
    return [
        {"day": d, "n": len([e for e in es for f in es if e.id < f.id and e.ok == f.ok])}
        for d, es in rn.group_by(E, lambda e: e.at.date())
    ]


def around(E: Bag[Event]) -> list[Any]:
    """Beside two values between which they lie."""
    return [
        {"e": e.id, "f": f.id} for e in E for f in E if f.mail.lower() == e.mail.lower() and abs(f.n - e.n) < 40
    ]


def soon(E: Bag[Event]) -> list[Any]:
    return [
        {"id": e.id, "n": len([f for f in E if f.mail[:2] == e.mail.lower()[:2] and e.at <= f.at < e.at + 9 * WEEK])}
        for e in E
    ]


ALONE, BESIDE = (mails, weeks, numbers, retention), (mails_of, so_far, of_a_day, pairs)
TOLD, LYING = (highest, highest_of_days), (around, soon)


def an_event(random: Random, n: int) -> Event:
    at = START + dt.timedelta(days=random.randrange(40))
    return Event(n, random.choice(["a", "A", "b"]) + str(random.randrange(100)), n % 50, at, random.random() < 0.8)


@pytest.mark.parametrize("views", [ALONE, BESIDE, TOLD, LYING])
def test_batches_read_what_they_find_and_nothing_is_said_to_be_read_whole(folder, views: Any) -> None:
    """Of 400 rows, of which 8 have one number, and 10 a day."""
    random = Random(7)
    events = {n: an_event(random, n) for n in range(400)}
    with rn.open(folder / "state", engine="local") as db:
        db.relation("E", Event, key="id")
        db.load("E", [*events.values()])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for f in views:
                db.create(rn.view(f))
        for i in range(20):
            new = Event(1000 + i, f"New{i}", 1000 + i, START + dt.timedelta(weeks=100 + i), True)
            gone = random.choice([*events])
            with db.batch(policy="strict") as b:
                b.insert("E", [new])
                b.delete_key("E", id=gone)
            assert b.report.rows_read < 120, b.report
            del events[gone]
            events[new.id] = new
            for f in views:
                assert in_order(db.view(f.__name__).rows()) == in_order(f([*events.values()])), f.__name__
        assert db.verify(deep=True).ok


def near(E: Bag[Event]) -> list[Any]:
    """A window of the rows that agree in what is computed."""
    return [
        {"id": e.id, "n": len([f for f in E if f.mail.lower() == e.mail.lower() and e.n - 400 < f.n <= e.n])} for e in E
    ]


def running(E: Bag[Event]) -> list[Any]:
    """Running totals in the groups of a key that is computed."""
    return [
        {"mail": m, "es": [{"id": e.id, "n": sum(f.n for f in es if (f.at, f.id) <= (e.at, e.id))} for e in es]}
        for m, es in rn.group_by(E, lambda e: e.mail.lower())
    ]


def ranked(E: Bag[Event]) -> list[Any]:
    """Places that ties share, of rows that have a name."""
    rows = [{"id": e.id, "mail": e.mail.lower(), "n": e.n} for e in E]
    return [
        {"id": e["id"], "x": 1 + len({f["n"] for f in rows if f["mail"] == e["mail"] and f["n"] > e["n"]})}
        for e in rows
    ]


def places(E: Bag[Event]) -> list[Any]:
    """In groups of a key that could fail, and does not."""
    return [
        {"n": n, "es": [{"id": e.id, "x": len([f for f in es if f.at >= e.at])} for e in es]}
        for n, es in rn.group_by(E, lambda e: e.n + 1)
    ]


def test_windows_of_rows_that_agree_in_what_is_computed(folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2,000 rows, of which eight agree: few are read, and nowhere all are put beside all."""
    random, made = Random(1), combinations(monkeypatch)
    event = lambda n: Event(n, random.choice("mM") + str(random.randrange(250)), random.randrange(1_000), START, True)  # noqa: E731
    events = {n: event(n) for n in range(2_000)}
    with rn.open(folder / "state", engine="local") as db:
        db.relation("E", Event, key="id")
        db.load("E", [*events.values()])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for f in (near, running, ranked, places):
                db.create(rn.view(f))
        assert max(made) < 40_000
        for i in range(4):
            gone, events[3_000 + i] = random.choice([*events]), event(3_000 + i)
            with db.batch(policy="strict") as b:
                b.insert("E", [events[3_000 + i]])
                b.delete_key("E", id=gone)
            del events[gone]
            assert b.report.rows_read < 200, b.report
        every = [*events.values()]
        for f in (running, places):
            assert in_order(db.view(f.__name__).rows()) == in_order(f(every)), f.__name__
        by_mail: dict[str, list[Event]] = {}
        for e in every:
            by_mail.setdefault(e.mail.lower(), []).append(e)
        for f in (near, ranked):
            assert in_order(db.view(f.__name__).rows()) == in_order([r for es in by_mail.values() for r in f(es)])
        assert db.verify().ok


@rn.record
class Mail:
    id: int
    mail: str


@rn.record
class Kind:
    id: int
    ok: bool


@rn.view
def by_way(A: Bag[Mail], E: Bag[Event], K: Bag[Kind]):
    """Of what is found by what is computed, others are asked for, of which there are very many together."""
    return [
        {"a": a.id, "e": e.id, "k": k.id} for a in A for e in E if e.mail.lower() == a.mail for k in K if k.ok == e.ok
    ]


def test_what_has_a_join_that_is_not_kept_is_looked_up_by_itself(folder) -> None:
    """Of 2,000 rows one is found, and ten with it."""
    with rn.open(folder / "state", engine="local") as db:
        for name, record in (("A", Mail), ("E", Event), ("K", Kind)):
            db.relation(name, record, key="id")
        db.load("E", [Event(n, f"M{n}", n, START, n % 2 == 0) for n in range(2_000)])
        db.load("K", [Kind(n, n < 10) for n in range(20)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            db.create(by_way)
        with db.batch(policy="strict") as b:
            b.insert("A", [Mail(1, "m4")])
        assert b.report.rows_read == 11
        assert in_order(db.view("by_way").rows()) == [{"a": 1, "e": 4, "k": k} for k in range(10)]


@rn.record
class Asking:
    n: int


@rn.view
def asked(A: Bag[Asking], E: Bag[Event]):
    """What group_by computes of some rows, others are asked for by."""
    return [{"n": a.n, "ids": [e.id for e in E if 12 // (FULL - e.n) == a.n]} for a in A] + [
        {"n": n, "ids": [e.id for e in es]}
        for n, es in rn.group_by([e for e in E if e.ok], lambda e: 12 // (FULL - e.n))
    ]


def test_what_nobody_asks_for_does_not_fail(folder) -> None:
    """What is divided by nothing has no value: of a row that is in no group, while nobody asks."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("A", Asking, key="n")
        db.relation("E", Event, key="id")
        db.create(asked)
        with db.batch() as b:
            b.insert("E", [Event(1, "a", FULL, START, False), Event(2, "a", 4, START, True)])
        assert db.view("asked").rows() == [{"n": 2, "ids": [2]}]
        for relation, row in (("A", Asking(2)), ("E", Event(3, "a", FULL, START, True))):
            with pytest.raises(errors.EvaluationError, match="division by zero"), db.batch() as b:
                b.insert(relation, [row])
        with db.batch() as b:
            b.delete_key("E", id=1)
            b.insert("A", [Asking(2)])
        assert db.view("asked").rows() == [{"n": 2, "ids": [2]}] * 2


@rn.view
def guarded(A: Bag[Asking], E: Bag[Event]):
    """A key that is computed of some rows only, by which others are asked for."""
    return [{"n": a.n, "ids": [e.id for e in E if 12 // (FULL - e.n) == a.n]} for a in A] + [
        {"n": n, "ids": [e.id for e in es]}
        for n, es in rn.group_by(E, lambda e: 12 // (FULL - e.n) if e.n < FULL else 0)
    ]


def test_what_one_side_of_a_choice_computes_is_not_computed_anyway(folder) -> None:
    """A row has no such number, and a group: nothing fails before somebody asks for that of all."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("A", Asking, key="n")
        db.relation("E", Event, key="id")
        db.create(guarded)
        with db.batch() as b:
            b.insert("E", [Event(1, "a", FULL, START, True), Event(2, "a", 4, START, True)])
        assert db.view("guarded").rows() == [{"n": 0, "ids": [1]}, {"n": 2, "ids": [2]}]
        with pytest.raises(errors.EvaluationError, match="division by zero"), db.batch() as b:
            b.insert("A", [Asking(2)])
