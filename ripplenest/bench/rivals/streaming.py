"""Spark's Structured Streaming, which maintains averages of groups in a state store of RocksDB (``maintaining``).

Rows come as files of Parquet, one for each batch, whose writing is not counted; changed averages go nowhere. A batch is
what Spark's own progress calls triggerExecution: from looking for the file until its state is committed.
"""

import sys
from collections.abc import Sequence
from itertools import count, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, field
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from ripplenest.bench.data import Data
from ripplenest.bench.rivals.maintaining import Times, inserts, run_as_program
from ripplenest.bench.workloads import Workload
from ripplenest.spark.session import local_session

STORE = "spark.sql.streaming.stateStore."
ROCKSDB = {
    STORE + "providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    STORE + "rocksdb.changelogCheckpointing.enabled": "true",  # a batch commits what it changed, not the whole state
}
WARM = 10  # files of the first batch's rows that come one by one before all others: it settles slowly


@define
class Stream:
    """A query over the files that come into ``folder``; its state is there, too."""

    folder: Path
    query: StreamingQuery
    _numbers: "count[int]" = field(factory=count)

    def batch(self, rows: pa.Table) -> float:
        """The seconds of the batch that takes these rows."""
        number = next(self._numbers)
        path = self.folder / "coming.parquet"
        pq.write_table(rows, path)
        path.rename(self.folder / "in" / f"{number}.parquet")
        self.query.processAllAvailable()
        (done,) = (p for p in self.query.recentProgress if p["batchId"] == number and p["numInputRows"])
        assert done["numInputRows"] == rows.num_rows, "the rows of a file were not one batch"
        return float(done["durationMs"]["triggerExecution"]) / 1e3


def _averages(spark: SparkSession, folder: Path) -> StreamingQuery:
    for key, value in ROCKSDB.items():
        spark.conf.set(key, value)
    (folder / "in").mkdir()
    pairs = spark.readStream.schema("id long, x long, y long").parquet(str(folder / "in"))
    out = pairs.groupBy("x").agg(F.avg("y")).writeStream.outputMode("update").format("noop")
    return out.option("checkpointLocation", str(folder / "state")).start()


def _stored(spark: SparkSession, folder: Path) -> pa.Table:
    """The averages that are in the state."""
    state = spark.read.format("statestore").load(str(folder / "state"))
    return state.select("key.x", (F.col("value.sum") / F.col("value.count")).alias("mean")).toArrow()


def run(workload: Workload, folder: Path, data: Data, sizes: Sequence[int], rounds: int) -> tuple[Times, pa.Table]:
    """The batches of ``workload``, and its averages after them."""
    spark = local_session("ripplenest-bench")
    times: dict[int, list[float]] = {rows: [] for rows in sizes}
    stream = Stream(folder, _averages(spark, folder))
    for rows in _first(data.pairs):
        stream.batch(rows)
    for counts, tables in inserts(workload, data, sizes, rounds):
        seconds = stream.batch(tables["S"])
        if counts:
            times[tables["S"].num_rows].append(seconds)
    stream.query.stop()
    return times, _stored(spark, folder)


def _first(rows: pa.Table) -> list[pa.Table]:
    """Most of the rows that are there at first, and some of them one batch after another."""
    each = max(rows.num_rows // 1_000, 1)
    cuts = [0, *range(rows.num_rows - each * min(WARM, rows.num_rows - 1), rows.num_rows + 1, each)]
    return [rows.slice(a, b - a) for a, b in pairwise(cuts)]


if __name__ == "__main__":
    run_as_program(run, *sys.argv[1:])
