"""What is bound around a place of a term, with the types of it: passes that make new terms ask what they are of."""

from collections.abc import Callable, Iterable, Mapping

from attrs import evolve, field, frozen

from ripplenest.nrc.syntax import DictExpr, DictLit, Expr, For, Let
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import Label, Type
from ripplenest.nrc.walk import rebuild, rebuild_dict


@frozen
class Around:
    """The types of the variables, and the lets with their types, at one place of a term."""

    pi: Mapping[str, Type] = field(factory=dict)
    lets: Mapping[str, Expr] = field(factory=dict)
    gamma: Mapping[str, Type] = field(factory=dict)

    def row_of(self, e: Expr) -> Type:
        """The rows of ``e`` at this place."""
        return expr_type(e, self.gamma, self.pi).row

    def where(self, var: str, t: Type) -> "Around":
        """Below a binder of ``var``, which is a ``t``."""
        return evolve(self, pi={**self.pi, var: t})

    def inside(self, generators: Iterable[tuple[str, Expr]]) -> "Around":
        """Below ``for x₁ in e₁ …``."""
        place = self
        for var, source in generators:
            place = place.where(var, place.row_of(source))
        return place

    def let(self, name: str, bound: Expr) -> "Around":
        """Below ``let name := bound in``."""
        gamma = {**self.gamma, name: expr_type(bound, self.gamma, self.pi)}
        return evolve(self, lets={**self.lets, name: bound}, gamma=gamma)


Pass = Callable[[Expr, Around], Expr]


def rebuilt(e: Expr, around: Around, f: Pass) -> Expr:
    """``e``, which is at a place, with ``f`` of each of its children at theirs."""
    match e:
        case For(var, source, body):
            return For(var, f(source, around), f(body, around.where(var, around.row_of(source))))
        case Let(name, bound, body):
            return Let(name, f(bound, around), f(body, around.let(name, bound)))
        case _:
            return rebuild(e, lambda c: f(c, around), lambda t: t, lambda d: rebuilt_dict(d, around, f))


def rebuilt_dict(d: DictExpr, around: Around, f: Pass) -> DictExpr:
    """The same of a definition."""
    if isinstance(d, DictLit):
        return evolve(d, body=f(d.body, around.where(d.var, Label((d.site,)))))
    return rebuild_dict(d, lambda c: f(c, around), lambda c: rebuilt_dict(c, around, f))
