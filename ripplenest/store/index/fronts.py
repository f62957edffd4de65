"""A segment as its rows are read in order, of many keys at once: where they begin, what comes next, and how far it was
read."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, frozen

from ripplenest.data.hashing import U64
from ripplenest.data.index import Places, entries_in
from ripplenest.data.order import FAR, prefixes_by
from ripplenest.store.index.asked import Asked, Start
from ripplenest.store.index.ordered import OrderedIndex

NEAR = 8  # entries in which a place is not searched for by comparing rows
NONE = -1
Take = Callable[[Places], pa.Table]  # the rows of a segment at some places, with the columns c0…, w


@define(eq=False)
class Reading:
    """A segment as it is read on: by key the next entry, the end, and how many entries are taken the next time."""

    index: OrderedIndex
    take: Take
    next: Places
    end: Places
    chunk: Places
    last: Places  # by key, the number of the last row that was taken, among all rows that were; NONE before

    @classmethod
    def begun(cls, index: OrderedIndex, take: Take, asked: Asked) -> tuple["Reading", int]:
        """At the bound of each key, or a few entries before it; and how many rows it took to find that."""
        first, many = index.spans(asked.hashes)
        end, read, bounded = first + many, 0, np.flatnonzero((asked.starts >= 0) & (many > 0) & (asked.limits > 0))
        if len(bounded):
            bound, high = asked.start.take(pa.array(asked.starts[bounded])), end.copy()
            first[bounded], high[bounded], read = begun(index, take, asked.begin, bound, first[bounded], end[bounded])
            if asked.chain is not None:
                own = np.flatnonzero(asked.chain.after >= 0)
                end[own] = np.minimum(end[own], high[asked.chain.after[own]])
        nothing = np.zeros(len(first), np.int64)
        return cls(index, take, first, np.maximum(first, end), nothing, nothing + NONE), read

    @property
    def left(self) -> Places:
        """How many entries of each key there are to read."""
        return self.end - self.next

    def ahead(self, keys: Places) -> U64:
        """The prefix of the next entry of these keys, which have one. Raises CorruptState."""
        return self.index.prefix(self.next[keys])

    def taken(self, due: Places, at: int) -> tuple[pa.Table, Places]:
        """The next rows of the keys that are ``due``, and whose they seem to be. ``at`` is the number of the first."""
        many = np.minimum(self.chunk[due], self.left[due])
        which, found = entries_in(self.next[due], many)
        self.next[due] += many
        self.chunk[due] = 2 * many
        self.last[due] = at + np.cumsum(many) - 1
        return self.take(self.index.rows(found)), due[which]


def begun(
    index: OrderedIndex, take: Take, begin: Start, bound: pa.Table, first: Places, end: Places
) -> tuple[Places, Places, int]:
    """In each span the place of ``bound``, or at most NEAR entries before it, and behind it; and how many rows were
    compared."""
    if not begin.by:
        return first, first, 0
    wanted = prefixes_by(bound, begin.by)
    low = index.reached(first, end, wanted)
    last = wanted == np.iinfo(np.uint64).max
    high = np.where(last, end, index.reached(first, end, wanted + np.where(last, 0, 1).astype(np.uint64)))
    read = 0
    while (wide := np.flatnonzero(high - low > NEAR)).size:
        middle = (low[wide] + high[wide]) >> 1
        rows = take(index.rows(middle))
        both = pa.concat_tables([rows, bound.take(pa.array(wide))]).combine_chunks()
        own = begin.numbers(both, np.arange(len(wide), len(both)))
        less = own[: len(wide)] < own[len(wide) :]
        low[wide[less]] = middle[less] + 1
        high[wide[~less]] = middle[~less]
        read += len(wide)
    return low, high, read


@frozen(eq=False)
class Front:
    """How far a segment was read, by the keys of which it has more: the rank of the last row that was taken, NONE
    before the first, and the prefix of the next one."""

    keys: Places
    ranks: Places
    ahead: U64

    @classmethod
    def of(cls, reading: Reading, keys: Places, own: Places) -> "Front":
        """Of those of ``keys``; rows have their ``own`` ranks."""
        keys = keys[reading.left[keys] > 0]
        last = reading.last[keys]
        reached = np.full(len(keys), NONE)
        reached[last > NONE] = own[last[last > NONE]]
        return cls(keys, reached, reading.ahead(keys))

    def settled(self, keys: int, owners: Places, own: Places, prefix: U64) -> npt.NDArray[np.bool_]:
        """Which rows no unread row of the segment comes before, or is equal to."""
        reached, ahead = np.full(keys, FAR), np.zeros(keys, np.uint64)
        reached[self.keys], ahead[self.keys] = self.ranks, self.ahead
        found: npt.NDArray[np.bool_] = (own <= reached[owners]) | (prefix < ahead[owners])
        return found
