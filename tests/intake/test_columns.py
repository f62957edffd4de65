"""By columns a batch does what it does by rows, and fails with the same words: flat rows and documents, at every depth.

Every combination of verbs, keys present or not, NULL and NaN, rows that come and go in one batch, on what earlier
batches have left.
"""

import re
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.customers import (
    COUNTS,
    KEYS,
    NEVER,
    Customer,
    Document,
    Life,
    Row,
    deep,
    documents,
    flat_batch,
    life,
    nested_batch,
    random_batches,
    related,
)
from support.laws import law
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data import levels
from ripplenest.data.rows import Rows
from ripplenest.errors import BatchConflict
from ripplenest.intake import apply, held
from ripplenest.intake.columns import ColumnChanges
from ripplenest.intake.operations import FORMS, Form
from ripplenest.intake.session import Session
from ripplenest.intake.shredding import Anew
from ripplenest.nrc.errors import LawBroken, RipplenestError
from ripplenest.state import commits
from ripplenest.store.specs import Change


@pytest.mark.parametrize("key", [None, "a"])
@law(random_batches(flat_batch), examples=many(10, 60))
def test_flat_rows_by_columns_as_by_rows(key: str | None, batches: Life) -> None:
    def opened(folder: str) -> Database:
        db = rn.open(folder, engine="local")
        db.relation("R", Row, key=key)
        db.create(related)
        return db

    keys = {"": key} if key else {}
    assert life(opened, keys, batches, 0, True) == life(opened, keys, batches, NEVER, True)


@pytest.mark.parametrize("name", KEYS)
@law(random_batches(nested_batch), examples=many(12, 60))
def test_documents_by_columns_as_by_rows(name: str, batches: Life) -> None:
    opened, keys = documents(name)
    said = str if "orders" in keys else without_what_there_is
    assert life(opened, keys, batches, 0, False, said=said) == life(opened, keys, batches, NEVER, False, said=said)


def without_what_there_is(error: RipplenestError) -> str:
    """Of several bags that refuse a row the first one says what it has instead: of orders without a key that with the
    least number, and these are in another order by columns than by rows."""
    there = "no such row|a row with this key and other contents|only rows with other inner bags|fewer such rows"
    return re.sub(rf"\n  got +({there})(?=\n|$)", "", str(error))


def test_enough_was_met() -> None:
    verbs = ("insert ", "delete ", "upsert ", "delete_key ", "discard_key ")
    paths = ("orders", "items", "notes", "all items", "labelled", "seen", "set date", "set by date", "set city")
    done_at = {path: sum(n for what, n in COUNTS.items() if what.endswith(f" {path}")) for path in paths}
    assert all(COUNTS[verb] > many(6, 20) for verb in verbs) and all(done_at.values()), (COUNTS, done_at)
    assert all(COUNTS[e] > 20 for e in ("DuplicateKey", "RowNotThere", "UnknownKey")) and COUNTS["rows"] > 500, COUNTS
    assert COUNTS["by columns"] > many(120, 250), COUNTS


def test_operations_of_one_shape_that_see_each_other() -> None:
    """A row that comes twice, and rows that the first operation sets and the second asks for."""
    orders = [{"orderkey": k, "date": d, "items": [], "notes": None} for k, d in enumerate("de")]
    first = {"custkey": 0, "info": {"city": "p", "seen": []}, "orders": orders, "rests": []}
    seen = {"b": 1.0, "c": "x"}

    def said(operations: Callable[[Any], object], few: int) -> object:
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            patch.setattr(apply, "FEW", few)
            with rn.open(folder, engine="local") as db:
                db.relation("R", Customer, key="custkey", keys=KEYS["outer"])
                db.load("R", [first])
                with db.batch() as b:  # from here on orders are found by their dates
                    b.at("R", custkey=0).orders.at_all(date="d").set(date="d")
                try:
                    with db.batch() as b:
                        operations(b)
                except RipplenestError as error:
                    return str(error)
                assert db.verify().ok
                return db.relation("R").rows()

    def twice(b: Any) -> None:
        b.at("R", custkey=0).info.seen.insert([seen])
        b.at("R", custkey=0).info.seen.insert([seen])

    def at_once(b: Any) -> None:
        b.at("R", custkey=0).info.seen.insert([seen, seen])

    def swapped(b: Any) -> None:
        b.at("R", custkey=0).orders.at_all(date="d").set(date="e")
        b.at("R", custkey=0).orders.at_all(date="e").set(date="d")

    assert "there is a row with this key" in str(said(twice, 0)) and said(twice, 0) == said(twice, NEVER)
    assert "two rows with this key" in str(said(at_once, 0)) and said(at_once, 0) == said(at_once, NEVER)
    assert said(swapped, 0) == said(swapped, NEVER)


