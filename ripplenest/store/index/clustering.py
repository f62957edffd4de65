"""The rows of a segment in the order of their first access key, and the index of each key, as they are stored.

Small tables are sorted in memory. Of those that are larger than what is worked on at a time in the room that there is,
rows and the entries of indexes are sorted in runs, and lie in files until they are written: memory holds a window.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa

from ripplenest.data.argsort import ascends
from ripplenest.data.hashing import U64, hash_columns
from ripplenest.data.index import Columns, Index, index_of
from ripplenest.data.levels import Level
from ripplenest.data.room import Room, held
from ripplenest.data.rows import WEIGHT
from ripplenest.data.sorting import Sorter
from ripplenest.data.spool import Extent, Spool
from ripplenest.store.index.indexes import NARROW, Entries, entries_of, upper


def clustered(
    table: pa.Table, keys: Sequence[Columns], room: Room
) -> tuple[pa.Table, dict[Columns, Entries]]:
    """``table`` as one chunk, ordered by the hash of its first access key, and its index on each of ``keys``."""
    if held(table) > room.chunk and table.num_columns > 1:
        return _in_windows(table, keys, room)
    if not keys:
        return table.combine_chunks(), {}
    first, *others = keys
    index = index_of(table, first)
    table = (table if ascends(index[1]) else table.take(pa.array(index[1]))).combine_chunks()
    in_order = np.arange(table.num_rows)
    found: dict[Columns, Index] = {columns: index_of(table, columns) for columns in others}
    return table, {columns: entries_of(i) for columns, i in {first: (index[0], in_order), **found}.items()}


def indexed(table: pa.Table, columns: Columns, room: Room) -> Entries:
    """The index of stored rows on ``columns``."""
    return entries_of(index_of(table, columns)) if held(table) <= room.chunk else _sorted_index(table, columns, room)


def _in_windows(table: pa.Table, keys: Sequence[Columns], room: Room) -> tuple[pa.Table, dict[Columns, Entries]]:
    first, *others = keys or [()]
    if not _ascends(table, first, room):
        table = _sorted(table, first, room)
    elif not _is_one_chunk(table):
        table = _as_one(table, room)
    found = {first: _first_index(table, first, room)} if keys else {}
    return table, {**found, **{columns: _sorted_index(table, columns, room) for columns in others}}


def _is_one_chunk(table: pa.Table) -> bool:
    """Texts of more than 2 GB are several."""
    return table.nbytes > NARROW or all(column.num_chunks == 1 for column in table.columns)


def pieces(table: pa.Table, room: Room) -> Iterator[tuple[int, pa.Table]]:
    """``table`` a chunk at a time, with the number of the first row of each."""
    most = max(table.num_rows * room.chunk // max(table.nbytes, 1), 1)
    for start in range(0, table.num_rows, most):
        yield start, table.slice(start, most).combine_chunks()
        room.release()


def _hashes(piece: pa.Table, columns: Columns) -> U64:
    return hash_columns([piece.column(c).combine_chunks() for c in columns], piece.num_rows)


def _ascends(table: pa.Table, columns: Columns, room: Room) -> bool:
    last = np.uint64(0)
    for _, piece in pieces(table, room):
        found = _hashes(piece, columns)
        if found[0] < last or (found[1:] < found[:-1]).any():
            return False
        last = found[-1]
    return True


def _as_one(table: pa.Table, room: Room) -> pa.Table:
    levels = (_level(chunk) for chunk in table.to_batches())
    extent = reduce(Extent.plus, map(Extent.of, levels))
    return _in_file(table.schema, extent, (_level(piece) for _, piece in pieces(table, room)), room)


def _level(piece: pa.Table | pa.RecordBatch) -> Level:
    *values, weights = (c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in piece.columns)
    return Level(piece.num_rows, values, weights=weights.to_numpy())


def _sorted(table: pa.Table, columns: Columns, room: Room) -> pa.Table:
    sorter = Sorter(room)
    for _, piece in pieces(table, room):
        sorter.add(_level(piece), _hashes(piece, columns))
    assert sorter.extent is not None
    return _in_file(table.schema, sorter.extent, (window for _, window in sorter.windows()), room)


def _in_file(schema: pa.Schema, extent: Extent, levels: Iterable[Level], room: Room) -> pa.Table:
    """The rows of ``levels``, which hold at most ``extent``, one after the other."""
    spool = Spool(room, extent)
    for level in levels:
        spool.append(level)
    stored = spool.stored()
    assert schema.names[-1] == WEIGHT
    return pa.Table.from_arrays([*stored.columns, stored.weights], schema=schema)


def _first_index(table: pa.Table, columns: Columns, room: Room) -> Entries:
    spool = Spool(room, Extent(table.num_rows, ((pa.uint32(), 0),), ()))
    for _, piece in pieces(table, room):
        spool.append(Level(piece.num_rows, [pa.array(upper(_hashes(piece, columns)))]))
    return spool.stored().columns[0].chunk(0).to_numpy(), None


def _sorted_index(table: pa.Table, columns: Columns, room: Room) -> Entries:
    sorter, numbers = Sorter(room), np.uint32 if table.num_rows <= NARROW else np.int64
    for start, piece in pieces(table, room):
        rows = np.arange(start, start + piece.num_rows).astype(numbers)
        sorter.add(Level(piece.num_rows, [pa.array(rows)]), _hashes(piece, columns))
    spool = Spool(room, Extent(table.num_rows, ((pa.uint32(), 0), (pa.from_numpy_dtype(numbers), 0)), ()))
    done, ordered = 0, True
    for hashes, window in sorter.windows():
        spool.append(Level(window.size, [pa.array(upper(hashes)), *window.columns]))
        ordered = ordered and bool((window.columns[0].to_numpy() == np.arange(done, done + window.size)).all())
        done += window.size
    found, rows = (column.chunk(0).to_numpy() for column in spool.stored().columns)
    return found, None if ordered else rows
