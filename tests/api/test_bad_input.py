"""Bad input is refused with a reason and a path, and changes nothing: not the version, no table, no answer (P8)."""

import copy
from datetime import datetime
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest
from support.shop import ANN, BOB, FILMS, Customer, Movie, Order, customer, item, movie, order, tags
from support.states import recomputed, refused, unchanged

import ripplenest as rn
from ripplenest import Bag, errors

JARHEAD = movie("Jarhead", "Drama", "Mendes")


@pytest.fixture(autouse=True)
def _a_good_batch_still_works(db):
    """After whatever the test did."""
    yield
    rows = db.view("customers").rows()
    with db.batch() as b:
        b.upsert("C", [customer(7, "Zoe", [order(1, item(1, 1, ("z",)))])])
    rows = [customer(7, "Zoe", [order(1, item(1, 1, ("z",)))]), *(r for r in rows if r["custkey"] != 7)]
    recomputed(db, {"tags": tags}, {"C": rows})


def _broken(path: str, value: Any = None, **changes: Any) -> dict[str, Any]:
    """ANN with one thing wrong: at ``path``, a field less or more, or another value."""
    row = copy.deepcopy(ANN)
    place: Any = row
    *way, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    for step in way:
        place = place[step]
    if changes:
        place[last].update(changes)
    elif value is ...:
        del place[last]
    else:
        place[last] = value
    return row


FIRST = "orders.0.items.0"
BROKEN = [
    (_broken("name", ...), errors.WrongColumns, "rows[1]: missing fields name"),
    (_broken("orders.0", x=1), errors.WrongColumns, "rows[1].orders[0]: extra fields x"),
    (_broken(f"{FIRST}.qty", ...), errors.WrongColumns, "rows[1].orders[0].items[0]: missing fields qty"),
    (_broken(FIRST, **{"a.b\n": 1}), errors.WrongColumns, "rows[1].orders[0].items[0]: extra fields 'a.b\\n'"),
    (_broken("custkey", "7"), errors.WrongValue, "rows[1].custkey: wrong type"),
    (_broken("custkey", 7.0), errors.WrongValue, "rows[1].custkey: wrong type"),
    (_broken("custkey", True), errors.WrongValue, "rows[1].custkey: wrong type"),
    (_broken("custkey", None), errors.WrongValue, "rows[1].custkey: NULL"),
    (_broken("custkey", 2**63), errors.WrongValue, "rows[1].custkey: an integer beyond 64 bits"),
    (_broken("name", "\ud800"), errors.WrongValue, "rows[1].name: a string with a lone surrogate"),
    (_broken("orders", {}), errors.WrongValue, "rows[1].orders: not a bag"),
    (_broken("orders", "ab"), errors.WrongValue, "rows[1].orders: not a bag"),
    (_broken("orders.0.items", None), errors.WrongValue, "rows[1].orders[0].items: NULL"),
    (_broken("orders.0.items", [7]), errors.WrongValue, "rows[1].orders[0].items[0]: not a record"),
    (_broken(f"{FIRST}.tags", ["a", 1]), errors.WrongValue, "rows[1].orders[0].items[0].tags[1]: wrong type"),
    (_broken(f"{FIRST}.tags", [None]), errors.WrongValue, "rows[1].orders[0].items[0].tags[0]: NULL"),
    (None, errors.WrongValue, "rows[1]: not a record"),
    ("abc", errors.WrongValue, "rows[1]: not a record"),
]


@pytest.mark.parametrize(("row", "error", "shown"), BROKEN, ids=[shown for *_, shown in BROKEN])
def test_rows_that_do_not_fit(db, row, error, shown):
    for verb in ("insert", "delete", "upsert"):
        with refused(db, error, f"{verb} C: {shown}"), db.batch() as b:
            b.insert("M", [JARHEAD])
            getattr(b, verb)("C", [BOB, row])
    db.relation("L", Customer)
    with refused(db, error, f"load L: {shown}"):
        db.load("L", [BOB, row])


