"""R20: missing, extra, reordered and wrongly typed columns and fields, at any depth, in every form that rows come in.

``test_bad_input.py`` tries the API call by call; here the same fault comes as dicts, records, Arrow and DataFrames.
Each is refused with the path of the culprit, and leaves the version and the whole state as they were.
"""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from support.shop import ANN, BOB, FILMS, Customer, Movie, customer, customers, item, movie, opened, order, tags
from support.states import recomputed, refused, unchanged

import ripplenest as rn
from ripplenest import Bag, errors


@pytest.fixture
def db(folder: Path) -> Iterator[rn.Database]:
    """Two customers, three films, and two views."""
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in (customers, tags):
            db.create(view)
        yield db


def changed(row: Any, way: tuple[Any, ...], **fields: Any) -> Any:
    """``row`` with other ``fields`` in the record at ``way``; ``...`` takes a field away."""
    if way:
        inner = changed(row[way[0]], way[1:], **fields)
        return [*row[: way[0]], inner, *row[way[0] + 1 :]] if isinstance(row, list) else {**row, way[0]: inner}
    return {name: value for name, value in {**row, **fields}.items() if value is not ...}


def backwards(row: Any) -> Any:
    """The fields of every record in another order."""
    if isinstance(row, dict):
        return {name: backwards(row[name]) for name in reversed(row)}
    return [backwards(v) for v in row] if isinstance(row, list) else row


def as_records(row: Any) -> Any:
    """Instances of attrs classes with just these fields."""
    if isinstance(row, dict):
        return attrs.make_class("Some", list(row))(**{name: as_records(v) for name, v in row.items()})
    return [as_records(v) for v in row] if isinstance(row, list) else row


FORMS = {
    "dicts": lambda row: [row],
    "records": lambda row: [as_records(row)],
    "Arrow": lambda row: pa.Table.from_pylist([row]),
    "batch": lambda row: pa.RecordBatch.from_pylist([row]),
}
ONE = customer(7, "Ann", [order(11, item(1, 2, ("a",)))])  # Arrow gives all records of a bag the same fields
INNER = ("orders", 0, "items", 0)
FAULTS = [
    ((), {"name": ...}, "", "missing fields name"),
    ((), {"x": 1}, "", "extra fields x"),
    ((), {"name": ..., "Name": "Ann"}, "", "missing fields name; extra fields Name"),
    (("orders", 0), {"items": ...}, ".orders[0]", "missing fields items"),
    (INNER, {"qty": ...}, ".orders[0].items[0]", "missing fields qty"),
    (INNER, {"a\nb": 1}, ".orders[0].items[0]", r"extra fields 'a\nb'"),
    ((), {"custkey": "7"}, ".custkey", "wrong type"),
    (("orders", 0), {"orderkey": 7.5}, ".orders[0].orderkey", "wrong type"),
    (INNER, {"qty": "2"}, ".orders[0].items[0].qty", "wrong type"),
    (INNER, {"tags": ["a", None]}, ".orders[0].items[0].tags[1]", "NULL where none is allowed"),
    ((), {"orders": "none"}, ".orders", "not a bag"),
]
COLUMNS = "other columns than the relation has"  # which an Arrow table says before any row is looked at


@pytest.mark.parametrize("form", FORMS)
def test_faults_in_every_form(db: rn.Database, form: str) -> None:
    """R20: missing, extra and wrongly typed columns and fields, at three depths, with the path of the culprit."""
    with unchanged(db):
        for way, fields, place, fault in FAULTS:
            if form == "records" and any(not name.isidentifier() for name in fields):
                continue
            row = changed(ONE, way, **fields)
            whole = form in ("Arrow", "batch") and not way and "fields" in fault
            for verb in ("insert", "delete", "upsert"):
                shown = f"{verb} C: rows: {COLUMNS}" if whole else f"{verb} C: rows[0]{place}: {fault}"
                with pytest.raises(errors.DataError) as caught, db.batch() as b:
                    b.insert("M", [movie("before")])
                    getattr(b, verb)("C", FORMS[form](row))
                assert shown in str(caught.value)
                assert type(caught.value) is (errors.WrongColumns if "fields" in fault else errors.WrongValue)
            if way[:1] == ("orders",):
                deep = changed(ONE["orders"][0], way[2:], **fields)
                shown = f"insert C.orders: rows[0]{place.removeprefix('.orders[0]')}: {fault}"
                whole = form in ("Arrow", "batch") and way == ("orders", 0) and "fields" in fault
                with pytest.raises(errors.DataError) as caught, db.batch() as b:
                    b.at("C", custkey=7).orders.insert(FORMS[form](deep))
                assert (f"insert C.orders: rows: {COLUMNS}" if whole else shown) in str(caught.value)


