"""Greatest and least values and first rows, as Python and the text language write them.

Families: what a view gives is what the same Python gives; text and Python are one term; what cannot be is refused with
what can; and batches keep it fresh.
"""

# ruff: noqa: E741 - relations have short names here, and all views the same
# mypy: disable-error-code="no-untyped-def, arg-type, attr-defined, no-any-return"

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.in_order import in_order
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import QueryError
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.surface.python import view
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.values import from_value

FEW = 2


@rn.record
class Line:
    part: str
    price: int


@rn.record
class Order:
    key: int
    who: int
    lines: Bag[Line]


def extremes(O: Bag[Order]):
    """Of what there is at least one row of; Python has no greatest value of nothing."""
    return [
        {
            "key": o.key,
            "best": max(x.price for x in o.lines) if rn.exists(o.lines) else None,
            "least": min((x.price for x in o.lines), default=None),
            "some": max((x.part for x in o.lines), default="none"),
            "above": max(x.price for x in o.lines) > 1 if rn.exists(o.lines) else False,
        }
        for o in O
    ]


def by_who(O: Bag[Order]):
    return [
        {
            "who": who,
            "last": max(o.key for o in os),
            "worth": max(max((x.price for x in o.lines), default=0) for o in os),
        }
        for who, os in rn.group_by(O, lambda o: o.who)
    ]


def first_lines(O: Bag[Order]):
    return [
        {
            "key": o.key,
            "cheap": sorted(o.lines, key=by_price)[:FEW],
            "dear": rn.top(FEW, o.lines, key=lambda x: (x.price, x.part), desc=(True, False)),
            "parts": rn.top(1, [x.part for x in o.lines], desc=True),
        }
        for o in O
    ]


def by_price(x):
    return (x.price, x.part)


def whole(O: Bag[Order]):
    return sorted((x.price for o in O for x in o.lines), reverse=True)[:3]


def with_bags(O: Bag[Order]):
    """The order of rows is what their inner bags come to, and their own values."""
    return [
        {"key": o.key, "lines": len(o.lines)}
        for o in rn.top(2, O, key=lambda o: (len(o.lines), o.key, o.who), desc=(True, False, False))
    ]


def of_groups(O: Bag[Order]):
    """The first rows of each key, and what they come to."""
    return [
        {"who": who, "sum": sum(x.price for x in xs), "lines": xs}
        for who, os in rn.group_by(O, lambda o: o.who)
        for xs in [sorted([x for o in os for x in o.lines], key=by_price)[:2]]
        if rn.exists(xs)
    ]


def of_folds(O: Bag[Order]):
    """Three folds of one bag, each under another order: one map, which gets its columns one after another."""
    return [
        {
            "who": who,
            "most": max(len(o.lines) for o in os),
            "some": max(any(x.price > 1 for x in o.lines) for o in os),
            "all": max(all(x.price > 1 for x in o.lines) for o in os),
        }
        for who, os in rn.group_by(O, lambda o: o.who)
    ]


FUNCTIONS = (extremes, by_who, first_lines, whole, with_bags, of_groups, of_folds)
lines = st.lists(st.builds(Line, st.sampled_from("ab"), st.integers(-1, 3)), max_size=4)
orders = st.lists(st.builds(Order, st.integers(0, 2), st.integers(0, 2), lines), max_size=4)


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=many(25, 300))
@given(o=orders)
def test_a_view_gives_what_the_same_python_gives(function: Any, o: list[Order]) -> None:
    if function is with_bags and len({(x.key, x.who) for x in o}) < len(o):
        return  # rows that differ only in their bags share one place
    made: rn.View = view(function)
    assert in_order(made(o)) == in_order(function(o))


def test_rows_that_differ_in_their_bags_alone_share_one_place() -> None:
    def one(O: Bag[Order]):
        return [o.key for o in rn.top(1, O, key=lambda o: o.key)]

    a, b = Line("a", 1), Line("b", 2)
    assert view(one)([Order(1, 1, [a]), Order(1, 1, [b]), Order(2, 1, [])]) == [1, 1]
    assert view(one)([Order(1, 1, [a]), Order(1, 2, [b])]) == [1]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_batches_keep_it_fresh(function: Any, tmp_path: Path) -> None:
    """The rows are those of the interpreter, after the first ones have gone, come again, and all have gone."""
    made: rn.View = view(function)
    xs = [Line(part, price) for price in (3, 1, 2) for part in "ba"]
    held = [Order(0, 0, xs), Order(1, 0, xs[:1]), Order(2, 1, [])]
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("O", Order)
        db.load("O", held)
        db.create(made)
        changes: list[tuple[list[Order], list[Order]]] = [
            ([Order(3, 1, xs[2:])], [held[0]]),
            ([], [held[1], Order(3, 1, xs[2:])]),
            ([Order(4, 1, [*xs, *xs])], [held[2]]),
            (held, [Order(4, 1, [*xs, *xs])]),
            ([], held),
        ]
        for come, go in changes:
            with db.batch() as b:
                b.insert("O", come)
                b.delete("O", go)
            held = [row for row in held if row not in go] + come
            assert in_order(db.view(made.name).rows()) == in_order(made(held))
        assert db.verify().ok


