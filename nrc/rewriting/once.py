"""Bags that are named stand where they are read: those that are read once, and those that are rows of stored bags.

    let X := e₁ in e₂  ⟶  e₂[X := e₁]   where X is read once in e₂, or e₁ makes no inner bags and folds nothing

A name of its own says nothing of what is kept, and rules that ask what rows are made of need not look behind it: what
is compared of rows, or with a clock, is looked up whether ``[e for e in E if e.ok]`` has a name or not. Inner bags and
groups are told by their sites, so those that are read more than once keep the name, but ``everywhere``, where totals
stand in all places: a rule that wants to know of what rows they are may need that. So do the rows of a group there,
``for b in sng_ι(e) union C[flatten(b)] ⟶ C[e]``, whose label nobody reads.

Law: ⟦once e⟧ = ⟦everywhere e⟧ = ⟦e⟧.
"""

from collections.abc import Callable

from ripplenest.nrc.syntax import Expr, Flatten, For, Group, Let, LetVar, Sng, SngBag, Top, Var
from ripplenest.nrc.walk import nodes, rebuild, replace_let, unique_binders

MOST = 2_000  # nodes of what is read several times, all together


def once(e: Expr) -> Expr:
    """``e``, a nested term, without names that say nothing."""
    return _copied(e, lambda bound, times: times == 1 or may_be_copied(bound, times))


def everywhere(e: Expr) -> Expr:
    """The same without names of rows and their totals; ``e`` itself where there are none."""
    return _copied(e, lambda bound, times: may_be_copied(bound, times, totals=True), bags=True)


def _copied(e: Expr, is_copied: Callable[[Expr, int], bool], bags: bool = False) -> Expr:
    def copied(e: Expr) -> Expr:
        match rebuild(e, copied, lambda t: t, lambda d: d):
            case Let(name, bound, body) if is_copied(bound, sum(n == LetVar(name) for n in nodes(body))):
                return replace_let(body, name, bound)
            case For(var, SngBag(_, of, ()), body) if bags and is_copied(of, times := _times(var, body)) and times:
                return _rows_for(var, of, body)
            case rebuilt:
                return rebuilt

    if not any(isinstance(n, Let) or (bags and isinstance(n, SngBag)) for n in nodes(e)):
        return e
    apart = unique_binders(e)
    found = copied(apart)
    return e if found is apart else unique_binders(found)


def _times(var: str, e: Expr) -> int:
    """How often ``e`` reads the rows of the bag ``var``; 0 where it reads its label."""
    whole = sum(n == Var(var) for n in nodes(e))
    rows = sum(n == Flatten(Sng(Var(var))) for n in nodes(e))
    return rows if rows == whole else 0


def _rows_for(var: str, of: Expr, e: Expr) -> Expr:
    """``e`` with ``of`` for the rows of the bag ``var``."""

    def put(e: Expr) -> Expr:
        return of if e == Flatten(Sng(Var(var))) else rebuild(e, put, lambda t: t, lambda d: d)

    return put(e)


def may_be_copied(e: Expr, times: int, totals: bool = False) -> bool:
    """Whether ``e`` may stand in so many places: it makes no inner bags, folds nothing but perhaps ``totals``, and is
    not too much."""
    size = 0
    for n in nodes(e):
        size += times
        is_total = totals and isinstance(n, Group) and n.keys is None
        if size > MOST or (isinstance(n, SngBag | Group | Top | Let) and not is_total):
            return False
    return True
