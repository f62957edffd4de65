"""Sum maps in a database: kept fresh, shared, recomputed, verified, rolled back, rebuilt and explained.

The view is of sales at prices: with a price, all sales of it are worth something else.
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.compiling import forget

import ripplenest as rn
from ripplenest.api import database
from ripplenest.data.rows import Rows
from ripplenest.delta import factor
from ripplenest.delta.added import Added
from ripplenest.errors import EvaluationError
from ripplenest.store.specs import Change

RELATIONS = """
relation S : Bag(⟨line: long, item: string, shop: string?, n: int?, paid: decimal(18,2)?, tip: decimal(38,2)?⟩) key line
relation P : Bag(⟨item: string, kind: string, price: long?⟩) key item
"""
JOINED = (
    "[⟨kind: p.kind, shop: s.shop, n: s.n, paid: s.paid, tip: s.tip, price: p.price⟩ | s in S, p in P, p.item = s.item]"
)
FOLDS = "n: sum(r.n, r.price), most: count(r.n), paid: avg(r.paid), tip: sum(r.tip), rows: count()"
WORTH = f"{RELATIONS}\nview worth = group[g](r in {JOINED} by kind: r.kind, shop: r.shop of {FOLDS})"
OTHERS = "v: sum(r.price, r.n), w: sum(r.paid)"
AGAIN = f"{RELATIONS}\nview again = group[h](r in {JOINED} by kind: r.kind, shop: r.shop of {OTHERS})"
LONGEST = Decimal((0, (9,) * 38, -2))


def view_of(text: str) -> Any:
    (view,) = rn.parse(text, "sales").views
    return view


def sale(
    line: int, item: str, shop: str | None, n: int | None, paid: str | None = None, tip: Any = None
) -> dict[str, Any]:
    paid_ = None if paid is None else Decimal(paid)
    return {"line": line, "item": item, "shop": shop, "n": n, "paid": paid_, "tip": tip}


def priced(item: str, kind: str, price: int | None) -> dict[str, Any]:
    return {"item": item, "kind": kind, "price": price}


SALES = [
    sale(1, "pear", "Rome", 2, "1.50"),
    sale(2, "pear", "Rome", -2, None, Decimal("0.01")),
    sale(3, "pear", "Oslo", None, "9999999999999999.99"),
    sale(4, "plum", None, 2**31 - 1, "-0.01", LONGEST),
    sale(5, "plum", None, 2**31 - 1, "-0.01"),
    sale(6, "kiwi", "Oslo", 0, "0.00"),
]
PRICES = [priced("pear", "fruit", 3), priced("plum", "fruit", -7), priced("kiwi", "berry", None)]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[rn.Database]:
    with rn.open(tmp_path / "state") as found:
        filled(found)
        yield found


def filled(db: rn.Database) -> None:
    for relation in rn.parse(WORTH, "sales").relations:
        db.relation(relation.name, relation.annotation, key=relation.key)
    db.load("S", SALES)
    db.load("P", PRICES)
    db.create(view_of(WORTH), materialize="full")


def summed(db: rn.Database) -> set[str]:
    kept = db._declared.views.values()
    return {m.name for view in kept for m in view.program.maps if m.summed}


def fresh(db: rn.Database) -> rn.Database:
    """``db``, in which all is what it should be, also by the interpreter."""
    found = db.verify(deep=True)
    assert found.ok and not found.not_compared, found
    return db


def rows_of(db: rn.Database, table: str) -> dict[Any, int]:
    return db._store.snapshot().scan(table).counts()


def test_it_is_kept_fresh_whatever_comes_and_goes(db: rn.Database) -> None:
    """NULLs, values that cancel, the largest there are, several relations in a batch, a key that empties and comes
    again; and where all is computed again."""
    assert summed(db) and fresh(db)
    for policy in ("incremental", "full", "incremental"):
        with db.batch(policy=policy) as b:
            b.delete("P", PRICES[:2])
            b.delete("S", SALES[:3])
            b.insert("P", [priced("pear", "berry", -3)])
        assert len(fresh(db).view("worth").rows()) == 1
        with db.batch(policy=policy) as b:
            b.delete("P", [priced("pear", "berry", -3)])
            b.insert("S", SALES[:3])
            b.insert("P", PRICES[:2])
        assert len(fresh(db).view("worth").rows()) == 4
        assert all(n == 1 for table in summed(db) for n in rows_of(db, table).values())
    with db.batch() as b:
        b.delete("S", SALES)
    assert fresh(db).view("worth").rows() == []


def test_values_that_leave_no_room_for_their_sums_are_kept_as_they_are(db: rn.Database) -> None:
    """Two of the longest decimals are of one key of a map, and of no group: no sum of both is made."""
    with db.batch() as b:
        b.insert("S", [sale(7, "figs", "Rome", 1, tip=LONGEST), sale(8, "figs", "Rome", 1, tip=LONGEST)])
    assert summed(fresh(db)) and all("tip" not in m.summed for m in db._declared.views["worth"].program.maps)
    with pytest.raises(EvaluationError, match="a sum or an average beyond its type"), db.batch() as b:
        b.insert("P", [priced("figs", "fruit", 1)])


def test_each_of_several_products_has_a_sum(db: rn.Database) -> None:
    """Of a column with itself, of one that is a factor of several products, and of one that is also counted."""
    with db.batch() as b:
        b.delete("S", SALES[3:5])
    squares = "v: sum(r.n, r.n, r.price), w: sum(r.n, r.paid), u: sum(r.price), n: count(r.n), m: avg(r.n, r.n)"
    view = view_of(f"{RELATIONS}\nview squares = group[q](r in {JOINED} by shop: r.shop of {squares})")
    db.create(view, materialize="full")
    found = [m.summed for m in db._declared.views["squares"].program.maps if m.summed]
    of_sales, of_prices = sorted(found, key=len, reverse=True)
    assert sorted(map(len, of_sales)) == [1, 2, 2] and of_prices == (("price",),)
    with db.batch() as b:
        b.insert("S", [sale(9, "pear", "Rome", 5, "2.00"), sale(10, "pear", "Rome", 7, "3.00")])
        b.delete("P", PRICES[:1])
        b.insert("P", [priced("pear", "fruit", 10)])
    fresh(db)


def test_a_rollback_takes_sums_back(db: rn.Database) -> None:
    before, sums = db.version, {table: rows_of(db, table) for table in summed(db)}
    with db.batch() as b:
        b.insert("S", [sale(9, "pear", "Rome", 5, "2.00")])
        b.delete("S", SALES[:1])
    db.rollback(before)
    assert {table: rows_of(fresh(db), table) for table in sums} == sums


@pytest.mark.parametrize("column", [-1, -2, -3])
def test_a_wrong_sum_or_count_is_found(db: rn.Database, column: int) -> None:
    """Of the map that sums n and paid by item and shop: with its columns."""
    table = max(summed(db), key=lambda t: len(db._store.tables()[t].types))
    types = db._store.tables()[table].types
    row = next(row for row in rows_of(db, table) if row[column] is not None)
    wrong = (*row[: column % len(row)], row[column] + 1, *row[column % len(row) + 1 :])
    db._store.commit(Change({table: Rows.of_pairs(types, [(row, -1), (wrong, 1)])}), db.version)
    (d,) = db.verify().differences
    assert (d.table, d.too_many.rows, d.missing.rows) == (table, ((wrong, 1),), ((row, 1),))
    assert "map of sums of" in d.of and len(d.columns) == len(types) and "sum_paid=" in str(d)


def test_a_wrong_row_of_a_group_is_shown_with_what_is_added_up(db: rn.Database) -> None:
    (table,) = [name for name in db._store.tables() if name.startswith("G/")]
    row = next(iter(rows_of(db, table)))
    at = next(i for i, value in enumerate(row) if isinstance(value, int))
    wrong = (*row[:at], row[at] + 1, *row[at + 1 :])
    db._store.commit(
        Change({table: Rows.of_pairs(db._store.tables()[table].types, [(row, -1), (wrong, 1)])}), db.version
    )
    (d,) = db.verify().differences
    assert "rows=" in str(d) and "sum_a0_a1=" in str(d) and d.of == "view worth, what rows of g come to"


def test_views_share_sum_maps(db: rn.Database) -> None:
    """One that two views need is stored once, and stays right for both, whoever goes."""
    own = summed(db)
    db.create(view_of(AGAIN), materialize="full")
    shared = {m.name for m in db._declared.views["again"].program.maps if m.summed} & own
    assert shared
    with db.batch() as b:
        b.delete("P", PRICES[:1])
        b.insert("P", [priced("pear", "fruit", 4)])
    fresh(db).drop("worth")
    assert shared <= db._store.tables().keys()
    with db.batch() as b:
        b.insert("S", [sale(9, "plum", "Rome", 5, "2.00")])
    fresh(db)


def test_a_view_of_a_release_without_them_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its maps are of another program: it waits, shows what it has, and gets sum maps."""
    with monkeypatch.context() as patch:
        patch.setattr(factor, "added", lambda _reader, head, *_: Added((), (), (head,)))
        forget()
        with rn.open(tmp_path / "state") as db:
            filled(db)
            assert not summed(db)
            shown = sorted(map(str, db.view("worth").rows()))
    forget()
    monkeypatch.setattr(database, "SMALL", -1)
    with rn.open(tmp_path / "state") as db:
        assert set(db.waiting) == {"worth"} and sorted(map(str, db.view("worth").rows())) == shown
        assert db.rebuild() == ("worth",) and summed(db)
        with db.batch() as b:
            b.delete("S", SALES[:2])
        fresh(db)


def test_explain_says_what_is_summed(db: rn.Database) -> None:
    found = db.view("worth").explain()
    (m,) = [m for m in found.json()["maps"] if m["summed"] == ["n", "paid"]]
    assert [c["name"] for c in m["columns"]][-5:] == ["rows", "rows_n", "sum_n", "rows_paid", "sum_paid"]
    assert "sums of n, paid by item, shop" in " ".join(found.text.split())
