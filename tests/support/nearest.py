"""Views of first rows behind edges: of each row at some depth what comes before it and what is next, of relations and
of inner bags, perhaps of those that agree with it in something; and what was the greatest of something up to it."""

from ripplenest.nrc.paths import root
from ripplenest.nrc.syntax import (
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
    Top,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import elem_type, expr_type
from ripplenest.nrc.types import INT, LONG, Bag, Base, Record, nullable
from support.choices import Choices
from support.correlated import Correlated, positive
from support.queries import Scope
from support.schemas import MAX_DEPTH, Schema

VAR = "n"
MOVED = ("int", "long", "date", "timestamp")


def nearest_query(c: Choices, schema: Schema) -> Expr:
    """A closed term over ``schema``; drawn again where what is ordered could be there less than 0 times."""
    return positive(lambda: Nearest(c, schema, folds=True).level(Scope(schema), c.number(MAX_DEPTH), "v"))


class Nearest(Correlated):
    def fold(self, scope: Scope, name: str, bound: list[tuple[str, Expr]]) -> Elem:
        found = self.behind(scope)
        if found is None or self.c.one_in(8):
            return super().fold(scope, name, bound)
        bound.append((name, found))
        row = expr_type(found, scope.gamma, scope.pi).row
        assert isinstance(row, Record)
        return Proj(Var(name), self.c.pick(row.names))

    def behind(self, scope: Scope) -> Expr | None:
        """The first rows behind a value of what is around; None where nothing can be compared."""
        sources: list[Expr] = [Rel(name, row) for name, row in self.schema.relations]
        sources += [Flatten(Sng(path)) for path, t in scope.paths() if isinstance(t, Bag) and not t.nullable]
        of = self.c.pick(sources)
        inner = scope.bind(VAR, expr_type(of, scope.gamma, scope.pi).row)
        own = [(p, t) for p, t in inner.base_paths() if root(p) == VAR]
        pairs = [(p, q) for p, t in own for q, u in scope.base_paths() if nullable(t) == nullable(u)]
        if not pairs:
            return None
        moving = [(p, q) for p, q in pairs if getattr(elem_type(q, inner.pi), "kind", "") in MOVED]
        moves = bool(moving) and not self.c.one_in(3)
        by, edge = self.c.pick(moving if moves else pairs)
        descending = self.c.number(2) == 1
        if moves and self.c.one_in(2):
            return self.between(by, edge, descending, of, inner, scope)
        behind = self.c.pick((("lt", "le"), ("gt", "ge"))[not descending])
        first: Elem = Call(behind, self.moved(by, edge, inner) if moves else (by, edge))
        if self.c.one_in(3):  # those on the edge are told by more
            ties = Call("and", (Call("eq", (by, edge)), Call(self.c.pick(("lt", "ge")), self.c.pick(pairs))))
            first = Call("or", (first, ties) if self.c.number(2) else (ties, first))
        conditions: list[Elem] = [first]
        if self.c.number(2):
            equal = self.c.pick(pairs)
            conditions.insert(self.c.number(2), Call(self.c.pick(("eq", "eq", "ne", "same")), equal))
        if self.c.number(2):  # another order than that of edges, in which those so far are the first
            if (by, edge) in moving and not self.c.one_in(3):
                conditions.append(self.end(by, edge, descending, inner))
            by, descending = self.c.pick(own)[0], self.c.number(2) == 1
        columns = [by, *(self.c.pick(own)[0] for _ in range(self.c.number(2)))]
        rows: Expr = Sng(Tuple(tuple((f"c{i}", path) for i, path in enumerate(columns))))
        for condition in reversed(conditions):
            rows = For("_", Pred(condition), rows)
        return self.first(For(VAR, of, rows), descending, scope)

    def between(self, by: Elem, edge: Elem, descending: bool, of: Expr, inner: Scope, scope: Scope) -> Expr:
        """The first rows in some order of those that begin at an edge, and end some way from it; or of those of which
        what is multiplied begins there."""
        kind, fn = getattr(elem_type(edge, scope.pi), "kind", ""), "le" if descending else "ge"
        conditions = [Call(fn, (by, edge)), self.end(by, edge, descending, inner)]
        if kind in ("int", "long") and self.c.one_in(2):
            times = Lit(self.c.pick((-2, 2, 3)), INT if kind == "int" else LONG)
            conditions = [Call(fn, (Call(f"mul_{kind}", (by, times)), edge))]
        rows: Expr = Sng(Tuple((("c0", self.c.pick([p for p, _ in inner.base_paths() if root(p) == VAR])),)))
        for condition in conditions:
            rows = For("_", Pred(condition), rows)
        return self.first(For(VAR, of, rows), self.c.number(2) == 1, scope)

    def end(self, by: Elem, edge: Elem, descending: bool, scope: Scope) -> Elem:
        """Where rows end that begin at an edge: some way from it."""
        kind = elem_type(edge, scope.pi)
        assert isinstance(kind, Base)
        fn = {"date": "days_after", "timestamp": "micros_after"}.get(kind.kind, f"add_{kind.kind}")
        way = Lit(self.c.pick((1, 2, 3, 1000)) * (-1 if descending else 1), INT if kind.kind == "int" else LONG)
        return Call(self.c.pick((("gt", "ge"), ("lt", "le"))[not descending]), (by, Call(fn, (edge, way))))

    def moved(self, by: Elem, edge: Elem, scope: Scope) -> tuple[Elem, Elem]:
        """Both, of which one may have something added to it, or taken away from it."""
        t = elem_type(edge, scope.pi)
        assert isinstance(t, Base)
        fn = {"date": "days_after", "timestamp": "micros_after"}.get(t.kind, f"{self.c.pick(('add', 'sub'))}_{t.kind}")
        more: Elem = Lit(self.c.number(4) - 1, INT if t.kind == "int" else LONG)
        others = [p for p, u in scope.base_paths() if root(p) != VAR and u == t]
        if others and t.kind in ("int", "long") and self.c.one_in(3):
            more = self.c.pick(others)
        return (Call(fn, (by, more)), edge) if self.c.one_in(3) else (by, Call(fn, (edge, more)))

    def first(self, rows: Expr, descending: bool, scope: Scope) -> Expr:
        by = Proj(Var(VAR), "c0")
        t = expr_type(rows, scope.gamma, scope.pi).row
        assert isinstance(t, Record)
        if self.c.number(2):
            kind = t.get("c0")
            assert isinstance(kind, Base)
            fold = Fold("f", "max" if descending else "min", (by,), nullable(kind))
            return Group(self.make.site(), VAR, rows, None, (fold,))
        order = (Order(by, descending, self.c.one_in(4)),)
        if self.c.number(3):
            return Top(self.make.site(), VAR, rows, order, 1 + self.c.number(2))
        first, (name, kind) = Top(self.make.site(), VAR, rows, order, 1), self.c.pick(t.fields)
        assert isinstance(kind, Base)
        fold = Fold("f", self.c.pick(("max", "min")), (Var(VAR),), nullable(kind))  # NULL if there is none
        return Group(self.make.site(), VAR, For(VAR, first, Sng(Proj(Var(VAR), name))), None, (fold,))
