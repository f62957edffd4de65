"""Groups by a class that a clock says, as an ageing report has them: totals, bags, first rows, classes of classes. When
the clock moves, rows go from one class to the next, and those are what is read."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.run import running
from ripplenest.vector import windows

FEW, MORE, NOW = 40, 320, 1_000


@rn.record
class Bill:
    no: int
    at: int
    due: int | None
    sum: int


@rn.record
class Firm:
    id: int
    kind: int
    bills: Bag[Bill]


@rn.record
class Clock:
    id: int
    now: int


def aged(F: Bag[Firm], K: Bag[Clock]) -> Any:
    return [
        {
            "no": b.no,
            "kind": f.kind,
            "sum": b.sum,
            "age": "new" if b.at > k.now - 10 else "older" if b.at > k.now - 20 else "old",
        }
        for k in K if k.id == 1 for f in F for b in f.bills
    ]  # fmt: skip


@rn.view
def by_age(F: Bag[Firm], K: Bag[Clock]):
    return [
        {"age": age, "n": len(bs), "sum": sum(b.sum for b in bs), "most": max(b.sum for b in bs)}
        for age, bs in rn.group_by(aged(F, K), lambda b: b.age)
    ]


@rn.view
def whose_age(F: Bag[Firm], K: Bag[Clock]):
    """In bags, of another key beside, and the first of them."""
    return [
        {
            "age": age,
            "kind": kind,
            "bills": [b.no for b in bs],
            "first": [{"no": b.no} for b in rn.top(2, bs, key=lambda b: b.no)],
        }
        for (age, kind), bs in rn.group_by(aged(F, K), lambda b: (b.age, b.kind))
    ]


@rn.view
def known_ages(F: Bag[Firm], K: Bag[Clock]):
    """By classes that are known."""
    return [{"age": age, "n": len([b for b in aged(F, K) if b.age == age])} for age in ("new", "older", "old")]


@rn.view
def of_each(F: Bag[Firm], K: Bag[Clock]):
    """Of each firm, by when a bill is due, which may be never."""
    now = max(k.now for k in K)
    return [
        {
            "id": f.id,
            "ages": [
                {"age": age, "n": len(bs), "nos": [b.no for b in bs]}
                for age, bs in rn.group_by(
                    [{"no": b.no, "age": 1 if b.due > now else 2 if b.due > now - 10 else 3} for b in f.bills],
                    lambda b: b.age,
                )
            ],
        }
        for f in F
    ]


@rn.view
def ages(F: Bag[Firm], K: Bag[Clock]):
    return {b.age for b in aged(F, K)}


@rn.view
def on_the_day(F: Bag[Firm], K: Bag[Clock]):
    """By what is the same: of values, and of a class between others."""
    return [
        {
            "id": f.id,
            "today": b.due == k.now,
            "other": b.at != k.now,
            "state": "late" if b.due < k.now else "today" if b.due == k.now else "to come",
        }
        for k in K if k.id == 1 for f in F for b in f.bills
    ]  # fmt: skip


VIEWS = (by_age, whose_age, known_ages, of_each, ages, on_the_day)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, *views: rn.View) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("F", Firm, key="id", keys={"bills": "no"})
    db.relation("K", Clock, key="id")
    for view in views:
        db.create(view)
    return db


def firm(c: Choices, i: int) -> Firm:
    due = lambda: None if c.one_in(4) else NOW + 15 - c.number(40)  # noqa: E731
    return Firm(i, c.number(2), [Bill(no, NOW - c.number(30), due(), c.number(3)) for no in range(c.number(4))])


@law(examples=many(6, 200))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder, *VIEWS) as db:
        now = NOW
        for _ in range(4):
            now += c.number(12)
            with db.batch(policy="incremental") as b:
                b.upsert("F", [firm(c, i) for i in range(4) if c.one_in(2)])
                b.discard_key("F", [{"id": c.number(4)}])
                if c.number(8):
                    b.upsert("K", [Clock(1, now), Clock(2, now - 5)])
                else:
                    b.discard_key("K", [{"id": 1}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "FK"})
            COUNTS.update(view.name for view in VIEWS if len(db.view(view.name).rows()) > 1)
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(6, 200), COUNTS


def read(folder: Path, view: rn.View, size: int) -> list[int]:
    """How many rows are read when a bill comes, when one goes, and when the clock moves."""
    with opened(folder) as db:
        db.load("K", [Clock(1, NOW), Clock(2, NOW - 9)])
        others = [Firm(i, i % 3, [Bill(j, i + j, i + 9 * j, i % 7) for j in range(3)]) for i in range(2, size)]
        one = Firm(1, 1, [Bill(1, NOW - 19, NOW - 9, 2), Bill(2, NOW - 9, NOW + 1, 1), Bill(3, NOW, None, 9)])
        db.load("F", [one, *others])
        db.create(view)
        found = []
        for write in (
            lambda b: b.at("K", id=1).set(now=NOW + 1),
            lambda b: b.at("F", id=1).bills.insert([Bill(4, NOW - 9, NOW + 3, 3)]),
            lambda b: b.at("F", id=1).bills.delete_key(no=2),
            lambda b: b.upsert("K", [Clock(1, NOW + 3)]),
        ):
            with db.batch(policy="strict") as b:
                write(b)
            found.append(b.report.rows_read)
        assert db.verify(deep=True).ok
        return found


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_who_stays_in_a_class_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: rn.View) -> None:
    for module, name in ((running, "WORTH"), (windows, "WORTH"), (windows, "TIMES")):
        monkeypatch.setattr(module, name, 0)
    few, more = read(tmp_path / "few", view, FEW), read(tmp_path / "more", view, MORE)
    assert all(after <= before + 8 for before, after in zip(few, more, strict=True)), (few, more)
    assert few[0] > 0
