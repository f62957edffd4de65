"""The batches that are measured: new rows come, half of them go again while others come, and what is left goes.

So each round ends with the rows that it began with, a batch of each kind meets a state of the same size, and a row that
a batch forgets or invents is still there when the answers are compared.
"""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from ripplenest.bench import data
from ripplenest.bench.data import Data, Ints

Kind = Literal["insert", "mixed", "deep insert", "delete", "deep delete"]
Verb = Literal["insert", "delete"]
ORDER_ITEMS, CUSTOMER_ORDERS = 4, 10  # of new documents
DEEPEST = 1_000  # items that one batch changes one by one: each of them is a call of the user's program


@frozen
class Write:
    """Rows of a relation that come or go. For those that go whoever needs no more looks at their keys."""

    verb: Verb
    relation: str
    rows: pa.Table


@frozen
class Inner:
    """An item of an inner bag that comes or goes: of which customer and order."""

    verb: Verb
    custkey: int
    orderkey: int
    item: dict[str, int]


@frozen
class Change:
    """A batch that changes ``rows`` items: by ``inner``, deep updates, where it has them, and else by ``writes``, which
    say the same in whole rows."""

    kind: Kind
    rows: int
    writes: tuple[Write, ...]
    inner: tuple[Inner, ...] = ()


@define
class Changes:
    """The batches of a workload over ``relation``, whose new rows with so many items ``fresh`` makes. ``deep`` are its
    deep updates, if it has any."""

    relation: str
    fresh: Callable[[int], pa.Table]
    deep: "DeepItems | None" = None
    _left: dict[int, pa.Table] = field(factory=dict)

    def there(self, rows: int) -> Iterator[Change]:
        """Batches of ``rows`` items, each to be applied before the next is asked for."""
        half = rows // 2
        going, staying = self.fresh(half), self.fresh(rows - half)
        yield self._change("insert", rows, ("insert", pa.concat_tables([going, staying])))
        if half:
            coming = self.fresh(rows - half)
            yield self._change("mixed", rows, ("delete", going), ("insert", coming))
            staying = pa.concat_tables([staying, coming])
        self._left[rows] = staying
        if self.deep is not None and rows <= DEEPEST:
            yield self.deep.insert(rows)

    def back(self, rows: int) -> Iterator[Change]:
        """Batches that take back what ``there`` left."""
        yield self._change("delete", rows, ("delete", self._left.pop(rows)))
        if self.deep is not None and rows <= DEEPEST:
            yield self.deep.delete(rows)

    def _change(self, kind: Kind, rows: int, *writes: tuple[Verb, pa.Table]) -> Change:
        return Change(kind, rows, tuple(Write(verb, self.relation, table) for verb, table in writes))


@define
class Items:
    """New items, of random orders that are there."""

    data: Data
    made: int = 0

    def fresh(self, rows: int) -> pa.Table:
        draw = self.data.draw(self.made)
        lines = data.MOST + self.made + np.arange(rows)
        self.made += rows + 1
        orders = draw.integers(0, self.data.order_count, rows)
        return pa.Table.from_batches([data.items(draw, orders, lines, self.data.part_count)])


@define
class Documents:
    """New customers, with ten orders of four items each."""

    data: Data
    made: int = 0

    def fresh(self, rows: int) -> pa.Table:
        """As many of them as have ``rows`` items in all."""
        base, draw = self.data, self.data.draw(self.made)
        of_item = base.order_count + self.made + np.arange(rows) // ORDER_ITEMS
        keys = np.unique(of_item)
        of_order = base.customer_count + self.made + np.arange(len(keys)) // CUSTOMER_ORDERS
        self.made += rows + 1
        orders = data.orders(draw, keys, base.customer_count).set_column(1, "custkey", pa.array(of_order))
        items = data.items(draw, of_item, np.arange(rows) % ORDER_ITEMS, base.part_count)
        return data.documents(data.customers(np.unique(of_order)), orders, pa.Table.from_batches([items]))


@define
class DeepItems:
    """New items deep in the documents that are there, of random orders."""

    data: Data
    _items: Items
    _added: dict[int, pa.Table] = field(factory=dict)

    @staticmethod
    def of(data: Data) -> "DeepItems":
        return DeepItems(data, Items(data))

    def insert(self, rows: int) -> Change:
        self._added[rows] = self._items.fresh(rows)
        return self._change("deep insert", "insert", self._added[rows])

    def delete(self, rows: int) -> Change:
        return self._change("deep delete", "delete", self._added.pop(rows))

    def _change(self, kind: Kind, verb: Verb, items: pa.Table) -> Change:
        owners = self.data.orders.column("custkey").take(items.column("orderkey"))
        documents = self._documents(np.unique(owners.to_numpy()))
        writes = Write("delete", "D", documents), Write("insert", "D", documents)
        pairs = zip(owners.to_pylist(), items.to_pylist(), strict=True)
        inner = tuple(Inner(verb, custkey, item.pop("orderkey"), item) for custkey, item in pairs)
        return Change(kind, items.num_rows, writes, inner)

    def _documents(self, custkeys: Ints) -> pa.Table:
        """The documents of these customers with what is added to them now."""
        orders = _with(self.data.orders, "custkey", custkeys)
        order_keys = orders.column("orderkey").to_numpy()
        items = [_with(table, "orderkey", order_keys) for table in (self.data.items, *self._added.values())]
        return data.documents(_with(self.data.customers, "custkey", custkeys), orders, pa.concat_tables(items))


def _with(table: pa.Table, column: str, keys: Ints) -> pa.Table:
    return table.filter(pa.array(np.isin(table.column(column).to_numpy(), keys)))
