"""One price that many rows depend on: a part that is in few groups with many items, and in many with as many each."""

import statistics
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from ripplenest.bench import data as drawn
from ripplenest.bench.changes import ORDER_ITEMS, Change, placed, written
from ripplenest.bench.data import Data
from ripplenest.bench.results import FanOut
from ripplenest.bench.subject import Applied
from ripplenest.bench.timing import Timing

CASES = ((50, 50), (5_000, 50), (500, 500))  # items of a part, and customers whose they are
FIRST = 10**9  # customers and orders that no other batch makes begin here

Apply = Callable[[Change], Applied]


def fan_outs(apply: Apply, data: Data, rounds: int) -> Iterator[FanOut]:
    """For each case a new part, whose price changes so often, after once to warm up. All of it stays."""
    for i, (items, names) in enumerate(CASES):
        part = drawn.parts(np.array([data.part_count + i]))
        documents = _documents(data, FIRST * (i + 1), items, names, part)
        apply(Change("insert", items, written("insert", {"P": part, "D": documents})))
        found = []
        for price in range(1, rounds + 2):
            other = part.set_column(2, "price", pa.array([price]))
            change = Change("price", 1, written("delete", {"P": part}) + written("insert", {"P": other}))
            found.append(apply(change))
            part = other
        first, *later = found
        often = statistics.median_low([a.rows_read for a in later])
        yield FanOut(items, names, Timing.of([a.seconds for a in later]), first.rows_read, often)


def _documents(data: Data, first: int, items: int, names: int, part: pa.Table) -> pa.Table:
    """Customers with so many items in all, each of this part."""
    each = items // names
    of_order = first + np.arange(0, items, min(ORDER_ITEMS, each)) // each
    of_item = first + np.arange(items) // min(ORDER_ITEMS, each)
    draw = data.draw(first)
    rows = pa.Table.from_batches([drawn.items(draw, of_item, np.arange(items), data.part_count)])
    same = pa.repeat(part.column("partkey")[0], items)
    return placed(draw, rows.set_column(2, "partkey", same), of_order)
