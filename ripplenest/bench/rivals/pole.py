"""Polars: lists of structs by grouping, innermost first."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement

import polars as pl
import pyarrow as pa

from ripplenest.bench.changes import Write
from ripplenest.bench.firsts import LIMIT
from ripplenest.bench.gaps import PAUSE
from ripplenest.bench.rings import VARIABLES

Tables = Mapping[str, pl.LazyFrame]
WORTH = (pl.col("qty") * pl.col("price")).sum().alias("worth")
MEAN = pl.col("y").mean().alias("mean")


def _bags(rows: pl.LazyFrame, key: str, fields: Sequence[str], bag: str) -> pl.LazyFrame:
    """By ``key``, its rows as a list of structs."""
    return rows.group_by(key).agg(pl.struct(*fields).alias(bag))


def _holding(owners: pl.LazyFrame, bags: pl.LazyFrame, key: str, bag: str) -> pl.LazyFrame:
    """Owners with their lists, which are empty where they have none."""
    return owners.join(bags, key, "left").with_columns(pl.col(bag).fill_null([]))


def _orders(documents: pl.LazyFrame) -> pl.LazyFrame:
    """Those in the bags of documents."""
    return documents.select("custkey", "orders").explode("orders").drop_nulls("orders").unnest("orders")


def _priced(orders: pl.LazyFrame, parts: pl.LazyFrame) -> pl.LazyFrame:
    """The items in the bags of orders, each with its part and price."""
    return orders.explode("items").drop_nulls("items").unnest("items").join(parts.rename({"name": "part"}), "partkey")


def _documents(documents: pl.LazyFrame, orders: pl.LazyFrame, bag: str) -> pl.LazyFrame:
    """With these orders, of which ``bag`` is shown."""
    mine = _bags(orders, "custkey", ("date", bag), "orders")
    return _holding(documents.drop("orders"), mine, "custkey", "orders").select("name", "orders")


def f2(t: Tables) -> pl.LazyFrame:
    items = _bags(t["L"].rename({"partkey": "part"}), "orderkey", ("part", "qty"), "items")
    orders = _bags(_holding(t["O"], items, "orderkey", "items"), "custkey", ("date", "items"), "orders")
    return _holding(t["C"], orders, "custkey", "orders").select("name", "orders")


def nested(t: Tables) -> pl.LazyFrame:
    orders = _orders(t["D"])
    joined = _priced(orders.select("orderkey", "items"), t["P"]).with_columns(price=pl.col("qty") * pl.col("price"))
    bags = _bags(joined, "orderkey", ("part", "qty", "price"), "items")
    return _documents(t["D"], _holding(orders.drop("items"), bags, "orderkey", "items"), "items")


def flat(t: Tables) -> pl.LazyFrame:
    joined = t["C"].join(t["O"], "custkey").join(t["L"], "orderkey")
    return joined.select("name", "date", pl.col("partkey").alias("part"), "qty")


def nn2(t: Tables) -> pl.LazyFrame:
    orders = _orders(t["D"])
    totals = _priced(orders.select("orderkey", "items"), t["P"]).group_by("orderkey", "part").agg(WORTH)
    bags = _bags(totals, "orderkey", ("part", "worth"), "parts")
    return _documents(t["D"], _holding(orders.drop("items"), bags, "orderkey", "parts"), "parts")


def nf2(t: Tables) -> pl.LazyFrame:
    bags = _orders(t["D"]).join(t["D"].select("custkey", "name"), "custkey").select("name", "items")
    return _priced(bags, t["P"]).group_by("name", "part").agg(WORTH)


def groupby(t: Tables) -> pl.LazyFrame:
    return t["S"].group_by("x").agg(MEAN)


def joingroup(t: Tables) -> pl.LazyFrame:
    joined = t["X"].select("x", pl.col("y").alias("met")).join(t["Y"].select(pl.col("x").alias("met"), "y"), "met")
    return joined.group_by("x").agg(MEAN)


def top10(t: Tables) -> pl.LazyFrame:
    first = t["S"].sort("y", "id", descending=True).group_by("x", maintain_order=True).head(LIMIT)
    return _bags(first, "x", ("y", "id"), "top")


def most(t: Tables) -> pl.LazyFrame:
    return t["S"].group_by("x").agg(pl.col("y").max().alias("most"))


def triangles(t: Tables) -> pl.LazyFrame:
    wedges = t["E"].join(t["E"].select(pl.col("x").alias("y"), pl.col("y").alias("z")), "y").select("x", "z")
    closed = wedges.join(t["E"].select("x", pl.col("y").alias("z")), ["x", "z"])
    return closed.select(pl.len().cast(pl.Int64).alias("n"))


def chain(t: Tables) -> pl.LazyFrame:
    two = t["A"].select("i", pl.col("j").alias("k"), "w").join(t["B"].select(pl.col("i").alias("k"), "j", v="w"), "k")
    three = two.select("i", pl.col("j").alias("k"), pl.col("w") * pl.col("v")).join(
        t["C"].select(pl.col("i").alias("k"), pl.col("j").alias("l"), v="w"), "k"
    )
    return three.group_by("i", "l").agg((pl.col("w") * pl.col("v")).sum())


def moments(t: Tables) -> pl.LazyFrame:
    joined = t["F"].join(t["B"], "brand").join(t["S"], "shop").join(t["R"], "region").join(t["T"], "town")
    pairs = [(pl.col(a) * pl.col(b)).sum().alias(f"{a}_{b}") for a, b in combinations_with_replacement(VARIABLES, 2)]
    return joined.group_by("region").agg(pl.len().cast(pl.Int64).alias("n"), pl.col(*VARIABLES).sum(), *pairs)


def sessions(t: Tables) -> pl.LazyFrame:
    hits = t["H"].select(pl.col("id").alias("hit"), "visitor", "moment")
    joined = t["V"].join_where(
        hits.rename({"visitor": "of"}),
        pl.col("visitor") == pl.col("of"), pl.col("begins") <= pl.col("moment"), pl.col("moment") < pl.col("ends"),
    )  # fmt: skip
    bags = joined.group_by("id").agg(pl.col("hit").alias("hits"))
    return _holding(t["V"].select("id"), bags, "id", "hits")


def gaps(t: Tables) -> pl.LazyFrame:
    moment = pl.col("moment")
    apart = (moment - moment.shift(1).over("visitor") > PAUSE).fill_null(True)
    begun = pl.when(apart).then(moment).forward_fill().over("visitor").alias("start")
    hits = t["H"].sort("visitor", "moment").select("visitor", begun, "id")
    return hits.group_by("visitor", "start").agg(pl.col("id").alias("hits"))


def balances(t: Tables) -> pl.LazyFrame:
    """Of moments that differ."""
    ordered = t["N"].sort("account", "moment")
    return ordered.select("id", pl.col("amount").cum_sum().over("account").alias("balance"))


def peaks(t: Tables) -> pl.LazyFrame:
    """Of moments that differ."""
    ordered = t["N"].sort("account", "moment")
    return ordered.select("id", pl.col("amount").cum_max().over("account").alias("peak"))


ANSWERS: Mapping[str, Callable[[Tables], pl.LazyFrame]] = {
    "f2": f2, "nested": nested, "flat": flat, "nn2": nn2, "nf2": nf2, "groupby": groupby, "joingroup": joingroup,
    "top10": top10, "most": most,
    "triangles": triangles, "chain": chain, "paths": chain, "moments": moments, "sessions": sessions, "gaps": gaps,
    "balances": balances, "peaks": peaks,
}  # fmt: skip


class Pole:
    """Frames of its own."""

    def __init__(self, workload: str, keys: Mapping[str, Sequence[str]]) -> None:
        self._query, self._keys = ANSWERS[workload], keys
        self._frames: dict[str, pl.DataFrame] = {}
        self._answer = pl.DataFrame()

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        for name, table in tables.items():
            self._frames[name] = _frame(table)

    def apply(self, writes: Sequence[Write]) -> None:
        for write in writes:
            before, change = self._frames[write.relation], _frame(write.rows)
            inserts = write.verb == "insert"
            after = pl.concat([before, change]) if inserts else before.join(change, self._keys[write.relation], "anti")
            self._frames[write.relation] = after.rechunk()

    def recompute(self) -> None:
        self._answer = self._query({name: frame.lazy() for name, frame in self._frames.items()}).collect()

    def answer(self) -> pa.Table:
        return self._answer.to_arrow(compat_level=pl.CompatLevel.oldest())

    def close(self) -> None:
        self._frames.clear()
        self._answer = pl.DataFrame()


def _frame(table: pa.Table) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found
