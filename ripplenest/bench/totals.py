"""The views with totals that are measured: nested TPC-H of two levels, nested to nested and nested to flat, as TraNCE
has it (Smith et al., Scalable Querying of Nested Data, PVLDB 14, section 6), two queries of MRQL (Fegaras,
Incremental Query Processing on Big Data Streams, section 13), and the triangles of a graph."""

from typing import Any

import ripplenest as rn
from ripplenest import Bag
from ripplenest.bench.views import Document, InnerItem, Part


@rn.record
class Pair:
    id: int
    x: int
    y: int


@rn.view
def priced(items: Bag[InnerItem], P: Bag[Part]) -> list[Any]:
    """Items with the name and the price of their part."""
    return [
        {"part": p.name, "qty": i.qty, "price": p.price}
        for i in items
        for p in P
        if p.partkey == i.partkey
    ]


@rn.view
def nn2(D: Bag[Document], P: Bag[Part]) -> list[Any]:
    """Customers with their orders, and of each order what it comes to by part."""
    return [
        {
            "name": d.name,
            "orders": [
                {
                    "date": o.date,
                    "parts": [
                        {"part": part, "worth": sum(i["qty"] * i["price"] for i in items)}
                        for part, items in rn.group_by(priced(o.items, P), lambda i: i["part"])
                    ],
                }
                for o in d.orders
            ],
        }
        for d in D
    ]


@rn.view
def bought(D: Bag[Document], P: Bag[Part]) -> list[Any]:
    """Every item with the name of its customer."""
    return [
        {"name": d.name, "part": i["part"], "qty": i["qty"], "price": i["price"]}
        for d in D
        for o in d.orders
        for i in priced(o.items, P)
    ]


@rn.view
def nf2(D: Bag[Document], P: Bag[Part]) -> list[Any]:
    """What each customer's items come to by part."""
    return [
        {"name": key["name"], "part": key["part"], "worth": sum(i["qty"] * i["price"] for i in items)}
        for key, items in rn.group_by(bought(D, P), lambda i: {"name": i["name"], "part": i["part"]})
    ]


@rn.record
class Edge:
    x: int
    y: int


@rn.view
def triangles(E: Bag[Edge]) -> list[Any]:
    """How many triangles x → y → z, x → z a graph has."""
    return [{"n": len([1 for a in E for b in E if b.x == a.y for c in E if c.x == a.x and c.y == b.y])}]


@rn.view
def groupby(S: Bag[Pair]) -> list[Any]:
    """select (x, avg(y)) from (x, y) in S group by x"""
    return [{"x": x, "mean": rn.avg(s.y for s in rows)} for x, rows in rn.group_by(S, lambda s: s.x)]


@rn.view
def joingroup(X: Bag[Pair], Y: Bag[Pair]) -> list[Any]:
    """select (x.x, avg(y.y)) from x in X, y in Y where x.y = y.x group by x.x"""
    return [
        {"x": key, "mean": rn.avg(r["y"] for r in rows)}
        for key, rows in rn.group_by(
            [{"x": x.x, "y": y.y} for x in X for y in Y if x.y == y.x], lambda r: r["x"]
        )
    ]
