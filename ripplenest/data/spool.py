"""Levels in files: columns that are appended to piece by piece, and then lie one after another where they are mapped.

A column is what Arrow has of it, validity bits, offsets and values, each in its own stretch of one file, which is as
long as the rows can make it: whoever begins a file knows what will be in it at most. Stretches that stay empty take no
space. Texts of more than 2 GB are several arrays, as everywhere in Arrow.

Law: Stored.slice(a, b) are the rows a … b of what was appended.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from ripplenest.data.hashing import is_text
from ripplenest.data.levels import Bags, Level, Mask
from ripplenest.data.room import Room, Scratch

ALIGNED = 64
LONGEST = (1 << 31) - 1  # bytes of texts in one array
BYTES = 1 << 20  # of a column that are copied at once


@frozen
class Extent:
    """What levels hold at most: rows, the type of each column and the bytes of its texts, and the same of each bag."""

    rows: int
    columns: tuple[tuple[pa.DataType, int], ...]
    bags: tuple["Extent", ...]

    @classmethod
    def of(cls, level: Level) -> "Extent":
        columns = tuple((c.type, text_bytes(c) if is_text(c.type) else 0) for c in level.columns)
        return cls(level.size, columns, tuple(cls.of(bag.rows) for bag in level.bags))

    def plus(self, other: "Extent") -> "Extent":
        """What both hold together."""
        columns = tuple((t, a + b) for (t, a), (_, b) in zip(self.columns, other.columns, strict=True))
        bags = tuple(a.plus(b) for a, b in zip(self.bags, other.bags, strict=True))
        return Extent(self.rows + other.rows, columns, bags)

    @property
    def bytes(self) -> int:
        """What that takes in memory, about."""
        own = sum(text + self.rows * _width(t) for t, text in self.columns)
        return own + sum(8 * self.rows + bag.bytes for bag in self.bags)


def text_bytes(column: pa.Array) -> int:
    """The bytes of all texts of a column."""
    offsets = column.buffers()[1]
    if not len(column) or offsets is None:
        return 0
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4)
    return int(ends[-1]) - int(ends[0])


def _width(t: pa.DataType) -> int:
    return 4 if is_text(t) else max(t.bit_width // 8, 1)


class _Stretch:
    """Bytes of a file from ``start`` on, appended to."""

    def __init__(self, file: Scratch, start: int) -> None:
        self._file, self.start, self.size = file, start, 0

    def append(self, data: npt.NDArray[Any] | memoryview) -> None:
        view = memoryview(data.data if isinstance(data, np.ndarray) else data).cast("B")
        for at in range(0, len(view), BYTES):
            self._file.write(self.start + self.size + at, view[at : at + BYTES])
        self.size += len(view)


class _Bits:
    """Truth values as bits, in a stretch."""

    def __init__(self, stretch: _Stretch) -> None:
        self._stretch, self._rest = stretch, np.empty(0, np.bool_)

    def append(self, mask: Mask) -> None:
        every = np.concatenate([self._rest, mask])
        whole = len(every) // 8 * 8
        if whole:
            self._stretch.append(np.packbits(every[:whole], bitorder="little"))
        self._rest = every[whole:]

    def end(self) -> None:
        """Write those that do not fill a byte."""
        self._stretch.append(np.packbits(self._rest, bitorder="little"))
        self._rest = self._rest[:0]

    @property
    def start(self) -> int:
        return self._stretch.start


class _Column:
    """A column in the making."""

    def __init__(self, t: pa.DataType, layout: "_Layout", rows: int, text: int) -> None:
        self.type, self.rows, self.nulls = t, 0, 0
        self._valid = _Bits(layout.stretch(rows // 8 + 1))
        self._bits = _Bits(layout.stretch(rows // 8 + 1)) if pa.types.is_boolean(t) else None
        arrays = 2 + 2 * text // LONGEST
        self._values = layout.stretch((rows + 2 * arrays) * _width(t))
        self._text = layout.stretch(text)
        self._arrays: list[tuple[int, int, int]] = []  # by array of texts: its first row, offset and byte

    def append(self, column: pa.Array) -> None:
        self.nulls += column.null_count
        self._valid.append(column.is_valid().to_numpy(zero_copy_only=False))
        if is_text(self.type):
            self._append_texts(column)
        elif self._bits is not None:
            self._bits.append(column.fill_null(False).to_numpy(zero_copy_only=False))
        else:
            width = self.type.bit_width // 8
            data = column.buffers()[1]
            if len(column) and data is not None:
                self._values.append(memoryview(data)[column.offset * width : (column.offset + len(column)) * width])
        self.rows += len(column)

    def _append_texts(self, column: pa.Array) -> None:
        if not len(column):
            return
        _, offsets, data = column.buffers()
        ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4)
        size = int(ends[-1]) - int(ends[0])
        if not self._arrays or self._text.size - self._arrays[-1][2] + size > LONGEST:
            self._arrays.append((self.rows, self._values.size, self._text.size))
            self._values.append(np.zeros(1, np.int32))
        first = self._text.size - self._arrays[-1][2]
        self._values.append((ends[1:] - ends[0] + np.int32(first)).astype(np.int32))
        if data is not None and size:
            self._text.append(memoryview(data)[int(ends[0]) : int(ends[-1])])

    def end(self) -> None:
        self._valid.end()
        if self._bits is not None:
            self._bits.end()

    def stored(self, data: pa.Buffer) -> pa.ChunkedArray:
        valid = self._valid.start if self.nulls else None
        values = data.slice(self._values.start if self._bits is None else self._bits.start)
        if not is_text(self.type):
            own = [None if valid is None else data.slice(valid), values]
            return pa.chunked_array([pa.Array.from_buffers(self.type, self.rows, own, -1 if self.nulls else 0)])
        found = []
        for i, (row, at, byte) in enumerate(self._arrays):
            end = self._arrays[i + 1][0] if i + 1 < len(self._arrays) else self.rows
            before = row % 8  # validity begins at a whole byte, so the array begins at these rows of the one before
            own = [None if valid is None else data.slice(valid + row // 8)]
            own += [data.slice(self._values.start + at - 4 * before), data.slice(self._text.start + byte)]
            nulls = -1 if self.nulls else 0
            found.append(pa.Array.from_buffers(self.type, end - row, own, nulls, before))
        return pa.chunked_array(found, self.type)


class _Layout:
    """Stretches of a file, one after another."""

    def __init__(self, file: Scratch) -> None:
        self._file, self._end = file, ALIGNED  # so that what stands before a stretch is in the file

    @property
    def size(self) -> int:
        return self._end

    def stretch(self, size: int) -> _Stretch:
        found = _Stretch(self._file, self._end)
        self._end += (size + 2 * ALIGNED) // ALIGNED * ALIGNED
        return found


class _Rows:
    """A level in the making; how bags end is a column like others, and so are weights."""

    def __init__(self, extent: Extent, layout: _Layout) -> None:
        self._columns = [_Column(t, layout, extent.rows, text) for t, text in extent.columns]
        self._weights = _Column(pa.int64(), layout, extent.rows, 0)
        self._ends = [_Column(pa.int64(), layout, extent.rows, 0) for _ in extent.bags]
        self._present = [_Column(pa.bool_(), layout, extent.rows, 0) for _ in extent.bags]
        self._bags = [_Rows(bag, layout) for bag in extent.bags]
        self._nullable = [False for _ in extent.bags]
        self._size, self._weighted = 0, False

    def append(self, level: Level) -> None:
        for column, new in zip(self._columns, level.columns, strict=True):
            column.append(new)
        self._weighted |= level.weights is not None
        self._weights.append(pa.array(level.counts))
        for i, bag in enumerate(level.bags):
            self._ends[i].append(pa.array(self._bags[i]._size + np.cumsum(bag.counts)))
            present = np.ones(level.size, np.bool_) if bag.present is None else bag.present
            self._nullable[i] |= bag.present is not None
            self._present[i].append(pa.array(present))
            self._bags[i].append(bag.rows)
        self._size += level.size

    def stored(self, data: pa.Buffer) -> "Stored":
        columns = [column.stored(data) for column in self._columns]
        weights = self._weights.stored(data) if self._weighted else None
        bags = [
            _Bag(ends.stored(data), present.stored(data) if nullable else None, rows.stored(data))
            for ends, present, nullable, rows in zip(
                self._ends, self._present, self._nullable, self._bags, strict=True
            )
        ]
        return Stored(self._size, columns, weights, bags)

    def end(self) -> None:
        """Write what is left of bits."""
        for column in (*self._columns, self._weights, *self._ends, *self._present):
            column.end()
        for bag in self._bags:
            bag.end()


@frozen(eq=False)
class _Bag:
    ends: pa.ChunkedArray
    present: pa.ChunkedArray | None
    rows: "Stored"


@frozen(eq=False)
class Stored:
    """A level in a file."""

    size: int
    columns: list[pa.ChunkedArray]
    weights: pa.ChunkedArray | None
    bags: list[_Bag]

    def slice(self, start: int, end: int) -> Level:
        """Rows ``start`` to before ``end``, with all that is in them."""
        columns = [_part(column, start, end) for column in self.columns]
        weights = None if self.weights is None else _part(self.weights, start, end).to_numpy()
        bags = []
        for bag in self.bags:
            first = bag.ends[start - 1].as_py() if start else 0
            ends = _part(bag.ends, start, end).to_numpy()
            last = int(ends[-1]) if end > start else first
            present = None
            if bag.present is not None:
                present = _part(bag.present, start, end).to_numpy(zero_copy_only=False)
            bags.append(Bags(np.diff(ends, prepend=first), bag.rows.slice(first, last), present))
        return Level(end - start, columns, bags, weights)


def _part(column: pa.ChunkedArray, start: int, end: int) -> pa.Array:
    found = column.slice(start, end - start)
    return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()


class Spool:
    """Levels of at most ``extent`` on their way into a file."""

    def __init__(self, room: Room, extent: Extent) -> None:
        self._room, self._file = room, room.scratch()
        self._layout = _Layout(self._file)
        self._rows = _Rows(extent, self._layout)

    def append(self, level: Level) -> None:
        self._rows.append(level)

    def stored(self) -> Stored:
        """All that was appended."""
        self._rows.end()
        return self._rows.stored(self._room.map(self._file, self._layout.size))


def spooled(room: Room, level: Level) -> Stored:
    """``level`` in a file."""
    spool = Spool(room, Extent.of(level))
    spool.append(level)
    return spool.stored()


def concatenated(levels: Sequence[Level]) -> Level:
    """The rows of ``levels``, which are of one type and at least one, one after the other."""
    if len(levels) == 1:
        return levels[0]
    columns = [pa.concat_arrays(own) for own in zip(*(level.columns for level in levels), strict=True)]
    weights = None
    if any(level.weights is not None for level in levels):
        weights = np.concatenate([level.counts for level in levels])
    bags = [_joined(own, levels) for own in zip(*(level.bags for level in levels), strict=True)]
    return Level(sum(level.size for level in levels), columns, bags, weights)


def _joined(bags: Sequence[Bags], levels: Sequence[Level]) -> Bags:
    present = None
    if any(bag.present is not None for bag in bags):
        own = zip(bags, levels, strict=True)
        present = np.concatenate([np.ones(n.size, np.bool_) if b.present is None else b.present for b, n in own])
    return Bags(np.concatenate([b.counts for b in bags]), concatenated([b.rows for b in bags]), present)

