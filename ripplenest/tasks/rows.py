"""Stored rows as DataFrames of columns c0…, w: tasks read them, each a range of hashes; no row passes the driver."""

import json
from collections.abc import Iterator, MutableMapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.data.seen import Seen
from ripplenest.data.sums import summed
from ripplenest.store.indexes import RANGE
from ripplenest.store.ref import TableRef, ranges
from ripplenest.tasks.faulty import noted
from ripplenest.tasks.handed import Surroundings, sources_of, sources_text

TOLD = "told"  # the option: where, and of which segments
TASK = 1 << 19  # entries that a task reads, about
WINDOW = 1 << 17  # entries at once, about


def stored(spark: SparkSession, here: Surroundings, ref: TableRef, seen: Seen) -> DataFrame:
    """The rows of ``ref``, each once, as statements see them."""
    spark.dataSource.register(Stored)
    told = sources_text(here, [ref], json.dumps([seen.support, seen.columns]))
    return spark.read.format(Stored.name()).option(TOLD, told).load()


class Stored(DataSource):
    """The rows of one table."""

    @classmethod
    def name(cls) -> str:
        return "ripplenest.stored"

    def schema(self) -> StructType:
        _, (ref,), shown = sources_of(self.options[TOLD])
        types = Seen(*json.loads(shown)).types(ref.spec.types)
        return from_arrow_schema(arrow_schema(types))

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it is the one that we gave
        return _Reader(self.options)


class _Reader(DataSourceReader):
    """What is told stays text, which goes to tasks as it is."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.told = options[TOLD]

    def partitions(self) -> Sequence[InputPartition]:
        _, (ref,), _ = sources_of(self.told)
        many = max(-(-ref.size // TASK), 1) if _is_in_order(ref) else 1
        return [InputPartition(json.dumps(piece)) for piece in ranges(0, RANGE, many)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        here, (ref,), shown = sources_of(self.told)
        with noted(here):
            yield from self._read(here, ref, Seen(*json.loads(shown)), *json.loads(partition.value))

    def _read(self, here: Surroundings, ref: TableRef, seen: Seen, low: int, high: int) -> Iterator[pa.RecordBatch]:
        windows = ref.windows(here.reader, low, high, WINDOW) if _is_in_order(ref) else [_whole(ref, here)]
        for rows in windows:
            yield from seen.of(rows).arrow().to_batches(max_chunksize=WINDOW)


def _is_in_order(ref: TableRef) -> bool:
    """Whether a part of the rows is read without looking at the others: those of several runs without an access key are
    only found by looking at all of them."""
    return bool(ref.spec.types) and (bool(ref.spec.indexes) or ref.is_run)


def _whole(ref: TableRef, here: Surroundings) -> Rows:
    return summed(ref.scan(here.reader), here.room)
