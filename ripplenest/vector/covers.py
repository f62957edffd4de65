"""What is to be read of the intervals that rows of a change ask for, where some come and others go.

A row whose edge moves takes away all that its old interval had and puts back all that its new one has; but for what
lies between the two edges that comes to nothing, if the product knows the row by its edges alone (``told_by`` of
``plan/ranges.py``). So of intervals that count with signs only those pieces are asked for that do not come to nothing,
and their ends, at which prefixes do not say whether a row is inside.
"""

from collections.abc import Callable

import numpy as np

from ripplenest.data.hashing import U64
from ripplenest.data.index import Places

MOST = float(1 << 62)  # what weights may come to


def uncancelled(groups: Callable[[], Places], weights: Places) -> Places:
    """Which of some rows are left where those of a group count as one, with the sum of what they weigh. Which group
    each is of is asked if some can cancel."""
    if not _can_cancel(weights):
        return np.arange(len(weights))
    _, group = np.unique(groups(), return_inverse=True)
    sums = np.zeros(len(weights), np.int64)
    np.add.at(sums, group, weights)
    return np.flatnonzero(sums[group])


def _can_cancel(weights: Places) -> bool:
    """Whether they have both signs, and no sum of them leaves 64 bits."""
    return bool((weights < 0).any() and (weights > 0).any() and np.abs(weights.astype(np.float64)).sum() < MOST)


def remaining(groups: Callable[[], Places], low: U64, high: U64, weights: Places) -> tuple[Places, U64, U64]:
    """Of intervals low ≤ x ≤ high, each as often as its weight says, those to be read: by number an interval of the
    same group, and from where to where. Which group each is of is asked if some can cancel.

    Law: what is outside of them is inside of intervals of its group that come to nothing, and is no end of one.
    """
    if not _can_cancel(weights):
        return np.arange(len(low)), low, high
    at, group = np.concatenate([low, high]), np.tile(groups(), 2)
    order = np.lexsort((at, group))
    at, group = at[order], group[order]
    covered = np.cumsum(np.concatenate([weights, -weights])[order])  # of a group it ends with 0
    last = np.flatnonzero(np.append((at[1:] != at[:-1]) | (group[1:] != group[:-1]), True))
    goes_on = covered[last] != 0
    begin = at[last]
    end = np.where(goes_on, np.append(begin[1:], np.uint64(0)), begin)
    kept = goes_on | ~np.concatenate([[False], goes_on[:-1]])  # else it is the end of the piece before
    return (order[last] % len(low))[kept], begin[kept], end[kept]
