"""What is made of the rows of two bags is made of those of each.

    for x in (a ⊎ b) union e  ⟶  (for x in a union e) ⊎ (for x in b union e)

where e makes no inner bags and folds nothing, which are told by their sites. The pairs of an outer join are those of
rows that fit and those of rows that have none: of each it is seen which stored rows they are made of, and so what of
these is compared with a clock. What is NULL in one of them is compared with nothing.

Law: ⟦spread e⟧ = ⟦e⟧.
"""

from collections.abc import Iterator
from functools import reduce

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.normal import is_sure
from ripplenest.nrc.rewriting.once import may_be_copied
from ripplenest.nrc.rewriting.simplify import simplify
from ripplenest.nrc.syntax import Call, Elem, Expr, For, Lit, Plus
from ripplenest.nrc.types import Base
from ripplenest.nrc.walk import nodes, rebuild, rebuild_elem, unique_binders

MANY = 16  # bags, of which so much is made


def spread(e: Expr) -> Expr:
    """``e``, a closed nested term; itself where there is nothing of the kind."""
    if not any(isinstance(n, For) and isinstance(n.source, Plus) for n in nodes(e)):
        return e
    found = _spread(e)
    return e if found is e else _known(simplify(unique_binders(found)))


def _spread(e: Expr) -> Expr:
    found = rebuild(e, _spread, lambda t: t, lambda d: d)
    if isinstance(found, For) and isinstance(found.source, Plus):
        parts = [*_summands(found.source)]
        if len(parts) <= MANY and may_be_copied(found.body, len(parts)):
            made: Iterator[Expr] = (For(found.var, part, found.body) for part in parts)
            return reduce(Plus, made)
    return found


def _summands(e: Expr) -> Iterator[Expr]:
    if isinstance(e, Plus):
        yield from _summands(e.left)
        yield from _summands(e.right)
    else:
        yield e


def _known(e: Expr) -> Expr:
    return rebuild(e, _known, _known_elem, lambda d: d)


def _known_elem(t: Elem) -> Elem:
    """NULL < t is NULL, where t has a value."""
    t = rebuild_elem(t, _known_elem)
    is_null = isinstance(t, Call) and t.fn in SWAPPED and any(isinstance(a, Lit) and a.value is None for a in t.args)
    return Lit(None, Base("bool", True)) if is_null and is_sure(t) else t
