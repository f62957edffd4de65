"""What is bound around a place of a term, with the types of it: passes that make new terms ask what they are of."""

from collections.abc import Mapping

from attrs import evolve, field, frozen

from ripplenest.nrc.syntax import Expr
from ripplenest.nrc.typecheck import expr_type
from ripplenest.nrc.types import Type


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

    def let(self, name: str, bound: Expr) -> "Around":
        """Below ``let name := bound in``."""
        gamma = {**self.gamma, name: expr_type(bound, self.gamma, self.pi)}
        return evolve(self, lets={**self.lets, name: bound}, gamma=gamma)
