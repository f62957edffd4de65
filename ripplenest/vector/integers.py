"""64-bit integers as columns of other types: decimals without a point, and bytes (``nrc/functions/integers.py``)."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.nrc.functions.integers import LEAST
from ripplenest.nrc.types import Base

Ints = np.typing.NDArray[np.int64]
Bools = np.typing.NDArray[np.bool_]


def as_decimals(digits: Ints, t: Base, nulls: Bools | None = None) -> pa.Array:
    """The decimals of type ``t`` whose digits without the point are ``digits``."""
    halves = np.stack([digits, digits >> 63], axis=1)
    mask = None if nulls is None else pa.array(~nulls).buffers()[1]
    buffers = [mask, pa.py_buffer(np.ascontiguousarray(halves))]
    return pa.Array.from_buffers(pa.decimal128(t.precision, t.scale), len(digits), buffers)


def as_bytes(values: Ints) -> pa.Array:
    """Law: what ``encoded`` makes of each."""
    ends = np.arange(len(values) + 1, dtype=np.int32) * LEAST
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(values.astype(">i8").tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


def of_bytes(column: pa.ChunkedArray) -> Ints | None:
    """The integers that the bytes stand for; None where 64 bits do not hold one."""
    if (pc.binary_length(column).to_numpy() != LEAST).any():
        return None
    found = [_of_chunk(chunk) for chunk in column.chunks if len(chunk)]
    return np.concatenate(found) if found else np.empty(0, np.int64)


def _of_chunk(chunk: pa.Array) -> Ints:
    _, ends, data = chunk.buffers()
    first = np.frombuffer(ends, np.int32, 1, chunk.offset * 4)[0]
    return np.frombuffer(data, ">i8", len(chunk), int(first)).astype(np.int64)
