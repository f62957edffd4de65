"""What is computed of a clock, and equated with what rows have, changes less often than the clock does.

    for k in K where k.id = 1 union C[for _ in p(f(k) = t) union e]
        ⟶  for g in γ_α(k ∈ (for k in K where k.id = 1 union sng⟨f(k)⟩); f) union C[for _ in p(g.f = t) union e]

where nothing else is read of k, the only row that constants tell: ``x.at.date() == k.now.date()``. When the clock moves
and the day stays, γ stays, and no row of the day is read.

Law: ⟦stepped e⟧ = ⟦e⟧ where no two rows of K have the same key.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from ripplenest.nrc.rewriting.keyed import Around, Keys, passed
from ripplenest.nrc.rewriting.normal import asked, conjuncts, is_sure, where
from ripplenest.nrc.rewriting.presence import Fresh
from ripplenest.nrc.syntax import Call, Elem, Expr, For, Group, Pred, Proj, Rel, Sng, Term, Tuple, Var
from ripplenest.nrc.walk import children, free_names, free_vars, nodes, rebuild, rebuild_elem

STEPS = (
    *("date_of", "year", "month", "day", "hour", "minute", "second", "tumble", "substring", "lower", "upper"),
    *("floor", "ceil", "div", "mod", "quotient"),
)


def stepped(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations whose rows have these ``keys``."""
    if not any(isinstance(n, Call) and _is_step(n) for n in nodes(e)):
        return e
    return passed(e, lambda e: _stepped(e, keys, Fresh(*free_names(e))))


def _stepped(e: Expr, keys: Keys, fresh: Fresh) -> Expr:
    inner = rebuild(e, lambda c: _stepped(c, keys, fresh), lambda t: t, lambda d: d)
    match inner:
        case For(k, Rel() as source, body):
            conditions, rest = asked(body)
            own = [c for c in conditions if free_vars(c) == {k}]
            below = where([c for c in conditions if c not in own], rest)
            around = reduce(lambda around, c: around.below("_", Pred(c)), own, Around(keys).below(k, source))
            read = [*dict.fromkeys(_read(below, k))] if k in around.told(frozenset()) else []
            if read and None not in read:
                return _by_steps(k, source, own, [t for t in read if t is not None], below, fresh)
    return inner


def _is_step(t: Call) -> bool:
    return t.fn in STEPS or t.fn.rpartition("_")[0] in STEPS


def _read(term: Term, k: str) -> Iterator[Elem | None]:
    """What is computed of k and equated with what is not of k; None for all else that ``term`` reads of it."""
    if isinstance(term, Pred):
        for condition in conjuncts(term.cond):
            yield from _equated(condition, k)
    elif isinstance(term, Elem):
        yield from (None,) if k in free_vars(term) else ()
    else:
        for c in children(term):
            yield from _read(c, k)


def _equated(condition: Elem, k: str) -> Iterator[Elem | None]:
    match condition:
        case Call("eq" | "same", (a, b)):
            for side, other in ((a, b), (b, a)):
                is_step = any(isinstance(n, Call) and _is_step(n) for n in nodes(side))
                if free_vars(side) == {k} and is_step and is_sure(side) and k not in free_vars(other):
                    yield side
                    return
    yield from (None,) if k in free_vars(condition) else ()


def _by_steps(
    k: str, source: Rel, own: Sequence[Elem], read: Sequence[Elem], below: Expr, fresh: Fresh
) -> Expr:
    """``below`` of a group of what is ``read`` of the row k of ``source`` that has its ``own`` conditions."""
    g, x = fresh.variables.fresh(k), fresh.variables.fresh("x")
    columns = {t: f"c{i}" for i, t in enumerate(read)}
    row = Tuple(tuple((c, t) for t, c in columns.items()))
    by = tuple((c, Proj(Var(x), c)) for c in columns.values())
    steps = Group(fresh.sites.fresh("steps"), x, For(k, source, where(own, Sng(row))), by, ())
    return For(g, steps, _put(below, {t: Proj(Var(g), c) for t, c in columns.items()}))


def _put(e: Expr, columns: Mapping[Elem, Elem]) -> Expr:
    def elem(t: Elem) -> Elem:
        return columns[t] if t in columns else rebuild_elem(t, elem)

    return rebuild(e, lambda c: _put(c, columns), elem, lambda d: d)
