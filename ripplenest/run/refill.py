"""The per-key step of the first rows of keys: which they are after a change, and how they changed.

Of each key its first ``limit`` copies are stored, T, of which b is the last row; Δ is what changes in the rows of the
key. Then, as a materialized top-k view is refilled (Yi et al., Efficient Maintenance of Materialized Top-k Views, ICDE
2003), but from b on and no further than needed:

1. T is fewer than ``limit`` copies: it is all that the key has, and the first of T ⊎ Δ are the answer;
2. what of T ⊎ Δ comes before b is enough: T holds all that comes before b, so the first of it are the answer;
3. with the copies of b that T has, and that Δ adds or takes away, it is enough: there are no fewer;
4. else rows are read on from b, with Δ on top.

So what comes in never reads, and a deletion reads on where the answer ended: rows that went before b are not seen
again, however many they are. Law (refill = sort): the answer is the first ``limit`` copies of all rows of the key.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.index import Places
from ripplenest.data.order import FAR, Copies, First, Ordering, key_numbers, ranks, weighed
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.nrc.errors import LawBroken

Some = tuple[Places, Places]  # places of rows, and how many copies of each
ReadOn = Callable[[Rows, Places, Rows, Rows], First]
"""Keys, how many copies are wanted of each, the row of each at which they begin, and what of Δ is there or comes later:
the first of stored ⊎ Δ."""


@frozen
class Refilled:
    """The first rows of the keys that a change touches, how they changed, and how many stored rows were read for it."""

    answer: Rows
    change: Rows
    read: int


def refilled(name: str, o: Ordering, limit: int, held: Rows, changed: Rows, read_on: ReadOn) -> Refilled:
    """What ``changed``, the signed rows of some keys, makes of ``held``, the first ``limit`` copies of each of these
    keys before. Raises LawBroken for rows that are there less than 0 times, and for more rows held than there may be.
    """
    before = held.consolidated()
    step = _Step.of(name, o, limit, before, changed)
    bounds = step.bounds()
    below = step.below(bounds)
    known, open_ = step.at(bounds, step.missing(bounds, below))
    more = step.read(open_, bounds, read_on)
    parts = [step.some(below), step.some(known), more.rows.arrow()]
    answer = Rows(held.types, table=pa.concat_tables(parts), summed=True)
    return Refilled(answer, answer.plus(before.negated()).consolidated(), more.read)


@frozen(eq=False)
class _Step:
    """The entries of T, so many, and behind them those of Δ: of each the number of its key, its rank and its weight."""

    name: str
    o: Ordering
    limit: int
    rows: Rows
    held: int
    keys: Places
    ranks: Places
    weights: Places

    @classmethod
    def of(cls, name: str, o: Ordering, limit: int, held: Rows, changed: Rows) -> "_Step":
        table = pa.concat_tables([held.arrow(), changed.arrow()]).combine_chunks()
        numbers = key_numbers(table, o.key), ranks(table, o), table.column(WEIGHT).to_numpy()
        return cls(name, o, limit, Rows(held.types, table=table), len(held), *numbers)

    @property
    def many(self) -> int:
        """How many keys there are."""
        return int(self.keys.max(initial=-1)) + 1

    def some(self, some: Some) -> pa.Table:
        """Rows, so many copies each."""
        return weighed(self.rows.arrow(), *some)

    def bounds(self) -> Places:
        """By key the rank of b; FAR where T is all that there is."""
        keys, weights = self.keys[: self.held], self.weights[: self.held]
        copies, last = np.zeros(self.many, np.int64), np.full(self.many, FAR)
        np.add.at(copies, keys, weights)
        if weights.min(initial=1) < 1 or copies.max(initial=0) > self.limit:
            wanted = f"1 to {self.limit} copies of a key"
            raise LawBroken("held rows that are not the first ones", where=self.name, wanted=wanted, got=copies.max())
        full = copies[keys] == self.limit
        last[keys[full]] = -1
        np.maximum.at(last, keys[full], self.ranks[: self.held][full])
        return last

    def below(self, bounds: Places) -> Some:
        """The first rows before the bounds: all that come before are known."""
        own = np.flatnonzero(self.ranks < bounds[self.keys])
        try:
            places, copies = Copies.of(self.keys[own], self.ranks[own], self.weights[own]).first(self.limit)
        except LawBroken as e:
            raise e.at(self.name) from None
        return own[places], copies

    def missing(self, bounds: Places, below: Some) -> Places:
        """By key how many copies are wanted besides those ``below``; 0 where there are no others."""
        places, copies = below
        found = np.full(self.many, self.limit)
        np.subtract.at(found, self.keys[places], copies)
        return np.where(bounds < FAR, found, 0)

    def at(self, bounds: Places, missing: Places) -> tuple[Some, Some]:
        """The rows at the bounds, with the copies that are ``missing``: those that are known to be enough, and others.
        """
        own = np.flatnonzero((self.ranks == bounds[self.keys]) & (missing[self.keys] > 0))
        ends = Copies.of(self.keys[own], self.ranks[own], self.weights[own])
        places, wanted = own[ends.places], missing[ends.keys]
        enough = ends.counts >= wanted
        return (places[enough], wanted[enough]), (places[~enough], wanted[~enough])

    def read(self, open_: Some, bounds: Places, read_on: ReadOn) -> First:
        """What comes from the bounds on that are not known to be enough."""
        places, wanted = open_
        if not len(places):
            return First(Rows.empty(self.rows.types), 0)
        start = Rows(self.rows.types, table=self.some((places, np.ones(len(places), np.int64))), summed=True)
        return read_on(start.select(self.o.key), wanted, start, self.after(bounds))

    def after(self, bounds: Places) -> Rows:
        """What of Δ does not come before the bounds."""
        own = self.held + np.flatnonzero(self.ranks[self.held :] >= bounds[self.keys[self.held :]])
        return Rows(self.rows.types, table=self.rows.arrow().take(pa.array(own)))
