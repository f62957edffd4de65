"""Whether two nested tables have the same rows, bags at every depth in any order.

Rows become numbers, from the inside out: equal values of a base column have one number drawn for them, a bag has the
sum of its rows' numbers, and a row the sum of its fields', each mixed before it is added. So equal bags have equal
numbers in any order; others have them with a chance of about 2⁻¹²⁸, as all numbers are pairs of 64 bits.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]  # a pair for each row
SEED = 0x5EED
NULL = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], np.uint64)
BAG = np.array([0x8CB92BA72F3D8DD7, 0xAEF17502108EF2D9], np.uint64)  # an empty one: 0 mixed is 0, and adds nothing


def differing(left: pa.Table, right: pa.Table) -> int:
    """How many rows one of them has and the other has not, each as often as it comes. Both are read as rows of
    ``left``'s types; raises pa.ArrowException or LookupError where that cannot be."""
    tables = [table.select(left.column_names).cast(left.schema) for table in (left, right)]
    mine, theirs = _numbers([_one(table.to_struct_array()) for table in tables], np.random.default_rng(SEED))
    both = np.concatenate([mine, theirs])
    signs = np.repeat(np.array([1, -1]), [len(mine), len(theirs)])
    order = np.lexsort((both[:, 1], both[:, 0]))
    both, signs = both[order], signs[order]
    starts = np.flatnonzero(np.concatenate([[True], (both[1:] != both[:-1]).any(axis=1)])[: len(both)])
    return int(np.abs(np.add.reduceat(signs, starts)).sum()) if len(both) else 0


def _numbers(arrays: Sequence[pa.Array], draw: np.random.Generator) -> list[Numbers]:
    """The number of each value of two arrays of one type."""
    t = arrays[0].type
    if pa.types.is_struct(t):
        found = _fields(arrays, draw)
    elif pa.types.is_list(t) or pa.types.is_large_list(t):
        inner = _numbers([_one(array.flatten()) for array in arrays], draw)
        found = [_sums(array, numbers) for array, numbers in zip(arrays, inner, strict=True)]
    else:
        return _values(arrays, draw)
    return [_without_null(array, numbers) for array, numbers in zip(arrays, found, strict=True)]


def _fields(arrays: Sequence[pa.StructArray], draw: np.random.Generator) -> list[Numbers]:
    totals = [np.zeros((len(array), 2), np.uint64) for array in arrays]
    for i in range(arrays[0].type.num_fields):
        salt = draw.integers(0, 2**64, 2, np.uint64)
        found = _numbers([array.field(i) for array in arrays], draw)
        totals = [total + _mixed(numbers + salt) for total, numbers in zip(totals, found, strict=True)]
    return totals


def _sums(array: pa.ListArray, inner: Numbers) -> Numbers:
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    ends = np.cumsum(lengths)
    running = np.concatenate([np.zeros((1, 2), np.uint64), np.cumsum(_mixed(inner), axis=0, dtype=np.uint64)])
    found: Numbers = running[ends] - running[ends - lengths] + BAG
    return found


def _values(arrays: Sequence[pa.Array], draw: np.random.Generator) -> list[Numbers]:
    joint = pa.concat_arrays(arrays).dictionary_encode(null_encoding="encode")
    drawn = draw.integers(0, 2**64, (len(joint.dictionary), 2), np.uint64)
    return np.split(drawn[joint.indices.to_numpy()], [len(arrays[0])])


def _without_null(array: pa.Array, numbers: Numbers) -> Numbers:
    if array.null_count:
        numbers[array.is_null().to_numpy(zero_copy_only=False)] = NULL
    return numbers


def _one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)


def _mixed(x: Numbers) -> Numbers:
    """splitmix64, by which sums of related numbers are not related."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
