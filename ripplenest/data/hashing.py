"""Hashes of access keys: 64 bits, the same in every process and on every machine, equal for equal keys.

Fixed-width columns are mixed from their little-endian bits. A text or bytes is read as words of 8 bytes, the last one
filled up with zeros: with n its number of bytes and kᵢ one number for each place i,

    h(w₀ … wₘ) = mix(n · G + Σ mix(wᵢ + kᵢ))

where no word stands for another place's, however texts repeat themselves. (A polynomial of the bytes would not do: the
Thue-Morse words of 2¹¹ letters are equal under every base, modulo 2⁶⁴.) A hash only finds candidates: who probes
compares the real values afterwards, so collisions cost time, never truth, and ``index.matched`` bounds the time.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

U64 = npt.NDArray[np.uint64]
NULL = 0x6E756C6C
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio, as in splitmix64
FEW, SHORT = 16, 512  # texts and their bytes that are hashed one by one
PIECE = 1 << 16  # texts that are hashed at once: what that takes does not grow with the column
SAMPLE, OFTEN = 1 << 13, 0.8  # texts that are looked at, and values among them, by which each is hashed once
BLOCK = 1 << 14  # numbers that are mixed at once
_ROUNDS = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST = np.uint64(31)

# How texts are hashed: by words, or by blake2b of each distinct value, as the indexes of format 4 have it.
TextHash = Literal["words", "blake2b"]


def hash_columns(columns: Sequence[pa.Array], rows: int, texts: TextHash = "words") -> U64:
    """One hash per row of the key columns; NULL is a value like any other, and so is NaN (canonical columns only)."""
    text = _TEXTS[texts]
    return mixed((text(c) if is_text(c.type) else _hash_column(c) for c in columns), len(columns), rows)


def seeded(columns: Sequence[pa.Array], seed: int) -> Iterator[U64]:
    """For each column a hash of each value. Hashes of two seeds know nothing of each other: values that agree in one
    differ in the other, as far as chance has it."""
    return (_word_hashes(c, seed) if is_text(c.type) else _hash_column(c, seed) for c in columns)


def unmixed(column: pa.Array, seed: int) -> U64:
    """The same of one column for ``mixed`` and for nothing else, which mixes anyway: numbers of 64 bits are hashed by
    being what they are."""
    if is_text(column.type):
        return _word_hashes(column, seed)
    words = bits(column)
    if words.shape[1] > 1:
        return _hash_column(column, seed)
    return np.where(_nulls(column), NOTHING, words[:, 0]) if column.null_count else words[:, 0]


def fingerprints(columns: Sequence[pa.Array], rows: int) -> U64:
    """One number per row, nearly always different for different rows; stored nowhere. Texts are read as polynomials of
    their bytes, which needs no loop over them."""
    own = (_polynomials(column) if is_text(column.type) else _hash_column(column) for column in columns)
    return mixed(own, len(columns), rows)


def mixed(hashes: Iterable[U64], columns: int, rows: int) -> U64:
    """One number per row of those of its ``columns``, in their order."""
    total = np.full(rows, columns, dtype=np.uint64)
    for own in hashes:
        total *= GOLDEN
        total += own
        _mix_in_place(total)
    return total


def is_text(t: pa.DataType) -> bool:
    """Whether values are of no fixed width."""
    return bool(pa.types.is_string(t) or pa.types.is_binary(t))


def _polynomials(column: pa.Array) -> U64:
    return _in_pieces(column, _polynomials_of_texts)


def _in_pieces(column: pa.Array, hashes: Callable[[pa.Array], U64]) -> U64:
    """The ``hashes`` of texts, some at a time. Of those of which many are the same, as where a few rows are joined with
    many, each value is hashed once."""
    pieces = [column.slice(n, PIECE) for n in range(0, len(column), PIECE)] or [column]
    found = [_of_values(p, hashes) if _is_repeated(p) else hashes(p) for p in pieces]
    return found[0] if len(found) == 1 else np.concatenate(found)


def _is_repeated(column: pa.Array) -> bool:
    """Whether few of the first texts have a value of their own."""
    if len(column) <= SAMPLE:
        return False
    return len(column.slice(0, SAMPLE).dictionary_encode().dictionary) < OFTEN * SAMPLE


def _of_values(column: pa.Array, hashes: Callable[[pa.Array], U64]) -> U64:
    encoded = column.dictionary_encode(null_encoding="encode")
    own: U64 = hashes(encoded.dictionary)[encoded.indices.to_numpy()]
    return own


def _polynomials_of_texts(column: pa.Array) -> U64:
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
        found = np.where(_nulls(column), np.uint64(NULL), found)
    return found


def mix(x: U64) -> U64:
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit."""
    return _mix_in_place(x.copy())


def _mix_in_place(x: U64) -> U64:
    """``mix`` of numbers that nobody needs any more. Many are mixed a block at a time, which stays in the cache of a
    processor, and no memory is asked for that the system has to clear first."""
    shifted = np.empty_like(x[:BLOCK])
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK]
        own = shifted[: len(block)]
        for shift, factor in _ROUNDS:
            block ^= np.right_shift(block, shift, out=own)
            block *= factor
        block ^= np.right_shift(block, _LAST, out=own)
    return x


def _word_hashes(column: pa.Array, seed: int = 0) -> U64:
    """What the head of this module says, of each text; ``seed`` is added to each k."""
    if len(column) <= FEW and _size(column) <= SHORT:
        return np.fromiter((_word_hash(text, seed) for text in column.to_pylist()), np.uint64, len(column))
    found = _in_pieces(column, lambda texts: _words_of_texts(texts, seed))
    if column.null_count:
        found = np.where(_nulls(column), np.uint64(NULL), found)
    return found


