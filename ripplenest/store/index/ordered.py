"""The index of a segment on an ordering, as it is stored: the rows of each key one after another, in their order.

    h: uint32, ascending     the stored half of the hash of the key, as in an index on an access key
    o: uint64, ascending     in one h: the prefix of the first column that rows are ordered by (``data/order.py``)
    r: uint32 or int64       the row; in one h, rows are in their order (and so in that of o)
    e: uint64                where the order has a column ``until``, in one h ascending: its greatest prefix so far

Rows of several keys that share an h are mixed, in the one order of all rows. So whoever looks for the rows of a key
that come at or after a row finds the entries of its hash, in them those of its prefix, and in these, where they are
many, the place by comparing rows: three binary searches, and of what comes before only rows that are compared are read.

As with every index, a search believes what it reads, and the two entries that it comes in between are checked.
"""

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from ripplenest.data.argsort import searched_within
from ripplenest.data.hashing import U64
from ripplenest.data.index import Places
from ripplenest.data.order import Ordering
from ripplenest.store.blocks import Blocks
from ripplenest.store.index.arranging import OrderedEntries
from ripplenest.store.index.indexes import KeyIndex
from ripplenest.store.mapped import touch

PREFIX, REACH = "o", "e"


@frozen(eq=False)
class OrderedIndex:
    """An index of a segment on an ordering, stored or just made: the index on its key, with a prefix for each entry."""

    keyed: KeyIndex
    prefixes: U64
    array: pa.Array | None = None  # where they lie in blocks
    reach: U64 | None = None
    far: pa.Array | None = None  # where these do

    @classmethod
    def of(cls, entries: OrderedEntries, o: Ordering, segment: int) -> "OrderedIndex":
        """The index with these entries."""
        return cls(KeyIndex.of(entries.keyed, o, segment), entries.prefixes, reach=entries.reach)

    @property
    def table(self) -> pa.Table:
        """What its blob holds."""
        table = self.keyed.table.append_column(PREFIX, pa.array(self.prefixes))
        return table if self.reach is None else table.append_column(REACH, pa.array(self.reach))

    @classmethod
    def read(cls, table: pa.Table, blocks: Blocks, where: str) -> "OrderedIndex":
        """The index in a blob. Raises CorruptState."""
        keyed = KeyIndex.read(table, blocks, where)
        *arrays, far = keyed.arrays if table.column_names[-1] == REACH else (*keyed.arrays, None)
        *arrays, own = arrays
        found = cls(evolve(keyed, arrays=tuple(arrays)), own.to_numpy(), own)
        return found if far is None else evolve(found, reach=far.to_numpy(), far=far)

    def spans(self, hashes: U64) -> tuple[Places, Places]:
        """By hash, the first entry that has it, and how many have it. Raises CorruptState."""
        return self.keyed.spans(hashes)

    def rows(self, entries: Places) -> Places:
        """The rows of entries. Raises CorruptState."""
        return self.keyed.rows(entries)

    def prefix(self, entries: Places) -> U64:
        """The prefixes of entries. Raises CorruptState."""
        if self.keyed.blocks is not None and self.array is not None:
            touch(self.keyed.blocks, self.array, entries)
        return self.prefixes[entries]

    def reached(self, first: Places, end: Places, wanted: U64) -> Places:
        """In each span of entries of one hash, the first whose prefix is at least the ``wanted`` one; the end of the
        span where there is none. Raises CorruptState."""
        return self._searched(self.prefixes, self.array, first, end, wanted)

    def reaching(self, first: Places, end: Places, wanted: U64) -> Places:
        """In each span of entries of one hash, the first that reaches as far as the ``wanted`` prefix; the end of the
        span where none does. Raises CorruptState."""
        assert self.reach is not None
        return self._searched(self.reach, self.far, first, end, wanted)

    def _searched(self, own: U64, array: pa.Array | None, first: Places, end: Places, wanted: U64) -> Places:
        found = searched_within(own, first, end, wanted)
        if self._proved(own, array, found, first, end, wanted):
            return found
        assert self.keyed.blocks is not None
        self.keyed.blocks.all()
        return searched_within(own, first, end, wanted)

    def _proved(
        self, own: U64, array: pa.Array | None, found: Places, first: Places, end: Places, wanted: U64
    ) -> bool:
        """Whether the entries beside those ``found`` say so. Raises CorruptState for entries that have changed."""
        blocks = self.keyed.blocks
        if blocks is None or blocks.whole or array is None:
            return True
        below, above = found > first, found < end
        touch(blocks, array, np.concatenate([found[below] - 1, found[above]]))
        before, after = own[found[below] - 1], own[found[above]]
        return bool((before < wanted[below]).all() and (after >= wanted[above]).all())
