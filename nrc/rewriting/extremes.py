"""What is asked of the greatest of some rows is asked of the rows, where what it is compared with moves by itself.

    for s in φ_α(x ∈ e; f: max(t)) union C[for _ in p(s.f ≥ c) union e′]
        ⟶  for s in φ_α(x ∈ e; f: max(t)) union C[for n in some union for _ in p(n.some) union e′]
    … p(s.f < c) …  ⟶  … for _ in p(s.f is not NULL) union for n in some union for _ in p(not n.some) union e′ …
    … s.f ≥ c, as a value …  ⟶  … for n in some union … if s.f is NULL then NULL else n.some …

    some = φ_β(x ∈ (for x in e where t ≥ c union sng⟨⟩); some: any())

where c reads a row that constants alone tell, as a clock is: ``max(e.at for e in E if e.user == u.id) >= k.at``. First
rows would be kept for it, and in an order; of rows those are read that lie between its old value and its new one. So it
is with ``min``, with what lies between, ``k.at - max(...) <= WEEK``, and with values. c may be NULL where it is a
condition that some row fulfils it. s is left out where nothing else reads it.

Law: ⟦asked e⟧ = ⟦e⟧ where ⟦e⟧ has a value.
"""

from collections.abc import Sequence

from attrs import frozen

from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED, compared, operands, uncast
from ripplenest.nrc.rewriting.gaps import as_difference
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import conjuncts, is_sure, where
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Expr,
    Fold,
    For,
    Group,
    Let,
    Lit,
    Pred,
    Proj,
    Sng,
    Term,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, Record, Type, may_be_null, nullable
from ripplenest.nrc.walk import Names, at_sites, free_names, free_vars, nodes, rebuild_elem

SOME_ROW, MAYBE = Fold("some", "any", (), BOOL), Base("bool", True)
Asked = tuple[str, Group]  # the one row of a group, by the name of its variable


def asked(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not keys or not any(_extreme(n) for n in nodes(e)):
        return e

    return passed(e, lambda apart: _Asking(*free_names(apart)).inside(apart, Around(keys)))


def _extreme(e: Term) -> Fold | None:
    """The fold of ``e``, if it is one row with the greatest or least of some."""
    match e:
        case Group(_, _, _, None, (Fold(_, "max" | "min") as fold,)):
            return fold
    return None


@frozen
class _Asking:
    """Names of ``variables`` and ``sites`` that there are not yet."""

    variables: Names
    sites: Names

    def inside(self, e: Expr, around: Around) -> Expr:
        match e:
            case For() if (asked := self._fold(e, around)) is not e:
                return self.inside(asked, around)
            case _:
                return rebuilt(e, around, self.inside)

    def _fold(self, e: For, around: Around) -> Expr:
        """``e`` with what its rows are asked, if it folds the greatest or least of some."""
        match e.source, _extreme(e.source):
            case Group() as g, Fold(name, fn, (t,)):
                answer = Proj(Var(e.var), name)
                below = _Extreme(answer, fn, t, g, around, self.variables, self.sites).body(e.body)
                return e if below is e.body else For(e.var, g, below) if e.var in free_vars(below) else below
        return e


@frozen
class _Extreme:
    """``answer``, which is the greatest or least ``value`` of the rows of ``group``."""

    answer: Elem
    fn: str
    value: Elem
    group: Group
    around: Around
    variables: Names
    sites: Names

    def body(self, e: Expr) -> Expr:
        """``e``, whose conditions and heads are asked for the answer."""
        match e:
            case For(var, Pred(cond), body) if var not in free_vars(body):
                below, parts = self.body(body), [(c, self._condition(c)) for c in conjuncts(cond)]
                if all(len(found) == 1 and found[0] is c for c, found in parts):
                    return e if below is body else For(var, e.source, below)
                for _, found in reversed(parts):
                    below = self._below(found, below)
                return below
            case For(var, source, body) if not isinstance(source, Pred):
                below = self.body(body)
                return e if below is body else For(var, source, below)
            case Let(name, bound, body):
                below = self.body(body)
                return e if below is body else Let(name, bound, below)
            case Sng(head):
                changed, some = self._values(head)
                return e if changed is head else self._below(some, Sng(changed))
            case _:
                return e

    def _below(self, found: Sequence[Elem | Asked], e: Expr) -> Expr:
        """``e`` below conditions and what is asked of rows."""
        for one in reversed(found):
            e = For(*one, e) if isinstance(one, tuple) else For("_", Pred(one), e)
        return e

    def _condition(self, cond: Elem) -> Sequence[Elem | Asked]:
        """What is asked in place of ``cond``, which is one of those of all rows."""
        asked = self._asked(cond)
        if asked is None or not (asked[1] or self._never_null(cond)):
            changed, some = self._values(cond)
            return (*some, changed)
        row, is_some = asked
        n, found = self._some(row)
        there = Call("not", (Call("is_null", (self.answer,)),))
        return (n, found) if is_some else (there, n, Call("not", (found,)))

    def _values(self, t: Elem) -> tuple[Elem, list[Asked]]:
        """``t`` with what is asked of rows as values of it, if that has a value also where nobody asks for ``t``."""
        some: list[Asked] = []

        def value(t: Elem) -> Elem:
            compared = as_difference(t)
            asked = self._asked(compared)
            if asked is None or not (is_sure(compared) and self._never_null(t)):
                return rebuild_elem(t, value)
            row, is_some = asked
            n, found = self._some(row)
            some.append(n)
            told = found if is_some else Call("not", (found,))
            return Call("if", (Call("is_null", (self.answer,)), Lit(None, MAYBE), told))

        return value(t), some

    def _asked(self, cond: Elem) -> tuple[Elem, bool] | None:
        """What is asked of each row, and whether some row is to fulfil it, or none; None of what does not compare the
        answer with what moves, or can fail for a row."""
        match cond:
            case Call(fn, args) if fn in SWAPPED and self._moves(cond):
                upper = [u for own, _, u, _ in compared([cond]) if own == self.answer]
                if upper and any(self.answer in map(uncast, operands(a)) for a in args):
                    is_some = upper[0] is (self.fn == "min")
                    return self._of_row(cond if is_some else Call(OPPOSITE[fn], args)), is_some
        return None

    def _of_row(self, t: Elem) -> Elem:
        return self.value if t == self.answer else rebuild_elem(t, self._of_row)

    def _moves(self, cond: Elem) -> bool:
        """Whether all but the answer that ``cond`` reads is of stored rows, of which constants alone tell one."""
        told, free = self.around.told(frozenset()), free_vars(cond) - free_vars(self.answer)
        return free <= self.around.rows.keys() and not free.isdisjoint(told)

    def _never_null(self, cond: Elem) -> bool:
        """Whether it has a value wherever there is an answer."""
        types: dict[str, Type] = {x: row.type for x, row in self.around.rows.items()}
        (s,), fold = free_vars(self.answer), self.group.folds[0]
        return not may_be_null(elem_type(cond, {**types, s: Record(((fold.name, nullable(fold.type, False)),))}))

    def _some(self, cond: Elem) -> tuple[tuple[str, Group], Elem]:
        """What says whether some row fulfils ``cond``, and where it says so."""
        g, n = self.group, self.variables.fresh("some")
        rows = at_sites(For(g.var, g.of, where([cond], Sng(Tuple(())))), self.sites.fresh)
        return (n, Group(self.sites.fresh(g.site), "_", rows, None, (SOME_ROW,))), Proj(Var(n), SOME_ROW.name)
