"""Values that are made in cases are the same values."""

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
from ripplenest.nrc.rewriting.absent import apart
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.cases import in_cases
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.normal import normal
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Call, Expr, Pred, Sng
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Bag, Base, Record
from ripplenest.nrc.walk import canonical, nodes, unique_binders

MAYBE, AT = Base("long", True), Base("timestamp")
INNER = Record((("v", LONG), ("w", MAYBE), ("t", AT)))
ROWS = {
    "K": Record((("id", LONG), ("at", LONG), ("now", AT))),
    "N": Record((("id", LONG), ("at", MAYBE))),
    "E": Record(
        (("u", LONG), ("v", LONG), ("w", MAYBE), ("t", AT), ("o", Base("timestamp", True)), ("es", Bag(INNER)))
    ),
}
KEYS = {"K": ("id",), "N": ("id",)}
NAMES = Environment(dict(ROWS))
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
COUNTS: Counter[str] = Counter()


def compared(c: Choices, x: str) -> str:
    """A value of a row with the clock, with a total of all rows, and with what is neither."""
    op, n = c.pick(("<", "<=", ">", ">=", "=", "!=")), c.number(4) - 1
    values = [
        (f"{x}.v", "k.at"),
        (f"{x}.w", f"k.at - {n}"),
        (f"{x}.t", f"micros_after(k.now, {n})"),
        (f"{x}.t", "k.now"),
        (f"{x}.v - {n}", "k.at"),
        (f"{x}.w + 1", f"k.at - {n}"),
    ]
    if x == "e":
        values += [("e.o", f"micros_after(k.now, {-n})"), ("e.v", "n.at"), ("e.w", "n.at")]
        values += [("e.v", "2"), ("e.v", "e.w"), ("t.m", "m.m"), ("t.a", "m.a"), ("t.m", "k.at"), ("t.n", "k.at")]
        values += [("t.n", "m.m"), ("to_double(t.n)", "m.a"), ("t.n", f"k.at - {n}")]
        values += [("coalesce(t.m, 1)", "m.m"), ("coalesce(to_double(t.n), 0.5)", "m.a")]
        values += [(LAST, "k.now"), (LAST, f"micros_after(k.now, {n})"), (f"micros_between({LAST}, k.now)", f"{n}")]
        values += [("e.v", "m.m"), ("e.w", f"m.m - {n}"), ("to_double(e.v)", "m.a"), ("to_double(e.w)", "m.a")]
    a, b = c.pick(values)
    apart = (f"micros_between(k.now, {x}.t)", f"{n}")
    a, b = c.pick(((a, b), (a, b), apart))
    return c.pick((f"{a} {op} {b}", f"{b} {op} {a}"))


def value(c: Choices, x: str) -> str:
    t = compared(c, x)
    return c.pick(
        (t, f"if({t}, 1, if({compared(c, x)}, 2, 3))", f"not {t}", f"{t} or {compared(c, x)}", f"if({t}, {x}.v, 0)")
    )


def asked(c: Choices, x: str) -> str:
    """What is asked of a row, of which something may be NULL beside, or instead."""
    one, other = compared(c, x), c.pick((f"{x}.w is null", f"not {x}.w is null", f"{x}.v > 1", compared(c, x)))
    return c.pick((one, f"not {one}", f"{other} or {one}", f"{other} and {one}", f"({one}) is true"))


def chosen(c: Choices, x: str) -> str:
    """A class that such comparisons say, of which another value is asked; most of them are said by one column."""
    one, other = (c.pick((f"{x}.v < k.at", f"{x}.v <= k.at - 1", compared(c, x))) for _ in range(2))
    return f"if({one}, 1, if({other}, 2, 3)) {c.pick(('=', '!=', '<=', '<=>'))} {c.pick(('2', '3', f'{x}.v'))}"


def grouped(c: Choices) -> str:
    """Groups by how rows compare with a clock, or with a row that is looked up."""
    inner = "(for e in E where e.u = k.id union for i in e.es union sng(i))"
    some = "(for e in E where e.v < k.at union sng(e))"
    rows = c.pick(("E", some, f"(E ⊎ {some})", inner))
    folds = c.pick((" of n: count()", " of n: count(), m: max(x.w)", ""))
    told = c.pick(("k.id = 1", "k.id = 1", "k.at = 2"))
    made = "n: g.n, m: g.m" if "m:" in folds else "n: g.n" if folds else "n: k.id"
    keys = f"c: {value(c, 'x')}{c.pick(('', ', u: x.v'))}"
    return f"for k in K where {told} union for g in group[g](x in {rows} by {keys}{folds}) union sng(⟨c: g.c, {made}⟩)"


