"""Rows that have a few others of their own, and have much in common with all: a total, a set, a first row of such reads
and keeps what belongs together, however many rows there are of both."""

from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.run import running
from ripplenest.vector import windows

FEW, MORE = 20, 120


@rn.record
class Line:
    no: int
    qty: int


@rn.record
class Order:
    id: int
    cust: int
    at: int
    state: str
    lines: Bag[Line]
    back: Bag[Line]


@rn.record
class Price:
    id: int
    cust: int
    no: int
    price: int


@rn.record
class Clock:
    id: int
    now: int


@rn.view
def prices(Q: Bag[Order], P: Bag[Price]):
    return [
        {"id": o.id, "of": sum(i.qty * p.price for i in o.lines for p in P if p.no == i.no and p.cust == o.cust)}
        for o in Q
    ]


@rn.view
def returned(Q: Bag[Order]):
    return [{"id": o.id, "of": sum(b.qty * i.qty for b in o.back for i in o.lines if i.no == b.no)} for o in Q]


@rn.view
def whether(Q: Bag[Order]):
    return [{"id": o.id, "of": any(b.no == i.no for b in o.back for i in o.lines)} for o in Q]


@rn.view
def which(Q: Bag[Order]):
    return [{"id": o.id, "of": {b.no for b in o.back for i in o.lines if i.no == b.no}} for o in Q]


@rn.view
def bought_alike(Q: Bag[Order]):
    """Of two rows of one customer, the bags of both."""
    return [
        {"id": o.id, "of": [d.id for d in Q if d.cust == o.cust and any(i.no == b.no for i in o.lines for b in d.back)]}
        for o in Q
    ]


@rn.view
def states(Q: Bag[Order]):
    """Sets of one customer, of which one is told by an order."""
    return [
        {
            "id": o.id,
            "of": {y.state for y in Q if y.cust == o.cust and (y.at, y.id) >= (o.at, o.id)}
            <= {z.state for z in Q if z.cust == o.cust},
        }
        for o in Q
    ]


@rn.view
def so_far(Q: Bag[Order]):
    return [
        {"id": o.id, "of": len({y.state for y in Q if (y.at, y.id) < (o.at, o.id) and y.cust == o.cust})} for o in Q
    ]


@rn.view
def last_before(Q: Bag[Order]):
    """The last one in a window of which something else is compared, too."""
    return [
        {"id": o.id, "of": max(y.at for y in Q if o.at - 10 < y.at and y.at <= o.at and y.cust >= o.cust)} for o in Q
    ]


@rn.view
def first_before(Q: Bag[Order]):
    return [
        {
            "id": o.id,
            "of": max(
                (y for y in Q if o.at - 10 < y.at and y.at <= o.at and y.cust >= o.cust), key=lambda y: (y.at, y.id)
            ).id,
        }
        for o in Q
    ]


@rn.view
def in_a_window(Q: Bag[Order]):
    return [
        {
            "id": o.id,
            "of": any(o.at - 10 < y.at and y.at <= o.at and y.cust > o.cust for y in Q),
            "not": not any(o.at - 10 < y.at and y.at <= o.at and y.cust > o.cust for y in Q),
            "all": all(y.at <= o.at - 10 or y.at > o.at or y.cust > o.cust for y in Q),
        }
        for o in Q
    ]


@rn.view
def lately(Q: Bag[Order]):
    """A map of the sums would be in no order."""
    return [{"id": o.id, "of": sum(y.cust for y in Q if o.at - 10 < y.at and y.at <= o.at)} for o in Q]


@rn.view
def after_one(Q: Bag[Order]):
    """A condition of few in a window: whoever is behind them, but beyond the window, has nothing to do with them."""
    return [
        {
            "id": o.id,
            "of": any(y.id == 6 for y in Q if o.at - 10 < y.at and y.at <= o.at),
            "not": len([y for y in Q if y.id == 6 and o.at - 10 < y.at and y.at <= o.at]) == 0,
        }
        for o in Q
    ]


