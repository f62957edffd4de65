"""What the conditions of a product say the columns of a table lie between: its *band*, at the rows read before.

Rows that are compared are joined like rows that are equated: those of a key stand in the order of a column, and each
row that asks finds where its own begin and end. So what is looked at is what fits, and not each row with each: of
``s.start ≤ e.ts, e.ts < s.end`` the events of a session are found by two searches, and so are the sessions of an event,
in the order of their starts, from the first one on at which some session has an end that is late enough.

A band only leaves out rows for which its conditions are false or NULL. They are asked all the same, of what is left.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from ripplenest.nrc.reserved import is_shared
from ripplenest.nrc.syntax import Call, Elem, Grouped, Rel

SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@frozen
class Bound:
    """``var.column`` is at most (``upper``) or at least a value that reads ``others``, which ``condition`` says."""

    var: str
    column: str
    others: frozenset[str]
    upper: bool
    condition: Elem


def compared(conditions: Iterable[Elem]) -> Iterator[tuple[Elem, Elem, bool, Elem]]:
    """(a, b, upper, condition): a is at most, or at least, b. Each comparison from both of its sides."""
    for cond in conditions:
        match cond:
            case Call(fn, (a, b)) if fn in SWAPPED:
                yield a, b, fn in ("lt", "le"), cond
                yield b, a, SWAPPED[fn] in ("lt", "le"), cond


def is_in_order(rel: Rel) -> bool:
    """Whether rows of a table can be stored in the order of a column that statements see: not those of maps that views
    share, of which some are sums, or have rows for what asks for them that are stored nowhere."""
    return not isinstance(rel, Grouped) and not is_shared(rel.name)


def stored(found: Sequence[Bound]) -> tuple[Bound, ...]:
    """What of a band one stored order says: of intervals in the order of their begins, not which of them are over."""
    return tuple(b for b in found if b.column == found[0].column)


def band(bounds: Iterable[Bound]) -> tuple[Bound, ...]:
    """At most one bound from above and one from below: those of one column where a column has both."""
    known = tuple(bounds)
    uppers, lowers = ([b for b in known if b.upper is upper] for upper in (True, False))
    both = [(a, b) for a in uppers for b in lowers if a.column == b.column]
    return next(iter(both), (*uppers[:1], *lowers[:1]))
