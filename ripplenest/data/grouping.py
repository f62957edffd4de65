"""Rows by the columns that they share, without a hash table: rows in the order of a hash of these columns, where equal
ones are neighbours.

It is for keys that are long, or of which nearly all rows have their own; where very many rows have few keys, these are
left to Arrow's ``group_by`` (``run/piecewise.py``). A hash is not believed: neighbours with the same one are compared,
and where two of them differ there is no answer.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from ripplenest.data.argsort import argsort, argsort_by, ascends
from ripplenest.data.hashing import U64, bits, hash_columns, mixed, unmixed, whole_numbers

TOGETHER = 1 << 16  # rows that are put together if they lie in pieces
PRINTS = 1  # the seed of what tells rows apart; that of hashes of keys is 0
Ints = npt.NDArray[np.int64]
Columns = tuple[int, ...]


@frozen(eq=False)
class Grouping:
    """The places of rows in an ``order`` in which equal keys are neighbours, and where in it each key begins."""

    order: Ints
    starts: Ints
    moved: bool = True  # whether this is another order than the one in which they came

    @property
    def firsts(self) -> Ints:
        """A row of each key."""
        return self.order[self.starts]

    @property
    def are_all_apart(self) -> bool:
        """Whether no two rows have one key."""
        return len(self.starts) == len(self.order)

    def sums(self, values: Ints) -> Ints:
        """By key the sum of what its rows have, which must not leave 64 bits."""
        if not len(self.starts):
            return np.empty(0, np.int64)
        return np.add.reduceat(values[self.order] if self.moved else values, self.starts)


def grouping(keys: pa.Table, near: Columns = ()) -> Grouping | None:
    """The rows of ``keys``, canonical columns, by what they are; None where two of one hash differ. Keys come in the
    order of the hash of their columns ``near``."""
    keys = _together(keys)
    places = hashes_of(keys, near) if near else None
    if places is not None and len(near) == keys.num_columns:
        own, order = places, argsort(places)
    elif places is not None:
        others = keys.select([i for i in range(keys.num_columns) if i not in near])
        own = mixed((places, row_prints(others)), keys.num_columns, len(keys))
        order = argsort_by(places, own)
    else:
        own = row_prints(keys)
        order = argsort(own)
    ordered = own[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    if len(again) and not _are_equal(keys, order[again], order[again - 1]):
        return None
    is_first = np.ones(len(order), np.bool_)
    is_first[again] = False
    return Grouping(order, np.flatnonzero(is_first), not ascends(order))


def row_prints(table: pa.Table) -> U64:
    """A number for each row, nearly always different for different rows; stored nowhere."""
    return _joined([prints(batch.columns, len(batch)) for batch in _pieces(table)])


def prints(columns: Sequence[pa.Array], rows: int) -> U64:
    """A number for each row, which has nothing in common with the hash of a key of it."""
    return mixed((unmixed(column, PRINTS) for column in columns), len(columns), rows)


def hashes_of(table: pa.Table, columns: Columns) -> U64:
    """The hash of each row of ``table`` by ``columns``."""
    return _joined([hash_columns(b.columns, b.num_rows) for b in _pieces(table.select(columns))])


def about_different(table: pa.Table, columns: Columns) -> float:
    """About how many different values ``columns`` have, by how many places their hashes fill of twice as many as there
    are rows (linear counting: Whang, Vander-Zanden, Taylor, 1990)."""
    if not columns or not len(table):
        return float(min(len(table), 1))
    places = 2 << len(table).bit_length()
    filled = np.zeros(places, np.bool_)
    filled[hashes_of(table, columns) & np.uint64(places - 1)] = True
    return float(-places * np.log1p(-np.count_nonzero(filled) / places))


def crowd(tables: Iterable[pa.Table], columns: Columns) -> float:
    """How many rows of ``tables`` have the values that a row of them has in ``columns``, on average."""
    found = [hashes_of(table, columns) for table in tables if len(table)]
    many = np.unique(np.concatenate(found), return_counts=True)[1] if found else np.zeros(0, np.int64)
    return float((many.astype(np.float64) ** 2).sum() / max(many.sum(), 1))


def _pieces(table: pa.Table) -> list[pa.RecordBatch]:
    """``table`` as it lies in memory; what lies in small pieces is put together, which takes less than to hash each."""
    found: list[pa.RecordBatch] = _together(table).to_batches()
    return found


def _together(table: pa.Table) -> pa.Table:
    return table.combine_chunks() if table.num_rows <= TOGETHER else table


def _joined(numbers: list[U64]) -> U64:
    if len(numbers) == 1:
        return numbers[0]
    return np.concatenate(numbers) if numbers else np.empty(0, np.uint64)


def stretches(keys: pa.Table, near: Columns, rows: int) -> list[tuple[int, int]]:
    """Stretches of about so many ``rows``, of which no two share one of ``keys``: one, unless the rows come in the
    order of the hash of the columns ``near``."""
    if len(keys) <= rows or not near:
        return [(0, len(keys))]
    hashes = hashes_of(keys, near)
    if not ascends(hashes):
        return [(0, len(keys))]
    wanted = np.arange(rows, len(keys), rows)
    ends = np.unique(np.searchsorted(hashes, hashes[wanted], "left"))
    return list(pairwise([0, *ends[ends > 0].tolist(), len(keys)]))


def _are_equal(keys: pa.Table, these: Ints, those: Ints) -> bool:
    return all(_alike(column, these, those) for column in keys.columns)


def _alike(column: pa.ChunkedArray, these: Ints, those: Ints) -> bool:
    """Whether the values of ``column`` at ``these`` places are those at ``those``."""
    known = _words(column.chunk(0)) if column.num_chunks == 1 else None
    if known is not None:
        return all((words[these] == words[those]).all() for words in known)
    return bool(same(*(column.take(pa.array(places)).combine_chunks() for places in (these, those))).all())


def same(a: pa.Array, b: pa.Array) -> npt.NDArray[np.bool_]:
    """a <=> b by element: NULL equals NULL, and NaN NaN, because canonical doubles are equal when their bits are."""
    of_a, of_b = _words(a), _words(b)
    if of_a is not None and of_b is not None and a.type == b.type:
        alike: npt.NDArray[np.bool_] = of_a[0] == of_b[0]
        for x, y in zip(of_a[1:], of_b[1:], strict=True):
            alike &= x == y
        return alike
    if pa.types.is_floating(a.type):
        a, b = a.view(pa.int64()), b.view(pa.int64())
    equal = pc.equal(a, b)
    if equal.null_count:
        equal = pc.if_else(equal.is_null(), pc.and_(a.is_null(), b.is_null()), equal)
    result: npt.NDArray[np.bool_] = equal.to_numpy(zero_copy_only=False)
    return result


def _words(column: pa.Array) -> list[npt.NDArray[Any]] | None:
    """The values of ``column`` as numbers, one for each or two, which numpy compares several times faster than Arrow
    does; None where they are of no fixed width, or some are NULL."""
    known = whole_numbers(column)
    if known is not None:
        return [known]
    if column.null_count or not pa.types.is_decimal(column.type):
        return None
    words = bits(column)
    return [words[:, i] for i in range(words.shape[1])]
