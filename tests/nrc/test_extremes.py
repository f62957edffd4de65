"""Rows that are asked what the greatest of them was asked: the same rows are kept."""

import datetime
from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.extremes import asked
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Expr, Group
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Base, Record
from ripplenest.nrc.walk import canonical, nodes, unique_binders

MAYBE, AT = Base("long", True), Base("timestamp")
ROWS = {
    "U": Record((("id", LONG), ("n", LONG))),
    "K": Record((("id", LONG), ("at", LONG), ("now", AT))),
    "N": Record((("id", LONG), ("at", MAYBE), ("now", Base("timestamp", True)))),
    "E": Record((("u", LONG), ("v", LONG), ("w", MAYBE), ("t", AT), ("o", Base("timestamp", True)))),
}
KEYS = {"U": ("id",), "K": ("id",), "N": ("id",)}
NAMES = Environment(dict(ROWS))
COUNTS: Counter[str] = Counter()
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


def term(c: Choices) -> str:
    """The users of whom the greatest or least value fulfils some conditions, which may be shown, too."""
    v, of = c.pick(("v", "w", "v + e.v", "t", "o")), c.pick(("max", "min"))
    compared = moments if v in ("t", "o") else numbers
    conditions = [compared(c) for _ in range(c.number(3))]
    if c.one_in(3):
        others = ("u.n > 1", "s.s is null", "u.n <= k.at")
        conditions.append(c.pick((*others, f"not {compared(c)}", f"{compared(c)} or u.n < 2")))
    where = f" where {c.pick((' and ', ' where ')).join(conditions)}" if conditions else ""
    values = (f"⟨u: u.id, b: {compared(c)}⟩", f"⟨b: if({compared(c)}, u.id, 7)⟩")
    head = c.pick(("⟨u: u.id⟩", "⟨u: u.id⟩", "⟨u: u.id, s: s.s⟩", *values))
    fold = f"for s in fold[s](x in (for e in E where e.u = u.id union sng(e.{v})) of s: {of}(x)){where}"
    below = c.pick(("", "for e in E where e.u = u.id union "))
    clocks = "for k in K where k.id = 1 union for n in N where n.id = 1"
    return f"for u in U union {clocks} union {fold} union {below}sng({head})"


def numbers(c: Choices) -> str:
    op = c.pick(("<", "<=", ">", ">=", "="))
    other = c.pick(("k.at", "n.at", "k.at - 2", "k.at - n.at", "u.n", "k.at + n.at", "1"))
    greatest = c.pick(("s.s", "s.s", f"s.s + {c.number(3) - 1}"))
    return c.pick((f"{greatest} {op} {other}", f"{other} {op} {greatest}"))


def moments(c: Choices) -> str:
    op, k, n = c.pick(("<", "<=", ">", ">=")), c.pick(("k.now", "n.now")), c.number(3) - 1
    if c.one_in(2):
        return f"s.s {op} micros_after({k}, {n})"
    apart = c.pick((f"micros_between({k}, s.s)", f"micros_between(s.s, {k})"))
    return c.pick((f"{apart} {op} {n}", f"{n} {op} {apart}"))


def rows(c: Choices) -> dict[str, BagValue]:
    found = {}
    for name, t in ROWS.items():
        made = [[(f, value(c, b)) for f, b in t.fields] for _ in range(4)]
        keyed = [("id", n) for n in range(4)] if name in KEYS else [row[0] for row in made]
        found[name] = BagValue.of((key, *row[1:]) for key, row in zip(keyed, made, strict=True))
    return found


def value(c: Choices, t: Base) -> object:
    if t.nullable and c.one_in(3):
        return None
    return c.number(4) if t.kind == "long" else START + datetime.timedelta(microseconds=c.number(4))


def extremes(e: Expr) -> int:
    return sum(isinstance(n, Group) and n.folds[0].fn in ("max", "min") for n in nodes(e))


