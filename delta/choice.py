"""Which maps pay: the rows that statements no longer read, against the rows that keeping the map reads and writes.

Both sides are estimates of ``cost/estimate.py`` for one batch that changes each part once. They are compared with a
margin, because they are rough: a map that is not kept costs time, a map that is kept costs time and space.

Which maps are kept is ``materialize="none" | "first" | "full" | "cost"``; "cost" compares estimates
(``delta/choice.py``, ``cost/estimate.py``) made with the rows that relations have when a view is created. Options are
stored with the view, so that it is compiled to the same program whenever its state is opened.
"""

from collections.abc import Iterable, Mapping

from ripplenest.cost.estimate import Estimate, different, estimate, estimate_all
from ripplenest.delta.materialize import Candidate, Decide
from ripplenest.delta.program import Map
from ripplenest.nrc.normal import Comprehension
from ripplenest.nrc.syntax import At

UNKNOWN_ROWS = 1_000_000  # rows of a stored part of which nothing is said
UNKNOWN_CHANGES = 100  # changed rows of a part in a batch
JOB = 10_000  # rows that could be read while one more Spark job starts (about 30 ms)
BLOW_UP = 4  # a map holds at most this many times the rows of what it is made of


def by_cost(maps: Iterable[Map], parts: Iterable[str], rows: Mapping[str, int], changes: Mapping[str, int]) -> Decide:
    """The decision of ``materialize="cost"`` for stored ``parts`` with ``rows`` and batches with ``changes`` (by part).

    A map is kept when what it saves is more than its upkeep and one more job, and it does not blow up. Of a sum map the
    rows that change are read as well, and each of its rows is as much work as it has sums.
    """
    sizes = sizes_of(maps, parts, rows, changes)
    return lambda candidate: _decide(candidate, sizes)


def sizes_of(
    maps: Iterable[Map], parts: Iterable[str], rows: Mapping[str, int], changes: Mapping[str, int]
) -> dict[str, float]:
    """The rows of parts and of maps that pass on, and of their changes, by key: those that are known, else estimates.
    """
    sizes: dict[str, float] = {}
    for part in parts:
        sizes[part] = rows.get(part, UNKNOWN_ROWS)
        sizes[At.DELTA.show(part)] = changes.get(part, UNKNOWN_CHANGES)
    for m in maps:
        if m.kind.passes_on:
            sizes[m.name] = max(estimate_all(m.products, sizes).out, 1)
            sizes[At.DELTA.show(m.name)] = UNKNOWN_CHANGES
    return sizes


def _decide(candidate: Candidate, sizes: Mapping[str, float]) -> tuple[bool, str]:
    product, summed = candidate.map.products[0], bool(candidate.map.summed)
    sums = max(len(candidate.map.summed), 1)
    held = different(product, candidate.map.keys, sizes) if summed else estimate(product, sizes).out
    made_of = sum(sizes[rel.name] for _, rel in product.generators)
    if held > BLOW_UP * made_of:
        return False, f"it would hold about {held:,.0f} rows, made of {made_of:,.0f}"
    with_map = {**sizes, candidate.map.name: max(held, 1)}
    saved = sum(_work(use.before, sizes) - sums * _work(use.after, with_map) for use in candidate.uses)
    upkeep = sums * sum(_work(c, sizes) + summed * estimate(c, sizes).out for c in candidate.upkeep)
    why = f"a batch would read about {max(saved, 0):,.0f} rows less, for {upkeep:,.0f} rows of upkeep"
    return saved > upkeep + JOB, why


def _work(c: Comprehension, sizes: Mapping[str, float]) -> float:
    """Rows read and rows made by one product."""
    found: Estimate = estimate(c, sizes)
    return found.read + found.out
