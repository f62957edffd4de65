"""Runs of events of one kind: what asks for the event just before one, and of which kind it is, reads what changes."""

import random
from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Event:
    id: int
    user: int
    at: int
    kind: str


@rn.view
def begins(E: Bag[Event]) -> list[Any]:
    """The first of each run, ties told by their numbers."""
    return [
        {"id": e.id} for e in E
        if not any(p.user == e.user and p.kind == e.kind and (p.at, p.id) < (e.at, e.id)
                   and not any(q.user == e.user and (p.at, p.id) < (q.at, q.id) < (e.at, e.id) for q in E) for p in E)
    ]  # fmt: skip


@rn.view
def begins_at(E: Bag[Event]) -> list[Any]:
    """By the time alone."""
    return [
        {"id": e.id} for e in E
        if not any(p.user == e.user and p.kind == e.kind and p.at < e.at
                   and not any(q.user == e.user and p.at < q.at < e.at for q in E) for p in E)
    ]  # fmt: skip


@rn.view
def before(E: Bag[Event]) -> list[Any]:
    """Those just before, of the same kind."""
    return [
        {"id": e.id, "before": [
            p.id for p in E if p.user == e.user and p.kind == e.kind and p.at < e.at
            and not any(q.user == e.user and p.at < q.at < e.at for q in E)]}
        for e in E
    ]  # fmt: skip


@pytest.mark.parametrize("view", [begins, begins_at, before])
def test_an_event_more_reads_a_few(view: rn.View, tmp_path: Path) -> None:
    """However many there are of its user; all of these were read, and of those with ties the square was kept."""
    read, kept = [], []
    for n in (28, 112):
        with rn.open(tmp_path / str(n), engine="local") as db:
            db.relation("E", Event, key="id")
            db.load("E", [Event(i, 0, 2 * i, "ab"[i * i % 7 % 2]) for i in range(n)])
            db.create(view)
            snapshot = db._store.snapshot()
            kept.append(sum(map(snapshot.size, snapshot.tables)))
            for at in (2 * n, n):  # the last, and one in the middle
                with db.batch(policy="strict") as b:
                    b.insert("E", [Event(n + at, 0, at + 1, "a")])
                read.append(b.report.rows_read)
            assert db.verify(deep=n == 28).ok
    assert read[:2] == read[2:] and max(read) <= 30 and kept[1] <= 4 * kept[0] + 20


@pytest.mark.parametrize("seed", range(3))
def test_runs_are_those_of_python(seed: int, tmp_path: Path) -> None:
    r = random.Random(seed)
    events = {i: Event(i, r.randrange(2), r.randrange(6), r.choice("ab")) for i in range(12)}
    with rn.open(tmp_path, engine="local", policy="strict") as db:
        db.relation("E", Event, key="id")
        db.load("E", [*events.values()])
        made = [db.create(v) for v in (begins, begins_at, before)]
        for _ in range(6):
            with db.batch() as b:
                for i in {r.randrange(15) for _ in range(3)}:
                    if i in events and r.random() < 0.5:
                        del events[i]
                        b.delete_key("E", id=i)
                    else:
                        events[i] = Event(i, r.randrange(2), r.randrange(6), r.choice("ab"))
                        b.upsert("E", [events[i]])
            for v, handle in zip((begins, begins_at, before), made, strict=True):
                assert handle.rows() == v([*events.values()])


@rn.view
def valid(E: Bag[Event], V: Bag[Event]) -> list[Any]:
    """Which version of a user was valid at an event: each is until the next one begins."""
    versions: list[Any] = [
        {**v, "until": min((w.at for w in V if w.user == v.user and w.at > v.at), default=999)} for v in V
    ]  # fmt: skip
    return [
        {"id": e.id, "kind": v.kind} for e in E for v in versions
        if v.user == e.user and v.at <= e.at and e.at < v.until
    ]  # fmt: skip


