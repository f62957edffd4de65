"""Totals that are asked for places which other totals tell, of what may have no value."""

import datetime
from tempfile import TemporaryDirectory

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, errors

START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
HOUR, HALF = datetime.timedelta(hours=1), datetime.timedelta(minutes=30)


@rn.record
class Event:
    id: int
    user: int
    at: datetime.datetime
    n: int | None


@rn.record
class Customer:
    id: int
    n: int | None


@rn.view
def before(E: Bag[Event]):
    """Of each window of an event the first rows that its beginning leaves."""
    return [
        x.id
        for r in [{"m": min(h for y in E)} for e in E for h in rn.hop(e.at, HOUR, every=HALF)]
        for x in rn.top(2, [y for y in E if y.at != r.m])
    ]


@rn.view
def since(E: Bag[Event]):
    return [
        {"id": r.id, "n": len([y for y in E if y.at >= r.h])}
        for r in [
            {"id": e.id, "h": max(h for y in E if y.user == e.user)} for e in E for h in rn.hop(e.at, HOUR, every=HALF)
        ]
    ]


@rn.view
def least(C: Bag[Customer], E: Bag[Event]):
    """Of rows that are the first of others, and of rows that are not."""
    return [
        {"f": min((x.f for x in [r] for b in E if b.id == x.g or b.n is None), default=r.f)}
        for r in [{"f": sorted([{"f": c.n} for d in C])[0].f, "g": e.n} for c in C for e in E]
        + [{"f": c.n, "g": c.id - c.id} for c in C]
    ]


@rn.view
def some(C: Bag[Customer], E: Bag[Event]):
    return [any(b.n == x.f for a in E for b in E) for x in least(C, E)]


VIEWS = (before, since, least, some)


def event(c: Choices, key: int) -> Event:
    return Event(key, c.number(2), START + c.number(5) * HALF / 2, c.pick((None, 0, 1)))


@law(examples=many(6, 200))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("C", Customer, key="id")
        db.relation("E", Event, key="id")
        for view in VIEWS:
            db.create(view, materialize=c.pick(("cost", "none", "first", "full")))
        for _ in range(4):
            with db.batch(policy="incremental") as b:
                b.upsert("C", [Customer(key, c.pick((None, 0, 1))) for key in range(3) if c.one_in(2)])
                b.upsert("E", [event(c, key) for key in range(5) if c.one_in(2)])
                b.discard_key("E", [{"id": c.number(5)}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "CE"})
        assert db.verify().ok


@rn.record
class Order:
    id: int
    name: str
    lines: Bag[int]


@rn.record
class Buyer:
    id: int
    most: int
    since: datetime.datetime
    orders: Bag[Order]


@rn.view
def first(B: Bag[Buyer]):
    """What may have no value is asked of the rows that there are, and not of places of which there are none."""
    return [
        o
        for b in B
        for x, o in rn.left_join(
            rn.top(1, [{"k": b.id} for _ in rn.hop(b.since, HOUR, every=HALF) if len(b.orders) > 2], key=lambda r: r.k),
            b.orders,
            lambda _, o: o.name == "",
        )
        if b.id % b.most > o.id
    ]


def test_places_without_rows_are_asked_nothing(tmp_path) -> None:
    buyer = Buyer(7, 0, START, [Order(3, "a", [])])
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("B", Buyer)
        db.create(first)
        for policy in ("incremental", "full"):
            with db.batch(policy=policy) as b:
                b.insert("B", [buyer])
            assert db.view("first").rows() == first([buyer]) == []
        with pytest.raises(errors.EvaluationError, match="division by zero"), db.batch() as b:
            b.insert("B", [Buyer(8, 0, START, [Order(n, "", []) for n in range(3)])])
