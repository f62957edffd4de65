"""Random terms over relations and inner bags whose rows have keys."""

from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.syntax import (
    TRUE,
    Call,
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
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import BOOL, LONG, Bag, Record, Type
from ripplenest.nrc.walk import Names
from support.choices import Choices
from support.schemas import Schema

INNER = Record((("k", LONG), ("a", LONG)))
MIDDLE = Record((("k", LONG), ("a", LONG), ("ys", Bag(INNER))))
SCHEMA = Schema((
    ("X", Record((("k", LONG), ("a", LONG), ("xs", Bag(MIDDLE))))),
    ("Y", Record((("k", LONG), ("x", LONG), ("a", LONG)))),
))  # fmt: skip
KEYS = {"X": ("k",), "X.xs": ("k",), "X.xs.ys": ("k",), "Y": ("k",)}


def rows(c: Choices, t: Type) -> BagValue:
    """Rows with different keys."""
    return BagValue.of(row(c, t, key) for key in range(4) if not c.one_in(3))


def row(c: Choices, t: Type, key: int) -> Value:
    assert isinstance(t, Record)
    return tuple((n, key if n == "k" else rows(c, f.row) if isinstance(f, Bag) else c.number(4)) for n, f in t.fields)


class Queries:
    """Comprehensions in comprehensions, joined to the rows around them and compared with them: bags, counts, first rows
    and what is asked of some, or of all."""

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
                asks = self.c.pick(("any", "all"))
                of, fold = self.rows(scope, 0, head=False), Fold("n", asks, (Var("m"),), BOOL)
            case 2:
                return SngBag(site, Top(f"{site}.first", "t", self.rows(scope, 0), (Order(Proj(Var("t"), "v")),), 2))
            case _:
                return SngBag(site, self.rows(scope, depth))
        return Group(site, "m", of, None, (fold,))
