"""``rn.each``: what a program may write, what it is told, and that a batch of it is known by its rows."""

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet
import pytest
from support.shop import ANN, BOB, FILMS, VIEWS, Customer, customer, item, order
from support.states import recomputed, refused

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.intake import apply

ALL = {view.name: view for view in VIEWS}
TABLE = pa.table(
    {"who": [7, 7], "order": [11, 12], "part": [9, 1], "qty": [3, 4], "tags": [["q"], []], "new": ["A", "B"]}
)


@pytest.fixture(autouse=True, params=[0, 1 << 40])
def _by_columns_and_by_rows(request, monkeypatch):
    monkeypatch.setattr(apply, "FEW", request.param)


def lines(table: pa.Table) -> pa.Table:
    return table.select(["who", "order", "part", "qty", "tags"])


def test_every_verb_and_depth(db):
    each = rn.each(TABLE)
    with db.batch() as b:
        items = rn.each(lines(TABLE))
        b.at("C", custkey=items.who).orders.at(orderkey=items.order).items.insert(items)
        b.at("C", custkey=each.who).set(name=each.new)  # the last of a table is what stays
        b.at("C", custkey=each.who).orders.at(orderkey=each.order).items.at_all(part=each.part).tags.insert(["n", "m"])
        b.insert("C", rn.each([customer(9, "x", []), customer(10, "y", [])]))
        b.delete_key("C", custkey=rn.each([{"k": 9}]).k)
    first = order(11, *ANN["orders"][0]["items"], item(9, 3, ("q", "n", "m")))
    rows = [customer(7, "B", [first, order(12, item(1, 4, ("n", "m")))]), BOB, customer(10, "y", [])]
    recomputed(db, ALL, {"C": rows, "M": FILMS})


def test_a_batch_is_known_by_its_rows(db):
    def again(rows: object) -> bool:
        with db.batch("s", 1) as b:
            each = rn.each(rows)
            b.at("C", custkey=each.who).orders.at(orderkey=each.order).items.insert(each)
        return not b.report.applied

    table = lines(TABLE)
    assert not again(table)
    assert (
        again(table.take([1, 0]))
        and again(table.to_pylist())
        and again(table.select(["tags", "qty", "part", "order", "who"]))
    )
    other = table.set_column(1, "order", pa.array([12, 11]))
    with refused(db, errors.BatchConflict), db.batch("s", 1) as b:
        each = rn.each(other)
        b.at("C", custkey=each.who).orders.at(orderkey=each.order).items.insert(each)


def test_of_two_that_set_a_field_the_later_one_counts(db):
    def named(table: pa.Table) -> str:
        with db.batch("s", 1) as b:
            each = rn.each(table)
            b.at("C", custkey=each.who).set(name=each.new)
        return next(c["name"] for c in db.relation("C").rows() if c["custkey"] == 7)

    assert named(TABLE) == "B" == named(TABLE)
    with refused(db, errors.BatchConflict):
        named(TABLE.take([1, 0]))


@pytest.mark.parametrize("rows", [TABLE.slice(0, 0), []])
def test_no_rows_change_nothing(db, rows):
    """A job that has nothing to do today: of an empty list nobody knows the columns."""
    each, version = rn.each(rows), db.version
    with db.batch() as b:
        own = rn.each(lines(rows)) if len(each._columns) else each
        b.at("C", custkey=own.who).orders.at(orderkey=own.order).items.delete(own)
        b.at("C", custkey=each.who).orders.at(orderkey=each.order).items.at(part=each.part).set(qty=each.qty)
        b.at("C", custkey=each.who).set(name=each.new)
        b.delete_key("C", custkey=each.who)
        b.insert("C", rn.each([]))
    assert b.report.rows_in == {} and db.version == version + 1


