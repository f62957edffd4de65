"""What asks whether some row is beyond a value, and what asks the furthest row, are the same."""

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
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.beyond import beyond
from ripplenest.nrc.rewriting.cases import in_cases
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Call, Expr, Group, Sng, Term
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Base, Record
from ripplenest.nrc.walk import canonical, free_vars, nodes, unique_binders

PRICE, FINER = Base("decimal", False, 5, 1), Base("decimal", False, 7, 2)
ANOTHER = ("b.id != a.id", "a.id != b.id", "not b.id = a.id")
KEYS = {"K": ("id",), "A": ("id",)}
NAMES = Environment(dict(BESIDE_A_CLOCK))
COUNTS: Counter[str] = Counter()


def compared(c: Choices, b: str) -> str:
    """A value of a row of a fold with one around it."""
    pairs = [("v", "v"), ("w", "v"), ("v", "w"), ("w", "w"), ("r", "r"), ("w", "g")]
    own, other = c.pick(pairs if b == "b" else pairs[:4])
    one, another = f"{b}.{own}", f"a.{other}"
    if c.one_in(6):
        one, another = c.pick(((one, "k.at"), (one, "2"), (f"{one} + 1", another), (f"to_double({one})", "a.r")))
    op = c.pick(("<", "<=", ">", ">="))
    said = c.pick((f"{one} {op} {another}", f"{another} {op} {one}"))
    if c.one_in(6):
        return f"({said} or {one} = {another} and {b}.v {c.pick(('<', '>='))} a.v)"
    return said


def between(c: Choices, b: str) -> str:
    """A value of a row of a fold between two of one around it."""
    own, low = c.pick(("v", "w")), c.pick(("a.v", "a.w", "a.v - 2", "coalesce(a.w, 1)"))
    high = c.pick(("a.v", "a.w", "a.v + 2", "a.w + 1"))
    ends = [f"{low} {c.pick(('<', '<='))} {b}.{own}", f"{b}.{own} {c.pick(('<', '<='))} {high}"]
    return " and ".join(ends[:: c.pick((1, -1))])


def of_columns(c: Choices, b: str) -> str:
    """Two columns of a row of a fold, each compared with a value of one around it."""
    sides = [f"{b}.{own} {c.pick(('<', '<=', '>', '>='))} a.{c.pick('vw')}" for own in ("vw", "wv")[c.number(2)]]
    return " and ".join(sides)


def some(c: Choices, n: int) -> str:
    """A fold that says whether some row is beyond, or whether all are."""
    table = c.pick("AB")
    equal = c.pick(("b.g = a.g", "b.h = a.h", "b.g = a.v", "b.g = a.g and b.h = a.h", "", "a.id = b.g"))
    more = c.pick(("", "", "b.v > 1", "b.w is null", "b.v != a.v"))
    if table == "A" and c.one_in(2):
        more = c.pick(ANOTHER)
    inner = "" if not c.one_in(4) else "for i in b.es union "
    said = c.pick((between, between, of_columns, compared, compared, compared))(c, "i" if inner else "b")
    conditions = [t for t in (equal, more) if t]
    within, head, fold = c.pick(
        (
            ("", said, "any(x)"),
            ("", f"{said} and b.v > 0", "any(x)"),
            (said, "b.v", "any()"),
            (said, "b", "count()"),
            ("", said, "all(x)"),
            ("", f"coalesce({said}, true)", "all(x)"),
        )
    )
    if "all" in fold and "coalesce" not in head:
        head = f"coalesce({head}, {c.pick(('true', 'false'))})"
    where = " and ".join([*conditions, within][:: c.pick((1, -1))] if within else conditions)
    rows = f"for b in {table}{f' where {where}' if where and not inner else ''} union {inner}"
    if inner and where:
        rows += f"for _ in p({where}) union "
    return f"for s{n} in fold[s{n}](x in ({rows}sng({head})) of f: {fold}) union "