def term(c: Choices) -> str:
    if c.one_in(4):
        return grouped(c)
    fields = [f"f{i}: {value(c, 'e')}" for i in range(1 + c.one_in(3))]
    if c.one_in(3):
        fields.append(f"s: {c.pick(('k.id', 'e.u', 'k.at'))}")
    binds = ""
    if c.one_in(3):
        where = f" where {c.pick((compared, chosen))(c, 'i')}" if c.one_in(2) else ""
        binds = f"for b in sng[b](for i in e.es{where} union sng(⟨v: i.v, f: {value(c, 'i')}⟩)) union "
        fields.append("b: b")
    elif c.one_in(2):
        fn, made = c.pick((("count()", value), ("max(x)", value), ("any(x)", asked), ("all(x)", asked)))
        binds = f"for s in fold[s](x in (for i in e.es union sng({made(c, 'i')})) of n: {fn}) union "
        fields.append("n: s.n")
    several = " and ".join(c.pick((compared, compared, chosen))(c, "e") for _ in range(1 + c.number(3)))
    where = f" where {several}" if c.one_in(2) else ""
    looked_up = c.one_in(3)
    clocks = f"for k in K where k.id = 1 union for n in N where n.id = {'e.v' if looked_up else '1'}"
    of = c.pick(("", "", " where n.id = 7", " where n.at = e.u", " where n.id = e.v"))
    rows = f"for n in N{of} union sng(n.at)"
    orders = ("for e in E union {} union {}", "{1} union for e in E union {0}")
    clocks = (orders[0] if "e." in of or looked_up else c.pick(orders)).format(clocks, total(rows))
    return f"{clocks} union {OWN}{where} union {binds}sng(⟨{', '.join(fields)}⟩)"


OWN = "for t in fold[t](x in e.es of m: max(x.w), a: avg(x.w), n: count(), l: max(x.t))"
LAST = 'coalesce(t.l, timestamp "2024-01-01 00:00:00.000002+00:00")'


def total(rows: str) -> str:
    return f"for m in fold[m](x in ({rows}) of m: max(x), a: avg(x))"


def value_of(c: Choices, kind: str) -> object:
    return c.number(4) if kind == "long" else START + datetime.timedelta(microseconds=c.number(4))


SMALL = SmallRows(ROWS, KEYS, value_of)


def values(e: Expr) -> int:
    """How many comparisons are values of rows that are made."""
    heads = (n.elem for n in nodes(e) if isinstance(n, Sng))
    return sum(isinstance(t, Call) and t.fn in SWAPPED for head in heads for t in nodes(head))


def choices(e: Expr) -> int:
    """How many conditions ask for a class that comparisons say."""
    return sum("if(" in show(n) and " < " in show(n) for n in nodes(e) if isinstance(n, Pred))


@law(lambda c: (term(c), SMALL.draw(c)), examples=many(700, 17_500))
def test_cases_are_the_same_values(case: tuple[str, dict[str, BagValue]]) -> None:
    said = unique_binders(parse_expr(case[0], NAMES))
    e, meant = exact(said), evaluate(said, case[1])
    found = in_cases(e, KEYS)
    assert check(found) == check(e)
    assert evaluate(found, case[1]) == meant
    assert evaluate(simplify(found), case[1]) == meant
    told = apart(found, KEYS)
    assert check(told) == check(e) and evaluate(told, case[1]) == evaluate(apart(e, KEYS), case[1]) == meant
    COUNTS["of nothing"] += told is not found and bool(meant)
    COUNTS.update({"in cases": found is not e, "left": found is e, "rows": found is not e and bool(meant)})
    COUNTS["of sums"] += values(found) < values(in_cases(said, KEYS)) and bool(meant)
    COUNTS["of a class"] += choices(simplify(found)) < choices(e) and bool(meant)
    COUNTS["fewer values"] += values(simplify(found)) < values(e)
    COUNTS["looked up"] += found is not e and "where n.id = e.v" in case[0].partition("fold")[0] and bool(meant)
    COUNTS["of groups"] += found is not e and "group[" in case[0] and bool(meant)
    COUNTS["asked of all"] += found is not e and "all(x)" in case[0] and bool(meant)
    COUNTS["shared"] += found is not e and "n.at = e.u" in case[0] and values(found) < values(e) and bool(meant)


