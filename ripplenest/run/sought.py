"""The first rows of places that nothing held tells (``told.py``): searched for in two ways, whichever ends first.

Those of one place after another are told by the last one before them that is known, and the rows between; of a place by
itself the rows are read in their order, from the first one that it, or a place behind it, had: none of those up to it
comes before that but what comes now. Many rows may lie between two places, and many in the order that are not up to a
place; so a few are read in either way, and four times as many each time, as long as that is not enough.
"""

from collections import Counter

import numpy as np
import pyarrow as pa
from attrs import define, evolve, field

from ripplenest.data.index import Places
from ripplenest.data.order import FAR, Copies, Edges, Firsts, Ordering, ranks, ranks_by, weighed
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.plan.ranking import Ranked
from ripplenest.run.stretches import Flags, Owned, Stretches, comings, points, ranked
from ripplenest.run.told import BEFORE, Told, first_of_points, of_row, order_of
from ripplenest.version.version import Tables

ROWS, TIMES = 2, 4  # copies that are read for a place, and how many times as many when more are


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

    def _first(self, order: Ordering, edges: Edges, limits: Places, places: Places) -> Owned:
        """The first rows behind edges, of the groups of places, after the batch."""
        taken = self.stretches.keys.arrow().take(pa.array(self.told.placed.places.of[places]))
        keys, plus = Rows(self.stretches.keys.types, table=taken), None if self.changed.is_empty else self.changed
        found = self.tables.first(self.r.kept, Firsts(order, keys, limits, plus=plus, edges=edges))
        self.read += found.read
        self.cancelled[self.r.kept] += max(found.read - len(found.rows), 0)
        return Owned(found.rows.arrow().combine_chunks(), found.of)

    def _came(self, before: Places, has: Flags, lasts: Places) -> Places:
        """How many copies come between places, which nobody reads; or up to the last ones, where none is before."""
        r, s, places = self.r, self.stretches, self.told.placed.places
        weights = np.clip(self.changed.arrow().column(WEIGHT).to_numpy(), 0, FAR // max(len(self.changed), 1))
        at = self.changed.arrow().column(r.compared.column)
        at, low, high = ranked(r, at, places.take(before).values(r.edge), places.take(lasts).values(r.edge))
        far, groups = 2 * (len(at) + 2 * len(lasts)) + 2, s.groups[places.of[lasts]]
        numbers = s.groups[s.of_changed] * far + comings(r, at)
        order, start = np.argsort(numbers), np.where(has, points(r, low), BEFORE)
        until = np.append(0, np.cumsum(weights[order]))
        first, end = (np.searchsorted(numbers[order], groups * far + own) for own in (start, points(r, high)))
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
        limits = most * np.bincount(run, minlength=len(firsts)) + self._came(before, has, lasts)
        edges = Edges(places.take(lasts).values(r.edge), n.open)
        rows = self._first(Ordering(r.group, (r.compared,)), edges, limits, lasts)
        at, end = ranked(r, rows.values(r.compared.column), places.take(before).values(r.edge))
        inside = comings(r, at) > np.where(has, points(r, end), BEFORE)[rows.of]
        is_whole = np.bincount(rows.of, rows.weights, len(firsts)) < limits
        is_whole[rows.of[~inside]] = True
        numbers = np.full(len(places), -1)
        numbers[before[has & is_whole]] = np.flatnonzero(has & is_whole)
        base = Owned(self.answers.table, numbers[self.answers.of])
        own = is_whole[run]
        asked = Owned(places.table.take(pa.array(some[own])), run[own])
        found = first_of_points(r, asked, rows.where(inside & is_whole[rows.of]), base.where(base.of >= 0))
        self._found(some[own], found)

    def _further(self, most: int) -> None:
        """Of each by itself, by the rows from the first one on that it had, or a place behind it."""
        r, told, by = self.r, self.told, self.r.order.by[0]
        some = np.flatnonzero(self.left & (told.since >= 0))
        values = told.held.values(by.column - r.keys).take(pa.array(told.since[some]))
        there = values.is_valid().to_numpy(zero_copy_only=False)
        some, values = some[there], values.filter(pa.array(there))
        if not len(some):
            return
        rows = self._first(r.all_rows, Edges(values, open=False), np.full(len(some), most), some)
        at, end = ranked(r, rows.values(r.compared.column), told.placed.places.take(some).values(r.edge))
        fits = comings(r, at) < points(r, end)[rows.of]
        many = np.bincount(rows.of, rows.weights, len(some))
        numbers = np.full(len(told.placed), -1)
        numbers[some] = np.arange(len(some))
        coming = Owned(told.coming.table, numbers[told.coming.of])
        coming = coming.where(coming.of >= 0)
        both = pa.table([pa.chunked_array([coming.values(by.column - r.keys), values])], ["by"])
        rank = ranks_by(both, [evolve(by, column=0)])
        coming = coming.where(rank[: len(coming)] < rank[len(coming) :][coming.of])
        every = Owned(of_row(rows.table, len(r.group)), rows.of).where(fits).plus(coming)
        is_known = (np.bincount(every.of, every.weights, len(some)) >= r.limit) | (many < most)
        first, copies = Copies.of(every.of, ranks(every.table, order_of(r)), every.weights).first(r.limit)
        found = Owned(weighed(every.table, first, copies), every.of[first])
        found = found.where(is_known[found.of])
        self._found(some[is_known], Owned(found.table, (np.cumsum(is_known) - 1)[found.of]))