def asked(c: Choices, n: int, fold: str) -> str:
    own = f"s{n}.f"
    said = f"{own} {c.pick(('> 0', '= 0', '>= 1', '!= 0', '<= 0', '< 1', '> 1'))}" if "count()" in fold else own
    return c.pick((said, f"not {said}" if said == own else said, f"({said} or a.v > 2)", f"if({said}, a.v > 1, true)"))


def term(c: Choices) -> str:
    folds = [some(c, n) for n in range(1 + c.one_in(3))]
    around = c.pick(("for a in A union ", "for a in B union ", "for d in B union for a in A where a.g = d.g union "))
    folds = [fold.replace("a.id", "a.g") if "for a in B" in around else fold for fold in folds]
    says = [asked(c, n, fold) for n, fold in enumerate(folds)]
    where = f"for _ in p({' and '.join(says)}) union " if c.one_in(2) else ""
    shown = [f", f{n}: {asked(c, n, fold)}" for n, fold in enumerate(folds)] if not where or c.one_in(4) else []
    tail = f"sng(⟨v: a.v{''.join(shown)}⟩)"
    text = f"for k in K where k.id = 1 union {around}{''.join(folds)}{where}{tail}"
    return in_unions(c, in_bags(c, with_totals(c, text)))


SMALL = SmallRows(BESIDE_A_CLOCK, KEYS, value)


def some_of(e: Expr) -> Counter[str]:
    return Counter(n.folds[0].fn for n in nodes(e) if isinstance(n, Group) and n.folds)


def is_behind(e: Term) -> bool:
    """Whether it is the furthest one of those behind a value of a row around them."""
    if not (isinstance(e, Group) and e.folds and e.folds[0].fn in ("max", "min")):
        return False
    return any(isinstance(t, Call) and t.fn in SWAPPED and len(free_vars(t)) > 1 for t in nodes(e.of))


def is_so_far(e: Term) -> bool:
    """Whether what is behind a value by one column is the furthest by another."""
    if not (isinstance(e, Group) and is_behind(e)):
        return False
    heads = [n.elem for n in nodes(e.of) if isinstance(n, Sng)]
    compares = [t for t in nodes(e.of) if isinstance(t, Call) and t.fn in SWAPPED and len(free_vars(t)) > 1]
    return any(head not in nodes(t) for head in heads for t in compares)


@law(lambda c: (term(c), SMALL.draw(c)), examples=many(900, 20_000))
def test_they_say_the_same(case: tuple[str, dict[str, BagValue]]) -> None:
    e = exact(unique_binders(parse_expr(case[0], NAMES)))
    unions = UNION in case[0]
    found, meant = beyond(e, KEYS, unions), evaluate(e, case[1])
    assert check(found) == check(e)
    assert evaluate(found, case[1]) == meant
    cases = in_cases(simplify(found), KEYS)
    assert evaluate(cases, case[1]) == evaluate(simplify(cases), case[1]) == meant
    before, after = some_of(e), some_of(found)
    for fn in ("any", "all", "count"):
        COUNTS[fn] += after[fn] < before[fn] and bool(meant)
    for fn in ("max", "min"):
        COUNTS[fn] += after[fn] > 0 and bool(meant)
    COUNTS["another"] += found is not e and any(said in case[0] for said in ANOTHER)
    COUNTS["between"] += found is not e and any(map(is_behind, nodes(found))) and bool(meant)
    COUNTS["so far"] += found is not e and any(map(is_so_far, nodes(found))) and bool(meant)
    COUNTS["in cases"] += cases is not found and found is not e and bool(meant)
    COUNTS["alternatives"] += sum((after - before).values()) > 1 and " or " in case[0] and bool(meant)
    COUNTS["left"] += found is e
    COUNTS["in bags"] += BAG in case[0] and found is not e and bool(meant)
    COUNTS["of unions"] += unions and found is not e and bool(meant)
    COUNTS["around groups"] += GROUPS in case[0]
    for own in TOTALS.values():
        COUNTS[f"made others, with {own[4]}"] += own in case[0] and found is not e and bool(meant)


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(15, 400), COUNTS


