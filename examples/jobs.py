"""Jobs of Spark around a view: one keeps it over JSON documents, another reads it, and a third follows its changes.

    python examples/jobs.py

The documents are customers with their orders. They come in two files, of which the second corrects a customer and has a
new one. Who reads and who follows needs no more than the folder of the state and `rn.register`.
"""

import json
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import ripplenest as rn
from ripplenest import Bag

MONDAY = [
    {"custkey": 7, "name": "Ann", "orders": [{"orderkey": 11, "price": 120}, {"orderkey": 12, "price": 8}]},
    {"custkey": 8, "name": "Bob", "orders": []},
]
TUESDAY = [
    {"custkey": 7, "name": "Ann", "orders": [{"orderkey": 11, "price": 120}, {"orderkey": 12, "price": 80}]},
    {"custkey": 9, "name": "Cy", "orders": [{"orderkey": 31, "price": 60}]},
]


@rn.record
class Order:
    orderkey: int
    price: int


@rn.record
class Customer:
    custkey: int
    name: str
    orders: Bag[Order]


@rn.view
def dear(Customers: Bag[Customer]):
    """Customers with their orders of 50 and more."""
    return [
        {"name": c.name, "dear": [{"order": o.orderkey, "price": o.price} for o in c.orders if o.price >= 50]}
        for c in Customers
    ]


def keep(spark: SparkSession, state: str, day: int, documents: str) -> None:
    """The job that keeps the view: it can be repeated, as can each of its batches."""
    with rn.open(state, spark=spark) as db:
        db.relation("Customers", Customer, key="custkey", keys={"orders": "orderkey"})
        db.create(dear)
        with db.batch(source="documents", seq=day) as b:
            b.upsert("Customers", spark.read.json(documents))


def read(spark: SparkSession, state: str) -> None:
    """A job that reads it."""
    show(spark.read.format("ripplenest").option("view", "dear").load(state))


def follow(spark: SparkSession, state: str, checkpoint: str) -> None:
    """A stream of what changes, which goes on where it was: at first, all that is there has come."""
    changes = spark.readStream.format("ripplenest").option("view", "dear").option("since", "start").load(state)
    query = changes.writeStream.foreachBatch(lambda rows, _: show(rows)).option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()


def show(rows: DataFrame) -> None:
    """Bags have no order, so that they are sorted to be printed."""
    rows.withColumn("dear", F.sort_array("dear")).orderBy(*rows.columns).show(truncate=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        state, checkpoint = str(folder / "state"), str(folder / "checkpoint")
        with rn.open(state) as db:
            spark = db.spark  # a local session, or the one that is active
        rn.register(spark)
        for day, documents in enumerate((MONDAY, TUESDAY), start=1):
            file = folder / f"{day}.json"
            file.write_text("".join(json.dumps(d) + "\n" for d in documents))
            keep(spark, state, day, str(file))
            print(f"day {day}: what there is to read, and what has changed")
            read(spark, state)
            follow(spark, state, checkpoint)


if __name__ == "__main__":
    main()
