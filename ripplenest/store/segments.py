"""Immutable segments: rows of one table, and for each access key a sorted index of them.

A commit writes its segments as *blobs* into at most two pack files, so that it costs two file fsyncs however many
tables it touches; merges of few rows lie beside the changes. Every blob begins at a 64-byte boundary, so that it is
used where it is mapped (``encoding.py``):

- a segment: c0…, w, ordered by the hash of the first access key (the rows of one key are neighbours on disk), as
  ``mapped.py`` reads it;
- an index on columns (i, j, …), as ``indexes.py`` has it;
- an index on an ordering, as ``ordered.py`` has it.

Whatever an answer rests on is checked first, by blocks (``blocks.py``).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import Factory, field, frozen
from cachetools import LRUCache

from ripplenest.data.grouping import hashes_of
from ripplenest.data.index import Keys, Places, index_of, matched
from ripplenest.data.order import Ordering
from ripplenest.data.room import Room
from ripplenest.nrc.errors import CorruptState
from ripplenest.store.blocks import Blocks, Checked, root, trailer
from ripplenest.store.database.seal import seal
from ripplenest.store.disk import Blob, Disk
from ripplenest.store.encoding import decode, encode
from ripplenest.store.index.arranging import in_order_of
from ripplenest.store.index.indexes import RANGE, SHIFT, KeyIndex, entries_of
from ripplenest.store.index.ordered import OrderedIndex
from ripplenest.store.layouts import Layout, adapted
from ripplenest.store.mapped import Mapped
from ripplenest.store.specs import Access, Columns, columns_text

ALIGNMENT = 64
PART = 1 << 24  # bytes that are read or written at once
MAX_HANDLES = 4096  # open mappings; the kernel allows 65530 per process
Stored = Mapped | KeyIndex | OrderedIndex  # what a blob holds
VERIFIED = 4  # blobs of which is known what of them was checked, per open mapping
T = TypeVar("T")


TOGETHER = 1 << 6  # in the level: what its version has of such segments of its table is one sorted run


@frozen
class Segment:
    """What the catalogue knows of a segment. It is part of the versions born ≤ v < died; ``died`` is not kept here. Its
    ``level`` is its tier when it was made, beside ``TOGETHER`` for one of several that were merged by tasks."""

    id: int
    table: int
    blob: Blob
    rows: int
    level: int
    born: int
    is_delta: bool
    indexes: Mapping[Access, Blob] = field(factory=dict, eq=False)
    digest: str = Factory(lambda self: self.sealed(), takes_self=True)

    @property
    def run(self) -> tuple[bool, bool, int]:
        """Segments that have the same share no row (``ref.sorted_runs``)."""
        is_together = self.is_delta or self.level >= TOGETHER
        return self.is_delta, is_together, self.born if is_together else self.id

    def merged(self, many: int) -> "Segment":
        """The same as one of so ``many`` that take the place of others in a table, and are no change of it."""
        level = self.level + (TOGETHER if many > 1 else 0)
        return Segment(self.id, self.table, self.blob, self.rows, level, self.born, False, self.indexes)

    def sealed(self) -> str:
        """The digest of every fixed field; indexes can be added later and carry their own digests."""
        b = self.blob
        place = (b.file, b.offset, b.bytes, b.sha256)
        return seal(self.id, self.table, *place, self.rows, self.level, self.born, int(self.is_delta))


# ---------------------------------------------------------------- writing


class Pack:
    """A file in the making: blobs one after another. What of them lies in other files is read when it is written."""

    def __init__(self, file: str, room: Room) -> None:
        self.file = file
        self._room = room
        self._chunks: list[bytes | pa.Buffer] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def add(self, table: pa.Table) -> Blob:
        """Append ``table``."""
        data = encode(table)
        digests = trailer(self._parts(data))
        blob = Blob(self.file, self._size, sum(map(len, data)) + len(digests), root(digests))
        padding = bytes(-blob.bytes % ALIGNMENT)
        self._chunks += [*data, digests + padding]
        self._size += blob.bytes + len(padding)
        return blob

    def write(self, disk: Disk, lasts: bool = True) -> None:
        """Into one file, which is durable but for its name if it ``lasts``."""
        disk.write_bytes(self.file, self._parts(self._chunks), lasts)

    def _parts(self, chunks: Sequence[bytes | pa.Buffer]) -> Iterator[memoryview]:
        """``chunks``, large ones in parts, each of which is let go of when the next is wanted."""
        for chunk in chunks:
            view = memoryview(chunk)
            for at in range(0, len(view), PART):
                yield view[at : at + PART]
                if len(view) > PART:
                    self._room.release()


# ---------------------------------------------------------------- reading


def of_hashes(rows: pa.Table, columns: Columns, low: int, high: int) -> pa.Table:
    """Those of ``rows`` whose ``columns`` have a stored hash low ≤ h < high."""
    if (low, high) == (0, RANGE):
        return rows
    upper = hashes_of(rows, columns) >> SHIFT
    return rows.filter(pa.array((upper >= low) & (upper < high)))



class Reader:
    """Memory-mapped blobs, of which each block is checked against its digest when this process first reads of it."""

    def __init__(self, disk: Disk, handles: int = MAX_HANDLES) -> None:
        self.disk = disk
        self._open: LRUCache[Hashable, object] = LRUCache(handles)
        self._verified: LRUCache[Blob, Checked] = LRUCache(VERIFIED * handles)  # blobs die, but nobody tells
        self._lock = Lock()

    def scan(self, segment: Segment, layouts: Sequence[Layout] = ()) -> pa.Table:
        """The rows of ``segment``, not copied, under the newest of ``layouts``. Raises CorruptState."""
        later = _later(segment, layouts)
        if not later:
            return self._rows(segment).whole()
        return self._cached((segment.blob, "at", later[-1].n), lambda: adapted(self._rows(segment).whole(), later))

    def part(self, segment: Segment, first: int, end: int, layouts: Sequence[Layout] = ()) -> pa.Table:
        """The rows of ``segment`` from place ``first`` to before ``end``. Raises CorruptState."""
        return adapted(self._rows(segment).part(first, end), _later(segment, layouts))

    def index(
        self, segment: Segment, columns: Columns, complete: bool = True, layouts: Sequence[Layout] = ()
    ) -> KeyIndex:
        """The index of ``segment`` on ``columns``. Raises CorruptState, also when it has no such index but should,
        being ``complete``. Else one is made: access keys that came after the death of a segment are not stored with
        it."""
        blob = self._index_blob(segment, columns, complete)
        if blob is None:
            made = lambda: KeyIndex.of(entries_of(index_of(self.scan(segment, layouts), columns)), columns, segment.id)  # noqa: E731
            return self._cached((segment.blob, columns, len(layouts)), made)
        found = self._cached(blob, lambda: KeyIndex.read(*self._load(blob), self._path(blob)))
        if not found.is_of(columns, segment.id):
            raise found.foreign(columns, segment.id, self._path(blob))
        return found

    def order(
        self, segment: Segment, o: Ordering, complete: bool = True, layouts: Sequence[Layout] = ()
    ) -> OrderedIndex:
        """The index of ``segment`` on an ordering, as ``index`` has that on columns. Raises CorruptState."""
        blob = self._index_blob(segment, o, complete)
        if blob is None:
            made = lambda: OrderedIndex.of(in_order_of(self.scan(segment, layouts), o, Room()), o, segment.id)  # noqa: E731
            return self._cached((segment.blob, o, len(layouts)), made)
        found = self._cached(blob, lambda: OrderedIndex.read(*self._load(blob), self._path(blob)))
        if not found.keyed.is_of(o, segment.id):
            raise found.keyed.foreign(o, segment.id, self._path(blob))
        return found

    def taken(self, segment: Segment, places: Places, layouts: Sequence[Layout] = ()) -> pa.Table:
        """The rows of ``segment`` at ``places``. Raises CorruptState."""
        return adapted(self._rows(segment).taken(places), _later(segment, layouts))

    def _index_blob(self, segment: Segment, access: Access, complete: bool) -> Blob | None:
        """Where an index is; None where it has to be made. Raises CorruptState for one that should be there."""
        blob = segment.indexes.get(access)
        if blob is None and complete:
            where, possible = self._path(segment.blob), map(columns_text, segment.indexes)
            wanted = columns_text(access)
            raise CorruptState("a segment has lost an index", where=where, wanted=wanted, possible=possible)
        return blob

    def probe(
        self, segment: Segment, keys: Keys, complete: bool = True, layouts: Sequence[Layout] = ()
    ) -> pa.Table | None:
        """The rows of ``segment`` whose key is one of ``keys`` (NULL is NULL, NaN is NaN); None when there are none.

        Cost: keys × log(rows) + rows with an equal hash. Raises CorruptState. ``complete``: see ``index``.
        """
        index, rows = self.index(segment, keys.columns, complete, layouts), self._rows(segment)
        later = _later(segment, layouts)
        candidates, found = np.empty(0, np.int64), pa.table({})

        def values(places: Places) -> list[pa.Array]:
            nonlocal candidates, found
            candidates, found = places, adapted(rows.taken(places), later)
            return [found.column(i).combine_chunks() for i in keys.columns]

        _, places = matched(index, values, index.asked(keys), keys.arrays)
        if not len(places):
            return None
        return found if places is candidates else adapted(rows.taken(places), later)  # nearly always all of them are

    def spread(self, run: tuple[Segment, ...], keys: Keys) -> tuple[Places, Places]:
        """By segment of a sorted run that is ordered by the columns of ``keys``, which of these its hashes are among:
        the first, and the one after the last. What the least and the greatest hash of each is, is asked once."""
        columns = keys.columns

        def ends() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
            found = np.array([self.index(s, columns).ends for s in run], np.uint32)
            return found[:, 0], found[:, 1]

        low, high = self._cached((run[0].blob, run[-1].blob, len(run), columns), ends)
        asked = keys.hashes >> SHIFT
        return np.searchsorted(asked, low, "left"), np.searchsorted(asked, high, "right")

    def between(
        self, segment: Segment, columns: Columns, low: int, high: int, layouts: Sequence[Layout] = ()
    ) -> pa.Table | None:
        """The rows of ``segment`` whose ``columns`` have a stored hash low ≤ h < high; None when there are none. Where
        it is ordered by them, only these are read. Raises CorruptState."""
        if columns in segment.indexes:
            index = self.index(segment, columns, True, layouts)
            if index.in_order:
                first, end = index.between(low, high)
                return self.part(segment, first, end, layouts) if end > first else None
        found = of_hashes(self.scan(segment, layouts), columns, low, high)
        return found if found.num_rows else None

    def remember(self, made: Iterable[tuple[Blob, Stored]]) -> None:
        """Keep what the blobs that were just written hold, as if it had been read: the next batch asks for it."""
        with self._lock:
            self._open.update(made)

    def check(self, blob: Blob) -> None:
        """Read all of ``blob``, whatever was read of it before. Raises CorruptState."""
        self._blocks(blob, None).all()

    def close(self) -> None:
        """Forget every mapping; tables that are still in use keep theirs."""
        with self._lock:
            self._open.clear()

    def _cached(self, what: Hashable, load: Callable[[], T]) -> T:
        with self._lock:
            if what in self._open:
                return self._open[what]  # type: ignore[return-value]
        loaded = load()
        with self._lock:
            self._open[what] = loaded
        return loaded

    def _rows(self, segment: Segment) -> Mapped:
        return self._cached(segment.blob, lambda: Mapped(*self._load(segment.blob)))

    def _load(self, blob: Blob) -> tuple[pa.Table, Blocks]:
        with self._lock:
            checked = self._verified.get(blob)
        blocks = self._blocks(blob, checked)
        with self._lock:
            self._verified[blob] = blocks.checked
        return decode(blocks), blocks

    def _blocks(self, blob: Blob, checked: Checked | None) -> Blocks:
        return Blocks(self.disk.map(blob), blob.sha256, self._path(blob), blob.offset, checked)

    def _path(self, blob: Blob) -> str:
        return str(self.disk.folder / blob.file)


def _later(segment: Segment, layouts: Sequence[Layout]) -> list[Layout]:
    """The layouts that came after ``segment``."""
    return [layout for layout in layouts if layout.n > segment.born]
