"""Inner bags, groups and first rows that read the row that they are of by its key mean the same."""

from collections import Counter
from collections.abc import Mapping

import pytest
from attrs import evolve
from support.choices import Choices
from support.keyed import KEYS, SCHEMA, Queries, rows
from support.laws import law
from support.nesting import agrees, labels_in_use
from support.sizes import many
from support.updates import numbered

from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.printing.pretty import show
from ripplenest.nrc.rewriting.rekey import rekeyed
from ripplenest.nrc.surface.text.environment import Environment
from ripplenest.nrc.surface.text.notation import parse_expr
from ripplenest.nrc.syntax import (
    DictLit,
    Expr,
    For,
    Group,
    SngBag,
    Top,
)
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.types import LONG, Record
from ripplenest.nrc.walk import canonical, nodes
from ripplenest.shred.terms import shred
from ripplenest.shred.values import Parts, shred_relation

COUNTS: Counter[str] = Counter()


def case(c: Choices) -> tuple[Expr, dict[str, BagValue]]:
    return Queries(c).rows({}, 3), {name: rows(c, t) for name, t in SCHEMA.relations}


def read(e: Expr) -> dict[str, tuple[str, int]]:
    """By site what is made there, and of how many bags."""
    sites = (n for n in nodes(e) if isinstance(n, SngBag | Group | Top))
    bodies = ((n, n.body if isinstance(n, SngBag) else n.of) for n in sites)
    return {n.site: (type(n).__name__, sum(isinstance(f, For) for f in nodes(body))) for n, body in bodies}


def labels(e: Expr, db: Mapping[str, BagValue]) -> dict[str, tuple[int, int]]:
    """By inner bag, of how many values its labels are made, and how many labels there are."""
    parts: Parts = {}
    for name, t in SCHEMA.relations:
        parts |= shred_relation(db[name], t, name, (), numbered(name))
    found = ((d.site, used) for d, used in labels_in_use(shred(e), dict(parts)) if isinstance(d, DictLit))
    return {site.name: (len(site.params), len(used)) for site, used in found}


@law(case, examples=many(300, 5000))
def test_rows_that_are_read_by_their_keys_are_the_same(case: tuple[Expr, dict[str, BagValue]]) -> None:
    e, db = case
    found = rekeyed(e, KEYS)
    assert agrees(check(found).row, check(e).row)
    assert evaluate(found, db) == evaluate(e, db)
    assert rekeyed(found, KEYS) == found
    before, after = read(e), read(found)
    COUNTS.update(kind for site, (kind, n) in after.items() if n > before[site][1])
    made, was = labels(found, db), labels(e, db)
    assert all(many <= was[site][1] for site, (_, many) in made.items())
    COUNTS["made of less"] += any(values < was[site][0] for site, (values, _) in made.items())


def test_enough_were_read() -> None:
    assert min(COUNTS[kind] for kind in ("SngBag", "Group", "Top", "made of less")) > many(10, 100), COUNTS


