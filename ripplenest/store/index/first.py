"""The first rows of keys, in their order: read from segments that have an index for it, together with a change that is
not stored.

A row may be in several segments, and be taken away by later ones. So rows of all segments are merged by their real
values and the weights of equal ones added up; what comes to 0 is passed over. Of each key and segment a few entries are
taken at a time. A row is *settled* when no segment has unread rows at or before it: it comes no later than the last row
that was taken of the segment, or the prefix of what the segment has next, which the index says, is greater than its. As
long as the settled rows are too few copies, more is taken of the segment alone whose next prefix is the least, twice as
much as before. So what is read is about what is asked for, and what is passed over on the way, however large a key is,
and in however many segments. All keys are read at once, as columns.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen

from ripplenest.data.index import Places
from ripplenest.data.order import FAR, Copies, First, Ordering, prefixes_by, ranks, weighed
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.store.index.arranging import arranged
from ripplenest.store.index.asked import NOBODY, Asked, owned
from ripplenest.store.index.fronts import NONE, Front, Reading, Take
from ripplenest.store.index.ordered import OrderedIndex

NOWHERE: Places = np.empty(0, np.int64)


@define(eq=False)
class Pool:
    """Rows that were taken of segments, and whose they are, of the keys that are not done with; of these how many
    copies are wanted, and where they begin. ``found`` are the rows of those that are."""

    limits: Places
    start: pa.Table
    starts: Places
    are_chained: bool  # where rows of one key end is where those of another one begin
    tables: list[pa.Table] = field(factory=list)
    owners: list[Places] = field(factory=list)
    size: int = 0
    found: list[pa.Table] = field(factory=list)
    of: list[Places] = field(factory=list)

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

    def narrow(self, open_: Places, settled: "Settled", readings: Sequence[Reading]) -> None:
        """Only go on with the keys that are ``open_``: what others had to read costs them nothing."""
        (table,), (owners,) = self.tables, self.owners
        is_open = np.zeros(len(self.limits), np.bool_)
        is_open[open_] = True
        done = ~is_open[owners[settled.places]]
        self.found.append(weighed(table, settled.places[done], settled.copies[done]))
        self.of.append(owners[settled.places[done]])
        kept = (owners >= 0) & is_open[owners]
        ends = [(r, open_[(r.left[open_] > 0) & (r.last[open_] > NONE)]) for r in readings]
        for r, own in ends:  # which may be rows of other keys
            kept[r.last[own]] = True
        place = np.cumsum(kept) - 1
        for r, own in ends:
            r.last[own] = place[r.last[own]]
        self.tables, self.owners = [table.filter(pa.array(kept))], [owners[kept]]
        self.size, self.limits = len(self.owners[0]), np.where(is_open, self.limits, 0)
        if self.are_chained:
            return
        bounds = open_[self.starts[open_] >= 0]
        self.start, self.starts = self.start.take(pa.array(self.starts[bounds])), np.full(len(is_open), NOBODY)
        self.starts[bounds] = np.arange(len(bounds))


@frozen(eq=False)
class Settled:
    """The first copies among the rows that are settled, and which segments are to be read on where they are not enough.
    """

    counts: Places  # by key, the copies at or after its bound, as far as they are asked for
    places: Places
    copies: Places
    fronts: Sequence["Front"]


def read_first(segments: Sequence[tuple[OrderedIndex, Take]], asked: Asked, plus: Rows | None) -> First:
    """The first copies of each key among the rows of ``segments`` and ``plus`` that come at or after its bound.

    Raises LawBroken for a row among them that is there less than 0 times, and CorruptState.
    """
    pool, read = Pool(asked.limits, asked.start, asked.starts, asked.chain is not None), 0
    if plus is not None and asked.chain is not None:
        segments, plus = [*segments, _as_segment(plus, asked.order)], None
    change, owners = _of_change(asked, plus)
    pool.add(change, owners)
    readings = []
    for index, take in segments:
        reading, compared = Reading.begun(index, take, asked)
        readings.append(reading)
        read += compared
    due = _share_out(readings, asked.limits, _taken_away(change, owners, len(asked.limits)))
    while True:
        for reading, own in zip(readings, due, strict=True):
            if len(own):
                table, owners = reading.taken(own, pool.size)
                pool.add(table, asked.is_of(table, owners))
                read += len(owners)
        settled = _settled(pool, readings, asked)
        due = list(_due(settled, pool.limits))
        open_ = np.unique(np.concatenate([NOWHERE, *due]))
        pool.narrow(open_, settled, readings)
        if not len(open_):
            table, of = pa.concat_tables(pool.found), np.concatenate(pool.of)
            if asked.chain is None:
                return First(Rows(asked.types, table=table, summed=True), read, of)
            table, of = asked.chain.first(table, of)
            return First(Rows(asked.types, table=table), read, of)


def _as_segment(plus: Rows, o: Ordering) -> tuple[OrderedIndex, Take]:
    """A change, which is in memory, as a segment is read."""
    table = plus.arrow().combine_chunks()
    return OrderedIndex.of(arranged(table, o), o, 0), lambda places: table.take(pa.array(places))


def _of_change(asked: Asked, plus: Rows | None) -> tuple[pa.Table, Places]:
    """The rows of a change that have one of the keys, and whose they are."""
    table = (Rows.empty(asked.types) if plus is None else plus).arrow().combine_chunks()
    which, owners = owned(asked.keys, table, asked.order.key)
    wanted = asked.limits[owners] > 0  # of other keys nothing is read, and so nothing known
    return table.take(pa.array(which[wanted])), owners[wanted]


def _taken_away(change: pa.Table, owners: Places, keys: int) -> Places:
    """By key how many rows of the change take copies away: so many stored ones may be passed over."""
    return np.bincount(owners[change.column(WEIGHT).to_numpy() < 0], minlength=keys)


def _share_out(readings: Sequence[Reading], limits: Places, taken_away: Places) -> list[Places]:
    """By segment the keys of which rows are taken first: as many in all as copies may be needed, of each segment its
    share of the rows that there are. Of one whose share is nothing rows are taken when they are known to be next."""
    every = np.maximum(sum((r.left for r in readings), np.zeros(len(limits), np.int64)), 1).astype(np.float64)
    wanted, due = np.where(limits > 0, limits + taken_away, 0).astype(np.float64), []
    for r in readings:
        share = np.minimum(np.floor(wanted * (r.left / every) + 0.5), r.left).astype(np.int64)
        r.chunk = np.maximum(share, 1)
        due.append(np.flatnonzero(share))
    return due


def _settled(pool: Pool, readings: Sequence[Reading], asked: Asked) -> Settled:
    table, (owners,), o = pool.table(), pool.owners, asked.order
    every, prefix = ranks(table, o), prefixes_by(table, o.every(table.num_columns - 1))
    own, keys = every[: pool.size], len(pool.limits)
    begin, bounded = np.zeros(keys, np.int64), np.flatnonzero(pool.starts >= 0)
    starts = pool.size + pool.starts[bounded]
    place = every if asked.chain is None else asked.begin.numbers(table, starts)
    begin[bounded] = place[starts]
    there = np.flatnonzero(owners >= 0)
    there = there[place[there] >= begin[owners[there]]]
    if asked.chain is not None:
        until = np.append(begin, FAR)[asked.chain.after]  # NOBODY is the last one
        there = there[place[there] < until[owners[there]]]
    fronts = [Front.of(r, np.flatnonzero(pool.limits > 0), own) for r in readings]
    for front in fronts:
        there = there[front.settled(keys, owners[there], own[there], prefix[there])]
    weights = pc.cast(table.column(WEIGHT), pa.int64()).to_numpy()[there]
    found = Copies.of(owners[there], own[there], weights)
    at, copies = found.first(pool.limits[found.keys])
    counts = np.zeros(keys, np.int64)
    np.add.at(counts, owners[there][at], copies)
    return Settled(counts, there[at], copies, fronts)


def _due(settled: Settled, limits: Places) -> Iterator[Places]:
    """By segment, the keys of which more is to be taken: it has what comes next, as far as prefixes say, and of those
    that agree in this it was read the least far."""
    keys = len(limits)
    nearest, reached = np.full(keys, np.iinfo(np.uint64).max), np.full(keys, FAR)
    for f in settled.fronts:
        nearest[f.keys] = np.minimum(nearest[f.keys], f.ahead)
    firsts = [f.ahead == nearest[f.keys] for f in settled.fronts]
    for f, first in zip(settled.fronts, firsts, strict=True):
        reached[f.keys[first]] = np.minimum(reached[f.keys[first]], f.ranks[first])
    wanting = settled.counts < limits
    for f, first in zip(settled.fronts, firsts, strict=True):
        yield f.keys[first & wanting[f.keys] & (f.ranks == reached[f.keys])]
