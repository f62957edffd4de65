"""Alternatives of which a clock decides one are conditions of their own, none true where another is.

    for _ in p(a ∨ b) union e  ⟶  for _ in (p(a) ⊎ p(a is not true ∧ b)) union e
    for _ in p(coalesce(x, y) < c) union e  ⟶  for _ in (p(x is not NULL ∧ x < c) ⊎ p(x is NULL ∧ y < c)) union e
    for _ in p(x < c ∨ d < x) union e  ⟶  for _ in (p(x < c) ⊎ p(d < x)) union e        where these exclude each other
    for _ in p(if(q, x, y) < c) union e  ⟶  for _ in (p(q ∧ x < c) ⊎ p(q is not true ∧ y < c)) union e
    for _ in p(x < c ∨ d < x) union e  ⟶  for _ in (p(x < c) ⊎ p(c ≤ x ∧ d < x) ⊎ p(c is NULL ∧ d < x)) union e

where b, c and d read rows that constants alone tell, or totals that are one value for all rows, and a, q, x and y do
not: ``m.end is None or k.now < m.end``, ``(i.due or i.issued) < k.now``. Of a disjunction no order tells where rows
lie, so all of them would be read whenever the clock moves. In it b, c and d may also be of a row that others look up,
as the limits of a test (``sharing.py``); what is within two of them is within the nearer one (``valid.py``). A value is
made of its alternatives in the same way, by ``if`` (``opened``), so that it can be made in cases
(``nrc/rewriting/cases.py``).

Law: ⟦split e⟧ = ⟦chosen e⟧ = ⟦e⟧.
"""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce

from ripplenest.nrc.paths import columns_read
from ripplenest.nrc.rewriting.absent import answered
from ripplenest.nrc.rewriting.bands import SWAPPED, sides
from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.ends import put
from ripplenest.nrc.rewriting.gaps import as_difference, gap
from ripplenest.nrc.rewriting.keyed import Around, Keys, passed, rebuilt
from ripplenest.nrc.rewriting.normal import asked, conjunction, conjuncts, is_sure, where
from ripplenest.nrc.rewriting.sharing import looked_up
from ripplenest.nrc.rewriting.truths import is_possible, untrue
from ripplenest.nrc.rewriting.valid import between
from ripplenest.nrc.syntax import Call, Elem, Expr, For, Lit, Neg, Plus, Pred
from ripplenest.nrc.typecheck import elem_type
from ripplenest.nrc.types import BOOL, may_be_null
from ripplenest.nrc.walk import free_vars, nodes, rebuild_elem

WAYS = 6  # in which a row fulfils a condition: more make more products than reading the rows again costs
Choice = tuple[Elem, Elem, Elem]  # a condition, what is taken where it is true, and what is taken elsewhere
Split = Callable[[Elem, Around], Expr | None]


