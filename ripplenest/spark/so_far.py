"""The first rows so far over DataFrames, for maps that are built where their rows are. Law: they are those of
``run/so_far.py``.

Spark numbers the rows of each group, in their order, and what comes when: rows, and the places that ask for those
before them. A group of numbers becomes one of first rows in Python (``data/so_far.py``); so it fits in a worker.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from ripplenest.data.order import By
from ripplenest.data.rows import WEIGHT
from ripplenest.data.so_far import NONE, Stream
from ripplenest.plan.ranking import Nearest, Ranked
from ripplenest.spark.ordering import apart, same, so_far, way

AT, RANK, COPIES = "at", "rank", "copies"
VALUE = "value"


def first_so_far(r: Ranked, n: Nearest, made: DataFrame) -> DataFrame:
    """The first copies of each place as columns c0, …, w; of rows and places in such columns."""
    columns = made.columns[:-2]
    key, group = columns[: r.keys], [columns[i] for i in r.group]
    rest, edge = [*columns[r.keys :], WEIGHT], F.col(columns[r.edge])
    rows, places = apart(r, made)
    number = F.count(F.lit(1)).over(so_far(Window.partitionBy(*group), r, columns)) - 1
    rows = rows.withColumn(RANK, number).withColumn(VALUE, F.col(columns[r.compared.column + len(r.asked_by)]))
    places = places.withColumn(RANK, F.lit(int(NONE)).cast("bigint")).withColumn(VALUE, edge)
    places, found = _found(r, n, rows, places, group, key)
    ranked, placed = rows.alias("y"), places.alias("p")
    of = found.alias("f").join(placed, same([*group, AT], "f", "p")).join(ranked, same([*group, RANK], "f", "y"))
    return of.select(*(f"p.{c}" for c in key), *(f"y.{c}" for c in rest[:-1]), F.col(f"f.{COPIES}").alias(WEIGHT))


def between(r: Ranked, n: Nearest, made: DataFrame) -> DataFrame:
    """Each row beside each place between whose edges it is, as columns c0, …, w; of rows and places in such columns."""
    columns = made.columns[:-2]
    rows, places = (frame.alias(name) for frame, name in zip(apart(r, made), "yp", strict=True))
    k = F.col(f"y.{columns[r.compared.column + len(r.asked_by)]}")
    edge, until = (F.col(f"p.{columns[r.edge + i]}") for i in range(2))
    low, high = (until, edge) if r.compared.descending else (edge, until)
    is_low_open, is_high_open = (n.until, n.open) if r.compared.descending else (n.open, n.until)
    within = (k > low if is_low_open else k >= low) & (k < high if is_high_open else k <= high)
    found = places.join(rows, within & same([columns[i] for i in r.group], "p", "y"))
    return found.select(*(f"p.{c}" for c in columns[: r.keys]), *(f"y.{c}" for c in (*columns[r.keys :], WEIGHT)))


def _found(
    r: Ranked, n: Nearest, rows: DataFrame, places: DataFrame, group: Sequence[str], key: Sequence[str]
) -> tuple[DataFrame, DataFrame]:
    """The places with numbers of when they come, and which ranks they find."""
    both = rows.select(*key, VALUE, RANK, WEIGHT).unionAll(places.select(*key, VALUE, RANK, F.lit(1).cast("bigint")))
    tied = F.col(RANK) == F.lit(int(NONE))
    comes = way(F.col(VALUE), By(0, not r.compared.descending)), tied.desc() if n.open else tied.asc()
    numbered = both.withColumn(AT, F.row_number().over(Window.partitionBy(*group).orderBy(*comes)).cast("bigint"))
    entry = F.struct(F.col(AT), F.col(RANK), F.col(WEIGHT).alias(COPIES))
    lists = numbered.groupBy(*group).agg(F.collect_list(entry).alias("every"))
    found: Column = _firsts(F.col("every"), F.lit(r.limit).cast("bigint"))
    each = lists.select(*group, F.explode(found).alias("one")).select(*group, "one.*")
    return numbered.filter(tied).select(*key, AT), each


def _first(every: "pa.Array", limits: "pa.Array") -> "pa.Array":
    """Of each list of entries, which points find which ranks."""
    entries, lists = every.flatten(), np.diff(every.offsets.to_numpy())
    at, ranks, copies = (entries.field(name).to_numpy() for name in (AT, RANK, COPIES))
    runs = np.repeat(np.arange(len(lists)), lists)
    which, rank, many = Stream(runs, at, ranks, copies).first(limits[0].as_py() if len(limits) else 0)
    order = np.argsort(runs[which], kind="stable")
    ends = np.cumsum(np.bincount(runs[which], minlength=len(lists)))
    own = [pa.array(a[order], pa.int64()) for a in (at[which], rank, many)]
    return pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], ends]), pa.int32()), pa.StructArray.from_arrays(own, fields=list(FOUND))
    )


FOUND = pa.struct([(AT, pa.int64()), (RANK, pa.int64()), (COPIES, pa.int64())])
_firsts: Any = arrow_udf(  # type: ignore[call-overload]  # it reads the types of the function
    _first, ArrayType(StructType([StructField(name, LongType()) for name in (AT, RANK, COPIES)]))
)
