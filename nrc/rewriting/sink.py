"""Folds sink into the inner bags that read them.

    for s in φ_α(x ∈ e; f) union C[sng_ι(e′)]  ⟶  for s in φ_α(x ∈ e; f) union C[sng_ι(for s in φ_β(x ∈ e; f) union e′)]

where e′ reads s, φ_β is φ_α at another site, and e makes no inner bags, so that none is copied. φ has one row, so both
are the same bag. But the label of the inner bag is then made of what the fold is about, and not of what it comes to: a
new sum changes the rows of a bag that differ, where it would move the whole bag to a new label. An inner bag that
equates all that it reads of s with what it is made of stays as it is: it is looked up by these values.

Law: ⟦sink e⟧ = ⟦e⟧.
"""

from collections.abc import Iterator

from ripplenest.nrc.syntax import Call, Elem, Expr, For, Group, Proj, SngBag, Term, Top, Var
from ripplenest.nrc.walk import Names, at_sites, children, free_vars, nodes, rebuild, unique_binders


def sink(e: Expr) -> Expr:
    """``e``, a nested term, with the folds that its inner bags read inside of these."""
    sites = frozenset(n.site for n in nodes(e) if isinstance(n, Group | SngBag | Top))
    if not any(isinstance(n, Group | Top) for n in nodes(e)):
        return e
    return unique_binders(_sunk(unique_binders(e), Names(sites)))


def _sunk(e: Expr, sites: Names) -> Expr:
    match e:
        case For(s, Group(keys=None) as g, body) if not any(isinstance(n, SngBag) for n in nodes(g)):
            return For(s, _sunk(g, sites), _sunk(_into(s, g, body, sites), sites))
        case _:
            return rebuild(e, lambda c: _sunk(c, sites), lambda t: t, lambda d: d)


def _into(s: str, g: Group, e: Expr, sites: Names) -> Expr:
    """``e`` whose inner bags, the outermost of each, read ``s`` for themselves."""
    match e:
        case SngBag(site, body, order) if s in free_vars(body) and not _is_looked_up(s, body):
            return SngBag(site, For(s, at_sites(g, sites.fresh), body), order)
        case SngBag():
            return e
        case _:
            return rebuild(e, lambda c: _into(s, g, c, sites), lambda t: t, lambda d: d)


def _is_looked_up(s: str, e: Expr) -> bool:
    """Whether all that ``e`` reads of ``s`` is one side of an equality."""
    return not any(t == Var(s) for t in _others(e))


def _others(e: Term) -> Iterator[Elem]:
    """The elements in ``e``, but for fields that are a side of an equality."""
    for n in children(e):
        if isinstance(e, Call) and e.fn in ("eq", "same") and isinstance(n, Proj) and isinstance(n.of, Var):
            continue
        if isinstance(n, Elem):
            yield n
        yield from _others(n)
