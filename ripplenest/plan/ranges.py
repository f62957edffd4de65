"""Tables that are read between values: in the order of a column, by an index on it, as far as a band goes.

By keys alone a step reads all rows that have them, and without keys its table. Where a band (``nrc/bands.py``) says
what a column lies between, by values of one source that was read before, it reads what lies there.
"""

from collections.abc import Mapping
from functools import lru_cache

from attrs import frozen

from ripplenest.data.order import By, Ordering
from ripplenest.plan.product import Band, Step, sources_of

Unique = Mapping[str, frozenset[int]]  # by table, the columns by which a row is the only one


@frozen
class Ranged:
    """How a step is read between values: in this ``order``, at the ``band`` of the rows of the source ``via``."""

    order: Ordering
    band: Band
    via: int


@lru_cache(maxsize=1 << 14)
def ranged(step: Step) -> Ranged | None:
    """How ``step`` is read between values; None where it is not."""
    if not step.is_ranged or step.band is None:
        return None
    first = step.band.edges[0]
    upper, lower = (e if e is not None and e.column == first.column else None for e in step.band.both)
    order = Ordering(step.columns, (By(first.column),))
    return Ranged(order, Band(upper, lower), min(sources_of(first.scalar)))


def is_one(table: str, step: Step, unique: Unique) -> bool:
    """Whether one key of ``step`` finds one row of ``table`` at most."""
    return table in unique and unique[table] <= {*step.columns}
