"""Partial shredding: immutable inner bags stay arrays until a view looks into them, and nobody can tell.

The same batches run against a relation whose orders are arrays and against one that is shredded all through: views,
what they change in each version, and what is stored in the end are the same rows.
"""

import copy
import tempfile
from typing import Any

import pytest
from support.choices import Choices, recorded, replayed
from support.laws import law
from support.schemas import random_database, random_schema
from support.shop import ANN, BOB, Customer, customer, customers, item, order, parts, tags
from support.sizes import many
from support.states import MEMORY, refused, unchanged

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.data.texts import from_text, to_text
from ripplenest.nrc.types import STRING
from ripplenest.nrc.types import Bag as BagType
from ripplenest.schema.relation import declare
from ripplenest.store.specs import Change

ARRAYS = "C.orders/arrays"


@rn.view
def names(C: Bag[Customer]):
    """The orders are passed on, beside an inner bag of its own."""
    return [{"n": c.name, "orders": c.orders, "same": [d.custkey for d in C if d.name == c.name]} for c in C]


@pytest.mark.parametrize("keys", [{}, {"orders": "orderkey"}])
def test_an_upsert_that_changes_only_what_is_deep(tmp_path: Any, keys: dict[str, str]) -> None:
    """The rows of the bag that is kept stay as they were, so of the array nothing changes but what is in them."""
    first, other = customer(1, "Ann", [order(1, item(1))]), customer(2, "Ann", [order(1, item(1))])
    with opened(tmp_path / "s", keys=keys) as db:
        with db.batch() as b:
            b.insert("C", [first, other])
        changed = [customer(1, "Ann", [order(1, item(7))]), customer(2, "Ann", [order(2, item(1))])]
        for rows in (changed[:1], [*changed, customer(3)], [first, other]):
            with db.batch() as b:
                b.upsert("C", rows)
            assert [db.relation("C").get(custkey=row["custkey"]) for row in rows] == rows
        db.rollback(db.version - 1)
        assert [db.relation("C").get(custkey=n) for n in (1, 2)] == changed
        assert db.verify(deep=True).ok


def opened(path: Any, key: str | None = "custkey", **options: Any) -> rn.Database:
    db = rn.open(path, engine="local")
    db.relation("C", Customer, key=key, **{"immutable": "orders", **options})
    return db


def sizes(db: rn.Database) -> dict[str, int]:
    snapshot = db._store.snapshot()
    return {t: len(snapshot.scan(t).consolidated()) for t in db._store.tables() if t.startswith("C")}


def test_a_bag_that_nothing_looks_into_is_one_row(tmp_path):
    """Whatever it holds; a NULL bag and an empty one are none."""
    with opened(tmp_path / "state") as db:
        db.load("C", [ANN, BOB, customer(9, "Eve", [])])
        db.create(names)
        assert sizes(db) == {"C": 3, "C.orders": 0, "C.orders.items": 0, "C.orders.items.tags": 0, ARRAYS: 1}
        assert db.view("names").rows() == names(C=[ANN, BOB, customer(9, "Eve", [])])


def test_the_first_view_that_looks_into_it_has_it_shredded(tmp_path):
    """In the version that creates the view; what views hold, and the changes feed, do not notice."""
    with opened(tmp_path / "state") as db:
        db.load("C", [ANN, BOB])
        db.create(names)
        before = answers(db, "names")
        db.create(tags)
        assert sizes(db) == {"C": 2, "C.orders": 2, "C.orders.items": 2, "C.orders.items.tags": 1, ARRAYS: 0}
        assert db._store.snapshot().segments(ARRAYS) == ()  # or every batch would read them, and their negation
        assert answers(db, "names") == before
        assert feed(db, "C.orders", db.version - 1) == {}
        with db.batch() as b:
            b.insert("C", [customer(9, "Eve", [order(1, item(1, 2, ("z",)))])])
        assert sizes(db)[ARRAYS] == 0
        check(db, [ANN, BOB, customer(9, "Eve", [order(1, item(1, 2, ("z",)))])])


def answers(db: rn.Database, view: str) -> Any:
    return db.view(view).rows(), {part: feed(db, part, 0) for part in ("C.orders", "C.orders.items")}


def feed(db: rn.Database, part: str, since: int) -> dict[Any, int]:
    return dict(db._state.snapshot().delta(part, since).consolidated().counts())


def check(db: rn.Database, rows: list[dict[str, Any]]) -> None:
    for view in (names, customers, parts, tags):
        if view.name in db.views:
            assert db.view(view.name).rows() == view(C=rows), view.name


@law(examples=many(6, 25), tries=300)
def test_arrays_or_not_views_have_the_same_rows(c):
    """Random inserts, deletes and upserts, with and without a key, and views created before and after."""
    key = c.pick(["custkey", None])
    rows = [ANN, BOB]
    late = c.number(4)
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as folder,
        opened(f"{folder}/a", key) as folded,
        opened(f"{folder}/b", key, arrays=False) as shredded,
    ):
        both = (folded, shredded)
        for db in both:
            db.load("C", rows)
            db.create(names)
        for seq in range(1, 4):
            if seq == late:
                for db in both:
                    db.create(c.pick([parts, tags]) if db is folded else [parts, tags][0])
            operations, rows = batch(c, rows, key)
            for db in both:
                with db.batch("test", seq) as b:
                    for verb, found in operations:
                        getattr(b, verb)("C", copy.deepcopy(found))
                check(db, rows)
                assert db.verify().ok, db.verify()
            assert sizes(folded)[ARRAYS] <= len(rows) and sizes(shredded).get(ARRAYS, 0) == 0