def test_enough_was_made_in_cases() -> None:
    all_of_it = COUNTS.pop("asked of all")
    assert min(COUNTS.values()) > many(40, 1000) and all_of_it > many(10, 250), COUNTS


OF = "for e in E union for k in K where k.id = 1 union "
BOTH = "((for _ in p({}) union sng(⟨o: true⟩)) + (for _ in p({}) union sng(⟨o: false⟩)))"
WHERE = ("", " where n.at = e.v", " where n.at = e.u", " where n.at < e.u")
ALL, SOME, SHARED, LESS = (total(f"for n in N{where} union sng(n.at)") for where in WHERE)
NULL = "for n in N where n.id = 1 union"
LYING = "micros_between(k.now, e.t)"
CASES = {
    "never NULL": ("sng(⟨o: e.v < k.at⟩)", BOTH.format("e.v < k.at", "e.v >= k.at")),
    "a column to which something is added": (
        "sng(⟨o: e.v + 1 < k.at - 2⟩)", BOTH.format("e.v + 1 < k.at - 2", "e.v + 1 >= k.at - 2"),
    ),
    "in one way": (
        "for _ in p(e.t > micros_after(k.now, -5)) union sng(⟨o: micros_between(k.now, e.t) > 2⟩)",
        f"for _ in p(micros_between(e.t, k.now) >= -4) union {BOTH.format(f'{LYING} > 2', f'{LYING} <= 2')}",
    ),
    "a total, that may be NULL": (
        f"{ALL} union sng(⟨o: e.v < m.m⟩)",
        f"{ALL} union ((for _ in p(e.v < m.m) union sng(⟨o: bool? true⟩)) + (for _ in p(e.v >= m.m) union "
        "sng(⟨o: bool? false⟩)) + (for _ in p(m.m is null) union sng(⟨o: bool? null⟩)))",
    ),
    "an average": (
        f"{ALL} union sng(⟨o: to_double(e.w) < m.a⟩)",
        f"{ALL} union ((for _ in p(to_double(e.w) < m.a) union sng(⟨o: bool? true⟩)) + "
        "(for _ in p(to_double(e.w) >= m.a) union sng(⟨o: bool? false⟩)) + "
        "(for _ in p(e.w is null) union sng(⟨o: bool? null⟩)) + "
        "(for _ in p(not e.w is null) union for _ in p(m.a is null) union sng(⟨o: bool? null⟩)))",
    ),
    "a total of rows that what is compared says": (f"{SOME} union sng(⟨o: e.v < m.m⟩)", ""),
    "a total that several rows share": (
        f"{SHARED} union sng(⟨o: e.v < m.m⟩)",
        f"{SHARED} union ((for _ in p(e.v < m.m) union sng(⟨o: bool? true⟩)) + (for _ in p(e.v >= m.m) union "
        "sng(⟨o: bool? false⟩)) + (for _ in p(m.m is null) union sng(⟨o: bool? null⟩)))",
    ),
    "a total of what the row says": (
        f"{total('for n in N where n.at = e.u union sng(if(e.v > 1, n.at, 2))')} union sng(⟨o: e.v < m.m⟩)", "",
    ),
    "a total of rows that more than equalities tell": (f"{LESS} union sng(⟨o: e.v < m.m⟩)", ""),
    "a total of each row": (
        f"{OWN} union for k in K where k.id = 1 union sng(⟨o: t.m < k.at⟩)",
        f"{OWN} union for k in K where k.id = 1 union ((for _ in p(t.m < k.at) union sng(⟨o: bool? true⟩)) + "
        "(for _ in p(t.m >= k.at) union sng(⟨o: bool? false⟩)) + (for _ in p(t.m is null) union sng(⟨o: bool? null⟩)))",
    ),
    "how many there are, which is known of none": (
        f"{OWN} union sng(⟨o: t.n < k.at⟩)", f"{OWN} union {BOTH.format('t.n < k.at', 't.n >= k.at')}",
    ),
    "a clock that may be NULL": (
        f"{NULL} sng(⟨o: e.v < n.at⟩)",
        f"{NULL} ((for _ in p(e.v < n.at) union sng(⟨o: bool? true⟩)) + (for _ in p(e.v >= n.at) union "
        "sng(⟨o: bool? false⟩)) + (for _ in p(n.at is null) union sng(⟨o: bool? null⟩)))",
    ),
    "both may be": (
        f"{NULL} sng(⟨o: e.w < n.at⟩)",
        f"{NULL} ((for _ in p(e.w < n.at) union sng(⟨o: bool? true⟩)) + (for _ in p(e.w >= n.at) union "
        "sng(⟨o: bool? false⟩)) + (for _ in p(e.w is null) union sng(⟨o: bool? null⟩)) + "
        "(for _ in p(not e.w is null) union for _ in p(n.at is null) union sng(⟨o: bool? null⟩)))",
    ),
    "more of the total": (f"{ALL} union sng(⟨o: e.v < m.m, m: m.a⟩)", ""),
    "too many cases": (f"{ALL} union sng(⟨o: e.w < m.m, p: e.v < m.m, q: e.u < m.m⟩)", ""),
    "too many, with what nothing answers": (f"{OWN} union {ALL} union sng(⟨o: t.n < m.m, p: e.w < m.m⟩)", ""),
    "more is read of the clock": ("sng(⟨o: e.v < k.at, k: k.at⟩)", ""),
    "what is asked of rows": (
        "for s in fold[s](x in (for f in E union sng(f.v < k.at)) of s: any(x)) union sng(s.s)", "",
    ),
    "what is the same": (
        "sng(⟨o: e.v = k.at⟩)",
        "((for _ in p(e.v = k.at) union sng(⟨o: true⟩)) + (for _ in p(e.v < k.at) union sng(⟨o: false⟩)) + "
        "(for _ in p(e.v > k.at) union sng(⟨o: false⟩)))",
    ),
    "what is the same as a double": (f"{ALL} union sng(⟨o: to_double(e.v) = m.a⟩)", ""),
    "what is computed": ("sng(⟨o: e.v + e.u < k.at⟩)", ""),
    "as far as the row says": ("sng(⟨o: micros_between(k.now, e.t) < e.v⟩)", ""),
    "a row beside the clock": ("for d in E union sng(⟨o: e.v < d.v + k.at⟩)", ""),
    "what may have no value where nobody asks": ("sng(⟨o: if(e.w > 0, e.v < k.at * k.at, false)⟩)", ""),
    "two rows": ("for d in E union sng(⟨o: e.v < d.v⟩)", ""),
    "a row that is looked up": (
        "for l in K where l.id = e.u union sng(⟨o: e.v < l.at, i: l.id⟩)",
        "for l in K where l.id = e.u union (where e.v < l.at union sng(⟨o: true, i: l.id⟩)"
        " ⊎ where e.v ≥ l.at union sng(⟨o: false, i: l.id⟩))",
    ),
    "too many of what is looked up": (
        "for l in K where l.id = e.u union sng(⟨o: e.v < l.at, p: e.w < l.at, q: e.u < l.at⟩)", "",
    ),
    "what no case asks for": (
        "sng(⟨o: if(e.v < k.at, 1, if(e.u < k.at, 2, 3))⟩)",
        "(where e.v < k.at union sng(⟨o: 1⟩) ⊎ where e.v ≥ k.at where e.u < k.at union sng(⟨o: 2⟩)"
        " ⊎ where e.v ≥ k.at where e.u ≥ k.at union sng(⟨o: 3⟩))",
    ),
    "more is read of what is looked up": ("for l in K where l.id = e.u union sng(⟨o: e.v < l.at, i: l.at⟩)", ""),
    "where it may be NULL": (
        "for n in N where n.id = e.u union sng(⟨o: n.at is null or e.v < n.at⟩)",
        "for n in N where n.id = e.u union (where e.v < n.at union sng(⟨o: bool? true⟩)"
        " ⊎ where e.v ≥ n.at union sng(⟨o: bool? false⟩) ⊎ where n.at is null union sng(⟨o: bool? true⟩))",
    ),
    "groups by it": (
        "for g in group[g](x in (for d in E union sng(⟨v: d.v⟩)) by c: x.v < k.at of n: count()) union sng(g)",
        "for g in group[g](x in (for d in E union (where d.v < k.at union sng(⟨row: ⟨v: d.v⟩, key0: true⟩)"
        " ⊎ where d.v ≥ k.at union sng(⟨row: ⟨v: d.v⟩, key0: false⟩))) by c: x.key0 of n: count()) union sng(g)",
    ),
    "too many": ("sng(⟨a: e.v < k.at, b: e.u < k.at, c: e.w < k.at, d: e.t < k.now⟩)", ""),
}  # fmt: skip


