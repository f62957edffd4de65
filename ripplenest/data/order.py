"""The order of rows, over columns: what the first rows of a key are, and which row comes before which.

An ordering says by which columns rows of a key are ordered; rows that agree in them are ordered by all other columns,
ascending and with NULL last, so that no two rows are in one place. NaN is the highest double, texts are ordered by code
point (so by their bytes), and NULL is one value, of which each column says where it comes.

Two faces of an order are used. The *codes* of a column are numbers of 64 bits, compared one after another, that order
the values of one array; a text has there its rank in that array. The *prefix* of a value is one number that does not
depend on what else there is: values are in the order of their prefixes as far as these differ. It can be stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from ripplenest.data.argsort import argsort_by
from ripplenest.data.columns import column_at
from ripplenest.data.hashing import U64, bits, is_text, loaded
from ripplenest.data.index import Places
from ripplenest.data.rows import WEIGHT, Rows, sums_fit
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.syntax import Sorting
from ripplenest.nrc.types import Type

SIGN = np.uint64(1 << 63)
LEAST, MOST = np.uint64(1), np.uint64((1 << 64) - 2)  # prefixes of values; below and above is NULL
FAR = np.int64(1 << 62)  # behind every rank
Limits = npt.NDArray[np.int64] | int


@frozen
class By:
    """A column that rows are ordered by. Where NULL comes does not depend on ``descending``."""

    column: int
    descending: bool = False
    nulls_first: bool = False


UP = By(0, nulls_first=True)  # NULL reaches nothing


@frozen
class Ordering:
    """Rows that agree in the columns ``key``, ordered ``by`` columns, and then by all others. An index on it may say
    how far each row and those before it reach in a column ``until``: of intervals by their begins, their ends."""

    key: tuple[int, ...]
    by: tuple[By, ...]
    until: int | None = None

    def every(self, width: int) -> tuple[By, ...]:
        """What orders rows of ``width`` columns: ``by``, then the others, and those of the key last, which are equal in
        a key."""
        named = {b.column for b in self.by}
        others = [i for i in range(width) if i not in named]
        return (*self.by, *(By(i) for i in sorted(others, key=lambda i: (i in self.key, i))))

    def backwards(self, width: int) -> "Ordering":
        """From the last row of ``width`` columns to the first."""
        every = (b for b in self.every(width) if b.column not in self.key)
        return Ordering(self.key, tuple(By(b.column, not b.descending, not b.nulls_first) for b in every))

    def plain(self) -> dict[str, Any]:
        """As JSON has it. Law: ordering_of(o.plain()) = o."""
        plain = {"key": list(self.key), "by": [[b.column, b.descending, b.nulls_first] for b in self.by]}
        return plain if self.until is None else {**plain, "until": self.until}


def shown_by(row: Type, order: Iterable[Sorting], start: int) -> Ordering:
    """How rows of type ``row`` are shown, whose columns begin at ``start``."""
    return Ordering((), tuple(By(start + column_at(row, o.path), o.descending, o.nulls_first) for o in order))


def ordering_of(plain: dict[str, Any]) -> Ordering:
    return Ordering(tuple(plain["key"]), tuple(By(*b) for b in plain["by"]), plain.get("until"))


@frozen(eq=False)
class Edges:
    """Where rows are read from: behind the ``values``, none NULL, of the column that orders them first; rows with the
    value itself are left out if the edge is ``open``."""

    values: pa.Array
    open: bool

    def __len__(self) -> int:
        return len(self.values)


@frozen(eq=False)
class Firsts:
    """What first rows are asked for: of each of ``keys``, which are different, in this order as many copies as
    ``limits`` has for it, among stored rows and the signed rows ``plus``. ``start`` has at most one row for a key, at
    which its rows begin; it need not be there. Or they begin at ``edges``, of which each key has one: then a key may
    come again, and rows of ``plus`` are different."""

    order: Ordering
    keys: Rows
    limits: Places
    start: Rows | None = None
    plus: Rows | None = None
    edges: Edges | None = None


@frozen(eq=False)
class Within:
    """What rows are asked for between values: of each of ``keys``, which may come again, those whose first column of
    the ``order`` has a prefix from ``low`` on, to ``high``; of values, LEAST to MOST. What prefixes do not tell is told
    by the values ``between`` which rows are, where one is not NULL: of few rows on both sides of them it is not. Rows
    before the first that reaches the prefix ``until`` in the order's other column are none of them."""

    order: Ordering
    keys: Rows
    low: U64
    high: U64
    between: tuple[pa.Array, pa.Array] | None = None
    until: U64 | None = None

    def __len__(self) -> int:
        return len(self.keys)


