"""A product as a chain of probes: each source adds its rows to the combinations found so far, at the keys they ask for.

The order is the plan's (``nrc/access.py``). Every source, whether stored or changed, is looked up by one index, the
hashes of its key columns (``data/index.py``). What can fail is asked last, about what fulfils everything else.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Places, Sorted, matches
from ripplenest.data.rows import WEIGHT
from ripplenest.plan.product import Key, Product, Scalar, Step
from ripplenest.vector.binding import Binding, Input, times
from ripplenest.vector.column import Column, mask, nulls
from ripplenest.vector.failing import check
from ripplenest.vector.numbers import longs


def many(binding: Binding, step: Step, rows: Input) -> int:
    """How many combinations ``extended`` has, but for keys of equal hashes."""
    return int(_each(binding, step, rows).sum())


def weight(binding: Binding, step: Step, rows: Input) -> float:
    """How often these are there, all together, whatever their sign."""
    own, other = np.abs(binding.weights).astype(np.float64), np.abs(rows.weights).astype(np.float64)
    if not step.keys:
        return float(own.sum() * other.sum())
    asking, starts, counts = _spans(binding, step, rows)
    before = np.concatenate([[0.0], np.cumsum(other[rows.index(step.columns)[1]])])
    return float((own[asking] * (before[starts + counts] - before[starts])).sum())


def _each(binding: Binding, step: Step, rows: Input) -> Places:
    """The same for each combination that there is."""
    if not step.keys:
        return np.full(len(binding), len(rows))
    asking, _, counts = _spans(binding, step, rows)
    found = np.zeros(len(binding), np.int64)
    found[asking] = counts
    return found


def _spans(binding: Binding, step: Step, rows: Input) -> tuple[Places, Places, Places]:
    """Which combinations ask, and where in the index the rows of equal hashes begin, and how many these are."""
    keys, asking = keys_of(binding, step.keys)
    return asking, *Sorted(rows.index(step.columns)).spans(hash_columns(keys, len(asking)))


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
    if not step.keys:
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
