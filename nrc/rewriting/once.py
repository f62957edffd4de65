"""Bags that are named and read in one place stand in that place.

    let X := e₁ in e₂  ⟶  e₂[X := e₁]   where X is read once in e₂

A name of its own says nothing of what is kept, and rules that ask what rows are made of need not look behind it.

Law: ⟦once e⟧ = ⟦e⟧.
"""

from ripplenest.nrc.syntax import Expr, Let, LetVar
from ripplenest.nrc.walk import nodes, rebuild, replace_let, unique_binders


def once(e: Expr) -> Expr:
    """``e``, a nested term, without names that are read once."""
    return _once(unique_binders(e)) if any(isinstance(n, Let) for n in nodes(e)) else e


def _once(e: Expr) -> Expr:
    match rebuild(e, _once, lambda t: t, lambda d: d):
        case Let(name, bound, body) if sum(n == LetVar(name) for n in nodes(body)) == 1:
            return replace_let(body, name, bound)
        case rebuilt:
            return rebuilt
