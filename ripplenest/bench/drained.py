"""First rows that go, batch after batch: of some groups the greatest row each time."""

import statistics
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from ripplenest.bench.changes import Change, written
from ripplenest.bench.data import Data
from ripplenest.bench.results import Drained
from ripplenest.bench.subject import Applied
from ripplenest.bench.timing import Timing

GROUPS, BATCHES, FEW = 100, 30, 5  # of each group more rows go than a state has segments of a table at most


def drained(apply: Callable[[Change], Applied], data: Data, limit: int) -> Drained:
    """So many batches, each of which takes the first row of the same groups; after one to warm up. They stay gone."""
    groups = min(GROUPS, data.grouped_numbers // 2)
    found = [apply(Change("first", len(rows), written("delete", {"S": data.pairs.take(rows)})))
             for rows in _first_rows(data, groups)]  # fmt: skip
    _, *later = found
    seconds = [a.seconds for a in later]
    first, last = statistics.median(seconds[:FEW]), statistics.median(seconds[-FEW:])
    return Drained(groups, limit, len(later), Timing.of(seconds), last / first, max(a.rows_read for a in later))


def _first_rows(data: Data, groups: int) -> list[pa.Array]:
    """By batch the places of the pairs that are the first of their groups then."""
    x, y, ids = (data.pairs.column(name).to_numpy() for name in ("x", "y", "id"))
    order = np.lexsort((-ids, -y, x))
    starts = np.searchsorted(x[order], np.arange(groups))
    ends = np.searchsorted(x[order], np.arange(groups), side="right")
    batches = [starts + n for n in range(BATCHES + 1)]
    return [pa.array(order[places[places < ends]]) for places in batches if (places < ends).any()]
