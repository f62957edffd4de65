"""The Spark engine for products: all that it is asked at once in one job."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Protocol

from attrs import field, frozen
from cachetools import LRUCache
from pyspark.errors import (
    ArithmeticException,
    DateTimeException,
    NumberFormatException,
    PySparkException,
    SparkRuntimeException,
)
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from ripplenest.data.grouping import crowd
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.pairs import Crowd, in_pairs
from ripplenest.plan.planned import PlannedMap, Target
from ripplenest.run.engines import MOST
from ripplenest.run.joiner import Joined, Joiner, Task
from ripplenest.run.schedule import rows_of
from ripplenest.run.step import Stepped
from ripplenest.spark.frames import SMALL_ROWS, Join, Layout, answered, few, frame, join_of, layout, summed, together
from ripplenest.spark.session import PAGE_SIZE, SMALL_PAGES
from ripplenest.store.files import Filed, Files

FEW_JOINS = 12  # in one task of a session whose pages are as large as Spark makes them: a 16th of a core's memory
MANY_JOINS = 240  # in one of a session with small pages
PREPARED = 128  # sets of targets that are remembered: which maps a batch changes last depends on the parts it changes
GIVEN = 1 << 23  # bytes of rows that Spark is given before plans are let go, which hold some eight times that of heap
QUERY_LOG = "DataFrameQueryContextLogger"  # where pyspark writes what went wrong in a query, on stderr
ARITHMETIC = (ArithmeticException, NumberFormatException, DateTimeException, SparkRuntimeException)


class Large(Protocol):
    """Who joins rows that are not to be in Java's heap."""

    @property
    def is_able(self) -> bool:
        """Whether it can, where the session's workers are."""

    def joined(
        self, tasks: Sequence[Task], targets: Sequence[Target], prepared: "Prepared", files: Files | None
    ) -> Joined:
        """By target, the rows of its tasks, each once or more; those of many may be in ``files``. Raises
        EvaluationError."""

    def stepped(self, m: PlannedMap, made: Filed, files: Files) -> Stepped | None:
        """The per-key step of a map (``run.step.Stepper``). Raises EvaluationError."""


class SparkJoiner:
    """Products as DataFrame joins on flat tables: of few rows; and of many by ``large``, if that is able to. What Spark
    would make pair by pair is joined ``here``, if anybody does (``plan/pairs.py``)."""

    def __init__(self, spark: SparkSession, large: Large | None = None, here: Joiner | None = None) -> None:
        self.spark = spark
        self._large, self._here = large, here
        self._prepared: LRUCache[object, Prepared] = LRUCache(PREPARED)
        self._lock = Lock()
        self._given = 0
        self._most = MANY_JOINS if spark.conf.get(PAGE_SIZE, None) in SMALL_PAGES else FEW_JOINS

    def writing(self, files: Files) -> Joiner:
        """See ``run.joiner.Writing``."""
        return _Writing(self, files)

    def join(self, tasks: Sequence[Task], targets: Sequence[Target], files: Files | None = None) -> Joined:
        """By target, the sum of its tasks' rows, consolidated. One Spark job unless there are very many joins, or rows
        that few inputs make, or sums of many in ``files``. Raises EvaluationError."""
        own = frozenset[str]() if self._here is None else _in_pairs(tasks)
        if self._here is None or not own:
            return self._told(tasks, targets, files)
        mine, rest = ([t for t in tasks if (t.target in own) == is_own] for is_own in (True, False))
        found = self._here.join(mine, [t for t in targets if t.name in own])
        found.here = rows_of(mine)
        return found.beside(self._told(rest, [t for t in targets if t.name not in own], files))

    def _told(self, tasks: Sequence[Task], targets: Sequence[Target], files: Files | None) -> Joined:
        """By jobs. What has no value, and of which rows, this process says of few: Spark names a condition alone."""
        try:
            return self._by_jobs(tasks, targets, files)
        except EvaluationError:
            if self._here is not None and few(rows for t in tasks for rows in t.inputs):
                self._here.join(tasks, targets)
            raise

    def _by_jobs(self, tasks: Sequence[Task], targets: Sequence[Target], files: Files | None) -> Joined:
        if not tasks:
            return Joined({t.name: Rows.empty(t.types) for t in targets})
        try:
            first, *rest = (self._joined(group, targets, files) for group in _groups(tasks, self._most))
        finally:
            given = {id(rows): rows for t in tasks for rows in t.inputs if not isinstance(rows, Filed)}
            self._let_go(sum(rows.arrow().nbytes for rows in given.values()))
        found = {name: _together([rows, *(more[name] for more in rest)]) for name, rows in first.items()}
        return Joined(found, sum(own.jobs for own in (first, *rest)), sum(own.read for own in (first, *rest)))

    def stepped_by_key(self, m: PlannedMap, made: Filed, files: Files) -> Stepped | None:
        """The per-key step of rows that tasks have left in ``files``; None where they cannot."""
        return None if self._large is None or not self._large.is_able else self._large.stepped(m, made, files)

    def _joined(self, tasks: Sequence[Task], targets: Sequence[Target], files: Files | None) -> Joined:
        """The same, not consolidated."""
        prepared = self._of(targets)
        small = few(rows for t in tasks for rows in t.inputs)
        if not small and self._large is not None and self._large.is_able:
            return self._large.joined(tasks, targets, prepared, files)
        inputs = {id(rows): rows for t in tasks for rows in t.inputs}  # what several products read goes to Spark once
        # Each row once: of what is there 0 times, as a row that was deleted, nothing is asked, which may have no value.
        frames = {key: frame(self.spark, rows.consolidated()) for key, rows in inputs.items()}
        products = [
            prepared.join(t).frame(self.spark, [frames[id(rows)] for rows in t.inputs], small) for t in tasks
        ]
        jobs = 1
        with evaluation():
            answer = (together(products) if small else summed(products, prepared.layout)).toArrow()
        if small and answer.num_rows > SMALL_ROWS:
            if self._large is not None and self._large.is_able:
                more = self._large.joined(tasks, targets, prepared, files)
                return Joined(more, 1 + more.jobs, more.read)
            with evaluation():
                jobs, answer = 2, summed(products, prepared.layout).toArrow()
        return Joined({t.name: answered(answer, t, prepared.layout) for t in targets}, jobs)

    def _let_go(self, given: int) -> None:
        """Of what Spark was given, with so many bytes more. What py4j asks of an object of Java is a cycle with it: so
        DataFrames that nobody has any more keep their plans in Java's heap, and the rows in these, until Python looks
        for cycles. When it does depends on what was made in Python, which of columns is next to nothing."""
        with self._lock:
            self._given += given
            if self._given <= GIVEN:
                return
            self._given = 0
        gc.collect()

    def _of(self, targets: Sequence[Target]) -> "Prepared":
        key = tuple((t.name, t.types) for t in targets)
        with self._lock:
            if key not in self._prepared:
                self._prepared[key] = Prepared(layout(targets))
            return self._prepared[key]