@pytest.mark.parametrize(
    ("rows", "error", "shown"),
    [
        (movie("x"), errors.WrongValue, "dicts, records"),
        ("abc", errors.WrongValue, "got      str"),
        (7, errors.WrongValue, "got      int"),
        (None, errors.WrongValue, "got      NoneType"),
        (pa.table({"name": ["x"]}), errors.WrongColumns, "missing fields gen, dir"),
        (pa.table({"name": ["x"], "gen": ["x"], "Dir": ["x"]}), errors.WrongColumns, "Dir"),
        (pa.table([["x"]] * 4, ["name", "gen", "dir", "dir"]), errors.WrongColumns, "other columns"),
        (pa.table({"name": [1], "gen": ["x"], "dir": ["x"]}), errors.WrongValue, "rows[0].name"),
        (pa.table({"name": pa.array([], pa.string())}), errors.WrongColumns, "other columns"),
    ],
)
def test_collections_that_do_not_fit(db, rows, error, shown):
    with refused(db, error, "insert M: rows", shown), db.batch() as b:
        b.insert("M", rows)


def test_messages_do_not_show_values(db):
    with pytest.raises(errors.WrongValue) as caught, db.batch() as b:
        b.insert("C", [customer("secret\x1b", "Ann")])
    assert "secret" not in str(caught.value) and "\x1b" not in str(caught.value)
    with pytest.raises(errors.RowNotThere) as gone, db.batch() as b:
        b.delete("M", [movie("secret")])
    assert "secret" not in str(gone.value)


def test_values_at_the_edges(db):
    """What a column can hold comes back as it came (or as its one canonical form)."""

    @rn.record
    class Edge:
        x: float
        n: int
        s: str
        t: datetime
        d: rn.Decimal[5, 2]
        more: Bag[float]

    @rn.view
    def edges(E: Bag[Edge]):
        return [{"e": e, "again": [m for m in e.more if m == e.x]} for e in E]

    db.relation("E", Edge)
    db.create(edges)
    nan, inf = float("nan"), float("inf")
    row = {"x": -0.0, "n": -(2**63), "s": "\0", "t": datetime(1, 1, 1), "d": Number("-0.5"), "more": [nan, -nan, 0.0]}
    rows = [row, {**row, "x": nan, "s": "", "t": datetime(9999, 12, 31)}, {**row, "x": inf, "n": 2**63 - 1}]
    with db.batch() as b:
        b.insert("E", [*rows, *rows])
    with db.batch() as b:
        b.delete("E", rows)
        b.at("E", x=-nan).more.delete([nan])
        b.at("E", x=0.0, d=Number("-0.50")).more.delete([-0.0])
    rows = [{**row, "more": [nan, nan]}, {**rows[1], "more": [nan, 0.0]}, rows[2]]
    assert repr(db.view("edges").rows()) == repr(edges(rows))
    for field, bad in [("d", Number("0.005")), ("d", Number("NaN")), ("d", 0.5), ("t", "2020-01-01"), ("n", 2**63)]:
        with refused(db, errors.WrongValue, f"insert E: rows[0].{field}"), db.batch() as b:
            b.insert("E", [{**row, field: bad}])


# ---------------------------------------------------------------- rows and the state


def test_deletes_of_rows_that_are_not_there(db):
    for rows, shown in [
        ([movie("nobody")], "rows[0]"),
        ([FILMS[0], FILMS[0]], "rows[1]"),
        ([{**FILMS[0], "gen": None}], "rows[0]"),
    ]:
        with refused(db, errors.RowNotThere, f"operation 0 (delete M): {shown}", "wanted", "got"), db.batch() as b:
            b.delete("M", rows)
    for row in (
        {**ANN, "name": None},
        {**ANN, "orders": []},
        {**ANN, "orders": None},
        {**BOB, "orders": []},
        _broken(f"{FIRST}.tags", ["a", "a"]),
        _broken(f"{FIRST}.tags", []),
        {**ANN, "custkey": 70},
    ):
        with refused(db, errors.RowNotThere, "operation 1 (delete C): rows[0]"), db.batch() as b:
            b.insert("M", [JARHEAD])
            b.delete("C", [row])


