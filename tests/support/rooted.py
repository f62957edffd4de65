"""Terms whose root is a given construct, below ``for x in R``: what a single ``case`` of a pass is tried on."""

from collections.abc import Callable

from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    Let,
    LetVar,
    Neg,
    Plus,
    Pred,
    Product,
    Proj,
    Rel,
    Sng,
    SngBag,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import BOOL, LONG, Bag, Base, Type
from support.choices import Choices
from support.queries import Queries, Scope, has_bag_leaf
from support.schemas import Schema

SMALL = 3  # fuel of what is below the root


class Rooted:
    """Random subterms for one root. ``scope`` has the row ``x`` of the first relation, or nothing but relations."""

    def __init__(self, c: Choices, schema: Schema) -> None:
        self.c, self.schema, self.make = c, schema, Queries(c, schema)
        self.outer = Rel(*schema.relations[0])
        self.scope = Scope(schema).bind("x", self.outer.row)

    def any(self) -> Expr:
        return self.make.source(self.scope, SMALL)

    def row(self) -> Type:
        return self.make.row(self.c.number(2))

    def bag(self, t: Type) -> Expr:
        return self.make.bag(t, self.scope, SMALL)

    def under(self, source: Expr) -> Scope:
        return self.scope.bind("y", expr_type(source, self.scope.gamma, self.scope.pi).row)

    def one(self, t: Type) -> Expr:
        """sng(t) for an element of type ``t``, inner bags bound first."""
        return self.make.one(t, self.scope, SMALL)

    def path(self, wanted: Callable[[Elem], bool]) -> Elem | None:
        found = [p for p, _ in self.scope.paths() if wanted(p)]
        return self.c.pick(found) if found else None


def _for(r: Rooted) -> Expr:
    source = r.any()
    return For("y", source, r.make.bag(r.row(), r.under(source), SMALL))


def _let(r: Rooted) -> Expr:
    bound = r.any()
    scope = r.scope.bind_let("X", expr_type(bound, r.scope.gamma, r.scope.pi))
    return Let("X", bound, r.make.bag(r.row(), scope, SMALL))


def _let_var(r: Rooted) -> Expr:
    bound = r.any()
    return Let("X", bound, Plus(LetVar("X"), LetVar("X")) if r.c.number(2) else LetVar("X"))


def _flatten(r: Rooted) -> Expr:
    return Flatten(r.bag(Bag(r.row(), r.c.number(2) == 1)))


def _plus(r: Rooted) -> Expr:
    t = r.row()
    return Plus(r.bag(t), r.bag(t))


def _flat(r: Rooted) -> Type:
    t = r.row()
    while has_bag_leaf(t):
        t = r.make.row(0)
    return t


def _tuple(r: Rooted) -> Expr:
    return Sng(Tuple((("a", Var("x")), ("b", r.make.literal(LONG)))))


def _call(r: Rooted) -> Expr:
    return Sng(Call("is_true", (r.make.condition(r.scope, 2),)))


def _stored_bag(r: Rooted) -> Expr:
    """flatten(sng(x.f)): whether the label is one of the dictionary's, or of which definition it is."""
    found = [p for p, t in r.scope.paths() if isinstance(t, Bag)]
    return Flatten(Sng(r.c.pick(found)) if found else Plus(SngBag("κ", r.outer), SngBag("λ", r.outer)))


EXPRS: dict[str, Callable[[Rooted], Expr]] = {
    "Rel": lambda r: r.c.pick([Rel(*relation) for relation in r.schema.relations]),
    "LetVar": _let_var,
    "Let": _let,
    "For": _for,
    "Pred": lambda r: Pred(r.make.condition(r.scope, 2)),
    "Weigh": lambda r: Weigh(r.make.weight(r.scope)),
    "Sng": lambda r: r.one(_flat(r)),
    "SngBag": lambda r: SngBag("κ", r.any()),
    "Flatten": _flatten,  # shredded, it is Apply
    "Product": lambda r: Product(r.any(), r.any()),
    "Plus": _plus,
    "Neg": lambda r: Neg(r.any()),
    "Empty": lambda r: Empty(r.row()),
}

ELEMS: dict[str, Callable[[Rooted], Expr]] = {
    "Var": lambda _: Sng(Var("x")),
    "Proj": lambda r: Sng(r.path(lambda p: isinstance(p, Proj)) or Var("x")),
    "Lit": lambda r: Sng(r.make.literal(r.c.pick((LONG, BOOL, Base("string", True))))),
    "Call": _call,
    "Tuple": _tuple,
    "InL": lambda r: SngBag("κ", r.bag(r.row())),  # its label
    "OutL": lambda _: Flatten(SngBag("κ", Sng(Var("x")))),  # its parameters, read in the definition
    "IsSite": _stored_bag,
}


def rooted(c: Choices, schema: Schema, construct: str) -> Expr:
    """for x in R union (a term whose root is ``construct``)"""
    r = Rooted(c, schema)
    return For("x", r.outer, {**EXPRS, **ELEMS}[construct](r))