@law(random_batches(nested_batch), examples=many(3, 20))
def test_documents_that_look_alike(batches: Life) -> None:
    """Numbers that are equal for all rows, whatever is in them, make no other rows."""

    def opened(folder: str) -> Database:
        db = rn.open(folder, engine="local")
        db.relation("R", Customer, key="custkey")
        db.create(deep)
        return db

    def alike(_columns: object, _bags: object, rows: int) -> Any:
        return np.zeros(rows, np.uint64)

    keys = {"": "custkey"}
    by_rows = [x for x in life(opened, keys, batches, NEVER, False) if not isinstance(x, tuple)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "row_prints", alike)
        patch.setattr(held, "row_prints", alike)
        assert [x for x in life(opened, keys, batches, 0, False) if not isinstance(x, tuple)] == by_rows


def one_number(_self: Anew, _part: object, _label: object, level: levels.Level) -> Any:
    return np.full(len(level), 7)


def without_what_is_below(_self: ColumnChanges, part: Any, rows: Rows) -> dict[str, Rows]:
    return {part.name: rows}


@pytest.mark.parametrize(
    ("of", "name", "broken"),
    [
        (Anew, "numbers", one_number),
        (ColumnChanges, "whole", without_what_is_below),
    ],
)
def test_what_is_no_consistent_update_is_not_done(
    monkeypatch: pytest.MonkeyPatch, of: type, name: str, broken: Any
) -> None:
    """Definition 2 is checked by columns, too: where it is broken, on purpose here, the batch is run by rows."""
    monkeypatch.setattr(apply, "FEW", 0)
    info = {"city": "p", "seen": []}
    rows = [{"custkey": k, "info": info, "orders": None, "rests": [[k], [k, k]]} for k in range(3)]
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/s", engine="local") as db:
        db.relation("R", Customer, key="custkey")
        db.create(deep)
        db.load("R", rows[:2])
        monkeypatch.setattr(of, name, broken)
        with db.batch() as b:
            b.insert("R", rows[2:])
        with db.batch() as b:
            b.delete_key("R", custkey=1)
        monkeypatch.undo()
        assert db.relation("R").rows() == db_rows([rows[0], rows[2]]) and db.verify(deep=True).ok


def test_a_label_that_two_rows_hold_is_not_overlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a state that was damaged: by columns as by rows."""

    @rn.record
    class Doc:
        n: int
        xs: Bag[int]

    for few in (NEVER, 0):
        monkeypatch.setattr(apply, "FEW", few)
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
            db.relation("D", Doc)
            db.load("D", [{"n": 1, "xs": [1]}, {"n": 2, "xs": []}])
            (own, other) = sorted(db._store.snapshot().scan("D").counts())
            types = db._store.tables()["D"].types
            change = {"D": Rows.of_counts(types, {other: -1, (2, own[1]): 1})}
            db._store.commit(Change(change), db.version)
            with pytest.raises(LawBroken, match="is held 2 times"), db.batch() as b:
                b.at("D", n=1).xs.insert([5])
                b.at("D", n=2).xs.insert([6])


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done by columns from here on."""
    seen: list[str] = []
    write, replace = ColumnChanges.write, ColumnChanges.replace
    monkeypatch.setattr(
        ColumnChanges,
        "write",
        lambda self, verb, part, *rest: (seen.append(f"{verb} {part.name}"), write(self, verb, part, *rest)),
    )
    monkeypatch.setattr(
        ColumnChanges,
        "replace",
        lambda self, part, *rest: (seen.append(f"set {part.name}"), replace(self, part, *rest)),
    )
    return seen


