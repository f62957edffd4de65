"""The first rows of keys, in their order: read from segments that have an index for it, together with a change that is
not stored.

A row may be in several segments, and be taken away by later ones. So rows of all segments are merged by their real
values and the weights of equal ones added up; what comes to 0 is passed over. Of each key and segment a few entries are
taken at a time. A row is *settled* when no segment has unread rows at or before it: that of which the last row taken
comes first says how far. As long as the settled rows are too few copies, more is taken of that segment alone, twice as
much as before. So what is read is about what is asked for, and what is passed over on the way, however large a key is.
All keys are read at once, as columns.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen

from ripplenest.data.grouping import same
from ripplenest.data.hashing import U64, hash_columns
from ripplenest.data.index import Columns, Places, index_of, matches
from ripplenest.data.order import FAR, Copies, First, Firsts, Ordering, key_numbers, prefixes, ranks, weighed
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.nrc.errors import LawBroken
from ripplenest.nrc.types import Base
from ripplenest.store.ordered import OrderedIndex, entries

NEAR = 8  # entries in which a place is not searched for by comparing rows
NOWHERE: Places = np.empty(0, np.int64)
NOBODY = -1  # whose rows of other keys are that have the same hash
Take = Callable[[Places], pa.Table]  # the rows of a segment at some places, with the columns c0…, w


@frozen(eq=False)
class Asked:
    """What is asked for: by key, each once, how many copies, and where they begin."""

    order: Ordering
    types: tuple[Base, ...]
    keys: pa.Table
    limits: Places
    start: pa.Table  # full rows
    starts: Places  # by key its row of ``start``; NOBODY for a key that is read from its beginning

    @classmethod
    def of(cls, firsts: Firsts, types: tuple[Base, ...]) -> "Asked":
        """Rows of ``start`` whose keys are not asked for do not matter. Raises LawBroken for a key that is asked for
        twice, or begins at two rows."""
        o, keys = firsts.order, firsts.keys
        begin = (Rows.empty(types) if firsts.start is None else firsts.start).arrow().combine_chunks()
        asked, starts = keys.arrow().combine_chunks(), np.full(len(keys), NOBODY, np.int64)
        which, owners = owned(asked, begin, o.key)
        starts[owners] = which
        for numbers in (key_numbers(asked, range(len(o.key))), owners):
            if len(np.unique(numbers)) < len(numbers):
                raise LawBroken("a key whose first rows are asked for twice", wanted="different keys", got=len(numbers))
        return cls(o, types, asked, np.maximum(firsts.limits, 0), begin, starts)

    @property
    def hashes(self) -> U64:
        """Of the keys."""
        return hash_columns([c.combine_chunks() for c in self.keys.columns[:-1]], self.keys.num_rows)

    def is_of(self, rows: pa.Table, owners: Places) -> Places:
        """For each row its owner, whose hash it has, or NOBODY if that is another key."""
        equal = np.ones(len(owners), np.bool_)
        for column, key in zip(self.order.key, self.keys.columns, strict=False):
            equal &= same(rows.column(column).combine_chunks(), key.take(pa.array(owners)).combine_chunks())
        return np.where(equal, owners, NOBODY)


def owned(keys: pa.Table, rows: pa.Table, columns: Columns) -> tuple[Places, Places]:
    """(which, owner): row number ``which`` has key number ``owner``."""
    own = [rows.column(c).combine_chunks() for c in columns]
    own = [a.cast(t) for a, t in zip(own, keys.schema.types, strict=False)]
    place = tuple(range(len(columns)))
    return matches(index_of(keys, place), keys, place, hash_columns(own, rows.num_rows), own)


# ---------------------------------------------------------------- one segment


@define(eq=False)
class Reading:
    """A segment as it is read on: by key the next entry, the end, and how many entries are taken the next time."""

    index: OrderedIndex
    take: Take
    next: Places
    end: Places
    chunk: Places
    last: Places  # by key, the number of the last row that was taken, among all rows that were

    @classmethod
    def begun(cls, index: OrderedIndex, take: Take, asked: Asked) -> tuple["Reading", int]:
        """At the bound of each key, or a few entries before it; and how many rows it took to find that."""
        first, many = index.spans(asked.hashes)
        read, bounded = 0, np.flatnonzero((asked.starts >= 0) & (many > 0) & (asked.limits > 0))
        if len(bounded):
            bound = asked.start.take(pa.array(asked.starts[bounded]))
            begin, read = _begin(index, take, asked.order, bound, first[bounded], (first + many)[bounded])
            many[bounded] -= begin - first[bounded]
            first[bounded] = begin
        nothing = np.zeros(len(first), np.int64)
        return cls(index, take, first, first + many, nothing, nothing - 1), read

    @property
    def left(self) -> Places:
        """How many entries of each key there are to read."""
        return self.end - self.next

    def taken(self, due: Places, at: int) -> tuple[pa.Table, Places]:
        """The next rows of the keys that are ``due``, and whose they seem to be. ``at`` is the number of the first."""
        many = np.minimum(self.chunk[due], self.left[due])
        which, found = entries(self.next[due], many)
        self.next[due] += many
        self.chunk[due] = 2 * np.maximum(many, 1)
        self.last[due] = at + np.cumsum(many) - 1
        return self.take(self.index.rows(found)), due[which]


def _begin(
    index: OrderedIndex, take: Take, o: Ordering, bound: pa.Table, first: Places, end: Places
) -> tuple[Places, int]:
    """In each span the place of ``bound``, or at most NEAR entries before it; and how many rows were compared."""
    by = o.every(bound.num_columns - 1)
    if not by:
        return first, 0
    wanted = prefixes(bound.column(by[0].column).combine_chunks(), by[0])
    low = index.reached(first, end, wanted)
    last = wanted == np.iinfo(np.uint64).max
    high = np.where(last, end, index.reached(first, end, wanted + np.where(last, 0, 1).astype(np.uint64)))
    read = 0
    while (wide := np.flatnonzero(high - low > NEAR)).size:
        middle = (low[wide] + high[wide]) >> 1
        rows = take(index.rows(middle))
        both = pa.concat_tables([rows, bound.take(pa.array(wide))]).combine_chunks()
        own = ranks(both, o)
        less = own[: len(wide)] < own[len(wide) :]
        low[wide[less]] = middle[less] + 1
        high[wide[~less]] = middle[~less]
        read += len(wide)
    return low, read


# ---------------------------------------------------------------- all of them


@define(eq=False)
class Pool:
    """Rows that were taken of segments, and whose they are, of the keys that are not done with; of these how many
    copies are wanted, and where they begin. ``found`` are the rows of those that are."""

    limits: Places
    start: pa.Table
    starts: Places
    tables: list[pa.Table] = field(factory=list)
    owners: list[Places] = field(factory=list)
    size: int = 0
    found: list[pa.Table] = field(factory=list)

    def add(self, table: pa.Table, owners: Places) -> None:
        self.tables.append(table)
        self.owners.append(owners)
        self.size += len(owners)

    def table(self) -> pa.Table:
        """The rows as one table, the bounds of keys behind them."""
        if len(self.tables) > 1:
            self.tables = [pa.concat_tables(self.tables).combine_chunks()]
            self.owners = [np.concatenate(self.owners)]
        return pa.concat_tables([*self.tables, self.start]).combine_chunks()

    def narrow(self, open_: Places, settled: "Settled", readings: Sequence["Reading"]) -> None:
        """Only go on with the keys that are ``open_``: what others had to read costs them nothing."""
        (table,), (owners,) = self.tables, self.owners
        is_open = np.zeros(len(self.limits), np.bool_)
        is_open[open_] = True
        done = ~is_open[owners[settled.places]]
        self.found.append(weighed(table, settled.places[done], settled.copies[done]))
        kept = (owners >= 0) & is_open[owners]
        ends = [(r, open_[r.left[open_] > 0]) for r in readings]
        for r, own in ends:  # which may be rows of other keys
            kept[r.last[own]] = True
        place = np.cumsum(kept) - 1
        for r, own in ends:
            r.last[own] = place[r.last[own]]
        self.tables, self.owners = [table.filter(pa.array(kept))], [owners[kept]]
        self.size, self.limits = len(self.owners[0]), np.where(is_open, self.limits, 0)
        bounds = open_[self.starts[open_] >= 0]
        self.start, self.starts = self.start.take(pa.array(self.starts[bounds])), np.full(len(is_open), NOBODY)
        self.starts[bounds] = np.arange(len(bounds))


@frozen(eq=False)
class Settled:
    """How far rows are settled, and the first copies among them."""

    reached: Places  # by key, the rank up to which they are; FAR for all
    ranks: Places  # of the rows that were taken
    counts: Places  # by key, the copies at or after its bound, of settled rows, as far as they are asked for
    places: Places
    copies: Places


def read_first(segments: Sequence[tuple[OrderedIndex, Take]], asked: Asked, plus: Rows | None) -> First:
    """The first copies of each key among the rows of ``segments`` and ``plus`` that come at or after its bound.

    Raises LawBroken for a row among them that is there less than 0 times, and CorruptState.
    """
    pool, read = Pool(asked.limits, asked.start, asked.starts), 0
    pool.add(*_of_change(asked, plus))
    readings = []
    for index, take in segments:
        reading, compared = Reading.begun(index, take, asked)
        readings.append(reading)
        read += compared
    _share_out(readings, asked.limits)
    due = [np.flatnonzero((r.left > 0) & (asked.limits > 0)) for r in readings]
    while True:
        for reading, own in zip(readings, due, strict=True):
            if len(own):
                table, owners = reading.taken(own, pool.size)
                pool.add(table, asked.is_of(table, owners))
                read += len(owners)
        settled = _settled(pool, readings, asked.order)
        due = list(_due(readings, settled, pool.limits))
        open_ = np.unique(np.concatenate([NOWHERE, *due]))
        pool.narrow(open_, settled, readings)
        if not len(open_):
            return First(Rows(asked.types, table=pa.concat_tables(pool.found), summed=True), read)


def _of_change(asked: Asked, plus: Rows | None) -> tuple[pa.Table, Places]:
    """The rows of a change that have one of the keys, and whose they are."""
    table = (Rows.empty(asked.types) if plus is None else plus).arrow().combine_chunks()
    which, owners = owned(asked.keys, table, asked.order.key)
    wanted = asked.limits[owners] > 0  # of other keys nothing is read, and so nothing known
    return table.take(pa.array(which[wanted])), owners[wanted]


def _share_out(readings: Sequence[Reading], limits: Places) -> None:
    """What is taken first: one row more than is asked for, of each segment its share of the rows that there are."""
    every = np.maximum(sum((r.left for r in readings), np.zeros(len(limits), np.int64)), 1).astype(np.float64)
    for r in readings:
        share = np.ceil((limits.astype(np.float64) + 1) * (r.left / every))
        r.chunk = np.minimum(share, r.left).astype(np.int64)


def _settled(pool: Pool, readings: Sequence[Reading], o: Ordering) -> Settled:
    table, (owners,) = pool.table(), pool.owners
    every = ranks(table, o)
    own = every[: pool.size]
    reached = np.full(len(pool.limits), FAR)
    for r in readings:
        behind = np.flatnonzero((r.left > 0) & (pool.limits > 0))
        reached[behind] = np.minimum(reached[behind], own[r.last[behind]])
    begin, bounded = np.zeros(len(pool.limits), np.int64), np.flatnonzero(pool.starts >= 0)
    begin[bounded] = every[pool.size + pool.starts[bounded]]
    there = np.flatnonzero(owners >= 0)
    there = there[(own[there] >= begin[owners[there]]) & (own[there] <= reached[owners[there]])]
    weights = pc.cast(table.column(WEIGHT), pa.int64()).to_numpy()[there]
    found = Copies.of(owners[there], own[there], weights)
    at, copies = found.first(pool.limits[found.keys])
    counts = np.zeros(len(pool.limits), np.int64)
    np.add.at(counts, owners[there][at], copies)
    return Settled(reached, own, counts, there[at], copies)


def _due(readings: Sequence[Reading], settled: Settled, limits: Places) -> Iterator[Places]:
    """By segment, the keys of which more is to be taken."""
    wanting = settled.counts < limits
    for r in readings:
        open_ = np.flatnonzero(wanting & (r.left > 0))
        yield open_[settled.ranks[r.last[open_]] == settled.reached[open_]] if len(open_) else open_
