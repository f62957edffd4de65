"""The per-key step over columns: contributions are added up by key beside the accumulators that are stored.

Arrow's sums wrap, so it is done where no sum can leave 62 bits, whatever cancels; what is larger is added up row by
row (``run/groups.py``), where integers have no end. Law: both make the same rows.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from ripplenest.data.grouping import Columns, grouping
from ripplenest.data.rows import WEIGHT, Rows, arrow_schema, arrow_type
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.functions import folds
from ripplenest.nrc.functions import reals as exact
from ripplenest.nrc.types import Base
from ripplenest.plan.groups import Accumulator, Answered, Folding
from ripplenest.vector import integers, reals
from ripplenest.vector.binding import Binding

SAFE = float(2**62)
NARROW = 18  # digits of decimals that 64 bits hold
Ints = np.typing.NDArray[np.int64]
Integers = np.typing.NDArray[Any]  # of 64 bits, or Python's
Doubles = np.typing.NDArray[np.float64]
Bools = np.typing.NDArray[np.bool_]


@frozen
class Sums:
    """Keys that a change touches, each once, and by accumulator what the rows of each came to and come to now; sums of
    doubles are Python's integers, in units."""

    keys: pa.Table
    old: list[Integers]
    new: list[Integers]


@frozen
class _Columns:
    """Integers that are added up by key, side by side: of contributions, and of stored rows, which come after them."""

    came: int
    there: int
    all: list[Integers] = field(factory=list)

    def of_came(self, own: Integers) -> int:
        """The place of what contributions add."""
        self.all.append(np.concatenate([own, np.zeros(self.there, np.int64)]) if self.there else own)
        return len(self.all) - 1

    def of_there(self, own: Ints) -> int | None:
        """The place of what stored rows add; None where there are none."""
        if not self.there:
            return None
        self.all.append(np.concatenate([np.zeros(self.came, np.int64), own]))
        return len(self.all) - 1


@frozen(eq=False)
class _Came:
    """Contributions, the columns of which several folds read."""

    table: pa.Table
    types: Sequence[Base]
    _digits: dict[int, Ints | None] = field(factory=dict)

    @property
    def weights(self) -> Ints:
        found: Ints = self.table.column(WEIGHT).to_numpy()
        return found

    def digits(self, column: int) -> Ints | None:
        if column not in self._digits:
            self._digits[column] = _digits(self.table.column(column), self.types[column])
        return self._digits[column]


Read = Callable[[Sequence[Integers]], tuple[Integers, Integers]]
"""What keys came to, and by how much more they come to now; of the sums of all columns."""


def sums(f: Folding, near: Columns | None, made: Rows, stored: Rows, in_pieces: bool = False) -> Sums | None:
    """The keys for which contributions ``made``, maybe ``in_pieces``, change something, in the order of the hash of
    their columns ``near``, and in any order where nothing is ``near``; None where a sum could leave 62 bits."""
    once = stored.consolidated() if any(a.of == "real" for a in f.accumulators) else stored
    came, there = _Came(made.arrow().combine_chunks(), f.made), once.arrow().combine_chunks()
    columns = _Columns(len(came.table), len(there))
    readers = _readers(f, came, there, columns, in_pieces)
    if readers is None:
        return None
    names = [f"k{i}" for i in range(f.keys)]
    own = [pa.chunked_array([*came.table.column(i).chunks, *there.column(i).chunks]) for i in range(f.keys)]
    found = _by_key(pa.Table.from_arrays(own, names=names), near, columns.all)
    if found is None:
        return None
    keys, totals = found
    pairs = [read(totals) for read in readers]
    changed = np.logical_or.reduce([(more != 0).astype(np.bool_) for _, more in pairs])
    old = [own[changed] for own, _ in pairs]
    new = [own + more[changed] for own, (_, more) in zip(old, pairs, strict=True)]
    return Sums(keys if changed.all() else keys.filter(pa.array(changed)), old, new)


def windows(f: Folding, came: pa.Table, low: Ints, high: Ints) -> list[Integers] | None:
    """By window what contributions add, by accumulator: those from number ``low`` on, before ``high``. None where a sum
    could leave 62 bits."""
    columns = _Columns(len(came), 0)
    readers = _readers(f, _Came(came, f.made), arrow_schema(f.types).empty_table(), columns)
    if readers is None:
        return None
    until = [np.concatenate([np.zeros(1, np.int64), np.cumsum(column)]) for column in columns.all]
    totals = [own[high] - own[low] for own in until]
    return [more for _, more in (read(totals) for read in readers)]