# ---------------------------------------------------------------- what NULL is, and ties


def rows(text: str, *values: int | None) -> Any:
    made = rn.parse(f"relation R : Bag(int?)\nview v = {text}").views[0].query.body
    return from_value(evaluate(made, {"R": BagValue.weighted((v, 1) for v in values)}), check(made))


def test_of_nothing_and_of_null_alone() -> None:
    """SQL's answers, also where the value depends on a row around it."""
    for fn in ("min", "max"):
        smaller = f"[⟨k: y, f: {fn}(x | x in R, x < y)⟩ | y in R]"
        assert [row["f"] for row in rows(smaller, 3, 3)] == [None] * 2
        assert rows(f"[{fn}(R)]") == rows(f"[{fn}(R)]", None) == [None]
    assert rows("[max(R)]", None, 2, 5) == [5] and rows("[min(x | x in R)]", None, 2, 5) == [2]


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        ("", [1, 2]), (" order x", [1, 2]), (" order x desc", [3, 2]), (" order x nulls first", [None, 1]),
        (" order x desc nulls first", [None, 3]), (" order x is null desc", [None, 1]), (" order x = 2 desc", [1, 2]),
    ],
)  # fmt: skip
def test_null_is_last_unless_it_is_first(order: str, wanted: list[int | None]) -> None:
    assert in_order(rows(f"top[α](2, x in R{order})", 2, None, 1, 3)) == in_order(wanted)


def test_copies_count_and_the_last_row_keeps_a_part_of_them() -> None:
    assert rows("top[α](3, x in R)", 2, 1, 2, 2, 2) == [1, 2, 2]


def test_nan_is_the_greatest_double_and_texts_go_by_code_point() -> None:
    made = rn.parse("relation R : Bag(double)\nview v = [max(R)] ⊎ top[α](1, x in R)").views[0].query.body
    found = evaluate(made, {"R": BagValue.weighted((v, 1) for v in (1.0, float("nan"), float("-inf")))})
    assert sorted(map(repr, found)) == ["(-inf, 1)", "(nan, 1)"]
    text = rn.parse("relation R : Bag(string)\nview v = [max(R)]").views[0].query.body
    assert list(evaluate(text, {"R": BagValue.weighted((v, 1) for v in ("z", "Z", "ä", "𝔸"))})) == [("𝔸", 1)]


# ---------------------------------------------------------------- one term, and what is none


def test_all_ways_are_one_term() -> None:
    def sliced(O: Bag[Order]):
        return sorted(O, key=lambda o: o.key, reverse=True)[:2]

    def topped(O: Bag[Order]):
        return rn.top(2, O, key=lambda o: o.key, desc=True)

    def cutoff(O: Bag[Order]):
        return rn.sorted(O, key=lambda o: o.key, desc=True)[:2]

    def by_place(O: Bag[Order]):
        return rn.top(2, O, lambda o: o.key, True)

    def by_name(O: Bag[Order]):
        return rn.top(rows=O, n=2, key=lambda o: o.key, desc=True)

    def in_order(O: Bag[Order]):
        return rn.sorted(O, lambda o: o.key, True)[:2]

    for other in (sliced, cutoff, by_place, by_name, in_order):
        assert show(view(other).query.body).replace(other.__name__, "topped") == show(view(topped).query.body)
    plain = "top[v.item](2, x in (for o in O union sng(o.key)) order x desc)"
    assert show(rn.parse(f"relation O : Bag(⟨key: int⟩)\nview v = {plain}").views[0].query.body) == plain


def of(function: Callable[..., Any]) -> str:
    with pytest.raises(QueryError) as caught:
        view(function)
    return str(caught.value)


