"""Views and relations as DataFrames. What is small goes to Spark as Arrow, in the time of a job; what is large is read
by tasks, which costs as much again to begin with, and never passes the driver."""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ripplenest.data.rows import Rows
from ripplenest.reading.structs import numbered, under
from ripplenest.schema.shape import Dictionary
from ripplenest.source.handed import handed
from ripplenest.source.pinned import Layout, pinned
from ripplenest.source.schema import named
from ripplenest.source.source import HANDED, Source
from ripplenest.spark import nest
from ripplenest.spark.frames import SMALL_ROWS
from ripplenest.spark.session import check_session
from ripplenest.spark.sources import read
from ripplenest.state.state import Shown
from ripplenest.store.snapshot import Snapshot


def nested(spark: SparkSession, folder: str, now: Shown) -> DataFrame:
    """The nested rows, each as often as it is there."""
    if _is_large(sum(map(now.tables.size, now.shape.tables))):
        return _large(spark, folder, now, "nested")
    return nest.nested(spark, now.shape, now.tables.scan)


def flat(spark: SparkSession, folder: str, now: Shown, since: int | None = None) -> DataFrame:
    """The flat rows with ``_multiplicity``, or how they changed after ``since``."""
    if _is_large(_size(now, now.shape.flat.table, since)):
        return _large(spark, folder, now, "flat", since=since)
    return nest.flat(spark, now.shape, _rows(now, now.shape.flat.table, since))


def entries(spark: SparkSession, folder: str, now: Shown, d: Dictionary, since: int | None = None) -> DataFrame:
    """The rows of a dictionary with ``_multiplicity``, or how they changed after ``since``."""
    if _is_large(_size(now, d.table, since)):
        return _large(spark, folder, now, "dictionary", d.site.name, since)
    return nest.entries(spark, d, _rows(now, d.table, since))


def changed(spark: SparkSession, batch: pa.RecordBatch) -> DataFrame:
    """Nested rows with ``_multiplicity``, below 0 for those that went."""
    table = pa.Table.from_batches([under(batch, numbered(batch.schema))])
    return named(spark.createDataFrame(table), batch.schema)


def _large(
    spark: SparkSession, folder: str, now: Shown, layout: Layout, site: str = "", since: int | None = None
) -> DataFrame:
    check_session(spark)
    found = pinned(now, folder, layout, site, since)
    return named(read(spark, Source, HANDED, handed(found)), found.schema)


def _is_large(entries: int) -> bool:
    return entries > SMALL_ROWS


def _size(now: Shown, table: str, since: int | None) -> int:
    """The entries of a table, or of its changes after ``since``: none of one that was made later, whose changes are
    found by comparing."""
    if since is None:
        return now.tables.size(table)
    snapshot = now.tables.tables
    assert isinstance(snapshot, Snapshot)
    return snapshot.changed(table, since).size if snapshot.born(table) <= since else 0


def _rows(now: Shown, table: str, since: int | None) -> Rows:
    return now.tables.scan(table) if since is None else now.tables.delta(table, since)
