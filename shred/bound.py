"""Which columns say what the parameters of a dictionary are, so that it needs no domain."""

from collections.abc import Mapping

from ripplenest.nrc.rewriting.equations import EQUALITIES, equations, place_asked
from ripplenest.nrc.rewriting.normal import Comprehension
from ripplenest.nrc.syntax import DictLit, Elem, Grouped, InL, OutL, Total, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, Label, Type, nullable
from ripplenest.nrc.walk import free_vars


def bindings(c: Comprehension, d: DictLit, groups: frozenset[str] | None) -> dict[str, Elem]:
    """parameter ↦ the column that the product equates it with; of a label, perhaps, what it is made of, one by one.
    One of a group with a domain is none, nor one of a fold that has a row for every place, unless others tell which:
    the place must be known before, perhaps by this parameter."""
    known: dict[Elem, Elem] = {}
    types = c.variables()
    unbound = _unbound(c, groups or frozenset()) | {d.var}
    for left, right in equations(c, EQUALITIES[:1] if groups is None else EQUALITIES):
        if left not in known and not unbound & free_vars(right):
            wanted = _wanted(left, d)
            if wanted is not None and _same_kind(wanted, elem_type(right, types)):
                known[left] = right
    bound = ((p, _bound(OutL(Var(d.var), d.site, p), t, known)) for p, t in d.site.params)
    return {p: column for p, column in bound if column is not None}


def _unbound(c: Comprehension, groups: frozenset[str]) -> set[str]:
    """The generators of which no row is known before a place is: of groups with a domain, and of folds that have a row
    for every place, as long as no others say which."""
    read = [(var, rel, place_asked(c, var, rel)) for var, rel in c.generators if isinstance(rel, Grouped)]
    asked = {var for var, rel, place in read if place.args and (isinstance(rel, Total) or rel.name not in groups)}
    places = {var: free_vars(place) for var, rel, place in read if var in asked and rel.name in groups}
    known = {var for var, _ in c.generators} - asked
    while more := {var for var, needed in places.items() if var not in known and needed <= known}:
        known |= more
    return asked - known


def _wanted(t: Elem, d: DictLit) -> Type | None:
    """The type of a parameter of the dictionary, or of one of a label that it is, at any depth; None for another ``t``.
    """
    match t:
        case OutL(Var(name), _, param) if name == d.var:
            return dict(d.site.params)[param]
        case OutL(label, site, param):
            made = _wanted(label, d)
            return dict(site.params)[param] if isinstance(made, Label) and made.only(site.name) else None
    return None


def _bound(own: Elem, t: Type, known: Mapping[Elem, Elem]) -> Elem | None:
    """What is known to be ``own``, a parameter; a label is known when all are that it is made of."""
    if own in known:
        return known[own]
    if not (isinstance(t, Label) and len(t.sites) == 1 and t.only(t.sites[0].name)):
        return None
    site = t.sites[0]
    parts = [(p, _bound(OutL(own, site, p), inner, known)) for p, inner in site.params]
    args = tuple((p, part) for p, part in parts if part is not None)
    return InL(site.name, args) if len(args) == len(parts) else None


def _same_kind(wanted: Type, got: Type) -> bool:
    """True when a column of type ``got`` can stand for the parameter: same base kind, or the same one site."""
    match wanted, got:
        case Base(), Base():
            return nullable(wanted) == nullable(got)
        case Label(sites), Label(others):
            return len(sites) == 1 and sites == others
        case _:
            return False