@rn.view
def valid_or_open(E: Bag[Event], V: Bag[Event]) -> list[Any]:
    """The last one has no end."""
    versions: list[Any] = [
        {**v, "until": min(w.at for w in V if w.user == v.user and w.at > v.at)} for v in V
    ]  # fmt: skip
    return [
        {"id": e.id, "kinds": [
            v.kind for v in versions if v.user == e.user and v.at <= e.at and (v.until is None or e.at < v.until)]}
        for e in E
    ]  # fmt: skip


@rn.view
def to_come(E: Bag[Event], V: Bag[Event]) -> list[Any]:
    """The other way round: what begins next, after the last one ended."""
    return [
        {"id": e.id, "next": v.id} for e in E for v in V
        if v.user == e.user and e.at < v.at
        and e.at >= max((w.at for w in V if w.user == v.user and w.at < v.at), default=-1)
    ]  # fmt: skip


@pytest.mark.parametrize("view", [valid, valid_or_open, to_come])
def test_what_is_valid_reads_a_few(view: rn.View, tmp_path: Path) -> None:
    """However many versions and events there are; all were read, and each version was asked of each event."""
    read = []
    for n in (28, 112):
        with rn.open(tmp_path / str(n), engine="local") as db:
            for name in "EV":
                db.relation(name, Event, key="id")
                db.load(name, [Event(i, 0, 3 * i + (name == "E"), "ab"[i * i % 7 % 2]) for i in range(n)])
            db.create(view)
            for name, at in (("E", 3 * n), ("V", 3 * n), ("E", n), ("V", n)):
                with db.batch(policy="strict") as b:
                    b.insert(name, [Event(2 * n + at, 0, at + 2, "c")])
                read.append(b.report.rows_read)
            assert db.verify(deep=n == 28).ok
    assert read[:4] == read[4:] and max(read) <= 40


@pytest.mark.parametrize("seed", range(2))
def test_what_is_valid_is_as_in_python(seed: int, tmp_path: Path) -> None:
    r = random.Random(seed)
    rows = {(name, i): Event(i, r.randrange(2), r.randrange(6), r.choice("ab")) for name in "EV" for i in range(6)}
    views = (valid, valid_or_open, to_come)
    with rn.open(tmp_path, engine="local", policy="strict") as db:
        for name in "EV":
            db.relation(name, Event, key="id")
            db.load(name, [e for (of, _), e in rows.items() if of == name])
        made = [db.create(v) for v in views]
        for _ in range(6):
            with db.batch() as b:
                for name, i in {(r.choice("EV"), r.randrange(9)) for _ in range(3)}:
                    if (name, i) in rows and r.random() < 0.5:
                        del rows[name, i]
                        b.delete_key(name, id=i)
                    else:
                        rows[name, i] = Event(i, r.randrange(2), r.randrange(6), r.choice("ab"))
                        b.upsert(name, [rows[name, i]])
            own = [[e for (of, _), e in rows.items() if of == name] for name in "EV"]
            assert [h.rows() for h in made] == [v(*own) for v in views]


@rn.view
def records(E: Bag[Event]) -> list[Any]:
    """Those that are above all before them."""
    return [e.id for e in E if all(p.kind < e.kind for p in E if p.user == e.user and p.at < e.at)]


@pytest.mark.parametrize("seed", range(2))
def test_what_is_above_all_before_it(seed: int, tmp_path: Path) -> None:
    """Two columns are compared: the greatest so far tells."""
    r, read = random.Random(seed), []
    for n in (40, 160):
        with rn.open(tmp_path / str(n), engine="local") as db:
            db.relation("E", Event, key="id")
            events = {i: Event(i, 0, 2 * i, r.choice("abcdefgh")) for i in range(n)}
            db.load("E", [*events.values()])
            made = db.create(records)
            for at in (2 * n, r.randrange(n)):
                new = Event(n + at, 0, 2 * at + 1, r.choice("abcdefgh"))
                events[new.id] = new
                with db.batch(policy="strict") as b:
                    b.insert("E", [new])
                read.append(b.report.rows_read)
                assert made.rows() == records([*events.values()])
    assert max(read[0], read[2]) <= 12
