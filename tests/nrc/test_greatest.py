"""The greatest of sums of integers, and the first by them, are found among decimals."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.small_rows import BESIDE_A_CLOCK, SmallRows

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.greatest import greatest
from ripplenest.nrc.rewriting.normal import is_sure
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Expr, Group, Top
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes, unique_binders

NAMES = Environment(dict(BESIDE_A_CLOCK))
COUNTS: Counter[str] = Counter()
SUMS = ("{b}.v + {b}.g", "2 * {b}.v", "{b}.w - {b}.v", "-{b}.v", "3 * {b}.v - {b}.w + 1", "{b}.v * {b}.g", "{b}.v")


def number(c: Choices, kind: str) -> object:
    """Few numbers, and one whose double is beyond its type."""
    return (2**62 if c.one_in(12) else c.number(4)) if kind == "long" else c.number(4) / 2


SMALL = SmallRows(BESIDE_A_CLOCK, {"K", "A"}, number)


def term(c: Choices) -> str:
    one, other = (c.pick(SUMS).format(b="b") for _ in range(2))
    inner = c.one_in(4)
    rows = f"for b in {c.pick('AB')} union {'for i in b.es union ' if inner else ''}"
    rows += f"for _ in p({c.pick(('b.g = a.g', 'b.v < a.v', 'b.h = a.h and b.v >= 1', '2 * b.v < a.v + 1'))}) union "
    if inner:
        one, other = one.replace("b.v", "i.v"), other.replace("b.w", "i.w")
    shown = "sng(⟨v: a.v, f: s.f⟩)"
    if c.one_in(4):
        found = f"for s in group[s](x in ({rows}sng({one})) by f: x) union "
        many_of_them = f"for s in fold[n](y in ({found}sng(s.f)) of f: count()) union "
        return f"for a in A union {c.pick((found, many_of_them))}{shown}"
    if c.one_in(2):
        fold, arg = c.pick(("max", "min")), c.pick(("x", "x.p", "x.q"))
        head = one if arg == "x" else f"⟨p: {one}, q: {other}⟩"
        more = c.pick(("", "for _ in p(s.f > 1) union ", "for _ in p(s.f + 1 <= a.v) union "))
        return f"for a in A union for s in fold[s](x in ({rows}sng({head})) of f: {fold}({arg})) union {more}{shown}"
    by = c.pick(("x.p", "x.p desc", "x.p, x.f", "x.f, x.p desc", "x.p + x.f"))
    first = f"top[s]({c.pick((1, 2))}, x in ({rows}sng(⟨p: {one}, f: {other}⟩)) order {by})"
    return f"for a in A union for s in {first} union {shown}"


@law(lambda c: (term(c), SMALL.draw(c)), examples=many(500, 10_000))
def test_it_is_the_same_where_there_is_a_value(case: tuple[str, dict[str, BagValue]]) -> None:
    e = exact(unique_binders(parse_expr(case[0], NAMES)))
    found = greatest(e)
    assert check(found) == check(e)
    try:
        meant = evaluate(e, case[1])
    except EvaluationError:
        COUNTS["no value"] += 1
        return
    assert evaluate(found, case[1]) == evaluate(simplify(found), case[1]) == meant
    COUNTS["left"] += found is e
    if found is not e and meant:
        made = [n for n in nodes(found) if isinstance(n, Group | Top)][-1]
        COUNTS["distinct" if isinstance(made, Group) and made.keys else type(made).__name__] += 1
        COUNTS["always has a value"] += is_sure(made)


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(20, 400), COUNTS


OF = "for a in A union for s in {} union sng(⟨v: a.v, f: s.f⟩)"
FOLD = "fold[s](x in (for b in B where b.g = a.g union sng({})) of f: {})"
TOP = "top[s](2, x in (for b in B union sng({})) order {})"
LEFT = {
    "a column": FOLD.format("b.v", "max(x)"),
    "a sum of all": FOLD.format("b.v + 1", "sum(x)"),
    "products of longs": FOLD.format("b.v * b.g", "max(x)"),
    "doubles": FOLD.format("b.r + 1.0", "max(x)"),
    "first by a column": TOP.format("⟨f: b.v + 1, p: b.v⟩", "x.p"),
}


@pytest.mark.parametrize("of", LEFT.values(), ids=LEFT)
def test_what_is_left(of: str) -> None:
    e = unique_binders(parse_expr(OF.format(of), NAMES))
    assert greatest(e) is e


def test_first_rows_that_are_read_whole_are_left() -> None:
    e: Expr = unique_binders(parse_expr(f"for s in {TOP.format('⟨f: b.v, p: b.v + 1⟩', 'x.p')} union sng(s)", NAMES))
    assert greatest(e) is e
