"""Merging by ranges of hashes: what stands in order in several places becomes segments, each on its own.

Whatever is ordered by the hash of its first access key can be merged a range of hashes at a time: runs that tasks have
just written, and stored segments. Equal rows have equal hashes, so a range is summed without looking at another, and
each range may be merged by another process, which needs no catalogue: it is told the segments that it reads and the
number of the one that it makes, and writes it, durable, under a name that no other attempt has.

What two tables hold that are ordered alike differs range by range, too: so the change from one to the other is a merge
in which the rows of one count against those of the other, and neither is in memory.

The segments of one table are a sorted run (``ref.sorted_runs``). How many there are is said by their bytes, and not by
how many tasks there were: what is asked by the first access key is looked up in those segments alone whose hashes it
can have, but what is asked by others is looked up in each.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
from attrs import frozen

from ripplenest.data.columnar import consolidated
from ripplenest.data.hashing import U64
from ripplenest.data.index import index_of
from ripplenest.data.room import Room, held
from ripplenest.data.rows import Rows
from ripplenest.data.sorting import Sorter
from ripplenest.data.spool import Spool
from ripplenest.data.sums import rows_level, stored_rows, sum_of
from ripplenest.nrc.types import Base
from ripplenest.store.disk import Disk
from ripplenest.store.index.indexes import RANGE
from ripplenest.store.making import made_of
from ripplenest.store.mapped import lightened
from ripplenest.store.merging import tier
from ripplenest.store.ref import TableRef, ranges
from ripplenest.store.segments import Pack, Reader, Segment
from ripplenest.store.specs import Access, Columns
from ripplenest.store.staging import file_name

LEAST = 1 << 26  # bytes below which a range is not worth a task
MOST = 1 << 30  # bytes that a segment has, about: its texts are to be one array


@frozen
class Range:
    """The rows of ``source``, without those of ``minus``, whose stored hashes are low ≤ h < high, which become segment
    ``id`` of ``table``."""

    source: TableRef
    low: int
    high: int
    id: int
    table: int
    minus: TableRef | None = None


@frozen
class Merged:
    """What a range became: its segment, None where it has no rows; and how often, at most, its source has a row."""

    segment: Segment | None
    heaviest: int


def divided(source: TableRef, tasks: int, first: int, table: int, minus: TableRef | None = None) -> list[Range]:
    """All rows of ``source``, without those of ``minus``, in as many ranges as ``tasks`` can do at once, if there is
    enough to do. Segments get numbers from ``first`` on."""
    size = sum(s.blob.bytes for ref in (source, minus) if ref is not None for s in ref.segments)
    many = max(-(-size // MOST), min(tasks, -(-size // LEAST)), 1)
    found = enumerate(ranges(0, RANGE, many if source.spec.types else 1), first)
    return [Range(source, low, high, i, table, minus) for i, (low, high) in found]


def merge(work: Range, reader: Reader, disk: Disk, room: Room) -> Merged:
    """Write the segment of a range. Law: it holds source ⊎ ⊖minus. Raises CorruptState, and EvaluationError for a
    weight beyond 64 bits."""
    rows, heaviest = _gathered(work, reader, room) if work.source.spec.indexes else _whole(work, reader, room)
    return Merged(settled(work, rows, disk, room), heaviest)


def settled(work: Range, rows: Rows, disk: Disk, room: Room) -> Segment | None:
    """Write ``rows``, which are those of a range, as its segment; None where there are none."""
    if not len(rows):
        return None
    unwritten = Unwritten(rows, work.source.spec.access, work.id, work.table, is_delta=True)
    return written([unwritten], disk, room)[0]


@frozen
class Unwritten:
    """Rows, each once, that are to be segment ``id`` of ``table``, with an index for each of ``keys``. What is no
    ``is_delta`` is a sorted run by itself. Which version it is born in, the commit says."""

    rows: Rows
    keys: Sequence[Access]
    id: int
    table: int = 0
    is_delta: bool = False


def written(rows: Sequence[Unwritten], disk: Disk, room: Room, lasts: bool = True) -> list[Segment]:
    """Segments in one new file, which is durable but for its name. What is merged before anything is named does not
    need to last: it goes with the staging folder, whoever dies."""
    pack, found = Pack(file_name(), room), []
    for d in rows:
        table, indexes = made_of(d.rows.arrow(), d.keys, d.id, room)
        blob = pack.add(lightened(table))
        keyed = {access: pack.add(index.table) for access, index in indexes.items()}
        size = table.num_rows
        found.append(Segment(d.id, d.table, blob, size, tier(size), 0, d.is_delta, keyed))
    pack.write(disk, lasts)
    return found


def windows(source: TableRef, reader: Reader, low: int, high: int, room: Room) -> Iterator[tuple[U64, Rows]]:
    """What is between ``low`` and ``high``, each row once, in the order of the hashes beside them, some at a time."""
    for start, end in parts((source,), low, high, room):
        rows = source.between(reader, start, end)
        if len(rows):
            yield ordered(rows, source.clustered)
        room.release()


def ordered(rows: Rows, columns: Columns) -> tuple[U64, Rows]:
    """``rows``, each once, in the order of the hashes of ``columns``, and these."""
    hashes, order = index_of(rows.arrow(), columns)
    if not rows.is_sum and len(hashes) > 1 and (hashes[1:] == hashes[:-1]).any():
        rows = consolidated({"": rows})[""]
        hashes, order = index_of(rows.arrow(), columns)
    table = rows.arrow()
    if (order[1:] < order[:-1]).any():
        table = table.take(pa.array(order))
    return hashes, Rows(rows.types, table=table.combine_chunks(), summed=True)


def _gathered(work: Range, reader: Reader, room: Room) -> tuple[Rows, int]:
    """The rows of a range in their order, and how often its source has one."""
    heaviest = 0

    def found() -> Iterator[tuple[U64, Rows]]:
        nonlocal heaviest
        for hashes, rows, weight in _differing(work, reader, room):
            heaviest = max(heaviest, weight)
            yield hashes, rows

    return gathered(work.source.spec.types, found(), room), heaviest


def gathered(types: tuple[Base, ...], found: Iterable[tuple[U64, Rows]], room: Room) -> Rows:
    """The rows of all windows of a range, as ``windows`` has them, in their order; in a file where they do not fit."""
    sorter: Sorter | None = None
    some: list[tuple[U64, Rows]] = []
    size = 0
    for window in found:
        some.append(window)
        size += held(window[1].arrow())
        if size > room.chunk:
            sorter = sorter or Sorter(room)
            for hashes, rows in some:
                sorter.add(rows_level(rows), hashes)
            some.clear()
    if sorter is None:
        tables = [Rows.empty(types).arrow(), *(rows.arrow() for _, rows in some)]
        return Rows(types, table=pa.concat_tables(tables), summed=True)
    for hashes, rows in some:
        sorter.add(rows_level(rows), hashes)
    assert sorter.extent is not None
    spool = Spool(room, sorter.extent)
    for _, level in sorter.windows():
        spool.append(level)
    return stored_rows(types, spool.stored())


def _differing(work: Range, reader: Reader, room: Room) -> Iterator[tuple[U64, Rows, int]]:
    """The windows of a range, and how often its source has a row of each."""
    if work.minus is None:
        for hashes, rows in windows(work.source, reader, work.low, work.high, room):
            yield hashes, rows, rows.heaviest()
        return
    for start, end in parts((work.source, work.minus), work.low, work.high, room):
        rows = consolidated({"": work.source.between(reader, start, end)})[""]
        weight, gone = rows.heaviest(), work.minus.between(reader, start, end)
        if len(gone):
            rows = rows.plus(gone.negated())
        hashes, found = ordered(rows, work.source.clustered)
        yield hashes, found, weight
        room.release()


def _whole(work: Range, reader: Reader, room: Room) -> tuple[Rows, int]:
    """The same of a table without order, of which every row is looked at for those of the range."""
    types, within = work.source.spec.types, (work.low, work.high, room.chunk)
    rows = sum_of(types, work.source.hashed(reader, *within), room)
    weight = rows.heaviest()
    if work.minus is not None:
        gone = (Rows(types, table=table).negated().arrow() for table in work.minus.hashed(reader, *within))
        rows = sum_of(types, chain([rows.arrow()], gone), room)
    return rows, weight


def parts(sources: Sequence[TableRef], low: int, high: int, room: Room) -> Iterator[tuple[int, int]]:
    """Ranges within low … high of what is to be in memory at once."""
    size = sum(s.blob.bytes for source in sources for s in source.segments) * (high - low) // RANGE
    return ranges(low, high, max(1, min(-(-size // room.chunk), high - low)))
