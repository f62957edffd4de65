"""What is asked of the greatest of some rows is asked of the rows, where what it is compared with moves by itself.

    for s in φ_α(x ∈ e; f: max(t)) union C[for _ in p(s.f ≥ c) union e′]
        ⟶  for s in φ_α(x ∈ e; f: max(t)) union C[for n in some union for _ in p(n.some) union e′]
    … p(s.f < c) …  ⟶  … for _ in p(s.f is not NULL) union for n in some union for _ in p(not n.some) union e′ …

    some = φ_β(x ∈ (for x in e where t ≥ c union sng⟨⟩); some: any())

where c reads a row that constants alone tell, as a clock is: ``max(e.at for e in E if e.user == u.id) >= k.at``; in the
second case c is never NULL. Totals stand in no order, so all of them would be compared again whenever the clock moves.
Rows do, and those are read that lie between its old value and its new one. So it is with ``min``. s is left out where
nothing else reads it.

Law: ⟦asked e⟧ = ⟦e⟧ where ⟦e⟧ has a value.
"""

from collections.abc import Iterator

from attrs import frozen

from ripplenest.nrc.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.keyed import Around, Keys
from ripplenest.nrc.normal import conjuncts, where
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Expr,
    Fold,
    For,
    Group,
    Let,
    Pred,
    Proj,
    Sng,
    SngBag,
    Term,
    Top,
    Tuple,
    Var,
)
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, may_be_null
from ripplenest.nrc.walk import Names, at_sites, free_vars, nodes, rebuild, unique_binders

SOME = {"max": ("ge", "gt"), "min": ("le", "lt")}
"""Of an extreme, the comparisons that it fulfils if some row does."""

SOME_ROW = Fold("some", "any", (), BOOL)


def asked(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not keys or not any(_extreme(n) for n in nodes(e)):
        return e
    apart = unique_binders(e)
    variables = Names(frozenset(n.var for n in nodes(apart) if isinstance(n, For | Group | Top)))
    sites = Names(frozenset(n.site for n in nodes(apart) if isinstance(n, Group | SngBag | Top)))
    found = _Asking(variables, sites).inside(apart, Around(keys))
    return e if found is apart else unique_binders(found)


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
            case For(var, source, body):
                asked = self._fold(e, around)
                if asked is not e:
                    return self.inside(asked, around)
                inner, below = self.inside(source, around), self.inside(body, around.below(var, source))
                return e if inner is source and below is body else For(var, inner, below)
            case Let(name, bound, body):
                inner, below = self.inside(bound, around), self.inside(body, around.below_let(name, bound))
                return e if inner is bound and below is body else Let(name, inner, below)
            case _:
                return rebuild(e, lambda c: self.inside(c, around), lambda t: t, lambda d: d)

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
        """``e``, whose conditions are asked for the answer."""
        match e:
            case For(var, Pred(cond), body) if var not in free_vars(body):
                parts = [(c, self._condition(c)) for c in conjuncts(cond)]
                below = self.body(body)
                if all(found is None for _, found in parts):
                    return e if below is body else For(var, e.source, below)
                for c, found in reversed(parts):
                    below = where([c], below) if found is None else self._some(*found, below)
                return below
            case For(var, source, body):
                below = self.body(body)
                return e if below is body else For(var, source, below)
            case Let(name, bound, body):
                below = self.body(body)
                return e if below is body else Let(name, bound, below)
            case _:
                return e

    def _condition(self, cond: Elem) -> tuple[Elem, bool] | None:
        """What is asked of each row, and whether some row is to fulfil it, or none."""
        for fn, c in self._compared(cond):
            if self._moves(c):
                if fn in SOME[self.fn]:
                    return Call(fn, (self.value, c)), True
                return None if self._may_be_null(c) else (Call(OPPOSITE[fn], (self.value, c)), False)
        return None

    def _compared(self, cond: Elem) -> Iterator[tuple[str, Elem]]:
        match cond:
            case Call(fn, (a, b)) if fn in SWAPPED:
                yield from ((f, other) for f, own, other in ((fn, a, b), (SWAPPED[fn], b, a)) if own == self.answer)

    def _moves(self, c: Elem) -> bool:
        """Whether ``c`` reads stored rows, of which constants alone tell one that the fold does not depend on."""
        told, free = self.around.told(frozenset()), free_vars(c)
        return free <= self.around.rows.keys() and not free.isdisjoint(told)

    def _may_be_null(self, c: Elem) -> bool:
        return may_be_null(elem_type(c, {x: row.type for x, row in self.around.rows.items()}))

    def _some(self, cond: Elem, is_some: bool, body: Expr) -> Expr:
        """What is asked of the rows, and of the answer what is left: that there is one."""
        g, n = self.group, self.variables.fresh("some")
        rows = For(g.var, g.of, where([cond], Sng(Tuple(()))))
        some = Group(self.sites.fresh(g.site), "_", at_sites(rows, self.sites.fresh), None, (SOME_ROW,))
        found = Proj(Var(n), SOME_ROW.name)
        if is_some:
            return For(n, some, where([found], body))
        there = Call("not", (Call("is_null", (self.answer,)),))
        return where([there], For(n, some, where([Call("not", (found,))], body)))
