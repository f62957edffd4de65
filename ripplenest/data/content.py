"""The content of flat rows as a digest: the same for the same rows in any order, whatever they came as."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.hashing import fingerprints
from ripplenest.data.rows import Rows


def content_digest(rows: Rows) -> str:
    """sha256 of canonical columns, in the order of their rows' fingerprints. Rows with one fingerprint are equal, or
    else their order could show: equal contents would then have two digests, but never two contents one."""
    table = rows.arrow()
    columns = [c.combine_chunks() for c in table.columns]
    if table.num_rows > 1:
        order = pa.array(np.argsort(fingerprints(columns, table.num_rows), kind="stable"))
        columns = [column.take(order) for column in columns]
    found = hashlib.sha256(f"{table.num_rows} {list(map(str, table.schema.types))}".encode())
    for part in (part for column in columns for part in _bits(column)):
        found.update(part)
    return found.hexdigest()


def _bits(column: pa.Array) -> "list[bytes | memoryview]":
    """What a column holds as bytes: NULL or not, lengths of texts, values with 0 for NULL."""
    absent = column.is_null().to_numpy(zero_copy_only=False)
    t = column.type
    if pa.types.is_string(t) or pa.types.is_binary(t):
        lengths = pc.binary_length(column).fill_null(-1).to_numpy()
        return [lengths.tobytes(), _text(column)]
    if pa.types.is_boolean(t):
        return [absent.tobytes(), column.fill_null(False).to_numpy(zero_copy_only=False).tobytes()]
    width = t.bit_width // 8
    data = column.buffers()[1]
    size = len(column) * width
    raw = np.frombuffer(data, np.uint8, size, column.offset * width) if data and size else np.empty(0, np.uint8)
    values = raw.reshape(len(column), width) if size else raw.reshape(0, width)
    return [absent.tobytes(), np.where(absent[:, None], 0, values).astype(np.uint8).tobytes()]


def _text(column: pa.Array) -> bytes:
    known = column.drop_null() if column.null_count else column
    _, offsets, data = known.buffers()
    if data is None or not len(known):
        return b""
    ends = np.frombuffer(offsets, np.int32, len(known) + 1, known.offset * 4)
    return bytes(memoryview(data)[int(ends[0]) : int(ends[-1])])
