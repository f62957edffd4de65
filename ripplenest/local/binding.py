"""Combinations of rows, column by column: which row of each source that was read takes part, and with what weight.

Rows are not copied when combinations are made or dropped; the columns of a source are gathered when a scalar first
reads them.
"""

from collections.abc import Mapping
from typing import assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ripplenest.data.index import Places
from ripplenest.data.rows import arrow_type
from ripplenest.local.column import Column, Mask
from ripplenest.local.kernels import column
from ripplenest.local.numbers import mul
from ripplenest.nrc.bags import checked
from ripplenest.plan.product import Col, Const, Op, Scalar

Weights = npt.NDArray[np.int64]


class Binding:
    """``weights``, and by source number its table and the row of each combination."""

    def __init__(self, weights: Weights, sources: Mapping[int, tuple[pa.Table, Places]]) -> None:
        self.weights, self._sources = weights, sources
        self._columns: dict[tuple[int, int], pa.Array] = {}

    @classmethod
    def nothing_read(cls) -> "Binding":
        """The one combination of no rows."""
        return cls(np.ones(1, np.int64), {})

    def __len__(self) -> int:
        return len(self.weights)

    def extended(self, which: Places, source: int, table: pa.Table, weights: Weights, places: Places) -> "Binding":
        """Combination ``which`` of these with row ``place`` of another source, for each pair of them. Raises
        EvaluationError for a weight beyond 64 bits."""
        old = {n: (rows, taken[which]) for n, (rows, taken) in self._sources.items()}
        product = times(self.weights[which], weights[places])
        return Binding(product, {**old, source: (table, places)})

    def where(self, kept: Mask) -> "Binding":
        """The combinations for which ``kept`` is true."""
        if kept.all():
            return self
        return Binding(self.weights[kept], {n: (rows, taken[kept]) for n, (rows, taken) in self._sources.items()})

    def value(self, s: Scalar) -> Column:
        """A scalar for every combination."""
        match s:
            case Col(source, place):
                return Column(self._column(source, place))
            case Const(constant):
                return Column(pa.repeat(pa.scalar(constant, arrow_type(s.type)), len(self)))
            case Op(fn, args):
                return column(fn, [self.value(a) for a in args], [a.type for a in args], s.type)
            case _:
                assert_never(s)

    def _column(self, source: int, place: int) -> pa.Array:
        found = self._columns.get((source, place))
        if found is None:
            rows, taken = self._sources[source]
            found = rows.column(place).take(pa.array(taken)).combine_chunks()
            self._columns[source, place] = found
        return found


def times(a: Weights, b: Weights) -> Weights:
    """The products of weights. Raises EvaluationError for one beyond 64 bits."""
    with np.errstate(over="ignore"):
        product, over = mul(a, b)
    if over.any():
        checked(2**63)
    return product
