"""In which order a batch reads a product that closes a cycle: each row of the change in that in which the list that it
asks for first is the shortest. Builds do the same with the table that they read first (``run/lists.py``).

Law: p(c₁ ⊎ c₂) = p(c₁) ⊎ p(c₂), and each order makes the same rows.
"""

from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.index import Places
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.product import Product, Step
from ripplenest.run.inputs import Run
from ripplenest.run.rounds import Lookup, Work, in_step
from ripplenest.vector import join
from ripplenest.vector.binding import Binding

Chosen = tuple[Product, Rows | None]  # an order, and the rows of the change that choose it; None for all


@frozen
class _List:
    """What ``step`` reads of a table for each row of a change: where an order begins."""

    change: Rows
    table: str
    step: Step

    @property
    def name(self) -> Hashable:
        return id(self.change), self.table, self.step


def chosen(run: Run, products: Sequence[Product]) -> list[list[Chosen]]:
    """By product the orders in which it is read, the first one of equal ones. All rows choose that of the product where
    a key has no value. All lists are asked for at once, as products of several statements have some in common."""
    begins = [_begins(run, p) for p in products]
    lists = {begin.name: begin for own in begins for begin in own}
    many = dict(zip(lists, in_step((_many(run, begin) for begin in lists.values()), run.probes.answers), strict=True))
    return [_choices(run, p, own, [many[b.name] for b in own]) for p, own in zip(products, begins, strict=True)]


def _begins(run: Run, p: Product) -> list[_List]:
    """Where the orders of a product begin; nowhere if it has one."""
    change = run.changes.get(p.sources[p.steps[0].source].table) if p.others else None
    if change is None:
        return []
    return [_List(change, order.sources[order.steps[1].source].table, order.steps[1]) for order in p.orders]


def _many(run: Run, begin: _List) -> Work[Places | None]:
    """By row of the change, how many rows a list has; None where a key has no value."""
    rows, step = run.indexed(_summed(run, begin.change)), begin.step
    try:
        asked, asking = join.keys_of(Binding.of(step.via[0], rows), step.keys)
    except EvaluationError:
        return None
    found = np.zeros(len(rows), np.int64)
    types = tuple(k.scalar.type for k in step.keys)
    found[asking] = yield Lookup(begin.table, step.columns, Rows.of_columns(types, asked), counted=True)
    return found


def _choices(run: Run, p: Product, begins: Sequence[_List], many: Sequence[Places | None]) -> list[Chosen]:
    if not begins:
        return [(p, None)]
    change = begins[0].change
    divided = lambda: _divided(change, _summed(run, change), many)  # noqa: E731
    parts = run.known.once((id(change), "chosen", *(b.name for b in begins)), change, divided)
    return [(order, rows) for order, rows in zip(p.orders, parts, strict=True) if len(rows)]


def _summed(run: Run, change: Rows) -> Rows:
    """A change, each row once: the same for all lists that rows of it choose from."""
    return run.known.once((id(change), "sum"), change, change.consolidated)


def _divided(change: Rows, rows: Rows, many: Sequence[Places | None]) -> list[Rows]:
    """``change``, whose ``rows`` are each there once, by which of the lists is the shortest."""
    known = [own for own in many if own is not None]
    choice = np.argmin(known, axis=0) if len(known) == len(many) else np.zeros(len(rows), np.int64)
    if not choice.any():
        return [change, *(Rows.empty(change.types) for _ in many[1:])]
    table = rows.arrow()
    return [Rows(change.types, table=table.filter(pa.array(choice == i)), summed=True) for i in range(len(many))]
