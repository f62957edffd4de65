"""Views with scalars that can fail, in conditions and in heads, at every depth, with and without links to the rows
around; and what it means that such a view has a value.

A view is kept as its ingredients, of which the term and the widest reading of its meaning are both made:

- *as written* (``term`` and the reference interpreter): each condition is asked where it stands, of what is bound by
  then, if those before it are true;
- *widest* (``widest``): a combination of rows is in no result when one of its conditions is false or NULL, whatever
  the others do; ``p and q`` are two of them. The view has no value only when, for some combination, no condition is
  false and one of them fails, or all are true and the head fails.

Sums are compared exactly in both (``nrc/rewriting/exact.py``). The two differ only where a conjunction is false and
fails, for which a plan must not depend on the order of asking. Where what is written has a value the widest reading has
the same.
"""

from collections.abc import Iterator, Sequence

from attrs import frozen

from ripplenest.nrc.bags import BagValue, Value, field_of
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.interpret import elem
from ripplenest.nrc.rewriting.exact import exact_elem
from ripplenest.nrc.rewriting.normal import conjuncts
from ripplenest.nrc.syntax import Call, Elem, Expr, Flatten, For, Lit, Pred, Proj, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.types import LONG, Bag, Base, Record, nullable
from support.choices import Choices
from support.schemas import Database, Schema

MAX = 2**63 - 1
MAYBE = nullable(LONG)
ROW = Record((("k", LONG), ("a", LONG)))
LOOSE = Record((("k", LONG), ("a", MAYBE)))
SCHEMA = Schema((("B", LOOSE), ("C", ROW), ("N", Record((("k", LONG), ("items", Bag(ROW)))))))
COLUMNS = {"B": ("k", "a"), "C": ("k", "a"), "N": ("k",), "items": ("k", "a")}
DEPTH = 3


@frozen
class Generator:
    """``for var in table``, or in the items of the row that ``of`` is bound to; ``conditions`` come right behind."""

    var: str
    table: str
    of: str | None
    conditions: tuple[Elem, ...]

    @property
    def source(self) -> Expr:
        if self.of is not None:
            return Flatten(Sng(Proj(Var(self.of), "items")))
        return Rel(self.table, SCHEMA[self.table])

    def rows(self, db: Database, pi: dict[str, Value]) -> BagValue:
        rows = db[self.table] if self.of is None else field_of(pi[self.of], "items")
        assert isinstance(rows, BagValue)
        return rows


@frozen
class Level:
    """One comprehension: its generators, its head, and the inner bags in it."""

    generators: tuple[Generator, ...]
    head: Elem
    inner: tuple["Level", ...]
    site: str

    @property
    def levels(self) -> int:
        return 1 + max((level.levels for level in self.inner), default=0)

    @property
    def all(self) -> "Iterator[Level]":
        yield self
        for level in self.inner:
            yield from level.all


def term(level: Level) -> Expr:
    """The term as it is written."""
    bags = [(f"b{inner.site[1:]}", inner) for inner in level.inner]
    row = Tuple((("h", level.head), *((var, Var(var)) for var, _ in bags)))
    body: Expr = Sng(row)
    for var, inner in reversed(bags):
        body = For(var, SngBag(inner.site, term(inner)), body)
    for g in reversed(level.generators):
        for condition in reversed(g.conditions):
            body = For("_", Pred(condition), body)
        body = For(g.var, g.source, body)
    return body


def widest(level: Level, db: Database, pi: dict[str, Value] | None = None) -> BagValue:
    """The value in the widest reading. Raises EvaluationError when there is none."""
    return BagValue.weighted(_rows(level, db, level.generators, pi or {}))


def _rows(
    level: Level, db: Database, generators: Sequence[Generator], pi: dict[str, Value]
) -> Iterator[tuple[Value, int]]:
    if generators:
        g, *rest = generators
        for row, n in g.rows(db, pi):
            yield from ((made, n * m) for made, m in _rows(level, db, rest, {**pi, g.var: row}))
    elif _holds([t for g in level.generators for c in g.conditions for t in conjuncts(exact_elem(c))], pi):
        inner = ((f"b{i.site[1:]}", widest(i, db, pi)) for i in level.inner)
        yield (("h", elem(level.head, pi)), *inner), 1


