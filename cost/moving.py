"""Rows that are found by a value that moves: what lies between the old value and the new one.

A row that constants tell, as a clock is, says of a table what to read from on, ``e.at ≥ k.now - week``; so does a
total that is one value for all rows, ``c.spent > avg(…)``. When it changes, all rows beyond the old value and all
beyond the new one are the same rows but for those that lie between: they are read as between two ends, if the row drops
none of them otherwise.
"""

from collections.abc import Callable, Iterable, Sequence

from ripplenest.nrc.rewriting.access import Join, Read


def told(r: Read, j: Join, order: Iterable[Read], is_one: Callable[[Read], bool]) -> bool:
    """Whether all that says where ``r`` begins or ends is of rows of which ``is_one`` says that there is one of a kind,
    whose values move."""
    return bool(r.ends) and all(o.how == "change" and is_one(o) and _moves(o, r, j) for o in _enders(r, order))


def _enders(r: Read, order: Iterable[Read]) -> Sequence[Read]:
    """The reads that the ends of ``r`` are of."""
    others = frozenset[str]().union(*(b.others for b in r.ends))
    return [o for o in order if o.var in others]


def _moves(one: Read, r: Read, j: Join) -> bool:
    """Whether the row ``one`` says of ``r`` what its ends are, and drops none of it otherwise when it changes: nor do
    others, if all rows are other ones then, as it is shown in them."""
    others = [t for t in j.product.conditions if t not in [b.condition for b in r.ends]]
    if any(one.var in j.sources(t) != {one.var} for t in others):
        return False
    made = (j.product.head, *j.product.times)
    return not any(one.var in j.sources(t) for t in made) or not any(r.var in j.sources(t) for t in others)
