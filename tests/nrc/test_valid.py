"""Rows that have begun without those that have ended are those that are valid."""

from collections import Counter
from collections.abc import Iterator

import pytest
from support.between import KEYS, NAMES, ROWS, conditions, rows
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.aside import aside
from ripplenest.nrc.rewriting.normal import is_sure
from ripplenest.nrc.rewriting.valid import valid
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import Expr, For, Group, Neg, Plus
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Bag, Base, Record
from ripplenest.nrc.walk import canonical, nodes, unique_binders

COUNTS: Counter[str] = Counter()
ASIDE: Counter[str] = Counter()


def limits(c: Choices) -> str:
    """Two limits of one value, of a clock or of what is looked up."""
    value, ops = c.pick(("s.a", "s.b")), c.pick((("<", "<="), (">", ">=")))
    shown = ("{}", "{}", "micros_after({}, 1)", "micros_after({}, -2)")
    ends = (f"{value} {c.pick(ops)} {c.pick(shown).format(clock)}" for clock in ("k.at", "k.or"))
    return " and ".join([*ends, *c.pick(((), ("s.u > 0",)))])


def term(c: Choices) -> str:
    head = c.pick(("⟨u: s.u⟩", "⟨u: s.u, a: s.a⟩", "⟨u: s.u + 1⟩"))
    if c.one_in(4):
        told = c.pick(("k.id = 1", "k.id = s.u"))
        return f"for s in S union for k in K where {told} union for _ in p({limits(c)}) union sng({head})"
    clock = "for k in K where k.id = 1 union "
    if c.one_in(3):
        fold = c.pick(("any(x)", "all(x)", "any(x)"))
        of = f"(for s in S union sng({conditions(c)}))"
        return f"{clock}for t in S union for f in fold[f](x in {of} of n: {fold}) union sng(⟨u: t.u, n: f.n⟩)"
    if c.one_in(3):
        of = f"(for s in S where {conditions(c)} union sng({head}))"
        return f"{clock}for f in fold[f](x in {of} of n: count()) union sng(f.n)"
    return f"for s in S union {clock}for _ in p({conditions(c)}) union sng({head})"


@law(lambda c: (term(c), rows(c)), examples=many(500, 20_000))
def test_the_same_rows_are_valid(case: tuple[str, dict[str, BagValue]]) -> None:
    e = unique_binders(parse_expr(case[0], NAMES))
    found = valid(e, KEYS)
    assert check(found) == check(e)
    meant = evaluate(e, case[1])
    assert evaluate(found, case[1]) == meant
    is_between = any(isinstance(n, Neg) for n in nodes(found))
    COUNTS.update({"between": is_between, "beyond": found is not e and not is_between, "left": found is e})
    COUNTS["rows"] += found is not e and bool(meant)
    COUNTS["looked up"] += found is not e and "k.id = s.u" in case[0]


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(25, 1000), COUNTS


FAILS = ("s.u * 4611686018427387904", "s.i * 4611686018427387904 + s.u", "4 / s.u", "s.u + 1")


def failing(c: Choices) -> str:
    """What is computed of rows that are valid, or of others that are joined with them, by a row or for a group."""
    clock, valid = "for k in K where k.id = 1 union ", f"for _ in p({conditions(c)}) union "
    joined = c.pick(("", "for t in S where t.u = s.i union ", "for t in S where t.u = s.u and t.j > 0 union "))
    head = c.pick(("⟨u: {}⟩", "⟨u: {}, a: s.a, b: s.b⟩", "⟨u: {}, s: s.x, t: s⟩")).format(c.pick(FAILS))
    rows = f"{c.pick(('for s in S union ' + clock, clock + 'for s in S union '))}{valid}{joined}sng({head})"
    return f"for f in group[f](x in ({rows}) by u: x.u of n: count()) union sng(f)" if c.one_in(3) else rows


def folding(c: Choices) -> str:
    """What can fail is asked by who folds rows that are valid: of all of them, or of those of a row around them, or in
    its bag; of a clock inside, or around it all."""
    clock, found = "for k in K where k.id = 1 union ", f"for _ in p({conditions(c)}) union "
    by = f"{c.pick(FAILS)}".replace("s.", "x.")
    beside = ("s.u = r.i", "4 / s.u = r.j", "r.u / 1 < k.n")
    some = c.pick(("", "", *(f"for _ in p({asked}) union " for asked in beside)))
    is_told = c.one_in(2) or ("r." in some and "k." in some)
    (row, source), kept = c.pick((("r in S", "S"), ("r in T", "r.ss"))), c.pick(("s", "s", "⟨u: s.u, i: s.i⟩"))
    rows = f"{'' if is_told else clock}for s in {source} union {found}{some}sng({kept})"
    own = c.pick((f"by b: {by} of n: count()", f"by u: x.u of n: sum({by})", f"of n: sum({by})", "of n: count()"))
    kind = "group" if own.startswith("by") else "fold"
    around = f"{clock if is_told else ''}for {row} union "
    head = c.pick(("⟨u: r.u, n: f.n⟩", "⟨u: r.u, n: f.n * 4611686018427387904⟩"))
    return f"{around}for f in {kind}[f](x in ({rows}) {own}) union sng({head})"


T = Record((("u", LONG), ("i", LONG), ("j", LONG), ("ss", Bag(ROWS["S"]))))
WITH_BAGS = Environment({**ROWS, "T": T})


