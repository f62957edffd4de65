"""Groups of rows that are joined, by a key that several of them make, whose rows are shown: a batch finds them by all
of the key, and creating them puts no row beside all others."""

import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from support.combinations import combinations
from support.in_order import in_order

import ripplenest as rn
from ripplenest import Bag, errors

SMALL, LARGE = 100, 900


@rn.record
class Leg:
    no: int
    start: str
    end: str


@rn.record
class Passenger:
    no: int
    seat: str


@rn.record
class Booking:
    id: int
    legs: Bag[Leg]
    people: Bag[Passenger]


@rn.record
class Stock:
    id: int
    sku: int
    place: str


@rn.record
class Line:
    no: int
    sku: int


@rn.record
class Order:
    id: int
    region: str
    lines: Bag[Line]


def seats(B: Bag[Booking]) -> list[Any]:
    """Of two inner bags of a row, of which one has few values."""
    rows = [{"k": leg.start, "seat": p.seat, "id": b.id} for b in B for leg in b.legs for p in b.people]
    return [{"k": k, "who": [x["id"] for x in xs]} for k, xs in rn.group_by(rows, lambda x: (x["k"], x["seat"]))]


def flights(B: Bag[Booking]) -> list[Any]:
    """And one part is computed."""
    rows = [{"k": leg.start + leg.end, "seat": p.seat, "id": b.id} for b in B for leg in b.legs for p in b.people]
    return [{"k": k, "who": [x["id"] for x in xs]} for k, xs in rn.group_by(rows, lambda x: (x["k"], x["seat"]))]


def sold(S: Bag[Stock], O: Bag[Order]) -> list[Any]:  # noqa: E741
    """Of the two ends of a join, by what is no key."""
    rows = [{"r": o.region, "at": s.place, "id": s.id} for o in O for n in o.lines for s in S if s.sku == n.sku]
    return [{"k": k, "stocks": [x["id"] for x in xs]} for k, xs in rn.group_by(rows, lambda x: (x["r"], x["at"]))]


def numbers(S: Bag[Stock], O: Bag[Order]) -> list[Any]:  # noqa: E741
    """By a sum of both, which can fail."""
    rows = [{"k": o.id * 10_000 + s.id, "id": s.id} for o in O for n in o.lines for s in S if s.sku == n.sku]
    return [{"k": k, "stocks": [x["id"] for x in xs]} for k, xs in rn.group_by(rows, lambda x: x["k"])]


def tens(O: Bag[Order]) -> list[Any]:  # noqa: E741
    """Windows of numbers of an inner bag, which the least numbers have none of."""
    rows = [{"n": n.sku, "id": o.id} for o in O for n in o.lines]
    return [{"k": k, "ids": [x["id"] for x in xs]} for k, xs in rn.group_by(rows, lambda x: rn.tumble(x["n"], 10))]


VIEWS = (seats, flights, sold, numbers, tens)


def booking(random: Random, n: int, id_: int) -> Booking:
    legs = [Leg(i, f"A{random.randrange(n // 8)}", f"A{random.randrange(n // 8)}") for i in range(2)]
    return Booking(id_, legs, [Passenger(i, random.choice("xyz")) for i in range(2)])


def an_order(random: Random, n: int, id_: int) -> Order:
    return Order(id_, f"r{random.randrange(n // 10)}", [Line(i, random.randrange(n)) for i in range(2)])


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_batches_read_what_they_find(folder, size: int) -> None:
    """As many at both sizes, and rows are those of Python."""
    random = Random(size)
    held: dict[str, dict[int, Any]] = {
        "B": {i: booking(random, size, i) for i in range(size)},
        "S": {i: Stock(i, random.randrange(size), random.choice("xyz")) for i in range(2 * size)},
        "O": {i: an_order(random, size, i) for i in range(size)},
    }
    make: dict[str, Callable[[int], Any]] = {
        "B": lambda i: booking(random, size, i),
        "S": lambda i: Stock(i, random.randrange(size), random.choice("xyz")),
        "O": lambda i: an_order(random, size, i),
    }
    with rn.open(folder / "state", engine="local") as db:
        db.relation("B", Booking, key="id", keys={"legs": "no", "people": "no"})
        db.relation("S", Stock, key="id")
        db.relation("O", Order, key="id", keys={"lines": "no"})
        for name, rows in held.items():
            db.load(name, [*rows.values()])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for f in VIEWS:
                db.create(rn.view(f))
        for i in range(6):
            name = "BSO"[i % 3]
            new, gone = make[name](10_000 + i), random.choice([*held[name]])
            with db.batch(policy="strict") as b:
                b.insert(name, [new])
                b.delete_key(name, id=gone)
            del held[name][gone]
            held[name][new.id] = new
            assert b.report.rows_read < 150, (name, b.report)
            for f in VIEWS if size == SMALL else ():  # plain Python joins each with each
                parts = [[*held[p].values()] for p in f.__annotations__ if p in held]
                assert in_order(db.view(f.__name__).rows()) == in_order(f(*parts)), f.__name__
        assert db.verify(deep=size == SMALL).ok


def test_creating_puts_no_row_beside_all_others(folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Combinations are counted, of any step."""
    random, made = Random(3), combinations(monkeypatch)
    with rn.open(folder / "state", engine="local") as db:
        db.relation("B", Booking, key="id", keys={"legs": "no", "people": "no"})
        db.relation("S", Stock, key="id")
        db.relation("O", Order, key="id", keys={"lines": "no"})
        db.load("B", [booking(random, LARGE, i) for i in range(LARGE)])
        db.load("S", [Stock(i, random.randrange(LARGE), random.choice("xyz")) for i in range(2 * LARGE)])
        db.load("O", [an_order(random, LARGE, i) for i in range(LARGE)])
        for f in VIEWS:
            db.create(rn.view(f))
    assert max(made) <= 10 * LARGE


def test_what_joined_rows_have_no_value_of_fails_as_ever(folder) -> None:
    """A sum that is beyond 64 bits, of rows that meet: of others nobody asks."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("S", Stock, key="id")
        db.relation("O", Order, key="id", keys={"lines": "no"})
        db.create(rn.view(numbers))
        with db.batch() as b:
            b.insert("O", [Order(2**62, "r", [Line(1, 1)])])
            b.insert("S", [Stock(1, 2, "x")])
        assert db.view("numbers").rows() == []
        with pytest.raises(errors.EvaluationError), db.batch() as b:
            b.insert("S", [Stock(2, 1, "x")])
        assert db.verify(deep=True).ok
