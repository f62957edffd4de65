"""Flat tables to a nested view: customers with their orders with their items, the part's name looked up.

    python examples/orders.py

An order that comes before its customer waits for it; an order without items has an empty bag; an order that moves to
another customer takes its items along, and none of them is touched.
"""

import tempfile
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
    date: str


@rn.record
class Item:
    orderkey: int
    partkey: int
    qty: int


@rn.record
class Part:
    partkey: int
    name: str


@rn.view
def orders(C: Bag[Customer], O: Bag[Order], L: Bag[Item], P: Bag[Part]):  # noqa: E741
    return [
        {
            "customer": c.name,
            "orders": [
                {
                    "date": o.date,
                    "items": [
                        {"part": p.name, "qty": i.qty}
                        for i in L
                        for p in P
                        if i.orderkey == o.orderkey and p.partkey == i.partkey
                    ],
                }
                for o in O
                if o.custkey == c.custkey
            ],
        }
        for c in C
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as state, rn.open(state, engine="local") as db:
        db.relation("C", Customer, key="custkey")
        db.relation("O", Order, key="orderkey")
        db.relation("L", Item)
        db.relation("P", Part, key="partkey")
        db.load("C", [Customer(custkey=7, name="Ann")])
        moving = Order(orderkey=12, custkey=8, date="2024-05-02")
        db.load("O", [Order(orderkey=11, custkey=7, date="2024-05-01"), moving])
        db.load("L", [Item(orderkey=11, partkey=1, qty=2), Item(orderkey=12, partkey=2, qty=5)])
        db.load("P", [Part(partkey=1, name="bolt"), Part(partkey=2, name="nut")])
        view = db.create(orders)
        print("Order 12 waits for its customer:")
        show(view.rows())

        with db.batch() as b:
            b.insert("C", [Customer(custkey=8, name="Bob")])
            b.insert("O", [Order(orderkey=13, custkey=8, date="2024-05-03")])
        print("\nBob arrives, with an order that has no items:")
        show(view.rows(), b.report.rows_out)

        with db.batch() as b:
            b.insert("L", [Item(orderkey=13, partkey=1, qty=1)])
            b.upsert("P", [Part(partkey=2, name="wing nut")])
        print("\nAn item more, and a part renamed:")
        show(view.rows(), b.report.rows_out)

        with db.batch() as b:
            b.upsert("O", [Order(orderkey=12, custkey=7, date="2024-05-02")])
        print("\nOrder 12 moves to Ann:")
        show(view.rows(), b.report.rows_out)


def show(rows: list[Any], changed: Mapping[str, int] | None = None) -> None:
    for row in rows:
        print(f"  {row['customer']}")
        for order in row["orders"]:
            items = ", ".join(f"{item['qty']} {item['part']}" for item in order["items"])
            print(f"    {order['date']}: {items or '(no items)'}")
    if changed is not None:
        print("  changed rows:", ", ".join(f"{n} {table}" for table, n in changed.items()))


if __name__ == "__main__":
    main()
