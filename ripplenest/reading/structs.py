"""Arrow's structs as engines take them, which want a field in each: a record without fields has one of NULL."""

import pyarrow as pa

from ripplenest.reading.shown import UNIT


def struct_schema(schema: pa.Schema) -> pa.Schema:
    """``schema`` with a field in every struct."""
    return pa.schema([f.with_type(_filled(f.type)) for f in schema])


def numbered(schema: pa.Schema) -> pa.Schema:
    """``struct_schema`` with the names c0, c1, … at every level."""
    return pa.schema([(f"c{i}", _numbered(_filled(f.type))) for i, f in enumerate(schema)])


def under(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """``batch`` under the names and structs of such a ``schema``, by position."""
    columns = [_under(column, f.type) for column, f in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _filled(t: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(t):
        fields = [f.with_type(_filled(f.type)) for f in t]
        return pa.struct(fields or [(UNIT, pa.int32())])
    return pa.list_(_filled(t.value_type)) if pa.types.is_list(t) else t


def _numbered(t: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(t):
        return pa.struct([(f"c{i}", _numbered(f.type)) for i, f in enumerate(t)])
    return pa.list_(_numbered(t.value_type)) if pa.types.is_list(t) else t


def _under(column: pa.Array, t: pa.DataType) -> pa.Array:
    missing = column.is_null() if column.null_count else None
    if pa.types.is_struct(t):
        inner = [column.field(i) for i in range(column.type.num_fields)] or [pa.nulls(len(column), t.field(0).type)]
        fields = [_under(c, f.type) for c, f in zip(inner, t, strict=True)]
        return pa.StructArray.from_arrays(fields, fields=list(t), mask=missing)
    if pa.types.is_list(t):
        return pa.ListArray.from_arrays(column.offsets, _under(column.values, t.value_type), t, mask=missing)
    return column
