"""Seconds and days that are compared with a constant are compared exactly as Python compares them."""

import operator
from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.nrc.rewriting.measured import measured_elem
from ripplenest.nrc.syntax import Call, Elem, Lit, Proj, Var
from ripplenest.nrc.types import DOUBLE, INT, LONG, Base

A, B = Proj(Var("x"), "a"), Proj(Var("x"), "b")
MICROS, DAYS = Call("micros_between", (A, B)), Call("days_between", (A, B))
SECONDS = Call("div_double", (Call("to_double", (MICROS,)), Lit(1e6, DOUBLE)))
OPS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
COUNTS: Counter[str] = Counter()


def constant(c: Choices) -> float:
    """Near whole microseconds, between two of them, and so far away that doubles have gaps of several."""
    n = c.number(2 * 10 ** c.number(19)) - 10 ** c.number(19)
    return float(
        c.pick((n, n / 1e6, n / 1e6 + c.pick((1e-7, -1e-7)), n / 7e6, c.number(7200), float("inf"), float("nan")))
    )


@law(constant, examples=many(400, 20_000))
def test_it_is_true_of_the_same(value: float) -> None:
    for op, meant in OPS.items():
        for turned in (False, True):
            given = (Lit(value, DOUBLE), SECONDS) if turned else (SECONDS, Lit(value, DOUBLE))
            found = measured_elem(Call(op, given))
            assert isinstance(found, Call) and found.fn == op
            if found.args == given:
                COUNTS["left"] += 1
                assert not abs(value) < 2**63 / 1e6 - 1
                continue
            micros, bound = found.args[::-1] if turned else found.args
            assert micros == MICROS and isinstance(bound, Lit) and isinstance(bound.value, int)
            n = bound.value
            for m in (*range(n - 3, n + 4), round(value * 1e6), n - 2000, n + 2000):
                sides = (value, m / 1e6) if turned else (m / 1e6, value)
                assert meant(*sides) == meant(*((n, m) if turned else (m, n))), (op, turned, m, n)
            COUNTS["compared"] += 1


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(100, 5_000), COUNTS


MAYBE = Proj(Var("x"), "c")
THERE = Call("not", (Call("is_null", (MAYBE,)),))
HOURS = Call("to_double", (Call("mul_long", (Lit(3600, LONG), Lit(6, LONG))),))
LARGE = Call("to_double", (Call("mul_long", (Lit(2**62, LONG), Lit(6, LONG))),))
NONE = Lit(None, Base("date", True))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (Call("gt", (SECONDS, HOURS)), Call("gt", (MICROS, Lit(21_600_000_000, LONG)))),
        (Call("gt", (SECONDS, LARGE)), None),
        (Call("gt", (SECONDS, A)), None),
        (Call("eq", (SECONDS, Lit(5.0, DOUBLE))), None),
        (Call("lt", (Call("to_long", (DAYS,)), Lit(30, LONG))), Call("lt", (DAYS, Lit(30, INT)))),
        (Call("lt", (Lit(-30, LONG), Call("to_long", (DAYS,)))), Call("lt", (Lit(-30, INT), DAYS))),
        (Call("lt", (Call("to_long", (DAYS,)), Lit(2**31, LONG))), None),
        (Call("coalesce", (Call("if", (THERE, MAYBE, NONE)), A)), Call("coalesce", (MAYBE, A))),
        (Call("coalesce", (Call("if", (THERE, B, NONE)), A)), None),
    ],
    ids=str,
)
def test_by_hand(given: Elem, wanted: Elem | None) -> None:
    assert measured_elem(given) == (given if wanted is None else wanted)
    assert measured_elem(Call("not", (given,))) == Call("not", (given if wanted is None else wanted,))