def _holds(conditions: Sequence[Elem], pi: dict[str, Value]) -> bool:
    failure: EvaluationError | None = None
    for c in conditions:
        try:
            if elem(c, pi) is not True:
                return False
        except EvaluationError as error:
            failure = error
    if failure is not None:
        raise failure
    return True


# ---------------------------------------------------------------- random views


def random_level(c: Choices) -> Level:
    return Levels(c).level(1 + c.number(DEPTH), {})


class Levels:
    """Random views; ``scalar`` and ``condition`` say what they compute and compare."""

    def __init__(self, c: Choices) -> None:
        self.c, self.names = c, 0

    def fresh(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def level(self, depth: int, around: dict[str, str]) -> Level:
        """``around``: variable ↦ table of the rows outside."""
        linked = bool(around) and not self.c.one_in(4)  # without links the label has no parameters
        scope = dict(around) if linked else {}
        generators = tuple(self.generator(scope, scope.keys() - around.keys()) for _ in range(1 + self.c.one_in(3)))
        inner: tuple[Level, ...] = ()
        if depth > 1:
            inner = tuple(self.level(depth - 1, scope) for _ in range(1 + self.c.one_in(4)))
        return Level(generators, self.scalar(scope, 2), inner, self.fresh("ι"))

    def generator(self, scope: dict[str, str], own: set[str]) -> Generator:
        """Binds its variable in ``scope``; mostly joined by an equality to what is there."""
        nested = [var for var, table in scope.items() if table == "N"]
        of = self.c.pick(nested) if nested and self.c.number(2) else None
        table = "items" if of else self.c.pick(("B", "C", "C", "N"))
        var = self.fresh("x")
        others, scope[var] = dict(scope), table
        conditions = [self.link(var, table, others)] if others and (self.c.number(4) or own) else []
        conditions += [self.condition(scope) for _ in range(self.c.number(3))]
        if self.c.one_in(3):
            conditions.reverse()
        return Generator(var, table, of, tuple(conditions))

    def link(self, var: str, table: str, others: dict[str, str]) -> Elem:
        own = Proj(Var(var), self.c.pick(COLUMNS[table]))
        other = self.scalar(others, 3) if self.c.one_in(4) else self.column(others)
        return Call("eq", (own, other) if self.c.number(2) else (other, own))

    def condition(self, scope: dict[str, str]) -> Elem:
        a, b = self.scalar(scope, 2), self.column(scope)
        simple = Call(self.c.pick(("le", "lt", "ne", "eq", "ne", "eq")), (a, b))
        if self.c.one_in(6):
            return Call(self.c.pick(("or", "and")), (simple, Call("ne", (self.column(scope), Lit(1, LONG)))))
        return simple

    def column(self, scope: dict[str, str]) -> Elem:
        if not scope:
            return Lit(self.c.number(3), LONG)
        var = self.c.pick(tuple(scope))
        return Proj(Var(var), self.c.pick(COLUMNS[scope[var]]))

    def scalar(self, scope: dict[str, str], one_in: int) -> Elem:
        """Sometimes a scalar that fails for one of 0, 1 and 2, the values of all columns."""
        x = self.column(scope)
        if not self.c.one_in(one_in):
            return x
        seven, most = Lit(7, LONG), Lit(MAX - 1, LONG)
        return self.c.pick(
            (
                Call("mod_long", (seven, x)),
                Call("quotient_long", (seven, Call("sub_long", (x, Lit(1, LONG))))),
                Call("add_long", (x, most)),
                Call("sub_long", (Lit(-MAX, LONG), x)),
                Call("mul_long", (x, most)),
                Call("to_long", (Call("div_double", (Lit(4.0, Base("double")), Call("to_double", (x,)))),)),
                Call("neg_long", (Call("sub_long", (x, most)),)),  # never fails for these columns, but could
                Call("mod_long", (x, seven)),  # never fails
                Call("if", (Call("ne", (x, Lit(0, LONG))), Call("mod_long", (seven, x)), x)),
            )
        )
