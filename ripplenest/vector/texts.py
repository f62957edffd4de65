"""Kernels of text and dates. Positions count code points. Where Arrow's function wants one pattern for all rows, rows
of equal patterns are worked on together."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.nrc.types import Base
from ripplenest.vector.column import Column, Mask, failed, mask, nulls
from ripplenest.vector.numbers import NO_CAST, Long, longs

ISO_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"


def mapped(table: dict[int, str], ascii_only: Callable[[pa.Array], pa.Array]) -> Callable[[pa.Array], pa.Array]:
    """Letters by ``table``; what has other letters than those of ASCII is looked at once for each different text."""

    def kernel(text: pa.Array) -> pa.Array:
        if pc.all(pc.string_is_ascii(text), min_count=0).as_py() is not False:
            return ascii_only(text)
        encoded = text.dictionary_encode()
        changed = [t.translate(table) for t in encoded.dictionary.to_pylist()]
        return pa.array(changed, pa.string()).take(encoded.indices)

    return kernel


def length(text: pa.Array) -> pa.Array:
    return pc.utf8_length(text).cast(pa.int32())


def concat(*texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


def trim(text: pa.Array) -> pa.Array:
    return pc.utf8_trim(text, " ")


def substring(text: pa.Array, start: pa.Array, size: pa.Array) -> pa.Array:
    """From ``start``, counted from 1, or from the end when negative; places outside of the text count too."""
    absent = nulls(text) | nulls(start) | nulls(size)
    begin, many = longs(start), longs(size)
    first = np.where(begin > 0, begin - 1, np.where(begin < 0, longs(pc.utf8_length(text)) + begin, 0))
    ends = np.maximum(first + many, 0)
    first = np.maximum(first, 0)
    ends = np.where(absent, first, np.maximum(ends, first))
    found = _grouped(text, [first, ends], lambda part, ends: pc.utf8_slice_codeunits(part, ends[0], ends[1]))
    return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), found)


def replace(text: pa.Array, old: pa.Array, new: pa.Array) -> pa.Array:
    absent = nulls(text) | nulls(old) | nulls(new)
    encoded = [column.dictionary_encode() for column in (old, new)]
    known = [e.dictionary.to_pylist() or [""] for e in encoded]

    def one(part: pa.Array, codes: tuple[int, ...]) -> pa.Array:
        pattern, replacement = (texts[code] for texts, code in zip(known, codes, strict=True))
        return pc.replace_substring(part, pattern, replacement) if pattern else part

    found = _grouped(text, [longs(e.indices) for e in encoded], one)
    return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), found)


def by_pattern(f: Callable[..., pa.Array]) -> Callable[[pa.Array, pa.Array], pa.Array]:
    """``f`` of texts and one pattern, for a pattern in each row."""

    def kernel(text: pa.Array, patterns: pa.Array) -> pa.Array:
        absent = nulls(text) | nulls(patterns)
        encoded = patterns.dictionary_encode()
        known = encoded.dictionary.to_pylist()
        codes = longs(encoded.indices)
        found = _grouped(text, [codes], lambda part, code: f(part, known[code[0]] if known else ""))
        return pc.if_else(pa.array(absent), pa.scalar(None, pa.bool_()), found)

    return kernel


def _grouped(text: pa.Array, by: Sequence[Long], f: Callable[[pa.Array, tuple[int, ...]], pa.Array]) -> pa.Array:
    """``f`` of the texts that have equal numbers in ``by``, put back in order."""
    if not len(text):
        return f(text, (0,) * len(by))
    order = np.lexsort(list(by))
    steps = np.logical_or.reduce([np.diff(numbers[order]) != 0 for numbers in by])
    starts = [0, *(np.flatnonzero(steps) + 1).tolist(), len(order)]
    if len(starts) == 2:
        return f(text, tuple(int(numbers[0]) for numbers in by))
    ordered = text.take(pa.array(order))
    parts = [
        f(ordered.slice(a, b - a), tuple(int(numbers[order[a]]) for numbers in by))
        for a, b in pairwise(starts)
    ]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(back))


# ---------------------------------------------------------------- dates


def to_date(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
    """yyyy-MM-dd, years 0001 to 9999, days that there are."""
    (text,) = args
    shaped = pc.match_substring_regex(text, ISO_DATE)
    spelled = pc.if_else(shaped, text, pa.scalar(None, pa.string()))
    year, month, day = (longs(_digits(spelled, *places)) for places in ((0, 4), (5, 7), (8, 10)))
    good = mask(shaped) & (year > 0) & (month > 0) & (month < 13) & (day > 0)
    known = np.where(good, (year - 1970) * 12 + month - 1, 0)
    firsts, nexts = (m.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) for m in (known, known + 1))
    days = firsts + day - 1
    good &= days < nexts
    bad: Mask = ~good & ~nulls(text)
    values = pa.array(np.where(good, days, 0).astype(np.int32), pa.int32(), mask=nulls(text)).cast(pa.date32())
    return Column(values, failed(bad, NO_CAST))


def _digits(text: pa.Array, start: int, stop: int) -> pa.Array:
    return pc.utf8_slice_codeunits(text, start, stop).cast(pa.int64())


def part_of_date(f: Callable[[pa.Array], pa.Array]) -> Callable[[pa.Array], pa.Array]:
    return lambda days: f(days).cast(pa.int32())


def to_string(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
    """true and false, digits, yyyy-MM-dd."""
    return Column(args[0].cast(pa.string()))