def _size(column: pa.Array) -> int:
    """The bytes of all texts."""
    ends = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, column.offset * 4) if len(column) else (0,)
    return int(ends[-1] - ends[0])


def _word_hash(value: str | bytes | None, seed: int) -> int:
    """The hash of one text: of a few that are short, this is faster than columns are."""
    if value is None:
        return NULL
    data = value.encode() if isinstance(value, str) else value
    total = len(data) * int(GOLDEN)
    for i in range(0, len(data), 8):
        total += _mix_one(int.from_bytes(data[i : i + 8], "little") + _KEYS[i >> 3] + seed)
    return _mix_one(total)


def _words_of_texts(column: pa.Array, seed: int) -> U64:
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    lengths = ends[1:] - ends[:-1]
    many = (lengths + 7) >> 3
    last = np.cumsum(many)
    first = last - many
    place = np.arange(last[-1])
    place -= np.repeat(first, many)  # of each word in its text
    words = loaded(data, ends, np.repeat(ends[:-1] - ends[0], many) + (place << 3))
    rest = ((lengths & 7) << 3).astype(np.uint64)  # bits of the last word, if it is not whole
    cut = np.flatnonzero(rest)
    words[last[cut] - 1] &= (np.uint64(1) << rest[cut]) - np.uint64(1)
    keys = _place_keys(int(many.max()))
    words += (keys + np.uint64(seed) if seed else keys)[place]
    sums = np.zeros(len(words) + 1, np.uint64)
    np.cumsum(_mix_in_place(words), out=sums[1:])
    found: U64 = sums[last]
    found -= sums[first]
    found += lengths.astype(np.uint64) * GOLDEN
    return _mix_in_place(found)


def _place_keys(many: int) -> U64:
    """k₀ … of that many places."""
    return _FIRST_KEYS[:many] if many <= len(_FIRST_KEYS) else _keys_of(many)


def _keys_of(many: int) -> U64:
    return mix(np.arange(1, many + 1, dtype=np.uint64) * GOLDEN)


def loaded(data: pa.Buffer | None, ends: npt.NDArray[np.int64], at: npt.NDArray[np.int64]) -> U64:
    """The words that begin ``at`` bytes of texts, which are in ``data`` one after another."""
    size = int(ends[-1] - ends[0])
    memory = np.zeros(size + 8, np.uint8)
    if data is not None and size:
        memory[:size] = np.frombuffer(data, np.uint8, size, int(ends[0]))
    words: U64 = np.ndarray((size + 1,), np.dtype("<u8"), memory, strides=(1,))  # one that begins at each byte
    return words[at].astype(np.uint64, copy=False)


def _mix_one(x: int) -> int:
    """``mix`` of one number."""
    x &= _ALL
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _ALL
    return x ^ (x >> 31)


def _distinct_digests(column: pa.Array) -> U64:
    return _of_values(column, lambda c: np.fromiter(map(_digest, c.to_pylist()), np.uint64, len(c)))


def _hash_column(column: pa.Array, seed: int = 0) -> U64:
    words = bits(column)
    hashes = words[:, 0] + np.uint64((seed + 1) & _ALL)
    _mix_in_place(hashes)
    for i in range(1, words.shape[1]):
        hashes += words[:, i]
        hashes += np.uint64(1)
        _mix_in_place(hashes)
    if column.null_count:
        hashes = np.where(_nulls(column), np.uint64(NULL), hashes)
    return hashes


def _nulls(column: pa.Array) -> npt.NDArray[np.bool_]:
    missing: npt.NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return missing


def _digest(value: str | bytes | None) -> int:
    if value is None:
        return NULL
    data = value.encode() if isinstance(value, str) else value
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def bits(column: pa.Array) -> U64:
    """The bits of a fixed-width column as rows of 64-bit words; what NULL rows hold does not matter."""
    t = column.type
    known = whole_numbers(column)
    if known is None and (pa.types.is_boolean(t) or t.bit_width == 32):
        known = column.cast(pa.int32()).fill_null(0).to_numpy()
    if known is not None:
        return known.astype(np.int64, copy=False).view(np.uint64).reshape(-1, 1)
    width = t.bit_width // 64
    data = column.buffers()[1]
    words = np.frombuffer(data, dtype="<u8", count=(column.offset + len(column)) * width) if data else np.empty(0)
    result: U64 = words.astype(np.uint64, copy=False)[column.offset * width :].reshape(-1, width)
    return result


def whole_numbers(column: pa.Array) -> npt.NDArray[np.signedinteger] | None:
    """The values of ``column`` as numbers of as many bits, 32 or 64; None where they have others, or some are NULL."""
    whole = _WHOLE.get(column.type.id)
    if whole is None or column.null_count:
        return None
    numbers: npt.NDArray[np.signedinteger] = (column if column.type == whole else column.view(whole)).to_numpy()
    return numbers


_WHOLE = {
    t.id: pa.int32() if t.bit_width == 32 else pa.int64()
    for t in (pa.int32(), pa.date32(), pa.int64(), pa.float64(), pa.timestamp("us"))
}
_TEXTS: Mapping[TextHash, Callable[[pa.Array], U64]] = {"words": _word_hashes, "blake2b": _distinct_digests}
_ALL = (1 << 64) - 1
NOTHING = np.uint64(_mix_one(NULL))  # for NULL, where numbers are not mixed
_FIRST_KEYS = _keys_of(SHORT // 8)
_KEYS: Sequence[int] = _FIRST_KEYS.tolist()
