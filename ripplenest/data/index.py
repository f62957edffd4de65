"""Finding rows by the values of some columns: the one join of this process.

An index is the hashes of these columns, ascending, and the row of each. Whoever looks keys up hashes them in the same
way, searches for the hashes, and compares the real values of what is found. Stored segments carry their indexes, what
is in memory gets one when it is first asked for; both are looked up by ``matched``.
"""

from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ripplenest.data.argsort import argsort, ranks, searched
from ripplenest.data.grouping import hashes_of, same
from ripplenest.data.hashing import U64, TextHash, hash_columns, is_text
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.types import Base

Places = npt.NDArray[np.int64]
Index = tuple[U64, Places]
Columns = tuple[int, ...]

_NOWHERE: Places = np.empty(0, np.int64)
CROWDED = 1 << 16  # candidates, and times as many as there can be without collisions, that are not compared one by one
CROWD = 8


class Keys:
    """The distinct keys of a probe, as columns, in the order of their hashes."""

    def __init__(self, columns: Columns, keys: Rows) -> None:
        """Raises WrongValue or WrongColumns for a key that is not of its types."""
        arrays = [column.combine_chunks() for column in keys.arrow().columns[:-1]]
        hashes = hash_columns(arrays, len(keys))
        order = argsort(hashes)
        self.columns, self._types = columns, keys.types
        self.hashes, self.arrays = hashes[order], [a.take(pa.array(order)) for a in arrays]
        if len(order) > 1:
            self._distinct()

    def _distinct(self) -> None:
        """Leave out keys that come again. Keys of one hash that differ may be mixed: then all are compared."""
        again = self.hashes[1:] == self.hashes[:-1]
        if not again.any():
            return
        equal = again.copy()
        for a in self.arrays:
            equal &= same(a.slice(1), a.slice(0, len(a) - 1))
        if (equal == again).all():
            first = np.concatenate([[True], ~again])
            self.hashes, self.arrays = self.hashes[first], [a.filter(pa.array(first)) for a in self.arrays]
            return
        names = [str(i) for i in range(len(self.arrays))]
        table = pa.table(self.arrays, names).group_by(names, use_threads=False).aggregate([])
        self.arrays = [table.column(name).combine_chunks() for name in names]
        hashes = hash_columns(self.arrays, table.num_rows)
        order = argsort(hashes)
        self.hashes, self.arrays = hashes[order], [a.take(pa.array(order)) for a in self.arrays]

    def __len__(self) -> int:
        return len(self.hashes)

    def are(self, other: "Keys") -> bool:
        """Whether these are the same keys; of those that share a hash it may say no."""
        equal = np.array_equal(self.hashes, other.hashes)
        return equal and all(same(a, b).all() for a, b in zip(self.arrays, other.arrays, strict=True))

    def numbers(self, keys: Rows) -> Places:
        """By row of ``keys``, all of which are here, the number of its key, or of the first of those of its hash."""
        arrays = [column.combine_chunks() for column in keys.arrow().columns[:-1]]
        return np.searchsorted(self.hashes, hash_columns(arrays, len(keys)))

    def places(self, keys: Rows) -> tuple[Places, Places]:
        """(which, place): row number ``which`` of ``keys`` is the key number ``place`` here."""
        arrays = [column.combine_chunks() for column in keys.arrow().columns[:-1]]
        here, hashes = Sorted((self.hashes, np.arange(len(self)))), hash_columns(arrays, len(keys))
        return matched(here, lambda own: [a.take(pa.array(own)) for a in self.arrays], hashes, arrays)

    @property
    def rows(self) -> Rows:
        """The keys, each once."""
        return Rows.of_columns(self._types, self.arrays)

    def part(self, first: int, end: int) -> "Keys":
        """The keys from number ``first`` to before ``end``."""
        if (first, end) == (0, len(self)):
            return self
        found = copy(self)
        found.hashes, found.arrays = self.hashes[first:end], [a.slice(first, end - first) for a in self.arrays]
        return found

    def hashed(self, texts: TextHash) -> U64:
        """The hashes of the keys where texts are hashed in one way or another; in order only those of today's."""
        if texts == "words" or not any(is_text(a.type) for a in self.arrays):
            return self.hashes
        return hash_columns(self.arrays, len(self), texts)


# Keys to look up, as whoever asks has them: columns, whatever they weigh, tuples, or keys that were looked up before.
Wanted = Rows | Collection[Row] | Keys


def wanted(keys: Wanted, types: tuple[Base, ...]) -> Rows:
    """``keys`` of ``types`` as columns."""
    match keys:
        case Keys():
            return keys.rows
        case Rows():
            return keys
    return Rows.of_counts(types, dict.fromkeys(keys, 1))


def asked_for(columns: Columns, keys: Wanted, types: tuple[Base, ...]) -> Keys:
    """``keys`` of ``columns``, of ``types``: hashed and in order, if they are not already. Raises WrongValue or
    WrongColumns."""
    return keys if isinstance(keys, Keys) and keys.columns == columns else Keys(columns, wanted(keys, types))


