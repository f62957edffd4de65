"""When segments are merged: a geometric rule that bounds how many a table has, and how often a row is rewritten.

The tier of a segment is its number of rows on a logarithmic scale; when FANOUT live segments of a table share a tier,
the youngest of them become one, with what came in between and since. Tier 0 is everything below TIER_ROWS: rewriting so
few rows costs less than probing more segments. So a table of n rows has at most
(FANOUT - 1) · (2 + log₈(n / TIER_ROWS)) live segments however many batches made it, and a changed row is rewritten at
most TIER_ROWS / (FANOUT - 1) times in tier 0 and once per tier above: with others of the tier, or between them.

For full tiers a batch merges at most BUDGET rows, so that no batch pays for the whole table; what is left waits for
``compact``, but not for ever: a tier of twice FANOUT segments is merged by the batch that makes it so.

Rows of the same keys, batch after batch, wear a table out long before its tiers fill: of a key that each batch changes
there is a row that was and a row that is for every batch, and whoever asks for it reads them all. So a batch also
merges the youngest segments for the rows that it has read of the table in vain, those that others cancelled: WORTH
rows for each of them at most. Of few rows two segments are enough for that; more are rewritten only WORN at a time,
since to write a row costs more than to read it some times again.

Always the youngest: of a key that changes all the time, -v₀ + v₁ - v₁ + v₂ … come to two rows if nothing is left out
in between. Two segments that take turns would keep two rows of it for each turn, for ever, and cancel one another.

A batch merges a bounded share. Segments of a table are merged by tiers of their size; a batch rewrites at most
131,072 rows, and more only when a tier would hold twice what it should, or when it has read about as many in vain.
``compact`` does the rest, in commits of the same bounded size, so that nobody waits long for it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

FANOUT = 8  # a power of two
TIER_ROWS = 128  # a power of two
BUDGET = 2**17  # rows
WORTH = 3  # rows that are rewritten for each that was read in vain
LITTLE = 2**13  # rows that cost hardly more to rewrite than none
WORN = 4  # segments of more than LITTLE rows together, of which no fewer are merged because of what was read
_SHIFT = FANOUT.bit_length() - 1


def tier(rows: int) -> int:
    """0 below TIER_ROWS rows, then one more for each factor FANOUT."""
    return ((rows // TIER_ROWS).bit_length() + _SHIFT - 1) // _SHIFT


def due(sizes: Sequence[int], budget: int | None) -> list[int]:
    """Which of the segments of a table, given by their rows, oldest first, are to be merged next; none when all is
    well.

    With a ``budget`` (rows), only what it pays for or what cannot wait. Law: the youngest ones.
    """
    if len(sizes) < FANOUT:  # as of most of the tables that a batch changes
        return []
    tiers: dict[int, list[int]] = defaultdict(list)
    for place, rows in enumerate(sizes):
        tiers[tier(rows)].append(place)
    for _, places in sorted(tiers.items()):
        if len(places) < FANOUT:
            continue
        first = places[-FANOUT]
        if budget is None or sum(sizes[first:]) <= budget or len(places) >= 2 * FANOUT:
            return list(range(first, len(sizes)))
    return []


def worn(sizes: Sequence[int], cancelled: int) -> list[int]:
    """The same because of rows that a batch has read, of which so many were ``cancelled`` by others of the table."""
    if not cancelled:
        return []
    sums = list(accumulate(reversed(sizes)))
    few = bisect_right(sums, WORTH * cancelled)
    enough = few >= (2 if few and sums[few - 1] <= LITTLE else WORN)
    return list(range(len(sizes) - few, len(sizes))) if enough else []
