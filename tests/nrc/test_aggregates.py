"""Folds, distinct rows, group-by and outer joins, as Python and the text language write them.

Families: what a view gives is what the same Python gives; text and Python are one term; what cannot be is refused with
what can; and batches keep it fresh.
"""

# ruff: noqa: ARG001, E741 - relations have short names here, and all views the same
# mypy: disable-error-code="no-untyped-def, arg-type, attr-defined, no-any-return"

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.in_order import in_order
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import QueryError, TypeMismatch, Unsupported
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.surface.python import view
from ripplenest.nrc.syntax import Expr
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.values import from_value


@rn.record
class Line:
    part: str
    qty: int
    price: rn.Decimal[8, 2]  # type: ignore[valid-type]
    late: bool


@rn.record
class Order:
    key: int
    who: int | None
    lines: Bag[Line]


@rn.record
class Person:
    who: int
    city: str | None


def folded(P: Bag[Person], O: Bag[Order]):
    """Of what there is at least one row of, where Python and SQL mean the same."""
    return [
        {
            "key": o.key,
            "qty": sum(x.qty for x in o.lines) if rn.exists(o.lines) else None,
            "worth": sum(x.qty * x.price for x in o.lines if x.qty > 0) if any(x.qty > 0 for x in o.lines) else None,
            "mean": rn.avg(x.price for x in o.lines),
            "lines": len(o.lines),
            "late": any(x.late for x in o.lines),
            "on": all(not x.late for x in o.lines),
            "known": rn.count(p.city for p in P if p.who == o.who),
            "parts": len({x.part for x in o.lines}),
        }
        for o in O
        if len(o.lines) < 3 or any(x.late for x in o.lines)
    ]


def distinct(P: Bag[Person], O: Bag[Order]):
    cities = [*{p.city for p in P}]
    parts = [x.part for o in O for x in o.lines]
    return [{"city": c, "parts": [*set(parts)]} for c in cities]


def by_city(P: Bag[Person], O: Bag[Order]):
    return [
        {
            "city": city,
            "n": len(ps),
            "orders": [
                {"late": late, "keys": [o.key for o in os], "lines": sum(len(o.lines) for o in os)}
                for late, os in rn.group_by(
                    [o for p in ps for o in O if o.who == p.who], lambda o: any_late(o.key) or o.key == 2
                )
            ],
        }
        for city, ps in rn.group_by(P, lambda p: p.city)
    ]


def any_late(key):
    return key > 1


def by_two(P: Bag[Person], O: Bag[Order]):
    return [{"k": k, "n": len(ps)} for (k, city), ps in rn.group_by(P, two) if k or city is not None]


def two(p):
    return (p.who > 0, p.city)


def left(P: Bag[Person], O: Bag[Order]):
    pairs = rn.left_join([p.who for p in P], [o.key for o in O], lambda p, o: p == o)
    return [{"p": p, "o": o} for p, o in pairs]


def right(P: Bag[Person], O: Bag[Order]):
    pairs = rn.right_join([p.who for p in P], [o.key for o in O], lambda p, o: p < o)
    return [{"p": p, "o": o} for p, o in pairs]


def full(P: Bag[Person], O: Bag[Order]):
    return [{"p": p, "o": o} for p, o in rn.full_join([p.who for p in P], [o.key for o in O], equal)]


def equal(p, o):
    return p == o


FUNCTIONS = (folded, distinct, by_city, by_two, left, right, full)
prices = st.sampled_from([Decimal("0.00"), Decimal("-1.25"), Decimal("3.10"), Decimal("0.33")])
lines = st.lists(st.builds(Line, st.sampled_from("ab"), st.integers(-1, 3), prices, st.booleans()), max_size=3)
orders = st.lists(st.builds(Order, st.integers(0, 3), st.integers(0, 2), lines), max_size=4)
people = st.lists(st.builds(Person, st.integers(0, 2), st.sampled_from(["a", "b", None])), max_size=4)


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=many(30, 300))
@given(p=people, o=orders)
def test_a_view_gives_what_the_same_python_gives(function: Any, p: list[Person], o: list[Order]) -> None:
    made: rn.View = view(function)
    assert in_order(made(p, o)) == in_order(function(p, o))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_batches_keep_it_fresh(function: Any, tmp_path: Path) -> None:
    """The rows are those of the interpreter, after rows have come to groups, left them, and come again."""
    made: rn.View = view(function)
    x, y = Line("a", 2, Decimal("3.10"), True), Line("b", -1, Decimal("0.33"), False)
    held: dict[str, list[Any]] = {
        "P": [Person(0, "a"), Person(1, None)],
        "O": [Order(0, 0, [x, y]), Order(1, None, [])],
    }
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Person)
        db.relation("O", Order)
        for name, rows in held.items():
            db.load(name, rows)
        db.create(made)
        changes: list[tuple[str, list[Any], list[Any]]] = [
            ("O", [Order(3, 1, [y, y])], [held["O"][0]]),
            ("P", [Person(2, None), Person(3, "b")], held["P"]),
            ("O", [held["O"][0], Order(2, 2, [x])], [held["O"][1]]),
            ("P", held["P"], []),
        ]
        for name, come, go in changes:
            with db.batch() as b:
                b.insert(name, come)
                b.delete(name, go)
            held[name] = [row for row in held[name] if row not in go] + come
            assert in_order(db.view(made.name).rows()) == in_order(made(held["P"], held["O"])), name
        assert db.verify().ok


