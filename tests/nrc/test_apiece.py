"""A clock is read once for each row that is compared with it, and the rows are the same."""

from collections import Counter

import pytest
from support.between import KEYS, NAMES, conditions, rows
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.apiece import apiece
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Expr, Rel
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes, unique_binders

COUNTS: Counter[str] = Counter()


def term(c: Choices) -> str:
    """Two or three rows that are compared with a clock, and with each other, in some order."""
    named = ["s", "t", *c.pick(((), (), ("r",)))]
    steps = [f"for {x} in S union for _ in p({conditions(c).replace('s.', f'{x}.')}) union " for x in named]
    clock = f"for k in K where {c.pick(('k.id = 1', 'k.id = 1', 'k.id = 1', 'k.n > 0', 'k.id = k.n'))} union "
    beside = c.pick(("", "for _ in p(s.u = t.u) union ", "for _ in p(s.i < k.n and t.i = s.u) union "))
    both = c.pick(("", "", "for _ in p(micros_between(s.a, k.at) < micros_between(t.a, k.or)) union "))
    head = c.pick(("⟨a: s.u, b: t.u⟩", "⟨a: s.u, b: t.u⟩", "⟨a: s.u, b: t.u, c: k.at⟩"))
    inside = c.pick(("sng({})", "sng({})", "for f in fold[f](x in S of n: count()) union sng({})")).format(head)
    return f"{clock}{''.join(steps)}{beside}{both}{inside}"


@law(lambda c: (term(c), rows(c)), examples=many(450, 8_000))
def test_the_rows_are_the_same(case: tuple[str, dict[str, BagValue]]) -> None:
    """Law (apiece)."""
    e = unique_binders(parse_expr(case[0], NAMES))
    found = apiece(e, KEYS)
    assert check(found) == check(e)
    meant = evaluate(e, case[1])
    assert evaluate(found, case[1]) == meant
    COUNTS["apiece" if found is not e else "left"] += 1
    COUNTS["rows"] += found is not e and bool(meant)
    COUNTS["three"] += clocks(found) == 3


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(8, 300) and len(COUNTS) == 4, COUNTS


def clocks(e: Expr) -> int:
    return sum(isinstance(n, Rel) and n.name == "K" for n in nodes(e))


BOTH = "for s in S where s.a < k.at union for t in S where t.a < k.at{} union sng(⟨a: s.u, b: t.u{}⟩)"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("for k in K where k.id = 1 union " + BOTH.format("", ""), 2),
        ("for k in K where k.id = 1 union " + BOTH.format(" and t.i = s.i and s.b < k.at", ""), 2),
        ("for k in K union " + BOTH.format("", ""), 1),  # of which there may be several
        ("for r in S union for k in K where k.id = r.u union " + BOTH.format("", ""), 1),  # told by a row
        ("for k in K where k.id = 1 union " + BOTH.format("", ", c: k.at"), 1),  # shown: all is other then
        ("for k in K where k.id = 1 union for s in S where s.a < k.at and s.b < k.at union sng(s.u)", 1),
        ("for k in K where k.id = 1 union " + BOTH.format(" and s.j < k.n + t.j", ""), 2),
    ],
)
def test_who_reads_a_clock(text: str, wanted: int) -> None:
    found = apiece(unique_binders(parse_expr(text, NAMES)), KEYS)
    assert clocks(found) == wanted


def test_without_keys_nobody_knows_that_it_is_the_same_row() -> None:
    e = unique_binders(parse_expr("for k in K where k.id = 1 union " + BOTH.format("", ""), NAMES))
    assert apiece(e, {}) is e
