"""The rows of keys that lie between two values of a column, read from segments that have an index on its order.

Of each segment the entries of a key are one span of its index, and of these those between two prefixes are one, which
two binary searches find (``ordered.py``). Spans that overlap are read once. So what is read is what lies between, with
rows that share a prefix with a bound, and of keys that share the stored half of a hash: which rows are wanted is asked
by whoever joins them.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.hashing import U64, hash_columns
from ripplenest.data.index import Places, ranges
from ripplenest.data.order import Within
from ripplenest.nrc.types import Base
from ripplenest.store.index.asked import Start, rows_at
from ripplenest.store.index.fronts import Take, begun
from ripplenest.store.index.ordered import OrderedIndex

NEXT = np.uint64(1)


@frozen(eq=False)
class Spans:
    """Of a segment the numbers of the keys that it ``has``, and of each the entries that lie between its prefixes."""

    index: OrderedIndex
    take: Take
    has: Places
    begin: Places
    end: Places


def lying(segments: Sequence[tuple[OrderedIndex, Take]], asked: Within) -> list[Spans]:
    """Where in each segment what is ``asked`` for lies. Raises CorruptState."""
    hashes = hash_columns([c.combine_chunks() for c in asked.keys.arrow().columns[:-1]], len(asked.keys))
    return [_lying(index, take, asked, hashes) for index, take in segments]


def _lying(index: OrderedIndex, take: Take, asked: Within, hashes: U64) -> Spans:
    first, many = index.spans(hashes)
    has = np.flatnonzero(many)
    begin, end = first[has], (first + many)[has]
    far = begin if asked.until is None else index.reaching(begin, end, asked.until[has])
    begin = index.reached(begin, end, asked.low[has])
    end = index.reached(begin, end, asked.high[has] + NEXT)
    return Spans(index, take, has, np.minimum(np.maximum(begin, far), end), end)


def count(found: Iterable[Spans]) -> int:
    """How many entries there are to read, those of spans that overlap as often as they are in one."""
    return sum(int((s.end - s.begin).sum()) for s in found)


def read_within(found: Iterable[Spans], asked: Within, types: tuple[Base, ...]) -> Iterator[pa.Table]:
    """Of each segment the rows of ``asked``, of ``types``, that were ``found`` in it, if it has some. Raises
    CorruptState.

    Law: no row is missing that has one of the keys and is between its prefixes; what is read of a row depends on its
    values alone, and on those of rows before it where it is asked how far they reach.
    """
    for s in found:
        begin, end = s.begin, s.end
        if asked.between is not None:
            begin, end = _between(s.index, s.take, asked, types, s.has, begin, end)
        places = united(begin, end)
        if len(places):
            yield s.take(s.index.rows(places))


def _between(
    index: OrderedIndex, take: Take, asked: Within, types: tuple[Base, ...], has: Places, first: Places, end: Places
) -> tuple[Places, Places]:
    """The spans that are left where values tell more than prefixes: rows are compared where many share one."""
    assert asked.between is not None
    by = asked.order.by[:1]
    for values, is_open in zip(asked.between, (False, True), strict=True):
        own = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False)[has])
        if len(own):
            bound = rows_at(values.take(pa.array(has[own])), by[0].column, types)
            low, high, _ = begun(index, take, Start(by, is_open), bound, first[own], end[own])
            if is_open:
                end[own] = high
            else:
                first[own] = low
    return first, np.maximum(first, end)


def united(first: Places, end: Places) -> Places:
    """The numbers that are in one of some spans, each once, ascending."""
    order = np.lexsort((end, first))
    first, end = first[order], np.maximum.accumulate(end[order])
    begin = np.maximum(first, np.concatenate([[0], end[:-1]]).astype(np.int64))
    return ranges(begin, np.maximum(end - begin, 0))
