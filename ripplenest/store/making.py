"""What a segment is made of: its rows in order, and an index for each access key and each ordering of its table."""

from collections.abc import Sequence

import pyarrow as pa

from ripplenest.data.order import Ordering
from ripplenest.data.room import Room
from ripplenest.store.index.arranging import in_order_of
from ripplenest.store.index.clustering import clustered, indexed
from ripplenest.store.index.indexes import KeyIndex
from ripplenest.store.index.ordered import OrderedIndex
from ripplenest.store.specs import Access

Made = KeyIndex | OrderedIndex


def made_of(
    rows: pa.Table, access: Sequence[Access], segment: int, room: Room
) -> tuple[pa.Table, dict[Access, Made]]:
    """``rows``, each once, in the order of the first access key, and the indexes of ``segment``, which they become."""
    keys = [a for a in access if not isinstance(a, Ordering)]
    table, found = clustered(rows, keys, room)
    made: dict[Access, Made] = {columns: KeyIndex.of(entries, columns, segment) for columns, entries in found.items()}
    orders = (a for a in access if isinstance(a, Ordering))
    return table, made | {o: index_on(table, o, segment, room) for o in orders}


def index_on(table: pa.Table, access: Access, segment: int, room: Room) -> Made:
    """An index of the rows that ``segment`` has."""
    if isinstance(access, Ordering):
        return OrderedIndex.of(in_order_of(table, access, room), access, segment)
    return KeyIndex.of(indexed(table, access, room), access, segment)