def test_tiny_operations_are_run_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(monkeypatch)
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/s", engine="local") as db:
        db.relation("R", Row, key="a")
        many = [{"a": i, "inner": {"b": None, "c": "x"}, "d": None} for i in range(100)]
        with db.batch() as b:
            b.insert("R", many)
            b.delete("R", many[:90])
        with db.batch() as b:
            for row in many[:90]:
                b.insert("R", [row])
        assert seen == ["insert R", "delete R"]


@pytest.mark.parametrize("verb", ["insert", "upsert"])
def test_documents_that_went_and_come_again_are_inserted_by_columns(monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    """What segments have of them cancels: it holds no label any longer."""
    info = {"city": "p", "seen": [{"b": 1.0, "c": "x"}]}
    rows = [{"custkey": k, "info": info, "orders": None, "rests": [[k]]} for k in range(100)]
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("R", Customer, key="custkey", keys=KEYS["outer"])
        db.load("R", rows)
        monkeypatch.setattr(Session, "run", None)
        for _ in range(3):
            with db.batch() as b:
                b.delete("R", rows[:60])
            with db.batch() as b:
                getattr(b, verb)("R", rows[:60])
        assert db.relation("R").rows() == db_rows(rows)


def test_many_deep_operations_of_one_shape_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(monkeypatch)
    info = {"city": "p", "seen": []}
    orders = [{"orderkey": 1, "date": None, "items": [{"line": 1, "part": None, "tags": ["a"]}], "notes": None}]
    rows = [{"custkey": k, "info": info, "orders": orders, "rests": [[1]]} for k in range(50)]
    new = {"line": 2, "part": 1.0, "tags": ["b", "b"]}
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/s", engine="local") as db:
        db.relation("R", Customer, key="custkey", keys=KEYS["all"])
        db.load("R", rows)
        with db.batch() as b:
            for k in range(50):
                b.at("R", custkey=k).orders.at(orderkey=1).items.insert([new])
            for k in range(50):
                b.at("R", label=(k, 1)).orders.items.delete_key(line=1)
            for k in range(50):
                b.at("R", custkey=k).orders.at(orderkey=1).set(date=str(k))
            for k in range(50):
                b.at("R", custkey=k).info.set(city=str(k))
        assert seen == ["insert R", "insert R.orders.items", "delete_key R.orders.items", "set R.orders", "set R"]
        assert b.report.rows_in == {"R.orders.items": 100, "R.orders.items.tags": 100, "R.orders": 100, "R": 100}
        found = db.relation("R").rows()
        wanted = [
            {**row, "info": {**info, "city": str(k)}, "orders": [{**orders[0], "date": str(k), "items": [new]}]}
            for k, row in enumerate(rows)
        ]
        assert found == db_rows(wanted)


def db_rows(rows: list[Document]) -> Any:
    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/s", engine="local") as db:
        db.relation("R", Customer)
        db.load("R", rows)
        return db.relation("R").rows()


@pytest.mark.parametrize("form", FORMS[1:])
def test_a_batch_of_an_earlier_release_is_not_applied_again(monkeypatch: pytest.MonkeyPatch, form: Form) -> None:
    """Its digest is of rows, or of flat ones only by columns."""
    digest = commits.digest_of
    flat = [{"a": i, "inner": {"b": None, "c": "x"}, "d": None} for i in range(30)]
    rows = [{"custkey": k, "info": {"city": "p", "seen": []}, "orders": None, "rests": [[k]]} for k in range(30)]

    def again(flat: list[Document], rows: list[Document]) -> rn.Report:
        with db.batch("s", 1) as b:
            b.insert("R", rows)
            b.insert("F", flat)
        return b.report

    with tempfile.TemporaryDirectory() as folder, rn.open(f"{folder}/s", engine="local") as db:
        db.relation("F", Row, key="a")
        db.relation("R", Customer, key="custkey")
        with monkeypatch.context() as patch:
            patch.setattr(commits, "digest_of", lambda operations, _=FORMS[0]: digest(operations, form))
            assert again(flat, rows).applied
        assert not again(flat[::-1], rows[::-1]).applied
        with pytest.raises(BatchConflict):
            again(flat[1:], rows)
        with pytest.raises(BatchConflict):
            again(flat, rows[1:])
