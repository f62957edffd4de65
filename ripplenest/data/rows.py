"""Weighted flat rows: what the store keeps, plans compute and engines exchange.

A ``Rows`` has two faces, each made when first asked for and then kept. The Arrow face is a table c0, c1, …, w; the
Python face is pairs of (row tuple, weight). Tiny row sets never pay for Arrow, large ones never for Python. Both
hold canonical values only (one ``NAN``, no -0.0, timestamps in UTC), so that equal rows are equal on either face.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import UTC
from functools import lru_cache
from typing import Any, TypeVar, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.grouping import grouping
from ripplenest.nrc.bags import checked
from ripplenest.nrc.errors import WrongColumns, WrongValue
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import NAN, canonical_float

Row = tuple[object, ...]
Pair = tuple[Row, int]
WEIGHT = "w"
MULTIPLICITY, LABEL = "_multiplicity", "label"  # what users call them
SMALL = 256  # rows below which summing in Python beats Arrow's fixed cost
DECIMAL = 6  # columns of numbers or texts take as long to become values of Python as one of decimals
SAFE_SUM = 2.0**62  # total |w| below which no partial sum can leave 64 bits
KEPT = 1 << 16  # rows with which is kept what was made of them: of more there is nothing to gain, and memory to lose
T = TypeVar("T")
_MISFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)


def ours(name: str, fields: Iterable[str]) -> str:
    """What a column of ours is called beside ``fields`` of users: behind as many ``_`` as it takes to tell them apart,
    also where upper and lower case are the same."""
    taken = {field.lower() for field in fields}
    while name.lower() in taken:
        name = f"_{name}"
    return name


def arrow_type(base: Base) -> pa.DataType:
    """The Arrow (and so Spark) column type of a base type; every column may hold NULL."""
    match base.kind:
        case "bool":
            return pa.bool_()
        case "int":
            return pa.int32()
        case "long":
            return pa.int64()
        case "double":
            return pa.float64()
        case "decimal":
            return pa.decimal128(base.precision, base.scale)
        case "string":
            return pa.string()
        case "date":
            return pa.date32()
        case "timestamp":
            return pa.timestamp("us", tz="UTC")
        case "binary":
            return pa.binary()
        case _:
            assert_never(base.kind)


@lru_cache(maxsize=4096)
def arrow_schema(types: tuple[Base, ...]) -> pa.Schema:
    """Columns c0…c{n-1} of ``types`` and w: int64."""
    columns = [(f"c{i}", arrow_type(t)) for i, t in enumerate(types)]
    return pa.schema([*columns, (WEIGHT, pa.int64())])


class Rows:
    """A bag of flat rows with multiplicities, as a sum: a row may occur several times and with any sign.

    Immutable. ``len`` counts stored entries, not distinct rows, until ``consolidated()``.
    """

    __slots__ = ("_counts", "_made", "_pairs", "_summed", "_table", "types")

    def __init__(
        self,
        types: tuple[Base, ...],
        *,
        pairs: list[Pair] | None = None,
        table: pa.Table | None = None,
        summed: bool = False,
    ) -> None:
        """Trusted: ``pairs`` or ``table`` is canonical and of ``types``; use the ``of_`` methods for anything else."""
        self.types = types
        self._pairs, self._table, self._summed = pairs, table, summed
        self._counts: dict[Row, int] | None = None
        self._made: dict[Hashable, Any] | None = None

    @classmethod
    def empty(cls, types: tuple[Base, ...]) -> "Rows":
        return cls(types, pairs=[], summed=True)

    @classmethod
    def of_counts(cls, types: tuple[Base, ...], counts: Mapping[Row, int]) -> "Rows":
        """Rows as a map row → weight; raises EvaluationError for a weight beyond 64 bits."""
        return cls.of_pairs(types, counts.items())

    @classmethod
    def of_pairs(cls, types: tuple[Base, ...], pairs: Iterable[Pair]) -> "Rows":
        """The sum of ``pairs`` of row and weight; raises EvaluationError for a weight beyond 64 bits."""
        kept = [(row, checked(n)) for row, n in pairs if n]
        doubles = [i for i, t in enumerate(types) if t.kind == "double"]
        if doubles:
            kept = [(_canonical_row(row, doubles), n) for row, n in kept]
        return cls(types, pairs=kept)

    @classmethod
    def of_arrow(cls, types: tuple[Base, ...], table: pa.Table) -> "Rows":
        """The columns c0…, w of ``table`` in any order; raises WrongColumns when one is missing or does not fit."""
        schema = arrow_schema(types)
        if set(table.column_names) != set(schema.names) or table.num_columns != len(schema):
            raise WrongColumns("not the columns of these rows", wanted=schema.names, got=table.column_names)
        table = table.select(schema.names)
        if table.schema.types != schema.types:
            try:
                table = table.cast(schema)
            except pa.ArrowException:
                raise WrongColumns(
                    "columns of other types than these rows", wanted=schema.types, got=table.schema.types
                ) from None
        if table.column(WEIGHT).null_count:
            raise WrongColumns("a row without a weight", where=WEIGHT, wanted="int64", got=None)
        for i, t in enumerate(types):
            if t.kind == "double":
                table = table.set_column(i, schema.field(i), canonical_doubles(table.column(i)))
        return cls(types, table=table)

    @classmethod
    def of_columns(
        cls, types: tuple[Base, ...], columns: Sequence[pa.Array], weights: pa.Array | None = None
    ) -> "Rows":
        """Canonical ``columns`` of ``types``, each row once unless ``weights`` say otherwise."""
        n = len(columns[0]) if columns else 0
        given = pa.repeat(pa.scalar(1, pa.int64()), n) if weights is None else weights
        return cls(types, table=pa.Table.from_arrays([*columns, given], schema=arrow_schema(types)))

    def arrow(self) -> pa.Table:
        """The table c0…c{n-1}, w; raises WrongValue when a Python value is not one of its column's type."""
        if self._table is None:
            pairs = self._pairs or []
            schema = arrow_schema(self.types)
            arrays = arrow_columns(self.types, [row for row, _ in pairs])
            weights = pa.array([n for _, n in pairs], pa.int64())
            self._table = pa.Table.from_arrays([*arrays, weights], schema=schema)
        return self._table

    def pairs(self) -> list[Pair]:
        """(row, weight) for every entry; the caller must not change the list."""
        if self._pairs is None:
            self._pairs = _python_pairs(self.types, self.arrow())
        return self._pairs

    def counts(self) -> dict[Row, int]:
        """Row → weight ≠ 0, summed; the caller must not change it. Raises EvaluationError beyond 64 bits."""
        if self._counts is None:
            table = self._grouped()
            pairs = self.pairs() if table is None else _python_pairs(self.types, table)
            self._counts = dict(pairs) if self._summed or table is not None else _sum(pairs)
        return self._counts

    def consolidated(self) -> "Rows":
        """The same bag with each row once and no zero weights; raises EvaluationError beyond 64 bits."""
        return self if self._summed else self.once("sum", self._sum_of_all)

    def _sum_of_all(self) -> "Rows":
        table = None if self._counts is not None else self._grouped()
        if table is not None:
            return Rows(self.types, table=table, summed=True)
        counts = self.counts()
        rows = Rows(self.types, pairs=list(counts.items()), summed=True)
        rows._counts = counts
        return rows

    def as_sum(self) -> "Rows":
        """The same rows, which the caller knows to be each there once, and not 0 times."""
        return Rows(self.types, table=self.arrow(), summed=True)

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` makes of these rows alone, which is kept with them, under the name ``what``; of many rows it is
        made each time."""
        if len(self) > KEPT:
            return make()
        if self._made is None:
            self._made = {}
        if what not in self._made:
            self._made[what] = make()
        found: T = self._made[what]
        return found

    def plus(self, *others: "Rows") -> "Rows":
        """self ⊎ others, by concatenation; types must agree up to nullability."""
        parts = [self, *(o for o in others if len(o))]
        if len(parts) == 1:
            return self
        schema = arrow_schema(self.types)
        for part in parts:
            if arrow_schema(part.types).types != schema.types:
                raise WrongColumns("rows of different types cannot be added", wanted=schema.types, got=part.types)
        if all(p._pairs is not None for p in parts):
            return Rows(self.types, pairs=[pair for p in parts for pair in p.pairs()])
        return Rows(self.types, table=pa.concat_tables([p.arrow() for p in parts]))

    def select(self, columns: Sequence[int]) -> "Rows":
        """The rows of some columns, in that order, as they weigh."""
        table = self.arrow()
        named = pa.Table.from_arrays(
            [*(table.column(i) for i in columns), table.column(WEIGHT)],
            schema=arrow_schema(tuple(self.types[i] for i in columns)),
        )
        return Rows(tuple(self.types[i] for i in columns), table=named)

    def as_read(self, columns: Collection[int]) -> "Rows":
        """What whoever reads ``columns`` alone may have instead: of rows that agree in these, one, with the sum of what
        they weigh. Itself where none do, or all have one sign."""
        if len(columns) == len(self.types) or not self.has_both_signs():
            return self
        return self.once(("as read", *columns), lambda: self._as_read(columns))

    def _as_read(self, columns: Collection[int]) -> "Rows":
        if self._pairs is not None or self._table is None or len(self) * _cost(self.types) < SMALL:
            found = _as_read(self.pairs(), columns)
            return self if len(found) == len(self) or not _fit(found) else Rows(self.types, pairs=found, summed=True)
        weights = self._table.column(WEIGHT).to_numpy()
        if not sums_fit(weights):
            return self
        if not columns:
            return self._at(np.zeros(1, np.int64), np.array([weights.sum()]))
        groups = grouping(self._table.select([*columns]))
        if groups is None or groups.are_all_apart:
            return self
        return self._at(groups.firsts, groups.sums(weights))

    def _at(self, places: npt.NDArray[np.int64], sums: npt.NDArray[np.int64]) -> "Rows":
        """The rows at ``places``, as often as ``sums`` say."""
        kept = np.flatnonzero(sums)
        table = self.arrow().take(pa.array(places[kept]))
        weighed = table.set_column(len(self.types), table.schema.field(WEIGHT), [sums[kept]])
        return Rows(self.types, table=weighed, summed=True)

    def has_both_signs(self) -> bool:
        """Whether some rows are there less than 0 times, and others more often."""
        if self._pairs is not None or self._table is None:
            return any(n < 0 for _, n in self.pairs()) and any(n > 0 for _, n in self.pairs())
        weights = self._table.column(WEIGHT).to_numpy()
        return len(weights) > 1 and bool(weights.min() < 0 < weights.max())

    def negated(self) -> "Rows":
        """⊖self. Raises EvaluationError for a weight that has no negation in 64 bits."""
        if self._pairs is not None or self._table is None:
            return Rows.of_pairs(self.types, ((row, -n) for row, n in self.pairs()))
        weights = self._table.column(WEIGHT)
        if pc.min(weights).as_py() == -(2**63):
            checked(2**63)
        index = self._table.schema.get_field_index(WEIGHT)
        table = self._table.set_column(index, self._table.schema.field(index), pc.negate(weights))
        return Rows(self.types, table=table, summed=self._summed)

    def heaviest(self) -> int:
        """The largest absolute weight of an entry; 0 without entries."""
        if self._pairs is not None or self._table is None:
            return max((abs(n) for _, n in self.pairs()), default=0)
        weights = self._table.column(WEIGHT).to_numpy()
        return max(abs(int(weights.max())), abs(int(weights.min()))) if len(weights) else 0

    def cancelled(self) -> int:
        """About how many entries of what is stored cancel each other: a row that is less than not there takes away one
        that is."""
        if self._pairs is not None or self._table is None:
            return 2 * sum(n < 0 for _, n in self.pairs())
        return 2 * int((self._table.column(WEIGHT).to_numpy() < 0).sum())

    @property
    def is_sum(self) -> bool:
        """True for rows that are known to be consolidated."""
        return self._summed

    @property
    def is_empty(self) -> bool:
        """True when there is no entry; entries that cancel out are only seen by ``consolidated()``."""
        return len(self) == 0

    def __len__(self) -> int:
        if self._pairs is not None:
            return len(self._pairs)
        return 0 if self._table is None else self._table.num_rows

    def __repr__(self) -> str:
        return f"Rows({', '.join(map(str, self.types))}; {len(self)} entries)"

    def _grouped(self) -> pa.Table | None:
        """The table summed by Arrow, or None where Python must do it: few rows, Python rows, or sums near 64 bits."""
        if self._summed or self._table is None or self._pairs is not None or len(self) * _cost(self.types) < SMALL:
            return None
        weights = self._table.column(WEIGHT).to_numpy()
        return _each_once(self._table, weights) if sums_fit(weights) else None


@lru_cache(maxsize=4096)
def _cost(types: tuple[Base, ...]) -> float:
    """What a column of ``types`` costs in Python, on the average; one of numbers is 1."""
    return sum(DECIMAL if t.kind == "decimal" else 1 for t in types) / max(len(types), 1)


def sums_fit(weights: npt.NDArray[Any]) -> bool:
    """Whether no sum of some of ``weights``, in whatever order they are added, leaves 64 bits."""
    return float(np.abs(weights.astype(np.float64)).sum()) < SAFE_SUM


def _fit(pairs: Iterable[Pair]) -> bool:
    return all(-(2**63) <= n < 2**63 for _, n in pairs)


def _as_read(pairs: Iterable[tuple[Row, int]], columns: Collection[int]) -> list[tuple[Row, int]]:
    found: dict[Row, tuple[Row, int]] = {}
    for row, n in pairs:
        first, before = found.get(read := tuple(row[i] for i in columns), (row, 0))
        found[read] = first, before + n
    return [(row, n) for row, n in found.values() if n]


def _each_once(table: pa.Table, weights: npt.NDArray[np.int64]) -> pa.Table:
    """Each row once, with the sum of its ``weights``, which does not leave 64 bits, where that is not 0."""
    names = table.column_names[:-1]
    if not names:
        total = int(weights.sum())
        return pa.Table.from_arrays([pa.array([total] * (total != 0), pa.int64())], schema=table.schema)
    found = grouping(table.select(names))
    if found is None:
        sums = table.group_by(names, use_threads=False).aggregate([(WEIGHT, "sum")])
        table = sums.rename_columns([*names, WEIGHT]).cast(table.schema)
        return _without(table, table.column(WEIGHT).to_numpy() == 0)
    if found.are_all_apart:
        return _without(table, weights == 0)
    own = np.zeros(len(table), np.int64)  # by the first row of each key, so that those which stay lie as they lay
    own[found.firsts] = found.sums(weights)
    kept = np.flatnonzero(own)
    return table.select(names).take(pa.array(kept)).append_column(table.schema.field(WEIGHT), [own[kept]])


def _without(table: pa.Table, gone: npt.NDArray[np.bool_]) -> pa.Table:
    return table.filter(pa.array(~gone)) if gone.any() else table


def arrow_columns(types: tuple[Base, ...], rows: list[Row]) -> list[pa.Array]:
    """One Arrow array per type from row tuples; raises WrongValue naming the column."""
    try:
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    except ValueError as e:
        raise WrongColumns("rows of different lengths", wanted=len(types), got=str(e)) from e
    if len(columns) != len(types):
        raise WrongColumns("rows of another width than their types", wanted=len(types), got=len(columns))
    return [_arrow_column(i, t, c) for i, (t, c) in enumerate(zip(types, columns, strict=True))]


def _arrow_column(i: int, base: Base, values: tuple[object, ...]) -> pa.Array:
    try:
        return pa.array(values, arrow_type(base))
    except _MISFIT:  # Arrow's message quotes the value, which may be confidential
        raise WrongValue(
            "a value that its column cannot hold", where=f"c{i}", wanted=base, got=_offender(base, values)
        ) from None


def _offender(base: Base, values: tuple[object, ...]) -> str | None:
    """The Python type of the first of ``values`` that is not one of ``base``."""
    for value in values:
        try:
            pa.array([value], arrow_type(base))
        except _MISFIT:
            return type(value).__name__
    return None


def _python_pairs(types: tuple[Base, ...], table: pa.Table) -> list[Pair]:
    weights: list[int] = table.column(WEIGHT).to_pylist()
    if not types:
        return [((), n) for n in weights]
    columns = [python_column(t, table.column(i)) for i, t in enumerate(types)]
    return list(zip(zip(*columns, strict=True), weights, strict=True))


def python_column(base: Base, column: pa.ChunkedArray) -> list[Any]:
    """The values of one column in canonical form; the table's doubles have no -0.0 already."""
    match base.kind:
        case "double":
            return [None if v is None else canonical_float(v) for v in column.to_pylist()]
        case "timestamp":
            local = column.cast(pa.timestamp("us")).to_pylist()
            return [None if v is None else v.replace(tzinfo=UTC) for v in local]
        case _:
            values: list[Any] = column.to_pylist()
            return values


def _canonical_row(row: Row, doubles: list[int]) -> Row:
    values: list[Any] = list(row)
    for i in doubles:
        v = values[i]
        if v is not None:
            values[i] = canonical_float(v)
    return tuple(values)


def canonical_doubles(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Doubles with one NaN and no -0.0."""
    return pc.if_else(pc.is_nan(column), pa.scalar(NAN, pa.float64()), pc.add(column, 0.0))


def _sum(pairs: list[Pair]) -> dict[Row, int]:
    counts: dict[Row, int] = {}
    for row, n in pairs:
        counts[row] = counts.get(row, 0) + n
    return {row: checked(n) for row, n in counts.items() if n}
