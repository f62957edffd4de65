"""Deep updates: rows come into and go out of bags inside of bags, and the view changes by just as much.

    python examples/deep.py

The input is nested: customers with their orders with their items, keyed by customer. A deep update names a bag by the
fields of its owners on the way down. What cannot be done is an error that says why, and changes nothing.
"""

import tempfile
from typing import Any

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Item:
    part: str
    qty: int
    tags: Bag[str]


@rn.record
class Order:
    orderkey: int
    items: Bag[Item]


@rn.record
class Customer:
    custkey: int
    name: str
    orders: Bag[Order]


@rn.view
def bulk(Customers: Bag[Customer]):
    """Customers with their orders with the items of which there are more than one."""
    return [
        {
            "name": c.name,
            "orders": [
                {
                    "order": o.orderkey,
                    "bulk": [{"part": i.part, "qty": i.qty, "tags": i.tags} for i in o.items if i.qty > 1],
                }
                for o in c.orders
            ],
        }
        for c in Customers
    ]


@rn.view
def tags(Customers: Bag[Customer]):
    """Who has ordered what with which tag: the nested input made flat."""
    return [{"name": c.name, "tag": t} for c in Customers for o in c.orders for i in o.items for t in i.tags]


ANN = {
    "custkey": 7,
    "name": "Ann",
    "orders": [
        {"orderkey": 11, "items": [{"part": "bolt", "qty": 2, "tags": ["steel"]}]},
        {"orderkey": 12, "items": []},
    ],
}


def main() -> None:
    with tempfile.TemporaryDirectory() as state, rn.open(state, engine="local") as db:
        db.relation("Customers", Customer, key="custkey")
        db.load("Customers", [ANN])
        db.create(bulk)
        db.create(tags)
        show("Loaded", db)

        with db.batch() as b:
            b.at("Customers", custkey=7).orders.at(orderkey=12).items.insert(
                [{"part": "nut", "qty": 5, "tags": ["brass", "small"]}, {"part": "saw", "qty": 1, "tags": []}]
            )
        show("Two items come into order 12", db)

        with db.batch() as b:
            order = b.at("Customers", custkey=7).orders.at(orderkey=12)
            order.items.at(part="nut").tags.insert(["cheap"])
            b.at("Customers", custkey=7).orders.at(orderkey=11).items.at(part="bolt").tags.delete(["steel"])
        show("One tag comes, another goes", db)

        with db.batch() as b:
            order_11 = {"orderkey": 11, "items": [{"part": "bolt", "qty": 2, "tags": []}]}
            b.at("Customers", custkey=7).orders.delete([order_11])
        show("Order 11 goes, with all that is in it", db)

        try:
            with db.batch() as b:
                saw = {"part": "saw", "qty": 1, "tags": []}
                b.at("Customers", custkey=7).orders.at(orderkey=99).items.insert([saw])
        except rn.RipplenestError as error:
            print(f"\n{type(error).__name__}: {error}")


def show(title: str, db: rn.Database) -> None:
    print(f"{title}:" if db.report is None else f"\n{title}:")
    for customer in rows(db, "bulk"):
        for order in customer["orders"]:
            found = ", ".join(f"{i['qty']} {i['part']} {i['tags']}" for i in order["bulk"])
            print(f"  {customer['name']}, order {order['order']}: {found or 'nothing in bulk'}")
    print(f"  tags: {', '.join(row['tag'] for row in rows(db, 'tags')) or 'none'}")
    if db.report is not None:
        print(f"  rows in: {sum(db.report.rows_in.values())}, rows out: {sum(db.report.rows_out.values())}")


def rows(db: rn.Database, view: str) -> list[Any]:
    return db.view(view).rows()


if __name__ == "__main__":
    main()