OF = "for k in K where k.id = 1 union for a in A union "
SOME = "for s in fold[s](x in (for b in A where {} union sng({})) of f: {}) union {}sng(⟨v: a.v{}⟩)"
MAX = "for s in fold[s](x in (for b in A where b.g = a.g union sng(b.v)) of f: max(x)) union "
WHICH = {
    "some": (("b.g = a.g", "b.v > a.v", "any(x)", "for _ in p(s.f) union ", ""), "for _ in p(s.f > a.v) union "),
    "none": (
        ("b.g = a.g and b.v > a.v", "b", "count()", "for _ in p(s.f = 0) union ", ""),
        "for _ in (p(s.f is null) + p(s.f <= a.v)) union ",
    ),
    "all": (
        ("b.g = a.g", "a.w >= b.v", "all(x)", "", ""), None,  # which may be NULL: then all are not
    ),
    "another": (
        ("b.g = a.g", "b.v > a.v and b.id != a.id", "any(x)", "for _ in p(not s.f) union ", ""),
        "for _ in (p(s.f is null) + p(s.f <= a.v)) union ",
    ),
    "beside NULL": (
        ("b.g = a.g", "a.w < b.v", "any(x)", "for _ in p(not s.f) union ", ""),
        "for _ in (p(s.f is null) + p(s.f <= a.w) + p(a.w is null and not s.f is null)) union ",
    ),
    "not less, beside": (("b.g = a.g", "b.v >= a.v and b.h != a.h", "any(x)", "for _ in p(s.f) union ", ""), None),
    "another field of it": (("b.g = a.g", "b.v > a.g and b.id != a.id", "any(x)", "for _ in p(s.f) union ", ""), None),
    "of its own key": (("b.id = a.id", "b.v > a.v", "any(x)", "for _ in p(s.f) union ", ""), None),
    "what they agree in": (("b.g = a.v", "b.v > a.v", "any(x)", "for _ in p(s.f) union ", ""), None),
    "of a constant": (("b.g = a.g", "b.v > 2", "any(x)", "for _ in p(s.f) union ", ""), None),
    "how many": (("b.g = a.g and b.v > a.v", "b", "count()", "", ", n: s.f"), None),
    "of a clock": (("b.g = a.g", "b.v > k.at", "any(x)", "for _ in p(s.f) union ", ""), None),
    "of a clock and the row": (("b.g = a.g", "b.v > if(a.v > 1, k.at, 2)", "any(x)", "", ", n: s.f"), None),
    "what may have no value": (("b.g = a.g", "b.v > a.v + 1", "any(x)", "for _ in p(s.f) union ", ""), None),
    "nor where there are no rows": (("b.g = a.g and b.v > a.v + 1", "b", "any()", "for _ in p(s.f) union ", ""), None),
}


@pytest.mark.parametrize(("given", "wanted"), WHICH.values(), ids=WHICH)
def test_which(given: tuple[str, str, str, str, str], wanted: str | None) -> None:
    text = OF + SOME.format(*given)
    made = text if wanted is None else f"{OF}{MAX}{wanted}sng(⟨v: a.v⟩)"
    e, right = (unique_binders(parse_expr(t, NAMES)) for t in (text, made))
    found = beyond(e, KEYS)
    assert canonical(found) == canonical(right) and (found is e) == (wanted is None)