@law(lambda c: (term(c), rows(c)), examples=many(400, 10_000))
def test_what_is_asked_of_the_rows_keeps_the_same_users(case: tuple[str, dict[str, BagValue]]) -> None:
    said = unique_binders(parse_expr(case[0], NAMES))
    e, meant = exact(said), evaluate(said, case[1])
    found = asked(e, KEYS)
    assert check(found) == check(e)
    COUNTS["of sums"] += extremes(found) < extremes(asked(said, KEYS))
    assert evaluate(found, case[1]) == meant
    assert canonical(asked(found, KEYS)) == canonical(found)
    COUNTS["values"] += "b: " in case[0] and found is not e
    COUNTS.update({"asked": found is not e, "no longer folded": extremes(found) < extremes(e), "left": found is e})
    COUNTS["rows of some"] += found is not e and bool(meant)


def test_enough_was_asked() -> None:
    assert min(COUNTS[what] for what in ("asked", "values", "left", "rows of some")) > many(50, 1500), COUNTS
    assert COUNTS["no longer folded"] > many(12, 400) and COUNTS["of sums"] > many(2, 60), COUNTS


LAST = "for s in fold[s](x in (for e in E where e.u = u.id union sng(e.v)) of s: max(x))"
FIRST = LAST.replace("max", "min")
ROW = "for x in (for e in E where e.u = u.id union sng(e.v)) where x {} union sng(⟨⟩)"
SOME = f"for n in fold[s1](y in ({ROW}) of some: any())"
BOTH = "for u in U union for k in K where k.id = 1 union "
CASES = {
    "some row": (f"{LAST} where s.s >= k.at union sng(u.id)", f"{SOME.format('>= k.at')} where n.some union sng(u.id)"),
    "from the other side": (
        f"{FIRST} where k.at > s.s union sng(u.id)",
        f"{SOME.replace('x {}', 'k.at > x')} where n.some union sng(u.id)",
    ),
    "no row": (
        f"{LAST} where s.s < k.at union sng(u.id)",
        f"{LAST} where not s.s is null union {SOME.format('>= k.at')} where not n.some union sng(u.id)",
    ),
    "and shown": (
        f"{LAST} where s.s > k.at union sng(s.s)", f"{LAST} union {SOME.format('> k.at')} where n.some union sng(s.s)",
    ),
    "another row, beside one that is": (f"{LAST} where s.s >= u.id union sng(u.id)", ""),
    "what may have no value for another row": (f"{LAST} where s.s - 1 < k.at union sng(u.id)", ""),
    "a value that may be none where nobody asks": (
        f"{LAST} union sng(if(u.n > 0, s.s >= k.at + 1, false))", "",
    ),
    "a constant": (f"{LAST} where s.s >= 1 union sng(u.id)", ""),
    "the greatest is as great": (f"{LAST} where s.s = k.at union sng(u.id)", ""),
    "another fold": (f"{LAST.replace('max', 'sum')} where s.s >= k.at union sng(u.id)", ""),
    "not of all rows": (f"{LAST} union ((for _ in p(s.s > k.at) union sng(u.id)) + sng(u.id))", ""),
    "beside another total": (
        f"for m in fold[m](e in E of n: sum(e.v)) union {LAST} where s.s < k.at + m.n union sng(u.id)", "",
    ),
    "a condition that is read": (f"{LAST} union for t in p(s.s < k.at) union sng(⟨u: u.id, t: t⟩)", ""),
    "one that is found by a value": (
        f"for k2 in K where k2.id = u.n union {LAST} where s.s > k2.at union sng(u.id)", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_which(before: str, after: str) -> None:
    e, wanted = (unique_binders(parse_expr(BOTH + text, NAMES)) for text in (before, after or before))
    assert canonical(asked(e, KEYS)) == canonical(wanted)


def test_none_is_found_where_the_clock_may_be_null() -> None:
    """NULL is above nothing and below nothing; that no row is above it would keep the user."""
    of = "for u in U union for k in N where k.id = 1 union " + LAST
    e = unique_binders(parse_expr(f"{of} where s.s < k.at union sng(u.id)", NAMES))
    assert asked(e, KEYS) is e
    assert asked(unique_binders(parse_expr(f"{of} where s.s > k.at union sng(u.id)", NAMES)), KEYS) is not e