@pytest.mark.parametrize("form", FORMS)
def test_reordered_fields_are_the_same_rows(db: rn.Database, form: str) -> None:
    """R20: fields are found by name at every depth, in every form."""
    rows = [backwards(customer(i, "x", ANN["orders"])) for i in (1, 2)]
    db.relation("L", Customer, key="custkey")
    db.load("L", FORMS[form](rows[0]))
    with db.batch() as b:
        b.insert("C", FORMS[form](rows[0]))
        b.insert("C", FORMS[form](rows[1]))
        b.delete("C", FORMS[form](backwards(ANN)))
        b.at("C", custkey=1).orders.insert(FORMS[form](backwards(order(13, item(1, 5)))))
    want = [customer(1, "x", [*ANN["orders"], order(13, item(1, 5))]), customer(2, "x", ANN["orders"]), BOB]
    recomputed(db, {"customers": customers, "tags": tags}, {"C": want})


ITEM = pa.struct([("part", pa.int64()), ("qty", pa.int64()), ("tags", pa.list_(pa.string()))])
TWICE = pa.struct([("part", pa.int64()), ("part", pa.int64()), ("tags", pa.list_(pa.string()))])
NOT_TEXT = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\3\0\0\0"), pa.py_buffer(b"\xff\xfe:")])


@rn.record
class Visit:
    at: datetime
    day: date
    who: str
    items: Bag[rn.record(type("Part", (), {"__annotations__": {"part": int, "at": datetime}}))]  # type: ignore[misc]


def visits(**columns: Any) -> pa.Table:
    good = {
        "at": pa.array([0], pa.timestamp("us")),
        "day": pa.array([0], pa.date32()),
        "who": ["Ann"],
        "items": pa.array([[]], pa.list_(pa.struct([("part", pa.int64()), ("at", pa.timestamp("us"))]))),
    }
    return pa.table({**good, **columns})


def inner(at: pa.Array) -> pa.ListArray:
    part = pa.StructArray.from_arrays([pa.array([1] * len(at)), at], ["part", "at"])
    return pa.ListArray.from_arrays([0, len(at)], part)


UNREADABLE = [
    ({"at": pa.array([1], pa.timestamp("ns"))}, "rows[0].at", "timestamp[ns]"),
    ({"at": pa.array([2**62], pa.timestamp("us"))}, "rows[0].at", "timestamp[us]"),
    ({"at": pa.array([0], pa.timestamp("us", "Mars/Base"))}, "rows[0].at", "tz=Mars/Base"),
    ({"day": pa.array([2**31 - 1], pa.int32()).cast(pa.date32())}, "rows[0].day", "date32"),
    ({"who": NOT_TEXT}, "rows[0].who", "string"),
    ({"items": inner(pa.array([0, 1], pa.timestamp("ns")))}, "rows[0].items[1].at", "timestamp[ns]"),
    (
        {"items": pa.ListArray.from_arrays([0, 1], pa.StructArray.from_arrays([pa.array([1])] * 2, ["at", "at"]))},
        "rows[0].items[0]",
        "struct<at: int64, at: int64>",
    ),
]


