"""Nested rows as columns, level by level: the rows of all bags at one place stand one after the other, and each bag
says how many of them are its own.

A level has no labels yet, and is what rows are between a user and the parts that they are stored in. Law: a level is
the same bag of nested rows as the values that it was made of (``data/level_values.py``).
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ripplenest.data.argsort import argsort_by
from ripplenest.data.grouping import same
from ripplenest.data.hashing import NULL, U64, fingerprints, mix, mixed
from ripplenest.data.index import Places, ranges

Mask = npt.NDArray[np.bool_]
_START = np.zeros(1, np.uint64)


class Bags:
    """One bag for each row of the level above: ``counts`` of ``rows`` each; NULL where not ``present`` (None: all are).
    A NULL bag has no rows."""

    def __init__(self, counts: Places, rows: "Level", present: Mask | None = None) -> None:
        self.counts, self.rows, self.present = counts, rows, present

    @property
    def owners(self) -> Places:
        """For each of ``rows`` the number of the row that holds it."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


class Level:
    """``size`` rows: their base ``columns``, canonical, and ``bags``, both in the order of their type. Rows without
    bags may be there ``weights`` times, others stand as often as they are there."""

    def __init__(
        self, size: int, columns: Sequence[pa.Array], bags: Sequence[Bags] = (), weights: Places | None = None
    ) -> None:
        self.size, self.columns, self.bags, self.weights = size, tuple(columns), tuple(bags), weights

    def __len__(self) -> int:
        return self.size

    @cached_property
    def printed(self) -> "Printed":
        """The level with its numbers."""
        return Printed(self)

    @property
    def counts(self) -> Places:
        """How often each row is there."""
        return np.ones(self.size, np.int64) if self.weights is None else self.weights

    def take(self, places: Places) -> "Level":
        """The rows at ``places``, with all that is in them."""
        columns = [column.take(pa.array(places)) for column in self.columns]
        bags = []
        for bag in self.bags:
            counts, starts = bag.counts[places], (np.cumsum(bag.counts) - bag.counts)[places]
            inner = bag.rows.take(ranges(starts, counts))
            bags.append(Bags(counts, inner, None if bag.present is None else bag.present[places]))
        return Level(len(places), columns, bags, None if self.weights is None else self.weights[places])

    @property
    def total(self) -> int:
        """The rows of all levels from here down, as often as they are there."""
        own = self.size if self.weights is None else int(self.weights.sum())
        return own + sum(bag.rows.total for bag in self.bags)


class Printed:
    """A level with a number for each row, which is equal for equal nested rows and nearly always differs for others."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.below = [bag.rows.printed for bag in level.bags]
        sums = [bag_prints(b.counts, p.weighted, b.present) for b, p in zip(level.bags, self.below, strict=True)]
        self.prints = row_prints(level.columns, sums, level.size)

    @property
    def weighted(self) -> U64:
        """What each row adds to the number of its bag."""
        return weighted(self.prints, self.level.weights)

    def ordered(self) -> Level:
        """The same rows in an order of their own, whatever the order in which they came; without bags, each once."""
        return self.grouped(np.zeros(self.level.size, np.int64))[0]

    def grouped(self, owners: Places) -> tuple[Level, Places]:
        """The rows by the number of their owner, those of one in an order of their own, and then the owner of each."""
        level, order = self.level, argsort_by(owners, self.prints)
        columns = [column.take(pa.array(order)) for column in level.columns]
        owners, weights = owners[order], None if level.weights is None else level.weights[order]
        if not level.bags:
            return _once(columns, owners, weights)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        bags = []
        for bag, below in zip(level.bags, self.below, strict=True):
            rows, holders = below.grouped(place[bag.owners])
            present = None if bag.present is None else bag.present[order]
            bags.append(Bags(np.bincount(holders, minlength=len(order)), rows, present))
        return Level(len(order), columns, bags), owners


def _once(columns: Sequence[pa.Array], owners: Places, weights: Places | None) -> tuple[Level, Places]:
    """Rows of one owner that are equal and stand together become one."""
    again = owners[1:] == owners[:-1]
    for column in columns:
        if again.any():
            again = again & same(column.slice(1), column.slice(0, len(column) - 1))
    if not again.any():
        weights = None if weights is None or (weights == 1).all() else weights
        return Level(len(owners), columns, weights=weights), owners
    first = np.flatnonzero(np.concatenate([[True], ~again]))
    sums = np.add.reduceat(np.ones(len(owners), np.int64) if weights is None else weights, first)
    return Level(len(first), [c.take(pa.array(first)) for c in columns], weights=sums), owners[first]


def row_prints(columns: Sequence[pa.Array], bags: Sequence[U64], rows: int) -> U64:
    """A number for each row, of its base columns and of the numbers of its bags."""
    return mixed([fingerprints(columns, rows), *bags], 1 + len(bags), rows) if bags else fingerprints(columns, rows)


def bag_prints(counts: Places, rows: U64, present: Mask | None) -> U64:
    """A number for each bag, of those of its rows, whatever their order; ``rows`` are of one bag after the other."""
    sums = np.concatenate([_START, np.cumsum(rows)])
    ends = np.cumsum(counts)
    found = mix(sums[ends] - sums[ends - counts])
    return found if present is None else np.where(present, found, np.uint64(NULL))


def weighted(prints: U64, weights: Places | None) -> U64:
    """The numbers of rows as they are added up in the number of their bag."""
    spread = mix(prints + np.uint64(1))
    return spread if weights is None else spread * weights.view(np.uint64)
