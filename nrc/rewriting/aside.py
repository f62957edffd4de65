"""Rows that a clock finds between two of their values are set aside before something of them is computed that can fail.

    for x in e … for _ in p(a ≤ c ∧ c < b) union t
        ⟶  for g in γ_α(v ∈ (for x in e … for _ in p(a ≤ c ∧ c < b) union sng⟨x̄⟩); v; n: count()) union
              for _ in w(g.n) union t[x̄ := g.v]

where t can fail, as ``s.seats * p.quota`` does where it is too great, and x̄ are the columns that it reads. What is
valid is told by what has begun and what has ended (``valid.py``), also of rows that are not; so nothing of these may
fail, and of all rows on one side of the clock it would be asked again whenever the clock moves.

Law: ⟦aside e⟧ = ⟦e⟧, and one has a value where the other has.
"""

from collections.abc import Sequence
from functools import reduce

from ripplenest.nrc.paths import map_columns
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed
from ripplenest.nrc.rewriting.normal import asked, is_sure, where
from ripplenest.nrc.rewriting.presence import Fresh
from ripplenest.nrc.rewriting.valid import between
from ripplenest.nrc.syntax import Elem, Expr, Fold, For, Group, Pred, Proj, Sng, Tuple, Var, Weigh
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import LONG, Base
from ripplenest.nrc.walk import free_lets, free_names, free_vars, rebuild

ROW, TIMES = "v", "n"
Step = tuple[str, Expr] | Elem  # a generator, or a condition


def aside(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not keys or is_sure(e):
        return e
    return passed(e, lambda e: _inside(e, keys, Fresh(*free_names(e))))


def _inside(e: Expr, keys: Keys, fresh: Fresh) -> Expr:
    if isinstance(e, For) and not free_vars(e) and not free_lets(e):
        found = _set_aside(e, Around(keys), [], fresh)
        if found is not None:
            return found
    return rebuild(e, lambda c: _inside(c, keys, fresh), lambda t: t, lambda d: d)


def _set_aside(e: Expr, around: Around, before: Sequence[Step], fresh: Fresh) -> Expr | None:
    """``e`` behind the steps ``before`` it, around which nothing else is; None where nothing of it is valid."""
    match e:
        case For(x, Pred(), body) if x not in free_vars(body):  # else nothing is ``asked`` before the rest
            conditions, rest = asked(e)
            here = reduce(lambda known, c: known.below("_", Pred(c)), conditions, around)
            every = [*before, *conditions]
            if (found := between(conditions, here)) is not None and all(map(is_sure, found[1])) and not is_sure(rest):
                return _behind(every, rest, here, fresh)
            return _set_aside(rest, here, every, fresh)
        case For(var, source, body):
            return _set_aside(body, around.below(var, source), [*before, (var, source)], fresh)
    return None


def _behind(steps: Sequence[Step], e: Expr, around: Around, fresh: Fresh) -> Expr | None:
    """``e`` behind the rows of ``steps``; None where it reads the clock, or more than columns of rows and totals."""
    own = frozenset(step[0] for step in steps if isinstance(step, tuple))
    read = free_vars(e) & own
    if read & around.told(frozenset()).keys() or not read <= around.types.keys():
        return None
    g, columns = fresh.variables.fresh("g"), dict[Elem, Elem]()
    below = _put(e, read, around, columns, g)
    types = [elem_type(t, around.types) for t in columns]
    if not columns or not all(isinstance(t, Base) for t in types):
        return None
    x, row = fresh.variables.fresh("v"), Tuple(tuple((f"c{i}", t) for i, t in enumerate(columns)))
    count = (Fold(TIMES, "count", (), LONG),)
    rows = Group(fresh.sites.fresh("valid"), x, _rows(steps, Sng(row)), ((ROW, Var(x)),), count)
    return For(g, rows, For("_", Weigh(Proj(Var(g), TIMES)), below))


def _put(e: Expr, read: frozenset[str], around: Around, columns: dict[Elem, Elem], g: str) -> Expr:
    """``e`` with the columns of the row ``g`` for those of the variables that are ``read``, which are noted."""

    def column(t: Elem) -> Elem:
        return columns.setdefault(t, Proj(Proj(Var(g), ROW), f"c{len(columns)}"))

    def expr(e: Expr) -> Expr:
        return rebuild(e, expr, lambda t: map_columns(t, read, around.types, column), lambda d: d)

    return expr(e)


def _rows(steps: Sequence[Step], e: Expr) -> Expr:
    for step in reversed(steps):
        e = For(*step, e) if isinstance(step, tuple) else where([step], e)
    return e
