"""A table of one version as who reads it needs it: its segments, without the catalogue that named them.

A ``TableRef`` can be handed to another process and read there, whole or some of RANGE numbers at a time: a row has the
number of its hash. Equal rows have equal hashes, so ranges that do not overlap share no row, and each can be summed on
its own.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from ripplenest.data.index import Keys, Places, Wanted, asked_for
from ripplenest.data.order import First, Firsts, Ordering, Within
from ripplenest.data.rows import Rows
from ripplenest.data.scanned import Scanned
from ripplenest.nrc.errors import LawBroken, StateError
from ripplenest.store.database.chain import types_of, types_text
from ripplenest.store.disk import Blob
from ripplenest.store.index.asked import Asked
from ripplenest.store.index.first import read_first
from ripplenest.store.index.fronts import Take
from ripplenest.store.index.indexes import RANGE
from ripplenest.store.index.ordered import OrderedIndex
from ripplenest.store.index.probing import Asked as AskedKeys
from ripplenest.store.index.probing import Part, Probe
from ripplenest.store.index.within import count, lying, read_within
from ripplenest.store.layouts import Layout, layout_of
from ripplenest.store.segments import Reader, Segment, of_hashes
from ripplenest.store.specs import Columns, TableSpec, columns_of, columns_text, spec_of

Segments = tuple[Segment, ...]

PIECE = 1 << 12  # rows of a segment of which some are wanted that are looked at at once


@frozen
class TableRef:
    """The ``segments`` of a table, oldest first, the ``layouts`` that its columns had since the first of them, and
    which segments have an index for each access key (None: all)."""

    spec: TableSpec
    segments: Segments
    layouts: tuple[Layout, ...] = ()
    complete: frozenset[int] | None = None

    @property
    def size(self) -> int:
        """Its entries: at least its distinct rows."""
        return sum(s.rows for s in self.segments)

    @property
    def clustered(self) -> Columns:
        """The columns by whose hash ``between`` divides: those that segments are ordered by, or all of them."""
        return self.spec.indexes[0] if self.spec.indexes else tuple(range(len(self.spec.types)))

    def under(self, folder: str) -> "TableRef":
        """The same, whose files are named from the folder above ``folder``: so tables of several folders are read by
        one reader."""
        return evolve(self, segments=tuple(_under(s, folder) for s in self.segments))

    def with_change(self, segments: Segments, version: int) -> "TableRef":
        """With ``segments`` that are no version's yet on top, as ``version`` will have them."""
        return evolve(self, segments=(*self.segments, *(evolve(s, born=version) for s in segments)))

    def scan(self, reader: Reader) -> Rows:
        """All rows. Raises CorruptState, as all that reads here."""
        return self._rows([reader.scan(s, self.layouts) for s in self.segments])

    def some(self, reader: Reader, most: int) -> Rows:
        """At least ``most`` different rows, or all, each as often as it is there. Costs all segments but the largest,
        and of that what is returned, unless hardly any row is left of it. Law: part of ``scan``."""
        if not self.segments:
            return Rows.empty(self.spec.types)
        *others, largest = sorted(self.segments, key=lambda s: s.rows)
        every, found = tuple(range(len(self.spec.types))), Rows.empty(self.spec.types)
        known = Scanned(self._rows([reader.scan(s, self.layouts) for s in others]).consolidated())
        for first, end in ranges(0, largest.rows, -(-largest.rows // PIECE)):
            piece = self._rows([reader.part(largest, first, end, self.layouts)])
            found = found.plus(piece.plus(known.probe(every, piece)).consolidated())
            if len(found) >= most:
                return found
        return self.scan(reader).consolidated()

    def probe(self, reader: Reader, columns: Columns, keys: Wanted) -> Rows:
        """The rows whose ``columns`` are one of ``keys``, as ``Snapshot.probe`` has it."""
        self._check_key(columns)
        if not len(keys):
            return Rows.empty(self.spec.types)
        asked = AskedKeys.of(asked_for(columns, keys, tuple(self.spec.types[i] for i in columns)))
        parts = (part for run in sorted_runs(self.segments) for part in self._asked(reader, run, asked.keys))
        return self._rows(Probe(reader, asked, self._indexed, self.layouts).rows(parts))

    def many(self, reader: Reader, columns: Columns, keys: Rows) -> Places:
        """By key, how many entries have its hash, as ``Snapshot.many`` has it."""
        self._check_key(columns)
        asked = AskedKeys.of(Keys(columns, keys))
        parts = (Part(s, 0, len(asked.keys)) for s in self.segments)
        return Probe(reader, asked, self._indexed, self.layouts).many(parts)[asked.keys.numbers(keys)]

    def _check_key(self, columns: Columns) -> None:
        if columns not in self.spec.indexes:
            possible = self.spec.indexes
            raise StateError("not an access key of this table", where=self.spec.name, got=columns, possible=possible)

    def first(self, reader: Reader, asked: Firsts) -> First:
        """The first rows of keys, as ``Snapshot.first`` has it."""
        o = asked.order
        if o not in self.spec.ordered:
            possible = map(columns_text, self.spec.ordered)
            what, got = "not an ordering of this table", columns_text(o)
            raise StateError(what, where=self.spec.name, got=got, possible=possible)
        try:
            segments = [self._in_order(reader, s, o) for s in self.segments]
            return read_first(segments, Asked.of(asked, self.spec.types), asked.plus)
        except LawBroken as e:
            raise e.at(self.spec.name) from None

    def within(self, reader: Reader, *asked: Within) -> Rows | None:
        """The rows between values, as ``Snapshot.within`` has it."""
        known = [w for w in asked if w.order in self.spec.ordered]
        if not known:
            return None
        ways = [(lying([self._in_order(reader, s, w.order) for s in self.segments], w), w) for w in known]
        fewest = min(ways, key=lambda way: count(way[0]))
        return self._rows(list(read_within(*fewest, self.spec.types)))

    def _in_order(self, reader: Reader, s: Segment, o: Ordering) -> tuple[OrderedIndex, Take]:
        return reader.order(s, o, self._indexed(s), self.layouts), partial(reader.taken, s, layouts=self.layouts)

    def _asked(self, reader: Reader, run: Segments, keys: Keys) -> Iterator[Part]:
        """Which segments of a sorted run can have one of ``keys``, and which of these it can have."""
        if len(run) == 1 or keys.columns != self.clustered:
            yield from (Part(s, 0, len(keys)) for s in run)
            return
        first, end = reader.spread(run, keys)
        yield from (Part(run[i], int(first[i]), int(end[i])) for i in np.flatnonzero(end > first).tolist())

    @property
    def is_run(self) -> bool:
        """Whether its segments are one sorted run, whose rows differ."""
        return len(sorted_runs(self.segments)) == 1

    def between(self, reader: Reader, low: int, high: int) -> Rows:
        """The rows whose numbers are low ≤ n < high. Law: those of ranges that make up 0 … RANGE are ``scan``, and no
        row is in two of them. Of rows that differ, and are in no order, a row's place will do for a number."""
        if self.is_run and not self.spec.indexes:
            return self._rows(list(self._places(reader, *(self.size * n // RANGE for n in (low, high)))))
        columns = self.clustered
        found = [reader.between(s, columns, low, high, self.layouts) for s in self.segments]
        return self._rows([t for t in found if t is not None])

    def _places(self, reader: Reader, low: int, high: int) -> Iterator[pa.Table]:
        start = 0
        for s in self.segments:
            first, end = max(low - start, 0), min(high - start, s.rows)
            if end > first:
                yield reader.part(s, first, end, self.layouts)
            start += s.rows

    def hashed(self, reader: Reader, low: int, high: int, most: int) -> Iterator[pa.Table]:
        """The rows whose hashes are low ≤ h < high, of segments in any order, about ``most`` bytes of which are looked
        at at once. Law: a row that two tables of one ``spec`` have is in the same range of both."""
        for s in self.segments:
            for first, end in ranges(0, s.rows, min(-(-s.blob.bytes // most), s.rows)):
                found = of_hashes(reader.part(s, first, end, self.layouts), self.clustered, low, high)
                if found.num_rows:
                    yield found

    def windows(self, reader: Reader, low: int, high: int, rows: int) -> Iterator[Rows]:
        """What is ``between``, each row once, about ``rows`` entries at a time: hashes are spread evenly."""
        share = self.size * (high - low) // RANGE
        many = max(1, min(-(-share // rows), high - low))
        for start, end in ranges(low, high, many):
            found = self.between(reader, start, end).consolidated()
            if len(found):
                yield found

    def _indexed(self, segment: Segment) -> bool:
        return self.complete is None or segment.id in self.complete

    def _rows(self, tables: list[pa.Table]) -> Rows:
        """The sum of stored tables; a single one is a sum already."""
        if not tables:
            return Rows.empty(self.spec.types)
        return Rows(self.spec.types, table=pa.concat_tables(tables), summed=len(tables) == 1 or self.is_run)


def sorted_runs(segments: Segments) -> list[Segments]:
    """Segments that share no row, together: of what one version adds to a table, or merges of it, tasks make several,
    each with the hashes of a range of its own, and nobody else makes two (``store/ranges.py``). Law: a sorted run is a
    sum of rows."""
    found: dict[tuple[bool, bool, int], list[Segment]] = {}
    for s in segments:
        found.setdefault(s.run, []).append(s)
    return [tuple(run) for run in found.values()]


def _under(s: Segment, folder: str) -> Segment:
    indexes = {access: evolve(blob, file=f"{folder}/{blob.file}") for access, blob in s.indexes.items()}
    return evolve(s, blob=evolve(s.blob, file=f"{folder}/{s.blob.file}"), indexes=indexes)


def ranges(low: int, high: int, many: int) -> Iterator[tuple[int, int]]:
    """``many`` ranges of about the same size that make up low … high."""
    ends = [low + (high - low) * i // many for i in range(many + 1)]
    yield from ((start, end) for start, end in pairwise(ends) if end > start)


def ref_to_json(ref: TableRef) -> dict[str, Any]:
    """As JSON has it. Law: ref_of_json(ref_to_json(r)) = r."""
    spec = ref.spec
    complete = None if ref.complete is None else sorted(ref.complete)
    segments = [segment_to_json(s) for s in ref.segments]
    return {
        "table": spec_to_json(spec),
        "segments": segments,
        "layouts": [layout.plain() for layout in ref.layouts],
        "complete": complete,
    }


def ref_of_json(found: Mapping[str, Any]) -> TableRef:
    spec = spec_of_json(found["table"])
    segments = tuple(segment_of_json(s) for s in found["segments"])
    complete = None if found["complete"] is None else frozenset(found["complete"])
    return TableRef(spec, segments, tuple(layout_of(plain) for plain in found["layouts"]), complete)


def spec_to_json(spec: TableSpec) -> list[Any]:
    """As JSON has it. Law: spec_of_json(spec_to_json(t)) = t."""
    return [spec.name, types_text(spec.types), [columns_text(a) for a in spec.access]]


def spec_of_json(found: list[Any]) -> TableSpec:
    name, types, access = found
    return spec_of(name, types_of(types), map(columns_of, access))


def segment_to_json(s: Segment) -> list[Any]:
    """As JSON has it. Law: segment_of_json(segment_to_json(s)) = s."""
    indexes = [[columns_text(access), *_blob_to_json(blob)] for access, blob in s.indexes.items()]
    return [s.id, s.table, _blob_to_json(s.blob), s.rows, s.level, s.born, s.is_delta, indexes, s.digest]


def segment_of_json(found: list[Any]) -> Segment:
    n, table, blob, rows, level, born, is_delta, indexes, digest = found
    keyed = {columns_of(access): Blob(*own) for access, *own in indexes}
    return Segment(n, table, Blob(*blob), rows, level, born, is_delta, keyed, digest)


def _blob_to_json(b: Blob) -> list[Any]:
    return [b.file, b.offset, b.bytes, b.sha256]
