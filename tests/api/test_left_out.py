"""What Python does not work out is not worked out in a view: behind ``and``, ``or``, ``if`` and ``else``, and
for rows that conditions leave out."""

import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.choices import Choices
from support.in_order import in_order
from support.laws import law
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.nrc.surface.text.files import parse_file

COUNTS: Counter[str] = Counter()


@rn.record
class Row:
    id: int
    n: int
    ys: Bag[int]


def asked_by_and(R: Bag[Row]):
    return [{"id": x.id} for x in R if x.n != 0 and any(y % x.n == 1 for y in x.ys) and 6 % x.n == 0]


def asked_of_all_rows(R: Bag[Row]):
    return [{"id": x.id} for x in R if x.n != 0 and not any(y.id % x.n == 1 for y in R)]


def asked_by_or(R: Bag[Row]):
    return [{"id": x.id} for x in R if x.n == 0 or any(y % x.n == 1 for y in x.ys)]


def asked_by_not(R: Bag[Row]):
    return [{"id": x.id} for x in R if not (x.n == 0 or x.id == 1 or all(y % x.n == 1 for y in x.ys))]


def answers(R: Bag[Row]):
    return [
        {
            "id": x.id,
            "sum": sum(y % x.n for y in x.ys) if x.n != 0 and x.ys else 0,
            "else": -1 if x.n == 0 else len([y for y in x.ys if y % x.n == 0]),
            "and": x.n != 0 and any(y % x.n == 1 for y in x.ys),
            "or": x.n == 0 or all(y % x.n == 0 for y in x.ys),
            "inner": (sum(y % x.n for y in x.ys) if x.ys else 0) if x.n != 0 else 2,
            "bags": [[y % x.n for y in x.ys] if x.n != 0 else x.ys],
        }
        for x in R
    ]


def of_some(x):
    if x.n == 0:
        return 0
    return len([y for y in x.ys if y % x.n == 1])


def by_statements(R: Bag[Row]):
    return [{"id": x.id, "n": of_some(x)} for x in R]


def of_others(x, R):
    later = [y for y in R if y.id > x.id]
    return len([y for y in later if y.id % x.n == 1])


def of_more(x, R):
    n = len([y for y in x.ys if y % x.n == 1])
    later = [y for y in R if y.id > n]
    return len(later) + len([y for y in later if y.id % x.n == 1])


def with_names_elsewhere(R: Bag[Row]):
    """Bags that a function names, and of which it makes totals; one is made of a total."""
    return [
        {"id": x.id, "of": of_others(x, R) if x.n != 0 else -1, "more": -1 if x.n == 0 else of_more(x, R)} for x in R
    ]


def with_a_name(R: Bag[Row]):
    """Which is read with a condition and without."""
    return [
        {"id": x.id, "some": n if x.n > 1 else -1, "all": n}
        for x in R
        if x.n != 0
        for n in [len([y for y in x.ys if y % x.n == 1])]
    ]


def by_a_difference(R: Bag[Row]):
    """Which can fail itself, of other numbers."""
    return [{"id": x.id, "n": len([y for y in x.ys if y % (x.n - 2) == 0])} for x in R if x.n - 2 != 0]


def by_a_rest(R: Bag[Row]):
    return [
        {"id": x.id, "n": len([y for y in x.ys if y % (x.id % x.n) == 0])} for x in R if x.n != 0 and x.id % x.n != 0
    ]


def by_a_total(R: Bag[Row]):
    return [{"id": x.id, "n": len([y for y in x.ys if y % t == 0])} for x in R for t in [len(x.ys)] if t != 0]


def by_a_key(R: Bag[Row]):
    """Which has no value for some rows, beside a total."""
    return [
        {"x": x.id, "y": y.id}
        for x in R
        if x.n != 0 and x.id % x.n != 0 and len(R) > 1
        for y in R
        if y.n == 5 % (x.id % x.n)
    ]


def by_a_row(R: Bag[Row]):
    """Which another one tells from those that it leaves out."""
    return [
        {"id": x.id, "n": len([y for y in x.ys if y % x.n == 1]), "max": max((y % x.n for y in x.ys), default=0)}
        for k in R
        if k.id == 0
        for x in R
        if k.n < x.n
    ]