SHORT = Record((("k", LONG), ("l", LONG), ("a", LONG)))
NULLS = Record((("k", evolve(LONG, nullable=True)), ("a", LONG)))
NAMES = Environment({**dict(SCHEMA.relations), "P": SHORT, "N": NULLS, "U": dict(SCHEMA.relations)["X"]})
TWO = {**KEYS, "P": ("k", "l"), "N": ("k",), "U.xs": ("k",)}
BAG = "union for b in sng[ι]({}) union sng(⟨b: b⟩)"
READ = "for x1 in X where x1.k = x.k union for y in Y where y.x = x1.k and y.a < x1.a union sng(y.k)"
CASES = {
    "by its key": ("for x in X", "for y in Y where y.x = x.k and y.a < x.a union sng(y.k)", READ),
    "by its key, as values of groups": (
        "for x in X", "for y in Y where y.x <=> x.k and y.a < x.a union sng(y.k)",
        "for x1 in X where x1.k = x.k union for y in Y where y.x <=> x1.k and y.a < x1.a union sng(y.k)",
    ),
    "by what is computed": (
        "for x in X", "for y in Y where y.x + y.k = x.k and y.a < x.a union sng(y.k)",
        "for x1 in X where x1.k = x.k union for y in Y where y.x + y.k = x1.k and y.a < x1.a union sng(y.k)",
    ),
    "by what is computed of it, too": ("for x in X", "for y in Y where y.x + x.a = x.k union sng(y.k)", ""),
    "by constants alone, of a group": (
        "for x in X where x.k = 1 union for g in group[g](z in Y by key: z.x / z.k)",
        "for y in Y where y.a < x.a and y.x / y.k <=> g.key union sng(y.k)",
        "for x1 in X where x1.k = 1 union for y in Y where y.a < x1.a and y.x / y.k <=> g.key union sng(y.k)",
    ),
    "all that it reads is equated": ("for x in X", "for y in Y where y.x = x.k and y.a = x.a union sng(y.k)", ""),
    "no more than its key": ("for x in X", "for y in flatten(sng(x.xs)) where y.a < x.k union sng(y.k)", ""),
    "nothing tells which row": ("for x in X", "for y in Y where y.a < x.a union sng(y.k)", ""),
    "of a relation without a key": ("for x in U", "for y in Y where y.x = x.k and y.a < x.a union sng(y.k)", ""),
    "of a key that can be NULL": ("for n in N", "for y in N where y.k = n.k and y.a < n.a union sng(y.a)", ""),
    "by one of two fields": ("for p in P", "for y in Y where y.x = p.k and y.a < p.a union sng(y.k)", ""),
    "by both": (
        "for p in P", "for y in Y where y.x = p.k and y.k = p.l and y.a < p.a union sng(y.k)",
        "for p1 in P where p1.k = p.k where p1.l = p.l "
        "union for y in Y where y.x = p1.k and y.k = p1.l and y.a < p1.a union sng(y.k)",
    ),
    "by a constant and by one": (
        "for p in P where p.l = 1", "for y in Y where y.x = p.k and y.a < p.a union sng(y.k)",
        "for p1 in P where p1.k = p.k where p1.l = 1 union for y in Y where y.x = p1.k and y.a < p1.a union sng(y.k)",
    ),
    "by constants alone": (
        "for x in X where x.k = 1", "for y in Y where y.a < x.a union sng(y.k)",
        "for x1 in X where x1.k = 1 union for y in Y where y.a < x1.a union sng(y.k)",
    ),
    "by constants alone, and what it says is added to": (
        "for x in X where x.k = 1", "for y in Y where y.a < x.a + 1 union sng(y.k)",
        "for x1 in X where x1.k = 1 union for y in Y where y.a < x1.a + 1 union sng(y.k)",
    ),
    "by constants alone, and shown": ("for x in X where x.k = 1", "for y in Y union sng(⟨k: y.k, a: x.a⟩)", ""),
    "by constants alone, compared with a constant, too": (
        "for x in X where x.k = 1", "for y in Y where y.a < x.a and x.a < 5 union sng(y.k)",
        "for x1 in X where x1.k = 1 union for y in Y where y.a < x1.a and x1.a < 5 union sng(y.k)",
    ),
    "by constants alone, compared and shown": (
        "for x in X where x.k = 1", "for y in Y where y.a < x.a union sng(x.a)",
        "for x1 in X where x1.k = 1 union for y in Y where y.a < x1.a union sng(x1.a)",
    ),
    "by constants alone, and no column is compared": (
        "for x in X where x.k = 1", "for y in Y where y.a + y.k < x.a union sng(y.k)", "",
    ),
    "by constants alone, and compared with both": (
        "for x in X where x.k = 1", "for y in Y where y.a < x.a + y.k union sng(y.k)", "",
    ),
    "by a row that constants tell": (
        "for x in X where x.k = 1 union for z in Y where z.k = x.a", "for y in Y where y.a < z.a union sng(y.k)", "",
    ),
    "by a row that is told": (
        "for x in X union for z in Y where z.k = x.a", "for y in Y where y.x = x.k and y.a < z.a union sng(y.k)",
        "for x1 in X where x1.k = x.k union for z1 in Y where z1.k = x1.a "
        "union for y in Y where y.x = x1.k and y.a < z1.a union sng(y.k)",
    ),
    "by a row that comes after it": (
        "for z in Y union for x in X where x.a = z.k", "for y in Y where y.x = x.k and y.a < z.a union sng(y.k)",
        "for z1 in Y union for x1 in X where x1.k = x.k where z1.k = x1.a "
        "union for y in Y where y.x = x1.k and y.a < z1.a union sng(y.k)",
    ),
    "by a row that is told, and is that of a constant": (
        "for x in X union for z in Y where z.k = 1 where z.k = x.a",
        "for y in Y where y.x = x.k and y.a < z.a union sng(y.k)",
        "for x1 in X where x1.k = x.k union for z1 in Y where z1.k = x1.a "
        "union for y in Y where y.x = x1.k and y.a < z1.a union sng(y.k)",
    ),
    "something else is not told": (
        "for x in X union for z in Y", "for y in Y where y.x = x.k and y.a < x.a + z.a union sng(y.k)", "",
    ),
    "by its bag": (
        "for x in X", "for y in flatten(sng(x.xs)) where y.a < x.a union sng(y.k)",
        "for x1 in X where x1.k = x.k union for y in flatten(sng(x1.xs)) where y.a < x1.a union sng(y.k)",
    ),
    "by its bag, without a key": ("for x in U", "for y in flatten(sng(x.xs)) where y.a < x.a union sng(y.k)", ""),
    "held, by its bag": (
        "for x in X union for o in flatten(sng(x.xs))", "for y in flatten(sng(o.ys)) where y.a < o.a union sng(y.k)",
        "for o1 in flatten(sng(x.xs)) where o1.k = o.k "
        "union for y in flatten(sng(o1.ys)) where y.a < o1.a union sng(y.k)",
    ),
    "holds what is told": (
        "for x in X union for o in flatten(sng(x.xs))", "for y in flatten(sng(o.ys)) where y.a < x.a union sng(y.k)",
        "for x1 in X where x1.k = x.k union for o1 in flatten(sng(x1.xs)) where o1.k = o.k "
        "union for y in flatten(sng(o1.ys)) where y.a < x1.a union sng(y.k)",
    ),
    "holds what is told, without a key": (
        "for x in U union for o in flatten(sng(x.xs))", "for y in flatten(sng(o.ys)) where y.a < x.a union sng(y)", "",
    ),
    "held, by its key alone": (
        "for x in X union for o in flatten(sng(x.xs))", "for y in Y where y.x = o.k and y.a < o.a union sng(y.k)", "",
    ),
    "held, by its key and that of its holder": (
        "for x in X union for o in flatten(sng(x.xs))",
        "for y in Y where y.x = o.k and y.k = x.k and y.a < o.a union sng(y.k)",
        "for x1 in X where x1.k = x.k union for o1 in flatten(sng(x1.xs)) where o1.k = o.k "
        "union for y in Y where y.x = o1.k and y.k = x1.k and y.a < o1.a union sng(y.k)",
    ),
    "one side alone": (
        "for x in X", "for y in Y where y.x = x.k and y.a < x.a union sng(y.k) ⊎ sng(x.a)", "",
    ),
    "equated with what is folded": (
        "for x in X",
        "for s in fold[φ](m in Y of n: count()) where s.n = x.k union for y in Y where y.a < x.a union sng(y.k)", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("around, made, wanted", CASES.values(), ids=CASES)
def test_what_is_read_where(around: str, made: str, wanted: str) -> None:
    e, same = (parse_expr(f"{around} {BAG.format(body)}", NAMES) for body in (made, wanted or made))
    check(e)
    found = rekeyed(e, TWO)
    assert canonical(found) == canonical(same), show(found)


ROWS = "(for y in Y where y.x = x.k {} union sng(y.a))"
BESIDE = f"for x in X union for s in fold[φ](m in {ROWS} of n: {{}}) union sng(⟨n: s.n⟩)"


@pytest.mark.parametrize(
    "asked, folded", [("and y.a < x.a", "sum(m)"), ("and y.a < x.a", "sum(m + x.k)"), ("", "sum(m * x.a)")]
)
def test_what_is_beside_rows_that_are_folded(asked: str, folded: str) -> None:
    """It is read where they are folded, and not where the row is."""
    e = parse_expr(BESIDE.format(asked, folded), NAMES)
    assert (rekeyed(e, TWO) == e) == ("x.a" in folded)
    both = parse_expr(BESIDE.format("and y.a < x.a", "sum(m * x.a)"), NAMES)
    assert rekeyed(both, TWO) == both


@pytest.mark.parametrize("fold, is_asked", [("any", True), ("all", False)])
def test_what_any_asks_tells_a_row(fold: str, is_asked: bool) -> None:
    rows = "(for y in Y union sng(y.x = x.k and y.a < x.a))"
    e = parse_expr(f"for x in X union for s in fold[φ](m in {rows} of n: {fold}(m)) union sng(⟨n: s.n⟩)", NAMES)
    assert (rekeyed(e, TWO) != e) == is_asked


LET = "let Z := {} in for b in sng[ι]({}) union sng(⟨b: b⟩)"


def test_lets_that_are_the_same_for_all_rows() -> None:
    """What else a let stands for is not asked."""
    told = "for y in Z where y.x = x.k and y.a < x.a union sng(y.k)"
    read = "for x1 in X where x1.k = x.k union for y in Z where y.x = x1.k and y.a < x1.a union sng(y.k)"
    for bound, wanted in (("Y", read), ("for y in Y where y.a = x.a union sng(y)", told)):
        e, same = (parse_expr(f"for x in X union {LET.format(bound, made)}", NAMES) for made in (told, wanted))
        assert canonical(rekeyed(e, TWO)) == canonical(same), bound


X_IS, GUARD = "for x in X where not (x.a = 0)", "where not (x1.a = 0) "


@pytest.mark.parametrize(
    "around, head, guard",
    [
        (X_IS, "y.a mod x.a", GUARD), (X_IS, "y.a", ""),
        ("for x in X where 1 mod x.a = 0", "y.a mod x.a", "where 1 mod x1.a = 0 "),
        ("for x in X where x.a + 1 > 0", "y.a + x.a", ""), (X_IS, "y.a + x.a", GUARD),
        (f"{X_IS} union for z in Y where z.a < x.a", "y.a mod x.a", GUARD),
    ],
    ids=[
        "it can fail", "it cannot", "what is asked can fail", "both may grow too large", "it may grow too large",
        "of a row that is not read",
    ],
)  # fmt: skip
def test_what_can_fail_is_asked_of_rows_that_have_a_bag(around: str, head: str, guard: str) -> None:
    made = "for y in Y where y.x = {x}.k and y.a < {x}.a union sng(" + head.replace("x.a", "{x}.a") + ")"
    wanted = f"for x1 in X where x1.k = x.k {guard}union {made.format(x='x1')}"
    e, same = (parse_expr(f"{around} {BAG.format(body)}", NAMES) for body in (made.format(x="x"), wanted))
    assert canonical(rekeyed(e, TWO)) == canonical(same), show(rekeyed(e, TWO))