@frozen
class First:
    """The first rows of keys, each once with its copies; of each the number of the key that it is ``of``, and those of
    a key in their order. ``read`` counts the stored rows that were looked at."""

    rows: Rows
    read: int
    of: Places = field(factory=lambda: np.empty(0, np.int64))


# ---------------------------------------------------------------- numbers that are ordered as values are


def codes(column: pa.Array, by: By) -> list[U64]:
    """Numbers that order the values of ``column`` as ``by`` has it, compared one array after another."""
    found = _value_codes(column)
    if by.descending:
        found = [~own for own in found]
    if not column.null_count:
        return found
    null = column.is_null().to_numpy(zero_copy_only=False)
    place = (null != by.nulls_first).astype(np.uint64)
    return [place, *(np.where(null, np.uint64(0), own) for own in found)]


def _value_codes(column: pa.Array) -> list[U64]:
    """What NULL gets does not matter."""
    if is_text(column.type):
        ranked: U64 = pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.uint64)
        return [ranked]
    words = bits(column)
    if pa.types.is_floating(column.type):
        return [_of_doubles(words[:, 0])]
    first, *rest = (words[:, i] for i in reversed(range(words.shape[1])))
    return [first ^ SIGN, *rest]


def _of_doubles(words: U64) -> U64:
    """Canonical doubles by their bits: those below zero are ordered from the greatest number down."""
    found: U64 = np.where(words >= SIGN, ~words, words | SIGN)
    return found


def prefixes(column: pa.Array, by: By) -> U64:
    """For each value a number, and a ≤ b only if that of a is not greater than that of b."""
    if is_text(column.type):
        found = _of_texts(column)
    elif pa.types.is_decimal(column.type):
        found = _of_decimals(bits(column))
    else:
        (found,) = _value_codes(column)
    found = np.clip(~found if by.descending else found, LEAST, MOST)
    if column.null_count:
        null = column.is_null().to_numpy(zero_copy_only=False)
        found = np.where(null, LEAST - np.uint64(1) if by.nulls_first else MOST + np.uint64(1), found)
    return found


def prefixes_or(values: pa.Array, other: np.uint64) -> U64:
    """The prefixes of values in ascending order; the ``other`` one of NULL."""
    return np.where(values.is_null().to_numpy(zero_copy_only=False), other, prefixes(values, By(0)))


def prefixes_by(table: pa.Table, every: Sequence[By]) -> U64:
    """Those of the rows of ``table`` (c0…, w) by the first of the columns that order them; 0 where none does."""
    if not every:
        return np.zeros(table.num_rows, np.uint64)
    return prefixes(table.column(every[0].column).combine_chunks(), every[0])


def _of_texts(column: pa.Array) -> U64:
    """The first 8 bytes, filled up with zeros."""
    if not len(column):
        return np.empty(0, np.uint64)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    words = loaded(data, ends, ends[:-1] - ends[0])
    size = np.diff(ends)
    short = size < 8
    words[short] &= (np.uint64(1) << (size[short] << 3).astype(np.uint64)) - np.uint64(1)
    return words.byteswap()


def _of_decimals(words: U64) -> U64:
    """As the doubles nearest to them without their points: a decimal keeps its prefix when its column gets digits."""
    low, high = words[:, 0], words[:, 1]
    below = high >= SIGN
    size = np.where(below, ~low + np.uint64(1), low)
    above = np.where(below, ~high + (low == 0), high).astype(np.uint64)
    doubles = above.astype(np.float64) * 2.0**64 + size.astype(np.float64)
    return _of_doubles(np.where(below, -doubles, doubles).view(np.uint64))


# ---------------------------------------------------------------- rows


