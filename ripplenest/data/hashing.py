"""Hashes of access keys: 64 bits, the same in every process and on every machine, equal for equal keys.

Fixed-width columns are mixed from their little-endian bits, text and bytes through blake2b of each distinct value. A
hash only finds candidates: who probes compares the real values afterwards, so collisions cost time, never truth.
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

U64 = npt.NDArray[np.uint64]
NULL = 0x6E756C6C
FEW = 64  # values that are not worth the search for those that are equal


def hash_columns(columns: Sequence[pa.Array], rows: int) -> U64:
    """One hash per row of the key columns; NULL is a value like any other, and so is NaN (canonical columns only)."""
    return mixed(map(_hash_column, columns), len(columns), rows)


def fingerprints(columns: Sequence[pa.Array], rows: int) -> U64:
    """One number per row, nearly always different for different rows; stored nowhere. Texts are read as polynomials of
    their bytes, which needs no loop over them."""
    own = (_polynomials(column) if _is_text(column.type) else _hash_column(column) for column in columns)
    return mixed(own, len(columns), rows)


def mixed(hashes: Iterable[U64], columns: int, rows: int) -> U64:
    """One number per row of those of its ``columns``, in their order."""
    total = np.full(rows, columns, dtype=np.uint64)
    for own in hashes:
        total = mix(total * np.uint64(0x9E3779B97F4A7C15) + own)
    return total


def _is_text(t: pa.DataType) -> bool:
    return bool(pa.types.is_string(t) or pa.types.is_binary(t))


def _polynomials(column: pa.Array) -> U64:
    _, offsets, data = column.buffers()
    if not len(column):
        return np.empty(0, np.uint64)
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    lengths = np.diff(ends)
    size = int(ends[-1] - ends[0])
    letters = np.frombuffer(data, np.uint8, size, int(ends[0])) if size else np.empty(0, np.uint8)
    terms = letters.astype(np.uint64) + np.uint64(1)
    powers = np.cumprod(np.full(int(lengths.max()) + 1, 0x9E3779B97F4A7C15, np.uint64))
    terms *= powers[np.arange(size) - np.repeat(ends[:-1] - ends[0], lengths)]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
    found = mix(sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]] + lengths.astype(np.uint64))
    if column.null_count:
        found = np.where(column.is_null().to_numpy(zero_copy_only=False), np.uint64(NULL), found)
    return found


def mix(x: U64) -> U64:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: U64 = x ^ (x >> np.uint64(31))
    return result


def _hash_column(column: pa.Array) -> U64:
    t = column.type
    if _is_text(t) and len(column) <= FEW:
        return np.fromiter(map(_digest, column.to_pylist()), np.uint64, len(column))
    if _is_text(t):
        encoded = column.dictionary_encode(null_encoding="encode")
        unique = np.fromiter(map(_digest, encoded.dictionary.to_pylist()), np.uint64, len(encoded.dictionary))
        hashes: U64 = unique[encoded.indices.to_numpy()]
        return hashes
    words = _words(column)
    hashes = np.zeros(len(column), np.uint64)
    for i in range(words.shape[1]):
        hashes = mix(hashes + words[:, i] + np.uint64(1))
    if column.null_count:
        hashes = np.where(column.is_null().to_numpy(zero_copy_only=False), np.uint64(NULL), hashes)
    return hashes


def _digest(value: str | bytes | None) -> int:
    if value is None:
        return NULL
    data = value.encode() if isinstance(value, str) else value
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _words(column: pa.Array) -> U64:
    """The bits of a fixed-width column as rows of 64-bit words; what NULL rows hold does not matter."""
    t = column.type
    if pa.types.is_boolean(t) or pa.types.is_date(t) or pa.types.is_int32(t):
        narrow = column.cast(pa.int32())
        filled = narrow.fill_null(0) if narrow.null_count else narrow
        signed: npt.NDArray[np.int64] = filled.to_numpy().astype(np.int64)
        return signed.view(np.uint64).reshape(-1, 1)
    width = t.bit_width // 64
    data = column.buffers()[1]
    words = np.frombuffer(data, dtype="<u8", count=(column.offset + len(column)) * width) if data else np.empty(0)
    result: U64 = words.astype(np.uint64, copy=False)[column.offset * width :].reshape(-1, width)
    return result
