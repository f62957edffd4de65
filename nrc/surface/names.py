"""The names inside of a finished term: every binder and every site apart."""

from attrs import evolve

from ripplenest.nrc.syntax import Expr, Group, SngBag, Top
from ripplenest.nrc.walk import Names, rebuild, unique_binders


def name_apart(e: Expr) -> Expr:
    """``e`` with all bound variables and all sites ι named apart, so that passes need not think of capture.

    The first of several sites ``v.f`` keeps its name, the next are v.f1, v.f2, …, in the order of the term.
    """
    return _sites(unique_binders(e), Names())


def _sites(e: Expr, names: Names) -> Expr:
    match e:
        case SngBag(site, body, order):
            return SngBag(names.fresh(site), _sites(body, names), order)
        case Group(site) | Top(site):
            e = evolve(e, site=names.fresh(site))
    return rebuild(e, lambda c: _sites(c, names), lambda t: t, lambda d: d)
