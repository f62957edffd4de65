"""Comparisons of columns that are moved by constants, as comparisons of the columns."""

from itertools import product

import pytest
from support.edges import EDGES

from ripplenest.nrc.bands import MOVES, compared, moved_back
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.scalars import SCALARS, apply
from ripplenest.nrc.syntax import Call, Lit, Var
from ripplenest.nrc.types import Base


@pytest.mark.parametrize("fn", MOVES)
def test_what_is_left_out_is_left_out_when_it_is_moved(fn: str) -> None:
    """Over the edges of what there is: where a moved edge has a value, each x beyond it is moved to beyond the edge."""
    kinds = SCALARS[fn].takes[0].split(", ")
    values, by = EDGES[Base(kinds[0], True)], Base(kinds[1])
    seen = 0
    for x, edge, n, upper in product(values, values, EDGES[Base(kinds[1], True)], (True, False)):
        back = moved_back(fn, n, by, upper)
        if back is None:
            continue
        try:
            moved = apply(fn, edge, back)
        except EvaluationError:
            continue  # then nothing is left out
        if apply("gt" if upper else "lt", x, moved):
            assert apply("gt" if upper else "lt", apply(fn, x, n), edge), (x, edge, n)
            seen += 1
    assert seen > 20


def test_what_is_moved_the_other_way_is_not_compared() -> None:
    """x + 1 ≤ y is no x ≤ y - 1 where x + 1 has no value; neither is what no number of the type moves back."""
    long, x, y = Base("long"), Var("x"), Var("y")
    found = {
        (n, fn): [(a, b, upper) for a, b, upper, _ in compared([Call(fn, (Call("add_long", (x, Lit(n, long))), y))])]
        for n in (1, -1, -(2**63))
        for fn in ("le", "ge")
    }
    moved = {case: [s for s in sides if s[0] == x] for case, sides in found.items()}
    assert moved == {
        (1, "le"): [],
        (1, "ge"): [(x, Call("add_long", (y, Lit(-1, long))), False)],
        (-1, "le"): [(x, Call("add_long", (y, Lit(1, long))), True)],
        (-1, "ge"): [],
        (-(2**63), "le"): [],
        (-(2**63), "ge"): [],
    }