def test_keys(db):
    with refused(db, errors.DuplicateKey, "operation 0 (insert C): rows[1]", "custkey", "upsert"), db.batch() as b:
        b.insert("C", [customer(1), customer(7)])
    with refused(db, errors.DuplicateKey, "operation 0 (insert C): rows[1]"), db.batch() as b:
        b.insert("C", [customer(1), customer(1)])
    with refused(db, errors.DuplicateKey, "operation 1 (insert C): rows[0]"), db.batch() as b:
        b.upsert("C", [customer(1)])
        b.insert("C", [customer(1)])
    with refused(db, errors.DuplicateKey, "operation 0 (upsert C): rows[2]", "each custkey once"), db.batch() as b:
        b.upsert("C", [customer(1, "x"), customer(2), customer(1, "y")])
    with refused(db, errors.NoKey, "M: upsert needs a key", "key="), db.batch() as b:
        b.upsert("M", [JARHEAD])
    db.relation("L", Customer, key=("name", "custkey"))
    with unchanged(db):
        db.relation("L", Customer, key=("custkey", "name"))
    with refused(db, errors.DuplicateKey, "load L: rows[2]", "each custkey, name once"):
        db.load("L", [customer(1, None), customer(1, "x"), customer(1, None)])
    db.load("L", [customer(1, None), customer(1, "x")])
    with db.batch() as b:
        b.upsert("L", [customer(1, None, [])])
        b.at("L", custkey=1, name=None).orders.insert([order(1)])
        b.delete("L", [customer(1, "x")])
    assert len(db._store.snapshot().scan("L").consolidated()) == 1


@pytest.mark.parametrize(
    ("key", "error", "shown"),
    [
        ("nokey", errors.UnknownName, "custkey, name, orders"),
        ("orders", errors.TypeMismatch, "K.orders"),
        (("custkey", "x"), errors.UnknownName, "relation K"),
        (7, errors.WrongValue, "relation K: not a key"),
    ],
)
def test_keys_that_cannot_be(db, key, error, shown):
    with refused(db, error, shown):
        db.relation("K", Customer, key=key)


# ---------------------------------------------------------------- declarations and views


def test_relations_declared_differently(db):
    for args, shown in [(("C", Customer), "custkey"), (("M", Movie, "name"), "key name"), (("M", Order), "orderkey")]:
        with refused(db, errors.RelationChanged, f"relation {args[0]}", shown, "wanted", "got"):
            db.relation(*args)
    for bad in (7, dict, "Movie", object(), set[str]):
        with refused(db, errors.Unsupported, "relation X"):
            db.relation("X", bad)


def test_relations_and_views_that_are_not_there(db):
    shown = "no such relation", "X", "possible C, M"
    with refused(db, errors.UnknownRelation, *shown):
        db.load("X", [])
    for verb in ("insert", "delete", "upsert"):
        with refused(db, errors.UnknownRelation, *shown), db.batch() as b:
            b.insert("M", [JARHEAD])
            getattr(b, verb)("X", [])
    with refused(db, errors.UnknownView, "nothing", "customers"):
        db.view("nothing")
    with refused(db, errors.UnknownView, "M", "relation('M'), customers"):
        db.view("M")
    with refused(db, errors.UnknownView, "M", "a view of its rows, `[r for r in M]`"):
        db.publish("M", "nowhere")


def test_views_that_do_not_fit(db):
    @rn.view
    def of_nothing(Nothing: Bag[Movie]):
        return Nothing

    @rn.record
    class Film:
        name: str
        year: int

    @rn.view
    def of_other_fields(M: Bag[Film]):
        return [m.year for m in M]

    first = "possible relation('Nothing', ...) first, C, M"
    with refused(db, errors.UnknownRelation, "view of_nothing", "got      Nothing", first):
        db.create(of_nothing)
    with refused(db, errors.TypeMismatch, "view of_other_fields", "reads M", "dir: string?", "year: long"):
        db.create(of_other_fields)
    with refused(db, errors.UnknownName, "test_bad_input.py", "year", "name, gen, dir"):

        @rn.view
        def of_an_unknown_field(M: Bag[Movie]):
            return [m.year for m in M]

    for bad in (None, "tags", lambda M: M):
        with refused(db, errors.QueryError, "not a view"):
            db.create(bad)


def test_a_view_of_another_definition(db):
    def other():
        @rn.view
        def tags(C: Bag[Customer]):
            return [{"n": c.name, "p": 1, "t": "t"} for c in C]

        return tags

    with refused(db, errors.ViewChanged, "view tags", "another definition", "another name"):
        db.create(other())
    folder = db._store.path
    with rn.open(folder, engine="local") as again, refused(again, errors.ViewChanged, "view tags"):
        again.create(other())
    with unchanged(db):
        db.create(tags)


def test_a_directory_of_something_else(db, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with refused(db, errors.StateError, "not a state directory", "notes.txt"):
        rn.open(tmp_path / "other")
    assert (tmp_path / "other" / "notes.txt").read_text() == "mine"


def test_changes_since_a_version_that_is_not(db):
    for since in (-1, db.version + 1):
        with refused(db, errors.StateError, "outside"):
            db._store.snapshot().delta("tags", since)