def taken_back(e: Expr) -> bool:
    """Whether rows may be taken back of which a group computes what can fail, which nothing of rows says here."""
    groups = (g for g in nodes(e) if isinstance(g, Group))
    asked = ((g, [*(t for _, t in g.keys or ()), *(t for fold in g.folds for t in fold.args)]) for g in groups)
    return any(isinstance(n, Neg) for g, terms in asked if not all(map(is_sure, terms)) for n in own_nodes(g.of))


def own_nodes(e: Expr) -> Iterator[Expr]:
    """What makes the rows of ``e``, but for what groups make."""
    match e:
        case For(_, source, body):
            yield from own_nodes(source)
            yield from own_nodes(body)
        case Plus(left, right):
            yield from own_nodes(left)
            yield from own_nodes(right)
        case Group():
            return
        case _:
            yield e


def value(e: Expr, db: dict[str, BagValue]) -> BagValue | None:
    """None where there is none."""
    try:
        return evaluate(e, db)
    except EvaluationError:
        return None


def with_bags(c: Choices) -> dict[str, BagValue]:
    """Rows of S, and T whose rows have some of them in a bag."""
    found = rows(c)
    some = [BagValue.of(s for s, _ in found["S"] if c.one_in(2)) for _ in range(3)]
    each = ((("u", u), ("i", c.number(4)), ("j", c.number(4)), ("ss", ss)) for u, ss in enumerate(some))
    return {**found, "T": BagValue.of(each)}


@law(lambda c: (c.pick((failing, folding))(c), with_bags(c)), examples=many(1000, 20_000))
def test_what_is_valid_is_set_aside(case: tuple[str, dict[str, BagValue]]) -> None:
    """Nothing fails of rows that are not valid, and what fails of others does."""
    e = unique_binders(parse_expr(case[0], WITH_BAGS))
    found = aside(e, KEYS)
    split = valid(found, KEYS)
    assert check(split) == check(found) == check(e)
    meant = value(e, case[1])
    assert value(found, case[1]) == value(split, case[1]) == meant
    ASIDE.update({"aside": found is not e, "left": found is e, "fails": found is not e and meant is None})
    ASIDE["rows"] += found is not e and bool(meant)
    ASIDE["split"] += found is not e and split is not found
    ASIDE["by groups"] += found is not e and "fold[f]" in case[0]
    ASIDE["of bags"] += found is not e and " in r.ss" in case[0]
    ASIDE["around"] += found is not e and " r in S" in case[0] and case[0].startswith("for k")
    assert not taken_back(split)


def test_enough_was_set_aside() -> None:
    assert min(ASIDE.values()) > many(8, 200), ASIDE


def test_a_condition_that_is_read_below_is_asked_once() -> None:
    """What ``p`` gives is a value, too, and a body that reads it begins with no condition."""
    e = unique_binders(parse_expr("for s in S union for x in p(4 / s.u > 1) union sng(x)", NAMES))
    assert aside(e, KEYS) == e


OF = "for s in S union for k in K where k.id = 1 and "
CASES = {
    "from and to": ("s.a <= k.at and k.at < s.c", "s.a < s.c and s.a <= k.at", "s.a < s.c and k.at >= s.c"),
    "both ends": ("k.n <= s.j and s.i <= k.n", "s.i <= s.j and s.i <= k.n", "s.i <= s.j and k.n > s.j"),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "begun", "ended"), CASES.values(), ids=CASES)
def test_what_has_begun_and_ended(asked: str, begun: str, ended: str) -> None:
    e = unique_binders(parse_expr(f"{OF}{asked} union sng(s.u)", NAMES))
    wanted = parse_expr(f"{OF[:-5]} union for _ in (p({begun}) - p({ended})) union sng(s.u)", NAMES)
    assert canonical(valid(e, KEYS)) == canonical(unique_binders(wanted))


@pytest.mark.parametrize(
    "text",
    [
        "s.a <= k.at union sng(s.u)",
        "s.a <= k.at and s.a >= k.at union sng(s.u)",
        "s.i <= k.n and k.n < s.j union sng(s.u + 1)",
        "s.i <= k.n and k.n < s.j and s.i + 1 > 2 union sng(s.u)",
        "s.i + 1 <= k.n and k.n < s.j union sng(s.u)",
        "s.i <= k.n union for t in S where k.n < t.j union sng(s.u)",
        "k.n > 0 union for t in S where s.i <= k.n and k.n < t.j union sng(s.u)",
    ],
)
def test_what_stays(text: str) -> None:
    """One end, one column, what can fail for rows that are not valid, and what is not of one row."""
    e = unique_binders(parse_expr(OF + text, NAMES))
    assert valid(e, KEYS) is e


def test_what_cannot_be_compared_with_each_other_stays() -> None:
    """Decimals that have at most 38 digits together with the clock, and more with each other."""
    rows = {"K": (("id", LONG), ("at", decimal(20, 2))), "S": (("x", decimal(38, 2)), ("y", decimal(38, 10)))}
    names = Environment({name: Record(fields) for name, fields in rows.items()})
    e = unique_binders(parse_expr(f"{OF}s.x <= k.at and k.at < s.y union sng(s.x)", names))
    assert check(e).row == decimal(38, 2)
    assert valid(e, KEYS) is e


def decimal(digits: int, scale: int) -> Base:
    return Base("decimal", False, digits, scale)