def test_what_is_no_order_is_refused_with_what_is() -> None:
    def sliced(O: Bag[Order]):
        return O[:3]

    def unknown(O: Bag[Order]):
        return [x for o in O for x in rn.top(o.key, o.lines)]

    def none(O: Bag[Order]):
        return rn.top(0, O)

    def whole(O: Bag[Order]):
        return sorted(O, key=by_lines)

    def by_bag(O: Bag[Order]):
        return rn.top(1, O, key=lambda o: o.lines)

    def ways(O: Bag[Order]):
        return rn.top(1, O, key=lambda o: (o.key, o.who), desc=(True, False, True))

    def word(O: Bag[Order]):
        return rn.top(1, O, reverse=True)

    def negative(O: Bag[Order]):
        return rn.top(1, -[o.key for o in O])

    assert "sorted(xs, key=...)[:3]" in of(sliced)
    assert "not known when the view is made" in of(unknown)
    assert "how many rows are wanted is above 0" in of(none)
    assert "rows are sorted by what they show" in of(whole)
    assert "rows are ordered by base values" in of(by_bag)
    assert "a direction for each value of the key" in of(ways)
    assert "top with the keyword reverse" in of(word)
    with pytest.raises(QueryError, match="there less than 0 times"):
        rn.explain(view(negative))


def test_arguments_in_the_place_of_others_are_answered() -> None:
    """What Python refuses of the same functions, and what it would find out later."""

    def turned(O: Bag[Order]):
        return rn.top(O, 2)

    def key_first(O: Bag[Order]):
        return rn.top(2, lambda o: o.key, O)

    def twice(O: Bag[Order]):
        return rn.top(2, O, n=3)

    def too_many(O: Bag[Order]):
        return rn.sorted(O, lambda o: o.key, True, False, 3)

    def keyed(O: Bag[Order]):
        return sorted(O, lambda o: o.key)

    def grouped(O: Bag[Order]):
        return rn.group_by(lambda o: o.key, O)

    assert "top of 2 in the place of rows" in of(turned)
    assert "top of lambda o: o.key in the place of rows" in of(key_first)
    assert "top with 3 arguments" in of(twice)
    assert "sorted with 5 arguments" in of(too_many) and "sorted with 2 arguments" in of(keyed)
    assert "group_by with a function in the place of rows" in of(grouped)
    assert "possible `rn.group_by(xs, lambda x: x.key)`" in of(grouped)


def by_lines(o):
    return len(o.lines)


def test_a_place_in_ordered_rows_is_refused_with_the_first_rows() -> None:
    def first(O: Bag[Order]):
        return [{"best": sorted(o.lines, key=by_price)[1]} for o in O]

    def last(O: Bag[Order]):
        return [sorted(x.price for x in o.lines)[-1] for o in O]

    def middle(O: Bag[Order]):
        return sorted(O, key=lambda o: o.key)[1:3]

    def end(O: Bag[Order]):
        return rn.sorted(O, key=lambda o: o.key)[-2:]

    def topped(O: Bag[Order]):
        return rn.top(3, O, key=lambda o: o.key)[1]

    def plain(O: Bag[Order]):
        return [o.lines[0] for o in O]

    said = of(first)
    assert f"test_ranking.py:{first.__code__.co_firstlineno + 1}:" in said
    assert "a view cannot contain rows of sorted(...) by their place\n" in said
    assert "  wanted   the first rows, `[:n]`, or `[0]`\n  got      [1]\n  possible `rn.difference(rn.top(2," in said
    assert "got      [-1]\n  possible `rn.top(1, xs, key=..., desc=True)`" in of(last)
    assert "`sorted(xs, key=..., reverse=True)[:1]`, a bag of the last row, `max(" in of(last)
    assert "got      [1:3]\n" in of(middle) and "rn.sorted(...)" in of(end) and "desc=True" in of(end)
    assert "rows of rn.top(...) by their place" in of(topped)
    assert "a row of a bag by its place" in of(plain)


def dearest(o):
    """A helper that names rows, and returns the first of them as a whole."""
    dear = [x for x in o.lines if x.price > 1]
    return max(dear, key=by_price)


def dearest_or_none(o):
    dear = [x for x in o.lines if x.price > 1]
    first = sorted(dear, key=by_price)[0] if dear else None
    return first


def named_rows(O: Bag[Order]):
    return [{"key": o.key, "part": dearest(o).part, "none": dearest_or_none(o) is None} for o in O if o.who > 0]


def test_helpers_return_the_first_of_rows_that_they_name() -> None:
    order = Order(1, 1, [Line("a", 1), Line("b", 3), Line("c", 2)])
    assert view(named_rows)([order]) == [{"key": 1, "part": "b", "none": False}]
