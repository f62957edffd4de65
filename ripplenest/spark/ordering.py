"""The order of rows over DataFrames: Spark orders texts by their bytes, and NaN above all doubles, too."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from ripplenest.data.order import By
from ripplenest.data.rows import WEIGHT
from ripplenest.plan.ranking import Ranked


def once(made: DataFrame) -> DataFrame:
    """Each row once, with the sum of its weights. Spark raises where one is there less than 0 times."""
    columns = made.columns[:-1]
    there = F.when(F.col(WEIGHT) < 0, F.raise_error(F.lit("rows in order that are there less than 0 times")))
    return made.groupBy(*columns).agg(F.sum(WEIGHT).alias(WEIGHT)).filter(there.otherwise(F.col(WEIGHT) != 0))


def so_far(window: WindowSpec, r: Ranked, columns: Sequence[str]) -> WindowSpec:
    """From the first row of a window to each, in the order of first rows."""
    order = [way(F.col(columns[b.column]), b) for b in r.order.every(len(columns)) if b.column not in r.order.key]
    return window.orderBy(*(order or [F.lit(0)])).rowsBetween(Window.unboundedPreceding, 0)


def way(column: Column, by: By) -> Column:
    """A column as rows are ordered by it."""
    if by.descending:
        return column.desc_nulls_first() if by.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if by.nulls_first else column.asc_nulls_last()