# ---------------------------------------------------------------- what nothing is


NOTHING = {"sum": None, "avg": None, "count": 0, "any": False, "all": True, "exists": False}


def term(text: str) -> Expr:
    relations = "relation R : Bag(int?)\nrelation P : Bag(⟨who: int, city: string?⟩)"
    return rn.parse(f"{relations}\nview v = {text}").views[0].query.body


def rows(text: str, *values: int | None) -> Any:
    return from_value(evaluate(term(text), {"R": BagValue.weighted((v, 1) for v in values)}), check(term(text)))


@pytest.mark.parametrize("fn", NOTHING)
def test_of_nothing_and_of_null_alone(fn: str) -> None:
    """SQL's answers, also where the group depends on a row around it (the count bug)."""
    of = "x > 1" if fn in ("any", "all") else "x"
    smaller = f"[⟨k: y, f: {fn}({of} | x in R, x < y)⟩ | y in R]"
    assert [row["f"] for row in rows(smaller, 3, 3)] == [NOTHING[fn]] * 2
    assert [row["f"] for row in rows(smaller, None)] == [NOTHING[fn]]
    whole = f"[{fn}({of} | x in R)]"
    assert rows(whole) == [NOTHING[fn]]
    assert rows(whole, None) == [{"exists": True, "all": False}.get(fn, NOTHING[fn])]


def test_a_row_that_is_not_there_has_null_and_no_inner_rows() -> None:
    @rn.view
    def joined(P: Bag[Person], O: Bag[Order]):
        return [
            {"who": p.who, "key": o.key, "lines": o.lines} for p, o in rn.left_join(P, O, lambda p, o: p.who == o.who)
        ]

    assert joined([Person(1, None)], []) == [{"who": 1, "key": None, "lines": []}]


# ---------------------------------------------------------------- one term


@pytest.mark.parametrize(
    ("sugar", "plain"),
    [
        ("[sum(p.who | p in P)]", "(for p in P union sng(p.who)) of value: sum(x)"),
        ("[count(P)]", "P of value: count()"),
        ("[count(p | p in P)]", "(for p in P union sng(p)) of value: count()"),
        ("[count(p.city | p in P)]", "(for p in P union sng(p.city)) of value: count(x)"),
        ("[exists(P)]", "P of value: any()"),
        ("[any(p.who = q.who | p in P)| q in P]", "(for p in P union sng(p.who = q.who)) of value: any(x)"),
    ],
)  # fmt: skip
def test_a_fold_is_a_group_without_keys(sugar: str, plain: str) -> None:
    assert show(term(sugar)).endswith(f"for s in fold[v.item](x in {plain}) union sng(s.value)")


def test_distinct_is_a_group_without_folds() -> None:
    keys = "for k in group[v.item](x in (for p in P union sng(p.city)) by row: x) union sng(k.row)"
    assert show(term("distinct(p.city | p in P)")) == show(term("distinct([p.city | p in P])")) == keys


# ---------------------------------------------------------------- what cannot be


def read(make: Callable[[], Any]) -> str:
    with pytest.raises(QueryError) as caught:
        make()
    assert isinstance(caught.value, Unsupported | TypeMismatch)
    return str(caught.value)


def test_what_is_no_fold_is_refused_with_what_is() -> None:
    def of(function: Any) -> str:
        return read(lambda: view(function))

    def whole(P: Bag[Person], O: Bag[Order]):
        return [sum(O)]

    def bags(P: Bag[Person], O: Bag[Order]):
        return [len(set(O))]

    def keyed(P: Bag[Person], O: Bag[Order]):
        return [k for k, os in rn.group_by(O, lambda o: o.lines)]

    def inside(P: Bag[Person], O: Bag[Order]):
        return [k for k, os in rn.group_by(O, lambda o: len(o.lines))]

    def parameters(P: Bag[Person], O: Bag[Order]):
        return [p for p, o in rn.left_join(P, O, lambda p: p.who == 1)]

    def no_function(P: Bag[Person], O: Bag[Order]):
        return [k for k, os in rn.group_by(O, "key")]

    def truth(P: Bag[Person], O: Bag[Order]):
        return [rn.avg(p.who > 1 for p in P)]

    assert "sum takes base values" in of(whole)
    assert "rows to be told apart hold no bags: lines does" in of(bags)
    assert "hold no bags" in of(keyed)
    assert "a key or an argument of a fold holds no bag" in of(inside)
    assert "rn.left_join(xs, ys, lambda x, y: x.key == y.key)" in of(parameters)
    assert "possible `lambda x: x.key`" in of(no_function)
    assert "avg of a group does not take these types" in of(truth)
