"""Traps that others in this field fell into, each with what went wrong there: NULLs, multiplicities, labels, analysis.

Every view is compared with its definition after every batch. What Spark may get wrong by itself is tried in
``tests/spark/test_joiner.py``, and every scalar on both sides in ``tests/spark/test_scalars.py``.
"""

import runpy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from support.shop import item, order

import ripplenest as rn
from ripplenest import Bag, View, errors

Rows = list[dict[str, Any]]


@rn.record
class Row:
    k: int | None
    v: str | None


@rn.record
class Measure:
    x: float
    v: str


@rn.record
class Text:
    s: str
    v: str


@rn.record
class Item:
    part: int
    qty: int
    tags: Bag[str]


@rn.record
class Order:
    orderkey: int
    items: Bag[Item] | None


@rn.view
def joined(A: Bag[Row], B: Bag[Row]):
    return [{"a": a.v, "b": b.v} for a in A for b in B if a.k == b.k]


@rn.view
def nested(A: Bag[Row], B: Bag[Row]):
    """Rows with one k share a label."""
    return [{"k": a.k, "bs": [b.v for b in B if b.k == a.k or (b.k is None and a.k is None)]} for a in A]


@rn.view
def named(A: Bag[Row], B: Bag[Row]):
    """Only the name is shown: parents of one name stay apart."""
    return [{"v": a.v, "bs": [b.v for b in B if b.k == a.k]} for a in A]


@rn.view
def others(A: Bag[Row], B: Bag[Row]):
    """No equality: a dictionary with a domain of the labels in use."""
    return [{"k": a.k, "bs": [b.v for b in B if b.k < a.k]} for a in A]


@rn.view
def deeper(A: Bag[Row], B: Bag[Row]):
    """A label inside the rows of a label."""
    return [{"bs": [{"v": b.v, "cs": [c.v for c in B if c.k < b.k]} for b in B if b.k <= a.k]} for a in A]


@rn.view
def twice(A: Bag[Row]):
    return [{"v": a.v, "w": b.v} for a in A for b in A if a.k == b.k]


@rn.view
def chosen(A: Bag[Row], B: Bag[Row]):
    return [{"bs": [] if a.k is None else [b.v for b in B if b.k == a.k]} for a in A]


@rn.view
def chosen_value(A: Bag[Row]):
    return [{"x": a.k if a.k == 1 else 7, "y": "one" if a.k == 1 else a.v} for a in A]


@rn.view
def measured(X: Bag[Measure], Y: Bag[Measure]):
    return [{"x": x.x, "ys": [y.v for y in Y if y.x == x.x]} for x in X]


@rn.view
def texts(X: Bag[Text], Y: Bag[Text]):
    return [{"s": x.s, "ys": [y.v for y in Y if y.s == x.s]} for x in X]


@rn.view
def either(O: Bag[Order], P: Bag[Order]):  # noqa: E741
    """Stored bags of two relations and made ones under one field."""
    return (
        [{"items": o.items} for o in O]
        + [{"items": p.items} for p in P]
        + [{"items": [i for i in o.items if i.qty > 1]} for o in O]
    )


@rn.view
def passed(O: Bag[Order]):  # noqa: E741
    return [{"items": [] if o.orderkey == 2 else o.items} for o in O]


class Kept:
    """A database and the plain rows that it should have: each batch is compared with recomputation."""

    def __init__(self, db: rn.Database, relations: Mapping[str, type], *views: View) -> None:
        self.db, self.views = db, views
        self.rows: dict[str, Rows] = {name: [] for name in relations}
        for name, row in relations.items():
            db.relation(name, row)
        for view in views:
            db.create(view)

    def batch(self, insert: Mapping[str, Rows] | None = None, delete: Mapping[str, Rows] | None = None) -> rn.Report:
        with self.db.batch() as b:
            for name, rows in (delete or {}).items():
                b.delete(name, rows)
                for row in rows:
                    self.rows[name].remove(row)
            for name, rows in (insert or {}).items():
                b.insert(name, rows)
                self.rows[name] += rows
        for view in self.views:
            wanted = view(**{r: self.rows[r] for r, _ in view.query.relations})
            assert self.db.view(view.name).rows() == wanted, view.name
        return b.report

    def answer(self, view: View) -> Rows:
        return self.db.view(view.name).rows()


