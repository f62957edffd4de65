"""What the rewritings of clocks, limits and alternatives leave as it is, or make so that nothing fails or is twice."""

import datetime
from itertools import product

import pytest

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.alternatives import split
from ripplenest.nrc.rewriting.cases import in_cases
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.valid import valid
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Expr, Neg
from ripplenest.nrc.types import LONG, STRING, Base, Record
from ripplenest.nrc.walk import nodes, unique_binders

AT, PERHAPS, MAYBE = Base("timestamp"), Base("timestamp", True), Base("long", True)
ROWS = {
    "K": Record((("id", LONG), ("at", AT), ("or", PERHAPS), ("w", MAYBE), ("n", LONG), ("s", STRING))),
    "S": Record((("u", LONG), ("a", AT), ("b", PERHAPS), ("c", AT), ("i", LONG), ("x", STRING))),
    "L": Record((("id", LONG), ("at", LONG))),
    "E": Record((("u", LONG), ("v", LONG), ("w", MAYBE))),
}
NAMES, KEYS = Environment(dict(ROWS)), {"K": ("id",), "L": ("id",)}
OF = "for s in S union for k in K where k.id = 1 and "
BESIDE = "for k in L where k.id = 1 union "
GROUPS = "for g in group[g](x in E by u: x.u of m: max(x.w), n: count()) union "
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


def term(text: str) -> Expr:
    return exact(unique_binders(parse_expr(text, NAMES)))


@pytest.mark.parametrize("limits", [("k.s", "upper(k.s)"), ("upper(k.s)", "k.s")], ids=str)
def test_one_of_two_limits_is_computed(limits: tuple[str, str]) -> None:
    e = term(f"{OF}s.x <= {limits[0]} and s.x <= {limits[1]} union sng(s.u)")
    assert valid(e, KEYS) is e


def test_what_is_beyond_both_ends_may_fail() -> None:
    """Nothing is taken away again, so that all that is made is of the view."""
    e = term(f"{OF}s.a <= k.at and s.c <= k.at union sng(4 / s.u)")
    assert valid(e, KEYS) is not e


def test_no_alternative_takes_rows_away_of_which_something_fails() -> None:
    """One of both alternatives lies between two ends: what has ended is not made and taken away again."""
    e = term(f"{OF}((s.a <= k.at and k.at < s.c) or s.i > k.n) union sng(4 / s.u)")
    found = split(e, KEYS)
    assert found != e and not any(isinstance(n, Neg) for n in nodes(found))
    ended = (("u", 0), ("a", START), ("b", None), ("c", START), ("i", 0), ("x", ""))
    db = {"K": BagValue({clock(): 1}), "S": BagValue({ended: 1})}
    assert evaluate(e, db) == evaluate(found, db) == BagValue({})


def clock(at: object = START, w: object = 0) -> tuple[tuple[str, object], ...]:
    return (("id", 1), ("at", START), ("or", at), ("w", w), ("n", 1), ("s", ""))


@pytest.mark.parametrize(("at", "w", "b"), [*product((None, START), (None, 0), (None, START))])
def test_a_row_is_in_one_case_whatever_is_null(at: object, w: object, b: object) -> None:
    """Three that may be NULL are compared."""
    said = "micros_between(s.b, k.or) <= k.w"
    value = unique_binders(parse_expr(f"{OF}true union sng(⟨u: s.u, o: {said}⟩)", NAMES))
    asked = unique_binders(parse_expr(f"{OF}({said} or s.i > k.n) union sng(s.u)", NAMES))
    row = (("u", 1), ("a", START), ("b", b), ("c", START), ("i", 2), ("x", ""))
    db = {"K": BagValue({clock(at, w): 1}), "S": BagValue({row: 1})}
    for e, found in ((value, in_cases(value, KEYS)), (asked, split(asked, KEYS))):
        assert found is not e and evaluate(found, db) == evaluate(e, db)


LEFT = {
    "what is chosen of a group": f"{GROUPS}{BESIDE}sng(⟨o: coalesce(g.m, 1) < k.at⟩)",
    "what may have no value, of a row that is looked up": (
        "for e in E union for l in L where l.id = e.u union sng(⟨o: if(e.w > 0, e.v < 60 / l.at, false)⟩)"
    ),
    "a group, of whose columns nobody knows": f"{GROUPS}for e in E union sng(⟨o: e.v < g.n⟩)",
}


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_it_is_in_no_cases(text: str) -> None:
    e = term(text)
    assert in_cases(e, KEYS) is e


def is_asked(fn: str, of: str) -> bool:
    """Whether rows are asked about as they are."""
    e = term(f"{BESIDE}for s in fold[s](x in ({of}) of s: {fn}(x)) union sng(s.s)")
    return in_cases(e, KEYS) is e


@pytest.mark.parametrize(
    ("fn", "said", "wanted"),
    [
        ("any", "f.u = 2 and f.v < k.at", True),
        ("any", "f.v <= k.at and (k.at < f.w or f.w is null)", True),
        ("any", "f.v <= k.at and (f.w is null or k.at < f.w)", True),
        ("any", "f.v <= k.at and (k.at < f.w or f.u = 2)", False),
        ("any", "not (f.v < k.at)", False),
        ("any", "f.v = 2 or f.v < k.at", False),
        ("all", "f.v < k.at", True),
        ("all", "f.v < k.at or f.u = 2", True),
        ("all", "f.v < k.at and f.u = 2", False),
        ("all", "f.w < k.at", False),  # NULL is not what its opposite finds
    ],
)
def test_what_is_asked_of_rows(fn: str, said: str, wanted: bool) -> None:
    assert is_asked(fn, f"for f in E union sng({said})") is wanted


def test_what_is_asked_of_groups() -> None:
    """Nobody knows what may be NULL of rows that are not stored."""
    assert is_asked("all", f"{GROUPS}sng(g.n < k.at)")
