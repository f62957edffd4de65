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
from ripplenest.reading.structs import struct_schema


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
