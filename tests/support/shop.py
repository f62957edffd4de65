"""Records and views that the tests of the public API share: customers, orders and items, and films without a key."""

from typing import Any

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Item:
    part: int
    qty: int
    tags: Bag[str]


@rn.record
class Order:
    orderkey: int
    items: Bag[Item]


@rn.record
class Customer:
    custkey: int
    name: str | None
    orders: Bag[Order] | None


@rn.record
class Movie:
    name: str
    gen: str | None
    dir: str | None


@rn.view
def customers(C: Bag[Customer]):
    return C


@rn.view
def movies(M: Bag[Movie]):
    return M


@rn.view
def parts(C: Bag[Customer]):
    """Key-bound inner bags two levels deep, beside an input bag that is passed on."""
    return [
        {
            "n": c.name,
            "big": [{"o": o.orderkey, "its": [i for i in o.items if i.qty > 1]} for o in c.orders],
            "all": c.orders,
        }
        for c in C
    ]


@rn.view
def tags(C: Bag[Customer]):
    return [{"n": c.name, "p": i.part, "t": t} for c in C for o in c.orders for i in o.items for t in i.tags]


@rn.view
def related(M: Bag[Movie]):
    return [
        {"name": m.name, "related": [m2.name for m2 in M if m2.name != m.name and (m2.gen == m.gen or m2.dir == m.dir)]}
        for m in M
    ]


@rn.view
def liked(C: Bag[Customer], M: Bag[Movie]):
    """Two relations, and inner bags over all labels of one of them."""
    return [{"c": c.name, "films": [m for m in M if m.gen == c.name], "orders": c.orders} for c in C]


@rn.view
def best(C: Bag[Customer]):
    """Totals, extremes and first rows, at two depths, shown in an order at each."""
    return rn.sorted(
        [
            {
                "key": c.custkey,
                "most": max(i.qty for o in c.orders for i in o.items),
                "total": sum(i.qty for o in c.orders for i in o.items),
                "first": rn.top(2, [{"p": i.part, "q": i.qty} for o in c.orders for i in o.items], key=lambda i: i.q),
                "orders": rn.sorted(
                    [{"o": o.orderkey, "least": min(i.part for i in o.items)} for o in c.orders],
                    key=lambda o: (o.least, o.o),
                    desc=(True, False),
                ),
            }
            for c in C
        ],
        key=lambda c: c.key,
        desc=True,
    )


VIEWS = (customers, movies, parts, tags, related, liked)


def item(part: int, qty: int = 2, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"part": part, "qty": qty, "tags": list(tags)}


def order(orderkey: int, *items: dict[str, Any]) -> dict[str, Any]:
    return {"orderkey": orderkey, "items": list(items)}


def customer(custkey: int, name: str | None = "Ann", orders: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"custkey": custkey, "name": name, "orders": orders}


def movie(name: str, gen: str | None = "Drama", dir: str | None = None) -> dict[str, Any]:
    return {"name": name, "gen": gen, "dir": dir}


ANN = customer(7, "Ann", [order(11, item(1, 2, ("a",)), item(2, 1)), order(12)])
BOB = customer(8, None)
FILMS = [movie("Drive", "Drama", "Refn"), movie("Skyfall", "Action", "Mendes"), movie("Rush", "Action", "Howard")]


def opened(path: Any, **options: Any) -> rn.Database:
    """The shop's database: customers by key, films without one; nothing loaded."""
    db = rn.open(path, **{"engine": "local", **options})
    db.relation("C", Customer, key="custkey")
    db.relation("M", Movie)
    return db