@pytest.fixture
def db(tmp_path) -> Iterator[rn.Database]:
    with rn.open(tmp_path / "state", engine="local") as db:
        yield db


@pytest.fixture
def kept(db) -> Kept:
    return Kept(db, {"A": Row, "B": Row}, joined, nested, named, others, deeper, twice, chosen, chosen_value)


def row(k: int | None, v: str | None = "v") -> dict[str, Any]:
    return {"k": k, "v": v}


# ---------------------------------------------------------------- NULLs and empties


def test_rows_with_null_keys_are_deleted(kept: Kept) -> None:
    """A delta join with ``=`` on keys never deletes the row whose key is NULL: identity is null-safe everywhere."""
    kept.batch({"A": [row(None), row(None, None), row(1)], "B": [row(None, "n"), row(1)]})
    assert [len(r["bs"]) for r in kept.answer(nested)] == [1, 1, 1]
    kept.batch(delete={"B": [row(None, "n")]})
    assert [len(r["bs"]) for r in kept.answer(nested)] == [0, 0, 1]
    kept.batch(delete={"A": [row(None, None), row(None)]})
    assert kept.answer(nested) == [{"k": 1, "bs": ["v"]}]


def test_null_is_equal_to_nothing_in_a_condition(kept: Kept) -> None:
    """Null-safe identity must not leak into ``=``: NULL joins with nothing, not with NULL."""
    kept.batch({"A": [row(None)], "B": [row(None)]})
    assert kept.answer(joined) == [] and kept.answer(named) == [{"v": "v", "bs": []}]


def test_a_bag_that_was_emptied_fills_again(kept: Kept) -> None:
    """A group that is emptied and then refilled disappears for ever."""
    kept.batch({"A": [row(2)], "B": [row(1), row(2)]})
    for _ in range(2):
        kept.batch(delete={"B": [row(1), row(2)]})
        assert kept.answer(nested) == [{"k": 2, "bs": []}] and kept.answer(others) == [{"k": 2, "bs": []}]
        kept.batch({"B": [row(1), row(2)]})
        assert kept.answer(nested) == [{"k": 2, "bs": ["v"]}] and kept.answer(others) == [{"k": 2, "bs": ["v"]}]


def test_empty_null_and_missing_are_three_things(db) -> None:
    """An empty inner bag, a NULL bag and a parent that is not there are not told apart."""
    shop = Kept(db, {"O": Order, "P": Order}, either)
    null: dict[str, Any] = {"orderkey": 1, "items": None}
    shop.batch({"O": [order(1), null]})
    assert [r["items"] for r in shop.answer(either)].count(None) == 1
    shop.batch(delete={"O": [order(1)]})
    shop.batch({"O": [order(1)]}, {"O": [null]})
    assert all(r["items"] == [] for r in shop.answer(either))
    shop.batch(delete={"O": [order(1)]})
    assert shop.answer(either) == []


def test_the_type_of_a_conditional_is_of_both_branches(kept: Kept) -> None:
    """``if`` is inferred from its then-branch alone: what only the other branch can be, a NULL or a bag, is lost."""
    kept.batch({"A": [row(None), row(1), row(2, None)], "B": [row(1)]})
    assert kept.answer(chosen) == [{"bs": []}, {"bs": []}, {"bs": ["v"]}]
    assert {"x": 7, "y": None} in kept.answer(chosen_value)


def test_a_null_bag_of_the_other_branch_is_null(db) -> None:
    """``if`` is inferred from its then-branch alone, for bags: ∅ and a stored bag that may be NULL."""
    shop = Kept(db, {"O": Order}, passed)
    shop.batch({"O": [{"orderkey": 1, "items": None}, {"orderkey": 2, "items": None}, order(1, item(1))]})
    found = [r["items"] for r in shop.answer(passed)]
    assert sorted(map(str, found)) == ["None", "[]", "[{'part': 1, 'qty': 2, 'tags': []}]"]


