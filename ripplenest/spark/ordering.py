"""The order of rows over DataFrames: Spark orders texts by their bytes, and NaN above all doubles, too."""

from collections.abc import Sequence
from functools import reduce
from operator import and_

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


def apart(r: Ranked, made: DataFrame) -> tuple[DataFrame, DataFrame]:
    """The rows, each once, with nothing in the columns that places alone have; and the places that have an edge."""
    *columns, asked = made.columns[:-1]
    group, rest = [columns[i] for i in r.group], columns[r.keys :]
    nothing = (F.lit(None).alias(columns[i]) for i in r.asked_by)
    rows = once(made.filter(~F.col(asked)).select(*group, *rest, *nothing, WEIGHT)).select(*columns, WEIGHT)
    places = made.filter(F.col(asked) & F.col(columns[r.edge]).isNotNull()).select(*columns[: r.keys]).distinct()
    return rows, places


def same(columns: Sequence[str], a: str, b: str) -> Column:
    """Whether two frames agree in columns; NULL is NULL."""
    return reduce(and_, (F.col(f"{a}.{c}").eqNullSafe(F.col(f"{b}.{c}")) for c in columns), F.lit(True))


def so_far(window: WindowSpec, r: Ranked, columns: Sequence[str]) -> WindowSpec:
    """From the first row of a window to each, in the order of first rows."""
    order = [way(F.col(columns[b.column]), b) for b in r.order.every(len(columns)) if b.column not in r.order.key]
    return window.orderBy(*(order or [F.lit(0)])).rowsBetween(Window.unboundedPreceding, 0)


def way(column: Column, by: By) -> Column:
    """A column as rows are ordered by it."""
    if by.descending:
        return column.desc_nulls_first() if by.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if by.nulls_first else column.asc_nulls_last()
