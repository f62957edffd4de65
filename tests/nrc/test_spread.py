"""What is made of two bags is made of each, and is the same."""

from collections import Counter

import pytest
from support.laws import law
from support.nesting import agrees
from support.sizes import many
from support.strategies import Case, cases

from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.rewriting.spread import spread
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Call, For, Lit, Plus, Proj, Rel, Sng, Var
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Record, nullable
from ripplenest.nrc.walk import nodes

COUNTS: Counter[bool] = Counter()


@law(cases(), examples=many(150, 3_000))
def test_it_is_the_same_bag(case: Case) -> None:
    found = spread(case.query)
    assert evaluate(found, case.db) == evaluate(case.query, case.db)
    assert agrees(check(found).row, check(case.query).row)
    COUNTS[found is not case.query] += 1


def test_enough_was_met() -> None:
    assert COUNTS[True] > many(8, 160), COUNTS


NAMES = Environment({name: Record((("a", LONG),)) for name in "RST"})


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("for x in (R ⊎ S) union sng(⟨b: x.a⟩)", "for x in R union sng(⟨b: x.a⟩) ⊎ for x1 in S union sng(⟨b: x1.a⟩)"),
        ("for x in (R ⊎ (S ⊎ T)) union for y in T where y.a = x.a union sng(y)", "for x2 in T union for y2 in T where"),
        ("for x in (R ⊎ S) union for b in sng[b](T) union sng(⟨b: b⟩)", None),
        ("for x in (R ⊎ S) union for s in fold[s](y in T of n: count()) union sng(s)", None),
        ("for x in R union for y in (S ⊎ T) union sng(x)", "⊎"),
    ],
)
def test_by_hand(said: str, wanted: str | None) -> None:
    e = parse_expr(said, NAMES)
    found = spread(e)
    assert (found is e) is (wanted is None)
    assert wanted is None or wanted in show(found), show(found)


def test_what_is_much_is_not_copied() -> None:
    """Of fourteen products of two bags there would be sixteen thousand."""
    loops = " union ".join(f"for x{i} in (R ⊎ S)" for i in range(14))
    found = spread(parse_expr(f"{loops} union sng(x0)", NAMES))
    assert sum(1 for _ in nodes(found)) < 20_000


def test_null_beside_what_can_fail_is_left() -> None:
    """It has no value where that has none."""
    bags = Plus(*(Rel(name, Record((("a", LONG),))) for name in "RS"))
    failing, null = Call("quotient_long", (Lit(1, LONG), Proj(Var("x"), "a"))), Lit(None, nullable(LONG))
    for other, is_left in ((failing, True), (Proj(Var("x"), "a"), False)):
        found = spread(For("x", bags, Sng(Call("lt", (null, other)))))
        assert any(isinstance(n, Call) and n.fn == "lt" for n in nodes(found)) is is_left
