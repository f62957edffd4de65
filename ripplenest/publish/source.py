"""What one Delta table of a published view is to hold: its rows at a version, and how they changed since another.

``Nested`` is the view as its users read it, a row with multiplicity n n times. A row is known by the digest of its flat
row, whose labels stay the same when something deep inside it changes, and by which of its copies it is; so a deep
change updates the rows that hold it, and no others. ``Shredded`` is the flat part or a dictionary with a column for the
multiplicity, to which changes are added.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from ripplenest.data import columnar
from ripplenest.data.canonical import arranged
from ripplenest.data.index import Places, ranges
from ripplenest.data.row_digests import digests
from ripplenest.data.rows import MULTIPLICITY, Rows
from ripplenest.nrc.types import Record, Type, has_columns
from ripplenest.publish.columns import ID, OP, Fields, fields_of, schema_of, without_bucket
from ripplenest.publish.whole import Whole
from ripplenest.reading.arrow import copies, nester
from ripplenest.reading.ends import Searched
from ripplenest.reading.shown import entries_batch, flat_batch
from ripplenest.reading.structs import under
from ripplenest.reading.touched import Touched, touched
from ripplenest.schema.shape import OutputShape
from ripplenest.version.version import Version

DELETE, UPDATE, INSERT = 0, 1, 2
CHUNK = 16_384  # rows that are made columns of a table at a time


@frozen
class Edits:
    """How the rows of a table change: rows by their ids and what is to be done with each, in the column ``_op``; of a
    shredded table, rows with the change of their multiplicities."""

    rows: pa.Table
    signed: bool

    def __len__(self) -> int:
        rows: int = self.rows.num_rows
        return rows

    @property
    def only_inserts(self) -> bool:
        """True when no row is touched that the table has."""
        return not self.signed and pc.all(pc.equal(self.rows.column(OP), INSERT)).as_py()


class Source(Protocol):
    """The rows of one published table. Everything is without the column ``id_bucket``, which is the table's own."""

    @property
    def view(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Of the view's program."""

    @property
    def structure(self) -> str:
        """Of how it is put together from the view's tables: where that is the same, so are changes of another
        program."""

    @property
    def where(self) -> str:
        """Its place for messages."""

    @property
    def part(self) -> str:
        """What it holds: ``nested``, ``flat``, or the site of a dictionary."""

    @property
    def schema(self) -> pa.Schema: ...

    def whole(self) -> Whole:
        """Every row."""

    def edits(self, since: int) -> Edits:
        """What changed in the versions (since, version]."""


@frozen(slots=False)
class _OfView:
    """What a view shows at a version."""

    shape: OutputShape
    snapshot: Version

    @property
    def view(self) -> str:
        return self.shape.name

    @property
    def fingerprint(self) -> str:
        return self.shape.fingerprint

    @property
    def structure(self) -> str:
        return self.shape.structure


@frozen(slots=False)
class Nested(_OfView):
    """A view as one table of nested rows. Raises EvaluationError where a multiplicity is below 0."""

    part: str = "nested"

    @property
    def where(self) -> str:
        return self.shape.where

    @property
    def schema(self) -> pa.Schema:
        return nested_schema(self.shape)

    def whole(self) -> Whole:
        flat = self.snapshot.scan(self.shape.flat.table).consolidated()
        return Whole(int(copies(columnar.weights(flat).to_numpy(), self.where).sum()), self._nested(flat))

    def _nested(self, flat: Rows) -> Iterator[pa.Table]:
        """Every row, nested some at a time; what was read of dictionaries is forgotten where it can be probed again."""
        nested = nester(self.shape, Searched.of(self.snapshot))
        for start in range(0, len(flat), CHUNK):
            rows = Rows(flat.types, table=flat.arrow().slice(start, CHUNK), summed=True)
            values = arranged(nested.values(rows), self.shape.shown)
            which, numbers = _numbered(copies(columnar.weights(rows).to_numpy(), self.where))
            yield self._table(_ids(digests(rows), which, numbers), values.take(pa.array(which)))

    def edits(self, since: int) -> Edits:
        found = touched(self.shape, self.snapshot, since)
        which, numbers, ops = _steps(found, self.where)
        ids = _ids(digests(found.rows), which, numbers)
        shown = np.unique(which[ops != DELETE])
        at = pa.array(np.searchsorted(shown, which), mask=ops == DELETE)
        rows = self._table(ids, found.nested_after(shown).take(at))
        return Edits(rows.append_column(OP, pa.array(ops, pa.int8())), signed=False)

    @property
    def schema_of_rows(self) -> pa.Schema:
        """The columns without that of the bucket."""
        return without_bucket(self.schema)

    def _table(self, ids: pa.Array, values: pa.Array) -> pa.Table:
        """``values`` as rows of the table; one that is NULL as NULL in each column."""
        is_record = has_columns(self.shape.row)
        columns = values.flatten() if is_record else [values]
        names = self.schema_of_rows.names
        batch = pa.RecordBatch.from_arrays([ids, *columns], names=names)
        return pa.Table.from_batches([under(batch, self.schema_of_rows)])


def _numbered(many: Places, first: Places | int = 0) -> tuple[Places, Places]:
    """Which row each of its copies is of, and the number of the copy, from ``first`` on."""
    return np.repeat(np.arange(len(many)), many), ranges(np.broadcast_to(first, many.shape), many)


def _ids(digests: pa.Array, which: Places, numbers: Places) -> pa.Array:
    """The id of each copy of a row: its digest, and unless it is the first copy, its number."""
    own = digests.take(pa.array(which))
    if not numbers.any():
        return own
    numbered = pc.binary_join_element_wise(own, pa.array(numbers).cast(pa.string()), ".")
    return pc.if_else(pa.array(numbers == 0), own, numbered)


def _steps(found: Touched, where: str) -> tuple[Places, Places, Places]:
    """By step the place of the touched row, the number of its copy, and what becomes of that."""
    old, new = np.maximum(found.before, 0), copies(found.after, where)
    both, updated = np.minimum(old, new), np.zeros(len(old), np.int64)
    updated[found.updated()] = 1
    steps = [_numbered(old - both, both), _numbered(both * updated), _numbered(new - both, both)]
    ops = [np.full(len(which), op) for (which, _), op in zip(steps, (DELETE, UPDATE, INSERT), strict=True)]
    return (
        np.concatenate([which for which, _ in steps]),
        np.concatenate([numbers for _, numbers in steps]),
        np.concatenate(ops),
    )


@frozen(slots=False)
class Shredded(_OfView):
    """The flat part of a view, or with ``site`` one of its dictionaries."""

    site: str | None = None

    @property
    def part(self) -> str:
        return "flat" if self.site is None else self.site

    @property
    def where(self) -> str:
        return f"view {self.view}, {self.part}"

    @property
    def schema(self) -> pa.Schema:
        return shredded_schema(self.shape, self.site)

    def whole(self) -> Whole:
        rows = self.snapshot.scan(_stored(self.shape, self.site)[0]).consolidated()
        return Whole(len(rows), self._parts(rows))

    def edits(self, since: int) -> Edits:
        return Edits(self._table(self.snapshot.delta(_stored(self.shape, self.site)[0], since)), signed=True)

    def _table(self, rows: Rows) -> pa.Table:
        summed = rows.consolidated()
        return pa.concat_tables(self._parts(summed)) if len(summed) else self._part(summed)

    def _parts(self, summed: Rows) -> Iterator[pa.Table]:
        parts = (summed.arrow().slice(start, CHUNK) for start in range(0, len(summed), CHUNK))
        return (self._part(Rows(summed.types, table=part, summed=True)) for part in parts)

    def _part(self, summed: Rows) -> pa.Table:
        d = None if self.site is None else self.shape.dictionary(self.site)
        shown = flat_batch(self.shape.flat.row, summed, True) if d is None else entries_batch(d, summed, True)
        batch = pa.RecordBatch.from_arrays([digests(summed), *shown.columns], names=[ID, *shown.schema.names])
        return pa.Table.from_batches([under(batch, without_bucket(self.schema))])


def nested_schema(shape: OutputShape) -> pa.Schema:
    """The columns of a view as one table of nested rows."""
    return schema_of(fields_of(shape.row))


def shredded_schema(shape: OutputShape, site: str | None) -> pa.Schema:
    """The columns of the flat part, or of the dictionary of ``site``."""
    return schema_of(_stored(shape, site)[2], pa.field(MULTIPLICITY, pa.int64()))


def _stored(shape: OutputShape, site: str | None) -> tuple[str, Type, Fields]:
    """The table in the store, the type of its rows, and what its columns are called when published."""
    if site is None:
        return shape.flat.table, shape.flat.row, fields_of(shape.flat.row)
    d = shape.dictionary(site)
    assert isinstance(d.stored, Record)
    return d.table, d.stored, (d.stored.fields[0], *fields_of(d.row))
