"""Tables that are read between values: in the order of a column, by an index on it, as far as a band goes.

By keys alone a step reads all rows that have them, and without keys its table. Where a band
(``nrc/rewriting/bands.py``) says what a column lies between, by values of one source that was read before, it reads
what lies there. Where values of this source say so of several columns, it reads by whichever finds fewer rows: of
bookings that overlap a new one those that end after it began are few, and those that begin before it ends are all, but
for those up to which none has an end that is late enough.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from attrs import frozen

from ripplenest.data.order import By, Ordering
from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.syntax import At
from ripplenest.plan import edges
from ripplenest.plan.edges import compared
from ripplenest.plan.product import Band, Col, Edge, Product, Scalar, Step, cols, sources_of

Unique = Mapping[str, Collection[frozenset[int]]]  # by table, sets of columns by which a row is the only one


@frozen
class Ranged:
    """How a step is read between values: in this ``order``, at the ``band`` of the rows of the source ``via``; from the
    first row on that reaches ``until`` in another column."""

    order: Ordering
    band: Band
    via: int
    until: Edge | None = None


@lru_cache(maxsize=1 << 14)
def ranged(step: Step) -> tuple[Ranged, ...]:
    """How ``step`` can be read between values, by values of one source; nothing where it is not."""
    if not step.is_ranged or step.band is None:
        return ()
    own, *others = (_of_one_column(band) for band in (step.band, *step.beside))
    some = [band for band in others if not any(map(_is_of_its_own, band.edges))]
    bands = [own, *(some or others)]
    return tuple(_in_order(step, band, bands) for band in bands)


def _of_one_column(band: Band) -> Band:
    first = band.edges[0]
    return Band(*(e if e is not None and e.column == first.column else None for e in band.both))


def _is_of_its_own(e: Edge) -> bool:
    """Whether rows are compared with others by one column of both, as pairs are by `a.id < b.id`: in its order half of
    them are on the one side, or on the other. Of two tables it may seem so, and then another order is preferred."""
    return isinstance(e.scalar, Col) and e.scalar.column == e.column


def _in_order(step: Step, band: Band, bands: Sequence[Band]) -> Ranged:
    """In the order of a column that has an upper edge it is known how far rows reach in one that has a lower one."""
    lower = [b.lower for b in bands if b.lower]
    until = None if band.lower else min(lower, key=_is_of_its_own, default=None)
    (first, *_), by = band.edges, None if until is None else until.column
    return Ranged(Ordering(step.columns, (By(first.column),), by), band, min(sources_of(first.scalar)), until)


@lru_cache(maxsize=1 << 14)
def told_by(p: Product, step: Step, r: Ranged) -> tuple[Col, ...] | None:
    """By which columns ``p`` knows the rows of the source that asks for ``step``, besides where the band lies: rows
    that agree in them, and fulfil the conditions on them alone, go with the same rows of ``step`` that are inside of
    the bands of both, as often as their weights say. None where an edge is not of this source alone."""
    if any(sources_of(e.scalar) != {r.via} for e in r.band.edges):
        return None
    own = p.conditions_on(r.via)
    others = [c for c in p.conditions if c not in own and not _is_of(c, step.source, r.band)]
    found = {c for s in (*p.head, *p.times, *others) for c in cols(s) if c.source == r.via}
    return tuple(sorted(found, key=lambda c: c.column))  # what keys equate are conditions, too


@lru_cache(maxsize=1 << 14)
def decided_by(p: Product, step: Step, r: Ranged) -> tuple[Scalar, ...]:
    """What of the source that asks for ``step`` says which rows are inside of its band: rows that agree in it, and in
    what they are ``told_by``, go with the same ones, also of those at its edges."""
    inside = (c for c in p.conditions if _is_of(c, step.source, r.band))
    return tuple(dict.fromkeys(s for c in inside for s in edges.decided_by(c, step.source)))


def pays(p: Product, step: Step, r: Ranged, of_map: bool = False) -> bool:
    """Whether an order is worth what a batch writes for it. What lies on one side of a value is half of what keys find:
    but it is little where that value moves in a row of the change, which ``p`` knows by the rest. Not of a map: what
    comes to bags that are there is asked for by rows that come and go, and seldom move. Of what lies below an edge in
    one column and above one in another one order knows both."""
    if not step.keys or len(r.band.edges) == 2 or _overlaps(step):
        return True
    if of_map:
        return False
    told = told_by(p, step, r) if p.sources[r.via].at is At.DELTA else None
    return told is not None and not any(col in told for e in r.band.edges for col in cols(e.scalar))


def _overlaps(step: Step) -> bool:
    """Whether it lies below an edge in one column and above one in another."""
    bands = [r.band for r in ranged(step)]
    return any(b.upper for b in bands) and any(b.lower for b in bands)


def _is_of(condition: Scalar, source: int, band: Band) -> bool:
    """Whether ``condition`` compares what an edge of ``band`` does: it is true of all that is inside, or of none."""
    found = compared(condition, source)
    return found is not None and found[0] in SWAPPED and Edge(*found[1:]) in band.edges


def is_one(table: str, step: Step, unique: Unique) -> bool:
    """Whether one key of ``step`` finds one row of ``table`` at most."""
    return any(own and own <= {*step.columns} for own in unique.get(table, ()))
