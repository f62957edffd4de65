"""Texts that are put together of parts of dates are dates."""

from datetime import date

import pytest

from ripplenest.nrc.functions.dates import is_date
from ripplenest.nrc.interpret import elem
from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Call, Elem, For, Sng
from ripplenest.nrc.types import LONG, STRING, Base, Record

ROW = Record((("day", Base("date")), ("maybe", Base("date", True)), ("n", LONG), ("text", STRING)))
NAMES = Environment({"R": ROW})
DAYS = (date.min, date.max, date(2024, 2, 29), date(1999, 12, 31))

YEAR, MONTH, DAY = (f"substring(to_string(x.day), int {at}, int {n})" for at, n in ((1, 4), (6, 2), (9, 2)))
ALWAYS = {
    "the first of a month": (YEAR, "-", MONTH, "-01"),
    "of a year": (YEAR, "-01-", "01"),
    "of this month in another year": ("2023-", MONTH, "-28"),
    "a constant": ("2024-", "02-28"),
    "of a day that may be NULL": (YEAR.replace("day", "maybe"), "-", MONTH.replace("day", "maybe"), "-01"),
}
SELDOM = {
    "another month, which may have no such day": (YEAR, "-02-", DAY),
    "another year, in which February may have no such day": ("2023-", MONTH, "-", DAY),
    "the 29th": (YEAR, "-", MONTH, "-29"),
    "no month": (YEAR, "-13-01"),
    "the year 0": ("0000-", MONTH, "-01"),
    "parts of a number": (YEAR.replace("day", "n"), "-", MONTH, "-01"),
    "parts of a text": (YEAR.replace("to_string(x.day)", "x.text"), "-", MONTH, "-01"),
    "other parts": (YEAR.replace("int 1", "int 2"), "-", MONTH, "-01"),
    "more": (YEAR, "-", MONTH, "-01 "),
}


def text_of(pieces: tuple[str, ...]) -> Elem:
    parts = ", ".join(p if p.startswith("substring") else f'"{p}"' for p in pieces)
    e = parse_expr(f"for x in R union sng(concat({parts}))", NAMES)
    assert isinstance(e, For) and isinstance(e.body, Sng)
    return e.body.elem


@pytest.mark.parametrize("pieces", ALWAYS.values(), ids=ALWAYS)
def test_these_are_dates(pieces: tuple[str, ...]) -> None:
    t = text_of(pieces)
    types = {"x": ROW}
    assert is_date(t, types) and is_total(Call("to_date", (t,)), types)
    for day in DAYS:
        for maybe in (day, None):
            row = (("day", day), ("maybe", maybe), ("n", 1), ("text", ""))
            assert elem(Call("to_date", (t,)), {"x": row}) is not None or maybe is None


@pytest.mark.parametrize("pieces", SELDOM.values(), ids=SELDOM)
def test_these_may_be_none(pieces: tuple[str, ...]) -> None:
    t = text_of(pieces)
    assert not is_date(t, {"x": ROW}) and not is_total(Call("to_date", (t,)), {"x": ROW})
