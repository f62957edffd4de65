"""Views that ask for rows by what a group answers for them: those that have a value of the row around, what a place is
made of in turn, and groups by it."""

from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Pred, Proj, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import LONG, STRING, Base, Record, nullable
from support.choices import Choices
from support.schemas import Schema

ROW = Record((("g", nullable(STRING)), ("x", nullable(LONG)), ("y", LONG)))
SCHEMA = Schema((("E", ROW), ("F", ROW)))
E, F = (Rel(name, row) for name, row in SCHEMA.relations)
NUMBERS = ("x", "y")
Bound = tuple[tuple[str, Expr], ...]


def answered_query(c: Choices) -> Expr:
    """A closed term over ``SCHEMA``, of at most two levels."""
    return c.pick((_Answered.having, _Answered.having, _Answered.by_place, _Answered.grouped))(_Answered(c))


class _Answered:
    def __init__(self, c: Choices) -> None:
        self.c, self.sites = c, 0

    def having(self) -> Expr:
        """for a in E, and each n in E, perhaps in a bag, whose answer is a value of a."""
        s, asked, answer = self.answer("n")
        met = [self.equal(of("n", "g"), of("a", "g"))] if self.c.number(4) else []
        head = Tuple((("y", of("n", "y")), ("s", of("s", "value"))) if self.c.one_in(3) else (("y", of("n", "y")),))
        found = self.equal(answer, of("a", self.c.pick(NUMBERS)))
        if self.c.number(2):
            below = around((("n", E), *s), [*asked, *met, found], Sng(head))
            return self.inside(below)
        whole = Tuple((("of", of("a", "y")), *head.fields))
        return around((("a", E), ("n", E), *s), [*asked, *met, found], Sng(whole))

    def inside(self, below: Expr) -> Expr:
        whole = Tuple((("of", of("a", "y")), ("b", Var("b"))))
        return For("a", E, For("b", SngBag(self.site(), below), Sng(whole)))

    def by_place(self) -> Expr:
        """for a in E, with what a group answers for a place that another one says."""
        s, asked, answer = self.answer("a")
        t = self.fold("t", "a", answer)
        head = Tuple((("y", of("a", "y")), ("t", of("t", "value"))))
        return around((("a", E), *s, *t), asked, Sng(head))

    def grouped(self) -> Expr:
        """The rows of E by what is answered for them, and these rows in a bag."""
        key = (("g", of("k", "g")), ("v", of("k", "v")))
        same = [self.equal(of("r", name), of("k", name)) for name in ("g", "v")]
        below = For("r", self.rows("n"), around((), same, Sng(of("r", "y"))))
        grouped = Group(self.site(), "i", self.rows("a"), tuple((n, of("i", n)) for n in ("g", "v")), ())
        return For("k", grouped, For("b", SngBag(self.site(), below), Sng(Tuple((*key, ("b", Var("b")))))))

    def rows(self, var: str) -> Expr:
        s, asked, answer = self.answer(var)
        head = Tuple((("g", of(var, "g")), ("v", answer), ("y", of(var, "y"))))
        return around(((var, E), *s), asked, Sng(head))

    def answer(self, var: str) -> tuple[Bound, list[Elem], Elem]:
        """What says it of ``var``, what is asked beside it, and what it is: perhaps something else where it is none."""
        value = of("s", "value")
        other = self.c.pick((of(var, "x"), of(var, "y"), Lit(1, LONG), None, None))
        asked = [Call(self.c.pick(("gt", "lt", "ne")), (value, of(var, "y")))] if self.c.one_in(6) else []
        before = self.fold("s0", var, None) if self.c.one_in(4) else ()  # which says for what place it is asked
        s = (*before, *self.fold("s", var, of("s0", "value") if before else None))
        return s, asked, value if other is None else Call("coalesce", (value, other))

    def fold(self, name: str, var: str, edge: Elem | None) -> Bound:
        """A value of rows of F for ``var``, perhaps of those at, or before, an ``edge``."""
        beside = edge or of(var, self.c.pick(NUMBERS))
        says: list[Elem] = [self.equal(of("f", "g"), of(var, "g"))] if self.c.number(4) else []
        form = self.c.number(4)
        if form == 0 or edge is not None or not says:
            way, fn = self.c.pick((("lt", "max"), ("le", "max"), ("gt", "min"), ("ge", "min"), ("eq", "sum")))
            says.append(Call(way, (of("f", "x"), beside)))
            fold = Fold("value", fn, (of("f", "x" if fn != "sum" else "y"),), nullable(LONG))
        else:
            fold = self.c.pick(FOLDS)
        return ((name, Group(self.site(), "f", around((("f", F),), says, Sng(Var("f"))), None, (fold,))),)

    def equal(self, a: Elem, b: Elem) -> Elem:
        return Call(self.c.pick(("eq", "same")), (a, b) if self.c.number(2) else (b, a))

    def site(self) -> str:
        self.sites += 1
        return f"s{self.sites}"


def of(var: str, name: str) -> Elem:
    return Proj(Var(var), name)


TOTAL = Base("long", True)
FOLDS = (
    Fold("value", "sum", (of("f", "y"),), TOTAL),
    Fold("value", "max", (of("f", "x"),), TOTAL),
    Fold("value", "min", (of("f", "y"),), TOTAL),
    Fold("value", "count", (), LONG),
)


def around(generators: Bound, conditions: list[Elem], inner: Expr) -> Expr:
    for t in reversed(conditions):
        inner = For("_", Pred(t), inner)
    for var, e in reversed(generators):
        inner = For(var, e, inner)
    return inner
