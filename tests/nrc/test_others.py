"""The first of all but one row are among the first of all, and one more."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.small_rows import SmallRows

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.others import others
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Expr, Top
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Bag, Base, Record
from ripplenest.nrc.walk import canonical, nodes, unique_binders

MAYBE, REAL = Base("long", True), Base("double")
ROWS = {
    "K": Record((("id", LONG), ("at", LONG))),
    "A": Record((("id", LONG), ("g", LONG), ("h", MAYBE), ("v", LONG), ("w", MAYBE), ("r", REAL),
                 ("es", Bag(Record((("v", LONG),)))))),
    "B": Record((("id", LONG), ("to", MAYBE), ("g", LONG), ("h", MAYBE))),
    "E": Record((("id", LONG), ("es", Bag(Record((
        ("id", LONG), ("g", LONG), ("h", MAYBE), ("v", LONG), ("w", MAYBE), ("r", REAL),
    )))))),
}  # fmt: skip
KEYS = {"K": ("id",), "A": ("id",), "B": ("id",), "E": ("id",), "E.es": ("id",)}
BAG = "for e in E "
UNION = "(A ⊎ for y in A where y.v > 1 union sng(y))"
JOINED = (  # with rows b of A, and a value of what is joined
    ("for j in B where j.id = b.v union ", "j.h"),
    ("for j in B where j.id = b.w union ", "j.g"),
    ("for j in B where j.g = b.v union ", "j.h"),  # of which there may be several
    ("for j in B where j.id = 1 union ", "j.g"),
    ("for t in fold[t](y in (for q in B where q.g = b.v union sng(q.h)) of m: max(y)) union ", "t.m"),
)
NAMES = Environment(dict(ROWS))
COUNTS: Counter[str] = Counter()


def bag(c: Choices, a: str) -> tuple[str, str]:
    """Rows that are not a certain one, and values of them."""
    other = c.pick([*[f"{a}.id"] * 5, f"{a}.g", "k.at", "2"] + [f"{a}.to"] * 6 * (a == "d"))
    another = c.pick((f"b.id != {other}", f"{other} != b.id", f"not b.id = {other}"))
    equal = c.pick(("", "", f"b.g = {a}.g", f"b.h = {a}.h", f"b.g = {a}.g and b.h = {a}.h"))
    equal = f"b.g = {a}.id" if c.one_in(12) else equal
    more = c.pick(("", "", "b.v > 0", "b.w is null", f"{a}.g > 0", f"b.id != {a}.g"))
    more = "b.v + 1 > 1" if c.one_in(12) else more
    by = c.pick("vw")
    fields, signs = (by, by, "v"), ("<", "<=", ">", ">=")
    ends = [f"b.{c.pick(fields)} {c.pick(signs)} {a}.{c.pick('gh')}" for _ in range(c.number(3))]
    ends = ends if c.number(2) else []
    another = "" if ends and c.number(3) else another
    where = " and ".join([t for t in (equal, another, more, *ends) if t][:: c.pick((1, -1))])
    head, row = c.pick((
        ("⟨id: b.id, v: b.v, w: b.w⟩", "x.{}"), ("⟨v: b.v, w: b.w, r: b.r⟩", "x.{}"), ("⟨v: b.v, w: b.w⟩", "x.{}"),
        ("⟨in: ⟨v: b.v, w: b.w⟩, g: b.g⟩", "x.in.{}"),
    ))  # fmt: skip
    joined, value = c.pick([*JOINED]) if c.one_in(3) else ("", "")
    head = head.replace("w: b.w", f"w: {value or 'b.w'}")
    return f"for b in A where {where} union {joined}sng({head})", row.format(by)


def first(c: Choices, a: str, n: int) -> str:
    rows, value = bag(c, a)
    if c.one_in(4):
        some = c.pick(("", f"{value} > 0", f"{value} = {a}.g", f"{value} = {a}.g and not {value} is null"))
        return f"for s{n} in fold[s{n}](x in ({rows}) of f: any({some})) union "
    if c.one_in(2):
        value = c.pick((value, value, f"coalesce({value}, 0)", f"{a}.g" if c.one_in(4) else value))
        return f"for s{n} in fold[s{n}](x in ({rows}) of f: {c.pick(('max', 'min'))}({value})) union "
    ways = c.pick(("", " desc", " nulls first", " desc nulls first"))
    more = c.pick(("", f", {value} desc", ", if(1 > 2, 1, 3)"))
    return f"for s{n} in top[s{n}]({c.pick((1, 1, 2, 3))}, x in ({rows}) order {value}{ways}{more}) union "


def term(c: Choices) -> str:
    a, around = c.pick((("a", "for a in A union "), ("d", "for d in B union ")))
    found = [first(c, a, n) for n in range(1 + c.one_in(3))]
    shown = ", ".join(f"s{n}: s{n}" for n in range(len(found)))
    text = f"for k in K where k.id = 1 union {around}{''.join(found)}sng(⟨of: {a}.id, {shown}⟩)"
    if a == "a" and c.one_in(3):
        text = text.replace(around, f"{BAG}union for a in e.es union ").replace("for b in A", "for b in e.es")
    known = "b.id !=" in text or "!= b.id" in text  # a key, which rows of unions have not
    return text if known and not c.one_in(8) else text.replace("for b in A", f"for b in {UNION}", 2 * bool(c.number(4)))


SMALL = SmallRows(ROWS, KEYS, lambda c, kind: c.number(4) if kind == "long" else c.number(4) / 2, most=5)


def limits(e: Expr) -> Counter[int]:
    return Counter(n.limit for n in nodes(e) if isinstance(n, Top))


@law(lambda c: (term(c), SMALL.draw(c)), examples=many(1_000, 20_000))
def test_the_first_of_others_are_among_the_first(case: tuple[str, dict[str, BagValue]]) -> None:
    e = simplify(unique_binders(parse_expr(case[0], NAMES)))
    found, meant = others(e, KEYS, UNION in case[0]), evaluate(e, case[1])
    assert check(found) == check(e)
    assert evaluate(found, case[1]) == evaluate(simplify(found), case[1]) == meant
    made = limits(found) - limits(e)
    for kind in ("top[", "f: m", "f: any"):
        COUNTS[kind] += bool(made and meant) and kind in case[0]
    COUNTS["of a field that may be NULL"] += bool(made and meant) and "d.to" in case[0]
    COUNTS["in bags"] += bool(made and meant) and BAG in case[0]
    COUNTS["joined"] += bool(made and meant) and " j in B" in case[0]
    COUNTS["with totals"] += bool(made and meant) and "fold[t" in case[0]
    COUNTS["of unions"] += bool(made and meant) and UNION in case[0]
    COUNTS["several"] += sum(made.values()) > 1
    COUNTS["others than two"] += case[0].count("b.id !=") > 1 and found is not e and bool(meant)
    COUNTS["left"] += found is e
    COUNTS["reached"] += bool(made and meant) and "b.id !=" not in case[0].replace("!= b.id", "b.id !=")


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(15, 400), COUNTS


OF = "for k in K where k.id = 1 union for a in A union for d in B union "
TOP = "for s in top[s]({}, x in (for b in A where {} union sng({})) order {}) union sng(⟨v: s⟩)"
NOT = "for s in top[s]({0}, x in (for y in {1} where {2} union sng(y.row)) order {3}) union sng(⟨v: s⟩)"
AMONG = "top[s1]({}, z in (for b in A where {} union sng(⟨row: {}, key: b.id⟩)) order {})"
WHICH = {
    "others of a group": (("2", "b.g = a.g and b.id != a.id", "b.v", "x"), ("3", "b.g = a.g", "b.v", "z.row")),
    "as many as there can be": (
        (f"{2**63 - 1}", "b.g = a.g and b.id != a.id", "b.v", "x"),
        (f"{2**63 - 1}", "b.g = a.g", "b.v", "z.row"),
    ),
    "of all": (("2", "b.id != a.id", "b.v", "x desc"), ("3", "true", "b.v", "z.row desc")),
    "what a row is told of": (("1", "b.id != d.to and b.h = d.h", "b.v", "x"), ("2", "b.h = d.h", "b.v", "z.row")),
    "others than two": (
        ("2", "b.id != a.v and b.g = a.g and b.id != a.id", "b.v", "x"),
        ("4", "b.g = a.g", "b.v", "z.row"),
    ),
    "a certain one": (("2", "b.g = a.g and b.id != 2", "b.v", "x"), None),
    "one that a clock says": (("2", "b.g = a.g and b.id != k.at", "b.v", "x"), None),
    "who is compared": (("2", "b.w > a.v and b.id != a.id", "b.v", "x"), ("3", "b.w > a.v", "b.v", "z.row")),
    "who is behind one": (("2", "b.v > a.v and b.id != a.id", "b.v", "x"), ("3", "b.v > a.v", "b.v", "z.row")),
    "who is compared with both": (("2", "b.v > coalesce(b.w, a.v) and b.id != a.id", "b.v", "x"), None),
    "of its own key": (("2", "b.g = a.id and b.id != a.id", "b.v", "x"), None),
    "what they agree in": (("2", "b.g = d.to and b.id != d.to", "b.v", "x"), None),
    "no key": (("2", "b.h = a.h and b.g != a.g", "b.v", "x"), None),
    "rows of their own": (("2", "b.g = a.g and b.id != a.id", "⟨v: b.v, g: a.v⟩", "x.v"), None),
    "rows of their own, in any order": (("2", "b.g = a.g and b.id != a.id", "⟨v: b.v, g: a.v⟩", "true"), None),
    "what is not ordered by may have none": (("2", "b.g = a.g and b.id != a.id", "⟨v: b.v, w: b.v + 1⟩", "true"), None),
    "an order of their own": (("2", "b.g = a.g and b.id != a.id", "b.v", "if(a.v > 1, x, 0)"), None),
    "what may have no value": (("2", "b.g = a.g and b.id != a.id", "b.v + 1", "x"), None),
    "an order that may have none": (("2", "b.g = a.g and b.id != a.id", "b.v", "x + 1"), None),
    "a condition that may have none": (("2", "b.g = a.g and b.v + 1 > 2 and b.id != a.id", "b.v", "x"), None),
}


BEFORE = "for s in top[s]({0}, x in (for b in A where {1} union sng(b.v)) order {2}) union sng(⟨v: s⟩)"
DOWN_TO = (
    "for s in top[s]({0}, x in (for y in top[s1]({0}, z in (for b in A where {1} union sng(⟨row: b.v⟩)) order {3})"
    " where {4} union sng(y.row)) order {2}) union sng(⟨v: s⟩)"
)
OPTIONAL = (
    "for s in top[s](1, x in (for y in top[s1](1, z in (for b in A where not b.w is null union sng(⟨row: b.w⟩))"
    " order z.row desc) where y.row > a.g union sng(y.row)) order x desc) union sng(⟨v: s⟩)"
)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            ("2", "b.g = a.g and b.v >= a.v", "x desc"),
            DOWN_TO.format("2", "b.g = a.g", "x desc", "z.row desc", "y.row >= a.v"),
        ),
        (("1", "b.g = a.g and a.v > b.v", "x"), DOWN_TO.format("1", "b.g = a.g", "x", "z.row", "a.v > y.row")),
        (
            ("1", "b.v < a.v and b.v > d.g and b.g = a.g", "x desc"),
            DOWN_TO.format("1", "b.v < a.v where b.g = a.g", "x desc", "z.row desc", "y.row > d.g"),
        ),
        (("1", "b.g = a.g and b.v < a.v", "x desc"), None),  # what begins there
        (("1", "b.g = a.g and b.v >= k.at", "x desc"), None),  # a clock, which leaves each row out once
        (("1", "b.g = a.id and b.v >= a.v", "x desc"), None),  # of rows of its own
        (("1", "b.g = a.g and b.v + 1 >= a.v", "x desc"), None),  # what may have no value
        (("1", "b.g = a.g and b.v >= b.g", "x desc"), None),  # of the row itself
        (("1", "b.g = a.g and b.v >= 2", "x desc"), None),
        (("1", "b.g != a.g and b.v >= a.v", "x desc"), None),  # of no group
    ],
)
def test_what_is_reached(given: tuple[str, str, str], made: str | None) -> None:
    text = OF + BEFORE.format(*given)
    e, right = (simplify(unique_binders(parse_expr(t, NAMES))) for t in (text, text if made is None else OF + made))
    found = others(e, KEYS)
    assert canonical(simplify(found)) == canonical(right) and (found is e) == (made is None)


def test_null_is_not_reached() -> None:
    text = OF + "for s in top[s](1, x in (for b in A where b.w > a.g union sng(b.w)) order x desc) union sng(⟨v: s⟩)"
    e, right = (simplify(unique_binders(parse_expr(t, NAMES))) for t in (text, OF + OPTIONAL))
    assert canonical(simplify(others(e, KEYS))) == canonical(right)


SOME = "for s in fold[s](x in (for b in A where {} union sng({})) of f: any({})) union sng(⟨v: s.f⟩)"
ANY = (
    "for s in fold[s](x in (for y in top[s1](2, z in (for b in A where {} union sng(⟨row: b.id, key: b.id⟩))"
    " order z.row) where y.key != a.id union sng(y.row)) of f: any()) union sng(⟨v: s.f⟩)"
)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (("b.g = a.g and b.id != a.id", "b.v", ""), "b.g = a.g"),
        (("b.id != a.id", "b.h = a.h", "x"), "b.h = a.h"),
        (("b.g = a.g", "b.id != a.id and b.v > 2", "x"), "b.g = a.g where b.v > 2"),
        (("b.g = a.g and b.id != a.id", "b.v + 1 > 2", "x"), None),
        (("b.g = a.g and b.id != a.id", "b.v > a.v", "x"), None),
        (("b.id = a.g and b.id != a.id", "b.v > 1", "x"), "b.id = a.g where b.v > 1"),
    ],
)
def test_whether_there_is_another(given: tuple[str, str, str], where: str | None) -> None:
    text = OF + SOME.format(*given)
    made = text if where is None else OF + ANY.format(where)
    e, right = (simplify(unique_binders(parse_expr(t, NAMES))) for t in (text, made))
    found = others(e, KEYS)
    assert canonical(simplify(found)) == canonical(right) and (found is e) == (where is None)


@pytest.mark.parametrize(("given", "among"), WHICH.values(), ids=WHICH)
def test_which(given: tuple[str, str, str, str], among: tuple[str, str, str, str] | None) -> None:
    text = OF + TOP.format(*given)
    said = " where ".join(c.replace("b.id", "y.key") for c in given[1].split(" and ") if "b.id !=" in c)
    made = text if among is None else OF + NOT.format(given[0], AMONG.format(*among), said, given[3])
    e, right = (simplify(unique_binders(parse_expr(t, NAMES))) for t in (text, made))
    found = others(e, KEYS)
    assert canonical(simplify(found)) == canonical(right) and (found is e) == (among is None)
