"""What is distinct up to a value, and what is up to it of all that is distinct, are the same."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.small_rows import (
    BAG,
    BESIDE_A_CLOCK,
    GROUPS,
    TOTALS,
    UNION,
    SmallRows,
    in_bags,
    in_unions,
    value,
    with_totals,
)

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.distinct import distinct
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Expr, Group, Top
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import canonical, free_vars, nodes, unique_binders

KEYS = {"K": ("id",), "A": ("id",)}
NAMES = Environment(dict(BESIDE_A_CLOCK))
COUNTS: Counter[str] = Counter()


def compared(c: Choices) -> str:
    own, other = c.pick((("v", "v"), ("w", "v"), ("v", "w"), ("w", "w"), ("r", "r"), ("w", "g"), ("h", "v")))
    one, another = f"b.{own}", f"a.{other}"
    if c.one_in(6):
        one, another = c.pick(((one, "k.at"), (one, "2"), (f"{one} + 1", another), (one, f"{another} - 1")))
    op = c.pick(("<", "<=", ">", ">="))
    if c.one_in(5):  # by two values, in turn
        one, another, by = f"b.{own}", f"a.{other}", c.pick("gvvh")
        return f"({one} {op[0]} {another} or {one} = {another} and b.{by} {op} a.{by})"
    return c.pick((f"{one} {op} {another}", f"{another} {op} {one}"))


def group(c: Choices) -> tuple[str, list[str]]:
    """A group of rows, and what can be read of it."""
    equal = c.pick(("b.g = a.g", "b.h = a.h", "b.g = a.v", "b.g = a.g and b.h = a.h", "", "a.id = b.g"))
    conditions = [equal, *(compared(c) for _ in range(1 + c.one_in(3))), *c.pick(([], [], ["b.v > 1"]))]
    where = " and ".join(t for t in conditions[:: c.pick((1, -1))] if t)
    inner = "for b in o.es union " if c.one_in(5) else ""
    if inner:
        where = where.replace("b.g", "o.g").replace("b.h", "o.h").replace("b.r", "b.v")
    rows = f"for {'o' if inner else 'b'} in {c.pick('AB')} union {inner}for _ in p({where or 'true'}) union "
    folds = c.pick(("", "", " of n: count()", " of n: count(), m: max(x.v)"))
    keys, names = c.pick(
        (
            ("v: x.v", ["s.v"]),
            ("v: x.v, w: x.w", ["s.v", "s.w"]),
            ("w: x.w", ["s.w"]),
            ("first: x.w + 1", ["s.first"]),
            ("v: x.v / 2.0", []),
        )
    )
    names = [*names, *(["s.n"] if folds else [])]
    return f"group[s](x in ({rows}sng(⟨v: b.v, w: b.w⟩)) by {keys}{folds})", names


def term(c: Choices) -> str:
    grouped, names = group(c)
    around = c.pick(("for a in A union ", "for a in B union ", "for d in B union for a in A where a.g = d.g union "))
    grouped = grouped.replace("a.id", "a.g") if "for a in B" in around else grouped
    read = ", ".join(f"f{i}: {name}" for i, name in enumerate(names)) or "f: a.v"
    ways = (
        f"for s in {grouped} union sng(⟨v: a.v, {read}⟩)",
        f"for f in fold[f](y in (for s in {grouped} union sng(⟨{read}⟩)) of n: count()) union sng(⟨v: a.v, n: f.n⟩)",
        f"sng(⟨v: a.v, b: sng[i](for s in {grouped} union sng(⟨{read}⟩))⟩)",
        f"for s in {grouped} union sng(⟨v: a.v, s: s⟩)",
    )
    text = f"for k in K where k.id = 1 union {around}{c.pick((*ways[:3], *ways))}"
    return in_unions(c, in_bags(c, with_totals(c, text)))


SMALL = SmallRows(BESIDE_A_CLOCK, KEYS, value)


def places(e: Expr) -> int:
    """How much of what is around groups they read."""
    return sum(len(free_vars(n)) for n in nodes(e) if isinstance(n, Group) and n.keys)


@law(lambda c: (term(c), SMALL.draw(c)), examples=many(900, 20_000))
def test_they_are_the_same_rows(case: tuple[str, dict[str, BagValue]]) -> None:
    e = exact(unique_binders(parse_expr(case[0], NAMES)))
    unions = UNION in case[0]
    found, meant = distinct(e, KEYS, unions), evaluate(e, case[1])
    assert check(found) == check(e)
    assert evaluate(found, case[1]) == evaluate(simplify(found), case[1]) == meant
    assert canonical(distinct(found, KEYS, unions)) == canonical(found)
    assert found is e or places(found) <= places(e)
    fresh = {n.fn for g in nodes(found) if isinstance(g, Group) for n in g.folds if n.name.startswith("first")}
    for fn in fresh:
        COUNTS[fn] += bool(meant)
    COUNTS["of keys"] += found is not e and not fresh and bool(meant)
    COUNTS["in turn"] += any(isinstance(n, Top) for n in nodes(found)) and bool(meant)
    COUNTS["left"] += found is e
    COUNTS["in bags"] += BAG in case[0] and found is not e and bool(meant)
    COUNTS["of unions"] += unions and found is not e and bool(meant)
    COUNTS["around groups"] += GROUPS in case[0]
    for own in TOTALS.values():
        COUNTS[f"made others, with {own[4]}"] += own in case[0] and found is not e and bool(meant)
    COUNTS["fewer places"] += places(found) < places(e) and bool(meant)


def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    assert min(COUNTS.values()) > many(10, 300), COUNTS


OF = "for k in K where k.id = 1 union for a in A union "
ALL = "for s in group[s](x in (for b in A where {} union sng({})) by v: {}{}) union {}sng(⟨v: s.v⟩)"
WHICH = {
    "of a key": (
        ("b.g = a.g and b.v > a.v", "b", "x.v", ""),
        ("b.g = a.g", "b", "x.v", "", "for _ in p(s.v > a.v) union "),
    ),
    "of a key that folds are beside": (
        ("b.v <= a.v and b.g = a.g", "b.v", "x", " of n: sum(x)"),
        ("b.g = a.g", "b.v", "x", " of n: sum(x)", "for _ in p(s.v <= a.v) union "),
    ),
    "so far": (
        ("b.g = a.g and b.w <= a.v", "b.v", "x", ""),
        ("b.g = a.g", "⟨row: b.v, by: b.w⟩", "x.row", " of first: min(x.by)", "for _ in p(s.first <= a.v) union "),
    ),
    "from then on, of all": (
        ("a.v < b.w", "b.v", "x", ""),
        (None, "⟨row: b.v, by: b.w⟩", "x.row", " of first: max(x.by)", "for _ in p(a.v < s.first) union "),
    ),
    "so far, of doubles": (
        ("b.g = a.g and b.r <= a.r", "b.v", "x", ""),
        ("b.g = a.g", "⟨row: b.v, by: b.r⟩", "x.row", " of first: min(x.by)", "for _ in p(s.first <= a.r) union "),
    ),
    "both": (
        ("b.g = a.g and b.w <= a.v and b.v > a.v", "b.v", "x", ""),
        ("b.g = a.g", "⟨row: b.v, by: b.w⟩", "x.row", " of first: min(x.by)",
         "for _ in p(s.v > a.v) union for _ in p(s.first <= a.v) union "),
    ),
    "what is folded is of some": (("b.g = a.g and b.w <= a.v", "b.v", "x", " of n: count()"), None),
    "a window": (("b.g = a.g and b.w <= a.v and b.w > a.v - 2", "b.v", "x", ""), None),
    "a row by itself": (("b.id = a.id and b.v <= a.v", "b.v", "x", ""), None),
    "as far as a clock is": (("b.g = a.g and b.v <= k.at", "b.v", "x", ""), None),
    "what can fail": (("b.g = a.g and b.v <= a.v", "b.v * b.v", "x", ""), None),
    "what says which": (("b.v = a.v and b.v <= a.v", "b.v", "x", ""), None),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), WHICH.values(), ids=WHICH)
def test_which(before: tuple[str, ...], after: tuple[str | None, ...] | None) -> None:
    said = OF + ALL.format(*before, "")
    wanted = said if after is None else OF + ALL.format(*after).replace(" where None", "")
    e, expected = (unique_binders(parse_expr(text, NAMES)) for text in (said, wanted))
    assert canonical(distinct(e, KEYS)) == canonical(expected)
