"""The rows of keys that lie between two values of a column, read from segments that have an index on its order.

Of each segment the entries of a key are one span of its index, and of these those between two prefixes are one, which
two binary searches find (``ordered.py``). Spans that overlap are read once. So what is read is what lies between, with
rows that share a prefix with a bound, and of keys that share the stored half of a hash: which rows are wanted is asked
by whoever joins them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from ripplenest.data.hashing import U64, hash_columns
from ripplenest.data.index import Places, ranges
from ripplenest.data.order import Within
from ripplenest.nrc.types import Base
from ripplenest.store.index.asked import Start, rows_at
from ripplenest.store.index.fronts import Take, begun
from ripplenest.store.index.ordered import OrderedIndex

NEXT = np.uint64(1)


def read_within(
    segments: Sequence[tuple[OrderedIndex, Take]], asked: Within, types: tuple[Base, ...]
) -> Iterator[pa.Table]:
    """Of each segment the rows of ``asked``, of ``types``, if it has some. Raises CorruptState.

    Law: no row is missing that has one of the keys and is between its prefixes; what is read of a row depends on its
    values alone.
    """
    hashes = _hashes(asked)
    for index, take in segments:
        has, begin, end = _spans(index, asked, hashes)
        if asked.between is not None:
            begin, end = _between(index, take, asked, types, has, begin, end)
        found = united(begin, end)
        if len(found):
            yield take(index.rows(found))


def lying(segments: Sequence[tuple[OrderedIndex, Take]], asked: Within) -> int:
    """About how many rows there are to read: none is. Raises CorruptState."""
    spans = (_spans(index, asked, hashes) for hashes in [_hashes(asked)] for index, _ in segments)
    return sum(int(np.maximum(end - begin, 0).sum()) for _, begin, end in spans)


def _hashes(asked: Within) -> U64:
    return hash_columns([c.combine_chunks() for c in asked.keys.arrow().columns[:-1]], len(asked.keys))


def _spans(index: OrderedIndex, asked: Within, hashes: U64) -> tuple[Places, Places, Places]:
    """The keys that a segment has, and of each the entries between its prefixes."""
    first, many = index.spans(hashes)
    has = np.flatnonzero(many)
    begin, end = first[has], (first + many)[has]
    open_ = begin if asked.until is None else index.reaching(begin, end, asked.until[has])
    begin = index.reached(begin, end, asked.low[has])
    return has, np.maximum(begin, open_), index.reached(begin, end, asked.high[has] + NEXT)


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
