"""Seconds that are compared with a constant are compared as microseconds, exactly as Python compares them."""

import ast
import operator
from collections import Counter

from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.nrc.surface.python.elapsed import in_micros, seconds
from ripplenest.nrc.surface.python.scalars import literal
from ripplenest.nrc.surface.python.spans import Span
from ripplenest.nrc.surface.readings import Element
from ripplenest.nrc.syntax import Call, Lit, Proj, Var
from ripplenest.nrc.types import LONG, Base

AT = Base("timestamp")
BETWEEN = Element(Call("micros_between", (Proj(Var("x"), "a"), Proj(Var("x"), "b"))), LONG)
OPS = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
COUNTS: Counter[str] = Counter()


def constant(c: Choices) -> float:
    """Near whole microseconds, between two of them, and so far away that doubles have gaps of several."""
    n = c.number(2 * 10 ** c.number(19)) - 10 ** c.number(19)
    return c.pick((n, n / 1e6, n / 1e6 + c.pick((1e-7, -1e-7)), n / 7e6, c.number(7200), float("inf"), float("nan")))


@law(constant, examples=many(400, 20_000))
def test_it_is_true_of_the_same(value: float) -> None:
    span, number = Span(BETWEEN, None), literal(value)
    assert isinstance(number, Element)
    for op, meant in OPS.items():
        for turned in (False, True):
            given = (number, seconds(span)) if turned else (seconds(span), number)
            found = in_micros(given[0], op(), given[1])
            if found == given:
                COUNTS["left"] += 1
                assert not abs(value) < 2**63 / 1e6 - 1
                continue
            micros, bound = found[::-1] if turned else found
            assert micros == BETWEEN and isinstance(bound, Element) and isinstance(bound.elem, Lit)
            n = bound.elem.value
            assert isinstance(n, int)
            for m in (*range(n - 3, n + 4), round(value * 1e6), n - 2000, n + 2000):
                sides = (value, m / 1e6) if turned else (m / 1e6, value)
                assert meant(*sides) == meant(*((n, m) if turned else (m, n))), (op, turned, m, n)
            COUNTS["compared"] += 1


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(100, 5_000), COUNTS


def test_what_is_no_constant_stays() -> None:
    other = Element(Proj(Var("x"), "n"), Base("double"))
    given = (seconds(Span(BETWEEN, None)), other)
    assert in_micros(given[0], ast.Lt(), given[1]) == given
    assert in_micros(given[0], ast.Eq(), literal(5)) == (given[0], literal(5))