def chosen(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``, with conditions on one
    of two values as two conditions."""
    return _each(e, keys, _by_value) if _has(e, "coalesce", "if") else e


def split(e: Expr, keys: Keys) -> Expr:
    """The same of what a clock decides if nothing else does."""
    return _each(e, keys, _by_condition) if _has(e, "or") else e


def opened(t: Elem, around: Around) -> Elem:
    """``t`` with comparisons of one of two values as one of two comparisons, which are NULL where these are."""
    t = rebuild_elem(t, lambda part: opened(part, around))
    found = _choice(t, around) if free_vars(t) <= around.types.keys() else None
    if found is None:
        return t
    may_be = may_be_null(elem_type(t, around.types))
    return Call("if", found) if may_be else Call("coalesce", (Call("if", found), Lit(False, BOOL)))


def _has(e: Expr, *names: str) -> bool:
    return any(isinstance(n, Call) and n.fn in names for n in nodes(e))


def _each(e: Expr, keys: Keys, f: Split) -> Expr:
    return passed(e, lambda e: _inside(e, Around(keys), f)) if keys else e


def _inside(e: Expr, around: Around, f: Split) -> Expr:
    match e:
        case For(_, Pred()):
            conditions, rest = asked(e)
            here = reduce(lambda known, c: known.below("_", Pred(c)), conditions, around)
            for c in conditions:
                if (found := f(c, here)) is not None and is_sure(found):
                    others = [other for other in conditions if other is not c]
                    return _inside(where(others, For("_", found, rest)), around, f)
    return rebuilt(e, around, lambda c, below: _inside(c, below, f))


def _by_value(c: Elem, around: Around) -> Expr | None:
    found = _choice(c, around)
    if found is None:
        return None
    q, one, other = found
    return Plus(Pred(conjunction((q, one))), Pred(conjunction((_not_true(q), other))))


def _choice(c: Elem, around: Around) -> Choice | None:
    """The two comparisons that one of a choice with what moves is, or that are a choice themselves, as of sums
    (``nrc/rewriting/exact.py``)."""
    for own in _still(c, around):
        if answered(own, around) is None:  # which is told apart by itself
            for q, x, y in _values(own):
                return q, as_difference(put(c, own, x)), as_difference(put(c, own, y))
    match c:
        case Call("coalesce", (x, y)) if any(_still(y, around)) and _never_null(x, around):
            return next(((_there(own), x, y) for own in _still(x, around)), None)
        case Call("if", (q, x, y)) if not free_vars(q) & around.moving and all(any(_still(t, around)) for t in (x, y)):
            return q, x, y
    return None


def _still(c: Elem, around: Around) -> Iterator[Elem]:
    """The side of a comparison with what moves that does not."""
    for own, beside in sides(c):
        others = free_vars(beside)
        if others and others <= around.moving and not free_vars(own) & around.moving:
            yield own


def _never_null(c: Elem, around: Around) -> bool:
    """Whether what moves in ``c`` always has a value."""
    moving = columns_read(c, frozenset(around.moving), around.types)
    return not any(may_be_null(elem_type(column, around.types)) for column in moving)


def _there(t: Elem) -> Elem:
    return Call("not", (Call("is_null", (t,)),))


def _values(t: Elem) -> Iterator[Choice]:
    match t:
        case Call("coalesce", (x, y)):
            yield _there(x), x, y
        case Call("if", (q, x, y)):
            yield q, x, y


def _by_condition(c: Elem, around: Around) -> Expr | None:
    every = [*disjuncts(c)]
    moved = [d for d in every if free_vars(d) & around.moving]
    still = [d for d in every if d not in moved]
    if len(moved) == 2 and not still and _exclude_each_other(*moved):
        return Plus(*(Pred(conjunction(map(as_difference, conjuncts(d)))) for d in moved))
    if len(moved) == 1 and still:
        beside = [_not_true(a) for a in still if not _is_null_of(a, moved[0])]
        return Plus(Pred(_any(still)), Pred(conjunction((*beside, *map(as_difference, conjuncts(moved[0]))))))
    return _by_limits(every, around.moving | looked_up(around), around) if len(every) > 1 else None


def _by_limits(every: Sequence[Elem], moving: AbstractSet[str], around: Around) -> Expr | None:
    """Of several alternatives each where those before it are not true, if some compare rows with limits."""
    moved = [d for d in every if free_vars(d) & moving]
    still = [d for d in every if d not in moved]
    asked = [t for d in moved for t in conjuncts(d)]
    if not any(_is_limit(t, moving) for t in asked) or not all(_is_apart(t, moving, around) for t in asked):
        return None
    in_turn = sorted(moved, key=lambda d: (not free_vars(d) <= moving, sum(1 for _ in conjuncts(d))))
    return _in_turn([_any(still), *in_turn] if still else in_turn, moving, around)


def _any(alternatives: Sequence[Elem]) -> Elem:
    return reduce(lambda a, b: Call("or", (a, b)), alternatives)


def _is_apart(t: Elem, moving: AbstractSet[str], around: Around) -> bool:
    """Whether it reads what moves alone, or nothing of that, or compares both."""
    free = free_vars(t)
    if not free <= around.types.keys() or not is_sure(t):
        return False
    return free <= moving or not free & moving or _is_limit(t, moving)


def _is_limit(t: Elem, moving: AbstractSet[str]) -> bool:
    """Whether it compares what moves with what does not."""
    apart = ((free_vars(a), free_vars(b)) for a, b in sides(t))
    return any(a and b and b <= moving and not a & moving for a, b in apart)


def _in_turn(alternatives: Sequence[Elem], moving: AbstractSet[str], around: Around) -> Expr | None:
    """Each where none of those before it is true; None of too many."""
    before: list[tuple[Elem, ...]] = [()]
    found: list[Sequence[Elem]] = []
    for d in alternatives:
        own = tuple(map(as_difference, conjuncts(d)))
        found += (way for w in before if is_possible(way := (*w, *own)))
        before = [way for w in before for u in _untrue(d, moving, around) if is_possible(way := (*w, *u))]
    return reduce(Plus, (_nearer(way, around) for way in found)) if 1 < len(found) <= WAYS else None


def _untrue(d: Elem, moving: AbstractSet[str], around: Around) -> Iterator[tuple[Elem, ...]]:
    """Where ``d`` is not true, no two of these at once."""
    before: tuple[Elem, ...] = ()
    for t in conjuncts(d):
        if isinstance(t, Call) and t.fn in SWAPPED and free_vars(t) & moving and not free_vars(t) <= moving:
            yield from ((*before, *u) for u in untrue(t, around))
        else:
            yield (*before, _not_true(t))
        before = (*before, as_difference(t))


def _nearer(conditions: Sequence[Elem], around: Around) -> Expr:
    """All of them; of two limits the nearer one."""
    split = between(conditions, around)
    if split is None or any(isinstance(n, Neg) for n in nodes(split[0])):
        return Pred(conjunction(conditions))
    found, others = split
    return where(others, found)


def _exclude_each_other(a: Elem, b: Elem) -> bool:
    """Whether one of them is false where the other one is true, as of |p - q| > n (``absolute.py``)."""
    one, other = gap(a), gap(b)
    return one is not None and other is not None and one.excludes(other)


def _is_null_of(a: Elem, b: Elem) -> bool:
    """Whether ``a`` says that something is NULL of which ``b`` is never true then."""
    compared = (side for t in conjuncts(b) if isinstance(t, Call) and t.fn in SWAPPED for side in t.args)
    return isinstance(a, Call) and a.fn == "is_null" and a.args[0] in compared


def _not_true(t: Elem) -> Elem:
    match t:
        case Call("not", (Call("is_null") as inner,)):
            return inner
        case Call("is_null"):
            return Call("not", (t,))
    return Call("not", (Call("is_true", (t,)),))
