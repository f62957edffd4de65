"""The content of rows as a digest: the same for the same rows in any order, whatever they came as."""

import hashlib
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ripplenest.data.hashing import fingerprints
from ripplenest.data.levels import Level
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.nrc.types import Base


def content_digest(rows: Rows) -> str:
    """sha256 of canonical columns, in the order of their rows' fingerprints. Rows with one fingerprint are equal, or
    else their order could show: equal contents would then have two digests, but never two contents one."""
    table = rows.arrow()
    columns = [c.combine_chunks() for c in table.columns]
    order = None
    if table.num_rows > 1:
        order = pa.array(np.argsort(fingerprints(columns, table.num_rows), kind="stable"))
    found = hashlib.sha256(f"{table.num_rows} {_shape(rows.types)}".encode())
    for column in columns:  # one after the other, so that of a large load no second one stands in memory
        for part in _bits(column if order is None else column.take(order)):
            found.update(part)
    return found.hexdigest()


def level_digest(level: Level) -> str:
    """sha256 of nested rows that are in an order of their own (``Printed.ordered``), of which the same is true."""
    found = hashlib.sha256()
    for part in _level_bits(level):
        found.update(part)
    return found.hexdigest()


def _level_bits(level: Level) -> Iterator[bytes | memoryview]:
    """A level and those below it: how many rows and bags, what they are, and how many rows each bag has."""
    types = [str(column.type) for column in level.columns]
    yield f"{level.size} {types} {len(level.bags)} {level.weights is not None}".encode()
    for column in level.columns:
        yield from _bits(column)
    if level.weights is not None:
        yield level.weights.astype("<i8").tobytes()
    for bag in level.bags:
        yield bag.counts.astype("<i8").tobytes()
        yield b"" if bag.present is None else bag.present.tobytes()
        yield from _level_bits(bag.rows)


@lru_cache(maxsize=1024)
def _shape(types: tuple[Base, ...]) -> str:
    return str(list(map(str, arrow_schema(types).types)))


def _bits(column: pa.Array) -> list[bytes | memoryview]:
    """What a column holds as bytes: NULL or not, lengths of texts, values with 0 for NULL."""
    absent = _absent(column)
    t = column.type
    if pa.types.is_string(t) or pa.types.is_binary(t):
        return [absent.tobytes(), *_texts(column)]
    if pa.types.is_boolean(t):
        return [absent.tobytes(), column.fill_null(False).to_numpy(zero_copy_only=False).tobytes()]
    width, data = t.bit_width // 8, column.buffers()[1]
    size = len(column) * width
    values = np.frombuffer(data, np.uint8, size, column.offset * width) if data and size else np.zeros(size, np.uint8)
    if not column.null_count:
        return [absent.tobytes(), values.data]
    return [absent.tobytes(), np.where(np.repeat(absent, width), np.uint8(0), values).tobytes()]


def _texts(column: pa.Array) -> list[bytes | memoryview]:
    """Lengths, and bytes one after another. What is NULL has none: such slots are left out first."""
    known = column.drop_null() if column.null_count else column
    _, offsets, data = known.buffers()
    if not len(known):
        return []
    ends = np.frombuffer(offsets, np.int32, len(known) + 1, known.offset * 4)
    return [np.diff(ends).tobytes(), b"" if data is None else memoryview(data)[int(ends[0]) : int(ends[-1])]]


def _absent(column: pa.Array) -> npt.NDArray[np.bool_]:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    found: npt.NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return found
