"""Closed definitions: a term becomes a function of the values that it uses of what is around it.

What a label stands for is kept apart from where the label is made, so a definition must not read what is bound there:
the columns that it uses become the parameters of its site, and the lets that it uses are put inside. It is done for
inner bags (nrc-ivm, figure 6, the rule of sng_ι) and for groups, which are kept apart as well
(``delta/groups/strata.py``).
"""

from collections.abc import Collection, Mapping

from attrs import frozen

from ripplenest.nrc.paths import Leaf, map_columns, path_name
from ripplenest.nrc.syntax import DictLit, Elem, Expr, For, Group, InL, Let, OutL, Top, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Site, Type
from ripplenest.nrc.walk import Names, canonical, free_lets, free_vars, nodes, rebuild, rebuild_elem, rebuild_group


def close(
    site_name: str, e: Expr, types: Mapping[str, Type], lets: Mapping[str, Expr], computed: Collection[Elem] = ()
) -> tuple[InL, DictLit]:
    """The label ⟨ι, ε⟩ of ``e`` and its closed definition [(ι,Π) ↦ e], with only the variables that it uses; these have
    ``types``, and let-variables stand for ``lets``. What is ``computed`` of them is a parameter itself.

    Law: the definition applied to the label is ``e``.
    """
    body = _with_lets(e, lets)
    params = _Parameters(types, Names(), {}, computed)
    params.collect(body, free_vars(body))
    site = Site(site_name, tuple((name, elem_type(path, types)) for path, name in params.names.items()))
    label = InL(site_name, tuple((name, path) for path, name in params.names.items()))
    # What they bind would be captured by outL(l).p.
    binders = frozenset(node.var for node in nodes(body) if isinstance(node, For | Group | Top))
    var = Names(frozenset(types) | free_vars(body) | binders).fresh("l")
    return label, DictLit(site, var, params.abstract(body, free_vars(body), site, var))


def opened(e: Expr, d: DictLit, by: Mapping[str, Elem]) -> Expr:
    """``e``, a term in the definition ``d``, with other elements for the parameters of ``d``."""

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, lambda t: opened_elem(t, d, by), lambda inner: inner)  # which are closed

    return expr(e)


def opened_elem(t: Elem, d: DictLit, by: Mapping[str, Elem]) -> Elem:
    """The same of an element."""
    match t:
        case OutL(Var(var), site, param) if var == d.var and site == d.site:
            return by[param]
        case _:
            return rebuild_elem(t, lambda inner: opened_elem(inner, d, by))


def made_of(d: DictLit, e: Expr | None = None) -> tuple[tuple[Type, ...], Expr]:
    """What of ``e`` inside of ``d``, its body if no other is given, does not depend on the names of the site, of its
    parameters and of variables."""
    places = {p: Var(f"{i}") for i, (p, _) in enumerate(d.site.params)}
    return tuple(t for _, t in d.site.params), canonical(opened(d.body if e is None else e, d, places))


def _with_lets(e: Expr, lets: Mapping[str, Expr]) -> Expr:
    """``e`` inside the lets that it uses, so that it stands for the same bag outside their scope."""
    for name in sorted(free_lets(e)):
        if name in lets:
            e = Let(name, _with_lets(lets[name], lets), e)
    return e


@frozen
class _Parameters:
    """Π of one site: the paths x.f.g of base or label type that a body uses, in order of first use."""

    types: Mapping[str, Type]
    taken: Names
    names: dict[Elem, str]
    computed: Collection[Elem]

    def collect(self, e: Expr, free: frozenset[str]) -> None:
        """Names every used path of the variables ``free``."""
        self._walk(e, free, self._add)

    def abstract(self, e: Expr, free: frozenset[str], site: Site, var: str) -> Expr:
        """``e`` with each used path read from the label ``var``: x.f ⟶ outL_ι(var).p"""
        return self._walk(e, free, lambda path: OutL(Var(var), site, self.names[path]))

    def _add(self, path: Elem) -> Elem:
        if path not in self.names:
            self.names[path] = self.taken.fresh("value" if path in self.computed else path_name(path))
        return path

    def _walk(self, e: Expr, free: frozenset[str], leaf: Leaf) -> Expr:
        match e:
            case For(var, source, body):
                return For(var, self._walk(source, free, leaf), self._walk(body, free - {var}, leaf))
            case Group(_, var) | Top(_, var):
                inside = free - {var}
                return rebuild_group(e, lambda c: self._walk(c, free, leaf), lambda t: self._elem(t, inside, leaf))
            case _:  # dictionaries are closed, so no free path is inside them
                return rebuild(e, lambda c: self._walk(c, free, leaf), lambda t: self._elem(t, free, leaf), lambda d: d)

    def _elem(self, t: Elem, free: frozenset[str], leaf: Leaf) -> Elem:
        return map_columns(t, free, self.types, leaf, self.computed)
