"""Immutable segments: rows of one table, and for each access key a sorted index of them.

A commit writes its segments as *blobs* into at most two pack files, so that it costs two file fsyncs however many
tables it touches. Every blob begins at a 64-byte boundary, so that it is used where it is mapped (``encoding.py``):

- a segment: c0…, w, ordered by the hash of the first access key (the rows of one key are neighbours on disk);
- an index on columns (i, j, …): h: uint64 ascending, the hash of the key; r: int64, the row. The metadata is i, j, ….
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from threading import Lock
from typing import TypeVar

import numpy as np
import pyarrow as pa
from attrs import Factory, field, frozen
from cachetools import LRUCache

from ripplenest.data.index import Index, Keys, index_of, matches
from ripplenest.nrc.errors import CorruptState
from ripplenest.store.disk import Blob, Disk, sha256
from ripplenest.store.encoding import decode, encode
from ripplenest.store.layouts import Layout, adapted
from ripplenest.store.seal import seal
from ripplenest.store.specs import Columns

ALIGNMENT = 64
MAX_HANDLES = 4096  # open mappings; the kernel allows 65530 per process
VERIFIED = 4  # blobs whose digests are known to be right, per open mapping
T = TypeVar("T")


@frozen
class Segment:
    """What the catalogue knows of a segment. It is part of the versions born ≤ v < died; ``died`` is not kept here."""

    id: int
    table: int
    blob: Blob
    rows: int
    level: int
    born: int
    is_delta: bool
    indexes: Mapping[Columns, Blob] = field(factory=dict, eq=False)
    digest: str = Factory(lambda self: self.sealed(), takes_self=True)

    def sealed(self) -> str:
        """The digest of every fixed field; indexes can be added later and carry their own digests."""
        b = self.blob
        place = (b.file, b.offset, b.bytes, b.sha256)
        return seal(self.id, self.table, *place, self.rows, self.level, self.born, int(self.is_delta))


# ---------------------------------------------------------------- writing


class Pack:
    """A file in the making: blobs one after another."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._chunks: list[bytes | pa.Buffer] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def add(self, table: pa.Table) -> Blob:
        """Append ``table``."""
        data = encode(table)
        blob = Blob(self.file, self._size, data.size, sha256(data))
        padding = bytes(-data.size % ALIGNMENT)
        self._chunks += [data, padding]
        self._size += data.size + len(padding)
        return blob

    def write(self, disk: Disk) -> None:
        disk.write_bytes(self.file, self._chunks)


def clustered(table: pa.Table, keys: Sequence[Columns]) -> tuple[pa.Table, dict[Columns, Index]]:
    """``table`` as one chunk, ordered by the hash of its first access key, and its index on each of ``keys``."""
    if not keys:
        return table.combine_chunks(), {}
    first, *others = keys
    index = index_of(table, first)
    table = (table.take(pa.array(index[1])) if table.num_rows > 1 else table).combine_chunks()
    in_order = np.arange(table.num_rows)
    return table, {first: (index[0], in_order), **{columns: index_of(table, columns) for columns in others}}


def index_table(columns: Columns, index: Index) -> pa.Table:
    """What the blob of an index holds."""
    hashes, rows = index
    table = pa.Table.from_arrays([pa.array(hashes), pa.array(rows)], names=["h", "r"])
    return table.replace_schema_metadata({"columns": _column_text(columns)})


def _column_text(columns: Columns) -> str:
    return ",".join(map(str, columns))


# ---------------------------------------------------------------- reading


class Reader:
    """Verified, memory-mapped blobs. Each is checked against its digest when this process first opens it."""

    def __init__(self, disk: Disk, handles: int = MAX_HANDLES) -> None:
        self.disk = disk
        self._open: LRUCache[Hashable, object] = LRUCache(handles)
        self._verified: LRUCache[Blob, None] = LRUCache(VERIFIED * handles)  # blobs die, but nobody tells
        self._lock = Lock()

    def scan(self, segment: Segment, layouts: Sequence[Layout] = ()) -> pa.Table:
        """The rows of ``segment``, not copied, under the newest of ``layouts``. Raises CorruptState."""
        later = [layout for layout in layouts if layout.n > segment.born]
        if not later:
            return self._cached(segment.blob, lambda: self._load(segment.blob))
        return self._cached((segment.blob, "at", later[-1].n), lambda: adapted(self._load(segment.blob), later))

    def index(
        self, segment: Segment, columns: Columns, complete: bool = True, layouts: Sequence[Layout] = ()
    ) -> Index:
        """(h, r) of ``segment`` on ``columns``. Raises CorruptState, also when it has no such index but should, being
        ``complete``. Else one is made: access keys that came after the death of a segment are not stored with it."""
        blob = segment.indexes.get(columns)
        if blob is None and not complete:
            made = lambda: index_of(self.scan(segment, layouts), columns)  # noqa: E731
            return self._cached((segment.blob, columns, len(layouts)), made)
        if blob is None:
            where, possible = str(self.disk.folder / segment.blob.file), map(_column_text, segment.indexes)
            raise CorruptState("a segment has lost an index", where=where, wanted=columns, possible=possible)
        return self._cached(blob, lambda: self._load_index(blob, columns))

    def probe(
        self, segment: Segment, keys: Keys, complete: bool = True, layouts: Sequence[Layout] = ()
    ) -> pa.Table | None:
        """The rows of ``segment`` whose key is one of ``keys`` (NULL is NULL, NaN is NaN); None when there are none.

        Cost: keys × log(rows) + rows with an equal hash. Raises CorruptState. ``complete``: see ``index``.
        """
        index = self.index(segment, keys.columns, complete, layouts)
        table = self.scan(segment, layouts)
        _, places = matches(index, table, keys.columns, keys.hashes, keys.arrays)
        return table.take(pa.array(places)) if len(places) else None

    def remember(self, made: Iterable[tuple[Blob, pa.Table | Index]]) -> None:
        """Keep what the blobs that were just written hold, as if it had been read: the next batch asks for it."""
        with self._lock:
            self._open.update(made)

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

    def _load(self, blob: Blob) -> pa.Table:
        data = self.disk.map(blob)
        with self._lock:
            verified = blob in self._verified
        if not verified:
            self.disk.verify(blob, data)
            with self._lock:
                self._verified[blob] = None
        return decode(data)

    def _load_index(self, blob: Blob, columns: Columns) -> Index:
        table = self._load(blob)
        got = (table.schema.metadata or {}).get(b"columns", b"").decode()
        if got != _column_text(columns):
            raise CorruptState("an index of other columns", where=blob.file, wanted=_column_text(columns), got=got)
        return _arrays(table)


def _arrays(index: pa.Table) -> Index:
    hashes, rows = (index.column(name).combine_chunks() for name in ("h", "r"))
    return hashes.to_numpy(), rows.to_numpy()
