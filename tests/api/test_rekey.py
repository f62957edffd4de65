"""Inner bags and totals of rows with a key: when a row changes in what they compare with, they do not move."""

from collections import Counter
from collections.abc import Callable, Sequence
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
from ripplenest.data.rows import Rows
from ripplenest.delta.program import MapKind
from ripplenest.nrc.types import Base
from ripplenest.run.policy import Work


@rn.record
class Item:
    id: int
    price: int


@rn.record
class Order:
    id: int
    limit: int
    items: Bag[Item]


@rn.record
class User:
    id: int
    clock: int
    start: int
    orders: Bag[Order]


@rn.record
class Clock:
    id: int
    at: int


@rn.record
class Event:
    id: int
    user: int
    at: int


@rn.view
def since(U: Bag[User], E: Bag[Event]):
    """A window of each row."""
    return [{"u": u.id, "e": [{"id": e.id} for e in E if e.user == u.id and e.at >= u.start]} for u in U]


@rn.view
def by_clock(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """A window that several rows share."""
    return [
        {"u": u.id, "e": [{"id": e.id} for e in E if e.user == u.id and u.start <= e.at < k.at]}
        for k in K
        for u in U
        if k.id == u.clock
    ]


@rn.view
def totals(U: Bag[User], E: Bag[Event]):
    """Counts, and what is asked of some and of all."""
    return [
        {
            "u": u.id,
            "n": len([e for e in E if e.user == u.id and e.at >= u.start]),
            "some": any(e.user == u.id and e.at >= u.start for e in E),
            "all": all(e.at >= u.start for e in E if e.user == u.id),
        }
        for u in U
    ]


@rn.view
def firsts(U: Bag[User], E: Bag[Event]):
    return [
        {"u": u.id, "e": sorted([e for e in E if e.user == u.id and e.at >= u.start], key=lambda e: e.at)[:2]}
        for u in U
    ]


@rn.view
def inside(U: Bag[User]):
    """Of the bags of a document, by what it says, and what the row says that holds them."""
    return [
        {
            "u": u.id,
            "of": [
                {
                    "o": o.id,
                    "above": [i for i in o.items if i.price > o.limit],
                    "below": [{"id": i.id} for i in o.items if i.price <= u.start],
                }
                for o in u.orders
                if o.limit <= u.start
            ],
        }
        for u in U
    ]


@rn.view
def recent(U: Bag[User], K: Bag[Clock], E: Bag[Event]):
    """A window that all share, since a constant says which."""
    return [
        {
            "u": u.id,
            "e": [{"id": e.id} for e in E if e.user == u.id and e.at >= k.at - 2],
            "o": [{"o": o.id} for o in u.orders if o.limit >= k.at],
        }
        for u in U
        for k in K
        if k.id == 1
    ]


VIEWS = (since, by_clock, totals, firsts, inside, recent)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str, views: Sequence[rn.View] = VIEWS) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("U", User, key="id", keys={"orders": "id", "orders.items": "id"})
    db.relation("K", Clock, key="id")
    db.relation("E", Event, key="id")
    for view in views:
        db.create(view)
    return db


def item(c: Choices, key: int) -> dict[str, Any]:
    return {"id": key, "price": c.number(5)}


def order(c: Choices, key: int) -> dict[str, Any]:
    return {"id": key, "limit": c.number(5), "items": some(c, item)}


def user(c: Choices, key: int) -> dict[str, Any]:
    return {"id": key, "clock": c.number(2), "start": c.number(5), "orders": some(c, order)}


def clock(c: Choices, key: int) -> dict[str, Any]:
    return {"id": key, "at": c.number(6)}


def event(c: Choices, key: int) -> dict[str, Any]:
    return {"id": key, "user": c.number(4), "at": c.number(5)}


def some(c: Choices, made: Any) -> list[dict[str, Any]]:
    return [made(c, key) for key in range(5) if c.one_in(2)]


@law(examples=many(8, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        for _ in range(4):
            with db.batch(policy="strict") as b:
                for name, made in (("U", user), ("K", clock), ("E", event)):
                    if not c.one_in(3):
                        b.upsert(name, some(c, made))
                    if c.one_in(3):
                        b.discard_key(name, [{"id": c.number(5)}])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "UKE"})
            COUNTS.update(view.name for view in VIEWS if len(db.view(view.name).rows()))
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS[view.name] for view in VIEWS) > many(8, 300), COUNTS


EVENTS = 1000


def busy(folder: Path, views: Sequence[rn.View]) -> Database:
    """One user, whose events and items are one after the other, and two clocks."""
    db = opened(folder, views)
    items = [{"id": i, "price": i} for i in range(EVENTS)]
    with db.batch() as b:
        b.insert("E", [{"id": i, "user": 1, "at": i} for i in range(EVENTS)])
        b.insert("K", [{"id": 1, "at": 600}, {"id": 2, "at": 700}])
        b.insert("U", [{"id": 1, "clock": 1, "start": 500, "orders": [{"id": 1, "limit": 100, "items": items}]}])
    return db


def changed(db: Database, view: rn.View) -> int:
    """How many rows of the dictionaries of a view the last batch has changed."""
    tables = db.view(view.name).changes(since=db.version - 1).dictionaries_to_arrow()
    return sum(len(rows) for rows in tables.values())


