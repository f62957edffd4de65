"""What the conditions of a product say the columns of a table lie between: its *band*, at the rows read before.

Rows that are compared are joined like rows that are equated: those of a key stand in the order of a column, and each
row that asks finds where its own begin and end. So what is looked at is what fits, and not each row with each: of
``s.start ≤ e.ts, e.ts < s.end`` the events of a session are found by two searches, and so are the sessions of an event,
in the order of their starts, from the first one on at which some session has an end that is late enough.

A column may be compared as it is, as a number of a wider type, or moved by a constant: x + n ≥ a is x ≥ a - n, so that
the clicks are found whose half an hour reaches an event. So may what lies between two of them: p - q ≤ n is q ≥ p - n.

A band only leaves out rows for which its conditions are false or NULL. They are asked all the same, of what is left.
What is moved must have a value where it is left out: of what is below an edge x + n has one for n ≥ 0, as x + n < a.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from ripplenest.nrc.reserved import is_joined, is_shared
from ripplenest.nrc.rewriting.sums import SIGNS, solved
from ripplenest.nrc.syntax import Call, Elem, Grouped, Lit, Rel
from ripplenest.nrc.types import LONG, Base, Type, nullable
from ripplenest.nrc.values import in_range

SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
COMPARED = (*SWAPPED, "eq", "ne", "same")
OPPOSITE = {"ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
"""What is true where another one is false."""


@frozen
class Bound:
    """``var.column`` is at most (``upper``) or at least a value that reads ``others``, which ``condition`` says."""

    var: str
    column: str
    others: frozenset[str]
    upper: bool
    condition: Elem


CASTS = ("to_long", "to_double", "to_decimal")
WIDER = frozenset((
    ("int", "long"), ("int", "double"), ("int", "decimal"), ("long", "double"), ("long", "decimal"),
    ("decimal", "decimal"),
))  # fmt: skip
"""Kinds of a column, and of values that say where it lies (``ripplenest/plan/narrow.py``)."""

AFTER = {"days_between": "days_after", "micros_between": "micros_after"}
"""By what lies between two values, what moves by it: p - q ≤ n is q ≥ p - n, and p ≤ q + n."""
BETWEEN = {after: between for between, after in AFTER.items()}

MOVES = {  # by how much more of the second argument the first is moved
    **dict.fromkeys(("add_int", "add_long", "days_after", "micros_after"), 1),
    **dict.fromkeys(("sub_int", "sub_long"), -1),
}



def moved_back(fn: str, n: object, t: Base, upper: bool) -> int | None:
    """-n, where what x moved by n lies below or above is what x lies below or above moved by -n; None where not.

    Law: of an x that lies beyond such a value x moved by n has a value, and is left out, too.
    """
    if fn not in MOVES or type(n) is not int or not in_range(-n, t.kind):
        return None
    return None if n * MOVES[fn] * (1 if upper else -1) > 0 else -n


def compared(conditions: Iterable[Elem]) -> Iterator[tuple[Elem, Elem, bool, Elem]]:
    """(a, b, upper, condition): a is at most, or at least, b. Each comparison from both of its sides."""
    for cond in conditions:
        match cond:
            case Call(fn, (a, b)) if fn in SWAPPED:
                for own, other, upper in ((a, b, fn in ("lt", "le")), (b, a, SWAPPED[fn] in ("lt", "le"))):
                    yield own, other, upper, cond
                    yield from _widened(own, other, upper, cond)
                    yield from _moved(own, other, upper, cond)
                    yield from _apart(own, other, upper, cond)
                    for x, y, turned in solved(own, other, lambda op, p, q: Call(op, (p, q))):
                        yield x, y, upper is not turned, cond


def difference(t: Elem) -> Call | None:
    """What lies between two values, if ``t`` is that; as a long, too."""
    match t:
        case Call("to_long", (inner,)):
            return difference(inner)
        case Call("sub_decimal", (Call("to_decimal"), Call("to_decimal"))):  # of integers (``exact.py``)
            return t
        case Call(fn) if fn in AFTER:
            return t
    return None


def sides(cond: Elem) -> Iterator[tuple[Elem, Elem]]:
    """Each side that a comparison has, with the other one: of a difference that is compared, what it lies between."""
    if isinstance(cond, Call) and cond.fn in SWAPPED:
        a, b = next((apart for side in cond.args if (apart := difference(side)) is not None), cond).args
        yield from ((a, b), (b, a))


def operands(t: Elem) -> tuple[Elem, ...]:
    """What ``t`` lies between, or the integers that it is the sum of (``exact.py``); itself where it is neither."""
    match t:
        case Call(fn, (a, b)) if fn in SIGNS:
            return (*operands(a), *operands(b))
    found = difference(t)
    return (t,) if found is None else found.args


def _apart(own: Elem, other: Elem, upper: bool, cond: Elem) -> Iterator[tuple[Elem, Elem, bool, Elem]]:
    """p - q is at most, or at least, a constant. That has a value for all p and q, also where its edges have none."""
    match difference(own), other:
        case Call(fn, (p, q)), Lit(int() as n) if in_range(-n, LONG.kind):
            yield q, Call(AFTER[fn], (p, Lit(-n, LONG))), not upper, cond
            yield p, Call(AFTER[fn], (q, Lit(n, LONG))), upper, cond


def uncast(t: Elem) -> Elem:
    """A number before it is one of a wider type; itself where it is that of its own."""
    match t:
        case Call(fn, (x,)) if fn in CASTS:
            return uncast(x)
    return t


def _widened(own: Elem, other: Elem, upper: bool, cond: Elem) -> Iterator[tuple[Elem, Elem, bool, Elem]]:
    """Numbers keep their order in a wider type."""
    match own:
        case Call(fn, (x,)) if fn in CASTS:
            yield x, other, upper, cond


def _moved(own: Elem, other: Elem, upper: bool, cond: Elem) -> Iterator[tuple[Elem, Elem, bool, Elem]]:
    match own:
        case Call(fn, (x, Lit(n, t))) if (back := moved_back(fn, n, t, upper)) is not None:
            yield x, Call(fn, (other, Lit(back, t))), upper, cond


def says_where(own: Type, other: Type) -> bool:
    """Whether values of type ``other`` say where a column of type ``own`` lies that is compared with them."""
    if nullable(own) == nullable(other):
        return True
    return isinstance(own, Base) and isinstance(other, Base) and (own.kind, other.kind) in WIDER


def is_side(t: Elem, condition: Elem) -> bool:
    """Whether ``condition`` compares with ``t`` as it stands there, and not moved."""
    return isinstance(condition, Call) and any(t is arg for arg in condition.args)


def is_in_order(rel: Rel) -> bool:
    """Whether rows of a table can be stored in the order of a column that statements see: those of groups and of
    joins are, but not those of sums that views share."""
    return isinstance(rel, Grouped) or not is_shared(rel.name) or is_joined(rel.name)


def stored(found: Sequence[Bound]) -> tuple[Bound, ...]:
    """What of a band one stored order says: of intervals in the order of their begins, not which of them are over."""
    return tuple(b for b in found if b.column == found[0].column)


def beside(bounds: Sequence[Bound], own: Sequence[Bound]) -> tuple[tuple[Bound, ...], ...]:
    """What the orders of other columns say than the one that says what is ``stored`` of ``own``."""
    columns = dict.fromkeys(b.column for b in bounds if b.column != own[0].column)
    return tuple(band(b for b in bounds if b.column == column) for column in columns)


def band(bounds: Iterable[Bound]) -> tuple[Bound, ...]:
    """At most one bound from above and one from below: those of one column where a column has both."""
    known = tuple(bounds)
    uppers, lowers = ([b for b in known if b.upper is upper] for upper in (True, False))
    both = [(a, b) for a in uppers for b in lowers if a.column == b.column]
    return next(iter(both), (*uppers[:1], *lowers[:1]))
