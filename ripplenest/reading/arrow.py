"""Nested rows as Arrow: u (nrc-ivm, figure 9) over columns.

A label becomes a list by looking it up: the rows of its dictionary that it finds stand one after the other, and how
many there are for each label makes the offsets. Level by level this gathers columns and never looks at a row. Flat rows
are taken some at a time, so that memory is bounded by what these hold and, unless they are probed, by the dictionaries.

Law: the rows are those of ``reading/nested.nested_bag``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from ripplenest.data.argsort import argsort, argsort_by
from ripplenest.data.canonical import arranged, summed
from ripplenest.data.columns import base_types
from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Places, matches
from ripplenest.data.labels import Filled, Mark, Named, SiteColumns, site_columns, width
from ripplenest.data.level_values import nested_type
from ripplenest.data.order import ranks, shown_by
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.printing.shown import ANYHOW, INSIDE, Path
from ripplenest.nrc.syntax import Sorting
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type, has_columns
from ripplenest.schema.shape import VALUE, Dictionary, OutputShape
from ripplenest.store.specs import Columns
from ripplenest.vector.binding import Input
from ripplenest.version.version import AccessKeys, Readable

NONE: Mapping[str, tuple[Columns, ...]] = {}


class NestedColumns:
    """The nested rows of a view or relation at one version. With ``access_keys``, dictionaries that can be probed by
    their labels are, and never read whole."""

    def __init__(self, shape: OutputShape, tables: Readable, access_keys: AccessKeys = NONE) -> None:
        self._shape, self._tables, self._keys = shape, tables, access_keys
        self._inputs: dict[str, Input] = {}

    def reader(self, rows: int) -> pa.RecordBatchReader:
        """All rows, each as often as it is there, ``rows`` of them at a time. Raises EvaluationError for a multiplicity
        below 0, which has no nested form."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches(rows))

    @property
    def schema(self) -> pa.Schema:
        """Of nested rows."""
        return self.nested(Rows.empty(base_types(self._shape.flat.row))).schema

    def nested(self, rows: Rows) -> pa.RecordBatch:
        """Flat ``rows``, nested, each as often as it is there. Raises EvaluationError."""
        flat = Input.of(rows)
        return self._batch(flat, _repeated(np.arange(len(flat)), flat.weights, self._shape.where))

    def values(self, rows: Rows) -> pa.Array:
        """The nested value of each of the flat ``rows``, which are a sum, in their order, however often it is there.
        Raises EvaluationError for a row of a bag that is there less than 0 times."""
        flat = [c.combine_chunks() for c in rows.arrow().columns[:-1]]
        return self._value(self._shape.row, self._shape.flat.row, flat, len(rows), (INSIDE,))

    def _batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        flat = self._input(self._shape.flat.table)
        every = np.arange(len(flat))
        if order := self._shape.shown.get(()):
            every = argsort(_places(flat, self._shape.flat.row, 0, order))
        weights = flat.weights[every]
        if _some_are_less(weights):  # what takes rows away may have labels of its own
            kept, weights = counted(self._nested(flat, every), weights, self._shape.where)
            every = every[kept]
        every = _repeated(every, weights, self._shape.where)
        for start in range(0, len(every), rows):
            yield self._batch(flat, every[start : start + rows])

    def _batch(self, rows: Input, places: Places) -> pa.RecordBatch:
        """The flat ``rows`` at ``places``, nested."""
        nested = self._nested(rows, places)
        if has_columns(self._shape.row) and self._shape.row.fields:
            return pa.RecordBatch.from_struct_array(nested)
        return pa.RecordBatch.from_arrays([nested], [VALUE])

    def _nested(self, rows: Input, places: Places) -> pa.Array:
        flat = [c.take(pa.array(places)) for c in rows.columns]
        return self._value(self._shape.row, self._shape.flat.row, flat, len(places), (INSIDE,))

    def _input(self, table: str) -> Input:
        if table not in self._inputs:
            self._inputs[table] = Input.of(self._tables.scan(table))
        return self._inputs[table]

    def _value(self, a: Type, flat: Type, leaves: Sequence[pa.Array], n: int, path: Path) -> pa.Array:
        """``n`` values of the nested type ``a`` at ``path``, whose flat values of type ``flat`` have the columns
        ``leaves``."""
        match a, flat:
            case Base(), _:
                return leaves[0]
            case Record(), Record(flats) if a.is_optional:
                missing = pc.invert(pc.fill_null(leaves[0], False))
                return self._record(a.there.fields, flats[1:], leaves[1:], n, path, missing)
            case Record(fields), Record(flats):
                return self._record(fields, flats, leaves, n, path)
            case Bag(row), Label():
                return self._bags(row, flat, leaves, n, path)
            case (Record() | Bag() | Label() | Dict()), _:
                raise AssertionError(f"{flat} is no flat type of {a}")
            case _:
                assert_never(a)

    def _record(
        self,
        fields: Sequence[tuple[str, Type]],
        flats: Sequence[tuple[str, Type]],
        leaves: Sequence[pa.Array],
        n: int,
        path: Path,
        missing: pa.Array | None = None,
    ) -> pa.Array:
        if not fields:
            there = [True] * n if missing is None else pc.invert(missing).to_pylist()
            return pa.array([{} if one else None for one in there], pa.struct([]))
        found, start = [], 0
        for (name, inner), (_, flat) in zip(fields, flats, strict=True):
            end = start + width(flat)
            found.append(self._value(inner, flat, leaves[start:end], n, (*path, name)))
            start = end
        return pa.StructArray.from_arrays(found, names=[name for name, _ in fields], mask=missing)

    def _bags(self, row: Type, label: Label, leaves: Sequence[pa.Array], n: int, path: Path) -> pa.Array:
        """A list for each of ``n`` labels; NULL for one that is NULL."""
        parts = [self._rows_of(row, s, leaves, n, path) for s in site_columns(label)]
        if not parts:
            return pa.array([None if label.nullable else []] * n, nested_type(Bag(row)))  # no site: bags of ∅
        holders = np.concatenate([which for which, _ in parts])
        values = pa.concat_arrays([found for _, found in parts])
        if len(parts) > 1:
            order = argsort(holders)
            holders, values = holders[order], values.take(pa.array(order))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(holders, minlength=n))]).astype(np.int32)
        missing = leaves[0].is_null() if label.nullable else None
        return pa.ListArray.from_arrays(pa.array(offsets), values, mask=missing)

    def _rows_of(
        self, row: Type, s: SiteColumns, leaves: Sequence[pa.Array], n: int, path: Path
    ) -> tuple[Places, pa.Array]:
        """The nested rows of the bags of one site, each with the number of the label that stands for its bag."""
        d = self._shape.dictionary(s.site.name)
        makers = made(s.mark, leaves, n)
        asked = [leaves[i].take(pa.array(makers)) for i in s.params]
        table = self._dictionary(d, asked)
        which, places = _found(d, table, asked, len(makers))
        if order := self._shape.shown.get(path):
            sorted_ = argsort_by(which, _places(table, d.row, d.label_width, order)[places])
            which, places = which[sorted_], places[sorted_]
        weights, holders = table.weights[places], makers[which]
        if _some_are_less(weights):
            values = self._rows_at(row, d, table, places, path)
            kept, weights = counted(_beside(holders, values), weights, self._shape.where)
            every = _repeated(kept, weights, self._shape.where)
            return holders[every], values.take(pa.array(every))
        taken = _repeated(places, weights, self._shape.where)
        return _repeated(holders, weights, self._shape.where), self._rows_at(row, d, table, taken, path)

    def _rows_at(self, row: Type, d: Dictionary, table: Input, places: Places, path: Path) -> pa.Array:
        """The nested rows of a dictionary at ``places``."""
        own = [c.take(pa.array(places)) for c in table.columns[d.label_width :]]
        return self._value(row, d.row, own, len(places), (*path, INSIDE))

    def _dictionary(self, d: Dictionary, asked: Sequence[pa.Array]) -> Input:
        """The rows of the labels that are ``asked`` for, at least."""
        if not d.label_columns or d.label_columns not in self._keys.get(d.table, ()):
            return self._input(d.table)
        types = base_types(d.stored)
        if not len(asked[0]):
            return Input.of(Rows.empty(types))
        return Input.of(self._tables.probe(d.table, d.label_columns, Rows.of_columns(types[: d.label_width], asked)))


