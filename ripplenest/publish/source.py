"""What one Delta table of a published view is to hold: its rows at a version, and how they changed since another.

``Nested`` is the view as its users read it, a row with multiplicity n n times. A row is known by the digest of its flat
row, whose labels stay the same when something deep inside it changes, and by which of its copies it is; so a deep
change updates the rows that hold it, and no others. ``Shredded`` is the flat part or a dictionary with a column for the
multiplicity, to which changes are added.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

import pyarrow as pa
from attrs import frozen

from ripplenest.data.columns import from_leaves
from ripplenest.data.naming import digest
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.bags import Value, field_of
from ripplenest.nrc.types import Record, Type
from ripplenest.publish.columns import MULTIPLICITY, OP, Fields, copies, fields_of, schema_of, table
from ripplenest.reading.nested import nested_rows
from ripplenest.reading.touched import Touched, touched
from ripplenest.schema.shape import OutputShape
from ripplenest.version.overlay import Overlay
from ripplenest.version.version import Version

DELETE, UPDATE, INSERT = 0, 1, 2
CHUNK = 4096  # flat rows that are nested at a time


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
        return not self.signed and all(op == INSERT for op in self.rows.column(OP).to_pylist())


class Source(Protocol):
    """The rows of one published table. Everything is without the column ``id_bucket``, which is the table's own."""

    @property
    def view(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Of the view's program."""

    @property
    def where(self) -> str:
        """Its place for messages."""

    @property
    def part(self) -> str:
        """What it holds: ``nested``, ``flat``, or the site of a dictionary."""

    @property
    def schema(self) -> pa.Schema: ...

    def whole(self) -> pa.Table:
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


@frozen(slots=False)
class Nested(_OfView):
    """A view as one table of nested rows. Raises EvaluationError where a multiplicity is below 0."""

    part: str = "nested"

    @property
    def where(self) -> str:
        return f"view {self.view}"

    @property
    def schema(self) -> pa.Schema:
        return nested_schema(self.shape)

    def whole(self) -> pa.Table:
        """Every row, nested some at a time; what was read of dictionaries is forgotten where it can be probed again."""
        flat = list(self.snapshot.scan(self.shape.flat.table).consolidated().counts().items())
        tables, overlay = [self._table({}, ())], Overlay(self.snapshot)
        for start in range(0, len(flat), CHUNK):
            chunk = flat[start : start + CHUNK]
            values = nested_rows(self.shape, overlay, [row for row, _ in chunk])
            tables.append(self._table(values, [(row, k) for row, n in chunk for k in range(copies(n, self.where))]))
            if not overlay.missed:
                overlay = Overlay(self.snapshot)
        return pa.concat_tables(tables)

    def edits(self, since: int) -> Edits:
        found = touched(self.shape, self.snapshot, since)
        values = found.updated()
        steps = list(_steps(found, values.keys(), self.where))
        values.update(found.nested_after(row for row, _, op in steps if op == INSERT and row not in values))
        rows = self._table(values, [(row, k) for row, k, _ in steps])
        return Edits(rows.append_column(OP, pa.array([op for *_, op in steps], pa.int8())), signed=False)

    def _table(self, values: dict[Row, Value], rows: Iterable[tuple[Row, int]]) -> pa.Table:
        """Flat rows and the numbers of their copies, as rows of the table; NULL where there is no value."""
        chosen = list(rows)
        ids = {row: digest(*row) for row in dict.fromkeys(row for row, _ in chosen)}
        names = [f"{ids[row]}.{k}" if k else ids[row] for row, k in chosen]
        kept = (_as_record(values[row], self.shape.row) if row in values else None for row, _ in chosen)
        return table(fields_of(self.shape.row), names, kept, self.where, self.shape.shown)


def _steps(found: Touched, updated: Collection[Row], where: str) -> Iterator[tuple[Row, int, int]]:
    """Each touched flat row with the number of its copy and what becomes of that."""
    before, after = dict(found.before), dict(found.after)
    for row in dict.fromkeys((*before, *after)):
        old, new = max(before.get(row, 0), 0), copies(after.get(row, 0), where)
        yield from ((row, k, DELETE) for k in range(new, old))
        yield from ((row, k, UPDATE) for k in range(min(old, new)) if row in updated)
        yield from ((row, k, INSERT) for k in range(old, new))


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

    def whole(self) -> pa.Table:
        return self._table(self.snapshot.scan(_stored(self.shape, self.site)[0]))

    def edits(self, since: int) -> Edits:
        return Edits(self._table(self.snapshot.delta(_stored(self.shape, self.site)[0], since)), signed=True)

    def _table(self, rows: Rows) -> pa.Table:
        _, stored, fields = _stored(self.shape, self.site)
        counts = rows.consolidated().counts()
        values = (self._record(from_leaves(row, stored)) for row in counts)
        found = table(fields, [digest(*row) for row in counts], values, self.where)
        return found.append_column(MULTIPLICITY, pa.array(list(counts.values()), pa.int64()))

    def _record(self, value: Value) -> Value:
        """A stored value as a record of the columns: an entry's label and, beside it, the fields of its row."""
        if self.site is None:
            return _as_record(value, self.shape.flat.row)
        row = _as_record(field_of(value, "row"), self.shape.dictionary(self.site).row)
        assert isinstance(row, tuple)
        return (("label", field_of(value, "label")), *row)


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


def _as_record(value: Value, t: Type) -> Value:
    return value if isinstance(t, Record) else (("value", value),)
