"""Spark alone, and the tables as Parquet that both read; and whether both made the same of them.

    python -P -m ripplenest.bench.cluster.theirs tables FOLDER SCALE SEED
    python -P -m ripplenest.bench.cluster.theirs spark FOLDER SCALE SEED
    python -P -m ripplenest.bench.cluster.theirs cached FOLDER SCALE SEED
    python -P -m ripplenest.bench.cluster.theirs differing FOLDER SCALE SEED

Each prints one JSON object.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ripplenest.bench.data import ITEMS, Data
from ripplenest.bench.rivals.sparks import ANSWERS
from ripplenest.bench.timing import Timing, timed
from ripplenest.bench.workloads import F2
from ripplenest.examples.same import differing
from ripplenest.spark.session import local_session

ROUNDS = 2  # that compute everything again


def write_tables(folder: Path, data: Data) -> dict[str, Any]:
    """The relations, the items a batch at a time."""
    items = pa.RecordBatchReader.from_batches(ITEMS, data.item_batches())
    count = 0
    for name, table in (("C", data.customers), ("O", data.orders), ("L", items)):
        (folder / name).mkdir(parents=True)
        batches = table.to_batches() if isinstance(table, pa.Table) else table
        with pq.ParquetWriter(folder / name / "rows.parquet", table.schema) as out:
            for batch in batches:
                out.write_batch(batch)
                count += batch.num_rows if name == "L" else 0
    return {"items": count}


def spark_alone(folder: Path, _: Data) -> dict[str, Any]:
    """What Spark takes for what we do."""
    spark = local_session("ripplenest-bench")
    more = _tables(spark, folder)
    more["L"] = more["L"].union(spark.read.parquet(str(folder / "more")))
    _write(ANSWERS["f2"](more), folder / "computed-after")
    return {
        "sorted": timed(lambda: _write_sorted(spark, folder))[1],
        "computed": timed(lambda: _write(ANSWERS["f2"](_tables(spark, folder)), folder / "computed"))[1],
        "nested": timed(lambda: _write(_nested_of_parts(spark, folder), folder / "nested-of-parts"))[1],
    }


def spark_cached(folder: Path, _: Data) -> dict[str, Any]:
    """What Spark takes to compute the nested rows from input in memory; the answer goes nowhere."""
    spark = local_session("ripplenest-bench")
    frames = {name: frame.cache() for name, frame in _tables(spark, folder).items()}
    for frame in frames.values():
        frame.count()

    def compute() -> None:
        ANSWERS["f2"](frames).write.format("noop").mode("overwrite").save()

    found = Timing.of([timed(compute)[1] for _ in range(1 + ROUNDS)][1:])
    return {"median": found.median, "least": found.least, "most": found.most, "rounds": found.rounds}


def count_differing(folder: Path, _: Data) -> dict[str, Any]:
    """Rows that only one of our answer and Spark's has, before the batches and after one; or Spark's from our parts."""
    pairs = (("computed", "nested"), ("nested-of-parts", "nested"), ("computed-after", "nested-after"))
    return {"rows": sum(differing(*(pq.read_table(folder / name) for name in pair)) for pair in pairs)}


def _tables(spark: SparkSession, folder: Path) -> dict[str, DataFrame]:
    return {r.name: spark.read.parquet(str(folder / r.name)) for r in F2.relations}


def _write_sorted(spark: SparkSession, folder: Path) -> None:
    for r in F2.relations:
        _write(spark.read.parquet(str(folder / r.name)).sort(*r.key), folder / f"sorted-{r.name}")


def _write(frame: DataFrame, path: Path) -> None:
    frame.write.parquet(str(path))


def _nested_of_parts(spark: SparkSession, folder: Path) -> DataFrame:
    """The nested rows from the view's flat part and its dictionaries, which Spark groups by label."""
    names = ("flat", "dictionary-orders", "dictionary-items")
    flat, orders, items = (spark.read.parquet(str(folder / name)) for name in names)
    bags = _by_label(items, ("part", "qty"), "items")
    with_items = _held(orders.withColumnsRenamed({"label": "own", "items": "label"}), bags, "items")
    mine = with_items.drop("label").withColumnRenamed("own", "label")
    held = _held(flat.withColumnRenamed("orders", "label"), _by_label(mine, ("date", "items"), "orders"), "orders")
    return _repeated(held).select("name", "orders")


def _repeated(rows: DataFrame) -> DataFrame:
    return rows.withColumn("_", F.explode(F.sequence(F.lit(1), "_multiplicity")))


def _by_label(rows: DataFrame, fields: tuple[str, ...], bag: str) -> DataFrame:
    return _repeated(rows).groupBy("label").agg(F.collect_list(F.struct(*fields)).alias(bag))


def _held(owners: DataFrame, bags: DataFrame, bag: str) -> DataFrame:
    return owners.join(bags, "label", "left").withColumn(bag, F.coalesce(bag, F.array()))


def main(what: str, folder: str, scale: str, seed: str) -> None:
    work = {"tables": write_tables, "spark": spark_alone, "cached": spark_cached, "differing": count_differing}[what]
    print(json.dumps(work(Path(folder), Data(float(scale), int(seed)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