def by_rows_around(R: Bag[Row]):
    return [
        {"id": x.id, "zs": [{"id": z.id, "n": len([y for y in z.ys if y % z.n == 1])} for z in R if x.n < z.n]}
        for x in R
    ]


def by_the_key(R: Bag[Row]):
    return [{"n": n, "sum": sum(6 % x.n for x in xs)} for n, xs in rn.group_by(R, lambda x: x.n) if n != 0]


def by_the_rows_of_a_key(R: Bag[Row]):
    return [
        {"key": key, "sum": sum(6 % x.n for x in xs)}
        for key, xs in rn.group_by(R, lambda x: x.id % 2)
        if all(x.n != 0 for x in xs)
    ]


def by_who_has_the_key(R: Bag[Row]):
    return [
        {"n": n, "id": y.id, "sum": sum(6 % x.n for x in xs), "count": len(xs)}
        for n, xs in rn.group_by(R, lambda x: x.n)
        for y in R
        if y.id == n + 1 and y.id > 1
    ]


def by_all_of_them(R: Bag[Row]):
    """A total of the rows of which something is folded."""
    return [
        {"id": x.id, "n": len([y for y in later if 6 % y.n == 0])}
        for x in R
        for later in [[y for y in R if y.id > x.id]]
        if all(y.n != 0 for y in later)
    ]


PLAIN = (
    *(asked_by_and, asked_of_all_rows, asked_by_or, asked_by_not, answers, by_statements),
    *(with_a_name, with_names_elsewhere, by_a_difference, by_a_rest, by_a_total, by_a_key),
    *(by_a_row, by_rows_around, by_the_key, by_who_has_the_key),
)
VIEWS = [rn.view(f) for f in PLAIN]
BY_TOTALS = (by_the_rows_of_a_key, by_all_of_them)  # deltas meet rows before the total that leaves them out


def rows(c: Choices) -> list[Row]:
    return [Row(i, c.number(4), [c.number(6) for _ in range(c.number(3))]) for i in range(6) if c.one_in(2)]


def means(f: Callable[[Any], Any], db: rn.Database) -> Any:
    return in_order(f([types.SimpleNamespace(**row) for row in db.relation("R").rows()]))


@law(examples=many(8, 300))
def test_views_are_what_python_makes_of_the_rows(c: Choices) -> None:
    """While n becomes 0 and becomes another number again."""
    with TemporaryDirectory(dir=MEMORY) as folder, rn.open(f"{folder}/s", engine="local") as db:
        db.relation("R", Row, key="id")
        for view in VIEWS:
            db.create(view)
        for _ in range(4):
            with db.batch(policy="incremental") as b:
                b.upsert("R", rows(c))
                b.discard_key("R", [{"id": i} for i in range(6) if c.one_in(6)])
            for plain, view in zip(PLAIN, VIEWS, strict=True):
                found = db.view(view.name).rows()
                assert in_order(found) == means(plain, db), view.name
                assert view(db.relation("R").rows()) == found
                COUNTS[view.name] += bool(found)
            COUNTS["zero"] += any(row["n"] == 0 for row in db.relation("R").rows())
        found = db.verify(deep=True)
        assert found.ok and "not compared" not in str(found)
        with rn.open(f"{folder}/again", engine="local") as again:  # made at once, and not by batches
            again.relation("R", Row, key="id")
            again.load("R", db.relation("R").rows())
            for view in VIEWS:
                again.create(view)
                assert again.view(view.name).rows() == db.view(view.name).rows(), view.name
            for plain in BY_TOTALS:
                again.create(rn.view(plain))
                assert in_order(again.view(plain.__name__).rows()) == means(plain, again)
                COUNTS[plain.__name__] += bool(again.view(plain.__name__).rows())


def test_enough_was_met() -> None:
    assert min(COUNTS[name] for name in ("zero", *(f.__name__ for f in PLAIN))) > many(5, 300), COUNTS
    assert min(COUNTS[f.__name__] for f in BY_TOTALS) >= many(2, 100), COUNTS


