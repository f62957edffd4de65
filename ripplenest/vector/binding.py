"""Combinations of rows, column by column: which row of each source that was read takes part, and with what weight.

Rows are not copied when combinations are made or dropped; the columns of a source are gathered when a scalar first
reads them.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ripplenest.data.index import Index, Places, index_of
from ripplenest.data.rows import Row, Rows, arrow_type
from ripplenest.nrc.bags import checked
from ripplenest.plan.product import ByEdge, Col, Const, Op, Scalar
from ripplenest.vector.bands import Banded
from ripplenest.vector.column import Column, Mask
from ripplenest.vector.kernels import column
from ripplenest.vector.numbers import mul

Weights = npt.NDArray[np.int64]
SAFE = 2**31  # weights whose products stay within 64 bits


class Input:
    """The rows of one source, each once, with an index for each of the columns that it was looked up by."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table  # of which the last column are weights
        *self.columns, weights = (c.combine_chunks() for c in self.table.columns)
        self.weights: Weights = weights.to_numpy()
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._crowds: dict[tuple[int, ...], int] = {}
        self._banded: dict[tuple[tuple[int, ...], ByEdge], Banded] = {}
        self._computed: dict[tuple[Scalar, ...], Input] = {}
        self._values: dict[Scalar, pa.Array | None] = {}

    @classmethod
    def of(cls, rows: Rows) -> "Input":
        """The input that ``rows`` are, the same for whoever asks: who looks up which keys they ask for, and who joins
        them then."""
        once = rows.consolidated()
        return once.once("input", lambda: cls(once.arrow()))

    def __len__(self) -> int:
        return len(self.weights)

    def crowd(self, columns: tuple[int, ...]) -> int:
        """How many rows have one key at most, or one hash of a key; all have that of no columns."""
        if not columns or not len(self):
            return len(self)
        if columns not in self._crowds:
            hashes, _ = self.index(columns)
            starts = np.flatnonzero(hashes[1:] != hashes[:-1]) + 1
            self._crowds[columns] = int(np.diff(starts, prepend=0, append=len(hashes)).max())
        return self._crowds[columns]

    def value(self, source: int, s: Scalar) -> pa.Array | None:
        """What ``s`` is of each row; None where it has no value for one."""
        if s not in self._values:
            found = Binding.of(source, self).value(s)
            self._values[s] = None if found.failed is not None else found.values
        return self._values[s]

    def computed(self, values: Mapping[Scalar, pa.Array]) -> "Input":
        """The same rows with what is computed of them as columns behind theirs."""
        scalars = tuple(values)
        if scalars not in self._computed:
            table = self.table
            for i, own in enumerate(values.values(), len(self.columns)):
                table = table.add_column(i, f"c{i}", own)
            self._computed[scalars] = Input(table)
        return self._computed[scalars]

    def index(self, columns: tuple[int, ...]) -> Index:
        if columns not in self._indexes:
            self._indexes[columns] = index_of(self.table, columns)
        return self._indexes[columns]

    def banded(self, columns: tuple[int, ...], by: ByEdge) -> Banded:
        """The rows in the order in which bands are looked up."""
        if (columns, by) not in self._banded:
            self._banded[columns, by] = Banded.of(self.table, columns, by)
        return self._banded[columns, by]


class Binding:
    """``weights``, and by source number its rows and which of them is in each combination."""

    def __init__(self, weights: Weights, sources: Mapping[int, tuple[Input, Places]]) -> None:
        self.weights, self._sources = weights, sources
        self._columns: dict[tuple[int, int], pa.Array] = {}

    @classmethod
    def nothing_read(cls) -> "Binding":
        """The one combination of no rows."""
        return cls(np.ones(1, np.int64), {})

    @classmethod
    def of(cls, source: int, rows: Input) -> "Binding":
        """Each row of one source, whose columns are there already."""
        found = cls(rows.weights, {source: (rows, np.arange(len(rows)))})
        found._columns = {(source, i): column for i, column in enumerate(rows.columns)}
        return found

    @classmethod
    def of_columns(cls, source: int, columns: Sequence[pa.Array], rows: int) -> "Binding":
        """So many rows of one source, by its columns."""
        found = cls(np.ones(rows, np.int64), {})
        found._columns = {(source, i): column for i, column in enumerate(columns)}
        return found

    def __len__(self) -> int:
        return len(self.weights)

    def extended(self, which: Places, source: int, rows: Input, places: Places) -> "Binding":
        """Combination ``which`` of these with row ``place`` of another source, for each pair of them. Raises
        EvaluationError for a weight beyond 64 bits."""
        old = {n: (other, taken[which]) for n, (other, taken) in self._sources.items()}
        return Binding(times(self.weights[which], rows.weights[places]), {**old, source: (rows, places)})

    def slice(self, start: int, end: int) -> "Binding":
        """The combinations from number ``start`` on, before ``end``."""
        own = {n: (rows, taken[start:end]) for n, (rows, taken) in self._sources.items()}
        return Binding(self.weights[start:end], own)

    def where(self, kept: Mask) -> "Binding":
        """The combinations for which ``kept`` is true."""
        if kept.all():
            return self
        return Binding(self.weights[kept], {n: (rows, taken[kept]) for n, (rows, taken) in self._sources.items()})

    def reads(self, source: int) -> bool:
        """Whether the rows of ``source`` are in the combinations."""
        return source in self._sources

    def places(self, source: int) -> Places:
        """Which row of ``source`` is in each combination."""
        return self._sources[source][1]

    def only(self) -> dict[int, Row]:
        """By source, its row in the only combination."""
        return {n: tuple(c[int(at)].as_py() for c in rows.columns) for n, (rows, (at,)) in self._sources.items()}

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
            found = rows.columns[place].take(pa.array(taken))
            self._columns[source, place] = found
        return found


def times(a: Weights, b: Weights) -> Weights:
    """The products of weights. Raises EvaluationError for one beyond 64 bits."""
    if all(not len(w) or (w.max() < SAFE and w.min() > -SAFE) for w in (a, b)):
        return a * b
    with np.errstate(over="ignore"):
        product, over = mul(a, b)
    if over.any():
        checked(2**63)
    return product
