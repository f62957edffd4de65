"""What a total answers of nothing is asked apart where it is compared with a value that moves by itself.

    for s in φ_α(x ∈ e; f: count()) union C[for _ in p(c[s.f]) union e′]
        ⟶  … for _ in (p(s.f ≠ 0 ∧ c[s.f]) ⊎ p(s.f = 0 ∧ c[0])) union e′
    … p(c[coalesce(s.f, t)]) …  ⟶  … for _ in (p(s.f is not NULL ∧ c[s.f]) ⊎ p(s.f is NULL ∧ c[t])) union e′

where c compares what s answers for a row with a total that is one value for all rows, or with a row that constants
alone tell: ``len(c.orders) > rn.avg(…)``. Totals of nothing are not stored (``Total``, in ``nrc/syntax.py``), so they
are in no order: as long as they may take part, all places are asked whenever the value moves. Of the first summand only
stored ones do, and those are found between the old value and the new one; the second one reads places when the value
passes what nothing answers, as then c is another answer for all of these.

Law: ⟦apart e⟧ = ⟦e⟧ where ⟦e⟧ has a value.
"""

from collections.abc import Iterator, Sequence
from functools import reduce

from attrs import frozen

from ripplenest.nrc.functions import folds
from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.bands import SWAPPED, sides, uncast
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import asked, conjunction, folded, is_sure, not_true, where
from ripplenest.nrc.syntax import Call, Elem, Expr, For, Lit, Plus, Pred, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import may_be_null
from ripplenest.nrc.walk import free_vars, nodes, replace_part

MOST = 2  # totals of one row that are told apart: each makes twice as many products


@frozen
class Nothing:
    """That ``total`` answers ``value`` of nothing; NULL, and ``value`` is what ``shown`` has instead."""

    total: Elem
    shown: Elem
    value: Lit

    @property
    def said(self) -> tuple[Elem, Elem]:
        """That it does, and that it does not."""
        if self.shown == self.total:
            return Call("eq", (self.total, self.value)), Call("ne", (self.total, self.value))
        is_null = Call("is_null", (self.total,))
        return is_null, Call("not", (is_null,))


def apart(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not any(isinstance(n, Call) and n.fn in SWAPPED for n in nodes(e)):
        return e
    return passed(e, lambda e: _inside(e, Around(keys)))


def _inside(e: Expr, around: Around) -> Expr:
    match e:
        case For(var, Pred(), body) if var not in free_vars(body):  # else nothing is ``asked`` before the rest
            conditions, rest = asked(e)
            here = reduce(lambda known, c: known.below("_", Pred(c)), conditions, around)
            found = [n for n in dict.fromkeys(_compared(conditions, here)) if _may_be(n, here)]
            below = _inside(rest, here)
            if 0 < len(found) <= MOST:
                return _told_apart(found, conditions, below)
            return e if below is rest else where(conditions, below)
    return rebuilt(e, around, _inside)


def _told_apart(found: Sequence[Nothing], conditions: Sequence[Elem], body: Expr) -> Expr:
    for n in found:
        own = [c for c in conditions if n.total in nodes(c)]
        here, there = n.said
        stored = conjunction([there, *(replace_part(c, n.shown, n.total) for c in own)])
        absent = conjunction([here, *(folded(replace_part(c, n.shown, n.value)) for c in own)])
        body = For("_", Plus(Pred(stored), Pred(absent)), body)
        conditions = [c for c in conditions if c not in own]
    return where(conditions, body)


def _compared(conditions: Sequence[Elem], around: Around) -> Iterator[Nothing]:
    """The totals of rows that are compared with what moves by itself."""
    for own, other in (pair for c in conditions if is_sure(c) for pair in sides(c)):
        if free_vars(other) and free_vars(other) <= around.moving and (n := answered(own, around)):
            yield n


def _may_be(n: Nothing, around: Around) -> bool:
    """Whether something may be true of nothing: all that is asked of the total."""
    return not any(not_true(replace_part(c, n.shown, n.value)) for c in around.true if n.total in nodes(c))


def answered(t: Elem, around: Around) -> Nothing | None:
    """The total of a row that ``t`` is, as a number of whatever type, and what it is of nothing unless that is NULL."""
    shown = uncast(t)
    match shown:
        case Call("coalesce", (a, Lit(value) as instead)) if value is not None:
            total = uncast(a)
            is_null = root(total) in around.totals and may_be_null(elem_type(total, around.answers))
            return Nothing(total, shown, instead) if is_null and total == a else None
        case Proj(Var(x), name) if x in around.totals:
            (fold,) = (f for f in around.totals[x].folds if f.name == name)
            value = folds.answer(fold.fn, (), fold.type)
            return None if value is None else Nothing(shown, shown, Lit(value, fold.type))
    return None