TEXT = """
relation R : Bag(⟨id: long, n: long, ys: Bag(long)⟩) key id
view sides = [ {id: x.id, s: if(x.n ≠ 0, count([y | y in x.ys, y mod x.n = 1]), 0)} | x in R ]
view joined = [ {id: x.id} | x in R, x.n = 0 or any(y mod x.n = 1 | y in x.ys) ]
view guarded = [ {id: x.id} | x in R, x.n ≠ 0 and any(y mod x.n = 1 | y in x.ys) ]
view value = [ {id: x.id, s: x.n ≠ 0 and any(y mod x.n = 1 | y in x.ys)} | x in R ]
"""


def test_the_same_in_text(tmp_path: Path) -> None:
    program = parse_file(TEXT)
    given = [Row(1, 0, [3]), Row(2, 2, [5, 4]), Row(3, 3, [6])]
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation(program.relation("R"))
        db.load("R", given)
        for view in program.views:
            db.create(view)
        made = {view.name: db.view(view.name).rows() for view in program.views}
    found = {name: {row["id"]: row.get("s", True) for row in rows} for name, rows in made.items()}
    assert found == {
        "sides": {1: 0, 2: 1, 3: 0},
        "joined": {1: True, 2: True},
        "guarded": {2: True},
        "value": {1: False, 2: True, 3: False},
    }


def test_what_is_worked_out_fails() -> None:
    assert beside([Row(0, 0, [3])]) == []
    with pytest.raises(errors.EvaluationError, match="division by zero"):
        beside([Row(1, 0, [3])])


@rn.view
def beside(R: Bag[Row]):
    return [{"id": x.id} for x in R if x.id > 0 and any(y % x.n == 1 for y in x.ys)]


@rn.view
def decided(R: Bag[Row]):
    return [{"id": x.id, "s": sum(y % x.n for y in x.ys) if len(x.ys) < x.n else 0} for x in R]


def test_what_a_total_decides_is_worked_out_all_the_same() -> None:
    assert decided([Row(1, 0, [])]) == [{"id": 1, "s": 0}]
    with pytest.raises(errors.EvaluationError, match="division by zero"):
        decided([Row(1, 0, [3])])


@rn.view
def beside_all(R: Bag[Row]):
    """What is the same for all rows, of which there may be none."""
    return [
        {
            "id": x.id,
            "sum": sum(6 % y.n for y in R),
            "by": [{"rest": rest, "ids": [y.id for y in ys]} for rest, ys in rn.group_by(R, lambda y: 6 % y.n)],
        }
        for x in R
        if x.id > 9
    ]


@pytest.mark.parametrize("first", [True, False])
def test_what_is_the_same_for_all_is_worked_out_for_some(tmp_path: Path, first: bool) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Row, key="id")
        if first:
            db.create(beside_all)
        with db.batch(policy="incremental") as b:
            b.insert("R", [Row(1, 0, []), Row(2, 4, [])])
        if not first:
            db.create(beside_all)
        assert db.view("beside_all").rows() == []
        with pytest.raises(errors.EvaluationError, match="division by zero"), db.batch() as b:
            b.insert("R", [Row(10, 1, [])])
        with db.batch() as b:
            b.upsert("R", [Row(1, 5, []), Row(10, 4, [])])
        by = [{"rest": 1, "ids": [1]}, {"rest": 2, "ids": [2, 10]}]
        assert db.view("beside_all").rows() == [{"id": 10, "sum": 5, "by": by}] and db.verify(deep=True).ok


@rn.record
class Item:
    line: int
    f: int


@rn.record
class Order:
    no: int
    items: Bag[Item]


@rn.record
class Contract:
    id: int
    start: int
    end: int
    orders: Bag[Order]


@rn.record
class Clock:
    id: int
    now: int


def at(C, K):
    """The contracts that are valid."""
    return [c for k in K if k.id == 1 for c in C if c.start <= k.now and k.now < c.end]


