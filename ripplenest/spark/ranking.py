"""The first rows of places over DataFrames, for maps that are built where their rows are. Law: the rows are those of
``data/order.py``: Spark orders texts by their bytes, and NaN above all doubles, too."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ripplenest.data.order import By
from ripplenest.data.rows import WEIGHT
from ripplenest.plan.ranking import Ranked

SO_FAR = "so_far"  # copies up to a row, its own among them


def first_rows(r: Ranked, made: DataFrame) -> DataFrame:
    """The first copies of each key as columns c0, …, w; of rows in such columns."""
    columns = made.columns[:-1]
    there = F.when(F.col(WEIGHT) < 0, F.raise_error(F.lit("rows in order that are there less than 0 times")))
    once = made.groupBy(*columns).agg(F.sum(WEIGHT).alias(WEIGHT)).filter(there.otherwise(F.col(WEIGHT) != 0))
    keys = [columns[i] for i in r.order.key]
    order = [way(F.col(columns[b.column]), b) for b in r.order.every(len(columns)) if b.column not in r.order.key]
    window = Window.partitionBy(*keys).orderBy(*(order or [F.lit(0)])).rowsBetween(Window.unboundedPreceding, 0)
    counted = once.withColumn(SO_FAR, F.sum(F.col(WEIGHT).cast("decimal(38,0)")).over(window))
    before = F.col(SO_FAR) - F.col(WEIGHT)
    left = F.least(F.lit(r.limit) - before, F.col(WEIGHT).cast("decimal(38,0)")).cast("bigint")
    return counted.filter(before < r.limit).select(*columns, left.alias(WEIGHT))


def way(column: Column, by: By) -> Column:
    """A column as rows are ordered by it."""
    if by.descending:
        return column.desc_nulls_first() if by.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if by.nulls_first else column.asc_nulls_last()
