"""Which way a statement takes: by its own product, or by what its part has changed in a sum map
(``delta/groups/upward.py``).

Another way is taken where that was added up (``Run.added_up``), as it joins much fewer rows then. Of several the one
that has the fewest.
"""

from collections.abc import Iterator, Sequence

from ripplenest.nrc.syntax import At
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.product import Product
from ripplenest.run.inputs import Run

Products = tuple[Product, ...]  # that one comprehension is


def ways(run: Run, m: PlannedMap, part: str, products: Products) -> Iterator[Product]:
    """The ``products`` of the statement of ``m`` for ``part``, or others that make the same."""
    if part not in m.ways:
        yield from products
        return
    for plain, *others in m.ways[part]:
        yield from _least(run, part, plain, others)


def _least(run: Run, part: str, plain: Products, others: Sequence[Products]) -> Products:
    known = [(rows, own) for own in others if (rows := _rows(run, part, own)) is not None]
    return min(known, key=lambda way: way[0])[1] if known else plain


def _rows(run: Run, part: str, way: Products) -> int | None:
    """How many rows begin a way; None where they were not added up."""
    changed = {s.table for p in way for s in p.sources if s.at is At.DELTA}
    each = [run.added_up.get((table, part)) for table in changed]
    return None if None in each else sum(n for n in each if n is not None)
