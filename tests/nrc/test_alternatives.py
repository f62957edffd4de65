"""Alternatives that are conditions of their own leave every term what it is."""

import datetime
from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.small_rows import SmallRows

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.rewriting.alternatives import chosen, split
from ripplenest.nrc.rewriting.cases import in_cases
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Expr, For, Plus, Pred
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Bag, Base, Record
from ripplenest.nrc.walk import nodes, unique_binders

DATE, LATER, MAYBE = Base("date"), Base("date", True), Base("long", True)
INNER = Record((("v", LONG), ("w", MAYBE), ("d", LATER)))
ROWS = {
    "K": Record((("id", LONG), ("at", LONG), ("w", MAYBE), ("now", DATE))),
    "E": Record((("v", LONG), ("w", MAYBE), ("d", LATER), ("s", DATE), ("b", Base("bool", True)), ("es", Bag(INNER)))),
}
KEYS = {"K": ("id",)}
NAMES = Environment(dict(ROWS))
FIRST = datetime.date(2024, 1, 1)
COUNTS: Counter[str] = Counter()


def value(c: Choices, x: str) -> tuple[str, str]:
    """One of two values of a row, and what of the clock it is compared with."""
    held = ("e.v",) if x == "i" and c.one_in(4) else ()  # by the row that holds it
    longs = (f"{x}.w", f"coalesce({x}.w, {x}.v)", f"if({x}.v > 1, {x}.w, {x}.v)", f"coalesce({x}.w, 2)")
    longs += (f"coalesce({x}.w, {x}.v - 1)", f"if({x}.v > 1, {x}.w + 1, {x}.v - 2)", f"coalesce({x}.v - {x}.w, {x}.v)")
    days = (f"{x}.d", f"coalesce({x}.d, days_after(e.s, int 1))", f"if(e.b, {x}.d, e.s)", f"coalesce({x}.d, e.s)")
    now = ("k.now", f"days_after(k.now, int {c.number(3) - 1})")
    return c.pick(((c.pick(longs), c.pick(held or ("k.at", "k.at", "k.w", "k.at - 1"))), (c.pick(days), c.pick(now))))


def compared(c: Choices, x: str) -> str:
    a, b = value(c, x)
    op = c.pick(("<", "<=", ">", ">="))
    if b == "k.now" and c.one_in(2):  # how far the two lie apart
        apart = ", ".join((a, b)[:: c.pick((1, -1))])
        return f"to_long(days_between({apart})) {op} {c.number(4) - 1}"
    return c.pick((f"{a} {op} {b}", f"{b} {op} {a}"))


def condition(c: Choices, x: str) -> str:
    still = c.pick((f"{x}.w is null", f"{x}.d is null", f"not {x}.w is null", f"{x}.v > 1", "e.b", f"{x}.w > 1"))
    other = c.pick((f"{compared(c, x)} and {x}.v > 0", f"{compared(c, x)} or {x}.w > 2", compared(c, x)))
    one = c.pick((f"coalesce({compared(c, x)}, {compared(c, x)})", f"if({still}, {compared(c, x)}, {compared(c, x)})"))
    of, n, op = c.pick((f"{x}.d", "e.s")), c.number(4) - 1, c.pick((">", ">="))
    ways = (f"to_long(days_between({a}, {b})) {op} {n}" for a, b in ((of, "k.now"), ("k.now", of)))
    either = c.pick((f"{compared(c, x)} or {compared(c, x)}", " or ".join(ways)))
    moved = c.pick((compared(c, x), compared(c, x), either, one))
    return c.pick((moved, f"{still} or {moved}", f"{moved} or {still}", f"{still} or {other}"))


def term(c: Choices) -> str:
    told = c.pick(("k.id = 1", "k.id = 1", "k.id = e.v"))  # a clock, or a limit that is looked up
    where = " and ".join([*(f"({condition(c, 'e')})" for _ in range(c.number(3))), told][:: c.pick((1, -1))])
    inner = f"for i in e.es where {condition(c, 'i')} union sng(⟨v: i.v⟩)"
    binds, head = c.pick(
        (
            ("", "v: e.v"),
            (f"for b in sng[b]({inner}) union ", "v: e.v, b: b"),
            (f"for s in fold[s](x in ({inner}) of n: count(), m: max(x.v)) union ", "n: s.n, m: s.m"),
            ("", f"v: e.v, is: {compared(c, 'e')}"),
        )
    )
    return f"for e in E union for k in K where {where} union {binds}sng(⟨{head}⟩)"


def value_of(c: Choices, kind: str) -> object:
    match kind:
        case "long":
            return c.number(4)
        case "date":
            return FIRST + datetime.timedelta(days=c.number(4))
    return c.one_in(2)


SMALL = SmallRows(ROWS, KEYS, value_of)


def sums(e: Expr) -> int:
    return sum(isinstance(n, For) and isinstance(n.source, Plus) and isinstance(n.source.left, Pred) for n in nodes(e))


