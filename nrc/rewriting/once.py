"""Bags that are named stand where they are read: those that are read once, and those that are rows of stored bags.

    let X := e₁ in e₂  ⟶  e₂[X := e₁]   where X is read once in e₂, or e₁ makes no inner bags and folds nothing

A name of its own says nothing of what is kept, and rules that ask what rows are made of need not look behind it: what
is compared of rows, or with a clock, is looked up whether ``[e for e in E if e.ok]`` has a name or not. Inner bags and
groups are told by their sites, so those that are read more than once keep the name.

Law: ⟦once e⟧ = ⟦e⟧.
"""

from ripplenest.nrc.syntax import Expr, Group, Let, LetVar, SngBag, Top
from ripplenest.nrc.walk import nodes, rebuild, replace_let, unique_binders

MOST = 2_000  # nodes of what is read several times, all together


def once(e: Expr) -> Expr:
    """``e``, a nested term, without names that say nothing."""
    return unique_binders(_once(unique_binders(e))) if any(isinstance(n, Let) for n in nodes(e)) else e


def _once(e: Expr) -> Expr:
    match rebuild(e, _once, lambda t: t, lambda d: d):
        case Let(name, bound, body) if _is_copied(bound, sum(n == LetVar(name) for n in nodes(body))):
            return replace_let(body, name, bound)
        case rebuilt:
            return rebuilt


def _is_copied(bound: Expr, times: int) -> bool:
    return times == 1 or may_be_copied(bound, times)


def may_be_copied(e: Expr, times: int) -> bool:
    """Whether ``e`` may stand in so many places: it makes no inner bags, folds nothing, and is not too much."""
    size = 0
    for n in nodes(e):
        size += times
        if size > MOST or isinstance(n, SngBag | Group | Top | Let):
            return False
    return True
