"""What a product joins of a change: no rows that cancel as far as it reads them.

A value that moves by itself is a row that goes and one that comes. What is asked of it alone, as ``0 < avg(…)``, is
asked first: as long as both fulfil it, and the product reads nothing else of them, they are the same row.
"""

import pyarrow as pa

from ripplenest.data.rows import Rows
from ripplenest.plan import evaluate
from ripplenest.plan.product import Product
from ripplenest.run.sizes import are_few
from ripplenest.vector import join
from ripplenest.vector.binding import Binding, Input


def joined(p: Product, source: int, change: Rows) -> Rows:
    """What ``p``, of several sources, may read instead of the ``change`` of one of them."""
    read, rest = change.as_read(p.columns_read[source]), p.columns_joined[source]
    if rest == p.columns_read[source] or not are_few([read]) or not read.has_both_signs():
        return read
    return fulfilling(p, source, read).as_read(rest)


def fulfilling(p: Product, source: int, rows: Rows) -> Rows:
    """Those ``rows`` of a source that fulfil the conditions on it alone that cannot fail."""
    own = p.conditions_on(source)
    if not own:
        return rows
    if are_few([rows]):
        pairs = ((row, n) for row, n in rows.pairs() if all(evaluate.value(c, {source: row}) is True for c in own))
        return Rows.of_pairs(rows.types, pairs)
    every = Input.of(rows)
    kept = join.fulfilling(Binding.of(source, every), own).places(source)
    return Rows.of_arrow(rows.types, every.table.take(pa.array(kept)))
