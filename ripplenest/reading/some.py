"""Some of the nested rows, as plain Python: those with some fields, or the first ones. What they hold is read, and the
other rows are not nested."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ripplenest.data import columnar
from ripplenest.data.canonical import arranged
from ripplenest.data.columns import column_at
from ripplenest.data.order import ranks_by, shown_by
from ripplenest.data.rows import Rows
from ripplenest.errors import Ambiguous, UnknownKey
from ripplenest.nrc.errors import UnknownName
from ripplenest.nrc.types import Base, Record
from ripplenest.nrc.values import to_value
from ripplenest.reading.arrow import copies, counted, nester
from ripplenest.reading.ends import Searched
from ripplenest.reading.plain import first_copies, listed, rows_of
from ripplenest.schema.shape import OutputShape
from ripplenest.version.version import Version


def row_with(shape: OutputShape, tables: Version, fields: Mapping[str, object], where: str) -> Any:
    """The one of ``rows_with``, None when there is none. Raises as it does, and Ambiguous for several."""
    searched = Searched.of(tables)
    found = _flat_with(shape, searched, fields, where)
    many = int(columnar.weights(found).to_numpy().sum())
    if many > 1:
        raise Ambiguous("several rows have these fields", where=where, wanted="one row", got=f"{many} rows")
    return next(iter(_nested(shape, searched, found)), None)


def rows_with(shape: OutputShape, tables: Version, fields: Mapping[str, object], where: str) -> list[Any]:
    """The nested rows that have the base ``fields``. They are looked up where the flat part has an access key on all or
    some of them. Law: those rows of ``rows_of`` of which the fields are equal; NULL equals NULL, and NaN itself. Raises
    UnknownKey, UnknownName, WrongValue."""
    searched = Searched.of(tables)
    return _nested(shape, searched, _flat_with(shape, searched, fields, where))


def some_rows(shape: OutputShape, tables: Version, most: int) -> list[Any]:
    """At most so many of the nested rows: the first ones of rows that are sorted, and else those whose flat rows come
    first. Law: the sorted ones are those ``rows_of`` begins with, so who agrees with the last is nested, too."""
    table, order = shape.flat.table, shape.shown.get(())
    if shape.is_signed and shape.dictionaries:  # others may take a row away, which are the same but for their labels
        return rows_of(shape, tables)[:most]
    if order is None:
        rows = tables.some(table, most).consolidated()
        few = first_copies(copies(columnar.weights(rows).to_numpy(), shape.where), most)
        return _nested(shape, Searched.of(tables), columnar.where(rows, _mask(few > 0)), most)
    rows = tables.scan(table).consolidated()
    before = ranks_by(rows.arrow(), shown_by(shape.flat.row, order, 0).by)
    return _nested(shape, Searched.of(tables), columnar.where(rows, _mask(before < most)), most)


def _flat_with(shape: OutputShape, tables: Searched, fields: Mapping[str, object], where: str) -> Rows:
    """The flat rows that have the base ``fields``, each as often as it is there."""
    row, table = shape.flat.row, shape.flat.table
    base = {n: t for n, t in row.fields if isinstance(t, Base)} if isinstance(row, Record) else {}
    if not fields:
        raise UnknownKey("which rows", where=where, wanted="base fields and their values", possible=base)
    if unknown := [name for name in fields if name not in base]:
        raise UnknownName("rows are addressed by base fields", where=where, got=unknown[0], possible=base)
    values = {column_at(row, (n,)): to_value(v, base[n], f"{where}: {n}") for n, v in fields.items()}
    known = [key for key in tables.access_keys.get(table, ()) if key and values.keys() >= set(key)]
    columns, every = max(known, key=len, default=tuple(sorted(values))), tuple(sorted(values))
    found = tables.probe(table, columns, [tuple(values[c] for c in columns)]).consolidated()
    asked = Rows.of_counts(tuple(found.types[c] for c in every), {tuple(values[c] for c in every): 1})
    return columnar.where(found, columnar.among(found, every, asked))


def _mask(kept: Any) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(kept)])


def _nested(shape: OutputShape, tables: Searched, rows: Rows, most: int | None = None) -> list[Any]:
    """Flat rows, nested and as they are shown, at most so many. Raises EvaluationError for a multiplicity below 0."""
    values = arranged(nester(shape, tables).values(rows), shape.shown)
    kept, counts = counted(values, columnar.weights(rows).to_numpy(), shape.where)
    return listed(values.take(pa.array(kept)), counts, shape, most)
