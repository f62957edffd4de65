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

    any(c ≤ v < d)  ⟶  max(v) of those where v < d, which is asked whether it is ≥ c

``any(a.at - 60 <= b.at < a.at for b in E if b.user == a.user)``, whether another one came shortly before: the rows
between both would be read and counted for each row around them. The furthest of those before it is the next one, which
is kept as what is behind an edge (``delta/groups/nearest.py``).

Law: ⟦beyond e⟧ = ⟦e⟧.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import product

from attrs import evolve, frozen

from ripplenest.nrc.paths import column_of, columns_read, root
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED, compared
from ripplenest.nrc.rewriting.ends import edge, put, reaches
from ripplenest.nrc.rewriting.keyed import Around, Keys, rebuilt
from ripplenest.nrc.rewriting.normal import conjunction, conjuncts, is_total
from ripplenest.nrc.rewriting.presence import asks_for_some, is_certain, is_known, says, wanted, where_asked
from ripplenest.nrc.rewriting.sharing import bags_of, compared_with, equated, is_shared, own_rows, rows_of, without
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
    Var,
)
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, Base, may_be_null, nullable
from ripplenest.nrc.walk import Names, free_vars, rebuild, rebuild_elem, replace_elem


def beyond(e: Expr, keys: Keys, unions: bool = False) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    return where_asked(e, Around(keys, unions=unions), _inside)


def _inside(e: Expr, around: Around, names: Names) -> Expr:
    match e:
        case For(s, Group() as g, body) if asks_for_some(g) and (found := _furthest(g, around)) is not None:
            fold, n = g.folds[0], names.fresh(s)
            told = _Told(Proj(Var(s), fold.name), fold.fn, Proj(Var(n), fold.name), found, around)
            below = told.expr(body)
            if s not in free_vars(below):
                return _inside(For(n, found.group(g), below), around, names)
    return rebuilt(e, around, lambda c, here: _inside(c, here, names))


# ---------------------------------------------------------------- what is folded


@frozen
class _Furthest:
    """What is ``said`` of a value of ``type``, and the rows ``of`` which it is asked, as values."""

    said: "_Said"
    type: Base
    of: Expr

    def compared(self, furthest: Elem) -> tuple[Call, Call]:
        """That the value which is ``furthest`` is beyond, and that it is not."""
        beyond = put(self.said.call, self.said.value, furthest)
        assert isinstance(beyond, Call)
        return beyond, Call(OPPOSITE[beyond.fn], beyond.args)

    def group(self, g: Group) -> Group:
        """The furthest one, in place of ``g``."""
        fold = Fold(g.folds[0].name, "max" if self.said.greatest else "min", (Var(g.var),), self.type)
        return evolve(g, of=self.of, folds=(fold,))


def _furthest(g: Group, around: Around) -> _Furthest | None:
    """What ``g`` asks rows for that are the same for several rows around them."""
    inner, conditions, head = rows_of(g.of, around, frozenset(), totals=True)
    own = own_rows(inner, around)
    asked = None if head is None else wanted(g, head, inner)
    if asked is None or not own or not all(is_certain(c, inner) for c in asked):
        return None
    across = [c for c in (*conditions, *asked) if free_vars(c) & own and free_vars(c) - own]
    compares = [c for c in across if isinstance(c, Call) and c.fn in SWAPPED]
    said = _of_one(compares, own) or _of_two(compares, own, inner)
    if said is None:
        return None
    dropped = [said.asked, *(c for c in across if _is_another(c, said.strict, inner))]
    equal = [*bags_of(own, inner), *(equated(c, own) for c in across if c not in (*dropped, said.behind))]
    shared = all(is_shared(equal, other, around) for other in (*said.others, *said.edges))
    if not shared or not is_total(said.call, inner.types):
        return None
    if said.behind is not None and not all(is_known(c, inner) and is_total(c, inner.types) for c in conditions):
        return None  # of what can fail there are no rows behind an edge, and all would be kept for each value
    kept = [c for c in asked if c not in dropped]
    t = elem_type(said.value, inner.types)
    assert isinstance(t, Base)
    return _Furthest(said, Base(t.kind, True, t.precision, t.scale), without(g.of, dropped, kept, said.value))


