"""The views that are measured, over records like those of TPC-H (``data``)."""

import datetime
from collections.abc import Mapping
from typing import Any

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Customer:
    custkey: int
    name: str


@rn.record
class Order:
    orderkey: int
    custkey: int
    date: datetime.date


@rn.record
class Item:
    orderkey: int
    line: int
    partkey: int
    qty: int


@rn.record
class Part:
    partkey: int
    name: str
    price: int


@rn.record
class InnerItem:
    line: int
    partkey: int
    qty: int


@rn.record
class InnerOrder:
    orderkey: int
    date: datetime.date
    items: Bag[InnerItem]


@rn.record
class Document:
    custkey: int
    name: str
    orders: Bag[InnerOrder]


@rn.view
def f2(C: Bag[Customer], O: Bag[Order], L: Bag[Item]) -> list[Any]:  # noqa: E741
    """Customers with their orders with their items, of three flat relations."""
    return [
        {
            "name": c.name,
            "orders": [
                {
                    "date": o.date,
                    "items": [{"part": i.partkey, "qty": i.qty} for i in L if i.orderkey == o.orderkey],
                }
                for o in O
                if o.custkey == c.custkey
            ],
        }
        for c in C
    ]


@rn.view
def nested(D: Bag[Document], P: Bag[Part]) -> list[Any]:
    """The same nesting of a nested relation, each item with its part's name and price."""
    return [
        {
            "name": d.name,
            "orders": [
                {
                    "date": o.date,
                    "items": [
                        {"part": p.name, "qty": i.qty, "price": i.qty * p.price}
                        for i in o.items
                        for p in P
                        if p.partkey == i.partkey
                    ],
                }
                for o in d.orders
            ],
        }
        for d in D
    ]


@rn.view
def flat(C: Bag[Customer], O: Bag[Order], L: Bag[Item]) -> list[Any]:  # noqa: E741
    """The join of three flat relations, for who cannot nest."""
    return [
        {"name": c.name, "date": o.date, "part": i.partkey, "qty": i.qty}
        for c in C
        for o in O
        if o.custkey == c.custkey
        for i in L
        if i.orderkey == o.orderkey
    ]


LIKE_F2 = """
relation C : Bag(⟨custkey: long, name: string⟩) key custkey
relation O : Bag(⟨orderkey: long, custkey: long, date: date⟩) key orderkey
relation L : Bag(⟨orderkey: long, line: long, partkey: long, qty: long⟩) key orderkey, line
"""
ONE_LIKE_F2 = """
view without_{0} = [ {{name: c.name, orders: [ {{date: o.date, items:
  [ {{part: i.partkey, qty: i.qty}} | i in L, i.orderkey = o.orderkey, i.qty != {0} ]}}
  | o in O, o.custkey = c.custkey ]}} | c in C ]
"""


def like_f2(count: int) -> "Mapping[int, rn.TextView]":
    """``count`` views that differ in one constant, by it: the quantity whose items they leave out."""
    text = LIKE_F2 + "".join(ONE_LIKE_F2.format(quantity) for quantity in range(1, count + 1))
    return dict(enumerate(rn.parse(text, "views like f2").views, start=1))
