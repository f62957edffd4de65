"""Law 6 on Spark: the trigger program after batches = recomputation, for many databases in each query's jobs.

Families: the nested view = direct evaluation by the reference interpreter; every map = its definition computed from
scratch in Python. Packing is checked by running it in Python too.
"""

from collections.abc import Iterator
from random import Random

import pytest
from pyspark.sql import SparkSession
from support.choices import Choices, seeded
from support.correlated import correlated_query
from support.packed import Packed
from support.programs import Running, planned, query_of
from support.queries import random_query
from support.schemas import random_schema
from support.strategies import Case, case_of
from support.updates import nested_database

from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.nrc.interpret import evaluate
from ripplenest.run.joiner import Joiner, PythonJoiner
from ripplenest.spark.joiner import SparkJoiner

BATCHES = 2


def cases_of_one_query(c: Choices, count: int) -> list[Case]:
    """``count`` databases with batches for one random query; every second query is a correlated view."""
    schema = random_schema(c)
    query = correlated_query(c, schema) if c.number(2) else random_query(c, schema)
    return [case_of(c, schema, query, BATCHES) for _ in range(count)]


def law_6(seed: int, count: int, joiner: Joiner) -> int:
    """Checks one query on ``count`` databases; how many results have rows."""
    cases = cases_of_one_query(seeded(seed), count)
    query = query_of(cases[0].schema, cases[0].query)
    _, program = planned(query, Options(MODES[seed % len(MODES)]))
    packed = Packed(program, [case.parts for case in cases], joiner)
    filled, states = 0, [case.parts for case in cases]
    for i in range(BATCHES):
        packed.apply([case.batches[i].delta for case in cases])
        states = [case.batches[i].after(state) for case, state in zip(cases, states, strict=True)]
        for n, (case, state) in enumerate(zip(cases, states, strict=True)):
            own = packed.case(n, PythonJoiner())
            result = evaluate(query.body, nested_database(case.schema, state))
            assert own.nested() == result, f"seed {seed}, case {n}, batch {i}"
            assert own.maps() == Running.start(program, state).maps(), f"seed {seed}, case {n}, batch {i}"
            filled += bool(result)
    return filled


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark without generated code: every random query would be compiled for a few rows. Other tests run with it."""
    key = "spark.sql.codegen.wholeStage"
    before = spark.conf.get(key)
    spark.conf.set(key, "false")
    yield spark
    spark.conf.set(key, str(before))


def test_packing_changes_nothing() -> None:
    """The packed program in Python: the law holds for each case."""
    for seed in range(20):
        law_6(seed, 4, PythonJoiner())


def test_law_6_on_spark(interpreted: SparkSession) -> None:
    """10 queries on 30 databases each, with 2 batches, on Spark."""
    base = Random(6).randrange(2**32)
    filled = sum(law_6(base + i, 30, SparkJoiner(interpreted)) for i in range(10))
    assert filled > 10 * 30 * BATCHES / 3


@pytest.mark.long
def test_law_6_on_spark_long(interpreted: SparkSession) -> None:
    """150 queries on 30 databases each, with 2 batches, on Spark."""
    base = Random(60).randrange(2**32)
    filled = sum(law_6(base + i, 30, SparkJoiner(interpreted)) for i in range(150))
    assert filled > 150 * 30 * BATCHES / 3
