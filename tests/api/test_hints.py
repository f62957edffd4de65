"""What programs write in the words of other libraries: the error says how it is called here, and nothing changes."""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import attrs
import pyarrow as pa
import pydantic
import pytest
from support.shop import ANN, BOB, Customer, customers, opened
from support.states import refused, unchanged

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.nrc.errors import shown as key_shown


@pytest.fixture
def db(folder):
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.create(customers)
        yield db


def batch(db: rn.Database, use: Any) -> None:
    with db.batch() as b:
        use(b)


CALLS = {
    "insert": (lambda db: db.insert("C", []), 'b.insert("...", ...)'),
    "commit": (lambda db: db.commit(), "with db.batch() as b"),
    "a typo": (lambda db: db.roll_back(1), "possible rollback"),
    "of a relation": (lambda db: db.relation("C").insert([]), "with db.batch() as b"),
    "of a view": (lambda db: db.view("customers").head(), "limit(10)"),
    "of changes": (lambda db: db.view("customers").changes(since=1).rows(), "changed_rows(since=...)"),
    "anything": (lambda db: db.view("customers").xyz, "to_arrow"),
    "update": (lambda db: batch(db, lambda b: b.update("C", [])), ".set(field=...)"),
    "set": (lambda db: batch(db, lambda b: b.set("C", name="x")), 'b.at("...", key=...)'),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_name_that_there_is_not(db: Any, what: str) -> None:
    use, shown = CALLS[what]
    with refused(db, errors.UnknownMember, "has no such name", shown):
        use(db)
    assert not hasattr(db, "insert") and not hasattr(db.view("customers"), "head")


def test_rows_that_go_by_their_key(folder):
    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey")
        db.load("C", [ANN])
        with refused(db, errors.WrongColumns, "missing fields", 'or b.delete_key("C", custkey=...)'):
            batch(db, lambda b: b.delete("C", [{"custkey": 7}]))
        with refused(db, errors.UnknownKey, "named", "custkey=..."):
            batch(db, lambda b: b.delete_key("C", 7))
    with rn.open(folder / "keyed", engine="local") as db:
        db.relation("C", Customer, key="custkey", keys={"orders": "orderkey"})
        db.load("C", [ANN])
        with refused(db, errors.WrongColumns, 'or b.at("C", custkey=...).orders.delete_key(orderkey=...)'):
            batch(db, lambda b: b.at("C", custkey=7).orders.delete([{"orderkey": 11}]))
        with refused(db, errors.UnknownKey, "named", "orderkey=..."):
            batch(db, lambda b: b.at("C", custkey=7).orders.delete_key(11))
        with refused(db, errors.UnknownKey, "named", "custkey=..."):
            batch(db, lambda b: b.delete_key("C", 7))
        with refused(db, errors.RowNotThere, "discard_key"):
            batch(db, lambda b: b.delete_key("C", custkey=9))
        with refused(db, errors.WrongColumns, "missing fields name; extra fields nam"):
            batch(db, lambda b: b.insert("C", pa.table({"custkey": [1], "nam": ["x"], "orders": [[]]})))


WAYS_OUT: dict[str, tuple[Any, type[errors.RipplenestError], tuple[str, ...]]] = {
    "an upsert of some fields": (lambda b: b.upsert("C", [{"custkey": 7, "name": "Eve"}]), errors.WrongColumns,
                                 ("missing fields orders", 'or b.at("C", custkey=...).set(...)')),
    "of some fields below": (lambda b: b.at("C", custkey=7).orders.upsert([{"orderkey": 11}]), errors.WrongColumns,
                             ('or b.at("C", custkey=...).orders.at(orderkey=...).set(...)',)),
    "a key that is not there": (lambda b: b.at("C", custkey=99).set(name="Eve"), errors.UnknownKey,
                                ('b.upsert("C", [...])', "at_all(custkey=...)")),
    "an order that is not there": (lambda b: b.at("C", custkey=7).orders.at(orderkey=9).items.insert([]),
                                   errors.UnknownKey, ("an upsert of the bag", "at_all(orderkey=...)")),
    "more fields": (lambda b: b.insert("C", [{**ANN, "custkey": n, "x": 1} for n in range(50)]), errors.WrongColumns,
                    ("`{n: row[n] for n in ['custkey', 'name', 'orders']}`", "the next 19, where the same is wrong")),
    "more columns": (lambda b: b.delete("C", pa.table({"custkey": [7], "name": ["x"], "orders": [[]], "x": [1]})),
                     errors.WrongColumns, ("`table.select(['custkey', 'name', 'orders'])`",)),
    "more fields of JSON": (lambda b: b.insert("C", rn.json([{**ANN, "x": 1}] * 3)), errors.WrongColumns,
                            ("`{n: d[n] for n in ['custkey', 'name', 'orders'] if n in d}`", "2 more, where the same")),
    "a text in JSON": (lambda b: b.insert("C", rn.json([{**ANN, "custkey": "7"}])), errors.WrongValue,
                       ("possible int(x)",)),
    "several in a text": (lambda b: b.insert("C", rn.json(["[]"])), errors.WrongValue,
                          ("`rn.json(d for text in texts for d in json.loads(text))`",)),
}


@pytest.mark.parametrize("what", WAYS_OUT)
def test_ways_out(folder: Any, what: str) -> None:
    use, kind, told = WAYS_OUT[what]
    with rn.open(folder / "keyed", engine="local") as db:
        db.relation("C", Customer, key="custkey", keys={"orders": "orderkey"})
        db.load("C", [ANN])
        with refused(db, kind, *told):
            batch(db, use)


def test_the_ways_out_are_ways(folder):
    """What the messages above say, written out."""
    some, texts = {"custkey": 1, "name": "x", "orders": [], "x": 1}, ['[{"custkey": 2, "name": "y", "orders": []}]']
    names = ["custkey", "name", "orders"]
    with rn.open(folder / "keyed", engine="local") as db:
        db.relation("C", Customer, key="custkey", keys={"orders": "orderkey"})
        db.load("C", [ANN])
        with refused(db, errors.AlreadyLoaded, "with other rows", 'with db.batch() as b: b.upsert("C", rows)'):
            db.load("C", [BOB])
        with db.batch() as b:
            b.at("C", custkey=7).set(name="Eve")
            b.upsert("C", [{n: row[n] for n in names} for row in [some]])
            b.upsert("C", pa.Table.from_pylist([{**ANN, "custkey": 3, "x": 1}]).select(names))
            b.upsert("C", rn.json({n: d[n] for n in names if n in d} for d in [{**some, "custkey": 4}]))
            b.upsert("C", rn.json(d for text in texts for d in json.loads(text)))
        assert [(row["custkey"], row["name"]) for row in db.relation("C").rows()] == [
            (1, "x"), (2, "y"), (3, ANN["name"]), (4, "x"), (7, "Eve"),
        ]  # fmt: skip


def test_half_of_a_name_of_a_batch(db):
    for given, told in (({"seq": 3}, 'batch(source="...", seq=3)'), ({"source": "x"}, "batch(source='x', seq=...)")):
        with refused(db, errors.BatchMisuse, told, "batch()"):
            db.batch(**given)


def test_letters_are_counted() -> None:
    assert key_shown("a") == "(1 letter; RIPPLENEST_KEYS=show shows it)"
    assert key_shown(b"ab") == "(2 bytes; RIPPLENEST_KEYS=show shows them)"


def test_fields_are_words() -> None:
    for name, told in (("US Gross", "us_gross"), ("class", "class_"), ("2nd", "field_2nd"), ("%", "field_")):
        with pytest.raises(errors.Unsupported, match=f"words as names: {told}, and rows of it"):
            rn.record(type("Film", (), {"__annotations__": {name: int}}))


def test_what_has_no_value_is_named(folder):
    """The function, and the columns that it reads, of every part; the same by rows and by columns, and in a build."""

    @rn.view
    def shares(C: Bag[Customer]):
        return [{"shares": [[i.part % (i.qty - c.custkey) for i in o.items] for o in c.orders]} for c in C]

    one = {"custkey": 2, "name": "Eve", "orders": [{"orderkey": 1, "items": [{"part": 1, "qty": 2, "tags": []}]}]}
    items = "C.orders.items"
    shown = "x1 mod (x2 - x3)", f"x1 = {items}.part: long", f"x2 = {items}.qty: long", "x3 = c.custkey: long"
    with opened(folder / "state") as db:
        db.load("C", [ANN])
        db.create(shares)
        for more in (0, 300):
            rows = [one, *({**one, "custkey": 100 + i} for i in range(more))]
            with refused(db, errors.EvaluationError, "view shares: division by zero", *shown), db.batch() as b:
                b.insert("C", rows)
        db.drop("shares")
        with db.batch() as b:
            b.insert("C", [one])
        with unchanged(db), pytest.raises(errors.EvaluationError, match=r"x2 = C\.orders\.items\.qty"):
            db.create(shares)


KEYED: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, ""),
    ({"key": "custkey"}, ""),  # of no order
    ({"key": "custkey", "keys": {"orders": "orderkey"}}, "C.orders.items custkey 2, orderkey 1"),
    ({"keys": {"orders": "orderkey"}}, "C.orders.items orderkey 1"),
    # A name may be NULL, which is the key of none.
    ({"key": "name", "keys": {"orders": "orderkey", "orders.items": "part"}}, "C.orders.items orderkey 1, part 7"),
    ({"key": "custkey", "keys": {"orders": "orderkey", "orders.items": "part"}}, "orderkey 1, part 7"),
)