def changes(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Where a row differs from the one before it; the first one does."""
    found = np.zeros(len(columns[0]), np.bool_)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def furthest(groups: npt.NDArray[Any], values: U64) -> tuple[U64, Places]:
    """The different ``values``, ascending, and which of them is the greatest so far in each group; groups ascend."""
    known, ranks = np.unique(values, return_inverse=True)
    begin = np.cumsum(changes([groups])) * len(known)
    return known, np.maximum.accumulate(begin + ranks) - begin


def row_codes(table: pa.Table, by: Sequence[By]) -> list[U64]:
    """The codes of the rows of ``table``, most significant first."""
    return [own for b in by for own in codes(table.column(b.column).combine_chunks(), b)]


def ranks(table: pa.Table, o: Ordering) -> Places:
    """For each row (c0…, w) how many come before it, whatever their keys are: equal rows share a number."""
    return ranks_by(table, o.every(table.num_columns - 1))


def key_numbers(table: pa.Table, key: Sequence[int]) -> Places:
    """A number for the key of each row, less than there are rows; NULL is NULL, NaN is NaN."""
    return ranks_by(table, [By(c) for c in key])


def ranks_by(table: pa.Table, every: Sequence[By]) -> Places:
    """For each row how many come before it by these columns alone: who agrees in them shares a number. Column by
    column: what one tells apart the next ones are not asked for."""
    found, tied = np.zeros(table.num_rows, np.int64), np.arange(table.num_rows)
    for by in every:
        if len(tied) < 2:
            break
        tied = told_apart(found, tied, table.column(by.column).combine_chunks(), by)
    return found


def told_apart(found: Places, tied: Places, column: pa.Array, by: By) -> Places:
    """Of the ``tied`` rows, those that still share a number when ``column`` is asked, too. ``found`` has for each row
    how many come before it, and is changed."""
    own = codes(column if len(tied) == len(found) else column.take(pa.array(tied)), by)
    before = found[tied]
    order = argsort_by(before, *own)
    before, starts = before[order], changes([before[order], *(c[order] for c in own)])
    place = np.arange(len(tied))
    group, part = (np.maximum.accumulate(np.where(s, place, 0)) for s in (changes([before]), starts))
    found[tied[order]] = before + part - group
    single = starts & np.append(starts[1:], True)
    return np.sort(tied[order][~single])


@frozen
class Copies:
    """Different rows by key and rank: where one of them is, the key of each, and how often it is there."""

    places: Places
    keys: Places
    counts: npt.NDArray[Any]

    @classmethod
    def of(cls, keys: Places, own: Places, weights: Places) -> "Copies":
        """The sums of ``weights`` of rows that have their ``own`` ranks in ``keys``, in their order."""
        order = argsort_by(keys, own)
        starts = np.flatnonzero(changes([keys[order], own[order]]))
        if not len(starts):
            return cls(order, order, order)
        counts = np.add.reduceat(wide(weights[order]), starts)
        return cls(order[starts], keys[order][starts], counts)

    def first(self, limits: Limits) -> tuple[Places, Places]:
        """Of each key the rows that its first copies are, and how many of them. ``limits`` are by row here. Raises
        LawBroken for a row that is there less than 0 times."""
        if len(self.counts) and self.counts.min() < 0:
            what = "rows in order that are there less than 0 times"
            raise LawBroken(what, wanted="0 or more", got=int(self.counts.min()))
        there = np.minimum(self.counts, limits)
        until = np.cumsum(wide(there))
        start = np.flatnonzero(changes([self.keys])) if len(self.keys) else self.keys
        before = np.repeat((until - there)[start], np.diff(np.append(start, len(until))))
        copies = np.minimum(np.maximum(limits - (until - there - before), 0), there).astype(np.int64)
        kept = np.flatnonzero(copies)
        return self.places[kept], copies[kept]


def wide(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``numbers``, as integers without an end where their sums may not fit into 64 bits."""
    return numbers if sums_fit(numbers) else numbers.astype(object)


def weighed(table: pa.Table, places: Places, weights: Places) -> pa.Table:
    """The rows of ``table`` at ``places``, so many times each."""
    found, at = table.take(pa.array(places)), table.num_columns - 1
    return found.set_column(at, table.schema.field(at), pa.array(weights, pa.int64()))


def first_of(rows: Rows, o: Ordering, limits: Limits) -> Rows:
    """The first copies of each key, so many as ``limits`` says: for all keys, or for each entry of ``rows`` that of its
    key. The last row may keep a part of its copies.

    Raises LawBroken for a row that is there less than 0 times.
    """
    table = rows.arrow().combine_chunks()
    found = Copies.of(key_numbers(table, o.key), ranks(table, o), table.column(WEIGHT).to_numpy())
    places, copies = found.first(limits if isinstance(limits, int) else limits[found.places])
    return Rows(rows.types, table=weighed(table, places, copies), summed=True)


def orderings(width: int, given: Sequence[Ordering]) -> Iterator[Ordering]:
    """Those of ``given`` that are none of rows of ``width`` columns."""
    for o in given:
        named = [b.column for b in o.by]
        known = all(0 <= c < width for c in (*o.key, *named, *(() if o.until is None else (o.until,))))
        if not known or len(set(o.key)) < len(o.key) or len(set(named)) < len(named):
            yield o