def test_null_and_rows_that_are_there_twice(db):
    each = rn.each(pa.table({"name": pa.array([None, "Ann"], pa.string()), "orderkey": [77, 78], "items": [[], []]}))
    with refused(db, errors.UnknownLabel, "each[0]", "this inner bag is NULL"), db.batch() as b:
        b.at("C", name=each.name).orders.insert(each)
    with db.batch() as b:
        b.upsert("C", [customer(8, None, [order(5), order(5)])])
        b.at("C", name=each.name).orders.insert(each)
    with refused(db, errors.Ambiguous, "each[0]", "2 rows"), db.batch() as b:
        fives = rn.each([{"who": 8}])
        b.at("C", custkey=fives.who).orders.at(orderkey=5).items.insert([item(1)])
    held = {c["custkey"]: sorted(o["orderkey"] for o in c["orders"]) for c in db.relation("C").rows()}
    assert held == {7: [11, 12, 78], 8: [5, 5, 77]}


def test_all_rows_of_a_bag_that_is_null_are_none(db):
    """At one row or at all, for each row of a table or once; what is for one row is refused there."""
    with db.batch() as b:
        b.upsert("C", [customer(8, None, None)])
    each = rn.each([{"who": 7, "order": 11}, {"who": 8, "order": 11}])
    with db.batch() as b:
        b.at("C", custkey=8).orders.at_all(orderkey=11).set(orderkey=1)
        b.at_all("C", name=None).orders.at_all(orderkey=11).set(orderkey=1)
        b.at("C", custkey=each.who).orders.at_all(orderkey=each.order).set(orderkey=13)
    held = {c["custkey"]: c["orders"] for c in db.relation("C").rows()}
    assert held[8] is None and sorted(o["orderkey"] for o in held[7]) == [12, 13]
    with refused(db, errors.UnknownLabel, "this inner bag is NULL"), db.batch() as b:
        b.at("C", custkey=8).orders.at(orderkey=11).set(orderkey=1)


def test_rows_that_those_before_have_changed(db):
    each = rn.each([{"was": "Ann", "new": "Bo"}, {"was": "Bo", "new": "Cy"}])
    with db.batch() as b:
        b.at("C", name=each.was).set(name=each.new)
    assert {c["custkey"]: c["name"] for c in db.relation("C").rows()} == {7: "Cy", 8: None}


def test_what_is_discarded_need_not_be_there(tmp_path):
    with rn.open(tmp_path, engine="local") as db:
        db.relation("C", Customer, key="custkey", keys={"orders": "orderkey"})
        db.load("C", [ANN, BOB])
        gone = rn.each([{"who": 7, "order": 11}, {"who": 7, "order": 99}, {"who": 42, "order": 1}])
        with db.batch() as b:
            b.discard_key("C", custkey=8)
            b.discard_key("C", [{"custkey": 8}, {"custkey": 8}, {"custkey": 9}])
            b.at_all("C", custkey=gone.who).orders.discard_key(orderkey=gone.order)
            b.at("C", custkey=7).orders.discard_key(orderkey=11)
        assert [[o["orderkey"] for o in c["orders"]] for c in db.relation("C").rows()] == [[12]]
        assert db.verify().ok
        with refused(db, errors.NoKey, "discard_key needs a key"), db.batch() as b:
            b.at("C", custkey=7).orders.at(orderkey=12).items.discard_key(part=1)


def test_a_column_of_the_row_and_of_the_address(db):
    each = rn.each(pa.table({"part": [7], "qty": [11], "tags": [["z"]]}))
    with db.batch() as b:
        b.at("C", custkey=each.part).orders.at(orderkey=each.qty).items.insert(each)
    (first, _) = next(c["orders"] for c in db.relation("C").rows() if c["custkey"] == 7)
    assert item(7, 11, ("z",)) in first["items"]