@pytest.mark.parametrize(("keys", "row"), KEYED, ids=[str(n) for n, _ in enumerate(KEYED)])
def test_rows_of_which_something_has_no_value_are_named(folder, keys, row):
    """By their keys, and by those of the rows that they are of; by rows and by columns, and in a build."""

    @rn.view
    def shares(C: Bag[Customer]):
        return [{"shares": [[i.part % (i.qty - 2) for i in o.items] for o in c.orders]} for c in C]

    def customer(k: int, qty: int) -> dict[str, Any]:
        items = [{"part": 7, "qty": qty, "tags": []}]
        return {"custkey": k, "name": f"n{k:02}", "orders": [{"orderkey": k - 1, "items": items}]}

    wrong, told = customer(2, 2), f"\n  row      {row}" if row.startswith("C") else row
    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Customer, **keys)
        db.create(shares)
        for more in (0, 300):
            with pytest.raises(errors.EvaluationError) as caught, db.batch() as b:
                b.insert("C", [*(customer(k, 1) for k in range(3, 3 + more)), wrong])
            assert told in str(caught.value) and ("\n  row" in str(caught.value)) == bool(row)
        db.drop("shares")
        db.load("C", [customer(3, 1), wrong])
        with pytest.raises(errors.EvaluationError) as caught:
            db.create(shares)
        assert told in str(caught.value)


