"""The furthest of the rows that a fold asks, where some row is asked for that is beyond a value (``beyond.py``).

    any(p ∨ q)  ⟶  any(p) ∨ any(q)          any(v ≤ c ∧ k ≠ id)  ⟶  min(v of those with k ≠ id) ≤ c

What is asked of one of several alternatives is asked of the rows of each, as ``(b.at, b.id) < (a.at, a.id)`` is: of
those at another time, and of those at the same. That a row is another one stays, if the first ones of all are taken
for that (``others.py``). Of a window the last one that lies before its end is taken, but of rows of which a condition
lets few through: where one of these comes, it is the last one for all behind it, however far beyond the window.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import product

from attrs import evolve, frozen

from ripplenest.nrc.paths import column_of, columns_read, root
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED, compared
from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.ends import edge, put, reaches
from ripplenest.nrc.rewriting.keyed import Around
from ripplenest.nrc.rewriting.normal import conjuncts, is_total
from ripplenest.nrc.rewriting.others import are_first_of_all, is_other
from ripplenest.nrc.rewriting.presence import is_certain, wanted
from ripplenest.nrc.rewriting.sharing import bags_of, compared_with, equated, is_shared, own_rows, rows_of, without
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, Group, Proj, Var
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import Base, nullable
from ripplenest.nrc.walk import free_vars, replace_elem


@frozen
class Furthest:
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


def ways(g: Group, around: Around) -> list[Furthest]:
    """What ``g`` asks rows for that are the same for several rows around them: once, or for each of the alternatives of
    a condition, if each can be asked so; else nothing."""
    inner, conditions, head = rows_of(g.of, around, frozenset(), totals=True)
    asked = None if head is None else wanted(g, head, inner)
    if asked is None or not own_rows(inner, around):
        return []
    rows = _Rows(g, inner, conditions, asked)
    every = (rows.instead(c) for c in (None, *conditions, *asked))
    found = ([r.furthest(around) for r in alternatives] for alternatives in every)
    return next(([w for w in some if w is not None] for some in found if some and None not in some), [])


@frozen
class _Rows:
    """The rows that ``g`` asks, and those ``inner`` that they are of: their ``conditions``, and what is ``asked`` of
    them, without what is ``gone``."""

    g: Group
    inner: Around
    conditions: Sequence[Elem]
    asked: Sequence[Elem]
    gone: Sequence[Elem] = ()

    def instead(self, c: Elem | None) -> list["_Rows"]:
        """The same by each of the alternatives that ``c`` has; as they are without a condition."""
        if c is None:
            return [self]
        every = [*disjuncts(c)]
        conditions, asked = ([t for t in some if t != c] for some in (self.conditions, self.asked))
        ways = ([*asked, *conjuncts(way)] for way in every)
        return [evolve(self, conditions=conditions, asked=way, gone=[c]) for way in ways] if len(every) > 1 else []

    def furthest(self, around: Around) -> Furthest | None:
        """What they are asked for, if several rows ``around`` share them."""
        inner, own = self.inner, own_rows(self.inner, around)
        if not all(is_certain(c, inner) for c in self.asked):
            return None
        across = [c for c in (*self.conditions, *self.asked) if free_vars(c) & own and free_vars(c) - own]
        compares = [c for c in across if isinstance(c, Call) and c.fn in SWAPPED]
        are_few = any(free_vars(c) <= own and not _is_there(c) for c in (*self.conditions, *self.asked))
        between = None if are_few else _of_two(compares, own, inner)
        said = _of_one(compares, own) or between or _of_columns(compares, own, inner)
        if said is None:
            return None
        dropped = [*self.gone, said.asked, *(c for c in across if _is_another(c, said.strict, inner))]
        others = [c for c in across if c not in dropped and is_other(c, own, inner)]
        equal = [*bags_of(own, inner), *(equated(c, own) for c in across if c not in (*dropped, *others, said.behind))]
        shared = all(is_shared(equal, other, around) for other in (*said.others, *said.edges))
        if not shared or not is_total(said.call, inner.types):
            return None
        if said.behind is not None and not self._never_fail():
            return None  # of what can fail there are no rows behind an edge, and all would be kept for each value
        kept = [c for c in self.asked if c not in dropped]
        t = elem_type(said.value, inner.types)
        assert isinstance(t, Base)
        of = without(self.g.of, dropped, kept, said.value)
        found = Furthest(said, Base(t.kind, True, t.precision, t.scale), of)
        return found if not others or are_first_of_all(found.group(self.g), around) else None

    def _never_fail(self) -> bool:
        return all(is_certain(c, self.inner) for c in self.conditions)


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


def _of_columns(compares: Sequence[Call], own: AbstractSet[str], inner: Around) -> _Said | None:
    """Those of which two columns are compared, each with another value: the greatest by one of them of those that are
    behind an edge by the other, as the greatest so far."""
    if len(compares) != 2 or not all(free_vars(c) <= inner.types.keys() for c in compares):
        return None
    call, behind = (compared_with(c, own) for c in compares[::-1])
    if call is None or behind is None or call[1] == behind[1] or column_of(behind[1]) is None:
        return None
    fn, value, other = call
    edges = columns_read(behind[2], free_vars(behind[2]), inner.types)
    said = Call(fn, (value, other))
    return _Said(fn in ("gt", "ge"), value, compares[1], said, (other,), call, compares[0], edges)


def _is_there(c: Elem) -> bool:
    """Whether ``c`` says that something is no NULL, which most are not."""
    return isinstance(c, Call) and c.fn == "not" and isinstance(c.args[0], Call) and c.args[0].fn == "is_null"


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