def _readers(
    f: Folding, came: _Came, there: pa.Table, columns: _Columns, in_pieces: bool = False
) -> list[Read] | None:
    """By accumulator what reads its sums of those of ``columns``, which are added for it. None where one could leave 62
    bits."""
    readers: list[Read] = []
    held = f.piece_sums if in_pieces else f.accumulators
    for i, a in enumerate(f.accumulators):
        piece = (held[i], came.table.select([f.keys + i, WEIGHT])) if in_pieces else None
        find = _real if a.of == "real" else _integer
        reader = find(a, came, piece, there.select([len(f.visible) + i, WEIGHT]), columns)
        if reader is None:
            return None
        readers.append(reader)
    return readers


def _by_key(
    keys: pa.Table, near: Columns | None, columns: Sequence[Integers]
) -> tuple[pa.Table, list[Integers]] | None:
    """Each key once, and the sums of ``columns`` by key. None where Arrow would have to add up Python's integers."""
    found = grouping(keys, near) if keys.num_columns and near is not None else None
    if found is not None:
        return keys.take(pa.array(found.firsts)), [found.sums(column) for column in columns]
    if any(column.dtype == np.object_ for column in columns):
        return None
    sources = [f"s{i}" for i in range(len(columns))]
    table = pa.Table.from_arrays([*keys.columns, *map(pa.array, columns)], names=[*keys.column_names, *sources])
    summed = table.group_by(keys.column_names, use_threads=False).aggregate([(s, "sum") for s in sources])
    return summed.select(keys.column_names), [summed.column(f"{s}_sum").to_numpy() for s in sources]


Piece = tuple[Accumulator, pa.Table]
"""An accumulator of pieces, and the column of it beside how often each is there."""


def _integer(a: Accumulator, came: _Came, piece: Piece | None, held: pa.Table, columns: _Columns) -> Read | None:
    """Stored rows count as often as they are there: one that went cancels."""
    added, own = _added(a, came) if piece is None else _held_often(*piece), _held_often(a, held)
    if added is None or own is None or added[1] + own[1] >= SAFE:
        return None
    more, before = columns.of_came(added[0]), columns.of_there(own[0])
    return lambda totals: (_total(totals, before, more), totals[more])


def _held_often(a: Accumulator, held: pa.Table) -> tuple[Ints, float] | None:
    """What each row of an accumulator holds, as often as it is there, and what that comes to at most."""
    own = _held(a, held.column(0))
    if own is None:
        return None
    weights = held.column(WEIGHT).to_numpy()
    return own * weights, float(np.abs(own.astype(np.float64) * weights.astype(np.float64)).sum())


def _total(totals: Sequence[Ints], place: int | None, like: int) -> Ints:
    return np.zeros_like(totals[like]) if place is None else totals[place]


def _held(a: Accumulator, column: pa.ChunkedArray) -> Ints | None:
    return integers.of_bytes(column) if a.of == "endless" else _digits(column, a.type)


def _real(a: Accumulator, came: _Came, piece: Piece | None, held: pa.Table, columns: _Columns) -> Read | None:
    """Of a stored row, of which a key has one, its place is added up, from 1 on. Those of pieces are integers without
    end already."""
    before, own = columns.of_there(np.arange(1, len(held) + 1)), reals.exact(held.column(0).to_pylist())
    if piece is not None:
        own_sums, often = reals.exact(piece[1].column(0).to_pylist())[1:], piece[1].column(WEIGHT).to_numpy()
        more = columns.of_came(own_sums * often)
        return lambda totals: (own[_total(totals, before, 0)], totals[more])
    x = pc.fill_null(came.table.column(a.args[0]), 0.0).to_numpy()
    found = reals.places(x, came.weights)
    if found is None:
        return None
    parts = {p: (columns.of_came(low), columns.of_came(high)) for p, (low, high) in found.parts.items()}

    def read(totals: Sequence[Ints]) -> tuple[Integers, Integers]:
        sums = {p: (totals[low], totals[high]) for p, (low, high) in parts.items()}
        own_places = _total(totals, before, 0)
        return own[own_places], found.total(sums, len(own_places))

    return read


