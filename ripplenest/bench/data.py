"""Tables like those of TPC-H: customers, their orders, their items, and parts; and pairs of numbers, as those of MRQL
(Incremental Query Processing on Big Data Streams, section 13). The same seed gives the same rows.

Scale 1 has 150,000 customers, 1,500,000 orders, about 6,000,000 items and 200,000 parts. A third of the customers has
no orders, and an order has one to seven items, as there. It has 1,000,000 pairs to group and two times 100,000 to join,
of numbers from 0 to 10,000. Sides to be joined have fewer numbers at smaller scales, so that a row meets ten as there,
and pairs to be grouped below a tenth, so that a group has ten at least. And it has a graph of 1,000,000 edges
(``graphs``).
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from ripplenest.bench import graphs
from ripplenest.bench.graphs import Ints

ORDERS, CUSTOMERS, PARTS = 1_500_000, 150_000, 200_000  # at scale 1
MOST = 7  # items of an order
PAIRS, SIDE, NUMBERS = 1_000_000, 100_000, 10_000  # at scale 1
EDGES = 1_000_000  # at scale 1
NO_EDGES: Ints = np.empty(0, np.int64)
FEWEST = 5  # numbers, at small scales
CHUNK = 100_000  # orders whose items are drawn together
EPOCH, DAYS = 8_036, 2_406  # 1992-01-01 in days since 1970, and days of orders

ITEMS = pa.schema([("orderkey", pa.int64()), ("line", pa.int64()), ("partkey", pa.int64()), ("qty", pa.int64())])


@frozen(slots=False)
class Data:
    """Tables of a ``scale``, drawn from ``seed``."""

    scale: float
    seed: int

    @property
    def customer_count(self) -> int:
        return max(round(CUSTOMERS * self.scale), 3)

    @property
    def order_count(self) -> int:
        return max(round(ORDERS * self.scale), 10)

    @property
    def part_count(self) -> int:
        return max(round(PARTS * self.scale), 10)

    @cached_property
    def customers(self) -> pa.Table:
        """(custkey, name)."""
        return customers(np.arange(self.customer_count))

    @cached_property
    def orders(self) -> pa.Table:
        """(orderkey, custkey, date)."""
        return orders(self._random("orders"), np.arange(self.order_count), self.customer_count)

    @cached_property
    def items(self) -> pa.Table:
        """(orderkey, line, partkey, qty)."""
        return pa.Table.from_batches(self.item_batches(), ITEMS)

    def item_batches(self) -> Iterator[pa.RecordBatch]:
        """The items one batch after another, for who does not want them all in memory."""
        for first in range(0, self.order_count, CHUNK):
            draw = self._random("items", first)
            keys = np.arange(first, min(first + CHUNK, self.order_count))
            counts = draw.integers(1, MOST + 1, len(keys))
            lines = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            yield items(draw, np.repeat(keys, counts), lines, self.part_count)

    @cached_property
    def parts(self) -> pa.Table:
        """(partkey, name, price)."""
        return parts(np.arange(self.part_count))

    @property
    def pair_count(self) -> int:
        return max(round(PAIRS * self.scale), 10)

    @property
    def side_count(self) -> int:
        return max(round(SIDE * self.scale), 10)

    @cached_property
    def pairs(self) -> pa.Table:
        """(id, x, y) of which groups are made by x."""
        return pairs(self._random("pairs"), np.arange(self.pair_count), self.grouped_numbers)

    @cached_property
    def left(self) -> pa.Table:
        """(id, x, y) whose y are the x of ``right``."""
        return pairs(self._random("left"), np.arange(self.side_count), self.joined_numbers)

    @cached_property
    def right(self) -> pa.Table:
        """(id, x, y)."""
        return pairs(self._random("right"), np.arange(self.side_count), self.joined_numbers)

    @property
    def edge_count(self) -> int:
        return max(round(EDGES * self.scale), 10)

    @cached_property
    def edge_numbers(self) -> Ints:
        """The edges as ``graphs`` numbers them."""
        return graphs.distinct(self._random("edges"), graphs.levels(self.edge_count), self.edge_count, NO_EDGES)

    @property
    def edges(self) -> pa.Table:
        """(x, y)."""
        return graphs.table(self.edge_numbers, graphs.levels(self.edge_count))

    @property
    def grouped_numbers(self) -> int:
        """The largest number of ``pairs``."""
        return max(round(NUMBERS * min(10 * self.scale, 1)), FEWEST)

    @property
    def joined_numbers(self) -> int:
        """The largest number of ``left`` and ``right``."""
        return max(round(NUMBERS * min(self.scale, 1)), FEWEST)

    def draw(self, *which: int) -> np.random.Generator:
        """Random numbers of a batch, others for each."""
        return self._random("batch", *which)

    def _random(self, *which: str | int) -> np.random.Generator:
        words = [int.from_bytes(w.encode()) if isinstance(w, str) else w for w in which]
        return np.random.default_rng([self.seed, *words])


def customers(keys: Ints) -> pa.Table:
    """(custkey, name)."""
    return pa.table({"custkey": keys, "name": _names("Customer", keys)})


def parts(keys: Ints) -> pa.Table:
    """(partkey, name, price)."""
    return pa.table({"partkey": keys, "name": _names("Part", keys), "price": 900 + keys % 1_000})


def orders(draw: np.random.Generator, keys: Ints, customer_count: int) -> pa.Table:
    """(orderkey, custkey, date) of random customers, but of none whose key is a multiple of three."""
    chosen = draw.integers(0, 2 * customer_count // 3, len(keys))
    owners = chosen + chosen // 2 + 1
    days = pa.array((EPOCH + draw.integers(0, DAYS, len(keys))).astype(np.int32)).cast(pa.date32())
    return pa.table({"orderkey": keys, "custkey": owners, "date": days})


def items(draw: np.random.Generator, order_keys: Ints, lines: Ints, part_count: int) -> pa.RecordBatch:
    """(orderkey, line, partkey, qty) of random parts."""
    parts, amounts = draw.integers(0, part_count, len(lines)), draw.integers(1, 51, len(lines))
    return pa.record_batch([pa.array(c) for c in (order_keys, lines, parts, amounts)], schema=ITEMS)


def pairs(draw: np.random.Generator, ids: Ints, most: int) -> pa.Table:
    """(id, x, y) of random numbers up to ``most``. MRQL's have no id: it is what rows are deleted by."""
    x, y = draw.integers(0, most, (2, len(ids)), endpoint=True)
    return pa.table({"id": ids, "x": x, "y": y})