@rn.view
def of_one_level(C: Bag[Contract], K: Bag[Clock]):
    return [{"c": c.id, "sum": sum(10 // i.f for o in c.orders for i in o.items)} for c in at(C, K)]


@rn.view
def of_two_levels(C: Bag[Contract], K: Bag[Clock]):
    return [{"c": c.id, "sum": sum(sum(10 // i.f for i in o.items) for o in c.orders)} for c in at(C, K)]


@rn.view
def beside_a_constant(C: Bag[Contract], K: Bag[Clock]):
    return [
        {"c": c.id, "sum": sum(sum(10 // i.f for i in o.items) for o in c.orders), "clocks": len(K)}
        for c in C
        if c.end > 5
    ]


@rn.view
def of_a_bag(C: Bag[Contract], K: Bag[Clock]):
    return [{"c": c.id, "os": [{"no": o.no, "n": sum(10 // i.f for i in o.items)} for o in c.orders]} for c in at(C, K)]


@rn.view
def of_first_rows(C: Bag[Contract], K: Bag[Clock]):
    return [
        {"c": c.id, "first": [i.line for o in c.orders for i in rn.top(1, o.items, key=lambda i: 10 // i.f)]}
        for c in at(C, K)
    ]


@rn.view
def as_a_condition(C: Bag[Contract], K: Bag[Clock]):
    return [{"c": c.id, "os": [o.no for o in c.orders if sum(10 // i.f for i in o.items) > 3]} for c in at(C, K)]


@rn.view
def of_groups_inside(C: Bag[Contract], K: Bag[Clock]):
    return [
        {
            "c": c.id,
            "os": [
                {"line": line, "n": sum(10 // i.f for i in items)}
                for o in c.orders
                for line, items in rn.group_by(o.items, lambda i: i.line)
            ],
        }
        for c in at(C, K)
    ]


@rn.view
def of_groups_around(C: Bag[Contract], K: Bag[Clock]):
    return [
        {"odd": odd, "sum": sum(10 // i.f for c in cs for o in c.orders for i in o.items)}
        for odd, cs in rn.group_by(at(C, K), lambda c: c.id % 2)
    ]


@rn.view
def the_greatest(C: Bag[Contract], K: Bag[Clock]):
    return [
        {"c": c.id, "most": max((sum(10 // i.f for i in o.items) for o in c.orders), default=0)} for c in at(C, K)
    ]


NESTED = (
    *(of_one_level, of_two_levels, beside_a_constant, of_a_bag, of_first_rows, as_a_condition, of_groups_inside),
    *(of_groups_around, the_greatest),
)


@pytest.mark.parametrize("view", NESTED, ids=lambda view: view.name)
def test_no_level_is_worked_out_of_what_is_left_out(view: rn.View, tmp_path: Path) -> None:
    """Neither when a view is made, nor when it comes; and what comes to be valid fails."""
    valid, ended = Contract(1, 5, 9, [Order(1, [Item(1, 3)])]), Contract(3, 1, 3, [Order(1, [Item(1, 0)])])
    others = [Contract(2, 1, 3, [Order(1, [])]), Contract(5, 1, 3, [Order(1, [Item(1, 0)])])]
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("C", Contract, key="id", keys={"orders": "no", "orders.items": "line"})
        db.relation("K", Clock, key="id")
        db.load("C", [valid, ended])
        db.load("K", [Clock(1, 6)])
        db.create(view)
        with db.batch(policy="incremental") as b:
            b.insert("C", others)
            b.upsert("K", [Clock(1, 7)])
        assert db.view(view.name).rows() == view(db.relation("C").rows(), db.relation("K").rows())
        assert db.view(view.name).rows() and db.verify(deep=True).ok
        with pytest.raises(errors.EvaluationError, match="division by zero"), db.batch() as b:
            b.upsert("K", [Clock(1, 2)])
            b.at("C", id=3).set(end=8)
        with db.batch(policy="incremental") as b:
            b.upsert("K", [Clock(1, 9)])
        assert db.view(view.name).rows() == view(db.relation("C").rows(), db.relation("K").rows())