FOLD = "for {0} in fold[{0}](x in (for b in A where {1} union sng(b.{2})) of f: max(x)) union "
LESS = "(p({0}.f is null) + p({0}.f <= {1}))"
ALTERNATIVES = {
    "some": (
        ("b.g = a.g", "b.v > a.v or b.v = a.v and b.r > a.r", "any(x)", "for _ in p(s.f) union ", ""),
        (("s", "b.g = a.g", "v"), ("s1", "b.g = a.g where b.v = a.v", "r")),
        f"for _ in (p(s.f > a.v) + for _ in {LESS.format('s', 'a.v')} union p(s1.f > a.r)) union ",
    ),
    "none": (
        ("b.g = a.g where b.v = a.v and b.r > a.r or b.v > a.v", "b", "any()", "for _ in p(not s.f) union ", ""),
        (("s", "b.g = a.g where b.v = a.v", "r"), ("s1", "b.g = a.g", "v")),
        f"for _ in (for _ in {LESS.format('s', 'a.r')} union {LESS.format('s1', 'a.v')}) union ",
    ),
    "of which one is of a row's own": (
        ("b.g = a.g", "b.v > a.v or b.id = a.id and b.r > a.r", "any(x)", "for _ in p(s.f) union ", ""), (), "",
    ),
    "of which one compares nothing": (
        ("b.g = a.g", "b.v > a.v or b.r > 2.0", "any(x)", "for _ in p(s.f) union ", ""), (), "",
    ),
    "not less, another one": (
        ("b.g = a.g", "b.v >= a.v and b.id != a.id", "any(x)", "for _ in p(s.f) union ", ""),
        (("s", "b.g = a.g where b.id != a.id", "v"),), "for _ in p(s.f >= a.v) union ",
    ),
    "another one of rows with others": (
        ("b.g = a.g and b.h != a.h", "b.v >= a.v and b.id != a.id", "any(x)", "for _ in p(s.f) union ", ""), (), "",
    ),
}


@pytest.mark.parametrize(("given", "folds", "said"), ALTERNATIVES.values(), ids=ALTERNATIVES)
def test_alternatives(given: tuple[str, ...], folds: tuple[tuple[str, str, str], ...], said: str) -> None:
    text = OF + SOME.format(*given)
    made = f"{OF}{''.join(FOLD.format(*fold) for fold in folds)}{said}sng(⟨v: a.v⟩)" if folds else text
    e, right = (unique_binders(parse_expr(t, NAMES)) for t in (text, made))
    found = beyond(e, KEYS)
    assert canonical(found) == canonical(right) and (found is e) == (not folds)


BETWEEN = {
    "before it": ("b.v < a.v and a.w <= b.v", "b.v < a.v", "max", "p(a.w <= s.f)"),
    "behind it": ("a.w >= b.v and b.v > a.v", "b.v > a.v", "min", "p(a.w >= s.f)"),
    "by how much": ("b.v <= a.v and a.v - 2 <= b.v", "b.v <= a.v", "max", "p(a.v - 2 <= s.f)"),
    "another one": ("b.v < a.v and b.id != a.id and a.w <= b.v", "b.v < a.v", "max", "p(a.w <= s.f)"),
    "three": ("b.v < a.v and a.w <= b.v and a.id < b.v", None, "max", ""),
    "on one side": ("b.v < a.v and b.v < a.w", None, "max", ""),
    "of a clock": ("b.v < a.v and k.at <= b.v", None, "max", ""),
    "before a clock": ("b.v < k.at and a.w <= b.v", None, "max", ""),
    "what may fail beside it": ("b.v < a.v and a.w <= b.v and b.v + 1 = 2", None, "max", ""),
}


@pytest.mark.parametrize(("given", "behind", "fold", "said"), BETWEEN.values(), ids=BETWEEN)
def test_which_lie_between(given: str, behind: str | None, fold: str, said: str) -> None:
    rows = "for s in fold[s](x in (for b in A where b.g = a.g where {} union sng(b.v)) of f: {}) union "
    rows += "for _ in {} union "
    both = (given, "any()", "p(s.f)"), (behind or given, f"{fold}(x)", said or "p(s.f > 1)")
    terms = (parse_expr(f"{OF}{rows.format(*by)}sng(⟨v: a.v⟩)", NAMES) for by in both)
    e, right = (exact(unique_binders(t)) for t in terms)
    found = beyond(e, KEYS)
    assert found is e if behind is None else canonical(found) == canonical(right)


