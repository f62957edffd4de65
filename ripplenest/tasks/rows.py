"""Stored rows as DataFrames of columns c0…, w: tasks read them, each a range of hashes; no row passes the driver.

A table function of Python hands out Arrow. A data source could, too, but Spark starts processes to ask one for its
schema and its ranges before anything is read, for each table.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.data.seen import Seen
from ripplenest.data.sums import summed
from ripplenest.store.indexes import RANGE
from ripplenest.store.ref import TableRef, ranges
from ripplenest.tasks.faulty import noted
from ripplenest.tasks.handed import Surroundings, sources_of, sources_text

TASK = 1 << 19  # entries that a task reads, about
WINDOW = 1 << 17  # entries at once, about


def stored(spark: SparkSession, here: Surroundings, ref: TableRef, seen: Seen) -> DataFrame:
    """The rows of ``ref``, each once, as statements see them."""
    many = max(-(-ref.size // TASK), 1) if _is_in_order(ref) else 1
    pieces = tuple(ranges(0, RANGE, many))
    schema = from_arrow_schema(arrow_schema(seen.types(ref.spec.types)))
    function: Any = F.arrow_udtf(_reading(sources_text(here, [ref]), seen, pieces), returnType=schema)
    rows: DataFrame = function.asDeterministic()(spark.range(0, len(pieces), 1, len(pieces)).asTable())
    return rows


def _reading(told: str, seen: Seen, pieces: Sequence[tuple[int, int]]) -> type:
    """What reads pieces in tasks, which are asked for by their numbers; what it is told goes there with it."""

    class Reading:
        def eval(self, asked: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            here, (ref,), _ = sources_of(told)
            with noted(here):
                for i in asked.column(0).to_pylist():
                    yield from read(here, ref, seen, *pieces[i])

    return Reading


def read(here: Surroundings, ref: TableRef, seen: Seen, low: int, high: int) -> Iterator[pa.RecordBatch]:
    """What is seen of the rows of a range, some at a time."""
    windows = ref.windows(here.reader, low, high, WINDOW) if _is_in_order(ref) else [_whole(ref, here)]
    for rows in windows:
        yield from seen.of(rows).arrow().to_batches(max_chunksize=WINDOW)


def _is_in_order(ref: TableRef) -> bool:
    """Whether a part of the rows is read without looking at the others: those of several runs without an access key are
    only found by looking at all of them."""
    return bool(ref.spec.types) and (bool(ref.spec.indexes) or ref.is_run)


def _whole(ref: TableRef, here: Surroundings) -> Rows:
    return summed(ref.scan(here.reader), here.room)
