"""The first rows so far: of rows that come one after another, which are the first of an order at some points.

Their ranks are what is looked at. The least number so far is a running minimum; the second least is that of what the
first one leaves, which is at each step the greater of what was the least and of what comes. So it goes on:

    m₁ = min(x)          x′ᵢ = max(m₁ᵢ₋₁, xᵢ)          m₂ = min(x′)          …

A run has nothing to do with the one before it: its numbers lie below, so that one pass does all of them.

Cost: (rows + points) × (log + limit), however many rows lie before each point.
"""

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from ripplenest.data.argsort import argsort_by
from ripplenest.data.index import Places

NONE = np.int64(-1)  # the rank of a point


@frozen(eq=False)
class Stream:
    """Rows, and points between them, of some runs, which are numbers: where each is in its run, no two of a row and a
    point at one place; the rank of each row, below their number, and how many ``copies`` it has; those of a point are
    NONE, and 1."""

    runs: Places
    at: Places
    ranks: Places
    copies: Places

    def first(self, limit: int) -> tuple[Places, Places, Places]:
        """(entry, rank, n): of the rows before the point that is an entry, n copies of that rank are among the first
        ``limit`` copies. By point, ranks ascend."""
        order = argsort_by(self.runs, self.at)
        order = np.repeat(order, np.minimum(self.copies[order], limit))
        points, size = np.flatnonzero(self.ranks[order] == NONE), np.int64(len(self.ranks) + 1)
        found = [*_passes(self.runs[order], self.ranks[order], points, size, limit)]
        nothing: Places = np.empty(0, np.int64)
        every = np.concatenate([nothing, *(own[own < size - 1] for own in found)])
        which = np.concatenate([nothing, *(np.flatnonzero(own < size - 1) for own in found)])
        both, many = np.unique(which * size + every, return_counts=True)
        return order[points[both // size]], both % size, many


@frozen(eq=False)
class Spans:
    """Rows of some runs, which are numbers: where each is in its run, its rank, and how many ``copies`` it has. Equal
    ranks of a run are equal rows, of which there is one."""

    runs: Places
    at: Places
    ranks: Places
    copies: Places

    def first(self, runs: Places, low: Places, high: Places, limit: int) -> tuple[Places, Places, Places]:
        """(span, row, n): of the rows of a run that are at ``low`` or later, and before ``high``, n copies of a row are
        among the first ``limit`` copies. The least of 2ʲ rows from each one on are those of two halves; and those of a
        span are of two such, which may overlap, as a row is the same in both.

        Cost: rows × limit × log(the longest span), in passes over all of them."""
        far = 1 + max((int(own.max(initial=0)) for own in (self.at, low, high)), default=0)
        order = argsort_by(self.runs, self.at)
        key = self.runs[order] * far + self.at[order]
        first = np.searchsorted(key, runs * far + np.maximum(low, 0))
        end = np.maximum(np.searchsorted(key, runs * far + np.maximum(high, 0)), first)
        number = np.empty(len(order), np.int64)  # of each row a rank of its own
        number[np.argsort(self.ranks[order], kind="stable")] = np.arange(len(order))
        found = _least(number, first, end, limit)
        return self._copies(order[np.argsort(number, kind="stable")], found, limit)

    def _copies(self, rows: Places, found: Places, limit: int) -> tuple[Places, Places, Places]:
        """By span the numbers of its first rows, as many copies of each as are left."""
        copies = np.append(np.minimum(self.copies[rows], limit), 0)[np.minimum(found, len(rows))]
        left = np.clip(limit - (np.cumsum(copies, axis=1) - copies), 0, copies)
        which, place = np.nonzero(left)
        return which, rows[found[which, place]], left[which, place]


def _least(numbers: Places, first: Places, end: Places, limit: int) -> Places:
    """By span its least numbers, ascending, and how many numbers there are where it has fewer."""
    nothing, size = len(numbers), end - first
    found = np.full((len(first), limit), nothing)
    best = np.full((nothing, limit), nothing)
    best[:, 0] = numbers
    level, width = np.frexp(np.maximum(size, 1))[1] - 1, 1
    for j in range(int(level.max(initial=-1)) + 1):
        own = np.flatnonzero((level == j) & (size > 0))
        found[own] = _together(best[first[own]], best[end[own] - width], limit)
        best = _together(best[:-width], best[width:], limit)
        width *= 2
    return found


def _together(a: Places, b: Places, limit: int) -> Places:
    """The least of both, row by row; equal ones are one."""
    if limit == 1:
        return np.minimum(a, b)
    both = np.sort(np.concatenate([a, b], axis=1), axis=1)
    both[:, 1:][both[:, 1:] == both[:, :-1]] = np.iinfo(np.int64).max
    least: Places = np.sort(both, axis=1)[:, :limit]
    return least


def _passes(runs: Places, ranks: Places, points: Places, size: np.int64, limit: int) -> Iterator[Places]:
    """By point the rank of the first copy so far, then that of the second, as long as there are some; ``size`` - 1
    where there is none."""
    starts = np.concatenate([[True], runs[1:] != runs[:-1]])[: len(runs)]
    below = (np.cumsum(starts[::-1])[::-1] - starts) * size  # by entry, how many runs come later
    nothing = below + size - 1
    left = np.where(ranks == NONE, nothing, below + ranks)
    for _ in range(limit):
        least = np.minimum.accumulate(left)
        found = least[points] - below[points]
        if not len(points) or found.min() == size - 1:
            return
        yield found
        before = np.concatenate([nothing[:1], least[:-1]])
        left = np.maximum(np.where(starts, nothing, before), left)
