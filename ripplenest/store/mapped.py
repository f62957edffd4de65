"""Stored rows where they are mapped: what is read of them is checked first, be it all of them or a few.

Weights that are all one number, as most are, are stored as that number, in the metadata of the schema; others have the
narrowest type that holds them all.
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ripplenest.data.index import Places
from ripplenest.data.rows import WEIGHT
from ripplenest.store.blocks import Blocks

WEIGH = WEIGHT.encode()  # metadata: what every row weighs


def lightened(table: pa.Table) -> pa.Table:
    """``table`` as it is stored. Law: Mapped(lightened(table), …).whole() = table."""
    last = table.num_columns - 1
    if not last or not table.num_rows:
        return table
    weights = table.column(last)
    values = (weights.chunk(0) if weights.num_chunks == 1 else weights).to_numpy()
    least, most = int(values.min()), int(values.max())
    if least == most:
        return table.remove_column(last).replace_schema_metadata({WEIGH: str(least)})
    narrow = next(t for t, (low, high) in _NARROW.items() if low <= least and most <= high)
    return table.set_column(last, WEIGHT, pa.array(values.astype(narrow)))


_NARROW = {t: (int(np.iinfo(t).min), int(np.iinfo(t).max)) for t in (np.int8, np.int16, np.int32, np.int64)}


class Mapped:
    """Rows of a segment: columns c0…, w."""

    def __init__(self, table: pa.Table, blocks: Blocks | None = None) -> None:
        """``table`` is in ``blocks``, or in memory without them."""
        self._table, self._blocks = table, blocks
        weight = (table.schema.metadata or {}).get(WEIGH)
        self._weight = None if weight is None else int(weight)

    @cached_property
    def _columns(self) -> list[pa.Array | None]:
        """The columns as they lie in blocks; None for one that is too long for one array."""
        return [c.chunk(0) if c.num_chunks == 1 else None for c in self._table.columns]

    @cached_property
    def _schema(self) -> pa.Schema:
        stored, weight = self._table.schema.remove_metadata(), pa.field(WEIGHT, pa.int64())
        return stored.append(weight) if self._weight is not None else stored.set(len(stored) - 1, weight)

    def whole(self) -> pa.Table:
        """All rows, not copied. Raises CorruptState."""
        if self._blocks is not None:
            self._blocks.all()
        return self._weighed(self._table)

    def taken(self, places: Places) -> pa.Table:
        """The rows at ``places``. Raises CorruptState."""
        if self._blocks is not None and not self._blocks.whole:
            for column in self._columns:
                if column is None:
                    self._blocks.all()
                else:
                    touch(self._blocks, column, places)
        return self._weighed(self._table.take(pa.array(places)))

    def part(self, first: int, end: int) -> pa.Table:
        """The rows from ``first`` to before ``end``, not copied. Raises CorruptState."""
        if self._blocks is not None and not self._blocks.whole:
            for column in self._columns:
                if column is None:
                    self._blocks.all()
                else:
                    touch_part(self._blocks, column, first, end)
        return self._weighed(self._table.slice(first, end - first))

    def _weighed(self, table: pa.Table) -> pa.Table:
        if self._weight is not None:
            return pa.Table.from_arrays([*table.columns, repeated(self._weight, table.num_rows)], schema=self._schema)
        *columns, weights = table.columns
        if weights.type == pa.int64():
            return table
        return pa.Table.from_arrays([*columns, weights.cast(pa.int64())], schema=self._schema)


def touch(blocks: Blocks, column: pa.Array, places: Places) -> None:
    """Check what Arrow reads of ``column``, which lies in ``blocks``, when it takes ``places``. Raises CorruptState."""
    valid, *buffers = column.buffers()
    if valid is not None:
        blocks.values(begin(blocks, valid), 1, places >> 3)
    t = column.type
    if pa.types.is_boolean(t):
        blocks.values(begin(blocks, buffers[0]), 1, places >> 3)
    elif pa.types.is_string(t) or pa.types.is_binary(t):
        _touch_texts(blocks, column, places)
    else:
        blocks.values(begin(blocks, buffers[0]), t.bit_width // 8, places)


def _touch_texts(blocks: Blocks, column: pa.Array, places: Places) -> None:
    _, offsets, data = column.buffers()
    start = begin(blocks, offsets)
    blocks.values(start, 4, places)
    blocks.values(start, 4, places + 1)
    ends = np.frombuffer(offsets, np.int32, len(column) + 1)
    if data is not None and data.size:
        start = begin(blocks, data)
        blocks.spans(start + ends[places].astype(np.int64), start + ends[places + 1].astype(np.int64))


def touch_part(blocks: Blocks, column: pa.Array, first: int, end: int) -> None:
    """As ``touch``, for the places from ``first`` to before ``end``."""
    valid, *buffers = column.buffers()
    t = column.type
    for bits in [b for b in (valid, buffers[0] if pa.types.is_boolean(t) else None) if b is not None]:
        blocks.span(begin(blocks, bits) + (first >> 3), begin(blocks, bits) + ((end + 7) >> 3))
    if pa.types.is_string(t) or pa.types.is_binary(t):
        offsets, data = buffers
        start = begin(blocks, offsets)
        blocks.span(start + first * 4, start + (end + 1) * 4)
        ends = np.frombuffer(offsets, np.int32, len(column) + 1)
        if data is not None and data.size:
            start = begin(blocks, data)
            blocks.span(start + int(ends[first]), start + int(ends[end]))
    elif not pa.types.is_boolean(t):
        start, size = begin(blocks, buffers[0]), t.bit_width // 8
        blocks.span(start + first * size, start + end * size)


def begin(blocks: Blocks, buffer: pa.Buffer) -> int:
    """The byte of the blob that a buffer begins with."""
    found = int(buffer.address - blocks.data.address)
    assert 0 <= found <= blocks.data.size, "Arrow has copied what was mapped"
    return found


class _Ones:
    """Weights of 1, which every table shares."""

    def __init__(self) -> None:
        self.array: pa.Array = pa.repeat(pa.scalar(1, pa.int64()), 1 << 10)

    def first(self, n: int) -> pa.Array:
        array = self.array
        if len(array) < n:
            array = pa.repeat(pa.scalar(1, pa.int64()), max(n, 2 * len(array)))
            self.array = array
        return array.slice(0, n)


_ONES = _Ones()


def repeated(weight: int, n: int) -> pa.Array:
    """``weight`` for each of ``n`` rows."""
    return _ONES.first(n) if weight == 1 else pa.repeat(pa.scalar(weight, pa.int64()), n)


def in_order(rows: npt.NDArray[np.int64]) -> bool:
    """Whether rows are 0, 1, 2, …"""
    return bool((rows == np.arange(len(rows))).all())
