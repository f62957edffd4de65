"""Scoping in views: shadowing, closures, inlined functions, local names; calls; and agreement with plain Python."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ripplenest.nrc.errors import UnknownRelation, WrongValue
from ripplenest.nrc.surface.python import Bag, View, record, record_type, view
from ripplenest.nrc.syntax import Let
from ripplenest.nrc.walk import nodes


@record
class Movie:
    name: str
    gen: str | None
    dir: str | None


@record
class Order:
    n: int
    items: Bag[str]


MOVIE = record_type(Movie)
DRIVE, SKYFALL = Movie("Drive", "Drama", "Refn"), Movie("Skyfall", "Action", "Mendes")
RUSH = Movie("Rush", "Action", None)


def test_shadowing_in_order_and_closures() -> None:
    limit = 2
    names: Any = "not used"

    @view
    def shadowed(N: Bag[int]):  # type: ignore[no-untyped-def]
        x = [n for n in N if n > limit]
        x = [n + 1 for n in x]
        N = [n for n in N if n < limit]
        n = 100
        return x + [n + y for y in N for n in [n]] + x

    assert shadowed([1, 5]) == [6, 6, 101]
    assert [n.name for n in nodes(shadowed.query.body) if isinstance(n, Let)] == ["x", "x1", "N1"]
    assert names == "not used"


def inner_m(rows: Any) -> Any:
    return [m for m in rows for n in rows if m == n]


def test_an_inlined_function_captures_nothing() -> None:
    @view
    def outer(N: Bag[int]):  # type: ignore[no-untyped-def]
        return [{"m": m, "n": n, "in": inner_m([n, m])} for m in N for n in N]

    assert outer([1, 2]) == sorted(
        [{"m": m, "n": n, "in": sorted([n, m] if n != m else [n] * 4)} for m in (1, 2) for n in (1, 2)],
        key=lambda r: (r["m"], r["n"]),
    )


def test_a_comprehension_does_not_hide_a_global() -> None:
    @view
    def both(N: Bag[int]):  # type: ignore[no-untyped-def]
        return [FIVE + n for n in N] + [FIVE for FIVE in N if FIVE > 0]

    assert both([1]) == [1, 6]


FIVE = 5


def test_names_that_are_defined_further_down() -> None:
    @view
    def early(N: Bag[Later]):  # type: ignore[no-untyped-def]
        return [plus_one(n.x) for n in N]

    @record
    class Later:
        x: int

    def plus_one(x: Any) -> Any:
        return x + 1

    assert early([Later(1)]) == [2]


def test_typed_empties_and_empty_arguments() -> None:
    @view
    def empties(N: Bag[str]):  # type: ignore[no-untyped-def]
        none: Bag[str] = []
        return [{"n": n, "e": none, "f": typed([]), "g": whole([])} for n in N]

    assert empties(["a"]) == [{"n": "a", "e": [], "f": ["f"], "g": []}]


def typed(xs: Bag[str]) -> Any:
    return [*xs, "f"]


@view
def whole(xs: Bag[Movie]):  # type: ignore[no-untyped-def]
    return [x.name for x in xs]


def make_local() -> View:
    @record
    class Local:
        x: int

    @view
    def local(N: Bag[Local]):  # type: ignore[no-untyped-def]
        none: Bag[Local] = []
        return none + [n for n in N if n.x > 1]

    return local


def test_a_view_over_local_names_is_inlined_elsewhere() -> None:
    local = make_local()

    @view
    def other(N: Bag[int]):  # type: ignore[no-untyped-def]
        return [p.x for p in local([{"x": n} for n in N])]

    assert other([1, 2]) == [2]


def test_a_notebook_cell_is_a_source() -> None:
    text = "@view\ndef cell(N: Bag[str]):\n    return [n.upper() for n in N]\n"
    linecache.cache["<cell-1>"] = (len(text), None, text.splitlines(keepends=True), "<cell-1>")
    scope: dict[str, Any] = {"view": view, "Bag": Bag, "__name__": "__main__"}
    exec(compile(text, "<cell-1>", "exec"), scope)
    assert scope["cell"](["a"]) == ["A"]


def test_null_follows_three_valued_logic() -> None:
    @view
    def not_drama(N: Bag[Movie]):  # type: ignore[no-untyped-def]
        return [n.name for n in N if not (n.gen == "Drama" or n.dir == "x") and n.dir not in ("Refn", "x")]

    assert not_drama([DRIVE, SKYFALL, RUSH, Movie("y", None, "a")]) == ["Skyfall"]


def test_calling_a_view_with_what_does_not_fit() -> None:
    for call in (whole, lambda: whole([], []), lambda: whole(ys=[]), lambda: whole([], xs=[])):
        with pytest.raises(UnknownRelation, match="whole: other arguments"):
            call()
    with pytest.raises(WrongValue) as caught:
        whole([{"name": 1, "gen": None, "dir": None}])
    assert caught.value.where == "xs[0].name"
    assert repr(whole) == f"<view whole(xs: Bag({MOVIE}))>"


# ---------------------------------------------------------------- agreement with plain Python


def joined(A: Bag[Order], B: Bag[Order]):  # type: ignore[no-untyped-def]
    return [{"n": a.n, "same": [i for b in B if b.n == a.n for i in b.items if i in ("a", "b") or i > a_limit(a.n)]}
            for a in A if -2 < a.n <= 3 and a.n != 0]  # fmt: skip


def a_limit(n: Any) -> Any:
    return "a" if n % 2 == 0 else "b" + "a"


def flat(A: Bag[Order], B: Bag[Order]):  # type: ignore[no-untyped-def]
    named = [{"who": f"{i}{a.n!s}", "n": a.n} for a in A for i in a.items]
    return [{"x": p["who"], "y": q.n} for p in named for q in B if p["n"] == q.n and p["who"].startswith("a")]


items = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)
orders = st.lists(st.builds(Order, st.integers(-3, 4), items), max_size=4)


def canonical(value: Any) -> Any:
    """Bags have no order."""
    if isinstance(value, list):
        return sorted((canonical(v) for v in value), key=repr)
    return {k: canonical(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("function", [joined, flat])
@given(a=orders, b=orders)
def test_a_view_agrees_with_python_where_nothing_is_null(function: Any, a: list[Order], b: list[Order]) -> None:
    made: View = view(function)
    assert canonical(made(a, b)) == canonical(function(a, b))