@pytest.mark.parametrize(("columns", "place", "got"), UNREADABLE, ids=[f"{p} {g}" for _, p, g in UNREADABLE])
def test_what_arrow_holds_and_python_has_not(db: rn.Database, columns: Any, place: str, got: str) -> None:
    """R20, R24: nanoseconds, the year 10000, bytes that are no text and unknown zones are named by their place, and not
    shown; Arrow's own error would be none of ours, and quote them."""
    db.relation("V", Visit)
    with db.batch() as b:
        b.insert("V", visits())
    for verb in ("insert", "delete"):
        with refused(db, errors.WrongValue, f"{verb} V: {place}: ", got), db.batch() as b:
            getattr(b, verb)("V", visits(**columns))
    db.relation("L", Visit)
    with refused(db, errors.WrongValue, f"load L: {place}: ", got):
        db.load("L", visits(**columns))


def test_names_are_checked_where_there_are_no_rows(db: rn.Database) -> None:
    """R20: an inner record with other fields is refused although every bag of it is empty."""
    db.relation("V", Visit)
    for fields in ([("part", pa.int64())], [("part", pa.int64()), ("At", pa.timestamp("us"))]):
        empty = pa.array([[]], pa.list_(pa.struct(fields)))
        with refused(db, errors.WrongColumns, "insert V: rows[].items[]", COLUMNS, "at"), db.batch() as b:
            b.insert("V", visits(items=empty))
    with db.batch() as b:
        b.insert("V", visits(items=pa.array([[]], pa.list_(pa.null()))))
        b.insert("V", visits(items=pa.array([[]], pa.large_list(pa.struct([("at", pa.null()), ("part", pa.int8())])))))
    assert sum(db._store.snapshot().scan("V").counts().values()) == 2


def test_rows_that_fail_while_they_are_read(db: rn.Database) -> None:
    """R20: an exception of the caller's own generator passes through, and nothing has begun."""

    def rows() -> Iterator[dict[str, Any]]:
        yield movie("one")
        raise LookupError("mine")

    with unchanged(db), pytest.raises(LookupError, match="mine"), db.batch() as b:
        b.insert("M", rows())
    db.relation("L", Movie)
    with unchanged(db), pytest.raises(LookupError, match="mine"):
        db.load("L", rows())


def test_faults_in_data_frames(db: rn.Database, spark: Any) -> None:
    """R20: DataFrames, whose fields are found by name at every depth, and whose faults have a path."""
    items = "array<struct<{}>>"
    good = "custkey long, name string, orders array<struct<orderkey: long, items: {}>>"
    other = "orders array<struct<items: {}, orderkey: long>>, custkey long, name string"
    struct = "part: long, qty: long, tags: array<string>"
    turned = "tags: array<string>, part: long, qty: long"
    row = (1, "x", [(11, [(1, 5, ["t"])])])
    with db.batch() as b:
        b.insert("C", spark.createDataFrame([row], good.format(items.format(struct))))
        b.insert("C", spark.createDataFrame([([([(["t"], 1, 5)], 11)], 2, "x")], other.format(items.format(turned))))
    rows = [customer(i, "x", [order(11, item(1, 5, ("t",)))]) for i in (1, 2)]
    recomputed(db, {"customers": customers, "tags": tags}, {"C": [ANN, BOB, *rows]})
    for value, fields, error, shown in [
        ((1, ["t"]), "part: long, tags: array<string>", errors.WrongColumns, "items[0]: missing fields qty"),
        ((1, 2, ["t"], 3), f"{struct}, x: int", errors.WrongColumns, "items[0]: extra fields x"),
        ((1, "2", ["t"]), struct.replace("qty: long", "qty: string"), errors.WrongValue, "items[0].qty: wrong type"),
        ((1, None, ["t"]), struct, errors.WrongValue, "items[0].qty: NULL"),
    ]:
        frame = spark.createDataFrame([(1, "x", [(11, [value])])], good.format(items.format(fields)))
        with refused(db, error, f"upsert C: rows[0].orders[0].{shown}"), db.batch() as b:
            b.upsert("C", frame)
    twice = spark.createDataFrame([("a", "b", "c")], "name string, gen string, dir string").select("*", "dir")
    with refused(db, errors.WrongColumns, "insert M: rows"), db.batch() as b:
        b.insert("M", twice)
