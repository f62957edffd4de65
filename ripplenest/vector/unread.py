"""What a product does not read of its rows is left out: those that agree in the rest are one row.

A product is linear in each of its sources, so that Σ over rows that differ in nothing that it reads is one row with
their weights added up: pairs of which only their number is asked, ``len([… for r in R for s in S if r.c == s.c])``, are
as many rows as there are keys, and not as many as there are pairs. This is InsideOut's elimination of the variables
that stand in one source alone (incremental-faq, section 6), for sums that nobody keeps.
"""

from collections.abc import Sequence
from math import prod

import pyarrow as pa

from ripplenest.data.grouping import about_different
from ripplenest.data.room import Room
from ripplenest.data.rows import WEIGHT, Rows, arrow_type
from ripplenest.data.sums import summed
from ripplenest.plan.product import Product

WORTH = 0.5  # of the rows of a source that are left of them, from which on it stays as it is
FEWER = 4  # times as many combinations, at least, as are left


def without_unread(p: Product, sources: Sequence[Rows], room: Room) -> list[Rows] | None:
    """The sources of ``p`` of which what is not read is NULL; None where as many combinations would be left, about.

    Law: p(without_unread(p, sources)) = p(sources).
    """
    some = [(rows, p.columns_read[i]) for i, rows in enumerate(sources)]
    left = [about_different(rows.arrow(), read) / max(len(rows), 1) for rows, read in some]
    if prod(of for of in left if of < WORTH) * FEWER > 1:
        return None
    return [_added_up(*own, room) if of < WORTH else own[0] for own, of in zip(some, left, strict=True)]


def _added_up(rows: Rows, read: Sequence[int], room: Room) -> Rows:
    few = summed(rows.select(read), room).arrow()
    columns = {c: few.column(i) for i, c in enumerate(read)}
    every = [columns.get(c, pa.nulls(len(few), arrow_type(t))) for c, t in enumerate(rows.types)]
    names = [*(f"c{i}" for i in range(len(rows.types))), WEIGHT]
    return Rows(rows.types, table=pa.Table.from_arrays([*every, few.column(WEIGHT)], names=names), summed=True)
