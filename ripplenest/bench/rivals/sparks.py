"""Spark, from cached DataFrames: ``collect_list`` of structs by grouping, innermost first. It is timed to nowhere: a
cached or written answer would cost it more."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ripplenest.bench.changes import Write
from ripplenest.bench.firsts import LIMIT
from ripplenest.bench.gaps import PAUSE
from ripplenest.bench.rings import VARIABLES
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


def _worth() -> Column:
    return F.sum(F.col("qty") * F.col("price")).alias("worth")


def _mean() -> Column:
    return F.avg("y").alias("mean")


def _priced(orders: DataFrame, key: str, parts: DataFrame) -> DataFrame:
    """The items in the bags of orders, each with the ``key`` of its order, its part and price."""
    return orders.select(key, F.inline("items")).join(parts.withColumnRenamed("name", "part"), "partkey")


def _documents(documents: DataFrame, orders: DataFrame, bags: DataFrame, bag: str) -> DataFrame:
    """With their ``orders``, of which the date and their ``bags`` are shown."""
    mine = _holding(orders.drop("items"), bags, "orderkey", ("custkey", "date"), bag)
    owners = documents.select("custkey", "name")
    return _holding(owners, _bags(mine, "custkey", ("date", bag), "orders"), "custkey", ("name",), "orders")


def f2(t: Tables) -> DataFrame:
    items = _bags(t["L"].withColumnRenamed("partkey", "part"), "orderkey", ("part", "qty"), "items")
    orders = _holding(t["O"], items, "orderkey", ("custkey", "date"), "items")
    return _holding(t["C"], _bags(orders, "custkey", ("date", "items"), "orders"), "custkey", ("name",), "orders")


def nested(t: Tables) -> DataFrame:
    orders = t["D"].select("custkey", F.inline("orders"))
    price = (F.col("qty") * F.col("price")).alias("price")
    joined = _priced(orders, "orderkey", t["P"]).select("orderkey", "part", "qty", price)
    return _documents(t["D"], orders, _bags(joined, "orderkey", ("part", "qty", "price"), "items"), "items")


def flat(t: Tables) -> DataFrame:
    joined = t["C"].join(t["O"], "custkey").join(t["L"], "orderkey")
    return joined.select("name", "date", F.col("partkey").alias("part"), "qty")


def nn2(t: Tables) -> DataFrame:
    orders = t["D"].select("custkey", F.inline("orders"))
    totals = _priced(orders, "orderkey", t["P"]).groupBy("orderkey", "part").agg(_worth())
    return _documents(t["D"], orders, _bags(totals, "orderkey", ("part", "worth"), "parts"), "parts")


def nf2(t: Tables) -> DataFrame:
    orders = t["D"].select(F.col("name").alias("customer"), F.inline("orders"))
    items = _priced(orders, "customer", t["P"]).withColumnRenamed("customer", "name")
    return items.groupBy("name", "part").agg(_worth())


def groupby(t: Tables) -> DataFrame:
    return t["S"].groupBy("x").agg(_mean())


def joingroup(t: Tables) -> DataFrame:
    met = t["X"].select("x", F.col("y").alias("met")).join(t["Y"].select(F.col("x").alias("met"), "y"), "met")
    return met.groupBy("x").agg(_mean())


def top10(t: Tables) -> DataFrame:
    place = F.row_number().over(Window.partitionBy("x").orderBy(F.desc("y"), F.desc("id")))
    first = t["S"].withColumn("place", place).filter(F.col("place") <= LIMIT)
    return first.groupBy("x").agg(F.collect_list(F.struct("y", "id")).alias("top"))


def most(t: Tables) -> DataFrame:
    return t["S"].groupBy("x").agg(F.max("y").alias("most"))


def triangles(t: Tables) -> DataFrame:
    wedges = t["E"].join(t["E"].select(F.col("x").alias("y"), F.col("y").alias("z")), "y").select("x", "z")
    closed = wedges.join(t["E"].select("x", F.col("y").alias("z")), ["x", "z"])
    return closed.agg(F.count("*").alias("n"))


def chain(t: Tables) -> DataFrame:
    a = t["A"].select("i", "j", F.col("w").alias("a"))
    b = t["B"].select(F.col("i").alias("j"), F.col("j").alias("k"), F.col("w").alias("b"))
    c = t["C"].select(F.col("i").alias("k"), F.col("j").alias("l"), F.col("w").alias("c"))
    weight = F.sum(F.col("a") * F.col("b") * F.col("c")).alias("w")
    return a.join(b, "j").join(c, "k").groupBy("i", "l").agg(weight)


def moments(t: Tables) -> DataFrame:
    joined = t["F"].join(t["B"], "brand").join(t["S"], "shop").join(t["R"], "region").join(t["T"], "town")
    pairs = [F.sum(joined[a] * joined[b]).alias(f"{a}_{b}") for a, b in combinations_with_replacement(VARIABLES, 2)]
    return joined.groupBy("region").agg(F.count("*").alias("n"), *(F.sum(v).alias(v) for v in VARIABLES), *pairs)


def sessions(t: Tables) -> DataFrame:
    hits = t["H"].select(F.col("id").alias("hit"), F.col("visitor").alias("of"), "moment")
    within = (F.col("begins") <= F.col("moment")) & (F.col("moment") < F.col("ends"))
    joined = t["V"].join(hits, (F.col("visitor") == F.col("of")) & within)
    bags = joined.groupBy("id").agg(F.collect_list("hit").alias("hits"))
    held = t["V"].select("id").join(bags, "id", "left")
    return held.select("id", F.coalesce("hits", F.array().cast("array<bigint>")).alias("hits"))


def gaps(t: Tables) -> DataFrame:
    ordered = Window.partitionBy("visitor").orderBy("moment")
    apart = F.coalesce(F.col("moment") - F.lag("moment").over(ordered) > PAUSE, F.lit(True))
    told = t["H"].withColumn("apart", apart)
    begun = F.max(F.when(F.col("apart"), F.col("moment"))).over(ordered).alias("start")
    return told.select("visitor", begun, "id").groupBy("visitor", "start").agg(F.collect_list("id").alias("hits"))


def balances(t: Tables) -> DataFrame:
    until = Window.partitionBy("account").orderBy("moment")
    return t["N"].select("id", F.sum("amount").over(until).alias("balance"))


def peaks(t: Tables) -> DataFrame:
    until = Window.partitionBy("account").orderBy("moment")
    return t["N"].select("id", F.max("amount").over(until).alias("peak"))


ANSWERS: Mapping[str, Callable[[Tables], DataFrame]] = {
    "f2": f2, "nested": nested, "flat": flat, "nn2": nn2, "nf2": nf2, "groupby": groupby, "joingroup": joingroup,
    "top10": top10, "most": most,
    "triangles": triangles, "chain": chain, "paths": chain, "moments": moments, "sessions": sessions, "gaps": gaps,
    "balances": balances, "peaks": peaks,
}  # fmt: skip


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
