"""Whether some row is beyond a value is asked of the row that is furthest.

    for s in φ_α(x ∈ e; f: any(v > c)) union C[for _ in p(s.f) union e′]
        ⟶  for s in φ_α(x ∈ e; f: max(v)) union C[for _ in p(s.f > c) union e′]
    … p(not s.f) …  ⟶  … (p(s.f is NULL) ⊎ p(s.f ≤ c) ⊎ p(c is NULL ∧ s.f is not NULL)) …
    … s.f, as a value …  ⟶  … coalesce(s.f > c, false) …

where v is of rows of e, which is found by equalities or is the same for all rows, and c of the rows around it, of which
several have the same e: ``not any(b.at > a.at for b in E if b.user == a.user)``, the last event of each user. φ would
be asked for each c, and so for all rows around it whenever a row of e changes; the greatest of e is one value for all
of them, and as it moves only those become others that lie between its old value and its new one. So it is with ``min``,
with ``all`` of the opposite, and with ``count()`` that is asked whether it is 0. That b is another row than a,
``b.id != a.id``, is said by v > c if both are the same value of rows of one relation.

Law: ⟦beyond e⟧ = ⟦e⟧.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from attrs import evolve, frozen

from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import conjunction, conjuncts, is_total, where
from ripplenest.nrc.rewriting.presence import is_absence, is_presence
from ripplenest.nrc.rewriting.sharing import are_one, equated, rows_of
from ripplenest.nrc.syntax import (
    Call,
    Elem,
    Expr,
    Fold,
    For,
    Group,
    Lit,
    Plus,
    Pred,
    Proj,
    Sng,
    Term,
    Var,
)
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, may_be_null
from ripplenest.nrc.walk import Names, free_vars, nodes, rebuild, rebuild_elem, replace_elem


def beyond(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not any(_asks_for_some(n) for n in nodes(e)):
        return e

    def inside(e: Expr) -> Expr:
        return _inside(e, Around(keys), Names(frozenset(n.var for n in nodes(e) if isinstance(n, For | Group))))

    return passed(e, inside)


def _asks_for_some(e: Term) -> bool:
    match e:
        case Group(_, _, _, None, (Fold(_, "any" | "all", _) | Fold(_, "count", ()),)):
            return True
    return False


def _inside(e: Expr, around: Around, names: Names) -> Expr:
    match e:
        case For(s, Group() as g, body) if _asks_for_some(g) and (found := _furthest(g, around)) is not None:
            fold, n = g.folds[0], names.fresh(s)
            told = _Told(Proj(Var(s), fold.name), fold.fn, found.compared(Proj(Var(n), fold.name)), found.other, around)
            below = told.expr(body)
            if s not in free_vars(below):
                return _inside(For(n, found.group(g), below), around, names)
    return rebuilt(e, around, lambda c, here: _inside(c, here, names))


# ---------------------------------------------------------------- what is folded


@frozen
class _Furthest:
    """That ``value``, of ``type``, of a row is beyond ``other``, of the rows around it, as ``fn`` compares them; and
    the rows ``of`` which it is asked, as values."""

    fn: str
    value: Elem
    other: Elem
    type: Base
    of: Expr

    def compared(self, furthest: Elem) -> tuple[Call, Call]:
        """That the value which is ``furthest`` is beyond, and that it is not."""
        return Call(self.fn, (furthest, self.other)), Call(OPPOSITE[self.fn], (furthest, self.other))

    def group(self, g: Group) -> Group:
        """The furthest one, in place of ``g``."""
        fold = Fold(g.folds[0].name, "max" if self.fn in ("gt", "ge") else "min", (Var(g.var),), self.type)
        return evolve(g, of=self.of, folds=(fold,))


def _furthest(g: Group, around: Around) -> _Furthest | None:
    """What ``g`` asks rows for that are the same for several rows around them."""
    inner, conditions, head = rows_of(g.of, around, frozenset())
    own = inner.rows.keys() - around.rows.keys()
    wanted = None if head is None else _wanted(g, head, inner)
    if wanted is None or not own or not all(is_total(c, inner.types) for c in wanted):
        return None
    across = [c for c in (*conditions, *wanted) if free_vars(c) & own and free_vars(c) - own]
    compares = [c for c in across if isinstance(c, Call) and c.fn in SWAPPED]
    if len(compares) != 1 or (said := _sides(compares[0], own)) is None:
        return None
    fn, value, other = said
    dropped = [compares[0], *(c for c in across if _is_another(c, fn, value, other, inner))]
    equal = [equated(c, own) for c in across if c not in dropped]
    if not _is_shared(equal, other, around) or not all(is_total(t, inner.types) for t in (value, other)):
        return None
    kept = [c for c in wanted if c not in dropped]
    t = elem_type(value, inner.types)
    assert isinstance(t, Base)
    return _Furthest(fn, value, other, Base(t.kind, True, t.precision, t.scale), _without(g.of, dropped, kept, value))


def _wanted(g: Group, head: Elem, inner: Around) -> list[Elem] | None:
    """What has to be true of a row that ``g`` asks for."""
    match g.folds[0]:
        case Fold(_, "any" | "count", ()):
            return []
        case Fold(_, fn, (t,)):
            asked = replace_elem(t, {g.var: head})
            if fn == "any":
                return [*conjuncts(asked)]
            match asked:
                case Call("coalesce", (Call(op, args), Lit(True))) if op in SWAPPED:
                    return [Call(OPPOSITE[op], args)]
                case Call(op, args) if op in SWAPPED and not may_be_null(elem_type(asked, inner.types)):
                    return [Call(OPPOSITE[op], args)]
    return None


def _sides(c: Call, own: AbstractSet[str]) -> tuple[str, Elem, Elem] | None:
    """``c`` as a comparison of a value of ``own`` rows with one of the rows around them."""
    a, b = c.args
    for fn, value, other in ((c.fn, a, b), (SWAPPED[c.fn], b, a)):
        if free_vars(value) <= own and not free_vars(other) & own:
            return fn, value, other
    return None


def _is_shared(equal: Sequence[Elem | None], other: Elem, around: Around) -> bool:
    """Whether rows that have ``other`` values have what is ``equal``; what a clock is compared with stays with it."""
    free = free_vars(other)
    is_still = free <= around.rows.keys() and not free & around.moving
    return is_still and other not in equal and not are_one(equal, free, around)


def _is_another(c: Elem, fn: str, value: Elem, other: Elem, around: Around) -> bool:
    """Whether ``c`` says that two rows of a relation are not the same one, as they are not if one is beyond the other.
    """
    match c:
        case Call("ne", (Proj(Var(b), key), Proj(Var(a), also))) if fn in ("gt", "lt") and key == also:
            if root(value) == a:
                a, b = b, a
            one, another = around.rows.get(a), around.rows.get(b)
            is_key = one is not None and another is not None and one.source == another.source and one.key == (key,)
            return is_key and replace_elem(value, {b: Var(a)}) == other
    return False


def _without(e: Expr, dropped: Sequence[Elem], more: Sequence[Elem], value: Elem) -> Expr:
    """The ``value`` of the rows of ``e`` without conditions that are ``dropped``, and with ``more``."""
    match e:
        case For(var, Pred(cond), body):
            kept = [c for c in conjuncts(cond) if c not in dropped]
            return where(kept, _without(body, dropped, more, value))
        case For(var, source, body):
            return For(var, source, _without(body, dropped, more, value))
        case _:
            return where(more, Sng(value))


# ---------------------------------------------------------------- what is said of it


@frozen
class _Told:
    """The ``answer`` of a fold ``fn``, as what the furthest row has: ``beyond`` ``other``, or not."""

    answer: Elem
    fn: str
    said: tuple[Call, Call]
    other: Elem
    around: Around

    def expr(self, e: Expr) -> Expr:
        """``e``, whose conditions and values ask for the answer."""
        match e:
            case For(var, Pred(cond), body) if var not in free_vars(body):
                below = self.expr(body)
                for c in reversed([*conjuncts(cond)]):
                    below = For("_", self._condition(c), below)
                return below
            case _:
                return rebuild(e, self.expr, self._value, lambda d: d)

    def _condition(self, c: Elem) -> Expr:
        match self._says(c):
            case None:
                return Pred(self._value(c))
            case True:
                return Pred(self.said[0])
            case False:
                return self._none()

    def _none(self) -> Expr:
        """The greatest is not beyond, or there is none, or nothing is beyond NULL."""
        beyond, not_beyond = self.said
        is_null = Call("is_null", (beyond.args[0],))
        found: Expr = Plus(Pred(is_null), Pred(not_beyond))
        if not may_be_null(elem_type(self.other, self.around.types)):
            return found
        return Plus(found, Pred(conjunction((Call("is_null", (self.other,)), Call("not", (is_null,))))))

    def _value(self, t: Elem) -> Elem:
        some = Call("coalesce", (self.said[0], Lit(False, BOOL)))
        match self._says(t):
            case None:
                return rebuild_elem(t, self._value)
            case True:
                return some
            case False:
                return Call("not", (some,))

    def _says(self, t: Elem) -> bool | None:
        """Whether ``t`` says that some row is beyond, or that none is; None of what says something else."""
        if self.fn == "all":
            return False if t == self.answer else True if t == Call("not", (self.answer,)) else None
        if is_presence(t, self.answer, self.fn):
            return True
        return False if is_absence(t, self.answer, self.fn) else None
