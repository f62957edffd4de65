"""A row of an outer join that is not there is None: asked, shown, passed on and joined again, it is on each engine what
Python makes of the same comprehension."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import evolve
from pyspark.sql import SparkSession
from support.in_order import in_order
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.delta.compile import compile_view
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.types import EXISTS


@rn.record
class Item:
    line: int
    sku: str
    qty: int


@rn.record
class Where:
    city: str
    zip: int | None


@rn.record
class Order:
    id: int
    customer: int
    total: float | None
    where: Where
    back: Where | None
    items: Bag[Item]


@rn.record
class Customer:
    id: int
    name: str


@rn.record
class Paid:
    id: int
    order: int
    sku: str


Customers, Orders, Payments = Bag[Customer], Bag[Order], Bag[Paid]


def without(C: Customers, O: Orders, P: Payments) -> list[Any]:  # noqa: ARG001, E741
    """Who has none, and whose are nobody's."""
    return [
        {"id": c.id if o is None else o.id, "of": "customers" if o is None else "orders"}
        for c, o in rn.full_join(C, O, lambda c, o: c.id == o.customer)
        if c is None or not o
    ]


def passed_on(C: Customers, O: Orders, P: Payments) -> list[Any]:  # noqa: ARG001, E741
    return [{"name": c.name, "order": o} for c, o in rn.left_join(C, O, lambda c, o: c.id == o.customer)]


def sides(C: Customers, O: Orders, P: Payments) -> list[Any]:  # noqa: ARG001, E741
    """Rows that are None."""
    return [o for c, o in rn.left_join(C, O, lambda c, o: c.id == o.customer) if o is None or o.id != 3]


def asked(C: Customers, O: Orders, P: Payments) -> list[Any]:  # noqa: ARG001, E741
    return [
        {
            "is": o is not None,
            "bool": bool(o),
            "total": o.total if o else -1.0,
            "city": "-" if o is None else o.where.city,
            "zip": o.back.zip if o is not None and o.back else None,
            "back": o.back if o else None,
            "items": [i.sku for i in o.items] if o else [],
            "name": "-" if not c else c.name,
        }
        for o, c in rn.right_join(O, C, lambda o, c: c.id == o.customer and o.total is not None)
        if o is None or o.total != 2.5
    ]


def own(o: Order, P: Payments) -> list[Paid]:
    return [p for p in P if p.order == o.id]


def same(i: Item, p: Paid) -> bool:
    return i.sku == p.sku


def within(C: Customers, O: Orders, P: Payments) -> list[Any]:  # noqa: E741
    """In inner bags, of inner bags."""
    return [
        {
            "id": c.id,
            "orders": [
                {
                    "id": o.id,
                    "items": [
                        {"line": i.line, "paid": p, "open": p is None}
                        for i, p in rn.left_join(o.items, own(o, P), same)
                    ],
                    "lost": [p.id for i, p in rn.right_join(o.items, own(o, P), same) if i is None],
                }
                for o in O
                if o.customer == c.id
            ],
        }
        for c in C
    ]


def counted(C: Customers, O: Orders, P: Payments) -> list[Any]:  # noqa: ARG001, E741
    """Pairs as members of groups, by their places."""
    return [
        {
            "name": name,
            "orders": len([1 for _, o in ps if o is not None]),
            "all": all(p[1] is not None for p in ps),
            "none": any(o is None for _, o in ps),
            "pairs": ps,
            "last": [p[-1] for p in ps],
        }
        for name, ps in rn.group_by(
            rn.left_join(C, O, lambda c, o: c.id == o.customer and o.back is None), lambda p: p[0].name
        )
    ]


def again(C: Customers, O: Orders, P: Payments) -> list[Any]:  # noqa: E741
    """Joins of joins: a side that is a pair, and one that is there beside one that is not."""
    return [
        {"customer": c.id, "order": o.id if o else None, "paid": p, "is": (o is not None, p is not None)}
        for (c, o), p in rn.left_join(
            rn.left_join(C, O, lambda c, o: c.id == o.customer), P, lambda r, p: r[1] is not None and r[1].id == p.order
        )
    ]


def pairs(C: Customers, O: Orders, P: Payments) -> list[Any]:  # noqa: E741
    return [
        {"id": c.id, "pair": pair, "paid": pair[1].id if pair else None}
        for c, pair in rn.left_join(
            C, [(o.customer, p) for o in O for p in P if p.order == o.id], lambda c, pair: c.id == pair[0]
        )
    ]


WRITTEN = (without, passed_on, sides, asked, within, counted, again, pairs)
VIEWS = tuple(rn.view(f) for f in WRITTEN)
SKUS = "abc"
COUNTS: Counter[str] = Counter()


def an_order(random: Random, n: int) -> Order:
    place = Where(random.choice("xy"), random.choice((None, 7)))
    items = [Item(i, random.choice(SKUS), random.randrange(3)) for i in range(random.randrange(3))]
    total, back = random.choice((None, 1.0, 2.5)), random.choice((None, place))
    return Order(n, random.randrange(7), total, place, back, items)


