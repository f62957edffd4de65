"""The batches that are measured: new rows come, half of them go again while others come, and what is left goes.

So each round ends with the rows that it began with, a batch of each kind meets a state of the same size, and a row that
a batch forgets or invents is still there when the answers are compared.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

from ripplenest.bench import data, graphs
from ripplenest.bench.data import Data
from ripplenest.bench.graphs import Ints

Kind = Literal["insert", "mixed", "deep insert", "delete", "deep delete", "price", "first"]
Verb = Literal["insert", "delete"]
Rows = Mapping[str, pa.Table]  # by relation
ORDER_ITEMS, CUSTOMER_ORDERS = 4, 10  # of new documents
DEEPEST = 10_000  # items that one batch changes deep in documents: a rival is given the whole documents


@frozen
class Write:
    """Rows of a relation that come or go. For those that go whoever needs no more looks at their keys."""

    verb: Verb
    relation: str
    rows: pa.Table


@frozen
class Inner:
    """Items that come into orders of customers or go: ``items`` says of each whose it is."""

    verb: Verb
    items: pa.Table


@frozen
class Change:
    """A batch that changes ``rows`` items or pairs: by ``inner``, deep updates, where it has them, and else by
    ``writes``, which say the same in whole rows. One of kind "price" changes so many parts, one of kind "first" takes
    the first rows of so many groups."""

    kind: Kind
    rows: int
    writes: tuple[Write, ...]
    inner: Inner | None = None


class Source(Protocol):
    """New rows of one relation."""

    def fresh(self, rows: int) -> pa.Table:
        """As many as have ``rows`` items, which no other call gives."""
        ...


@define
class Changes:
    """The batches of a workload, whose new rows with so many items ``fresh`` makes. ``deep`` are its deep updates, if
    it has any."""

    fresh: Callable[[int], Rows]
    deep: "DeepItems | None" = None
    _left: dict[int, Rows] = field(factory=dict)

    @staticmethod
    def of(relation: str, source: Source, deep: "DeepItems | None" = None) -> "Changes":
        """Of one relation."""
        return Changes(lambda rows: {relation: source.fresh(rows)}, deep)

    def there(self, rows: int) -> Iterator[Change]:
        """Batches of ``rows`` items, each to be applied before the next is asked for."""
        half = rows // 2
        going, staying = self.fresh(half), self.fresh(rows - half)
        yield self._change("insert", rows, ("insert", _both(going, staying)))
        if half:
            coming = self.fresh(rows - half)
            yield self._change("mixed", rows, ("delete", going), ("insert", coming))
            staying = _both(staying, coming)
        self._left[rows] = staying
        if self.deep is not None and rows <= DEEPEST:
            yield self.deep.insert(rows)

    def back(self, rows: int) -> Iterator[Change]:
        """Batches that take back what ``there`` left."""
        yield self._change("delete", rows, ("delete", self._left.pop(rows)))
        if self.deep is not None and rows <= DEEPEST:
            yield self.deep.delete(rows)

    def round(self, rows: int) -> Iterator[Change]:
        """Batches of ``rows`` items, and those that take back what they left."""
        yield from self.there(rows)
        yield from self.back(rows)

    def _change(self, kind: Kind, rows: int, *writes: tuple[Verb, Rows]) -> Change:
        return Change(kind, rows, tuple(w for verb, tables in writes for w in written(verb, tables)))


def written(verb: Verb, tables: Rows) -> tuple[Write, ...]:
    """The rows of each relation that has some."""
    return tuple(Write(verb, name, table) for name, table in tables.items() if table.num_rows)


def _both(a: Rows, b: Rows) -> Rows:
    return {name: pa.concat_tables([table, b[name]]) for name, table in a.items()}


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
        of_order = base.customer_count + self.made + np.arange(-(-rows // ORDER_ITEMS)) // CUSTOMER_ORDERS
        self.made += rows + 1
        items = data.items(draw, of_item, np.arange(rows) % ORDER_ITEMS, base.part_count)
        return placed(draw, pa.Table.from_batches([items]), of_order)


def placed(draw: np.random.Generator, items: pa.Table, of_order: Ints) -> pa.Table:
    """Documents of new customers with orders of these ``items``: ``of_order`` has the customer of each, by its key."""
    keys, owners = np.unique(items.column("orderkey").to_numpy()), np.unique(of_order)
    orders = data.orders(draw, keys, 2 + len(owners)).set_column(1, "custkey", pa.array(of_order))
    return data.documents(data.customers(owners), orders, items)


@define
class Pairs:
    """New pairs."""

    data: Data
    made: int = 0

    def fresh(self, rows: int) -> pa.Table:
        draw, ids = self.data.draw(self.made), self.data.pair_count + self.made + np.arange(rows)
        self.made += rows + 1
        return data.pairs(draw, ids, self.data.grouped_numbers)


@define
class Sides:
    """New pairs of both sides of a join, half of them each."""

    data: Data
    made: int = 0

    def fresh(self, rows: int) -> Rows:
        draw, base = self.data.draw(self.made), self.data.side_count + self.made
        self.made += rows + 1
        shares = {"X": rows - rows // 2, "Y": rows // 2}
        return {n: data.pairs(draw, base + np.arange(k), self.data.joined_numbers) for n, k in shares.items()}


@define
class Edges:
    """New edges of the graph, drawn as it was."""

    data: Data
    made: int = 0
    _known: Ints | None = None

    def fresh(self, rows: int) -> pa.Table:
        draw, levels = self.data.draw(self.made), graphs.levels(self.data.edge_count)
        known = self.data.edge_numbers if self._known is None else self._known
        found = graphs.distinct(draw, levels, rows, known)
        self._known = np.concatenate([known, found])
        self.made += rows + 1
        return graphs.table(found, levels)


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
        return Change(kind, items.num_rows, writes, Inner(verb, items.append_column("custkey", owners)))

    def _documents(self, custkeys: Ints) -> pa.Table:
        """The documents of these customers with what is added to them now."""
        orders = _with(self.data.orders, "custkey", custkeys)
        order_keys = orders.column("orderkey").to_numpy()
        items = [_with(table, "orderkey", order_keys) for table in (self.data.items, *self._added.values())]
        return data.documents(_with(self.data.customers, "custkey", custkeys), orders, pa.concat_tables(items))


def _with(table: pa.Table, column: str, keys: Ints) -> pa.Table:
    return table.filter(pa.array(np.isin(table.column(column).to_numpy(), keys)))
