"""Addresses that do nothing are errors: fields are not assigned, and what is chosen is changed or not chosen."""

from typing import Any

import pytest
from support.shop import item
from support.states import refused

from ripplenest import errors

SHOWN = ("fields are not assigned", "possible", "insert([...])")


def last(db: Any) -> int | None:
    return db._store.last_seq("s")


ASSIGNED = {
    "a base field": (lambda a: setattr(a, "name", "x"), ("C.name", 'upsert("C", [...])')),
    "an inner bag": (lambda a: setattr(a, "orders", []), ("C.orders", ".orders.delete([...])")),
    "a field that there is not": (lambda a: setattr(a, "nme", "x"), ("C.nme",)),
    "by brackets": (lambda a: a.__setitem__("name", "x"), ("C.name",)),
    "a base field of a row inside": (
        lambda a: setattr(a.orders.at(orderkey=11), "orderkey", 1),
        ("C.orders.orderkey", ".orders.delete([...])", ".orders.insert([...])"),
    ),
    "in brackets inside": (lambda a: a.orders.__setitem__("status", "x"), ("C.orders.status",)),
    "a bag inside": (lambda a: setattr(a.orders.at_all(orderkey=11), "items", []), ("C.orders.items",)),
    "an attribute of a bag": (lambda a: setattr(a.orders, "rows", []), ("C.orders.rows",)),
    "deleted": (lambda a: delattr(a, "orders"), ("C.orders",)),
    "deleted by brackets": (lambda a: a.orders.__delitem__("x"), ("C.orders.x",)),
}


@pytest.mark.parametrize("what", ASSIGNED)
def test_fields_are_not_assigned(db: Any, what: str) -> None:
    """At once, with the field and what is possible, whether or not the field can be."""
    assign, shown = ASSIGNED[what]
    with refused(db, errors.BatchMisuse, *SHOWN, *shown), db.batch("s", 1) as b:
        assign(b.at("C", custkey=7))
        pytest.fail("it was accepted")
    assert last(db) is None


def test_bags_are_not_added_to(db: Any) -> None:
    with refused(db, errors.BatchMisuse, "C.orders", *SHOWN[1:]), db.batch("s", 1) as b:
        b.at("C", custkey=7).orders += [item(1)]
    with refused(db, errors.BatchMisuse, "C.orders", *SHOWN[1:]), db.batch("s", 1) as b:
        found = b.at("C", custkey=7).orders
        found -= [item(1)]
    with refused(db, errors.BatchMisuse, "C.orders", *SHOWN[1:]), db.batch("s", 1) as b:
        b.at("C", custkey=7).orders([item(1)])
    with refused(db, errors.BatchMisuse, "C", *SHOWN[1:]), db.batch("s", 1) as b:
        b.at("C", custkey=7)([item(1)])
    assert last(db) is None


BARE = {
    "at": (lambda b: b.at("C", custkey=7), 'b.at("C", custkey=...)'),
    "at_all": (lambda b: b.at_all("C", name="Ann"), 'b.at_all("C", name=...)'),
    "a label": (lambda b: b.at("C", label=9), 'b.at("C", label=...)'),
    "a row of a bag": (
        lambda b: b.at("C", custkey=7).orders.at(orderkey=11),
        'b.at("C", custkey=...).orders.at(orderkey=...)',
    ),
    "another one is used": (
        lambda b: (b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(3)]), b.at("C", custkey=8)),
        'b.at("C", custkey=...)',
    ),
    "a row inside, of one that is used": (
        lambda b: (a := b.at("C", custkey=7), a.orders.insert([]), a.orders.at(orderkey=11)),
        'b.at("C", custkey=...).orders.at(orderkey=...)',
    ),
}


@pytest.mark.parametrize("what", BARE)
def test_what_is_chosen_is_changed(db: Any, what: str) -> None:
    """When the block ends, the batch is refused, and its seq is free; the fields are named, and not their values."""
    use, shown = BARE[what]
    what_for = ("nothing was done", shown, "insert([...])", "delete([...])")
    with refused(db, errors.BatchMisuse, *what_for), db.batch("s", 1) as b:
        use(b)
    assert last(db) is None
    with pytest.raises(errors.BatchMisuse, match="no report"):
        _ = b.report
    with db.batch("s", 1) as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(3)])
    assert b.report.applied


def test_an_error_of_the_block_comes_first(db: Any) -> None:
    with refused(db, errors.UnknownRelation), db.batch("s", 1) as b:
        b.at("C", custkey=7)
        b.insert("X", [])
    with pytest.raises(ZeroDivisionError), db.batch("s", 1) as b:
        b.at("C", custkey=7)
        _ = 1 / 0


def test_one_address_for_several_changes(db: Any) -> None:
    with db.batch("s", 1) as b:
        found = b.at("C", custkey=7).orders.at(orderkey=11)
        found.items.insert([item(3)])
        found["items"].insert([item(4)])
    assert b.report.rows_in["C.orders.items"] == 2


def test_bags_may_be_kept_and_not_changed(db: Any) -> None:
    """A program looks at several bags, and changes one of them."""
    with db.batch("s", 1) as b:
        bags = [b.at("C", custkey=key).orders for key in (7, 8)]
        boxes = [bags[0].at(orderkey=key).items for key in (11, 12)]
        boxes[1].insert([item(3)])
    assert b.report.rows_in == {"C.orders.items": 1}