def as_piece(f: Folding, s: Sums, weights: Ints | None = None) -> Rows:
    """By key what contributions add, where there were no stored rows. With ``weights`` a key may be there again, and
    each so often."""
    sums = [_kept(a, n) for n, a in zip(s.new, f.piece_sums, strict=True)]
    often = pa.repeat(pa.scalar(1, pa.int64()), len(s.new[0])) if weights is None else pa.array(weights)
    columns = [*s.keys.columns, *sums, often]
    schema = arrow_schema(f.piece_types)
    cast = [c if c.type == t else c.cast(t) for c, t in zip(columns, schema.types, strict=True)]
    return Rows(f.piece_types, table=pa.Table.from_arrays(cast, schema=schema), summed=weights is None)


def moved(f: Folding, stored: pa.Table, keys: Sequence[pa.Array], weights: Ints) -> Rows | None:
    """What stored rows come to as pieces of other ``keys``, so often. None where that is beyond 64 bits."""
    columns = []
    for i, a in enumerate(f.accumulators):
        own = stored.column(len(f.visible) + i)
        held = None if a.of == "real" else _held(a, own)
        if held is None and a.of != "real":
            return None
        columns.append(own.combine_chunks() if held is None else integers.as_bytes(held))
    schema = arrow_schema(f.piece_types)
    return Rows(f.piece_types, table=pa.Table.from_arrays([*keys, *columns, pa.array(weights)], schema=schema))


def change(f: Folding, s: Sums) -> Rows:
    """⊖old ⊎ new of the stored rows. Raises EvaluationError for an answer beyond its type."""

    def columns(own: list[Integers]) -> list[pa.Array]:
        sums = [_kept(a, n) for n, a in zip(own, f.accumulators, strict=True)]
        return [*_answers(f, own), *sums]

    return _signed(f.types, s, (columns(s.old), s.old[0] > 0), (columns(s.new), s.new[0] > 0))


def seen(f: Folding, s: Sums) -> Rows:
    """⊖old ⊎ new of what readers see, of the keys for which that is another. What nothing comes to are the answers of a
    place that has no row, of a fold that has one for every place."""
    old, new = _answers(f, s.old), _answers(f, s.new)
    was, there = s.old[0] > 0, s.new[0] > 0
    if f.nothing is not None:
        was = there = np.ones_like(was)
    differ = reduce(np.logical_or, map(_differ, old, new), was != there)
    return _signed(f.visible, s, (old, was & differ), (new, there & differ))


Side = tuple[Sequence[pa.Array], Bools]


def _signed(types: tuple[Base, ...], s: Sums, old: Side, new: Side) -> Rows:
    """The rows of ``old`` once less, and those of ``new`` once more: of each the columns behind the key, and for which
    keys there is a row."""
    schema = arrow_schema(types)
    tables = []
    for (columns, there), weight in ((old, -1), (new, 1)):
        weights = pa.repeat(pa.scalar(weight, pa.int64()), len(there))
        found = [*s.keys.columns, *columns, weights]
        cast = [c if c.type == t else c.cast(t) for c, t in zip(found, schema.types, strict=True)]
        table = pa.Table.from_arrays(cast, schema=schema)
        tables.append(table if there.all() else table.filter(pa.array(there)))
    return Rows(types, table=pa.concat_tables(tables), summed=True)


def _answers(f: Folding, own: Sequence[Integers]) -> list[pa.Array]:
    """What readers see of the answers."""
    found = [_answer(a, own) for a in f.answers]
    if f.is_plain:
        return found
    typed = [c.cast(arrow_type(a.type)) for c, a in zip(found, f.answers, strict=True)]
    rows = Binding.of_columns(0, typed, len(own[0]))
    return [rows.value(s).values for s in f.shown]


def _differ(a: pa.Array, b: pa.Array) -> Bools:
    """Which values are others; NULL is a value, and so is NaN, which Arrow finds unequal to itself."""
    others = pc.or_(pc.xor(a.is_null(), b.is_null()), pc.fill_null(pc.not_equal(a, b), False))
    if pa.types.is_floating(a.type):
        others = pc.and_not(others, pc.fill_null(pc.and_(pc.is_nan(a), pc.is_nan(b)), False))
    found: Bools = others.to_numpy(zero_copy_only=False)
    return found


def _added(a: Accumulator, came: _Came) -> tuple[Ints, float] | None:
    """What each row adds, and what that comes to at most; None where it does not fit."""
    counted = [own for i in a.args if not (own := _counted(a, came.table.column(i))).all()]
    weights = np.where(np.logical_and.reduce(counted), came.weights, 0) if counted else came.weights
    factors: list[Ints | None] = [weights]
    factors += [came.digits(i) for i in a.args] if a.of in ("sum", "endless") else []
    there = [own for own in factors if own is not None]
    most = len(came.table) * prod(map(_largest, there))
    if most >= SAFE:  # of the largest ones; what is multiplied may come to less
        most = float(np.abs(prod(own.astype(np.float64) for own in there)).sum())
    return None if most >= SAFE or len(there) < len(factors) else (prod(there[1:], start=there[0]), most)