# ---------------------------------------------------------------- multiplicities


def test_a_row_that_was_never_there_cannot_be_deleted(kept: Kept) -> None:
    """Deleting a row that is not there leaves a negative count, and a later insert does not appear."""
    kept.batch({"A": [row(1)]})
    for rows in ([row(2)], [row(1), row(1)]):
        with pytest.raises(errors.RowNotThere), kept.db.batch() as b:
            b.delete("A", rows)
    kept.batch({"A": [row(2)]})
    assert [r["k"] for r in kept.answer(nested)] == [1, 2]


def test_one_of_several_equal_rows(kept: Kept) -> None:
    """Deleting one of several equal rows deletes all of them when rows are matched by value."""
    kept.batch({"A": [row(1)] * 3, "B": [row(1)] * 2})
    kept.batch(delete={"A": [row(1)], "B": [row(1)]})
    assert kept.answer(joined) == [{"a": "v", "b": "v"}] * 2
    assert kept.answer(nested) == [{"k": 1, "bs": ["v"]}] * 2


def test_in_and_out_in_one_batch_is_nothing(kept: Kept) -> None:
    """Unconsolidated +1 and -1 of a row reach what expects consolidated rows."""
    kept.batch({"A": [row(1)], "B": [row(1)]})
    report = kept.batch({"A": [row(1)], "B": [row(1)]}, {"A": [row(1)], "B": [row(1)]})
    assert not any(report.rows_out.values())


def test_both_sides_of_a_join_in_one_batch(kept: Kept) -> None:
    """A row that goes through both sides of a join is deleted twice, or not at all; so it is with one table twice."""
    kept.batch({"A": [row(1, "a"), row(2, "a")], "B": [row(1, "b"), row(2, "b")]})
    kept.batch(delete={"A": [row(1, "a")], "B": [row(1, "b")]})
    kept.batch({"A": [row(1, "x"), row(1, "y")], "B": [row(1, "z")]}, {"A": [row(2, "a")]})
    assert len(kept.answer(twice)) == 4


# ---------------------------------------------------------------- labels


def test_a_child_of_two_parents_reaches_both(kept: Kept) -> None:
    """A child that two parents share is delivered to one of them only."""
    kept.batch({"A": [row(2, "p"), row(2, "q"), row(2, "q")]})
    kept.batch({"B": [row(1, "b"), row(2, "c")]})
    assert [r["bs"] for r in kept.answer(nested)] == [["c"]] * 3
    assert [r["bs"] for r in kept.answer(others)] == [["b"]] * 3
    kept.batch(delete={"A": [row(2, "q")]})
    kept.batch(delete={"B": [row(1, "b")]})
    assert [r["bs"] for r in kept.answer(others)] == [[]] * 2


def test_a_label_that_nobody_holds_comes_back(kept: Kept) -> None:
    """A label cannot be rebuilt once its domain was eliminated: what happened meanwhile is in its bag."""
    kept.batch({"A": [row(5)], "B": [row(1, "b")]})
    kept.batch(delete={"A": [row(5)]})
    kept.batch({"B": [row(2, "c")]}, {"B": [row(1, "b")]})
    kept.batch({"A": [row(5)]})
    assert kept.answer(others) == [{"k": 5, "bs": ["c"]}]
    assert kept.answer(deeper) == [{"bs": [{"v": "c", "cs": []}]}]


def test_a_sum_of_dictionaries_has_all_of_them(db) -> None:
    """A union of dictionaries silently keeps the first one only."""
    shop = Kept(db, {"O": Order, "P": Order}, either)
    shop.batch({"O": [order(1, item(1, 1), item(2, 2))], "P": [order(1, item(3, 3))]})
    assert [[i["part"] for i in r["items"]] for r in shop.answer(either)] == [[1, 2], [2], [3]]
    shop.batch({"P": [order(1)]}, {"O": [order(1, item(1, 1), item(2, 2))]})


