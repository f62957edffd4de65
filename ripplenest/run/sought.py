"""The first rows of places that nothing held tells (``told.py``): searched for in two ways, whichever ends first.

Those of one place after another are told by the last one before them that is known, and the rows between; of a place by
itself the rows are read in their order, from the first one that it, or a place behind it, had: none of those up to it
comes before that but what comes now; or from the beginning, where none had one. Many rows may lie between two places,
and many in the order that are not up to a place; so a few are read in either way, and four times as many each time, as
long as that is not enough.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field, frozen

from ripplenest.data.index import Places, ranges
from ripplenest.data.order import FAR, Copies, Edges, Firsts, Ordering, ranks, ranks_by, weighed
from ripplenest.data.rows import WEIGHT, Rows, arrow_schema
from ripplenest.nrc.types import Base
from ripplenest.plan.ranking import Ranked
from ripplenest.run.stretches import Flags, Owned, Stretches, comings, lows, points, ranked, untils
from ripplenest.run.told import Told, first_of_points, of_row, order_of
from ripplenest.version.version import Tables

ROWS, TIMES = 2, 4  # copies that are read for a place, and how many times as many when more are


@frozen(eq=False)
class _Base:
    """Rows by run, and of which runs it is told by them."""

    rows: Owned
    told: Flags


@define(eq=False)
class Sought:
    """The ``answers`` of places, by the number of each; some are ``left``, of which none is found yet."""

    r: Ranked
    stretches: Stretches
    tables: Tables
    changed: Rows
    told: Told
    answers: Owned
    left: Flags
    read: int = 0
    cancelled: Counter[str] = field(factory=Counter)

    def go_on(self) -> None:
        """Until there are answers of all of them."""
        most = ROWS + 2 * self.r.limit
        while self.left.any():
            self._between(most)
            self._further(most)
            most *= TIMES

    @property
    def _kept(self) -> tuple[Base, ...]:
        """The types of the rows that are kept."""
        return self.changed.types

    def _keys(self, places: Places) -> Rows:
        """The keys of the groups of places."""
        taken = self.stretches.keys.arrow().take(pa.array(self.told.placed.places.of[places]))
        return Rows(self.stretches.keys.types, table=taken)

    def _first(
        self, order: Ordering, keys: Rows, limits: Places, edges: Edges | None = None, start: Rows | None = None
    ) -> Owned:
        """The first rows of groups behind edges, or from rows on, after the batch."""
        plus = None if self.changed.is_empty else self.changed
        found = self.tables.first(self.r.kept, Firsts(order, keys, limits, start, plus, edges))
        self.read += found.read
        self.cancelled[self.r.kept] += max(found.read - len(found.rows), 0)
        return Owned(found.rows.arrow().combine_chunks(), found.of)

    def _came(self, begins: pa.Array, starts: Callable[[Places], Places], lasts: Places) -> Places:
        """How many copies come to runs, which nobody reads: from where each ``starts``, by the ranks of these values,
        up to the last one of its places."""
        r, s, places = self.r, self.stretches, self.told.placed.places
        weights = np.clip(self.changed.arrow().column(WEIGHT).to_numpy(), 0, FAR // max(len(self.changed), 1))
        at = self.changed.arrow().column(r.compared.column)
        at, low, high = ranked(r, at, begins, places.take(lasts).values(r.edge))
        far, groups = 2 * (len(at) + 2 * len(lasts)) + 4, s.groups[places.of[lasts]]
        numbers = s.groups[s.of_changed] * far + comings(r, at)
        order = np.argsort(numbers)
        until = np.append(0, np.cumsum(weights[order]))
        first, end = (np.searchsorted(numbers[order], groups * far + own) for own in (starts(low), points(r, high)))
        found: Places = until[end] - until[first]
        return found

    def _found(self, places: Places, answers: Owned) -> None:
        """Of ``places``, the answers by their numbers among these."""
        self.left[places] = False
        self.answers = self.answers.plus(Owned(answers.table, places[answers.of]))

    def _between(self, most: int) -> None:
        """Of runs of places that follow each other, by the rows back to the one before them."""
        r, n, some = self.r, self.r.nearest, np.flatnonzero(self.left)
        assert n is not None
        places, chains = self.told.placed.places, self.told.placed.chains
        of = chains[some]
        starts = np.append(True, (some[1:] > some[:-1] + 1) | (of[1:] != of[:-1]))[: len(some)]
        run, firsts, lasts = np.cumsum(starts) - 1, some[starts], some[np.append(starts[1:], True)[: len(some)]]
        before = np.maximum(firsts - 1, 0)
        has = (firsts > 0) & (chains[before] == chains[firsts])
        base = self._base(before, has, firsts, lasts)
        has &= base.told
        begins = pc.if_else(pa.array(has), places.take(before).values(r.edge), untils(r, places.take(firsts)))

        def begin(rank: Places) -> Places:
            return np.where(has, points(r, rank), lows(r, rank))

        limits = most * np.bincount(run, minlength=len(firsts)) + self._came(begins, begin, lasts)
        edges = Edges(places.take(lasts).values(r.edge), n.open)
        rows = self._first(Ordering(r.group, (r.compared,)), self._keys(lasts), limits, edges)
        at, low = ranked(r, rows.values(r.compared.column), begins)
        inside = comings(r, at) >= begin(low)[rows.of]
        is_whole = np.bincount(rows.of, rows.weights, len(firsts)) < limits
        is_whole[rows.of[~inside]] = True
        own = is_whole[run]
        asked = Owned(places.table.take(pa.array(some[own])), run[own])
        known = base.rows.where((has & is_whole)[base.rows.of])
        self._found(some[own], first_of_points(r, asked, rows.where(inside & is_whole[rows.of]), known))

    def _base(self, before: Places, has: Flags, firsts: Places, lasts: Places) -> _Base:
        """The answers of the places before runs; and whether these are what else there is of their rows up to the last
        places. Where rows end that is so if they begin no later than those of the first place, and if none of these
        first ones ends before the last place, or they are all there were."""
        r, numbers = self.r, np.full(len(self.told.placed), -1)
        numbers[before[has]] = np.flatnonzero(has)
        rows = Owned(self.answers.table, numbers[self.answers.of])
        rows = rows.where(rows.of >= 0)
        told, n = np.ones(len(before), np.bool_), self.r.nearest
        if n is not None and n.until is not None:
            places = self.told.placed.places
            until = (untils(r, places.take(own)) for own in (before, firsts, lasts))
            at, *own = ranked(r, rows.values(r.compared.column - len(r.group)), *until)
            begins, first, low = (lows(r, rank) for rank in own)
            told, is_full = begins <= first, np.bincount(rows.of, rows.weights, len(before)) >= r.limit
            told[rows.of[is_full[rows.of] & (comings(r, at) < low[rows.of])]] = False
        return _Base(rows, told)

    def _further(self, most: int) -> None:
        """Of each by itself, by the rows from the first one on that it had, or a place behind it; by all of its group,
        where that is not known."""
        told, some = self.told, np.flatnonzero(self.left)
        since, groups = told.since[some], self.stretches.groups[told.placed.places.of[some]]
        is_alone = np.bincount(groups)[groups] == 1
        first = told.held.values(self.r.order.by[0].column - self.r.keys).is_valid().to_numpy(zero_copy_only=False)
        has = np.append(first, False)[since] | (is_alone & (since >= 0))
        for own, way in ((has & is_alone, self._from_rows), (has & ~is_alone, self._behind), (~has, self._from_all)):
            if own.any():
                way(some[own], most)

    def _from_rows(self, some: Places, most: int) -> None:
        """Of those that are alone in their groups."""
        start = self.told.held.table.take(pa.array(self.told.since[some]))
        keys = self._keys(some)
        columns = [*keys.arrow().columns[:-1], *start.columns[:-1], pa.array(np.ones(len(some), np.int64))]
        at = Rows(self._kept, table=pa.Table.from_arrays(columns, schema=arrow_schema(self._kept)))
        rows = self._first(self.r.all_rows, keys, np.full(len(some), most), start=at)
        coming = self._coming(some)
        rank = ranks(pa.concat_tables([coming.table, start]).combine_chunks(), order_of(self.r))
        self._fitting(some, most, rows, _before(coming, rank))

    def _behind(self, some: Places, most: int) -> None:
        """Of several of a group: from what orders their first rows first."""
        by, told = self.r.order.by[0], self.told
        values = told.held.values(by.column - self.r.keys).take(pa.array(told.since[some]))
        rows = self._first(self.r.all_rows, self._keys(some), np.full(len(some), most), Edges(values, open=False))
        coming = self._coming(some)
        both = pa.table([pa.chunked_array([coming.values(by.column - self.r.keys), values])], ["by"])
        rank = ranks_by(both, [evolve(by, column=0)])
        self._fitting(some, most, rows, _before(coming, rank))

    def _from_all(self, some: Places, most: int) -> None:
        """Of those of whose rows nothing is known: what is read of a group is for all of it."""
        of = self.stretches.groups[self.told.placed.places.of[some]]
        _, firsts, group = np.unique(of, return_index=True, return_inverse=True)
        rows = self._first(self.r.all_rows, self._keys(some[firsts]), np.full(len(firsts), most))
        many = np.bincount(rows.of, minlength=len(firsts))
        order = np.argsort(rows.of, kind="stable")
        which = order[ranges((np.cumsum(many) - many)[group], many[group])]
        every = Owned(rows.table.take(pa.array(which)), np.repeat(np.arange(len(some)), many[group]))
        self._fitting(some, most, every, self._coming(some[:0]))

    def _coming(self, some: Places) -> Owned:
        """What comes up to each of some places, by their numbers among these."""
        numbers = np.full(len(self.told.placed), -1)
        numbers[some] = np.arange(len(some))
        coming = Owned(self.told.coming.table, numbers[self.told.coming.of])
        return coming.where(coming.of >= 0)

    def _fitting(self, some: Places, most: int, rows: Owned, coming: Owned) -> None:
        """Those of ``some`` places of whose ``rows``, so many of each or all, and of what is ``coming`` before them,
        enough are up to them."""
        r, places = self.r, self.told.placed.places.take(some)
        at, end, begin = ranked(r, rows.values(r.compared.column), places.values(r.edge), untils(r, places))
        fits = (comings(r, at) < points(r, end)[rows.of]) & (comings(r, at) >= lows(r, begin)[rows.of])
        every = Owned(of_row(rows.table, len(r.group)), rows.of).where(fits).plus(coming)
        has_all = np.bincount(rows.of, rows.weights, len(some)) < most
        is_known = (np.bincount(every.of, every.weights, len(some)) >= r.limit) | has_all
        first, copies = Copies.of(every.of, ranks(every.table, order_of(r)), every.weights).first(r.limit)
        found = Owned(weighed(every.table, first, copies), every.of[first])
        found = found.where(is_known[found.of])
        self._found(some[is_known], Owned(found.table, (np.cumsum(is_known) - 1)[found.of]))


def _before(coming: Owned, rank: Places) -> Owned:
    """Those that come before where their places begin, whose ranks are behind theirs."""
    return coming.where(rank[: len(coming)] < rank[len(coming) :][coming.of])
