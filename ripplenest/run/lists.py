"""In which order a build reads a product that closes a cycle: each row of the source that is read first in that in
which the list that it asks for next is the shortest.

Of triangles E(x,y)·E(y,z)·E(x,z) a build that goes from each edge to all edges of y makes every path of two edges, as
many as the product of what a hub has on both sides. In parts, of which one goes on from y and the other from x, it
makes no more than the shorter list has: Σ min(dₓ, d_y), within the bound of the cycle (Atserias, Grohe, Marx, FOCS
2008). That is what indicator projections are for, without a table of them (Khamis, Ngo, Rudra, FAQ, PODS 2016,
section 5). Batches do the same with their changes (``run/orders.py``).

Law: p(c₁ ⊎ c₂) = p(c₁) ⊎ p(c₂), and each order makes the same rows.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Places, Sorted
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.product import Product
from ripplenest.run.inputs import Run
from ripplenest.run.joiner import Task
from ripplenest.vector import join
from ripplenest.vector.binding import Binding, Input

WORTH = 2  # times fewer rows that lists must have in parts; the second one is one more join


def tasks(run: Run, target: str, p: Product) -> Iterator[Task]:
    """A product with all of its sources; where that is worth it, one task for each order that rows choose."""
    inputs = run.scan(p)
    first = p.steps[0].source if p.others else 0
    parts = _parts(run, p, inputs) if p.others and all(order.steps[1].via == (first,) for order in p.orders) else None
    if parts is None:
        yield Task(target, p, inputs)
        return
    for order, rows in zip(p.orders, parts, strict=True):
        if len(rows):
            yield Task(target, order, (*inputs[:first], rows, *inputs[first + 1 :]))


def _parts(run: Run, p: Product, inputs: tuple[Rows, ...]) -> list[Rows] | None:
    """The rows of the first source by the order that they choose, the first one of equal ones; None where that is not
    worth it, or a key has no value."""
    own = run.indexed(inputs[p.steps[0].source])
    try:
        many = np.stack([_many(order, own, run.indexed(inputs[order.steps[1].source])) for order in p.orders])
    except EvaluationError:
        return None
    if many.min(axis=0).sum() * WORTH >= many[0].sum():
        return None
    types, choice = inputs[p.steps[0].source].types, many.argmin(axis=0)
    return [Rows(types, table=own.table.filter(pa.array(choice == i)), summed=True) for i in range(len(p.orders))]


def _many(p: Product, own: Input, other: Input) -> Places:
    """By row of the first source, how many rows the list has that the next step reads for it."""
    step = p.steps[1]
    asked, asking = join.keys_of(Binding.of(p.steps[0].source, own), step.keys)
    found = np.zeros(len(own), np.int64)
    found[asking] = Sorted(other.index(step.columns)).spans(hash_columns(asked, len(asking)))[1]
    return found
