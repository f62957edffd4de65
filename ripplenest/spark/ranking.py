"""The first rows of places over DataFrames, for maps that are built where their rows are. Law: the rows are those of
``data/order.py``, behind edges of ``run/nearest.py``, and up to edges in another order of ``run/so_far.py``."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ripplenest.data.rows import WEIGHT
from ripplenest.plan.ranking import Nearest, Ranked
from ripplenest.spark.ordering import apart, once, same, so_far, way
from ripplenest.spark.so_far import between, first_so_far

SO_FAR = "so_far"  # copies up to a row, its own among them
NUMBER, MANY = "number", "many"  # of a row, or of the first behind an edge, in its group, which has so many
VALUE, KIND = "value", "kind"


def first_rows(r: Ranked, made: DataFrame) -> DataFrame:
    """The first copies of each key as columns c0, …, w; of rows in such columns."""
    if r.nearest is not None and r.nearest.by is not None:
        if r.nearest.until is not None:
            return _first(r, between(r, r.nearest, made))
        return first_so_far(r, r.nearest, made)
    return _first(r, once(made) if r.nearest is None else _behind(r, r.nearest, made))


def _first(r: Ranked, once: DataFrame) -> DataFrame:
    columns = once.columns[:-1]
    window = Window.partitionBy(*(columns[i] for i in r.order.key))
    counted = once.withColumn(SO_FAR, F.sum(F.col(WEIGHT).cast("decimal(38,0)")).over(so_far(window, r, columns)))
    before = F.col(SO_FAR) - F.col(WEIGHT)
    left = F.least(F.lit(r.limit) - before, F.col(WEIGHT).cast("decimal(38,0)")).cast("bigint")
    return counted.filter(before < r.limit).select(*columns, left.alias(WEIGHT))


def _behind(r: Ranked, nearest: Nearest, made: DataFrame) -> DataFrame:
    """Of each place as many rows as may be its first ones, which have numbers in their group that follow each other."""
    columns = made.columns[:-2]
    group, own, key = [columns[i] for i in r.group], [*columns[r.keys :], WEIGHT], columns[: r.keys]
    rows, places = apart(r, made)
    numbered = rows.withColumn(NUMBER, F.count(F.lit(1)).over(so_far(Window.partitionBy(*group), r, columns)))
    first = _numbers(r, nearest, rows, places, key)
    until = F.col(NUMBER) + F.least(F.col(MANY) - F.col(NUMBER), F.lit(r.limit))  # which may be all there can be
    wanted = first.filter(F.col(NUMBER) < F.col(MANY))
    wanted = wanted.select(*key, F.explode(F.sequence(F.col(NUMBER) + 1, until)).alias(NUMBER)).alias("p")
    found = wanted.join(numbered.alias("y"), same([*group, NUMBER], "p", "y"))
    return found.select(*(f"p.{c}" for c in key), *(f"y.{c}" for c in own))


def _numbers(r: Ranked, n: Nearest, rows: DataFrame, places: DataFrame, key: Sequence[str]) -> DataFrame:
    """By place how many rows of its group are not behind its edge, and how many there are."""
    by, group, edge = r.order.by[0], [key[i] for i in r.group], key[r.edge]
    values = rows.select(*key, F.col(rows.columns[by.column]).alias(VALUE), F.lit(1).alias(KIND))
    both = values.unionAll(places.select(*key, F.col(edge).alias(VALUE), F.lit(0).alias(KIND)))
    whole = Window.partitionBy(*group)
    tied = F.col(KIND).desc() if n.open else F.col(KIND).asc()
    before = whole.orderBy(way(F.col(VALUE), by), tied).rowsBetween(Window.unboundedPreceding, 0)
    told = both.withColumn(NUMBER, F.sum(KIND).over(before)).withColumn(MANY, F.sum(KIND).over(whole))
    return told.filter(F.col(KIND) == 0).select(*key, NUMBER, MANY)
