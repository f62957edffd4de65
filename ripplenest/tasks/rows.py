"""Stored rows as DataFrames of columns c0…, w: tasks read them, each a range of hashes; no row passes the driver.

A table function of Python hands out Arrow. A data source does, too, but Spark starts processes to ask one for its
schema and its ranges before anything is read, for each table. Builds read by functions, where they can: pyspark calls
them in the session that is active. Batches do not: Java keeps some tens of megabytes for a while after it has read of
one (Spark 4.3; ``tests/tasks/test_joins.py``).
"""

import json
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.data.seen import Seen
from ripplenest.data.sums import summed
from ripplenest.nrc.types import Base
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.serial import map_of_json, map_to_json
from ripplenest.spark.sources import read
from ripplenest.store.index.indexes import RANGE
from ripplenest.store.ref import TableRef, ranges
from ripplenest.tasks.faulty import noted
from ripplenest.tasks.handed import Surroundings, sources_of, sources_text

TOLD = "told"  # the option: where, and of which segments
TASK = 1 << 19  # entries that a task reads, about
WINDOW = 1 << 17  # entries at once, about
Piece = tuple[int, int]


@frozen
class Sums:
    """Of a sum map ``m`` that statements see as the rows that it is made of (``run/marginals.py``)."""

    m: PlannedMap

    def of(self, rows: Rows) -> Rows:
        """What is seen of ``rows``."""
        from ripplenest.run import marginals  # noqa: PLC0415 - it knows the catalogue, which few tasks wait for

        return marginals.seen(self.m, rows)

    def types(self, stored: tuple[Base, ...]) -> tuple[Base, ...]:  # noqa: ARG002 - as of ``Seen``
        """Those of what is seen."""
        return self.m.made


def stored(spark: SparkSession, here: Surroundings, ref: TableRef, seen: Seen | Sums) -> DataFrame:
    """The rows of ``ref``, each once, as statements see them."""
    pieces = _pieces(ref)
    function: Any = F.arrow_udtf(_reading(_told(here, ref, seen), pieces), returnType=_schema(ref, seen))
    found: DataFrame = function.asDeterministic()(spark.range(0, len(pieces), 1, len(pieces)).asTable())
    return found if found.sparkSession is spark else stored_by_source(spark, here, ref, seen)


def stored_by_source(spark: SparkSession, here: Surroundings, ref: TableRef, seen: Seen | Sums) -> DataFrame:
    """The same, of a data source."""
    return read(spark, Stored, TOLD, _told(here, ref, seen))


def _told(here: Surroundings, ref: TableRef, seen: Seen | Sums) -> str:
    own = map_to_json(seen.m) if isinstance(seen, Sums) else [seen.support, seen.columns]
    return sources_text(here, [ref], json.dumps(own))


def _heard(told: str) -> tuple[Surroundings, TableRef, Seen | Sums]:
    """Law: _heard(_told(h, r, s)) = (h, r, s)."""
    here, (ref,), shown = sources_of(told)
    own = json.loads(shown)
    return here, ref, Seen(*own) if isinstance(own, list) else Sums(map_of_json(own))


def _reading(told: str, pieces: Sequence[Piece]) -> type:
    """What reads pieces in tasks, which are asked for by their numbers; what it is told goes there with it."""

    class Reading:
        def eval(self, asked: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            for i in asked.column(0).to_pylist():
                yield from _read(told, pieces[i])

    return Reading


class Stored(DataSource):
    """The rows of one table."""

    @classmethod
    def name(cls) -> str:
        return "ripplenest.stored"

    def schema(self) -> StructType:
        _, ref, seen = _heard(self.options[TOLD])
        return _schema(ref, seen)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it is the one that we gave
        return _Reader(self.options)


class _Reader(DataSourceReader):
    """What is told stays text, which goes to tasks as it is."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.told = options[TOLD]

    def partitions(self) -> Sequence[InputPartition]:
        _, ref, _ = _heard(self.told)
        return [InputPartition(json.dumps(piece)) for piece in _pieces(ref)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from _read(self.told, tuple(json.loads(partition.value)))


def _schema(ref: TableRef, seen: Seen | Sums) -> StructType:
    return from_arrow_schema(arrow_schema(seen.types(ref.spec.types)))


def _pieces(ref: TableRef) -> list[Piece]:
    """The ranges of hashes that a task each reads."""
    many = max(-(-ref.size // TASK), 1) if _is_in_order(ref) else 1
    return list(ranges(0, RANGE, many))


def _read(told: str, piece: Piece) -> Iterator[pa.RecordBatch]:
    """What is seen of the rows of a range, some at a time."""
    here, ref, seen = _heard(told)
    with noted(here):
        for rows in some_at_once(ref, here, piece):
            yield from seen.of(rows).arrow().to_batches(max_chunksize=WINDOW)


def some_at_once(ref: TableRef, here: Surroundings, piece: Piece = (0, RANGE)) -> Iterable[Rows]:
    """The stored rows of a range, a window at a time where they are in order."""
    return ref.windows(here.reader, *piece, WINDOW) if _is_in_order(ref) else [_whole(ref, here)]


def _is_in_order(ref: TableRef) -> bool:
    """Whether a part of the rows is read without looking at the others: those of several runs without an access key are
    only found by looking at all of them."""
    return bool(ref.spec.types) and (bool(ref.spec.indexes) or ref.is_run)


def _whole(ref: TableRef, here: Surroundings) -> Rows:
    return summed(ref.scan(here.reader), here.room)
