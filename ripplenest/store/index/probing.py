"""Rows of a table by the values of some columns: one probe of all of its segments.

A table has a few segments of many rows, and several that the last batches left, most of which have none of the keys.
So each is searched for hashes alone, from whichever side is shorter, and what all of them have is compared with the
keys at once.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from ripplenest.data.grouping import same
from ripplenest.data.index import Keys, Places, is_crowded, ranges
from ripplenest.store.index.indexes import KeyIndex, upper
from ripplenest.store.layouts import Layout
from ripplenest.store.segments import Reader, Segment

Uppers = npt.NDArray[np.unsignedinteger]
Hits = tuple[Places, Places, Places]  # of an index: which keys have entries by their hash, the first, and how many

SHORTER = 4  # times as many hashes as entries, which are then looked up among the hashes
TOGETHER = 1 << 16  # rows of all segments that are compared at once; of more there is nothing to gain
_NOWHERE: Places = np.empty(0, np.int64)
_NONE: Hits = (_NOWHERE, _NOWHERE, _NOWHERE)


@frozen(eq=False)
class Asked:
    """Keys as segments are asked for them: with what indexes store of their hashes, and whether no two agree in it."""

    keys: Keys
    uppers: Uppers
    are_different: bool

    @classmethod
    def of(cls, keys: Keys) -> "Asked":
        uppers = upper(keys.hashes)
        return cls(keys, uppers, not (uppers[1:] == uppers[:-1]).any())


@frozen
class Part:
    """A segment, and the keys from number ``first`` to before ``end`` that it can have."""

    segment: Segment
    first: int
    end: int


@frozen(eq=False)
class Probe:
    """Keys that segments are asked for. ``is_indexed`` are those that have a stored index for each access key."""

    reader: Reader
    asked: Asked
    is_indexed: Callable[[Segment], bool]
    layouts: Sequence[Layout]

    def rows(self, parts: Iterable[Part]) -> list[pa.Table]:
        """Those whose key is one of the keys (NULL is NULL, NaN is NaN), by segment that has some. Raises CorruptState.

        Law: of each segment what ``Reader.probe`` finds.
        """
        found: list[pa.Table] = []
        tables: list[pa.Table] = []
        which: list[Places] = []
        for part in parts:
            index = self._index(part.segment)
            own, first, many = hits(index, self.asked, part.first, part.end)
            if is_crowded(int(many.sum()), part.end - part.first):
                found += self._each(part)
            elif len(own):
                tables.append(self.reader.taken(part.segment, index.rows(ranges(first, many)), self.layouts))
                which.append(np.repeat(own + part.first, many))
        return found + self._compared(tables, which)

    def many(self, parts: Iterable[Part]) -> Places:
        """By key, how many rows have its hash. Raises CorruptState."""
        found = np.zeros(len(self.asked.keys), np.int64)
        for part in parts:
            which, _, many = hits(self._index(part.segment), self.asked, part.first, part.end)
            found[which + part.first] += many
        return found

    def _index(self, s: Segment) -> KeyIndex:
        return self.reader.index(s, self.asked.keys.columns, self.is_indexed(s), self.layouts)

    def _each(self, part: Part) -> list[pa.Table]:
        """Of a segment in which many rows have the hash of a key that is not theirs."""
        keys = self.asked.keys.part(part.first, part.end)
        found = self.reader.probe(part.segment, keys, self.is_indexed(part.segment), self.layouts)
        return [] if found is None else [found]

    def _compared(self, tables: Sequence[pa.Table], which: Sequence[Places]) -> list[pa.Table]:
        """Of each table the rows whose keys are ``which``."""
        if len(tables) > 1 and sum(map(len, which)) > TOGETHER:
            return [t for table, own in zip(tables, which, strict=True) for t in self._compared([table], [own])]
        if not tables:
            return []
        equal = self._are(pa.concat_tables(tables), np.concatenate(which))
        if equal.all():  # as nearly always
            return list(tables)
        ends = np.cumsum([len(own) for own in which])[:-1]
        kept = zip(tables, np.split(equal, ends), strict=True)
        return [table.filter(pa.array(own)) for table, own in kept if own.any()]

    def _are(self, rows: pa.Table, which: Places) -> npt.NDArray[np.bool_]:
        equal, numbers = np.ones(len(which), np.bool_), pa.array(which)
        for column, key in zip(self.asked.keys.columns, self.asked.keys.arrays, strict=True):
            equal &= same(rows.column(column).combine_chunks(), key.take(numbers))
        return equal


def hits(index: KeyIndex, asked: Asked, first: int, end: int) -> Hits:
    """Which of the keys from number ``first`` on have entries by their hash, counted from it. Raises CorruptState."""
    wanted = asked.uppers[first:end]
    kept = index.possible(wanted)
    some = wanted if kept is None else wanted[kept]
    if not index.is_near(len(some)):
        hashes = index.asked(asked.keys.part(first, end))
        begin, many = index.spans(hashes if kept is None else hashes[kept])
        which = np.flatnonzero(many)
        return _among(kept, which), begin[which], many[which]
    have = index.hashes
    if not len(have) or not len(some):
        return _NONE
    by_entry = asked.are_different and SHORTER * len(have) < len(some)
    which, begin, many = (_of_entries if by_entry else _of_keys)(have, some)
    return _among(kept, which), begin, many


def _among(kept: Places | None, which: Places) -> Places:
    """The numbers of keys, of which only those that were ``kept`` were looked up."""
    return which if kept is None else kept[which]


def _of_keys(have: Uppers, wanted: Uppers) -> Hits:
    begin = have.searchsorted(wanted)
    which = np.flatnonzero(have.take(begin, mode="clip") == wanted)
    if not len(which):
        return _NONE
    first = begin[which]
    return which, first, have.searchsorted(wanted[which], "right") - first


def _of_entries(have: Uppers, wanted: Uppers) -> Hits:
    """The same, where no hash is wanted twice."""
    at = wanted.searchsorted(have)
    entries = np.flatnonzero(wanted.take(at, mode="clip") == have)
    if not len(entries):
        return _NONE
    which = at[entries]
    new = np.flatnonzero(np.diff(which, prepend=-1))
    return which[new], entries[new], np.diff(new, append=len(which))
