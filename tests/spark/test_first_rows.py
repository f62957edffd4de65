"""The first rows behind edges, and those so far, over DataFrames are those over columns, however many are asked for."""

from collections.abc import Callable
from random import Random

import pytest
from pyspark.sql import SparkSession

from ripplenest.data.order import By, Ordering
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.nrc.bags import MAX_MULTIPLICITY
from ripplenest.nrc.types import BOOL, LONG, STRING, Base, nullable
from ripplenest.plan.ranking import Nearest, Ranked
from ripplenest.run import nearest, so_far
from ripplenest.spark.ranking import first_rows

TYPES = (nullable(STRING), nullable(LONG), LONG, LONG, STRING)


@pytest.mark.parametrize(("limit", "descending", "is_open"), [(1, True, True), (MAX_MULTIPLICITY, False, False)])
def test_first_rows_behind_edges(spark: SparkSession, limit: int, descending: bool, is_open: bool) -> None:
    order = Ordering((0, 1, 2), (By(3, descending),))
    check(spark, Ranked("O", order, limit, 3, TYPES, None, Nearest("Dom", is_open, 1)), nearest.built)


@pytest.mark.parametrize(("limit", "descending", "is_open"), [(1, True, True), (4, False, False), (2, True, False)])
def test_first_rows_so_far(spark: SparkSession, limit: int, descending: bool, is_open: bool) -> None:
    order = Ordering((0, 1, 2), (By(4, descending),))
    by = By(3, descending=is_open)
    check(spark, Ranked("O", order, limit, 3, TYPES, None, Nearest("Dom", is_open, 1, by)), so_far.built)


@pytest.mark.parametrize(("is_open", "until", "descending"), [(False, True, True), (True, False, False)])
def test_first_rows_between_edges(spark: SparkSession, is_open: bool, until: bool, descending: bool) -> None:
    order = Ordering((0, 1, 2), (By(4), By(3, True)))
    edges = Nearest("Dom", is_open, 1, By(3, descending), until)
    check(spark, Ranked("O", order, 2, 3, TYPES, None, edges), so_far.built)


def check(spark: SparkSession, ranked: Ranked, built: Callable[[Ranked, Rows, tuple[Base, ...]], Rows]) -> None:
    random = Random(ranked.limit)
    groups = ["a", "b", None]
    values = [(random.choice(groups), 0, 0, random.randrange(8), random.choice("xy")) for _ in range(40)]
    rows = {(*row, False): 1 + n % 3 for n, row in enumerate(values)}
    edges = [(random.choice([None, *range(8)]), of) for of in range(20)]  # what they are computed of is beside them
    if ranked.nearest is not None and ranked.nearest.until is not None:
        edges = [(edge, edge + (-3 if ranked.compared.descending else 3)) for edge in range(8)]
    places = {(random.choice(groups), *edge, 0, "", True): 1 for edge in edges}
    made = Rows.of_pairs((*TYPES, BOOL), [*rows.items(), *places.items()])
    columns = f"c0 string, c1 bigint, c2 bigint, c3 bigint, c4 string, c5 boolean, {WEIGHT} bigint"
    frame = spark.createDataFrame([(*row, n) for row, n in made.pairs()], columns)
    found = {tuple(r)[:-1]: r[-1] for r in first_rows(ranked, frame).collect()}
    assert found == built(ranked, made, TYPES).consolidated().counts() and len(found) > 5
