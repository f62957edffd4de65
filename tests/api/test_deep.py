"""Deep updates: which bag an address means, at every depth, and what the batch around it does to it."""

import copy
import re

import pytest
from support.shop import ANN, BOB, FILMS, VIEWS, customer, item, opened, order, parts
from support.states import recomputed, refused

import ripplenest as rn
from ripplenest import Bag, errors

ALL = {view.name: view for view in VIEWS}


def check(db, *rows):
    recomputed(db, ALL, {"C": list(rows), "M": FILMS})


def test_every_depth(db):
    with db.batch() as b:
        ann = b.at("C", custkey=7)
        ann.orders.insert([order(13, item(1, 9, ("q",)))])
        ann.orders.at(orderkey=12).items.insert([item(5, 5, ("x", "x")), item(5, 5, ("x", "x"))])
        ann["orders"].at(orderkey=11)["items"].at(part=1).tags.insert(["b", "b"])
        ann.orders.at(orderkey=11).items.delete([item(2, 1)])
    assert b.report.rows_in == {"C.orders": 1, "C.orders.items": 3 + 1, "C.orders.items.tags": 4}
    first = order(11, item(1, 2, ("a", "b", "b")))
    second = order(12, item(5, 5, ("x", "x")), item(5, 5, ("x", "x")))
    third = order(13, item(1, 9, ("q",)))
    check(db, customer(7, "Ann", [first, second, third]), BOB)
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=12).items.delete([item(5, 5, ("x", "x"))])
        b.at("C", custkey=7).orders.delete([third])
        b.at("C", custkey=7).orders.at(orderkey=11).items.at(part=1).tags.delete(["b"])
    check(db, customer(7, "Ann", [order(11, item(1, 2, ("b", "a"))), order(12, item(5, 5, ("x", "x")))]), BOB)


def test_nothing_but_the_bag_is_read_and_written(tmp_path):
    """The size of the change: as much is read and written for one order among 2 as among 2000."""
    reports = []
    for size in (2, 2000):
        with opened(tmp_path / str(size)) as db:
            db.load("C", [customer(i, "n", [order(i, item(1))]) for i in range(size)])
            db.create(parts)
            with db.batch() as b:
                b.at("C", custkey=1).orders.at(orderkey=1).items.insert([item(2)])
            reports.append((b.report.rows_in, b.report.rows_out, b.report.rows_read))
    assert reports[0] == reports[1]


def test_one_of_two_equal_rows_changes_and_the_other_goes(db):
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=12).items.insert([item(1, 2, ("a",))] * 2)
    with refused(db, errors.Ambiguous, "C.orders.items", "2 rows", "at_all"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=12).items.at(part=1).tags.insert(["b"])
    with db.batch() as b:
        box = b.at("C", custkey=7).orders.at(orderkey=12).items
        box.delete([item(1, 2, ("a",))])
        box.at(part=1).tags.insert(["b"])
        box.insert([item(1, 2, ("a",))])
    check(db, customer(7, "Ann", [ANN["orders"][0], order(12, item(1, 2, ("a",)), item(1, 2, ("a", "b")))]), BOB)
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=12).items.delete([item(1, 2, ("b", "a"))])
    check(db, customer(7, "Ann", [ANN["orders"][0], order(12, item(1, 2, ("a",)))]), BOB)
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=12).items.at_all(part=1).tags.delete(["a"])
    check(db, customer(7, "Ann", [ANN["orders"][0], order(12, item(1, 2))]), BOB)


def test_all_that_match(db):
    with db.batch() as b:
        b.insert("C", [customer(9, "Ann", [order(11, item(1)), order(11, item(1))])])
        b.at_all("C", name="Ann").orders.at_all(orderkey=11).items.at_all(qty=2).tags.insert(["n"])
    rows = [
        customer(7, "Ann", [order(11, item(1, 2, ("a", "n")), item(2, 1)), order(12)]),
        customer(9, "Ann", [order(11, item(1, 2, ("n",))), order(11, item(1, 2, ("n",)))]),
    ]
    check(db, *rows, BOB)