def _largest(numbers: Ints) -> float:
    return max(-float(numbers.min()), float(numbers.max())) if len(numbers) else 0.0


def _counted(a: Accumulator, column: pa.ChunkedArray) -> Bools:
    """Which rows an accumulator is about, as far as one argument says so."""
    match a.of:
        case "true":
            found = pc.fill_null(column, False)
        case "nan":
            found = pc.fill_null(pc.is_nan(column), False)
        case "inf" | "-inf":
            found = pc.fill_null(pc.equal(column, float(a.of)), False)
        case "rows" | "sum" | "endless" | "real":
            found = column.is_valid()
        case _:
            assert_never(a.of)
    counted: Bools = found.to_numpy()
    return counted


def _digits(column: pa.ChunkedArray, t: Base) -> Ints | None:
    """Integers, and decimals without their point; 0 for NULL. None for what 64 bits may not hold."""
    if t.kind != "decimal":
        found: Ints = pc.fill_null(column, 0).cast(pa.int64()).to_numpy()
        return found
    words = [_words(chunk) for chunk in column.chunks]
    low = np.concatenate([w[:, 0] for w in words]) if words else np.empty(0, np.int64)
    high = np.concatenate([w[:, 1] for w in words]) if words else np.empty(0, np.int64)
    valid = column.is_valid().to_numpy()
    return None if (((low >> 63) != high) & valid).any() else np.where(valid, low, 0)


def _words(chunk: pa.Array) -> Ints:
    """The two halves of each decimal, the lower one first."""
    buffer = chunk.buffers()[1]
    halves = np.frombuffer(buffer, np.int64) if buffer is not None else np.empty(0, np.int64)
    return halves.reshape(-1, 2)[chunk.offset : chunk.offset + len(chunk)]


def _answer(a: Answered, kept: Sequence[Integers]) -> pa.Array:
    n = kept[a.count]
    if a.fn == "any":
        return pa.array(n > 0)
    if a.fn == "all":
        return pa.array(n == kept[0])
    if a.total is None:
        return pa.array(n)
    if a.special is not None:
        return _nearest(a, kept)
    return _mean(a, kept[a.total], n) if a.fn == "avg" else _sum(a, kept[a.total], n == 0)


def _nearest(a: Answered, kept: Sequence[Integers]) -> pa.Array:
    """Of doubles, a key at a time."""
    assert a.total is not None and a.special is not None
    columns = (kept[a.total], kept[a.count], *(kept[i] for i in a.special))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    by_count = a.fn == "avg"
    return pa.array([exact.answer(t, n if by_count else 1, *odd) if n else None for t, n, *odd in rows], pa.float64())


def _sum(a: Answered, total: Ints, nothing: Bools) -> pa.Array:
    if a.type.kind == "decimal" and a.type.precision <= NARROW and (np.abs(total) >= 10**a.type.precision).any():
        wanted = f"at most {a.type.precision} digits: {a.type}"
        raise EvaluationError("a sum or an average beyond its type", wanted=wanted)
    return _column(total, a.type, nothing)


def _mean(a: Answered, total: Ints, n: Ints) -> pa.Array:
    """Of decimals a key at a time, where digits have no end."""
    if a.type.kind == "double":
        some = np.where(n == 0, 1, n)
        return pa.array(total.astype(np.float64) / some.astype(np.float64) + 0.0, mask=n == 0)
    found = [folds.mean(t, m, a.scale, a.type) if m else None for t, m in zip(total.tolist(), n.tolist(), strict=True)]
    return pa.array(found, arrow_type(a.type))


def _kept(a: Accumulator, values: Integers) -> pa.Array:
    """An accumulator as it is stored."""
    if a.of == "real":
        return pa.array([exact.encoded(n) for n in values.tolist()], pa.binary())
    return integers.as_bytes(values) if a.of == "endless" else _column(values, a.type)


def _column(values: Ints, t: Base, nulls: Bools | None = None) -> pa.Array:
    """Integers as a column; of decimals they are the digits without the point."""
    return integers.as_decimals(values, t, nulls) if t.kind == "decimal" else pa.array(values, mask=nulls)