def nested_whole(shape: OutputShape, tables: Readable) -> tuple[pa.Array, Places]:
    """All nested values, ``arranged``, those of each flat row once, and how often they are there. Raises
    EvaluationError."""
    flat = tables.scan(shape.flat.table).consolidated()
    values = NestedColumns(evolve(shape, shown=ANYHOW), tables).values(flat)
    return arranged(values, shape.shown), flat.arrow().column(WEIGHT).to_numpy()


def nester(shape: OutputShape, tables: Readable) -> NestedColumns:
    """For nested values that will be ``arranged``: bags are in no order, and every dictionary is probed."""
    keys = {d.table: (d.label_columns,) for d in shape.dictionaries}
    return NestedColumns(evolve(shape, shown=ANYHOW), tables, keys)


def _places(table: Input, row: Type, start: int, order: tuple[Sorting, ...]) -> Places:
    """For each row how many come before it in the order; its columns, of type ``row``, begin at ``start``."""
    columns = [*table.columns, pa.array(table.weights)]
    return ranks(pa.table(columns, names=[str(i) for i in range(len(columns))]), shown_by(row, order, start))


def _found(d: Dictionary, table: Input, asked: Sequence[pa.Array], n: int) -> tuple[Places, Places]:
    """(which, place): label number ``which`` is that of the row ``place`` of the dictionary."""
    if not d.label_columns:  # a site without parameters makes one label
        return np.repeat(np.arange(n), len(table)), np.tile(np.arange(len(table)), n)
    hashes = hash_columns(asked, n)
    return matches(table.index(d.label_columns), table.table, d.label_columns, hashes, asked)