def test_addresses_that_are_no_key(db):
    """By any base fields, NULL among them; the second such batch finds an access key."""
    db.relation("D", _Rated)
    nan = float("nan")
    with db.batch() as b:
        b.insert("D", [_rated(x, y) for x in (nan, None, 0.0) for y in (1, 2)])
    for tag in "abc":
        with db.batch() as b:
            b.at("D", x=nan, y=2).tags.insert([tag])
            b.at("D", x=None, y=1).tags.insert([tag])
            b.at("D", y=2, x=-0.0).tags.insert([tag])
            b.at("C", name="Ann").orders.at(orderkey=12).items.insert([item(ord(tag))])
            b.at("C", name="Ann", custkey=7).orders.at(orderkey=12).items.at(qty=2, part=ord(tag)).tags.insert([tag])
    with db.batch() as b:
        b.delete("D", [_rated(nan, 2, "cab"), _rated(None, 1, "abc"), _rated(0.0, 2, "abc")])
    check(db, customer(7, "Ann", [ANN["orders"][0], order(12, *(item(ord(t), 2, (t,)) for t in "abc"))]), BOB)
    assert (0, 1) in db._store.tables()["D"].indexes


@rn.record
class _Rated:
    x: float | None
    y: int
    tags: Bag[str]


def _rated(x, y, tags=""):
    return {"x": x, "y": y, "tags": list(tags)}


def test_emptied_and_filled_again(db):
    for verb in ("delete", "insert", "delete", "insert"):
        with db.batch() as b:
            getattr(b.at("C", custkey=7).orders, verb)(ANN["orders"])
            getattr(b, verb)("M", FILMS)
        if verb == "delete":
            recomputed(db, ALL, {"C": [customer(7, "Ann", []), BOB], "M": []})
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.at(part=1).tags.delete(["a"])
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.at(part=1).tags.insert(["a"])
    check(db, ANN, BOB)


def test_null_empty_and_missing_are_three_things(db):
    with db.batch() as b:
        b.insert("C", [customer(1, "x", []), customer(2, "x", None)])
    check(db, ANN, BOB, customer(1, "x", []), customer(2, "x", None))
    with refused(db, errors.RowNotThere, "this key and other contents"), db.batch() as b:
        b.delete("C", [customer(1, "x", None)])
    with refused(db, errors.UnknownLabel, "operation 0 (insert C.orders): C.orders", "is NULL"), db.batch() as b:
        b.at("C", custkey=2).orders.insert([order(1)])
    with db.batch() as b:
        b.at("C", custkey=1).orders.insert([])
        b.upsert("C", [customer(2, "x", [])])
        b.at("C", custkey=2).orders.insert([order(1)])
    check(db, ANN, BOB, customer(1, "x", []), customer(2, "x", [order(1)]))
    with db.batch() as b:
        b.delete("C", [customer(1, "x", [])])
        b.upsert("C", [customer(2, "x", None)])
    check(db, ANN, BOB, customer(2, "x", None))


@rn.record
class Line:
    n: int
    qty: int


@rn.record
class Sale:
    id: int
    status: str
    lines: Bag[Line] | None


@rn.record
class Shop:
    id: int
    land: str
    sales: Bag[Sale] | None


def test_of_many_rows_those_with_null_hold_none(folder):
    """A bag that is NULL has no rows to be set, or to be discarded; who addresses it alone is told what makes it a bag.
    """
    with rn.open(folder / "state", engine="local") as db:
        db.relation("S", Shop, key="id", keys={"sales": "id", "sales.lines": "n"})
        sales = [Sale(1, "open", None), Sale(2, "open", [Line(1, 1)])]
        db.load("S", [Shop(1, "DE", None), Shop(2, "DE", sales), Shop(3, "FR", [])])
        each = rn.each([{"shop": n, "id": 1} for n in (1, 3)])
        with db.batch() as b:
            b.at_all("S", land="DE").sales.at_all(status="open").lines.at_all(n=1).set(qty=7)
            b.at_all("S", land="DE").sales.at_all(id=1).set(status="done")
            b.at("S", id=1).sales.discard_key(id=1)
            b.at("S", id=each.shop).sales.discard_key(each)
        for told in ("an upsert of the row of S that holds it, with the bag: `b.upsert('S', [...])`", "is NULL"):
            with pytest.raises(errors.UnknownLabel, match=re.escape(told)), db.batch() as b:
                b.at("S", id=1).sales.at(id=1).set(status="x")
        with pytest.raises(errors.UnknownLabel, match=r"of the row of S\.sales that holds it"), db.batch() as b:
            b.at_all("S", land="DE").sales.at_all(id=1).lines.insert([Line(9, 9)])
        held = [{"id": 1, "status": "done", "lines": None}, {"id": 2, "status": "open", "lines": [{"n": 1, "qty": 7}]}]
        assert [row["sales"] for row in db.relation("S").rows()] == [None, held, []]


# ---------------------------------------------------------------- with the owner, in one batch


