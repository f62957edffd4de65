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
from ripplenest.spark.frames import Join, Layout, few, frame, join_of, layout, rows_of, summed

ARITHMETIC = (ArithmeticException, NumberFormatException, DateTimeException, SparkRuntimeException)


class SparkJoiner:
    """Products as DataFrame joins on flat tables."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._layouts: dict[object, Layout] = {}
        self._joins: dict[tuple[int, int], Join] = {}

    def join(self, tasks: Sequence[Task], maps: Sequence[PlannedMap]) -> dict[str, Rows]:
        """By map, the sum of its tasks' rows, consolidated. One Spark job. Raises EvaluationError."""
        shared = self._layout(maps)
        small = few(rows for t in tasks for rows in t.inputs)
        inputs = {id(rows): rows for t in tasks for rows in t.inputs}  # what several products read goes to Spark once
        frames = {key: frame(self.spark, rows) for key, rows in inputs.items()}
        products = [
            self._join(t, shared).frame(self.spark, [frames[id(rows)] for rows in t.inputs], small) for t in tasks
        ]
        with evaluation():
            answer = summed(products, shared, small).toArrow()
        return {m.name: rows_of(answer, m, shared) for m in maps}

    def _layout(self, maps: Sequence[PlannedMap]) -> Layout:
        key = tuple((m.name, m.types) for m in maps)
        if key not in self._layouts:
            self._layouts[key] = layout(maps)
        return self._layouts[key]

    def _join(self, t: Task, shared: Layout) -> Join:
        """By identity: plans live as long as their database, and what is kept here keeps them and their identity."""
        key = (id(t.product), id(shared))
        if key not in self._joins:
            self._joins[key] = join_of(t.product, t.map, shared)
        return self._joins[key]


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
