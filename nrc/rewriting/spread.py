"""What is made of the rows of two bags is made of those of each.

    for x in (a ⊎ b) union e  ⟶  (for x in a union e) ⊎ (for x in b union e)

where e makes no inner bags and folds nothing, which are told by their sites. The pairs of an outer join are those of
rows that fit and those of rows that have none: of each it is seen which stored rows they are made of, and so what of
these is compared with a clock. What is NULL in one of them is compared with nothing.

Law: ⟦spread e⟧ = ⟦e⟧.
"""

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.normal import is_sure
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.syntax import Call, Elem, Expr, For, Group, Let, Lit, Plus, SngBag, Top
from ripplenest.nrc.types import Base
from ripplenest.nrc.walk import nodes, rebuild, rebuild_elem, unique_binders


def spread(e: Expr) -> Expr:
    """``e``, a closed nested term; itself where there is nothing of the kind."""
    return _known(simplify(unique_binders(_spread(e)))) if any(_is_of_both(n) for n in nodes(e)) else e


def _is_of_both(e: object) -> bool:
    if not (isinstance(e, For) and isinstance(e.source, Plus)):
        return False
    return not any(isinstance(n, SngBag | Group | Top | Let) for n in nodes(e.body))


def _spread(e: Expr) -> Expr:
    e = rebuild(e, _spread, lambda t: t, lambda d: d)
    match e:
        case For(var, Plus(left, right), body) if _is_of_both(e):
            return Plus(_spread(For(var, left, body)), _spread(For(var, right, body)))
    return e


def _known(e: Expr) -> Expr:
    return rebuild(e, _known, _known_elem, lambda d: d)


def _known_elem(t: Elem) -> Elem:
    """NULL < t is NULL, where t has a value."""
    t = rebuild_elem(t, _known_elem)
    is_null = isinstance(t, Call) and t.fn in SWAPPED and any(isinstance(a, Lit) and a.value is None for a in t.args)
    return Lit(None, Base("bool", True)) if is_null and is_sure(t) else t
