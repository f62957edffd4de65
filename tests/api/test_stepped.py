"""What happens today, or this month, by a clock that moves each minute: while the day stays nothing is read."""

import datetime
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database

START = datetime.datetime(2024, 1, 30, 22, tzinfo=datetime.UTC)
MINUTE, HOUR = datetime.timedelta(minutes=1), datetime.timedelta(hours=1)


@rn.record
class Scan:
    id: int
    at: datetime.datetime | None
    depot: str


@rn.record
class Parcel:
    id: int
    scans: Bag[Scan]


@rn.record
class Clock:
    id: int
    now: datetime.datetime


@rn.view
def today(P: Bag[Parcel], K: Bag[Clock]):
    return [
        {"p": p.id, "s": s.id}
        for k in K
        if k.id == 1
        for p in P
        for s in p.scans
        if s.at is not None and s.at.date() == k.now.date()
    ]


@rn.view
def of_the_month(P: Bag[Parcel], K: Bag[Clock]):
    """By depot, of two parts of a day."""
    return [
        {"depot": d, "n": len(ss), "last": max(s.at for s in ss)}
        for k in K
        if k.id == 1
        for d, ss in rn.group_by(
            [
                s
                for p in P
                for s in p.scans
                if s.at is not None and s.at.year == k.now.year and s.at.month == k.now.month
            ],
            lambda s: s.depot,
        )
    ]


@rn.view
def of_parcels(P: Bag[Parcel], K: Bag[Clock]):
    """In inner bags, whose labels say which day and hour it is: all of them are read once an hour."""
    return [
        {
            "p": p.id,
            "today": [s.id for s in p.scans if s.at is not None and s.at.date() == k.now.date()],
            "hours": len([s for s in p.scans if s.at is not None and s.at.hour == k.now.hour]),
        }
        for p in P
        for k in K
        if k.id == 1
    ]


VIEWS = (today, of_the_month, of_parcels)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, *views: rn.View) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("P", Parcel, key="id", keys={"scans": "id"})
    db.relation("K", Clock, key="id")
    for view in views:
        db.create(view)
    return db


def scan(c: Choices, n: int) -> Scan:
    return Scan(n, None if c.one_in(6) else START + c.number(60) * HOUR, c.pick("ab"))


@pytest.mark.filterwarnings("ignore:view of_parcels is kept fresh, but not")
@law(examples=many(6, 200))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder, *VIEWS) as db:
        for _ in range(4):
            with db.batch(policy="incremental") as b:
                every = [Parcel(i, [scan(c, n) for n in range(c.number(4))]) for i in range(3)]
                b.upsert("P", [p for p in every if c.one_in(2)])
                if c.number(6):
                    b.upsert("K", [Clock(1, START + c.number(60) * HOUR + c.number(3) * MINUTE)])
                else:
                    b.discard_key("K", [{"id": 1}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "PK"})
            COUNTS.update(view.name for view in VIEWS if db.view(view.name).rows())
        assert db.verify(deep=True).ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(6, 200), COUNTS


@pytest.mark.filterwarnings("error", "ignore:view of_parcels is kept fresh, but not")
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_while_the_day_stays_nothing_is_read(tmp_path: Path, view: rn.View) -> None:
    with opened(tmp_path / "s") as db:
        db.load("P", [Parcel(i, [Scan(n, START + n * HOUR, "a") for n in range(4)]) for i in range(300)])
        db.load("K", [Clock(1, START)])
        db.create(view)
        with db.batch(policy="incremental" if view is of_parcels else "strict") as b:
            b.upsert("K", [Clock(1, START + MINUTE)])
        assert b.report.rows_read <= 1, b.report
        with db.batch() as b:
            b.upsert("K", [Clock(1, START + 26 * HOUR)])
        recomputed(db, {view.name: view}, {name: db.relation(name).rows() for name in "PK"})
        assert b.report.rows_out and db.verify(deep=True).ok
