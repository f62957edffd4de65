"""Making the entries of an order: rows by the hash of their key, then by the prefix of what orders them, then by all of
it (``ordered.py`` says what they are).

Rows themselves are only looked at where both numbers agree. Small tables are arranged in memory. Of those that are
larger than what is worked on at a time, entries are sorted in runs that lie in files, by a number that is both: the
hash, and where between the least and the greatest prefix of the table a prefix is. So memory holds a window of entries,
or those that agree in this number, and a window of rows, or those that agree in hash and prefix.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, frozen

from ripplenest.data.argsort import argsort_by
from ripplenest.data.hashing import U64, hash_columns
from ripplenest.data.index import Places
from ripplenest.data.levels import Level
from ripplenest.data.order import LEAST, MOST, UP, By, Ordering, changes, furthest, prefixes, prefixes_by, row_codes
from ripplenest.data.room import Room, held
from ripplenest.data.sorting import Sorter
from ripplenest.data.spool import Extent, Spool, concatenated
from ripplenest.store.index.clustering import pieces
from ripplenest.store.index.indexes import NARROW, SHIFT, Entries, upper

Hashes = npt.NDArray[np.uint32]


@frozen(eq=False)
class OrderedEntries:
    """What is stored of the order of a table; ``reach``: of each entry the greatest prefix so far, among those of its
    hash, of the column ``until`` which the order says it, if it does."""

    keyed: Entries
    prefixes: U64
    reach: U64 | None = None


def in_order_of(table: pa.Table, o: Ordering, room: Room) -> OrderedEntries:
    """The entries of ``table`` (c0…, w), whose rows are different."""
    if held(table) > room.chunk:
        return _reaching(_in_windows(table, o.key, o.every(table.num_columns - 1), room), table, o, room)
    return arranged(table, o, room)


def arranged(table: pa.Table, o: Ordering, room: Room | None = None) -> OrderedEntries:
    """The same of what is in memory as a whole."""
    by, rows = o.every(table.num_columns - 1), np.arange(table.num_rows)
    hashes, own, rows = _arranged(table, by, *_numbers(table, o.key, by), rows, room)
    return _reaching(OrderedEntries((hashes, _narrow(rows, len(rows))), own), table, o, room)


def _reaching(found: OrderedEntries, table: pa.Table, o: Ordering, room: Room | None) -> OrderedEntries:
    """The same with how far rows reach."""
    if o.until is None:
        return found
    hashes, rows = found.keyed
    every = [piece for _, piece in pieces(table, room)] if room is not None else [table]
    ends = [prefixes(piece.column(o.until).combine_chunks(), UP) for piece in every]
    known, ranks = furthest(hashes, np.concatenate([np.empty(0, np.uint64), *ends])[rows])
    return evolve(found, reach=known[ranks])


def _narrow(rows: Places, many: int) -> npt.NDArray[np.uint32] | Places:
    """Numbers of some of so many rows."""
    return rows.astype(np.uint32) if many <= NARROW else rows


def _numbers(piece: pa.Table, key: Sequence[int], by: Sequence[By]) -> tuple[Hashes, U64]:
    """The hash of each key, and the prefix of what comes first in what orders rows."""
    hashes = upper(hash_columns([piece.column(c).combine_chunks() for c in key], piece.num_rows))
    return hashes, prefixes_by(piece, by)


def _arranged(
    table: pa.Table, by: Sequence[By], hashes: Hashes, own: U64, rows: Places, room: Room | None
) -> tuple[Hashes, U64, Places]:
    """Some ``rows`` of ``table`` in order, with their numbers."""
    order = argsort_by(hashes, own)
    hashes, own, rows = hashes[order], own[order], rows[order]
    many = table.num_rows if room is None else max(table.num_rows * room.chunk // max(table.nbytes, 1), 1)
    for start, end in _ties(hashes, own, many):
        tied = rows[start:end]
        runs = np.cumsum(changes([hashes[start:end], own[start:end]]), dtype=np.int64)
        rows[start:end] = tied[argsort_by(runs, *row_codes(table.take(pa.array(tied)), by))]
        if room is not None:
            room.release()
    return hashes, own, rows


def _ties(hashes: Hashes, own: U64, most: int) -> Iterator[tuple[int, int]]:
    """Spans of entries that agree with a neighbour in both, whole ones together, of about ``most`` entries at most."""
    starts = np.flatnonzero(changes([hashes, own]))
    ends = np.append(starts[1:], len(hashes))
    many = (ends - starts) > 1
    starts, ends = starts[many], ends[many]
    at = 0
    while at < len(starts):
        last = max(int(np.searchsorted(ends, starts[at] + most, "right")), at + 1)
        yield int(starts[at]), int(ends[last - 1])
        at = last


# ---------------------------------------------------------------- beyond memory


def _in_windows(table: pa.Table, key: Sequence[int], by: Sequence[By], room: Room) -> OrderedEntries:
    sorter, many = Sorter(room), table.num_rows
    low, high = _range(table, by, room)
    shift = np.uint64(max(int(high - low).bit_length() - 32, 0))
    for start, piece in pieces(table, room):
        hashes, own = _numbers(piece, key, by)
        rows = _narrow(np.arange(start, start + piece.num_rows), many)
        place = (np.clip(own, low, high) - low) >> shift
        sorter.add(Level(len(rows), [pa.array(own), pa.array(rows)]), hashes.astype(np.uint64) << SHIFT | place)
    types = (pa.uint32(), pa.uint64(), pa.uint32() if many <= NARROW else pa.int64())
    spool = Spool(room, Extent(many, tuple((t, 0) for t in types), ()))
    for found, level in _whole(sorter.windows()):
        own, rows = (column.to_numpy() for column in level.columns)
        arranged = _arranged(table, by, upper(found), own, rows.astype(np.int64), room)
        spool.append(Level(level.size, [pa.array(a, t) for a, t in zip(arranged, types, strict=True)]))
    hashes, own, rows = (column.chunk(0).to_numpy() for column in spool.stored().columns)
    return OrderedEntries((hashes, rows), own)


def _range(table: pa.Table, by: Sequence[By], room: Room) -> tuple[np.uint64, np.uint64]:
    """The least prefix of a value, and the greatest: NULL is far from both."""
    low, high = MOST, LEAST
    for _, piece in pieces(table, room):
        own = prefixes_by(piece, by)
        values = own[(own >= LEAST) & (own <= MOST)]
        low, high = min(low, values.min(initial=MOST)), max(high, values.max(initial=LEAST))
    return min(low, high), high


def _whole(windows: Iterable[tuple[U64, Level]]) -> Iterator[tuple[U64, Level]]:
    """Windows, those together that one number is in."""
    some: list[tuple[U64, Level]] = []
    for numbers, level in windows:
        if some and some[-1][0][-1] != numbers[0]:
            yield _together(some)
            some.clear()
        some.append((numbers, level))
    if some:
        yield _together(some)


def _together(some: Sequence[tuple[U64, Level]]) -> tuple[U64, Level]:
    return np.concatenate([numbers for numbers, _ in some]), concatenated([level for _, level in some])
