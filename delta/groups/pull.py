"""Answers pulled in: what readers make of the folds of a group alone is worked out in its map.

    for s in γ_α(x ∈ e; k; f) union C[t(s.f)]  ⟶  for s in γ_α(x ∈ e; k; a: t(f)) union C[s.a]
    for s in φ_α(x ∈ e; f) union e′            ⟶  e′        where s is not read: φ has one row

So who asks ``sum(…) > 100`` hears of the group when the sum passes 100, and not of every new sum. What can fail stays
where it is, as it is asked last there; and so does an equality by which rows are looked up.

Law (answers_pulled_or_not): a view has the same rows either way.
"""

from collections.abc import Iterator

from attrs import frozen

from ripplenest.nrc.rewriting.normal import is_total
from ripplenest.nrc.syntax import Call, Elem, Expr, Group, Proj, Tuple, Var
from ripplenest.nrc.types import Record
from ripplenest.nrc.walk import Names, children, free_vars, nodes, rebuild, rebuild_elem

FOLDED = "f"  # the variable of answers, whose fields are the folds


@frozen
class Pulled:
    """What readers see of the folds of a group, by name, as elements over ``f``; and what reads it."""

    answers: tuple[tuple[str, Elem], ...]
    body: Expr


def pull(var: str, g: Group, row: Record, body: Expr) -> Pulled:
    """for var in g union body, whose rows are of type ``row``."""
    folds = tuple(f.name for f in g.folds)
    found = tuple(dict.fromkeys(_asked(body, var, g, row)))
    raw = {name for t in found if (name := _fold(t, var, folds)) is not None}
    if Var(var) in found:
        raw = {*folds}
    names = Names(frozenset(row.names))
    made = {t: names.fresh("answer") for t in found if _reads(t, var) - raw and isinstance(t, Call)}
    kept = [(name, Proj(Var(FOLDED), name)) for name in folds if name in raw]
    answers = (*kept, *((name, _over_folds(t, var)) for t, name in made.items()))

    def elem(t: Elem) -> Elem:
        return Proj(Var(var), made[t]) if t in made else rebuild_elem(t, elem)

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, elem, lambda d: d)  # definitions are closed

    return Pulled(answers, expr(body) if made else body)


def _asked(e: Expr, var: str, g: Group, row: Record) -> Iterator[Elem]:
    """What ``e`` reads of the folds of g: elements over them alone as large as can be, and else paths."""
    for n in children(e):
        if isinstance(n, Elem):
            yield from _parts(n, var, g, row)
        elif isinstance(n, Expr):
            yield from _asked(n, var, g, row)


def _parts(t: Elem, var: str, g: Group, row: Record) -> Iterator[Elem]:
    folds = tuple(f.name for f in g.folds)
    if t == Var(var) or _fold(t, var, folds) is not None or _is_answer(t, var, g, row):
        yield t
        return
    if isinstance(t, Proj) and t.of == Var(var):
        return  # a key
    for n in children(t):
        if isinstance(n, Elem):
            yield from _parts(n, var, g, row)


def _fold(t: Elem, var: str, folds: tuple[str, ...]) -> str | None:
    return t.field if isinstance(t, Proj) and t.of == Var(var) and t.field in folds else None


def _is_answer(t: Elem, var: str, g: Group, row: Record) -> bool:
    if not isinstance(t, Call) or free_vars(t) != {var} or any(isinstance(n, Tuple) for n in nodes(t)):
        return False
    looked_up = g.keys is not None and t.fn in ("eq", "same")
    only_folds = _reads(t, var) <= {f.name for f in g.folds}
    return only_folds and not looked_up and is_total(t, {var: row})


def _reads(t: Elem, var: str) -> frozenset[str]:
    """The fields of ``var`` that are read."""
    return frozenset(n.field for n in nodes(t) if isinstance(n, Proj) and n.of == Var(var))


def _over_folds(t: Elem, var: str) -> Elem:
    return Var(FOLDED) if t == Var(var) else rebuild_elem(t, lambda a: _over_folds(a, var))