@pytest.mark.parametrize("classes", (2, 3, 5, 12))
def test_an_age_in_classes_is_as_many_products(classes: int) -> None:
    """That it is less than the less and more than the greater is none."""
    age = str(classes)
    for i in reversed(range(1, classes)):
        age = f"if(e.t > micros_after(k.now, -{4 * i + 1}), {i}, {age})"
    e = in_cases(unique_binders(parse_expr(f"{OF}sng(⟨a: {age}⟩)", NAMES)), KEYS)
    assert [len(c.conditions) for c in normal(e)] == [2, *[3] * (classes - 2), 2]  # one of them which clock it is


def test_an_age_of_what_may_be_nothing() -> None:
    """NULL is one case of all thresholds."""
    e = in_cases(unique_binders(parse_expr(f"{OF}sng(⟨a: e.w < k.at, b: e.w <= k.at⟩)", NAMES)), KEYS)
    assert len([*normal(e)]) == 3 + 1


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_which(before: str, after: str) -> None:
    e, wanted = (exact(unique_binders(parse_expr(OF + text, NAMES))) for text in (before, after or before))
    assert canonical(in_cases(e, KEYS)) == canonical(wanted)


OWN_OF = f"for e in E union {OWN} union "
CLOCKED, SUMMED = f"{OWN_OF}for k in K where k.id = 1 union ", f"{OWN_OF}{ALL} union "
ABSENT = {
    "of nothing there are 0": (
        f"{CLOCKED}for _ in p(t.n > k.at) union sng(e.u)",
        f"{CLOCKED}for _ in p(t.n != 0 and t.n > k.at) + p(t.n = 0 and 0 > k.at) union sng(e.u)",
    ),
    "from the other side, as a number of a wider type": (
        f"{SUMMED}for _ in p(m.a <= to_double(t.n)) union sng(e.u)",
        f"{SUMMED}for _ in p(t.n != 0 and m.a <= to_double(t.n)) + p(t.n = 0 and m.a <= 0.0) union sng(e.u)",
    ),
    "what stands instead of NULL": (
        f"{SUMMED}for _ in p(coalesce(t.m, 7) > m.m) union sng(e.u)",
        f"{SUMMED}for _ in p(not t.m is null and t.m > m.m) + p(t.m is null and 7 > m.m) union sng(e.u)",
    ),
    "how far it is from what moves": (
        f"{CLOCKED}for _ in p(micros_between({LAST}, k.now) <= 1) union sng(e.u)",
        f"{CLOCKED}for _ in p(not t.l is null and micros_between(t.l, k.now) <= 1) + "
        f"p(t.l is null and micros_between({LAST.split(', ')[1][:-1]}, k.now) <= 1) union sng(e.u)",
    ),
    "all that is asked of the total": (
        f"{CLOCKED}for _ in p(t.n > k.at) union for _ in p(t.n < e.u) union for _ in p(e.v < 3) union sng(e.u)",
        f"{CLOCKED}for _ in p(e.v < 3) union for _ in p(t.n != 0 and t.n > k.at and t.n < e.u) + "
        "p(t.n = 0 and 0 > k.at and 0 < e.u) union sng(e.u)",
    ),
    "it is NULL": (f"{CLOCKED}for _ in p(t.m > k.at) union sng(e.u)", ""),
    "a constant says that it is of rows": (
        f"{CLOCKED}for _ in p(t.n > k.at) union for _ in p(t.n > 2) union sng(e.u)", "",
    ),
    "nothing moves": (f"{OWN_OF}for _ in p(t.n > 2 and t.n < e.u) union sng(e.u)", ""),
    "it is computed": (f"{CLOCKED}for _ in p(t.n + 1 > k.at) union sng(e.u)", ""),
    "the clock is asked what the row is": (f"{CLOCKED}for _ in p(t.n > k.at + e.u) union sng(e.u)", ""),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), ABSENT.values(), ids=ABSENT)
def test_what_is_of_nothing_is_told_apart(before: str, after: str) -> None:
    e, wanted = (unique_binders(parse_expr(text, NAMES)) for text in (before, after or before))
    found = apart(e, KEYS)
    assert show(canonical(found)) == show(canonical(wanted))
    assert after or found is e


def test_a_condition_that_is_read_below_is_asked_once() -> None:
    """What ``p`` gives is a value, too, and a body that reads it begins with no condition."""
    e = unique_binders(parse_expr("for e in E union for x in p(e.v < 3) union sng(x)", NAMES))
    assert apart(e, KEYS) == e