def test_a_batch_that_is_done_again_makes_the_same_labels(tmp_path) -> None:
    """Generated ids differ when a task is retried: here they are a function of the batch and of what is in it."""
    tables = []
    for name in ("one", "two"):
        with rn.open(tmp_path / name, engine="local") as db:
            db.relation("O", Order)
            with db.batch("s", 1) as b:
                rows = [order(1, item(1, 2, ("a",))), order(1, item(1, 2, ("a",))), order(2, item(3))]
                b.insert("O", rows if name == "one" else rows[::-1])
            snapshot = db._store.snapshot()
            tables.append({t: dict(snapshot.scan(t).consolidated().counts()) for t in db._store.tables()})
    assert tables[0] == tables[1] and len(tables[0]) > 1


def test_names_are_not_keys(kept: Kept) -> None:
    """Grouping by a name that is shown merges parents that only share it."""
    kept.batch({"A": [row(1, "Ann"), row(2, "Ann")], "B": [row(1, "x"), row(2, "y")]})
    assert kept.answer(named) == [{"v": "Ann", "bs": ["x"]}, {"v": "Ann", "bs": ["y"]}]


def test_keys_are_neither_hashed_nor_rounded(db) -> None:
    """Hashing or rounding keys merges different ones; NaN is one key, and so are 0.0 and -0.0."""
    near = [0.1, 0.1 + 2**-56, 1.0, 1.0 + 2**-52, 2.0**53, 2.0**53 + 2, 1e300, -1e300]
    numbers = Kept(db, {"X": Measure, "Y": Measure}, measured)
    numbers.batch({"X": [{"x": x, "v": "x"} for x in near], "Y": [{"x": x, "v": repr(x)} for x in near]})
    assert all(r["ys"] == [repr(r["x"])] for r in numbers.answer(measured))
    special = [float("nan"), 0.0, -0.0]
    numbers.batch({"X": [{"x": x, "v": "x"} for x in special], "Y": [{"x": x, "v": "s"} for x in special]})
    assert sorted(len(r["ys"]) for r in numbers.answer(measured)) == [1] * (len(near) + 1) + [2, 2]


def test_long_keys_and_texts_are_whole(db) -> None:
    """2^53 and 2^53 + 1 are one key as floats; so are texts that some collation or trimming makes equal."""
    kept = Kept(db, {"A": Row, "B": Row, "X": Text, "Y": Text}, named, texts)
    big = [2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
    kept.batch({"A": [row(k) for k in big], "B": [row(k, str(k)) for k in big]})
    assert sorted(r["bs"][0] for r in kept.answer(named)) == sorted(map(str, big))
    same = ["a", "A", "a ", "á", "a\u0301", "", " ", "1", "1.0", "\u0000"]
    kept.batch({"X": [{"s": s, "v": "x"} for s in same], "Y": [{"s": s, "v": s} for s in same]})
    assert all(r["ys"] == [r["s"]] for r in kept.answer(texts))


def test_the_order_inside_bags_is_no_change(db) -> None:
    """The order inside arrays is not deterministic, and makes rows look changed."""
    shop = Kept(db, {"O": Order, "P": Order}, either)
    items = [item(1, 2, ("a", "b")), item(2, 3)]
    shop.batch({"O": [order(1, *items)]})
    before = shop.answer(either)
    with db.batch() as b:
        b.delete("O", [order(1, item(2, 3), item(1, 2, ("b", "a")))])
        b.insert("O", [order(1, *items)])
    assert shop.answer(either) == before


# ---------------------------------------------------------------- analysis

CLOCKS = ("random.random()", "datetime.datetime.now()", "str(uuid.uuid4())", "time.time()")


@pytest.mark.parametrize("call", CLOCKS)
def test_what_differs_each_time_is_no_view(call: str, tmp_path) -> None:
    """A view that reads a clock or a random number has no delta: it is refused, with its place in the source."""
    file = tmp_path / "clock.py"
    file.write_text(
        "import datetime, random, time, uuid\nfrom ripplenest.nrc.surface.python import *\n\n"
        "@record\nclass R:\n    a: int\n\n"
        f"@view\ndef v(A: Bag[R]):\n    return [{call} for a in A]\n"
    )
    with pytest.raises(errors.Unsupported, match="non-deterministic") as caught:
        runpy.run_path(str(file))
    assert f"{file}:10" in str(caught.value)
