"""The first of the rows that are not a certain one are among the first of all.

    τ_α(n; x ∈ (for b in R where c and b.k ≠ v union sng(t)); o)
        ⟶  τ_α(n; x ∈ (for y in τ_β(n + 1; x ∈ (for b in R where c union sng(⟨row: t, key: b.k⟩)); o(x.row))
                        where y.key ≠ v union sng(y.row)); o)
    φ_α(x ∈ …; f: max(t))  ⟶  φ_α(x ∈ (for y in τ_β(2; …; t desc) where y.key ≠ v union sng(y.row)); f: max(x))
    φ_α(x ∈ …; f: any(t))  ⟶  φ_α(x ∈ (for y in τ_β(2; … where c and t …; key) where y.key ≠ v union …); f: any())

where k is the key of R, so that one row at most has the value v (of m such values there are m, and n + m is asked for).
v is of rows around it, of which several have the same c: ``rn.top(3, [b for b in P if b.kind == a.kind and b.id !=
a.id], key=...)``, the most alike of the others. Rows would be kept in order for each row around them, |R|²/groups of
them, and all those of its group read when a row comes; now those of a group are kept once, and what lies behind its
first n + 1 concerns nobody. So it is with ``min``.

Law: ⟦others e⟧ = ⟦e⟧.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from ripplenest.nrc.bags import MAX_MULTIPLICITY
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import conjuncts, is_total, where
from ripplenest.nrc.rewriting.sharing import are_one, equated, rows_of
from ripplenest.nrc.rewriting.simplify import simplify_elem
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Expr,
    Fold,
    For,
    Group,
    Order,
    Proj,
    Rel,
    Sng,
    Term,
    Top,
    Tuple,
    Var,
)
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import Names, free_names, free_vars, nodes, replace_elem

ROW, KEY = "row", "key"


def others(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not keys or not any(_is_of_first(n) for n in nodes(e)):
        return e

    return passed(e, lambda apart: _Others(*free_names(apart)).inside(apart, Around(keys)))


def _is_of_first(e: Term) -> bool:
    match e:
        case Top() | Group(_, _, _, None, (Fold(_, "max" | "min" | "any"),)):
            return True
    return False


@frozen
class _Others:
    """Names of ``variables`` and ``sites`` that there are not yet."""

    variables: Names
    sites: Names

    def inside(self, e: Expr, around: Around) -> Expr:
        match e:
            case Top(_, var, of, order):
                if (rows := _rows(of, around)) is not None and rows.are_ordered([o.by for o in order], var):
                    e = evolve(e, of=self._among(e, rows))
            case Group(_, var, of, None, (Fold(_, "max" | "min" as fn, (t,)) as fold,)):
                if (rows := _rows(of, around)) is not None and rows.are_ordered([t], var):
                    values = evolve(rows, head=replace_elem(t, {var: rows.head}))
                    first = Top(e.site, var, of, (Order(Var(var), descending=fn == "max"),), 1)
                    e = evolve(e, of=self._among(first, values), folds=(evolve(fold, args=(Var(var),)),))
            case Group(_, var, of, None, (Fold(_, "any", args) as fold,)):
                if (rows := _rows(of, around, var, args)) is not None:
                    first = Top(e.site, var, of, (Order(Var(var)),), 1)
                    e = evolve(e, of=self._among(first, rows), folds=(evolve(fold, args=()),))
        return rebuilt(e, around, self.inside)

    def _among(self, t: Top, rows: "_Rows") -> Expr:
        """Of the first rows of all, with one more, those that are not the one."""
        x, y = self.variables.fresh(t.var), self.variables.fresh(t.var)
        order = tuple(evolve(o, by=replace_elem(o.by, {t.var: Proj(Var(x), ROW)})) for o in t.order)
        limit = min(t.limit + len(rows.others), MAX_MULTIPLICITY)  # no bag has more
        first = Top(self.sites.fresh(t.site), x, rows.every, order, limit)
        key = {rows.var: Tuple(((rows.key, Proj(Var(y), KEY)),))}
        apart = [simplify_elem(replace_elem(c, key)) for c in rows.others]
        return For(y, first, where([*apart, *rows.around], Sng(Proj(Var(y), ROW))))


@frozen
class _Rows:
    """The rows ``head`` of the rows ``var`` of a relation for which conditions of these are true, ``own``, and of what
    is ``around`` them; each of the ``others`` says that the ``key`` of one is not a certain value. All have a value by
    ``types``."""

    var: str
    key: str
    source: Rel
    head: Elem
    own: Sequence[Elem]
    around: Sequence[Elem]
    others: Sequence[Elem]
    types: Mapping[str, Type]

    @property
    def every(self) -> Expr:
        """All of them, with their keys."""
        row = Tuple(((ROW, self.head), (KEY, Proj(Var(self.var), self.key))))
        return For(self.var, self.source, where(self.own, Sng(row)))

    def are_ordered(self, by: Sequence[Elem], var: str) -> bool:
        """Whether ``by``, of a row ``var``, orders those of all rows around, and always has a value."""
        found = [replace_elem(t, {var: self.head}) for t in by]
        return all(free_vars(t) <= {self.var} and is_total(t, self.types) for t in found)


def _rows(e: Expr, around: Around, row: str | None = None, asked: Sequence[Elem] = ()) -> _Rows | None:
    """The rows of ``e``, if they are those of a relation but for one, and so for several of the rows around them;
    the keys of those for which is true what is ``asked`` of each as a ``row``."""
    inner, conditions, head = rows_of(e, around, frozenset())
    own = inner.rows.keys() - around.rows.keys()
    if head is None or len(own) != 1:
        return None
    (var,) = own
    of = inner.rows[var]
    if row is not None and of.key:
        more = (simplify_elem(replace_elem(t, {row: head})) for t in asked)
        conditions = [*conditions, *(c for t in more for c in conjuncts(t))]
        head = Proj(Var(var), of.key[0])
    said = [(c, _other(c, var, of.key)) for c in conditions]
    known = [(c, v) for c, v in said if v is not None and free_vars(v) <= around.rows.keys()]
    if not known or not isinstance(of.source, Rel):
        return None
    apart, values = [c for c, _ in known], [v for _, v in known]
    rest = [c for c in conditions if c not in apart]
    equal = [equated(c, own) for c in rest if free_vars(c) & own and free_vars(c) - own]
    free = frozenset().union(*map(free_vars, values))
    if any(v in equal for v in values) or are_one(equal, free, around):
        return None
    if free_vars(head) - own or not all(is_total(t, inner.types) for t in (head, *conditions)):
        return None
    mine, theirs = ([c for c in rest if bool(free_vars(c) & own) is is_own] for is_own in (True, False))
    return _Rows(var, of.key[0], of.source, head, mine, theirs, apart, inner.types)


def _other(c: Elem, var: str, key: Sequence[str]) -> Elem | None:
    """The value that the one ``key`` of the row ``var`` is not, by ``c``."""
    match c:
        case Call("ne", (a, b)):
            for own, other in ((a, b), (b, a)):
                if len(key) == 1 and own == Proj(Var(var), key[0]):
                    return other
    return None
