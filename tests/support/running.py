"""Views of running totals: of each row at some depth what the rows up to it come to, or those from it on, or those in a
window, of relations and of inner bags, perhaps of those that agree with it in something."""

from collections.abc import Callable
from itertools import product

from ripplenest.nrc.functions.folds import EXTREME, result_type
from ripplenest.nrc.paths import root
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Lit, Pred, Rel, Sng, Var
from ripplenest.nrc.typecheck import elem_type, expr_type
from ripplenest.nrc.types import Base
from support.choices import Choices
from support.correlated import positive
from support.nearest import VAR, Nearest
from support.queries import Scope
from support.schemas import DOMAIN, MAX_DEPTH, Schema

OPS = ("le", "lt", "ge", "gt")
BESIDE = "beside"
Paths = list[tuple[Elem, Base]]


def running_query(c: Choices, schema: Schema) -> Expr:
    """A closed term over ``schema``; drawn again where what is added up could be there less than 0 times."""
    return positive(lambda: _Running(c, schema, folds=True).level(Scope(schema), c.number(MAX_DEPTH), "v"))


def computed(t: Call, scope: Scope) -> Callable[[Elem], Elem]:
    """What is computed of both sides of a comparison, if these are numbers."""
    kind = next(own.kind for own in (elem_type(a, scope.pi) for a in t.args) if isinstance(own, Base))
    two: dict[str, object] = {"int": 2, "long": 2, "double": 2.0}
    return lambda x: Call(f"mul_{kind}", (x, Lit(two[kind], Base(kind)))) if kind in two else x


class _Running(Nearest):
    def behind(self, scope: Scope) -> Expr | None:
        """Mostly of a relation, and of what is compared and equated with columns of the innermost row."""
        if self.c.one_in(4):
            return super().behind(scope)
        name, row = self.c.pick(self.schema.relations)
        inner = scope.bind(VAR, row)
        own = [(p, t) for p, t in inner.base_paths() if root(p) == VAR]
        around = [(q, u) for q, u in scope.base_paths() if root(q) == root(scope.base_paths()[-1][0])]
        pairs = [(p, q) for p, t in own for q, u in around if t.kind == u.kind]
        if not pairs:
            return super().behind(scope)
        by, _ = self.c.pick(pairs)
        edges = [q for p, q in pairs if p == by]
        ways = [self.c.pick(OPS) for _ in range(1 + self.c.number(2))]
        of = [(self.c.pick(edges), way) for way in ways]
        told = [(p, q) for (p, t), (q, u) in product(own, around) if t == u and not t.nullable and p != by] or pairs
        ties = [self.ties(way, by, q, told) for q, way in of if len(of) == 1 and way in ("lt", "gt")]
        compared = ties or [Call(way, (by, q)[:: self.c.pick((1, 1, -1))]) for q, way in of]
        if not ties and self.c.one_in(3):
            compared = [Call(t.fn, tuple(map(computed(t, inner), t.args))) for t in compared]
        equal = (Call(self.c.pick(("eq", "same")), self.c.pick(pairs)) for _ in range(self.c.number(2)))
        own_edge = [Call("ne", (edges[0], self.known(edges[0], inner)))] if self.c.one_in(6) else []
        rows: Expr = Sng(Var(VAR))
        for condition in (*compared, *equal, *own_edge):
            rows = For("_", Pred(condition), rows)
        rows = For(VAR, Rel(name, row), rows)
        return self.first(self.beside(rows, own, around, scope) if self.c.one_in(3) else rows, False, scope)

    def beside(self, rows: Expr, own: Paths, around: Paths, scope: Scope) -> Expr:
        """``rows``, each with some of another relation, which perhaps what is around tells."""
        name, row = self.c.pick(self.schema.relations)
        other = [(p, t) for p, t in scope.bind(BESIDE, row).base_paths() if root(p) == BESIDE]
        pairs = [(p, q) for (p, t), (q, u) in product(other, own) if t == u]
        told = [(p, q) for (p, t), (q, u) in product(other, around) if t == u]
        if not pairs:
            return rows
        assert isinstance(rows, For)
        below = For("_", Pred(Call("eq", self.c.pick(pairs))), rows.body)
        if told and self.c.number(3):
            below = For("_", Pred(Call("eq", self.c.pick(told))), below)
        sources = ((VAR, rows.source), (BESIDE, Rel(name, row)))
        for var, source in sources[:: self.c.pick((1, -1))]:
            below = For(var, source, below)
        return below

    def ties(self, way: str, by: Elem, of: Elem, told: list[tuple[Elem, Elem]]) -> Elem:
        """One side of which rows lie; of those on the edge some, perhaps, which more of them tells."""
        found = Call(way, (by, of))
        if self.c.one_in(4):
            return found
        behind: Elem = Call(self.c.pick(OPS), self.c.pick(told))
        if self.c.one_in(4):
            p, q = self.c.pick(told)
            behind = Call("or", (Call("gt", (p, q)), Call("and", (Call("eq", (q, p)), behind))))
        ties = Call("and", (Call("eq", (by, of)), behind))
        return Call("or", (found, ties) if self.c.number(3) else (ties, found))

    def known(self, edge: Elem, scope: Scope) -> Elem:
        """A constant of the type of what is around."""
        t = elem_type(edge, scope.pi)
        assert isinstance(t, Base)
        return Lit(self.c.pick(DOMAIN[t.kind]), Base(t.kind))

    def first(self, rows: Expr, descending: bool, scope: Scope) -> Expr:
        """What they come to."""
        inner = scope.bind(VAR, expr_type(rows, scope.gamma, scope.pi).row)
        own = [(path, t) for path, t in inner.base_paths() if root(path) == VAR]
        found = self.double(own) if self.c.number(3) else ()
        folds = found or tuple(f for f in self.make.folds(own, 2) if f.fn not in EXTREME)
        return Group(self.make.site(), VAR, rows, None, folds) if folds else self.first(rows, descending, scope)

    def double(self, own: list[tuple[Elem, Base]]) -> tuple[Fold, ...]:
        """A sum of doubles, if there are some."""
        doubles = [(path, t) for path, t in own if t.kind == "double"]
        fn = self.c.pick(("sum", "avg"))
        return tuple(Fold("f", fn, (path,), result_type(fn, [t])) for path, t in doubles[:1])