def test_no_label_is_made_of_what_is_compared(tmp_path: Path) -> None:
    """And so none needs a domain."""
    with opened(tmp_path / "s") as db:
        for view in VIEWS:
            stages = db.view(view.name).explain().json()
            assert " u1" not in stages["query"], "the query is shown as it was written"
            kinds = {m["kind"] for m in stages["maps"]}
            assert MapKind.FLAT.value in kinds and MapKind.DOMAIN.value not in kinds, view.name


def test_orders_are_kept_where_values_may_move(tmp_path: Path) -> None:
    """Not where a label finds the row that holds it."""
    for view, tables in ((inside, {"U.orders", "U.orders.items"}), (recent, {"E", "U.orders"}), (since, {"E"})):
        with opened(tmp_path / view.name, (view,)) as db:
            assert db._declared.plan().ranges.keys() == tables, view.name
    with rn.open(tmp_path / "no key", engine="local") as db:
        db.relation("U", User, key="id")
        db.relation("E", Event)
        db.create(since)
        assert db._declared.plan().ranges.keys() == {"E"}


def test_a_clock_that_moves_costs_what_lies_between(tmp_path: Path) -> None:
    """Also by the estimate: of rows of which nothing becomes another that is read, nothing is read beside them."""
    with opened(tmp_path / "s", (recent,)) as db:
        types = (Base("long"), Base("long"))
        ticks, other = ([((1, 600), -1), ((key, 602), 1)] for key in (1, 2))
        million = lambda table: 10**6  # noqa: E731, ARG005
        work = [
            Work(db._declared.plan(), million, {"K": 2}, {"K": Rows.of_pairs(types, rows)}).least()
            for rows in (ticks, other)
        ]
        assert work[0] < 100 and work[1] > 10**6


MOVES: dict[str, tuple[Callable[[Any], Any], dict[str, int], dict[str, int]]] = {
    "start": (
        lambda b: b.at("U", id=1).set(start=503),
        {"since": 3, "by_clock": 3, "totals": 0, "firsts": 4, "inside": 3, "recent": 0},
        {"totals": 15, "inside": 1002},  # totals are three; two rows say which items are read
    ),
    "clock": (
        lambda b: b.upsert("K", [{"id": 1, "at": 602}]),
        {"since": 0, "by_clock": 2, "totals": 0, "firsts": 0, "inside": 0, "recent": 2},
        {"by_clock": 501},  # by a map, which has no order
    ),
    "another clock": (
        lambda b: b.at("U", id=1).set(clock=2),
        {"since": 0, "by_clock": 100, "totals": 0, "firsts": 0, "inside": 0, "recent": 0},
        {"by_clock": 503},
    ),
    "limit": (
        lambda b: b.at("U", id=1).orders.at(id=1).set(limit=101),
        {"since": 0, "by_clock": 0, "totals": 0, "firsts": 0, "inside": 1, "recent": 0},
        {},
    ),
}


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
@pytest.mark.parametrize("move", MOVES)
def test_of_a_bag_the_rows_change_that_differ(tmp_path: Path, move: str, view: rn.View) -> None:
    """And what lies between is read, of 1,000 rows; nothing where no field becomes another that a view reads."""
    done, differing, read = MOVES[move]
    with busy(tmp_path / "s", (view,)) as db:
        with db.batch() as b:
            done(b)
        assert changed(db, view) == differing[view.name]
        assert b.report.rows_read == read.get(view.name, min(b.report.rows_read, 11))
        assert db.verify().ok


@rn.record
class Edge:
    x: int
    y: int
    note: str


@rn.view
def triangles(G: Bag[Edge]):
    return [{"n": len([1 for a in G for b in G if b.x == a.y for c in G if c.x == a.x and c.y == b.y])}]


def test_a_field_that_a_cycle_does_not_read(tmp_path: Path) -> None:
    """Whichever order of reading its rows choose."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("G", Edge, key=("x", "y"))
        db.create(triangles)
        with db.batch() as b:
            b.insert("G", [{"x": x, "y": y, "note": ""} for x in range(20) for y in range(20) if x != y])
        with db.batch() as b:
            b.upsert("G", [{"x": x, "y": (x + 1) % 20, "note": "new"} for x in range(20)])
        assert b.report.rows_in == {"G": 40} and b.report.rows_read < 45
        assert db.verify().ok


@rn.view
def guarded(U: Bag[User], E: Bag[Event]):
    return [{"u": u.id, "e": [e.at % u.start for e in E if e.user == u.id]} for u in U if u.start != 0]


def test_what_has_no_value_is_not_asked_for_a_row_without_a_bag(tmp_path: Path) -> None:
    """Its label is there until the batch is done, and leads to the row as it is then."""
    with opened(tmp_path / "s", (guarded,)) as db:
        with db.batch() as b:
            b.insert("U", [{"id": 1, "clock": 1, "start": 3, "orders": []}])
            b.insert("E", [event(Choices(lambda n: n - 1), 1) | {"user": 1}])
        for start in (0, 2):
            with db.batch(policy="incremental") as b:
                b.at("U", id=1).set(start=start)
            recomputed(db, {"guarded": guarded}, {name: db.relation(name).rows() for name in "UE"})


@rn.view
def named(U: Bag[User], E: Bag[Event]):
    late = [e for e in E if e.at > 10]
    return [{"u": u.id, "e": [{"id": e.id} for e in late if e.user == u.id and e.at >= u.start]} for u in U]


def test_rows_with_a_name(tmp_path: Path) -> None:
    with busy(tmp_path / "s", (named,)) as db:
        with db.batch() as b:
            b.at("U", id=1).set(start=503)
        assert changed(db, named) == 3 and b.report.rows_read < 11
