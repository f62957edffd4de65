"""The keys that a probe asks for, by the rows of the sources that were read before.

Most come from one source, whose rows that do not fulfil the conditions on it alone ask nothing. Keys of several sources
are those of the combinations of their rows: of sources that were reached from one another, so that there are no more of
them than the joiner makes of the same rows. NULL asks only where NULL equals NULL.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.index import Places
from ripplenest.data.order import LEAST, MOST, Within, key_numbers
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.rewriting.access import MOST_KEYS
from ripplenest.nrc.types import Base
from ripplenest.plan import evaluate
from ripplenest.plan.product import Band, Product, Scalar, Step
from ripplenest.plan.ranges import Ranged
from ripplenest.run.sizes import are_few
from ripplenest.vector import bands, join
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.combinations import Combinations
from ripplenest.vector.covers import remaining, uncancelled

Inputs = Callable[[Rows], Input]  # rows as they are looked up
Asked = Rows | Literal["no value", "too many"]


@frozen
class Told:
    """``by`` what a product knows rows of the source that asks, beside where the band lies, which is ``decided`` by the
    rest (``plan/ranges.py``)."""

    by: tuple[Scalar, ...]
    decided: tuple[Scalar, ...]


def keys_of(step: Step, rows: Rows | None, own: Sequence[Scalar], inputs: Inputs) -> Asked:
    """Those of the ``rows`` of one source that fulfil the conditions ``own``; of constants where there is none."""
    try:
        return _by_rows(step, rows, own) if rows is None or are_few([rows]) else _by_columns(step, inputs(rows), own)
    except EvaluationError:
        return "no value"


def within(step: Step, r: Ranged, rows: Callable[[], Binding], told: Told | None = None) -> Within | None:
    """Between which values ``rows`` of one source ask, but for what comes to nothing, of rows that are ``told``; None
    where a key or an edge has no value."""
    try:
        binding = rows()
        keys, asking = join.keys_of(binding, step.keys)
    except EvaluationError:
        return None
    found = bands.limits(join.edges(binding, r.band, asking), len(asking))
    if found is None:
        return None
    low, high = found
    until = None if r.until is None else bands.limits(join.edges(binding, Band(lower=r.until), asking), len(asking))
    far = low if until is None else until[0]
    kept = np.flatnonzero((low >= LEAST) & (high <= MOST) & (low <= high) & (far >= LEAST))
    low, high = low[kept], high[kept]
    if told is not None:
        own = asking[kept]
        left = uncancelled(partial(_groups, binding, (*told.by, *told.decided), own), binding.weights[own])
        kept, own, low, high = kept[left], own[left], low[left], high[left]
        which, low, high = remaining(partial(_groups, binding, told.by, own), low, high, binding.weights[own])
        kept = kept[which]
    each = pa.repeat(pa.scalar(1, pa.int64()), len(kept))
    asked = Rows.of_columns(_types(step), [k.take(pa.array(kept)) for k in keys], each)
    return Within(r.order, asked, low, high, until=None if until is None else far[kept])


def _groups(binding: Binding, by: Sequence[Scalar], rows: Places) -> Places:
    """A number for each of these combinations, the same for those that agree in the values ``by``."""
    columns = [binding.value(s).values.take(pa.array(rows)) for s in by]
    if not columns:
        return np.zeros(len(rows), np.int64)
    return key_numbers(pa.Table.from_arrays(columns, [f"k{i}" for i in range(len(columns))]), range(len(columns)))


def joined(
    p: Product, read: Sequence[Step], step: Step, rows: Mapping[int, Rows], inputs: Inputs, combinations: Combinations
) -> Asked:
    """Those of ``combinations`` of the ``rows`` of sources that the steps ``read``: not of more than MOST_KEYS, if keys
    of one source alone could be asked for instead."""
    try:
        if are_few(rows[s.source] for s in read):
            return _asked(step, evaluate.combinations(p, read, {i: own.counts() for i, own in rows.items()}))
        most = MOST_KEYS if step.alone else None
        binding = combinations.within(p, read, [inputs(rows[s.source]) for s in read], most)
        return "too many" if binding is None else Rows.of_columns(_types(step), join.keys_of(binding, step.keys)[0])
    except EvaluationError:
        return "no value"


def _by_rows(step: Step, rows: Rows | None, own: Sequence[Scalar]) -> Rows:
    bindings: list[evaluate.Binding] = [{}] if rows is None else [{step.via[0]: row} for row, _ in rows.pairs()]
    return _asked(step, (b for b in bindings if all(evaluate.value(c, b) is True for c in own)))


def _asked(step: Step, bindings: Iterable[evaluate.Binding]) -> Rows:
    keys: dict[Row, None] = dict.fromkeys(tuple(evaluate.value(k.scalar, b) for k in step.keys) for b in bindings)
    asked = [key for key in keys if all(v is not None or k.null_safe for v, k in zip(key, step.keys, strict=True))]
    return Rows.of_counts(_types(step), dict.fromkeys(asked, 1))


def _by_columns(step: Step, rows: Input, own: Sequence[Scalar]) -> Rows:
    keys, _ = join.keys_of(join.fulfilling(Binding.of(step.via[0], rows), own), step.keys)
    return Rows.of_columns(_types(step), keys)


def _types(step: Step) -> tuple[Base, ...]:
    return tuple(k.scalar.type for k in step.keys)