def test_of_several_rows_each_is_named_once(folder):
    """A row beside one of its own bag is named with that."""

    @rn.view
    def pairs(C: Bag[Customer]):
        return [{"n": o.orderkey % (c.custkey - d.custkey)} for c in C for o in c.orders for d in C if c.name == d.name]

    with rn.open(folder / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey", keys={"orders": "orderkey"})
        db.create(pairs)
        with refused(db, errors.EvaluationError, "row      C.orders custkey 7, orderkey 11"), db.batch() as b:
            b.insert("C", [ANN])
        db.drop("pairs")

        @rn.view
        def apart(C: Bag[Customer]):
            return [{"n": 1 % (c.custkey + d.custkey - 9)} for c in C for d in C if c.custkey < d.custkey]

        db.create(apart)
        with refused(db, errors.EvaluationError, "row      C custkey 4; C custkey 5"), db.batch() as b:
            b.insert("C", [{**ANN, "custkey": k} for k in (4, 5)])


def test_a_file_is_no_state(folder):
    (folder / "program.py").write_text("")
    with pytest.raises(errors.StateError, match="a file, and no folder of a state"):
        rn.open(folder / "program.py")


def test_records_of_other_decorators():
    class Plain:
        k: int

    @dataclass
    class Data:
        k: int

    @attrs.define
    class Made:
        k: int

    known = (Plain, "@record above class"), (Data, "instead of @dataclass"), (Made, "instead of the decorator of attrs")
    for cls, shown in (*known, *((cls, f"may be {cls.__name__}s") for cls in MADE)):

        def rows(R: Any) -> Any:
            return R

        rows.__annotations__["R"] = Bag[cls]
        with pytest.raises(errors.Unsupported, match=shown):
            rn.view(rows)


class Model(pydantic.BaseModel):
    k: int
    n: int | None = None


class Named(NamedTuple):
    k: int
    n: int | None


class Typed(TypedDict):
    k: int
    n: int | None


@rn.record
class Own:
    k: int
    n: int | None


MADE: tuple[Any, ...] = (Model, Named, Typed)


@pytest.mark.parametrize("cls", MADE)
def test_classes_that_others_have_made(folder: Any, cls: Any) -> None:
    """Are no records; their objects are rows."""
    with pytest.raises(errors.Unsupported, match=f"(?s)another class has made this one.*rows may be {cls.__name__}s"):
        rn.record(cls)
    with rn.open(folder / "state") as db:
        db.relation("R", Own, key="k")
        db.load("R", [cls(k=1, n=None)])
        assert db.relation("R").rows() == [{"k": 1, "n": None}]


def test_what_history_says_of_a_change_of_fields(db: Any) -> None:
    db.relation("C").rename("name", "called")
    db.relation("C").add("note", str, "")
    said = [e.what for e in db.history(4) if e.note["kind"] == "alter"]
    assert said == ["alter C: add note", "alter C: rename name to called"]


def test_what_views_say_in_other_words() -> None:
    """Each is refused with a form that works."""
    with pytest.raises(errors.Unsupported, match="a record has each field once"):

        @rn.view
        def twice(C: Bag[Customer]):
            return [{"n": 1, "m": 2, "n": c.custkey} for c in C]  # noqa: F601

    with pytest.raises(errors.TypeMismatch, match=r"both sides of one type, which long and string are not"):

        @rn.view
        def sides(C: Bag[Customer]):
            return [{"n": 1 if c.custkey > 1 else "x"} for c in C]

    with pytest.raises(errors.TypeMismatch, match=r"\.lower\(\.\.\.\), which is called"):

        @rn.view
        def method(C: Bag[Customer]):
            return [{"n": c.name.lower == "ann"} for c in C]

    with pytest.raises(errors.Unsupported, match=r"rn\.top\(1, xs, key=\.\.\.\)"):

        @rn.view
        def first(C: Bag[Customer]):
            return [{"n": next(o.orderkey for o in c.orders)} for c in C]

    @rn.view
    def right(C: Bag[Customer]):
        nobody: str | None = None
        return [
            {**{"n": 0}, "n": str(1) if c.custkey > 1 else "x", "low": c.name.lower(), "who": nobody,
             "first": min(o.orderkey for o in c.orders)}
            for c in C
        ]  # fmt: skip

    assert right([{**ANN, "orders": []}]) == [{"n": "1", "low": "ann", "who": None, "first": None}]


def test_a_view_is_walked_through_and_loaded_as_rows_are(db: Any) -> None:
    """``for row in db.view(...)`` is the first thing that is tried. It has no length, so one without rows is true."""
    view = db.view("customers")
    assert [*view] == view.rows() and [*db.relation("C")] == db.relation("C").rows() and view.rows()[0] in view
    db.relation("D", Customer)
    db.load("D", db.relation("C"))
    assert db.relation("D").rows() == db.relation("C").rows()
    with db.batch() as b:
        b.delete("C", db.relation("D"))
    assert [*view] == [] and view


@rn.record
class Ticket:
    k: int
    state: str | None = "new"


def test_a_default_is_for_the_class(folder):
    with rn.open(folder / "state", engine="local") as db:
        db.relation("T", Ticket, key="k")
        batch(db, lambda b: b.insert("T", [Ticket(1)]))
        with refused(db, errors.WrongColumns, "missing fields state"):
            batch(db, lambda b: b.insert("T", [{"k": 2}]))
        assert db.relation("T").rows() == [{"k": 1, "state": "new"}]
