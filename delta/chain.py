"""Terms as chains, for x₁ in e₁ … where p … union sng(t): what a group folds has a head that can be another one."""

from collections.abc import Mapping

from attrs import evolve, frozen

from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.rewriting.normal import conjuncts, where
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import Elem, Expr, For, Pred, Sng, Var
from ripplenest.nrc.walk import free_vars, replace_elem


@frozen
class Chain:
    """for x₁ in e₁ … where p … union sng(t)"""

    generators: tuple[tuple[str, Expr], ...]
    conditions: tuple[Elem, ...]
    head: Elem

    @property
    def own(self) -> frozenset[str]:
        """x₁, …"""
        return frozenset(var for var, _ in self.generators)

    @property
    def conjuncts(self) -> tuple[Elem, ...]:
        """Its conditions, of which each is no ``and``."""
        return tuple(t for cond in self.conditions for t in conjuncts(cond))

    def term(self, head: Elem) -> Expr:
        """The same with another head."""
        body = where(self.conditions, Sng(head))
        for var, source in reversed(self.generators):
            body = For(var, source, body)
        return body

    def read(self, t: Elem, var: str) -> Elem:
        """``t`` of a row ``var`` of the chain, over x₁, …, which others around the chain must not be called."""
        if captured := free_vars(t) & self.own - {var}:
            raise LawBroken("what reads the rows of a term has a variable of the term", got=", ".join(sorted(captured)))
        return read(t, {var: self.head})


def chain(e: Expr, own: str) -> Chain:
    """``e`` as a chain; what is none is the only generator, whose rows are called ``own``."""
    match e:
        case For(_, Pred(cond), body):
            inner = chain(body, own)
            return evolve(inner, conditions=(cond, *inner.conditions))
        case For(var, source, body):
            inner = chain(body, own)
            return evolve(inner, generators=((var, source), *inner.generators))
        case Sng(elem):
            return Chain((), (), elem)
        case _:
            return Chain(((own, e),), (), Var(own))


def read(t: Elem, env: Mapping[str, Elem]) -> Elem:
    """``t`` with elements for its variables, simplified."""
    return simplify_elem(replace_elem(t, env))
