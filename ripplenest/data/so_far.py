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
class Sequence:
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