def test_an_owner_of_the_same_batch(db):
    with db.batch() as b:
        b.insert("C", [customer(1, "x", [])])
        b.at("C", custkey=1).orders.insert([order(1)])
        b.at("C", custkey=1).orders.at(orderkey=1).items.insert([item(1), item(1)])
        b.at("C", custkey=1).orders.at(orderkey=1).items.delete([item(1)])
    check(db, ANN, BOB, customer(1, "x", [order(1, item(1))]))


def test_an_owner_deleted_after_its_bags_were_changed(db):
    changed = copy.deepcopy(ANN)
    changed["orders"][1]["items"] = [item(5)]
    with db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=12).items.insert([item(5)])
        b.delete("C", [changed])
    check(db, BOB)
    assert not any(db._store.snapshot().scan(t).counts() for t in ("C.orders", "C.orders.items", "C.orders.items.tags"))


def test_an_owner_deleted_before(db):
    with refused(db, errors.UnknownKey, "operation 1 (insert C.orders)", "custkey"), db.batch() as b:
        b.delete("C", [ANN])
        b.at("C", custkey=7).orders.insert([order(1)])
    with refused(db, errors.UnknownLabel, "operation 1", "no row holds this label"), db.batch() as b:
        label = next(r[2] for r in db._store.snapshot().scan("C").counts() if r[0] == 7)
        b.delete("C", [ANN])
        b.at("C", label=label).orders.insert([order(1)])


def test_the_same_bag_twice(db):
    with db.batch() as b:
        for _ in range(2):
            b.at("C", custkey=7).orders.insert([order(1)])
            b.at("C", label=_label(db, "C", 7)).orders.insert([order(2)])
        b.at("C", custkey=7).orders.delete([order(1)])
    check(db, customer(7, "Ann", [*ANN["orders"], order(1), order(2), order(2)]), BOB)


def test_a_retry_of_a_deep_update(db):
    """The same address, verb and rows, or it is another batch."""
    label = _label(db, "C", 7)
    same = [lambda b: b.at("C", custkey=7).orders.insert([order(1), order(2)])] * 2
    same.append(lambda b: b.at("C", custkey=7).orders.insert([order(2), order(1)]))
    other = (
        lambda b: b.at("C", custkey=7).orders.insert([order(1)]),
        lambda b: b.at("C", custkey=8).orders.insert([order(1), order(2)]),
        lambda b: b.at("C", name="Ann").orders.insert([order(1), order(2)]),
        lambda b: b.at_all("C", custkey=7).orders.insert([order(1), order(2)]),
        lambda b: b.at("C", label=label).orders.insert([order(1), order(2)]),
        lambda b: b.at("C", custkey=7).orders.delete([order(1), order(2)]),
        lambda b: b.insert("M", []),
    )
    for change in same:
        with db.batch("s", 1) as b:
            change(b)
    for change in other:
        with refused(db, errors.BatchConflict, "batch s:1", "other content"), db.batch("s", 1) as b:
            change(b)
    check(db, customer(7, "Ann", [*ANN["orders"], order(1), order(2)]), BOB)


# ---------------------------------------------------------------- by label


def _label(db, part, key):
    """The id of the inner bag of the row of ``part`` whose first value after its own bag's id is ``key``."""
    own = part != "C"
    return next(row[-1] for row in db._store.snapshot().scan(part).counts() if row[own] == key)


class _Row:
    """As a Spark row looks."""

    def __init__(self, **fields):
        self._fields = fields

    def asDict(self):
        return self._fields


def test_by_label(db):
    top, inner = _label(db, "C", 7), _label(db, "C.orders", 12)
    of_several = _Row(**{"site": "C.orders.items", "x.id": None, "C.orders.items.id": inner})
    for label in (inner, {"id": inner}, _Row(id=inner), of_several):
        with db.batch() as b:
            b.at("C", label=label).orders.items.insert([item(3)])
    with db.batch() as b:
        b.at("C", label=inner)["orders"]["items"].delete([item(3)] * 3)
        b.at("C", label=top).orders.delete([order(11, item(1, 2, ("a",)), item(2, 1))])
    check(db, customer(7, "Ann", [order(12, item(3))]), BOB)


def test_labels_that_are_not(db):
    top, inner = _label(db, "C", 7), _label(db, "C.orders", 12)
    for label in (12, inner):
        with refused(db, errors.UnknownLabel, "operation 0 (insert C.orders)", "no row holds"), db.batch() as b:
            b.at("C", label=label).orders.insert([order(1)])
    with refused(db, errors.UnknownLabel, "operation 0 (delete C.orders.items)", "no row holds"), db.batch() as b:
        b.at("C", label=top).orders.items.delete([item(1)])
    for label in (None, "7", {"x": 1}, _Row(site="C.orders")):
        with refused(db, errors.UnknownLabel, "C: not a label", "C.orders(custkey: long)"), db.batch() as b:
            b.at("C", label=label)
    with refused(db, errors.TypeMismatch, "C: either a label or fields"), db.batch() as b:
        b.at("C", label=top, custkey=7)
    with refused(db, errors.TypeMismatch, "C.orders: a label names the bag itself"), db.batch() as b:
        b.at("C", label=top).orders.at(orderkey=11)