def documents(customers: pa.Table, orders: pa.Table, items: pa.Table) -> pa.Table:
    """(custkey, name, orders(orderkey, date, items(line, partkey, qty))): each customer with what is theirs."""
    with_items = orders.append_column("items", _lists(orders, items, "orderkey", ("line", "partkey", "qty")))
    mine = _lists(customers, with_items, "custkey", ("orderkey", "date", "items"))
    return customers.append_column("orders", mine)


def _lists(owners: pa.Table, rows: pa.Table, key: str, fields: tuple[str, ...]) -> pa.ListArray:
    """For each owner, the ``fields`` of the rows with its key."""
    mine, theirs = (t.column(key).to_numpy() for t in (owners, rows))
    order = np.argsort(theirs, kind="stable")
    first, last = (np.searchsorted(theirs[order], mine, side) for side in ("left", "right"))
    offsets = np.concatenate([[0], np.cumsum(last - first)])
    places = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], last - first)
    chosen = rows.select(list(fields)).take(pa.array(order[places])).combine_chunks()
    columns = [c.chunk(0) if c.num_chunks else pa.array([], c.type) for c in chosen.columns]
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.StructArray.from_arrays(columns, fields))


def _names(what: str, keys: Ints) -> pa.Array:
    numbers = pc.utf8_lpad(pa.array(keys).cast(pa.string()), 9, "0")
    return pc.binary_join_element_wise(what, numbers, "#")
