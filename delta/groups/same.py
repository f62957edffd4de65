"""What has one row for every place is read once for a place.

    for s in α⟨Π⟩ union C[for r in α⟨Π⟩ union e]  ⟶  for s in α⟨Π⟩ union C[e[r := s]]

where α is a total, or first rows that have a row of nothing: each value of ``max(rows, key=…)`` asks for the first row
by itself, and all that ask at the same place are one factor of the product, and not one each, whose deltas would be
twice as many with each.

Law: ⟦read_once h⟧ = ⟦h⟧.
"""

from collections.abc import Mapping

from attrs import evolve

from ripplenest.nrc.syntax import Apply, DictLit, Expr, For, GroupRel, Var
from ripplenest.nrc.walk import rebuild, replace, unique_binders, unique_dict_binders


def read_once(e: Expr) -> Expr:
    """A term without groups, whose variables are named apart."""
    apart = unique_binders(e)
    found = _inside(apart, {})
    return e if found is apart else found


def read_once_dict(d: DictLit) -> DictLit:
    """The same of a definition."""
    apart = unique_dict_binders(d)
    assert isinstance(apart, DictLit)
    found = _inside(apart.body, {})
    return d if found is apart.body else evolve(apart, body=found)


def _inside(e: Expr, known: Mapping[Apply, str]) -> Expr:
    match e:
        case For(var, Apply(GroupRel(nothing=nothing)) as source, body) if nothing is not None:
            if source in known:
                return _inside(replace(body, {var: Var(known[source])}), known)
            below = _inside(body, {**known, source: var})
            return e if below is body else For(var, source, below)
        case _:
            return rebuild(e, lambda c: _inside(c, known), lambda t: t, lambda d: d)
