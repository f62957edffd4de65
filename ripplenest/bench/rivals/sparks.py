"""Spark, from cached DataFrames: ``collect_list`` of structs by grouping, innermost first. It is timed to nowhere: a
cached or written answer would cost it more."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ripplenest.bench.changes import Write
from ripplenest.spark.session import local_session

Tables = Mapping[str, DataFrame]


def _bags(rows: DataFrame, key: str, fields: Sequence[str], bag: str) -> DataFrame:
    """By ``key``, its rows as an array of structs."""
    return rows.groupBy(key).agg(F.collect_list(F.struct(*fields)).alias(bag))


def _or_empty(bag: str) -> Column:
    return F.coalesce(bag, F.array()).alias(bag)


def _holding(owners: DataFrame, bags: DataFrame, key: str, kept: Sequence[str], bag: str) -> DataFrame:
    """Owners with their arrays, which are empty where they have none."""
    return owners.join(bags, key, "left").select(*kept, _or_empty(bag))


def f2(t: Tables) -> DataFrame:
    items = _bags(t["L"].withColumnRenamed("partkey", "part"), "orderkey", ("part", "qty"), "items")
    orders = _holding(t["O"], items, "orderkey", ("custkey", "date"), "items")
    return _holding(t["C"], _bags(orders, "custkey", ("date", "items"), "orders"), "custkey", ("name",), "orders")


def nf2(t: Tables) -> DataFrame:
    orders = t["D"].select("custkey", F.inline("orders"))
    items = orders.select("orderkey", F.inline("items"))
    parts = t["P"].withColumnRenamed("name", "part")
    price = (F.col("qty") * F.col("price")).alias("price")
    joined = items.join(parts, "partkey").select("orderkey", "part", "qty", price)
    bags = _bags(joined, "orderkey", ("part", "qty", "price"), "items")
    mine = _holding(orders.drop("items"), bags, "orderkey", ("custkey", "date"), "items")
    owners = t["D"].select("custkey", "name")
    return _holding(owners, _bags(mine, "custkey", ("date", "items"), "orders"), "custkey", ("name",), "orders")


def flat(t: Tables) -> DataFrame:
    joined = t["C"].join(t["O"], "custkey").join(t["L"], "orderkey")
    return joined.select("name", "date", F.col("partkey").alias("part"), "qty")


ANSWERS: Mapping[str, Callable[[Tables], DataFrame]] = {"f2": f2, "nf2": nf2, "flat": flat}


class Sparks:
    """DataFrames of a local session, which stays when this is closed."""

    def __init__(self, workload: str, keys: Mapping[str, Sequence[str]]) -> None:
        """Raises EnvironmentProblem where Spark does not start."""
        self._query, self._keys, self._spark = ANSWERS[workload], keys, local_session()
        self._frames: dict[str, DataFrame] = {}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        for name, table in tables.items():
            self._keep(name, self._spark.createDataFrame(table))

    def apply(self, writes: Sequence[Write]) -> None:
        for write in writes:
            before, change = self._frames[write.relation], self._spark.createDataFrame(write.rows)
            key = list(self._keys[write.relation])
            inserts = write.verb == "insert"
            self._keep(write.relation, before.union(change) if inserts else before.join(change, key, "left_anti"))

    def _keep(self, name: str, frame: DataFrame) -> None:
        """Evaluated once, and without the plan that led to it: plans that grow are what is timed after some batches."""
        self._frames[name] = frame.localCheckpoint()

    def recompute(self) -> None:
        self._query(self._frames).write.format("noop").mode("overwrite").save()

    def answer(self) -> pa.Table:
        return self._query(self._frames).toArrow()

    def close(self) -> None:
        self._frames.clear()
