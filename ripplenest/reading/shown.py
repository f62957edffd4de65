"""Flat rows and entries of dictionaries as users see them, as Arrow: base fields as they are, labels as structs of
their parameters, and the multiplicity. The same columns as ``spark/nest`` makes of DataFrames."""

from collections.abc import Iterator, Sequence
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.index import Places
from ripplenest.data.labels import SHOWN, is_tagged, param_name, shows_site, site_columns, width
from ripplenest.data.rows import LABEL, MULTIPLICITY, Rows, ours
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type, has_columns
from ripplenest.reading.arrow import made
from ripplenest.schema.shape import VALUE, Dictionary, OutputShape
from ripplenest.version.version import Version

UNIT = "unit"  # the field of records that have none: a struct has one


def flat_batch(row: Type, rows: Rows, is_null: bool = False) -> pa.RecordBatch:
    """Flat ``rows`` of type ``row``. A label that is NULL is a struct of NULL, or where it ``is_null`` itself."""
    columns = _arrays(rows)
    return _counted([*_fields(row, columns[:-1], len(rows), is_null)], columns[-1])


def entries_batch(d: Dictionary, rows: Rows, is_null: bool = False) -> pa.RecordBatch:
    """``rows`` of a dictionary: the label, the fields of its row, the multiplicity. Where a field is called like one
    of ours, ours begins with ``_``."""
    *columns, weights = _arrays(rows)
    label = _value(Label((d.site,)), columns[: d.label_width], len(rows), is_null)
    fields = [*_fields(d.row, columns[d.label_width :], len(rows), is_null)]
    return _counted([(ours(LABEL, (name for name, _ in fields)), label), *fields], weights)


def flat_table(shape: OutputShape, tables: Version, since: int | None = None) -> pa.Table:
    """The flat rows, each once, or how they changed after ``since``."""
    return pa.Table.from_batches([flat_batch(shape.flat.row, _summed(tables, shape.flat.table, since))])


def dictionary_tables(shape: OutputShape, tables: Version, since: int | None = None) -> dict[str, pa.Table]:
    """By site the rows of its dictionary, each once, or how they changed after ``since``."""
    found = {d.site.name: entries_batch(d, _summed(tables, d.table, since)) for d in shape.dictionaries}
    return {site: pa.Table.from_batches([batch]) for site, batch in found.items()}


def _summed(tables: Version, table: str, since: int | None) -> Rows:
    return (tables.scan(table) if since is None else tables.delta(table, since)).consolidated()


def signed_batch(shape: OutputShape, values: pa.Array, counts: Places) -> pa.RecordBatch:
    """Nested ``values`` with how often they are there. A row without fields is nothing but that."""
    names = shape.row.names if has_columns(shape.row) else (VALUE,)
    columns = zip(names, values.flatten() if has_columns(shape.row) else [values], strict=True)
    return _counted([*columns], pa.array(counts, pa.int64()))


def _counted(columns: Sequence[tuple[str, pa.Array]], weights: pa.Array) -> pa.RecordBatch:
    return _batch([*columns, (ours(MULTIPLICITY, (name for name, _ in columns)), weights)])


def _arrays(rows: Rows) -> list[pa.Array]:
    return [c.combine_chunks() for c in rows.arrow().columns]


def _batch(columns: Sequence[tuple[str, pa.Array]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([array for _, array in columns], names=[name for name, _ in columns])


def _fields(t: Type, columns: Sequence[pa.Array], n: int, is_null: bool) -> Iterator[tuple[str, pa.Array]]:
    """The fields of ``n`` rows of type ``t``; rows that are no records are the field ``value``."""
    if not has_columns(t):
        yield VALUE, _value(t, columns, n, is_null)
        return
    start = 0
    for name, inner in t.fields:
        yield name, _value(inner, columns[start : (start := start + width(inner))], n, is_null)


def _value(t: Type, columns: Sequence[pa.Array], n: int, is_null: bool) -> pa.Array:
    match t:
        case Base():
            return columns[0]
        case Record() if t.is_optional:
            missing = pc.invert(columns[0])
            return _struct(list(_fields(Record(t.fields[1:]), columns[1:], n, is_null)), n, missing)
        case Record():
            return _struct(list(_fields(t, columns, n, is_null)), n)
        case Label(sites):
            tag = columns[0] if is_tagged(t) else pa.repeat(pa.scalar(sites[0].name if sites else None, pa.string()), n)
            parts = [(SHOWN, tag)] if shows_site(t) else []
            for s in site_columns(t):
                at = s.params.start
                for name, inner in s.site.params:
                    own = columns[at : (at := at + width(inner))]
                    parts.append((param_name(t, s.site, name), _value(inner, own, n, is_null)))
            return _struct(parts, n, _missing(t, columns, n) if is_null and t.nullable else None)
        case Bag() | Dict():
            raise AssertionError(f"only flat types have columns, not {t}")
        case _:
            assert_never(t)


def _missing(label: Label, columns: Sequence[pa.Array], n: int) -> pa.Array:
    """Which labels no site made."""
    found = np.ones(n, np.bool_)
    for s in site_columns(label):
        found[made(s.mark, columns, n)] = False
    return pa.array(found)


def _struct(fields: Sequence[tuple[str, pa.Array]], n: int, missing: pa.Array | None = None) -> pa.Array:
    found = fields or [(UNIT, pa.nulls(n, pa.int32()))]
    return pa.StructArray.from_arrays([array for _, array in found], names=[name for name, _ in found], mask=missing)
