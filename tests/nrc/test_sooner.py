"""Conditions that are asked before what is made for rows that they leave out keep the rows."""

from collections import Counter

import pytest
from support.choices import Choices
from support.keyed import SCHEMA, Queries, rows
from support.laws import law
from support.nesting import agrees
from support.sizes import many

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.normal import conjuncts
from ripplenest.nrc.rewriting.sooner import sooner
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Call, Expr, For, Group, Let, Pred, Rel, SngBag, Top
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import Record
from ripplenest.nrc.walk import canonical, nodes, unique_binders

COUNTS: Counter[str] = Counter()


class Late(Queries):
    """Terms whose conditions stand behind what is made."""

    def head(self, scope: dict[str, Record], depth: int) -> Expr:
        made = super().head(scope, depth)
        found = [self.condition(scope, self.c.pick([*scope])) for _ in range(self.c.number(3))]
        return self.below(made, [cond for cond in found if cond is not None])

    def below(self, e: Expr, conditions: list[Call]) -> Expr:
        """The conditions at the end, one by one or together."""
        match e:
            case For(var, source, body):
                return For(var, source, self.below(body, conditions))
            case _ if len(conditions) > 1 and self.c.one_in(2):
                return For("_", Pred(Call("and", tuple(conditions))), e)
        for cond in conditions:
            e = For("_", Pred(cond), e)
        return e


def case(c: Choices) -> tuple[Expr, dict[str, BagValue]]:
    e = Late(c).rows({}, 3)
    if c.one_in(3):
        name, t = c.pick(SCHEMA.relations)
        e = Let("late", Rel(name, t), e)
    return e, {name: rows(c, t) for name, t in SCHEMA.relations}


def waiting(e: Expr) -> int:
    """How much is made before a condition that stands below it is asked."""
    made = [n for n in nodes(e) if isinstance(n, For) and isinstance(n.source, Group | Top | SngBag)]
    asked = (n.cond for m in made for n in nodes(m.body) if isinstance(n, Pred))
    return sum(len([*conjuncts(cond)]) for cond in asked)


@law(case, examples=many(300, 5000))
def test_what_is_asked_sooner_keeps_the_rows(case: tuple[Expr, dict[str, BagValue]]) -> None:
    e, db = case
    found = sooner(e)
    assert agrees(check(found).row, check(e).row)
    assert evaluate(found, db) == evaluate(e, db)
    assert canonical(sooner(found)) == canonical(found)
    assert waiting(found) <= waiting(e)
    COUNTS["asked sooner"] += waiting(found) < waiting(e)


def test_enough_was_asked_sooner() -> None:
    assert COUNTS["asked sooner"] > many(30, 500), COUNTS


NAMES = Environment(dict(SCHEMA.relations))
COUNT = "for n in fold[n](y in (for y in Y where y.x = x.k union sng(y)) of n: count())"
CASES = {
    "of the row around it": (
        f"for x in X union {COUNT} where x.k = 1 and n.n > 0 union sng(x.k)",
        f"for x in X where x.k = 1 union {COUNT} where n.n > 0 union sng(x.k)",
    ),
    "of what is read below it": (f"for x in X union {COUNT} union for z in Y where z.k = 1 union sng(x.k)", ""),
    "of the row around it, below what is read": (
        f"for x in X union {COUNT} union for z in Y where x.k = 1 union sng(z.k)",
        f"for x in X where x.k = 1 union {COUNT} union for z in Y union sng(z.k)",
    ),
    "what can fail": (f"for x in X union {COUNT} where x.k + 1 = 2 union sng(x.k)", ""),
    "nothing is made": ("for x in X union for y in Y where x.k = 1 union sng(y.k)", ""),
    "of some rows": (
        f"for x in X union {COUNT} union ((for _ in p(x.k = 1) union sng(x.k)) + sng(x.a))", "",
    ),
    "behind a name": (
        f"for x in X union {COUNT} union let Z := Y in for z in Z where x.k = 1 union sng(z.k)",
        f"for x in X where x.k = 1 union {COUNT} union let Z := Y in for z in Z union sng(z.k)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_which(before: str, after: str) -> None:
    e, wanted = (unique_binders(parse_expr(text, NAMES)) for text in (before, after or before))
    assert canonical(sooner(e)) == canonical(wanted)