# ---------------------------------------------------------------- addresses that cannot be


def test_addresses_that_fit_nothing(db):
    with db.batch() as b:
        ann = b.at("C", custkey=7)
        one = ann.orders.at(orderkey=11)
        bad = [{"orderkey": 1, "items": [{"part": 1, "qty": 2}]}]
        for error, shown, use in [
            (errors.UnknownRelation, ("X", "possible C, M"), lambda: b.at("X", a=1)),
            (errors.UnknownKey, ("C: at() needs", "custkey"), lambda: b.at("C")),
            (errors.UnknownName, ("C: rows are addressed", "nokey", "custkey, name"), lambda: b.at("C", nokey=1)),
            (errors.UnknownName, ("C: rows are addressed", "orders"), lambda: b.at("C", orders=[])),
            (errors.WrongValue, ("C.custkey", "long", "str"), lambda: b.at("C", custkey="7")),
            (errors.UnknownName, ("C: there is no such field", "order\n", "custkey, name, orders"), lambda: ann.order),
            (errors.UnknownName, ("C: rows that", "insert\n", 'b.upsert("C", [...])'), lambda: ann.insert([])),
            (errors.UnknownName, ("rows that", 'custkey=...).orders.delete([...])'), lambda: one.delete([])),
            (errors.TypeMismatch, ("C.name", "a bag", 'b.at("C", custkey=...).set(name=...)'), lambda: ann.name),
            (errors.UnknownName, ("without bags", "orders\n", "orders.insert([...])"), lambda: ann.set(orders=[])),
            (errors.UnknownName, ("C.orders: a bag has rows to choose", "at_all"), lambda: ann.orders.items),
            (errors.UnknownName, ("C.orders", "items", "orderkey"), lambda: ann.orders.at(items=1)),
            (errors.WrongColumns, ("insert C.orders: rows[0].items[0]", "tags"), lambda: ann.orders.insert(bad)),
            (errors.WrongValue, ("delete C.orders: rows", "not a coll"), lambda: ann.orders.delete(order(1))),
        ]:
            with refused(db, error, *shown):
                use()
    with refused(db, errors.UnknownKey, "operation 0 (insert C.orders): C: no row has this custkey"), db.batch() as b:
        b.at("C", custkey=99).orders.insert([order(1)])
    with refused(db, errors.UnknownKey, "operation 0 (insert C.orders.items): C.orders", "orderkey"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=99).items.insert([item(1)])
    with refused(db, errors.UnknownKey, "C.orders.items: no row"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.at(part=1, qty=99).tags.insert(["a"])
    with refused(db, errors.UnknownKey, "C: no row has this custkey, name"), db.batch() as b:
        b.at("C", custkey=7, name="Bob").orders.insert([order(1)])
    with db.batch() as b:
        b.at_all("C", name="nobody").orders.insert([order(1)])
    assert b.report.rows_in == {}
    with refused(db, errors.Ambiguous, "C: several rows", "2 rows", "at_all(name=...)"), db.batch() as b:
        b.insert("C", [customer(1, "Ann", [])])
        b.at("C", name="Ann").orders.insert([order(1)])
    with db.batch() as b:
        b.at("C", custkey=7).orders.insert([order(13)])
    check(db, customer(7, "Ann", [*ANN["orders"], order(13)]), BOB)


def test_deletes_of_inner_rows_that_are_not_there(db):
    for rows, shown in [
        ([order(99)], ("rows[0]", "no such row")),
        ([order(12), order(12)], ("rows[1]", "fewer such rows")),
        ([order(12), order(11, item(1, 2, ("b",)), item(2, 1))], ("rows[1]", "only rows with other inner bags")),
    ]:
        with refused(db, errors.RowNotThere, "operation 0 (delete C.orders): ", *shown), db.batch() as b:
            b.at("C", custkey=7).orders.delete(rows)
    with refused(db, errors.RowNotThere), db.batch() as b:  # another owner's
        b.insert("C", [customer(1, "x", [order(1)])])
        b.at("C", custkey=7).orders.delete([order(1)])


# ---------------------------------------------------------------- records of odd shapes


@rn.record
class Leaf:
    insert: Bag[str]
    at: Bag[int]


@rn.record
class Box:
    label: str
    n: int
    inner: Leaf
    delete: Bag[Leaf]
    grid: Bag[Bag[str]]
    row: Bag[str] | None


@rn.view
def boxes(B: Bag[Box]):
    return [
        {
            "label": b.label,
            "words": [w for w in b.inner.insert],  # noqa: C416
            "leaves": [leaf.at for leaf in b.delete],
            "cells": [c for line in b.grid for c in line],
            "all": b,
        }
        for b in B
    ]


def box(label, words=(), leaves=(), grid=(), row=None):
    leaf = {"insert": list(words), "at": []}
    return {"label": label, "n": 1, "inner": leaf, "delete": list(leaves), "grid": list(grid), "row": row}


def test_odd_shapes(tmp_path):
    """Fields named like methods and arguments, bags in nested records, bags of base values and bags of bags."""
    with rn.open(tmp_path, engine="local") as db:
        db.relation("B", Box)
        db.create(boxes)
        leaf = {"insert": ["i"], "at": [1]}
        with db.batch() as b:
            b.insert("B", [box("x", ["w"], [leaf], [["a", "b"], []], []), box("y")])
        with db.batch() as b:
            b.at("B", label="x").inner.insert.insert(["v"])
            b.at("B", label="x")["inner"]["at"].insert([3])
            b.at("B", label="x", n=1).delete.insert([leaf, leaf])
            b.at("B", label="x").grid.insert([["c"], ["a", "b"], []])
            b.at("B", label="x").grid.delete([["b", "a"], []])
            b.at("B", label="x").row.insert(["r"])
        want = box("x", ["w", "v"], [leaf, leaf, leaf], [["a", "b"], ["c"], []], ["r"])
        want["inner"]["at"] = [3]
        assert db.view("boxes").rows() == boxes([want, box("y")])
        below = {row[-1] for row in db._store.snapshot().scan("B.delete").counts()}
        with db.batch() as b:
            for label in below:
                b.at("B", label={"id": label}).delete["at"].insert([2])
        want["delete"] = [{"insert": ["i"], "at": [1, 2]}] * 3
        assert db.view("boxes").rows() == boxes([want, box("y")])
        with refused(db, errors.UnknownLabel, "B.row", "NULL"), db.batch() as b:
            b.at("B", label="y").row.insert(["r"])
        with db.batch() as b:
            b.delete("B", [want])
        assert db.view("boxes").rows() == boxes([box("y")])


NAMES = [("c0", "w", "tag"), ("row", "label", "_multiplicity"), ("A", "a", "aA"), ("key", "id", "site")]


@pytest.mark.parametrize("names", NAMES)
def test_hostile_field_names(tmp_path, names):
    """Names of our physical columns, and names that differ in case only."""
    first, second, third = names
    line = rn.record(type("Line", (), {"__annotations__": {first: int, second: str}}))
    row = rn.record(type("Row", (), {"__annotations__": {first: int, second: str, third: Bag[line]}}))

    @rn.view
    def everything(R: Bag[row]):
        return R

    def make(n, *lines):
        return {first: n, second: "v", third: [{first: i, second: "l"} for i in lines]}

    with rn.open(tmp_path, engine="local") as db:
        db.relation("R", row, key=first)
        db.create(everything)
        with db.batch() as b:
            b.insert("R", [make(1, 1, 1), make(2)])
            b.at("R", **{first: 2})[third].insert([{first: 5, second: "l"}])
            b.at("R", **{second: "v", first: 1})[third].delete([{first: 1, second: "l"}])
        assert db.view("everything").rows() == [make(1, 1), make(2, 5)]
        with refused(db, errors.WrongColumns, "rows[0]"), db.batch() as b:
            b.insert("R", [{k.swapcase(): v for k, v in make(3).items()}])


def test_messages_have_the_values_of_the_address(db):
    with (
        refused(db, errors.UnknownKey, "operation 1 (set C): C: no row has this custkey", "row      custkey 42"),
        db.batch() as b,
    ):
        b.at("C", custkey=7).set(name="z")
        b.at("C", custkey=42).set(name="z")
    with refused(db, errors.UnknownKey, "C.orders: no row", "row      custkey 7, orderkey 99"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=99).items.insert([])


def test_a_row_with_its_key_and_other_contents_is_told_as_such(db):
    other = "got      a row with this key and other contents"
    with refused(db, errors.RowNotThere, other), db.batch() as b:
        b.delete("C", [customer(7, "Bo", [])])
