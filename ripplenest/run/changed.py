"""What a product joins of a change: no rows that cancel as far as it reads them.

A value that moves by itself is a row that goes and one that comes. What is asked of it alone, as ``0 < avg(…)``, is
asked first: as long as both fulfil it, and the product reads nothing else of them, they are the same row.
"""

from ripplenest.data.rows import Rows
from ripplenest.plan import evaluate
from ripplenest.plan.product import Product
from ripplenest.run.sizes import are_few


def joined(p: Product, source: int, change: Rows) -> Rows:
    """What ``p``, of several sources, may read instead of the ``change`` of one of them."""
    read, rest = change.as_read(p.columns_read[source]), p.columns_joined[source]
    if rest == p.columns_read[source] or not are_few([read]) or not read.has_both_signs():
        return read
    own = p.conditions_on(source)
    asked = ((row, n) for row, n in read.pairs() if all(evaluate.value(c, {source: row}) is True for c in own))
    return Rows.of_pairs(read.types, asked).as_read(rest)