def key_rows(keys: Wanted) -> Collection[Row]:
    """``keys`` as tuples, each once."""
    match keys:
        case Keys():
            return key_rows(keys.rows)
        case Rows():
            return dict.fromkeys(row for row, _ in keys.pairs())
    return keys


class Lookup(Protocol):
    """An index as it is looked up, wherever it is."""

    def spans(self, hashes: U64) -> tuple[Places, Places]:
        """By hash, the first entry that has it, and how many have it."""

    def rows(self, entries: Places) -> Places:
        """The rows of entries."""


class Sorted:
    """An index in memory."""

    def __init__(self, index: tuple[U64, Places]) -> None:
        self._hashes, self._rows = index

    def spans(self, hashes: U64) -> tuple[Places, Places]:
        first = searched(self._hashes, hashes, "left")
        if not len(self._hashes):
            return first, first
        many = self._is(first, hashes).astype(np.int64)
        there = np.flatnonzero(many)
        again = there[self._is(first[there] + 1, hashes[there])]
        if len(again):  # most hashes are not there, or once
            many[again] = searched(self._hashes, hashes[again], "right") - first[again]
        return first, many

    def _is(self, entries: Places, wanted: U64) -> npt.NDArray[np.bool_]:
        """Whether there are these entries, and their hashes are the ``wanted`` ones."""
        inside = np.minimum(entries, len(self._hashes) - 1)
        equal: npt.NDArray[np.bool_] = (self._hashes[inside] == wanted) & (inside == entries)
        return equal

    def rows(self, entries: Places) -> Places:
        return self._rows[entries]


def index_of(table: pa.Table, columns: Columns) -> Index:
    """(h, r) of ``table`` on ``columns``."""
    hashes = hashes_of(table, columns)
    order = argsort(hashes)
    return hashes[order], order


def matches(
    index: Index, table: pa.Table, columns: Columns, hashes: U64, keys: Sequence[pa.Array]
) -> tuple[Places, Places]:
    """``matched`` in the rows of ``table``, whose ``index`` is on ``columns``."""

    def values(places: Places) -> list[pa.Array]:
        taken = pa.array(places)
        return [table.column(column).take(taken).combine_chunks() for column in columns]

    return matched(Sorted(index), values, hashes, keys)


def matched(
    lookup: Lookup, values: Callable[[Places], Sequence[pa.Array]], hashes: U64, keys: Sequence[pa.Array]
) -> tuple[Places, Places]:
    """(which, place): key number ``which`` of ``keys``, which have ``hashes``, is that of the row ``place``. ``values``
    are the key columns of rows. NULL is NULL, NaN is NaN.

    Cost: keys × log(rows) + rows with an equal hash; fastest when hashes ascend. Where many keys share their hashes
    with many rows, they are sorted and not compared each with each: (keys + rows) × log + what is found.
    """
    first, many = lookup.spans(hashes)
    total = int(many.sum())
    if not total:
        return _NOWHERE, _NOWHERE
    if is_crowded(total, len(hashes)):
        _, once = np.unique(hashes, return_index=True)
        if total > CROWD * (len(hashes) + int(many[once].sum())):
            _, entries = entries_in(first[once], many[once])
            return _sorted_out(lookup.rows(entries), values, keys, len(hashes))
    which, entries = entries_in(first, many)
    places = lookup.rows(entries)
    equal = np.ones(total, dtype=np.bool_)
    asked = pa.array(which)
    for column, key in zip(values(places), keys, strict=True):
        equal &= same(column, key.take(asked))
    return (which, places) if equal.all() else (which[equal], places[equal])


def is_crowded(candidates: int, keys: int) -> bool:
    """Whether more rows have the hashes of so many keys than can be compared one by one."""
    return candidates > max(CROWDED, CROWD * keys)


def entries_in(first: Places, many: Places) -> tuple[Places, Places]:
    """The number and the entry of each entry of spans."""
    return np.repeat(np.arange(len(many)), many), ranges(first, many)


def ranges(first: Places, many: Places) -> Places:
    """first, first + 1, …: so ``many`` numbers from each, one after the other."""
    found: Places = np.arange(int(many.sum())) + np.repeat(first - (np.cumsum(many) - many), many)
    return found


def _sorted_out(
    places: Places, values: Callable[[Places], Sequence[pa.Array]], keys: Sequence[pa.Array], many: int
) -> tuple[Places, Places]:
    """What is ``matched`` among candidates: values are numbered, equal ones alike, and the ``many`` keys looked up by
    their numbers."""
    numbers = np.zeros(len(places) + many, np.int64)
    for column, key in zip(values(places), keys, strict=True):
        joint = pa.concat_arrays([column, key.cast(column.type)])
        if pa.types.is_floating(joint.type):
            joint = joint.view(pa.int64())
        own = joint.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
        numbers = ranks(numbers * (int(own.max()) + 1) + own)
    known, asked = numbers[: len(places)], numbers[len(places) :]
    order = argsort(known)
    first = np.searchsorted(known[order], asked, "left")
    which, entries = entries_in(first, np.searchsorted(known[order], asked, "right") - first)
    return which, places[order][entries]
