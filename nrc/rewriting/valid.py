"""Rows that a clock finds between two of their values are those that have begun without those that have ended.

    for _ in p(x ≤ c ∧ c < y) union e  ⟶  for _ in (p(x < y ∧ x ≤ c) ⊎ ⊖ p(x < y ∧ y ≤ c)) union e
    for _ in p(x ≤ c ∧ (y is NULL ∨ c < y)) union e  ⟶  for _ in (… ⊎ p(y is NULL ∧ x ≤ c)) union e
    for _ in p(x ≤ c ∧ y ≤ c) union e  ⟶  for _ in (p(y ≤ x ∧ x ≤ c) ⊎ p(x < y ∧ y ≤ c)) union e
    for _ in p(x ≤ c ∧ x ≤ d) union e  ⟶  for _ in (p(c ≤ d ∧ x ≤ c) ⊎ p(d < c ∧ x ≤ d)) union e

where x and y are values of stored rows, c is of rows that constants alone tell, and e has a value for all rows: what is
valid now, ``s.start <= k.now < s.end``. One order tells only where one of both ends lies, so half of all rows would be
read whenever the clock moves. What has begun is in the order of x, and what has ended in that of y, and of each is read
what lies between the old value and the new one. Where x < y whatever has ended has begun. Of two limits c and d, which
may also be of a row that others look up (``sharing.py``), the nearer one says that x is within both.

Law: ⟦valid e⟧ = ⟦e⟧ where ⟦e⟧ has a value.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from itertools import product

from attrs import evolve, frozen

from ripplenest.nrc.paths import root
from ripplenest.nrc.rewriting.bands import OPPOSITE, SWAPPED
from ripplenest.nrc.rewriting.gaps import as_difference, at_most, gap
from ripplenest.nrc.rewriting.keyed import Around, Keys, computing, passed
from ripplenest.nrc.rewriting.normal import asked, conjunction, is_sure, where
from ripplenest.nrc.rewriting.presence import opened
from ripplenest.nrc.rewriting.sharing import looked_up
from ripplenest.nrc.syntax import Call, Elem, Expr, Fold, For, Group, Neg, Plus, Pred
from ripplenest.nrc.types import nullable
from ripplenest.nrc.walk import free_vars, nodes


@frozen
class End:
    """That the ``value`` of a row less that of a ``clock`` is at most (``upper``), or at least, ``n``, as ``said``; or,
    if it is ``open``, that it is NULL."""

    value: Elem
    clock: Elem
    upper: bool
    n: int
    said: Call
    open: bool = False


def valid(e: Expr, keys: Keys) -> Expr:
    """``e``, a closed nested term over relations and inner bags whose rows have these ``keys``."""
    if not keys or sum(isinstance(n, Call) and n.fn in SWAPPED for n in nodes(e)) < 2:
        return e
    return passed(e, lambda e: _inside(e, Around(keys)))


def _inside(e: Expr, around: Around) -> Expr:
    match e:
        case For(_, Pred()):
            conditions, rest = asked(e)
            here = reduce(lambda known, c: known.below("_", Pred(c)), conditions, around)
            found = between(conditions, here)
            if found is not None and all(map(is_sure, found[1])) and _may_be_counted(found[0], rest, around):
                return where(found[1], For("_", found[0], _inside(rest, here)))
        case Group(site, _, _, None, (Fold(_, "any", (_,)) as fold,)) if (rows := opened(e)) is not None:
            split = _inside(rows, around)
            return e if split is rows else Group(site, "_", split, None, (evolve(fold, args=()),))
    return computing(e, around, _inside)


def _may_be_counted(conditions: Expr, rest: Expr, around: Around) -> bool:
    """Whether rows may be made that are taken away again: nothing that can fail is computed of them."""
    return (is_sure(rest) and not around.fails) or not any(isinstance(n, Neg) for n in nodes(conditions))


def between(conditions: Sequence[Elem], around: Around) -> tuple[Expr, list[Elem]] | None:
    """What is between two ends, or beyond both, of which ``conditions`` say one each, and the others of them."""
    ends = [_end(c, around) for c in conditions]
    for a, b in product(ends, ends):
        if a and b and (found := _both(a, b, around)) is not None:
            return found, [c for c, end in zip(conditions, ends, strict=True) if end not in (a, b)]
    return None


def _said(cond: Elem) -> tuple[Call, Elem | None] | None:
    """A comparison, and what else may be NULL instead."""
    match cond:
        case Call("or", (Call("is_null", (y,)), Call() as said)) | Call("or", (Call() as said, Call("is_null", (y,)))):
            return None if gap(said) is None else (said, y)
        case Call() if gap(cond) is not None:
            return cond, None
    return None


def _end(cond: Elem, around: Around) -> End | None:
    if (found := _said(cond)) is None or (g := gap(found[0])) is None:
        return None
    said = as_difference(found[0])
    assert isinstance(said, Call)
    both = (End(g.a, g.b, g.upper, g.n, said), End(g.b, g.a, not g.upper, -g.n, said))
    for clocks in (_clocks(around), looked_up(around)):
        for end in both:
            is_clock = bool(free := free_vars(end.clock)) and free <= clocks and root(end.value) not in clocks
            if is_clock and root(end.value) in around.rows and found[1] in (None, end.value):
                return evolve(end, open=found[1] is not None)
    return None


def _clocks(around: Around) -> AbstractSet[str]:
    return around.told(frozenset()).keys()


def _both(a: End, b: End, around: Around) -> Expr | None:
    """What is between two ends of one row, of which a begins it and b ends it, or beyond both; None of others."""
    if a.value == b.value:
        return _within(a, b, around) if a.clock != b.clock and a.upper == b.upper else None
    is_one = a.clock == b.clock and root(a.value) == root(b.value) and free_vars(a.clock) <= _clocks(around)
    if not is_one or (a.upper != b.upper and b.upper):
        return None
    return _beyond(a, b, around) if a.upper == b.upper else _between(a, b, around)


def _between(a: End, b: End, around: Around) -> Expr | None:
    guard = None if a.open else _less(a.value, b.value, a.n - b.n, _is_plain(a, b), around)
    if guard is None:
        return None
    ended = Call(OPPOSITE[b.said.fn], b.said.args)
    found: Expr = Plus(_all(guard, a.said), Neg(_all(guard, ended)))
    return Plus(found, _all(Call("is_null", (b.value,)), a.said)) if b.open else found


def _beyond(a: End, b: End, around: Around) -> Expr | None:
    """Whichever is farther says that both are: x where y - x ≤ m - n, else y."""
    return _either(a, b, (a.value, b.value), around)


def _within(a: End, b: End, around: Around) -> Expr | None:
    """Whichever limit is nearer says that a value is within both."""
    return _either(b, a, (a.clock, b.clock), around)


def _either(a: End, b: End, ends: tuple[Elem, Elem], around: Around) -> Expr | None:
    """Where the first of ``ends`` is not after the second one, if both are lower, a; else b."""
    far = b.n - a.n if a.upper else a.n - b.n
    one, other = ends[::-1] if a.upper else ends
    is_plain = _is_plain(a, b)
    first, second = _less(one, other, far, is_plain, around), _less(other, one, -far - 1, is_plain, around)
    if first is None or second is None or a.open or b.open:
        return None
    return Plus(_all(first, a.said), _all(second, b.said))


def _all(*conditions: Elem) -> Expr:
    return Pred(conjunction(conditions))


def _is_plain(*ends: End) -> bool:
    """Whether nothing is added to what they compare."""
    return all({*end.said.args} == {end.value, end.clock} for end in ends)


def _less(x: Elem, y: Elem, n: int, is_plain: bool, around: Around) -> Elem | None:
    """x less y is at most ``n``. None where there is no such difference."""
    if not _same_kind(x, y, around):
        return None
    if is_plain:
        return Call("le" if n >= 0 else "lt", (x, y))
    return at_most(getattr(around.type_of(x), "kind", ""), x, y, n)


def _same_kind(x: Elem, y: Elem, around: Around) -> bool:
    """Whether the two can be compared: decimals have more digits together than each with the clock."""
    one, other = around.type_of(x), around.type_of(y)
    return one is not None and other is not None and nullable(one) == nullable(other)
