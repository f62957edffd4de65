"""Conditions are asked before what is folded, or made an inner bag, for rows that they leave out.

    for s in e union C[for _ in p(c ∧ d) union e′]  ⟶  for _ in p(c) union for s in e union C[for _ in p(d) union e′]

where e holds groups, first rows or inner bags, C are the generators and conditions below it, and c reads neither s nor
what C binds and has a value for all rows. It is a conjunct of all rows that are made there, so both are the same bag;
but what is made in e is made where c is true, and so can be told by it: of ``for k in Clock``, ``k.id = 1`` says which
row there is (``rekey.py``). A row that c leaves out needs no value of e.

Law: ⟦sooner e⟧ = ⟦e⟧ where ⟦e⟧ has a value.
"""

from ripplenest.nrc.rewriting.normal import conjuncts, is_sure, where
from ripplenest.nrc.syntax import Elem, Expr, For, Group, Let, Pred, SngBag, Top
from ripplenest.nrc.walk import free_vars, nodes, rebuild, unique_binders

Bound = frozenset[str]


def sooner(e: Expr) -> Expr:
    """``e``, a nested term, with such conditions where they can be asked."""
    return _sooner(unique_binders(e)) if _is_made(e) else e


def _sooner(e: Expr) -> Expr:
    match e:
        case For(var, source, body) if not isinstance(source, Pred):
            inner, (early, below) = _sooner(source), _around(source, frozenset((var,)), _sooner(body))
            return where(early, e if inner is source and below is body else For(var, inner, below))
        case Let(name, bound, body):
            inner, (early, below) = _sooner(bound), _around(bound, frozenset(), _sooner(body))
            return where(early, e if inner is bound and below is body else Let(name, inner, below))
        case _:
            return rebuild(e, _sooner, lambda t: t, lambda d: d)


def _around(source: Expr, bound: Bound, body: Expr) -> tuple[list[Elem], Expr]:
    """The conditions of ``body`` that can be asked before ``source``, which they need not be where nothing is made."""
    return _known(body, bound) if _is_made(source) else ([], body)


def _is_made(source: Expr) -> bool:
    """Whether it holds what is made for each row that is read before it."""
    return any(isinstance(n, Group | Top | SngBag) for n in nodes(source))


def _known(e: Expr, bound: Bound) -> tuple[list[Elem], Expr]:
    """The conditions of all rows of ``e`` that read nothing ``bound``, and ``e`` without them."""
    match e:
        case For(var, Pred(cond), body) if var not in free_vars(body):
            found, rest = _known(body, bound)
            early = [c for c in conjuncts(cond) if not free_vars(c) & bound and is_sure(c)]
            late = [c for c in conjuncts(cond) if c not in early]
            return [*early, *found], For(var, Pred(cond), rest) if not early else where(late, rest)
        case For(var, source, body):
            found, rest = _known(body, bound | {var})
            return found, For(var, source, rest) if found else e
        case Let(name, of, body):
            found, rest = _known(body, bound)
            return found, Let(name, of, rest) if found else e
        case _:
            return [], e