@law(lambda c: (term(c), SMALL.draw(c)), examples=many(700, 15_000))
def test_they_are_the_same_rows(case: tuple[str, dict[str, BagValue]]) -> None:
    said = unique_binders(parse_expr(case[0], NAMES))
    e, meant = simplify(exact(said)), evaluate(said, case[1])
    by_value, apart, values = chosen(e, KEYS), split(e, KEYS), in_cases(e, KEYS)
    for found in (by_value, apart, values, split(by_value, KEYS), simplify(split(chosen(values, KEYS), KEYS))):
        assert check(found) == check(e)
        assert evaluate(found, case[1]) == meant
    COUNTS["of sums"] += by_value is not e and sums(by_value) > sums(chosen(simplify(said), KEYS)) and bool(meant)
    COUNTS["by value"] += by_value is not e and sums(by_value) > 0 and bool(meant)
    COUNTS["apart"] += apart is not e and sums(apart) > 0 and bool(meant)
    COUNTS["looked up"] += apart is not e and "k.id = e.v" in case[0] and bool(meant)
    COUNTS["values"] += values is not e and bool(meant)
    COUNTS["left"] += e is by_value is apart


def test_enough_was_met() -> None:
    of_sums = COUNTS.pop("of sums")
    assert min(COUNTS.values()) > many(40, 1000) and of_sums > many(8, 250), COUNTS | {"of sums": of_sums}


OF = "for e in E union for k in K where k.id = 1 union "


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("e.d is null or k.now < e.d", "(p(e.d is null) ⊎ p(k.now < e.d))"),
        ("k.at > e.w or e.v > 1", "(p(e.v > 1) ⊎ p(not (e.v > 1) is true and k.at > e.w))"),
        ("k.at > e.v or e.w > 1", "(p(e.w > 1) ⊎ p(not (e.w > 1) is true and k.at > e.v))"),
        (
            "k.at > e.v or k.at < e.w",
            "(p(k.at > e.v) ⊎ (p(e.v < e.w and k.at ≤ e.v) ⊎ p(e.w ≤ e.v and k.at < e.w)))",
        ),
        (
            "e.v < k.at or e.v > k.w",
            "(p(e.v < k.at) ⊎ (p(k.at ≤ k.w and e.v > k.w) ⊎ p(k.w < k.at and e.v ≥ k.at)))",
        ),
        ("e.v < k.w or e.v > k.at", "p(k.w is null and e.v > k.at))"),
        ("not (k.at <= e.v and e.v <= k.w)", "⊎ (p(k.at ≤ k.w and e.v > k.w) ⊎ p(k.w < k.at and k.at ≤ e.v)))"),
        ("k.w > 1 or e.v > k.at", "(p(k.w > 1) ⊎ p(not (k.w > 1) is true and e.v > k.at))"),
        ("k.at > e.v or k.at < e.v + 1", None),
        (  # in too many ways
            "(e.w < k.w and e.d > k.now) or (e.w > k.at and e.d < k.now) or (e.v < k.w and e.s > k.now) or e.v > k.at",
            None,
        ),
        ("k.at > e.v or k.at < e.v", "(p(k.at > e.v) ⊎ p(k.at < e.v))"),
        ("k.at > e.v or k.at = e.w", None),
        ("e.v > 1 or e.w > 1", None),
        ("k.at / e.v > 1.0 or e.w > 1", None),
    ],
)
def test_by_hand(said: str, wanted: str | None) -> None:
    e = simplify(unique_binders(parse_expr(f"{OF} for _ in p({said}) union sng(e.v)", NAMES)))
    found = simplify(split(e, KEYS))
    assert (found == e) is (wanted is None)
    assert wanted is None or wanted in show(found), show(found)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("coalesce(e.w, e.v) < k.at", "(p(not e.w is null and e.w < k.at) ⊎ p(e.w is null and e.v < k.at))"),
        ("coalesce(e.w < k.at, e.v < k.at)", "(p(not e.w is null and e.w < k.at) ⊎ p(e.w is null and e.v < k.at))"),
        ("if(e.b, e.w < k.at, e.v < k.at)", "(p(e.b and e.w < k.at) ⊎ p(not e.b is true and e.v < k.at))"),
        ("coalesce(e.w < k.w, e.v < k.at)", None),
        ("coalesce(e.w < k.at, e.b)", None),
        ("coalesce(k.w < k.at, e.v < k.at)", None),
        ("if(k.at > 1, e.w < k.at, e.v < k.at)", None),
        ("if(e.b, e.w < k.at, e.v > 1)", None),
    ],
)
def test_choices_by_hand(said: str, wanted: str | None) -> None:
    e = simplify(unique_binders(parse_expr(f"{OF} for _ in p({said}) union sng(e.v)", NAMES)))
    found = chosen(e, KEYS)
    assert (found == e) is (wanted is None)
    assert wanted is None or wanted in show(simplify(found)), show(simplify(found))
