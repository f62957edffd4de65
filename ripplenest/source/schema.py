"""Arrow's types as Spark takes them. A record without fields has one of NULL, as structs of Spark and Parquet must.

Of two fields of a struct whose names differ in case only, Spark's readers of Arrow lose one. So our own DataFrames are
read under numbered names, and named by their schema afterwards; other readers are told.
"""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ripplenest.nrc.errors import WrongValue
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


def spark_schema(schema: pa.Schema) -> StructType:
    """Spark's types of such a ``schema``."""
    return from_arrow_schema(schema)


def named(df: DataFrame, schema: pa.Schema) -> DataFrame:
    """The ``numbered`` columns under the names of ``schema``."""
    fields = spark_schema(struct_schema(schema))
    return df.select(*(F.col(f"c{i}").cast(f.dataType).alias(f.name) for i, f in enumerate(fields)))


def check_names(schema: pa.Schema) -> None:
    """Raises WrongValue when names of fields of one struct differ in case only."""
    for names in _names(pa.struct(list(schema))):
        if twice := [name for name, n in Counter(map(str.lower, names)).items() if n > 1]:
            what, got = "names of fields that differ in case only", [n for n in names if n.lower() in twice]
            possible = ["nested(), flat() and dictionaries() of an open database"]
            raise WrongValue(what, where="ripplenest", wanted="names that differ otherwise", got=got, possible=possible)


def _names(t: pa.DataType) -> Iterator[list[str]]:
    if pa.types.is_struct(t):
        yield [f.name for f in t]
        for f in t:
            yield from _names(f.type)
    elif pa.types.is_list(t):
        yield from _names(t.value_type)


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