SO_FAR = {
    "greatest": ("b.v < a.v and a.w <= b.w", "b.v < a.v", "max(x)", "b.w", "s.f >= a.w"),
    "least": ("b.v > a.v and b.w < a.v", "b.v > a.v", "min(x)", "b.w", "s.f < a.v"),
    "by what is said first": ("b.w >= a.w and a.v > b.v", "b.w >= a.w", "min(x)", "b.v", "s.f < a.v"),
    "another one": ("b.v < a.v and b.r > a.r and b.id != a.id", "b.v < a.v", "max(x)", "b.r", "s.f > a.r"),
    "of what is computed": ("b.v < a.v and b.h + 1 > a.w", None, "", "", ""),
    "behind what is computed": ("b.v + 1 < a.v and b.w > a.w", None, "", "", ""),
    "of a clock": ("b.v < k.at and b.w > a.w", None, "", "", ""),
    "three": ("b.v < a.v and b.w > a.w and b.h >= a.h", None, "", "", ""),
}


@pytest.mark.parametrize(("given", "behind", "fold", "value", "said"), SO_FAR.values(), ids=SO_FAR)
def test_the_greatest_so_far(given: str, behind: str | None, fold: str, value: str, said: str) -> None:
    """Of two columns one is the order, and of those up to a value there the other has its greatest."""
    rows = "for s in fold[s](x in (for b in A where b.g = a.g where {} union sng({})) of f: {}) union "
    rows += "for _ in p({}) union "
    both = (given, "b.v", "any()", "s.f"), (behind or given, value or "b.v", fold or "any()", said or "s.f")
    terms = (parse_expr(f"{OF}{rows.format(*by)}sng(⟨v: a.v⟩)", NAMES) for by in both)
    e, right = (unique_binders(t) for t in terms)
    found = beyond(e, KEYS)
    assert found is e if behind is None else canonical(simplify(found)) == canonical(simplify(right))


PRICED = Environment({"A": Record((("g", LONG), ("p", PRICE), ("same", PRICE), ("other", FINER), ("more", FINER)))})


@pytest.mark.parametrize(("other", "wanted"), [("same", True), ("other", False)])
def test_an_edge_is_one_of_the_values_that_are_in_order(other: str, wanted: bool) -> None:
    """Decimals of other digits are compared with them, and none of theirs stands in their order."""
    rows = f"for b in A where b.g = a.g and b.p < a.{other} and a.more <= b.p union sng(b.p)"
    text = f"for a in A union for s in fold[s](x in ({rows}) of f: any()) union for _ in p(s.f) union sng(⟨v: a.g⟩)"
    e = exact(unique_binders(parse_expr(text, PRICED)))
    assert any(map(is_behind, nodes(beyond(e, {})))) is wanted


NONE = (
    f"{OF}for s in fold[s](x in (for b in A where b.g = a.g where coalesce(a.w, 1) <= b.v and b.v < a.v union sng(b.v))"
    " of f: any()) union for _ in p(not s.f) union sng(⟨v: a.v⟩)"
)


@law(SMALL.draw, examples=many(100, 1000))
def test_what_is_made_of_null_may_be_a_value(db: dict[str, BagValue]) -> None:
    """A row that nothing lies before is there as often as it is, whatever the end is made of."""
    e = unique_binders(parse_expr(NONE, NAMES))
    found = beyond(e, KEYS)
    assert found is not e and evaluate(found, db) == evaluate(e, db)


OF_A_KEY = ("k.h <= b.v", "k.h <= 3", "b.v = k.h + 1", "b.v > k.h + 1", "b.v > k.h", "k.h < b.v and b.w > 0")


@pytest.mark.parametrize("key", OF_A_KEY)
def test_of_the_key_of_a_group_nothing_is_known(key: str) -> None:
    """It may be NULL, and is in no stored row."""
    of = f"for s in fold[s](x in (for b in B where b.g = b.h union sng(coalesce({key}, false))) of f: all(x)) union "
    for fold in (of, of.replace("all(x)", "any(x)"), of.replace(f"coalesce({key}, false)", key).replace("all", "any")):
        text = f"for k in group[g](x in A by h: x.h) union {fold}sng(⟨h: k.h, f: s.f⟩)"
        e = exact(unique_binders(parse_expr(text, NAMES)))
        assert check(beyond(e, KEYS)) == check(e)
    e = exact(unique_binders(parse_expr(text.replace("any(x)", "all(x)"), NAMES)))
    assert check(beyond(e, KEYS)) == check(e)
