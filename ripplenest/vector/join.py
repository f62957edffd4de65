"""A product as a chain of probes: each source adds its rows to the combinations found so far, at the keys they ask for.

The order is the plan's (``nrc/rewriting/access.py``). Every source, whether stored or changed, is looked up by one
index, the hashes of its key columns (``data/index.py``). What can fail is asked last, about what fulfils everything
else.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Places, Sorted, entries_in, matches
from ripplenest.data.rows import WEIGHT
from ripplenest.plan.product import Band, Key, Product, Scalar, Step
from ripplenest.vector.bands import Edges, edge_of
from ripplenest.vector.binding import Binding, Input, times
from ripplenest.vector.column import Column, mask, nulls
from ripplenest.vector.failing import check
from ripplenest.vector.numbers import longs

WORTH, TIMES = 1 << 14, 4  # rows that combinations would look at, and for each row, from which on bands are worth it


def many(binding: Binding, step: Step, rows: Input) -> int:
    """How many combinations ``extended`` has, but for keys of equal hashes."""
    return int(_each(binding, step, rows).sum())


def weight(binding: Binding, step: Step, rows: Input) -> float:
    """How often these are there, all together, whatever their sign."""
    own, other = np.abs(binding.weights).astype(np.float64), np.abs(rows.weights).astype(np.float64)
    if not step.keys and _band(binding, step, rows) is None:
        return float(own.sum() * other.sum())
    found = _spans(binding, step, rows)
    before = np.concatenate([[0.0], np.cumsum(other[found.places])])
    return float((own[found.asking] * (before[found.first + found.many] - before[found.first])).sum())


def _each(binding: Binding, step: Step, rows: Input) -> Places:
    """The same for each combination that there is."""
    if not step.keys and _band(binding, step, rows) is None:
        return np.full(len(binding), len(rows))
    spans, found = _spans(binding, step, rows), np.zeros(len(binding), np.int64)
    found[spans.asking] = spans.many
    return found


def _band(binding: Binding, step: Step, rows: Input) -> Band | None:
    """Where the rows lie that combinations look at, by what these have: who asks for keys joins some of the sources.
    None where looking at all that have their keys costs less than putting rows in order."""
    if step.band is None or len(binding) * len(rows) < WORTH:
        return None
    worth = len(binding) * rows.crowd(step.columns) >= max(WORTH, TIMES * len(rows))
    return step.band.known(binding.reads) if worth else None


@frozen(eq=False)
class Spans:
    """Which combinations ask, and where, among the rows at ``places``, those of equal hashes, or in their bands, begin,
    and how many these are."""

    asking: Places
    places: Places
    first: Places
    many: Places


def _spans(binding: Binding, step: Step, rows: Input) -> Spans:
    keys, asking = keys_of(binding, step.keys)
    hashes = hash_columns(keys, len(asking))
    if (band := _band(binding, step, rows)) is None:
        index = rows.index(step.columns)
        return Spans(asking, index[1], *Sorted(index).spans(hashes))
    banded = rows.banded(step.columns, band.columns)
    return Spans(asking, banded.places, *banded.spans(hashes, edges(binding, band, asking)))


def edges(binding: Binding, band: Band, asking: Places) -> Edges:
    """Those of the combinations that are ``asking``, the upper and the lower one."""
    upper, lower = (None if e is None else edge_of(binding.value(e.scalar), asking) for e in band.both)
    return upper, lower


def parts(binding: Binding, step: Step, rows: Input, most: int) -> list[Binding]:
    """``binding`` in parts for each of which ``extended`` has ``most`` combinations besides those of its first one."""
    if len(binding) * len(rows) <= most or len(binding) * rows.crowd(step.columns) <= most:
        return [binding]
    total = np.cumsum(_each(binding, step, rows))
    ends = np.searchsorted(total, np.arange(most, total[-1], most), "right").tolist()
    return [binding.slice(a, b) for a, b in pairwise(sorted({0, *ends, len(binding)}))]


def fulfilling(binding: Binding, conditions: Sequence[Scalar]) -> Binding:
    """The combinations for which every condition is true. One that is not decides, whatever the others do.

    Raises EvaluationError when one of them has no value and all others are true.
    """
    asked = [binding.value(c) for c in conditions]
    if not asked or not len(binding):
        return binding
    kept = np.logical_and.reduce([_not_false(c) for c in asked])
    check(binding, conditions, asked, kept)
    return binding.where(kept)


def keys_of(binding: Binding, keys: Sequence[Key]) -> tuple[list[pa.Array], Places]:
    """The keys that combinations ask for, as columns, and the numbers of those that ask: NULL asks only where NULL
    equals NULL. Raises EvaluationError when one has no value."""
    found = [binding.value(k.scalar) for k in keys]
    check(binding, [k.scalar for k in keys], found)
    asking = np.ones(len(binding), np.bool_)
    for key, c in zip(keys, found, strict=True):
        if not key.null_safe:
            asking &= ~nulls(c.values)
    if asking.all():
        return [c.values for c in found], np.arange(len(binding))
    return [c.values.filter(pa.array(asking)) for c in found], np.flatnonzero(asking)


def extended(binding: Binding, step: Step, rows: Input) -> Binding:
    """Each combination with the rows of one more source that its keys ask for."""
    if _band(binding, step, rows) is not None:  # whose keys and edges are conditions that are asked next
        spans = _spans(binding, step, rows)
        found, entries = entries_in(spans.first, spans.many)
        which, places = spans.asking[found], spans.places[entries]
    elif not step.keys:
        which, places = np.divmod(np.arange(len(binding) * len(rows)), max(len(rows), 1))
    else:
        keys, asking = keys_of(binding, step.keys)
        found, places = matches(
            rows.index(step.columns), rows.table, step.columns, hash_columns(keys, len(asking)), keys
        )
        which = asking[found]
    return binding.extended(which, step.source, rows, places)


def _not_false(c: Column) -> np.typing.NDArray[np.bool_]:
    kept = mask(c.values)
    return kept if c.failed is None else kept | c.failed.rows


def head(p: Product, binding: Binding) -> pa.Table:
    """The rows that ``p`` has for combinations: the head's columns c0…, and w. Raises EvaluationError for one without a
    value, and for a weight beyond 64 bits."""
    found, counts = [binding.value(s) for s in p.head], [binding.value(t) for t in p.times]
    check(binding, (*p.times, *p.head), (*counts, *found))
    weights = times(binding.weights, np.array([p.weight]))
    for c in counts:
        weights = times(weights, longs(c.values))
    names = [*(f"c{i}" for i in range(len(found))), WEIGHT]
    return pa.Table.from_arrays([*(c.values for c in found), pa.array(weights)], names=names)