def test_fields_that_nobody_asked_for_are_looked_for_once(db):
    with db.batch() as b:
        b.insert("C", [customer(i, f"n{i}", []) for i in range(100, 200)])
    read = []
    for names in (["n100", "n101"], ["n102", "n103"]):
        each = rn.each([{"name": name, "orderkey": 1, "items": []} for name in names])
        with db.batch() as b:
            b.at("C", name=each.name).orders.insert(each)
        read.append(b.report.rows_read)
    assert read[0] >= 102 and read[1] < 10


@pytest.mark.parametrize(
    "write, error, shown",
    [
        (lambda b, e: b.at("C", custkey=e.whom), errors.UnknownColumn, ["whom", "who, order"]),
        (lambda b, e: b.at("C", custkey=e.new).set(name=e.new), errors.WrongValue, ["each[0].new", "long", "str"]),
        (lambda b, e: b.at("C", custkey=7).set(name=e.new), errors.TypeMismatch, ["at(<field>=each.<column>)"]),
        (lambda b, e: b.at("C", custkey=e.who).orders.insert(rn.each(TABLE)), errors.TypeMismatch, ["several tables"]),
        (lambda b, e: b.at("C", custkey=e.who).orders.insert(e), errors.WrongColumns, ["items", "tags"]),
        (lambda b, e: b.at("C", custkey=e.qty).set(name="x"), errors.UnknownKey, ["each[0]: C", "custkey 3", "1 more"]),
        (lambda b, e: b.at("C", label=e.who).orders.insert(e), errors.UnknownLabel, ["EachValue"]),
        (lambda b, e: b.at("C", custkey=e.who), errors.BatchMisuse, ["nothing was done"]),
    ],
)  # fmt: skip
def test_what_is_refused(db, write, error, shown):
    each = rn.each(TABLE)
    with refused(db, error, *shown), db.batch() as b:
        write(b, each)


@pytest.mark.parametrize(
    "rows, error, shown",
    [
        ("x.jsonl", errors.WrongValue, ["a path", "read_json"]),
        ([{"a": 1}, {"b": 1}], errors.WrongColumns, ["rows[1]", "['a']", "['b']"]),
        ([1], errors.WrongColumns, ["rows[0]", "int"]),
        (pa.table([[1], [2]], names=["a", "a"]), errors.WrongColumns, ["two columns"]),
    ],
)
def test_what_is_no_table(rows, error, shown):
    with pytest.raises(error) as caught:
        rn.each(rows)
    assert [text for text in shown if text not in str(caught.value)] == []


def test_files_are_read_as_the_message_says(db, tmp_path):
    lines, columns = tmp_path / "x.jsonl", tmp_path / "x.parquet"
    lines.write_text('{"who": 7, "new": "Bo"}\n')
    pa.parquet.write_table(pa.table({"who": [8], "new": ["Cy"]}), columns)
    for table in (pa.json.read_json(lines), pa.parquet.read_table(columns)):
        each = rn.each(table)
        with db.batch() as b:
            b.at("C", custkey=each.who).set(name=each.new)
    assert {c["custkey"]: c["name"] for c in db.relation("C").rows()} == {7: "Bo", 8: "Cy"}


def test_printed_without_rows():
    each = rn.each([{"name": "secret"}])
    assert "name" in repr(each) and "secret" not in repr(each) + repr(each.name) and len(each) == 1
    assert not hasattr(each, "toArrow")


@rn.record
class Box:
    name: str
    tags: Bag[str] | None


def test_a_null_bag_of_a_row_without_a_key(tmp_path):
    """No upsert is offered, which wants one."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("M", Box)
        db.load("M", [{"name": "a", "tags": None}])
        with refused(db, errors.UnknownLabel, "delete and insert of the row of M"), db.batch() as b:
            b.at("M", name="a").tags.insert(["x"])
        with db.batch() as b:
            b.delete("M", [{"name": "a", "tags": None}])
            b.insert("M", [{"name": "a", "tags": ["x"]}])
        assert db.relation("M").rows() == [{"name": "a", "tags": ["x"]}]
