"""The Spark engine for products: all joins of a level in one job."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import (
    ArithmeticException,
    DateTimeException,
    NumberFormatException,
    PySparkException,
    SparkRuntimeException,
)
from pyspark.sql import SparkSession

from ripplenest.engine import Task
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.planned import PlannedMap
from ripplenest.rows import Rows
from ripplenest.spark.frames import Frames, few, tagged, untagged

ARITHMETIC = (ArithmeticException, NumberFormatException, DateTimeException, SparkRuntimeException)


class SparkJoiner:
    """Products as DataFrame joins on flat tables."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def join(self, tasks: Sequence[Task], maps: Sequence[PlannedMap]) -> dict[str, Rows]:
        """By map, the sum of its tasks' rows, consolidated. One Spark job. Raises EvaluationError."""
        busy = [m for m in maps if any(t.map == m.name for t in tasks)]
        tags = {m.name: i for i, m in enumerate(busy)}
        types = [m.types for m in busy]
        frames = Frames(self.spark)
        products = [frames.product(t.product, t.inputs, tags[t.map], types) for t in tasks]
        with evaluation():
            answer = tagged(products, types, few(rows for t in tasks for rows in t.inputs)).toArrow()
        found = {m.name: untagged(answer, tags[m.name], m.types) for m in busy}
        return {m.name: found.get(m.name, Rows.empty(m.types)) for m in maps}


@contextmanager
def evaluation() -> Iterator[None]:
    """Spark's arithmetic errors as EvaluationError; the message names Spark's own condition."""
    try:
        yield
    except ARITHMETIC as error:
        raise EvaluationError("a scalar has no value", got=condition(error)) from error


def condition(error: PySparkException) -> str:
    """Spark's name for what went wrong, such as ARITHMETIC_OVERFLOW."""
    return error.getCondition() or type(error).__name__
