"""What is computed of a clock, and equated with what rows have, is read of a group of its own, and means the same."""

from collections import Counter

import pytest
from support.between import KEYS, NAMES, rows
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.stepped import stepped
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Group
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import nodes, unique_binders

COUNTS: Counter[str] = Counter()
STEPS = ("lower(k.s) = s.x", "s.y = upper(lower(k.s))", "date_of(s.b) = date_of(k.or)", "lower(k.s) <=> lower(s.y)")
OTHERS = ("s.i < k.n", "k.n > 1", "s.u = 1", "s.a = k.at", "lower(k.s) < s.x", "k.id = s.u")


def term(c: Choices) -> str:
    asked = [c.pick(STEPS) for _ in range(1 + c.number(2))] + [c.pick(OTHERS) for _ in range(c.number(2))]
    told, found = c.pick(("k.id = 1", "k.id = 1", "k.n = 1")), " and ".join(asked)
    head = c.pick(("s.u", "⟨u: s.u, x: s.x⟩", "⟨u: s.u, n: k.n⟩"))
    own = f"for s in S where {found} union sng({c.pick(('s.u', 's.i'))})"
    return c.pick((
        f"for k in K where {told} union for s in S where {found} union sng({head})",
        f"for s in S union for k in K where {told} union for _ in p({found}) union sng({head})",
        f"for k in K where {told} union for r in S union for b in sng[b]({own}) union sng(⟨u: r.u, b: b⟩)",
        f"for k in K where {told} union for g in group[g](x in ({own}) by u: x of n: count()) union sng(g)",
    ))  # fmt: skip


@law(lambda c: (term(c), rows(c)), examples=many(400, 8_000))
def test_steps_are_the_same_rows(case: tuple[str, dict[str, BagValue]]) -> None:
    e = unique_binders(parse_expr(case[0], NAMES))
    found = stepped(e, KEYS)
    meant = evaluate(e, case[1])
    assert check(found) == check(e) and evaluate(found, case[1]) == meant
    COUNTS.update({"stepped": found is not e, "left": found is e})
    COUNTS["rows"] += found is not e and bool(meant)
    for inner in ("sng[b]", "group[g]"):
        COUNTS[inner] += found is not e and inner in case[0]


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(15, 300), COUNTS


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("k.id = 1 union for s in S where s.x = lower(k.s)", True),
        ("k.id = 1 and k.n > 1 union for s in S where s.x = lower(k.s)", True),
        ("k.id = 1 union for s in S where s.x = lower(k.s) and s.i < k.n", False),
        ("k.id = 1 union for s in S where s.x = k.s", False),
        ("k.n = 1 union for s in S where s.x = lower(k.s)", False),
        ("k.id = 1 union for s in S where s.x < lower(k.s)", False),
    ],
    ids=["equated", "with more of its own", "compared, too", "as it is", "not the only one", "in an order"],
)
def test_which(text: str, steps: bool) -> None:
    e = unique_binders(parse_expr(f"for k in K where {text} union sng(s.u)", NAMES))
    found = stepped(e, KEYS)
    assert any(isinstance(n, Group) for n in nodes(found)) == steps and (steps or found == e)