@frozen
class _Said:
    """The comparison that is ``asked`` of rows, as a ``call`` that compares their ``value`` with ``others`` of the rows
    around them. If it is true of some, it is of the ``greatest``, or of the least: of all that are ``behind`` an edge,
    which is made of ``edges``, or of all. ``strict``: how it is compared with what, if that says it is another row."""

    greatest: bool
    value: Elem
    asked: Call
    call: Call
    others: tuple[Elem, ...]
    strict: tuple[str, Elem, Elem] | None
    behind: Call | None = None
    edges: tuple[Elem, ...] = ()


def _of_one(compares: Sequence[Call], own: AbstractSet[str]) -> _Said | None:
    """Rows that are compared once."""
    if len(compares) != 1 or (sides := compared_with(compares[0], own)) is None:
        return None
    fn, value, other = sides
    call = Call(fn, (value, other))
    return _Said(fn in ("gt", "ge"), value, compares[0], call, (other,), sides)


def _of_two(compares: Sequence[Call], own: AbstractSet[str], inner: Around) -> _Said | None:
    """Those between two values: one of both is the edge, a column of the rows around them rather than another value,
    and one that rows do not lie on."""
    found = list[tuple[tuple[bool, bool], _Said]]()
    known = len(compares) == 2 and all(free_vars(c) <= inner.types.keys() for c in compares)
    for call, behind in (compares, compares[::-1]) if known else ():
        for (value, *_), greatest in product(compared([call]), (True, False)):
            at, is_open = edge(behind, value, greatest, inner.types) if free_vars(value) <= own else (None, False)
            if at is not None and _alike(at, value, inner) and reaches(call, value, greatest, own):
                others, edges = (columns_read(t, free_vars(t) - own, inner.types) for t in (call, behind))
                said = _Said(greatest, value, call, call, others, compared_with(behind, own), behind, edges)
                found.append(((column_of(at) is None, not is_open), said))
    return min(found, key=lambda of: of[0])[1] if found else None


def _alike(at: Elem, value: Elem, inner: Around) -> bool:
    """Whether an edge is one of the type of values, and always there."""
    one, other = (nullable(elem_type(t, inner.types)) for t in (at, value))
    return one == other and is_total(at, inner.types)


def _is_another(c: Elem, strict: tuple[str, Elem, Elem] | None, around: Around) -> bool:
    """Whether ``c`` says that two rows of a relation are not the same one, as they are not if one is beyond the other.
    """
    if strict is None:
        return False
    fn, value, other = strict
    match c:
        case Call("ne", (Proj(Var(b), key), Proj(Var(a), also))) if fn in ("gt", "lt") and key == also:
            if root(value) == a:
                a, b = b, a
            one, another = around.rows.get(a), around.rows.get(b)
            is_key = one is not None and another is not None and one.source == another.source and one.key == (key,)
            return is_key and replace_elem(value, {b: Var(a)}) == other
    return False


# ---------------------------------------------------------------- what is said of it


@frozen
class _Told:
    """The ``answer`` of a fold ``fn``, as what the ``value`` of the ``furthest`` row is said to be, or not."""

    answer: Elem
    fn: str
    value: Elem
    furthest: _Furthest
    around: Around

    @property
    def said(self) -> tuple[Call, Call]:
        return self.furthest.compared(self.value)

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
        match says(c, self.answer, self.fn):
            case None:
                return Pred(self._value(c))
            case True:
                return Pred(self.said[0])
            case False:
                return self._none()

    def _none(self) -> Expr:
        """The greatest is not beyond, or there is none, or nothing is beyond NULL."""
        is_null = Call("is_null", (self.value,))
        found: Expr = Plus(Pred(is_null), Pred(self.said[1]))
        said = self.furthest.said
        others = [t for t in said.others if may_be_null(elem_type(t, self.around.types))]
        if not others:
            return found
        # Of two values the others are columns, and what is made of them need not be NULL where one is.
        unknown = Call("is_null", (others[0] if said.behind is None else self.said[0],))
        return Plus(found, Pred(conjunction((unknown, Call("not", (is_null,))))))

    def _value(self, t: Elem) -> Elem:
        some = Call("coalesce", (self.said[0], Lit(False, BOOL)))
        match says(t, self.answer, self.fn):
            case None:
                return rebuild_elem(t, self._value)
            case True:
                return some
            case False:
                return Call("not", (some,))