def made(mark: Mark, leaves: Sequence[pa.Array], n: int) -> Places:
    """The numbers of the labels that the site made."""
    match mark:
        case Named(column, site):
            mask = pc.fill_null(pc.equal(leaves[column], site), False)
        case Filled(column):
            mask = leaves[column].is_valid()
        case None:
            return np.arange(n)
        case _:
            assert_never(mark)
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def _beside(holders: Places, values: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([pa.array(holders), values], names=["holder", "row"])


def _some_are_less(weights: Places) -> bool:
    return len(weights) > 0 and weights.min() < 0


def counted(values: pa.Array, weights: Places, where: str) -> tuple[Places, Places]:
    """Where the nested ``values`` are that are there, in their order, and how often. Where some rows take others away,
    those of equal values are one: their inner bags may have other labels. Raises EvaluationError for what is left
    below 0."""
    if not _some_are_less(weights):
        return np.arange(len(weights)), weights
    found, sums = summed(values, weights)
    order = argsort(found)
    return found[order], copies(sums[order], where)


def copies(weights: Places, where: str) -> Places:
    """How often rows are there. Raises EvaluationError below 0."""
    if _some_are_less(weights):
        what, wanted = "a row is there less than 0 times, which has no nested form", "a multiplicity of 1 or more"
        possible = [
            "flat() and dictionaries()",
            "layout='shredded' where it is published",
            "rn.difference(xs, ys) in the view, which takes away what is there, and not xs - ys",
        ]
        raise EvaluationError(what, where=where, wanted=wanted, got=int(weights.min()), possible=possible)
    return weights


def _repeated(numbers: Places, weights: Places, where: str) -> Places:
    """Each number as often as it counts."""
    return numbers if (weights == 1).all() else np.repeat(numbers, copies(weights, where))
