"""That nothing came between a row and a value, and that it is the latest row before that, are the same."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.small_rows import BESIDE_A_CLOCK, UNION, SmallRows, in_unions, value

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.latest import latest
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Group, Top
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.walk import canonical, nodes, unique_binders

KEYS = {"K": ("id",), "A": ("id",)}
NAMES = Environment(dict(BESIDE_A_CLOCK))
SMALL = SmallRows(BESIDE_A_CLOCK, KEYS, value)
COUNTS: Counter[str] = Counter()

ROWS = {  # rows @ and a total of them, or rows @i in their inner bags, and of what a value is
    "rows": ("for @ in {table} where {where} union ", "@"),
    "inner rows": ("for @ in {table} where {where} union for @i in @.es union ", "@i"),
    "rows with totals": (
        "for @ in {table} where {where} union for @t in fold[{site}](y in (for q in B where q.g = @.v union sng(q.v))"
        " of m: max(y)) union for _ in p(@t.m >= 0) union ",
        "@",
    ),
    "joined rows": ("for @ in {table} union for @j in B where @j.h = @.h where {where} union ", "@"),
}
WHERE = ("@.v >= 0", "@.w is null", "@.g <= 2", "@.v >= 1 and @.g >= 0")


NEXT = "next"  # the site of what comes next, before which a value lies
SOME = "some"  # the site of what asks whether there is a row after which nothing came
GROUP = "for k in group[k](x in A by h: x.h) union "


def of_groups(around: str, own: str, holds: str) -> tuple[str, str, str]:
    """All of them rows of one group, as the rows that come with it are."""
    around, own = (text.replace(" where ", f" where {x}.h <=> k.h and ", 1) for text, x in ((around, "a"), (own, "b")))
    return GROUP + around, own, f"o.h <=> k.h and {holds}"


def in_turn(one: str, other: str, op: str, by: str) -> str:
    """How one value is compared with another, or two of a row with two of another."""
    if not by:
        return f"{one} {op} {other}"
    a, b = (f"{x.rpartition('.')[0]}.{by}" for x in (one, other))
    return f"({one} {op[0]} {other} or {one} = {other} and {a} {op} {b})"


def term(c: Choices) -> tuple[str, str]:
    kind = c.pick([*ROWS])
    rows, of = ROWS[kind]
    where, table = c.pick(WHERE), c.pick("AB")
    field = c.pick(("v", "v", "v", "w", "v" if kind == "inner rows" else "r"))
    also = where if not c.one_in(8) else c.pick((f"{where} and @.g = 1", "@.w > 1"))
    around = rows.format(table=table, where=where, site="t").replace("@", "a")
    own = rows.format(table=table if not c.one_in(9) else "A", where=also, site="t1").replace("@", "b")
    a, b = (f"{of.replace('@', name)}.{field}" for name in "ab")
    own = own if not c.one_in(6) else own.replace("q.g", c.pick(("q.h", "7")))
    later, before = c.pick((("<", "<="), ("<", "<="), ("<", "<"), (">", ">="), (">", ">"), ("<=", "<=")))
    edge = c.pick(("o.v", "o.v", "o.v", "o.w")) if field != "r" else "o.r"
    by = c.pick(("g", "g", "h", "v")) if c.one_in(3) else ""
    later_a, before_b = in_turn(a, b, later, by), in_turn(b, edge, before, by)
    after_c = f"{edge} {'>' if later[0] == '<' else '<'} {a}" if not by else in_turn(a, edge, later, by)
    holds = c.pick((in_turn(a, edge, before, by), in_turn(a, edge, later, by), after_c))
    if c.one_in(9):
        holds = "a.g >= 0"
    equal = c.pick(("g", "h", "", ""))
    joined = f" and o.{equal} = a.{equal}" if equal else ""
    beside = [f"b.{equal} = {c.pick('ao')}.{equal}"] if equal else []
    asked = " and ".join([later_a, before_b, *beside][:: c.pick((1, -1))])
    within, head, fold = c.pick(
        (
            ("true", asked, "any(x)"),
            ("true", f"coalesce({asked}, false)", "any(x)"),
            (asked, "1", "any()"),
            (asked, "b", "count()"),
        )
    )
    if not by and c.one_in(5):
        next_, first = (c.pick(("<", "<=")), "min") if later[0] == "<" else (c.pick((">", ">=")), "max")
        rows = f"{own}for _ in p({' and '.join([later_a, *beside])}) union sng({b})"
        is_next = f"{edge} {next_} t.m"
        ways = (is_next, f"t.m is null or {is_next}", f"{is_next} or t.m is null")
        last = f"coalesce(t.m, {c.pick(('2', 'a.w', 'o.w', 'o.v'))})"
        said = c.pick(ways).replace("t.m", last if field != "r" and c.one_in(2) else "t.m")
        text = f"{around}for o in {c.pick('AB')} where {holds}{joined} union for t in fold[{NEXT}](x in ({rows}) of m: "
        return kind, f"{text}{first}(x)) union for _ in p({said}) union sng(⟨a: {a}, o: o.v⟩)"
    own += f"for _ in p({within}) union sng({head})"
    none, some = ("s.f = 0", "s.f > 0") if "count" in fold else ("not s.f", "s.f")
    said = c.pick((none, none, none, some, f"{none} or a.v > 2"))
    shown = c.pick(("", f", f: {none}", f", f: {some} or a.v > 1", ", f: s.f"))
    if c.one_in(6):
        also = c.pick(("", " and a.g = o.g", " and a.w != o.v"))
        rows = f"{around}for s in fold[s](x in ({own}) of f: {fold}) union sng({holds}{joined} and ({said}){also})"
        text = f"for o in {c.pick('AB')} union for z in fold[{SOME}](y in ({rows}) of f: any(y)) union "
        return kind, text + c.pick(("sng(⟨o: o.v, f: z.f⟩)", "for _ in p(not z.f) union sng(o.v)"))
    around, own, holds = of_groups(around, own, holds) if c.one_in(4) else (around, own, holds)
    text = (
        f"{around}for o in {c.pick('AB')} where {holds}{joined} union "
        f"for s in fold[s](x in ({own}) of f: {fold}) union "
        f"for _ in p({said}) union sng(⟨a: {a}, o: o.v{shown}⟩)"
    )
    return kind, in_unions(c, text, 3)


@law(lambda c: (term(c), SMALL.draw(c)), examples=many(1_300, 25_000))
def test_they_say_the_same(case: tuple[tuple[str, str], dict[str, BagValue]]) -> None:
    (kind, text), db = case
    e = exact(unique_binders(parse_expr(text, NAMES)))
    found = latest(e, KEYS, UNION in text)
    COUNTS["left"] += found is e
    if found is e:
        return
    meant = evaluate(e, db)
    assert check(found) == check(e)
    assert evaluate(found, db) == evaluate(simplify(found), db) == meant
    if meant:
        COUNTS[kind] += 1
        COUNTS["of the others"] += "b.g = a.g" in text or "b.h = a.h" in text
        COUNTS["in turn"] += any(isinstance(n, Top) for n in nodes(found))
        COUNTS["of unions"] += UNION in text
        COUNTS["of groups"] += GROUP in text
        COUNTS["of some"] += SOME in text
        COUNTS["the next"] += NEXT in text
        COUNTS["shown"] += ", f: " in text
        for n in nodes(found):
            if isinstance(n, Group) and n.site == "s":
                COUNTS[n.folds[0].fn] += 1


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(15, 300), COUNTS


AROUND = "for k in K where k.id = 1 union for a in A where a.w > 0 union for o in B where o.g = a.g and {} union "
ASKED = "for s in fold[s](x in (for b in A where b.w > 0 where {} union sng(b.v)) of f: {}) union for _ in p({}) union "
WHICH = {
    "latest": ("a.v <= o.v", "b.g = a.g and a.v < b.v and b.v <= o.v", "b.g = o.g and b.v <= o.v", "max"),
    "first": ("a.v >= o.v", "b.g = o.g and a.v > b.v and o.v <= b.v", "b.g = o.g and o.v <= b.v", "min"),
    "before": ("o.v > a.v", "b.g = a.g and b.v < o.v and b.v > a.v", "b.g = o.g and b.v < o.v", "max"),
    "before, or not": ("a.v < o.v", "b.g = a.g and a.v < b.v and b.v <= o.v", "b.g = o.g and b.v <= o.v", "max"),
    "at it, and asked before": ("a.v <= o.v", "b.g = a.g and a.v < b.v and b.v < o.v", None, "max"),
    "which may lie behind": ("a.v <= o.r", "b.g = a.g and a.v < b.v and b.v <= o.v", None, "max"),
    "itself": ("a.v <= o.v", "b.g = a.g and a.v <= b.v and b.v <= o.v", None, "max"),
    "of fewer": ("a.v <= o.v", "b.g = a.g and b.h = 1 and a.v < b.v and b.v <= o.v", None, "max"),
    "of other fields": ("a.v <= o.v", "b.g = a.g and a.v < b.w and b.w <= o.v", None, "max"),
    "of other groups than o": ("a.v <= o.v and a.h > 1", "b.h = a.h and a.v < b.v and b.v <= o.v", None, "max"),
    "another value": ("a.v <= o.v", "b.g = a.g and a.w < b.v and b.v <= o.v", None, "max"),
    "of what may be NULL": ("a.v <= o.v", "b.h = b.h and a.v < b.v and b.v <= o.v", None, "max"),
    "of what is not equal": ("a.v <= o.v and a.g > a.h", "b.g = b.h and a.v < b.v and b.v <= o.v", None, "max"),
    "up to a clock": ("a.v <= k.at", "a.v < b.v and b.v <= k.at", None, "max"),
    "of all": ("a.v <= o.v", "a.v < b.v and b.v <= o.v", "b.v <= o.v", "max"),
    "up to a constant": ("a.v <= 2", "b.g = a.g and a.v < b.v and b.v <= 2", None, "max"),
    "what can fail": ("a.v <= o.v", "b.g = a.g and a.v < b.v and b.v <= o.v and b.v + 1 > 0", None, "max"),
    "what can fail, but does not": ("a.v <= o.v and a.v + 1 > 0", "a.v < b.v and b.v <= o.v and b.v + 1 > 0", None, ""),
}


@pytest.mark.parametrize(("holds", "asked", "wanted", "fold"), WHICH.values(), ids=WHICH)
def test_which(holds: str, asked: str, wanted: str | None, fold: str) -> None:
    given = asked, "any()", "not s.f"
    made = given if wanted is None else (wanted.replace("and", "where"), f"{fold}(x)", "s.f = a.v")
    terms = (f"{AROUND.format(holds)}{ASKED.format(*by)}sng(⟨v: a.v⟩)" for by in (given, made))
    e, meant = (unique_binders(parse_expr(t, NAMES)) for t in terms)
    found = latest(e, KEYS)
    assert canonical(simplify(found)) == canonical(simplify(meant)) and (found is e) == (wanted is None)
