"""Views as people write them: comprehensions nested in heads, each joined to the rows around it.

Random terms (``queries.py``) cover the constructs; these cover what makes maintenance hard: inner bags that depend on
outer rows by equalities, disjunctions of equalities and inequalities, over nullable columns, with labels of several
sites where two such views are added. Some have totals, greatest and least values and first rows at any depth, beside
the rows that these are of.
"""

from collections.abc import Callable

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.positive import check_positive
from ripplenest.nrc.syntax import Call, Elem, Expr, Flatten, For, Plus, Pred, Proj, Rel, Sng, SngBag, Tuple, Var
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import Bag, Record
from support.choices import Choices
from support.queries import Queries, Scope
from support.schemas import MAX_DEPTH, Schema, random_schema
from support.strategies import Case, case_of


def correlated_query(c: Choices, schema: Schema) -> Expr:
    """A closed term over ``schema`` whose result nests at most 3 deep."""
    return Correlated(c, schema).level(Scope(schema), c.number(MAX_DEPTH), "v")


def folding_query(c: Choices, schema: Schema) -> Expr:
    """The same with totals, extremes and first rows; drawn again where what they are of could be there less than 0
    times."""
    return positive(lambda: Correlated(c, schema, folds=True).level(Scope(schema), c.number(MAX_DEPTH), "v"))


def positive(make: Callable[[], Expr]) -> Expr:
    """What is made, again and again, until no group is of rows that could be there less than 0 times."""
    while True:
        found = make()
        try:
            check_positive(found)
        except QueryError:
            continue
        return found


class Correlated:
    """One view in the making; some have ``folds``."""

    def __init__(self, c: Choices, schema: Schema, folds: bool = False) -> None:
        self.c, self.schema, self.folds = c, schema, folds
        self.make = Queries(c, schema)

    def level(self, scope: Scope, depth: int, var: str) -> Expr:
        """for v in e where (v joined to what is around it) union sng(⟨…⟩); sometimes ⊎ a term of the same rows."""
        source = self.source(scope)
        inner = scope.bind(var, expr_type(source, scope.gamma, scope.pi).row)
        body = self.head(inner, depth, var)
        for condition in self.links(inner, var):
            body = For("_", Pred(condition), body)
        term: Expr = For(var, source, body)
        if self.c.one_in(4):
            row = expr_type(term, scope.gamma, scope.pi).row
            term = Plus(term, self.make.bag(row, scope, 4))
        return term

    def source(self, scope: Scope) -> Expr:
        if self.folds and self.c.one_in(5):
            return self.make.top(scope, 2)
        bags: list[Expr] = [Flatten(Sng(path)) for path, t in scope.paths() if isinstance(t, Bag)]
        relations: list[Expr] = [Rel(name, row) for name, row in self.schema.relations]
        return self.c.pick([*relations, *bags, *bags])

    def links(self, scope: Scope, var: str) -> list[Elem]:
        """Conditions between the newest variable and the others; none for the outermost."""
        own = [(p, t) for p, t in scope.base_paths() if root(p) == var]
        others = [(p, t) for p, t in scope.base_paths() if root(p) != var]
        pairs = [(a, b) for a, t in own for b, u in others if t.kind == u.kind]
        if not pairs:
            return []
        return [self.link(pairs) for _ in range(1 + self.c.number(2))]

    def link(self, pairs: list[tuple[Elem, Elem]]) -> Elem:
        def equal() -> Elem:
            a, b = self.c.pick(pairs)
            return Call("same" if self.c.one_in(8) else "eq", (a, b) if self.c.number(2) else (b, a))

        choice = self.c.number(6)
        if choice < 3:
            return equal()
        if choice < 5:
            return Call("or", (equal(), equal() if self.c.number(3) else Call("or", (equal(), equal()))))
        return Call(self.c.pick(("ne", "lt")), self.c.pick(pairs))

    def head(self, scope: Scope, depth: int, var: str) -> Expr:
        """sng(⟨base fields, inner bags⟩): made ones, and those that the rows bring along."""
        bound: list[tuple[str, Expr]] = []
        fields: list[tuple[str, Elem]] = []
        for i in range(1 + self.c.number(2)):
            elem = self.base(scope)
            if elem is not None:
                fields.append((f"f{i}", elem))
        for i in range(self.c.number(2) if self.folds else 0):
            fields.append((f"h{i}", self.fold(scope, f"s{var}{i}", bound)))
        for i in range(self.c.number(2) + (depth > 0)):
            fields.append((f"g{i}", self.bag(scope, depth, f"{var}{i}", bound)))
        result: Expr = Sng(Tuple(tuple(fields)))
        for name, source in reversed(bound):
            result = For(name, source, result)
        return result

    def base(self, scope: Scope) -> Elem | None:
        paths = scope.base_paths()
        return self.c.pick(paths)[0] if paths else None

    def fold(self, scope: Scope, name: str, bound: list[tuple[str, Expr]]) -> Elem:
        """An answer of a group; one by keys has as many rows as there are of these."""
        group = self.make.group(scope, 2)
        bound.append((name, group))
        row = expr_type(group, scope.gamma, scope.pi).row
        assert isinstance(row, Record)
        return Proj(Var(name), row.names[-1])

    def bag(self, scope: Scope, depth: int, var: str, bound: list[tuple[str, Expr]]) -> Elem:
        known = [path for path, t in scope.paths() if isinstance(t, Bag)]
        if known and (depth == 0 or self.c.one_in(3)):
            return self.c.pick(known)
        if depth == 0:
            base = self.base(scope)
            return base if base is not None else Tuple(())
        name = f"b{var}"
        bound.append((name, SngBag(self.make.site(), self.level(scope, depth - 1, var))))
        return Var(name)


def correlated_case(c: Choices, batches: int) -> Case:
    """A correlated view with a database and batches against it."""
    schema = random_schema(c)
    return case_of(c, schema, correlated_query(c, schema), batches)


def correlated_cases(c: Choices) -> Case:
    """Correlated views with three batches."""
    return correlated_case(c, 3)


def folding_cases(c: Choices) -> Case:
    """Correlated views with totals, extremes and first rows, with two batches."""
    schema = random_schema(c)
    return case_of(c, schema, folding_query(c, schema), 2)