def _in_pairs(tasks: Sequence[Task]) -> frozenset[str]:
    """The targets of which a job would make pairs; but for those whose tables tasks look up, and for what is more than
    this process does."""
    never = {t.target for t in tasks if t.looked}
    some = {t.target for t in tasks if in_pairs(t.product, [*map(len, t.inputs)], _crowd(t))} - never
    return frozenset(some if rows_of([t for t in tasks if t.target in some]) <= MOST else ())


def _crowd(t: Task) -> Crowd:
    return lambda source, columns: crowd([t.inputs[source].arrow()], tuple(columns))


def _together(parts: Sequence[Rows]) -> Rows:
    """The sum of what several jobs have made; what one of them alone has made stays where it is."""
    some = [rows for rows in parts if not rows.is_empty]
    return some[0].consolidated() if len(some) == 1 else parts[0].plus(*parts[1:]).consolidated()


@frozen
class _Writing:
    """An engine that leaves what tasks make in ``files``."""

    of: SparkJoiner
    files: Files

    def join(self, tasks: Sequence[Task], targets: Sequence[Target]) -> Joined:
        """See ``Joiner``."""
        return self.of.join(tasks, targets, self.files)

    def stepped(self, m: PlannedMap, made: Filed) -> Stepped | None:
        """See ``run.step.Stepper``."""
        return self.of.stepped_by_key(m, made, self.files)


@frozen
class Prepared:
    """The columns of some targets and of their products, which are made once and used by every batch."""

    layout: Layout
    _joins: dict[tuple[int, str], Join] = field(factory=dict)

    def join(self, t: Task) -> Join:
        """By identity: plans live as long as their database, and what is kept here keeps them and their identity."""
        key = (id(t.product), t.target)  # equal products of several targets are one object
        if key not in self._joins:
            self._joins[key] = join_of(t.product, t.target, self.layout)
        return self._joins[key]


def _groups(tasks: Sequence[Task], most: int) -> Iterator[list[Task]]:
    """``tasks`` in order, as many together as have at most ``most`` joins; one group when there are none."""
    group: list[Task] = []
    joins = 0
    for task in tasks:
        own = max(len(task.product.sources) - 1, 0)
        if group and joins + own > most:
            yield group
            group, joins = [], 0
        group.append(task)
        joins += own
    yield group


@contextmanager
def evaluation() -> Iterator[None]:
    """Spark's arithmetic errors as EvaluationError; the message names Spark's own condition. Spark's own message, which
    quotes the value, is neither chained nor logged: values may be confidential."""
    log = PySparkLogger.getLogger(QUERY_LOG)
    before, log.disabled = log.disabled, True
    try:
        yield
    except ARITHMETIC as error:
        raise EvaluationError("a scalar has no value", got=condition(error)) from None
    finally:
        log.disabled = before


def condition(error: PySparkException) -> str:
    """Spark's name for what went wrong, such as ARITHMETIC_OVERFLOW."""
    return error.getCondition() or type(error).__name__