def batch(c: Choices, rows: list[Any], key: str | None) -> tuple[list[tuple[str, list[Any]]], list[Any]]:
    """A few operations, and the rows after them."""
    operations, now = [], list(rows)
    for _ in range(1 + c.number(3)):
        verb = c.pick(["insert", "delete", "upsert" if key else "insert"])
        if verb == "delete" and now:
            gone = now.pop(c.number(len(now)))
            operations.append((verb, [gone]))
        elif verb == "upsert":
            fresh = customer(c.pick([7, 8, 9]), "Up", orders(c))
            now = [*(row for row in now if row["custkey"] != fresh["custkey"]), fresh]
            operations.append((verb, [fresh]))
        elif verb == "insert":
            taken = {row["custkey"] for row in now} if key else set()
            fresh = customer(min({1, 2, 3, 4, 5, 6} - taken), c.pick([None, "Ann"]), orders(c))
            now.append(fresh)
            operations.append((verb, [fresh]))
    return operations, now


def orders(c: Choices) -> list[Any] | None:
    def items() -> list[Any]:
        return [item(c.number(2), 2, ("a",) * c.number(3)) for _ in range(c.number(3))]

    def one() -> Any:
        return order(c.number(2), *items())

    return c.pick([lambda: None, list, lambda: [one()], lambda: [one(), one()], lambda: [one()] * 2])()


def test_an_immutable_bag_is_not_changed(tmp_path):
    """Nor what is inside it, whether it is an array or not; its row can be replaced."""
    for arrays in (True, False):
        with opened(tmp_path / str(arrays), arrays=arrays) as db:
            db.load("C", [ANN])
            with refused(db, errors.Immutable, "C.orders", "insert", "upsert"), db.batch() as b:
                b.at("C", custkey=7).orders.insert([order(5)])
            with refused(db, errors.Immutable, "C.orders.items"), db.batch() as b:
                b.at("C", custkey=7).orders.at(orderkey=11).items.delete([item(1)])
            with db.batch() as b:
                b.upsert("C", [customer(7, "Ann", [order(1)])])
            db.create(customers)
            check(db, [customer(7, "Ann", [order(1)])])


def test_paths_are_checked(tmp_path):
    """What is immutable, and may be an array, leads to an inner bag."""
    row = declare("C", BagType(STRING)).row
    with pytest.raises(errors.UnknownName, match="leads to no inner bag") as error:
        opened(tmp_path / "a", immutable="order")
    assert error.value.possible == ("orders", "orders.items", "orders.items.tags")
    with pytest.raises(errors.UnknownName) as error:
        opened(tmp_path / "b", arrays="orders.items")
    assert error.value.possible == ("orders",)
    assert declare("C", row, immutable="[]").arrays == ("C.[]",)
    with opened(tmp_path / "c", immutable=("orders", "orders.items")) as db, unchanged(db):
        db.relation("C", Customer, key="custkey", immutable=("orders.items", "orders"))
        with pytest.raises(errors.RelationChanged):
            db.relation("C", Customer, key="custkey")


def test_an_inner_level_can_be_the_array(tmp_path):
    """Orders change, and their items come and go with them."""
    rows = [ANN, BOB]
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey", immutable="orders.items")
        db.load("C", rows)
        db.create(customers)
        with db.batch() as b:
            b.at("C", custkey=7).orders.insert([order(13, item(1, 1, ("x",)))])
            b.at("C", custkey=7).orders.delete([order(11, item(1, 2, ("a",)), item(2, 1))])
        rows = [customer(7, "Ann", [order(12), order(13, item(1, 1, ("x",)))]), BOB]
        check(db, rows)
        assert sizes(db)["C.orders.items/arrays"] == 1
        db.create(tags)
        assert sizes(db)["C.orders.items/arrays"] == 0
        check(db, rows)


def test_a_damaged_array_is_no_answer(tmp_path):
    """Text that is no array of these rows."""
    with opened(tmp_path / "state") as db:
        db.load("C", [ANN])
        db.create(names)
        fold = db._declared.folds[0]
        (row,) = db._store.snapshot().scan(ARRAYS).counts()
        pairs = [(row, -1), ((row[0], "[[1]]", row[2]), 1)]
        wrong = type(db._store.snapshot().scan(ARRAYS)).of_pairs(fold.spec.types, pairs)
        db._store.commit(Change({ARRAYS: wrong}), db.version)
        with pytest.raises(errors.CorruptState, match="nested value"):
            db.view("names").rows()


def test_a_folded_bag_is_probed_like_any_other(tmp_path):
    """By its label and by other columns, at every level, whatever was read before."""
    rows = [ANN, BOB, customer(9, "Eve", [order(1, item(1, 2, ("z", "a"))), order(1)])]
    with opened(tmp_path / "state") as db:
        db.load("C", rows)
        for part in ("C.orders", "C.orders.items", "C.orders.items.tags"):
            found = db._state.snapshot().scan(part).counts()
            assert found
            for columns in db._store.tables()[part].indexes:
                for row in found:
                    key = tuple(row[c] for c in columns)
                    wanted = {r: n for r, n in found.items() if tuple(r[c] for c in columns) == key}
                    assert db._state.snapshot().probe(part, columns, [key]).counts() == wanted
            assert not len(db._state.snapshot().probe(part, (0,), [(-1,)]))


@law(examples=60)
def test_texts_of_nested_values(c):
    """from_text(to_text(v)) = v for values of every type, and equal values have equal texts."""
    schema = random_schema(c)
    noted, made = recorded(c.number)
    one = random_database(noted, schema)
    again = random_database(Choices(replayed(made)), schema)
    for name, row in schema.relations:
        text = to_text(one[name], BagType(row))
        assert from_text(text, BagType(row)) == one[name]
        assert to_text(again[name], BagType(row)) == text
