"""What is asked of the first rows, and not of all of which they are the first.

    τ_α(n; x ∈ (for b in R where c and b.k ≠ v union sng(t)); o)
        ⟶  τ_α(n; x ∈ (for y in τ_β(n + 1; x ∈ (for b in R where c union sng(⟨row: t, key: b.k⟩)); o(x.row))
                        where y.key ≠ v union sng(y.row)); o)
    φ_α(x ∈ …; f: max(t))  ⟶  φ_α(x ∈ (for y in τ_β(2; …; t desc) where y.key ≠ v union sng(y.row)); f: max(x))
    φ_α(x ∈ …; f: any(t))  ⟶  φ_α(x ∈ (for y in τ_β(2; … where c and t …; key) where y.key ≠ v union …); f: any())

where k is the key of R, so that one row at most has the value v (of m such values there are m, and n + m is asked for).
v is of rows around it, of which several have the same c: ``rn.top(3, [b for b in P if b.kind == a.kind and b.id !=
a.id], key=...)``, the most alike of the others. Rows would be kept in order for each row around them, |R|²/groups of
them, and all those of its group read when a row comes; now those of a group are kept once, and what lies behind its
first n + 1 concerns nobody. So it is with ``min``, and with rows that are joined, or have totals, if b.k tells all of
those that stand beside b.

    τ_α(n; x ∈ (for b in R where c and t ≥ v union sng(t)); x desc)
        ⟶  τ_α(n; x ∈ (for y in τ_β(n; x ∈ (for b in R where c union sng(⟨row: t⟩)); x.row desc)
                        where y.row ≥ v union sng(y.row)); x desc)

A condition that holds down to some row of the order, and of none behind it, leaves out no row before others: what was
last, if it was later than ``a.at``. What begins somewhere in the order is left inside, and read there
(``delta/groups/nearest.py``): ``a.at - 1h ≤ b.at < a.at`` is about the last one before a.at. So is what says up to
where rows are the first ones, in another order: the greatest of the others so far. With both, and what is compared in
another order beside the window, the window finds few, and nothing is left out of it.

Law: ⟦others e⟧ = ⟦e⟧.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from attrs import evolve, frozen

from ripplenest.nrc.bags import MAX_MULTIPLICITY
from ripplenest.nrc.rewriting.bands import COMPARED, SWAPPED
from ripplenest.nrc.rewriting.ends import begins, has_value, put, reaches
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import conjuncts, is_total, where
from ripplenest.nrc.rewriting.sharing import are_one, bags_of, compared_with, equated, own_rows, rows_of, without
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
    Sng,
    Term,
    Top,
    Tuple,
    Var,
)
from ripplenest.nrc.types import Type
from ripplenest.nrc.walk import Names, free_names, free_vars, nodes, read_by, replace_elem

ROW, KEY = "row", "key"


def others(e: Expr, keys: Keys, unions: bool = False) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not any(_is_of_first(n) for n in nodes(e)):
        return e
    return passed(e, lambda apart: _Others(*free_names(apart)).inside(apart, Around(keys, unions=unions)))


def is_other(c: Elem, own: AbstractSet[str], inner: Around) -> bool:
    """Whether ``c`` says of one of the rows that are ``own`` that it is not the one with a certain key."""
    return any(_other(c, var, inner.rows[var].key) is not None for var in inner.rows.keys() & own)


def are_first_of_all(g: Group, around: Around) -> bool:
    """Whether what the first row is that ``g`` folds is asked of the first rows of all."""
    return _Others(Names(frozenset()), Names(frozenset())).of_first(g, around) is not g


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
        return rebuilt(self.of_first(e, around), around, self.inside)

    def of_first(self, e: Expr, around: Around) -> Expr:
        """``e`` of the first rows of all; itself where it is of no first rows, or not of these."""
        match e:
            case Top(_, var, of, order):
                if (rows := _rows(of, around, var, order)) is not None and rows.are_ordered(order, var):
                    return evolve(e, of=self._among(e, rows))
            case Group(_, var, of, None, (Fold(_, "max" | "min" as fn, (t,)) as fold,)):
                order = (Order(t, descending=fn == "max"),)
                if (rows := _rows(of, around, var, order)) is not None and rows.are_ordered(order, var):
                    values = evolve(rows, head=replace_elem(t, {var: rows.head}))
                    first = Top(e.site, var, of, (evolve(order[0], by=Var(var)),), 1)
                    return evolve(e, of=self._among(first, values), folds=(evolve(fold, args=(Var(var),)),))
            case Group(_, var, of, None, (Fold(_, "any", args) as fold,)):
                if (rows := _rows(of, around, var, asked=args)) is not None:
                    first = Top(e.site, var, of, (Order(Var(var)),), 1)
                    return evolve(e, of=self._among(first, rows), folds=(evolve(fold, args=()),))
        return e

    def _among(self, t: Top, rows: "_Rows") -> Expr:
        """Of the first rows of all, with one more for each of the others, those of which the conditions are true."""
        x, y = self.variables.fresh(t.var), self.variables.fresh(t.var)
        order = tuple(evolve(o, by=replace_elem(o.by, {t.var: Proj(Var(x), ROW)})) for o in t.order)
        limit = min(t.limit + len(rows.others), MAX_MULTIPLICITY)  # no bag has more
        first = Top(self.sites.fresh(t.site), x, rows.every, order, limit)
        key = {rows.var: Tuple(tuple((name, Proj(Var(y), KEY)) for name in rows.key))}
        apart = [simplify_elem(replace_elem(c, key)) for c in rows.others]
        if rows.reached:
            by = replace_elem(t.order[0].by, {t.var: Proj(Var(y), ROW)})
            apart += [simplify_elem(put(c, rows.by, by)) for c in rows.reached]
        return For(y, first, where([*apart, *rows.around], Sng(Proj(Var(y), ROW))))


@frozen
class _Rows:
    """The rows ``head`` of those ``own`` that ``of`` is made of, for which ``mine`` is true, and what is ``around``
    them. Each of the ``others`` says that the ``key`` of the row ``var``, which tells all of them, is not a certain
    value, and each of those that are ``reached`` that what orders them first, ``by``, has not come as far as one. All
    have a value by ``types``; ``of`` itself has said what was ``said``.
    """

    of: Expr
    own: AbstractSet[str]
    var: str
    key: tuple[str, ...]
    head: Elem
    said: Sequence[Elem]
    mine: Sequence[Elem]
    around: Sequence[Elem]
    others: Sequence[Elem]
    reached: Sequence[Elem]
    by: Elem
    types: Mapping[str, Type]

    @property
    def every(self) -> Expr:
        """All of them, with their keys, if these are asked for."""
        key = [(KEY, Proj(Var(self.var), name)) for name in self.key]
        there = has_value(self.by, self.types) if self.reached else ()
        return without(self.of, self.said, [*self.mine, *there], Tuple(((ROW, self.head), *key)))

    def are_ordered(self, order: Sequence[Order], var: str) -> bool:
        """Whether ``order``, of a row ``var``, is one of those of all rows around, and always has a value."""
        found = [replace_elem(o.by, {var: self.head}) for o in order]
        return all(free_vars(t) <= self.own and is_total(t, self.types) for t in found)


def _rows(
    e: Expr, around: Around, row: str, order: Sequence[Order] = (), asked: Sequence[Elem] = ()
) -> _Rows | None:
    """The rows of ``e``, as a ``row`` in this ``order``, if they are stored ones but for some that only their
    conditions leave out, and so for several of the rows around them; those for which is true what is ``asked``."""
    inner, every, head = rows_of(e, around, frozenset(), totals=True)
    own = own_rows(inner, around)
    if head is None or not own or not all(_is_known(c, inner) for c in every):
        return None
    more = [c for t in asked for c in conjuncts(simplify_elem(replace_elem(t, {row: head})))]
    conditions = [*every, *more]
    var = _main(conditions, own, inner)
    of = None if var is None else inner.rows[var]
    if not order:
        if var is None or of is None or not of.key:
            return None
        head = Proj(Var(var), of.key[0])
    by = [simplify_elem(replace_elem(o.by, {row: head})) for o in order[:1]]
    said = [(c, _other(c, var, of.key)) for c in conditions if var is not None and of is not None]
    known = [(c, v) for c, v in said if v is not None and free_vars(v) <= around.rows.keys()]
    reached = [c for c in conditions for t in by if reaches(c, t, order[0].descending, own)]
    if not (known or reached):
        return None
    apart, values = [c for c, _ in known], [v for _, v in known]
    rest = [c for c in conditions if c not in apart and c not in reached]
    begun = [c for c in rest for t in by if begins(c, t, order[0].descending, own, inner.types)]
    edges = [c for c in rest if by and (c in begun or _is_edge(c, own))]
    if reached and begun and len(edges) > len(begun):
        return None
    across = [c for c in rest if free_vars(c) & own and free_vars(c) - own and c not in edges]
    equal = [*bags_of(own, inner), *(equated(c, own) for c in across)]
    free = read_by([*values, *reached, *edges]) - own
    if any(v in equal for v in values) or are_one(equal, free, around):
        return None
    if free_vars(head) - own or not all(is_total(t, inner.types) for t in (head, *conditions)):
        return None
    mine, theirs = ([c for c in rest if bool(free_vars(c) & own) is is_own] for is_own in (True, False))
    key = of.key[:1] if apart and of is not None else ()
    by_first = by[0] if by else head
    return _Rows(e, own, var or "", key, head, every, mine, theirs, apart, reached, by_first, inner.types)


def _main(conditions: Sequence[Elem], own: AbstractSet[str], inner: Around) -> str | None:
    """The row of which is said that it is another one, if its key tells all rows that are joined with it, beside what
    all have that are equated with the same."""
    among = evolve(inner, true=(*inner.true, *conditions))
    sides = (c.args for c in conditions if isinstance(c, Call) and c.fn in ("eq", "same"))
    equal = {a for pair in sides for a, b in (pair, pair[::-1]) if free_vars(a) <= own and not free_vars(b) & own}
    for var in inner.rows:
        key = inner.rows[var].key
        if var in own and any(_other(c, var, key) is not None for c in conditions):
            joined = own & inner.rows.keys() - {var}
            if not joined or joined <= among.told({Proj(Var(var), key[0]), *equal, *bags_of(own, inner)}).keys():
                return var
    return None


def _is_edge(c: Elem, own: AbstractSet[str]) -> bool:
    """Whether it says up to where rows are first, in the order of what is compared."""
    sides = compared_with(c, own) if isinstance(c, Call) and c.fn in SWAPPED else None
    return sides is not None and bool(free_vars(sides[1])) and bool(free_vars(sides[2]))


def _is_known(c: Elem, around: Around) -> bool:
    """Whether the types of what it computes are known: it reads stored rows alone, or compares values as they are."""
    compares = (*COMPARED, "and", "or", "not", "is_null")
    return free_vars(c) <= around.types.keys() or all(n.fn in compares for n in nodes(c) if isinstance(n, Call))


def _other(c: Elem, var: str, key: Sequence[str]) -> Elem | None:
    """The value that the one ``key`` of the row ``var`` is not, by ``c``."""
    match c:
        case Call("ne", (a, b)):
            for own, other in ((a, b), (b, a)):
                if len(key) == 1 and own == Proj(Var(var), key[0]):
                    return other
    return None