def lives(db: rn.Database, seed: int, batches: int) -> None:
    """Rows come, change and go; each view is what Python makes of them."""
    random = Random(seed)
    customers: dict[int, Customer] = {}
    orders: dict[int, Order] = {}
    paid: dict[int, Paid] = {}
    db.relation("C", Customer, key="id")
    db.relation("O", Order, key="id", keys={"items": "line"})
    db.relation("P", Paid, key="id")
    for view in VIEWS:
        db.create(view)
    for _ in range(batches):
        with db.batch(policy="incremental") as b:
            relations: tuple[tuple[str, dict[int, Any], Callable[[int], Any]], ...] = (
                ("C", customers, lambda n: Customer(n, random.choice("mn"))),
                ("O", orders, lambda n: an_order(random, n)),
                ("P", paid, lambda n: Paid(n, random.randrange(6), random.choice(SKUS))),
            )
            for name, held, made in relations:
                gone = [n for n in held if random.random() < 0.3]
                new = {n: made(n) for n in range(6) if n not in gone and random.random() < 0.4}
                b.upsert(name, [*new.values()])
                b.discard_key(name, [{"id": n} for n in gone])
                held.update(new)
                for n in gone:
                    del held[n]
        if orders and random.random() < 0.5:
            n = random.choice([*orders])
            with db.batch(policy="incremental") as b:
                order = b.at("O", id=n)
                order.set(total=1.0)
                order.items.upsert([Item(9, "a", 1)])
            items = [*(i for i in orders[n].items if i.line != 9), Item(9, "a", 1)]
            orders[n] = evolve(orders[n], total=1.0, items=items)
        for f, view in zip(WRITTEN, VIEWS, strict=True):
            meant = f([*customers.values()], [*orders.values()], [*paid.values()])
            assert in_order(db.view(view.name).rows()) == in_order(meant), view.name
        COUNTS["none"] += sum(row["order"] is None for row in db.view("passed_on").rows())
        COUNTS["some"] += sum(row["order"] is not None for row in db.view("passed_on").rows())
    assert db.verify(deep=True).ok


@pytest.mark.parametrize("seed", range(many(3, 60)))
def test_here(folder: Path, seed: int) -> None:
    with rn.open(folder / "state", engine="local", policy="strict") as db:
        lives(db, seed, 12)


def test_on_spark(folder: Path, spark: SparkSession) -> None:
    with rn.open(folder / "state", spark=spark, engine="spark") as db:
        lives(db, 99, 2)
        shown = [row.asDict(recursive=True) for row in db.view("passed_on").nested().collect()]
        assert in_order(shown) == in_order(db.view("passed_on").rows())


def test_enough_was_met() -> None:
    assert min(COUNTS["none"], COUNTS["some"]) > 20, COUNTS


# ---------------------------------------------------------------- by hand


@rn.view
def alone(C: Bag[Customer], P: Bag[Paid]):
    return [{"id": c.id, "paid": p} for c, p in rn.left_join(C, P, lambda c, p: c.id == p.order)]


def test_who_gets_a_partner_is_read_alone(folder: Path) -> None:
    """By strict: of 500 customers the one whose order comes."""
    with rn.open(folder / "state", engine="local", policy="strict") as db:
        db.relation("C", Customer, key="id")
        db.relation("P", Paid, key="id")
        db.create(alone)
        with db.batch() as b:
            b.insert("C", [{"id": n, "name": "m"} for n in range(500)])
        with db.batch() as b:
            b.insert("P", [{"id": 1, "order": 7, "sku": "a"}])
        assert b.report.rows_read < 10
        paid = [row for row in db.view("alone").rows() if row["paid"]]
        assert paid == [{"id": 7, "paid": {"id": 1, "order": 7, "sku": "a"}}]
        with db.batch() as b:
            b.delete_key("P", id=1)
        assert all(row["paid"] is None for row in db.view("alone").rows())


def test_a_field_more_or_wider_is_no_other_join(folder: Path) -> None:
    """Who is not there has not the value that rows get, and stays None."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Customer, key="id")
        db.relation("P", Paid, key="id")
        db.create(alone)
        db.load("C", [{"id": n, "name": "m"} for n in range(2)])
        db.load("P", [{"id": 1, "order": 1, "sku": "a"}])
        db.relation("P").widen("sku", str | None)
        db.relation("P").rename("order", "of")
        db.relation("P").add("note", str, "-")
        with db.batch() as b:
            b.upsert("P", [{"id": 1, "of": 1, "sku": None, "note": "n"}])
        assert [row["paid"] is None for row in db.view("alone").rows()] == [True, False]
        assert db.verify(deep=True).ok


@pytest.mark.parametrize(("view", "is_there"), [(VIEWS[0], False), (VIEWS[1], True)])
def test_who_reads_fields_alone_keeps_nothing_else(view: rn.View, is_there: bool) -> None:
    """Whether a row is there is in no map of a view that passes none on."""
    maps = compile_view(view.query).program.maps
    assert any(EXISTS in show(m.term) for m in maps) is is_there
