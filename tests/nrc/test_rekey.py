"""Inner bags, groups and first rows that read the row that they are of by its key mean the same."""

from collections import Counter
from collections.abc import Mapping

from support.choices import Choices
from support.laws import law
from support.nesting import agrees, labels_in_use
from support.schemas import Schema
from support.sizes import many
from support.updates import numbered

from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rekey import rekeyed
from ripplenest.nrc.syntax import (
    TRUE,
    Call,
    DictLit,
    Elem,
    Expr,
    Flatten,
    Fold,
    For,
    Group,
    Lit,
    Order,
    Pred,
    Proj,
    Rel,
    Sng,
    SngBag,
    Top,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import check, expr_type
from ripplenest.nrc.types import BOOL, LONG, Bag, Record, Type
from ripplenest.nrc.walk import Names, nodes
from ripplenest.shred.terms import shred
from ripplenest.shred.values import Parts, shred_relation

INNER = Record((("k", LONG), ("a", LONG)))
MIDDLE = Record((("k", LONG), ("a", LONG), ("ys", Bag(INNER))))
SCHEMA = Schema((
    ("X", Record((("k", LONG), ("a", LONG), ("xs", Bag(MIDDLE))))),
    ("Y", Record((("k", LONG), ("x", LONG), ("a", LONG)))),
))  # fmt: skip
KEYS = {"X": ("k",), "X.xs": ("k",), "X.xs.ys": ("k",), "Y": ("k",)}
COUNTS: Counter[str] = Counter()


def rows(c: Choices, t: Type) -> BagValue:
    """Rows with different keys."""
    return BagValue.of(row(c, t, key) for key in range(4) if not c.one_in(3))


def row(c: Choices, t: Type, key: int) -> Value:
    assert isinstance(t, Record)
    return tuple((n, key if n == "k" else rows(c, f.row) if isinstance(f, Bag) else c.number(4)) for n, f in t.fields)


class Queries:
    """Comprehensions in comprehensions, joined to the rows around them and compared with them: bags, counts, first rows
    and what is asked of some."""

    def __init__(self, c: Choices) -> None:
        self.c, self.names = c, Names()

    def rows(self, scope: dict[str, Record], depth: int, head: bool = True) -> Expr:
        bags = [Flatten(Sng(Proj(Var(x), n))) for x, r in scope.items() for n, t in r.fields if isinstance(t, Bag)]
        source = self.c.pick([*(Rel(name, t) for name, t in SCHEMA.relations), *bags, *bags])
        var, row = self.names.fresh("x"), expr_type(source, {}, dict(scope)).row
        assert isinstance(row, Record)
        inner = {**scope, var: row}
        made = self.head(inner, depth) if head else Sng(self.condition(inner, var) or TRUE)
        for _ in range(self.c.number(3)):
            if (cond := self.condition(inner, var)) is not None:
                made = For("_", Pred(cond), made)
        return For(var, source, made)

    def condition(self, scope: dict[str, Record], var: str) -> Elem | None:
        """Mostly a key or what refers to one, equated, or a value compared."""
        x = self.c.pick([*scope])
        if x == var:
            return Call("eq", (Proj(Var(x), "k"), Lit(self.c.number(3), LONG))) if self.c.one_in(3) else None
        own, other = Proj(Var(var), self.c.pick([n for n in ("k", "x") if scope[var].get(n)])), Proj(Var(x), "k")
        if self.c.one_in(2):
            own, other = Proj(Var(var), "a"), Proj(Var(x), "a")
        fn = self.c.pick(("eq", "le", "lt")) if own.field == "a" else "eq"
        return Call(fn, (own, other) if self.c.one_in(2) else (other, own))

    def head(self, scope: dict[str, Record], depth: int) -> Expr:
        row: list[tuple[str, Elem]] = [("v", Proj(Var(self.c.pick([*scope])), self.c.pick(("k", "a"))))]
        around: list[tuple[str, Expr]] = []
        for i in range(self.c.number(depth + 1)):
            var, site = self.names.fresh("b"), self.names.fresh("ι")
            around.append((var, self.made(scope, depth - 1, site)))
            row.append((f"b{i}", Var(var) if isinstance(around[-1][1], SngBag) else Proj(Var(var), "n")))
        made: Expr = Sng(Tuple(tuple(row)))
        for var, source in reversed(around):
            made = For(var, source, made)
        return made

    def made(self, scope: dict[str, Record], depth: int, site: str) -> Expr:
        match self.c.number(5):
            case 0:
                of, fold = self.rows(scope, 0), Fold("n", "count", (), LONG)
            case 1:
                of, fold = self.rows(scope, 0, head=False), Fold("n", "any", (Var("m"),), BOOL)
            case 2:
                return SngBag(site, Top(f"{site}.first", "t", self.rows(scope, 0), (Order(Proj(Var("t"), "v")),), 2))
            case _:
                return SngBag(site, self.rows(scope, depth))
        return Group(site, "m", of, None, (fold,))


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
    assert min(COUNTS[kind] for kind in ("SngBag", "Group", "Top", "made of less")) > many(10, 200), COUNTS