@rn.view
def aged(Q: Bag[Order], K: Bag[Clock]):
    """More thresholds than two or three."""
    return [
        {
            "id": o.id,
            "age": "new" if o.at > k.now - 4
            else "1" if o.at > k.now - 9 else "2" if o.at > k.now - 15 else "3" if o.at > k.now - 22 else "old",
            "late": o.at < k.now - 30,
        }
        for k in K if k.id == 1
        for o in Q
    ]  # fmt: skip


@rn.view
def aged_by_the_latest(Q: Bag[Order], K: Bag[Clock]):
    """What has no row of its own, and is read several times."""
    now = max(k.now for k in K)
    return [
        {"id": o.id, "a": o.at > now - 4, "b": o.at > now - 9, "c": o.at > now - 15, "d": o.at > now - 22} for o in Q
    ]


@rn.view
def pairs(Q: Bag[Order]):
    """Of rows of one bag that are called by its owner, and are told by more of them than the owner is."""
    lines = [{"of": o.id, "no": i.no, "qty": i.qty, "odd": i.no % 2 == 1} for o in Q for i in o.lines]
    return [
        {"of": a["of"], "a": a.no, "b": b.no}
        for a in lines for b in lines
        if a["of"] == b["of"] and a.qty == b.qty and a.no == b.no and a.no <= b.no
    ]  # fmt: skip


VIEWS = (
    pairs, prices, returned, whether, which, bought_alike, states, so_far, last_before, first_before, in_a_window,
    lately, after_one, aged, aged_by_the_latest,
)  # fmt: skip


def order(i: int, at: int | None = None) -> dict[str, Any]:
    lines = [{"no": (i + k) % 5, "qty": k + 1} for k in range(3)]
    own = {"cust": i // 4, "at": 4 * i if at is None else at, "state": "abc"[i % 3]}
    return {"id": i, **own, "lines": lines, "back": [{"no": i % 5, "qty": 1}, {"no": (i + 4) % 5, "qty": 2}]}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders are kept however few rows there are."""
    for module, name in ((running, "WORTH"), (windows, "WORTH"), (windows, "TIMES")):
        monkeypatch.setattr(module, name, 0)


def measured(folder: Path, view: rn.View, size: int) -> tuple[dict[str, int], list[int]]:
    """How many rows each map has, and how many small batches read; all rows are right after each."""
    with rn.open(folder, engine="local", policy="incremental") as db:
        db.relation("Q", Order, key="id", keys={"lines": "no", "back": "no"})
        db.relation("P", Price, key="id")
        db.relation("K", Clock, key="id")
        db.load("K", [{"id": 1, "now": 60}])
        db.load("Q", [order(i) for i in range(size)])
        db.load("P", [{"id": i, "cust": i // 5, "no": i % 5, "price": i % 7} for i in range(5 * size // 4)])
        db.create(view)
        stored = {m.name: db._state.snapshot().size(m.name) for m in db._declared.plan().maps}
        read = []
        for write in (
            lambda b: b.upsert("Q", [order(6, at=21)]),
            lambda b: b.insert("Q", [order(1_001, at=23)]),
            lambda b: b.at("Q", id=8).back.upsert([{"no": 0, "qty": 9}]),
            lambda b: b.upsert("P", [{"id": 7, "cust": 1, "no": 2, "price": 90}]),
            lambda b: b.delete_key("Q", id=5),
            lambda b: b.at("K", id=1).set(now=66),
        ):
            with db.batch() as b:
                write(b)
            read.append(b.report.rows_read)
            assert db.verify(deep=True).ok
        return stored, read


@pytest.mark.usefixtures("at_once")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_what_belongs_together(tmp_path: Path, view: rn.View) -> None:
    """Without a warning, too."""
    few, read = measured(tmp_path / "few", view, FEW)
    more, later = measured(tmp_path / "more", view, MORE)
    assert not {name: (few[name], n) for name, n in more.items() if n > 1.5 * few[name] * MORE / FEW + 20}
    assert all(after <= before + 15 for before, after in zip(read, later, strict=True)), (read, later)
    assert sum(later) > 0
