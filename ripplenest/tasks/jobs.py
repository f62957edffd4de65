"""Jobs of Spark whose tasks run our own code on Arrow, and answer with one text each.

A job is one query with a function of Python in it, which is asked by tasks: one that works on rows is asked of those of
a DataFrame, one that does pieces of work of a range, with a piece in each partition. What comes back is text, of those
attempts alone whose results Spark has taken. It works on classic sessions, on Connect and on clusters whose workers
have this package. A data source could do the same, for which Spark starts up to five more processes to plan with;
``DataFrame.mapInArrow`` wants pandas.

A function of Spark says something of each row, and in the order of rows. Ours says nothing of any but the last of its
partition, and of that one all that there is to say. So that Spark need not keep rows until then, what works on them
stands in a thread of its own: rows are handed on to it, and answered at once.
"""

import json
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Protocol

import pyarrow as pa
from attrs import asdict, frozen
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StringType

from ripplenest.data.room import Room
from ripplenest.errors import CorruptState, EnvironmentProblem, EvaluationError
from ripplenest.intake.faults import Fault
from ripplenest.spark.workers import told_without_us

Batches = Iterator[pa.RecordBatch]
Columns = Iterator[tuple[pa.Array, ...]]
AHEAD = 4  # batches that are handed on before they are asked for
UNSEEN = "null"  # what a task says that does not see the folder
WELL, WRONG = "+", "-"  # what comes before an answer, and before an error


class OnRows:
    """What is asked of the rows of each partition."""

    @staticmethod
    @abstractmethod
    def do(common: str, share: int, batches: Batches) -> str:
        """What there is to say of the rows of partition number ``share``. ``common`` is told to all."""


class OnWork:
    """What does pieces of work, a task each."""

    @staticmethod
    @abstractmethod
    def do(common: str, own: str) -> str:
        """What there is to say of a piece of work. ``common`` is told to all."""


class Jobs(Protocol):
    """What does jobs, beside some rows."""

    @property
    def schema(self) -> pa.Schema:
        """That of the rows."""

    @property
    def many(self) -> int:
        """How many rows there are."""

    @property
    def at_once(self) -> int:
        """How many tasks may be done at once."""

    def on_rows(self, job: type[OnRows], common: str) -> dict[int, str]:
        """By partition of the rows that has some, what ``job`` says of them."""

    def on_work(self, job: type[OnWork], common: str, works: Sequence[str]) -> list[str]:
        """What ``job`` says of each of ``works``."""


@frozen
class SparkJobs:
    """Those of Spark, in the session of ``rows``."""

    rows: DataFrame

    @property
    def schema(self) -> pa.Schema:
        return self.rows.limit(0).toArrow().schema  # as the session hands out rows: pyspark wants its zone for times

    @property
    def many(self) -> int:
        return self.rows.count()

    @property
    def at_once(self) -> int:
        """As many as its user has a shuffle have."""
        return max(int(self.rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "1") or 1), 1)

    def on_rows(self, job: type[OnRows], common: str) -> dict[int, str]:
        names = self.rows.columns
        if not names:
            return {}
        places = [f"c{i}" for i in range(len(names))]  # names may come twice, and hold what Spark would read as a path
        said = _function(_on_rows(job, common, names))
        frame = self.rows.toDF(*places).select(said(*places).alias("said"))
        found = [text.partition(" ") for text in _answers(frame.filter(F.col("said").isNotNull()))]
        return {int(share): _heard(text) for share, _, text in found}

    def on_work(self, job: type[OnWork], common: str, works: Sequence[str]) -> list[str]:
        if not works:
            return []
        said = _function(_on_work(job, common, works))
        pieces = self.rows.sparkSession.range(0, len(works), 1, len(works))
        return list(map(_heard, _answers(pieces.select(said("id").alias("said")))))


def _heard(said: str) -> str:
    """What a task has said. Raises what it was wrong with."""
    if said.startswith(WELL):
        return said.removeprefix(WELL)
    raise Fault.of_json(json.loads(said.removeprefix(WRONG))).at(None)


def _function(asked: Callable[..., Any]) -> Callable[..., Column]:
    """A function of Spark. What is deterministic it may ask twice, to filter by what is said and to say it."""
    made: Any = arrow_udf(asked, StringType())  # type: ignore[call-overload]  # it reads the types of ``asked``
    found: Callable[..., Column] = made.asNondeterministic()
    return found


def _answers(frame: DataFrame) -> list[str]:
    with told_without_us():
        found: list[str] = frame.toArrow().column(0).to_pylist()
    return found


# ---------------------------------------------------------------- in tasks


def _on_rows(job: type[OnRows], common: str, names: Sequence[str]) -> Callable[[Columns], Iterator[pa.Array]]:
    def asked(columns: Columns) -> Iterator[pa.Array]:
        return said_of_rows(job, common, names, columns)

    return asked


def _on_work(job: type[OnWork], common: str, works: Sequence[str]) -> Callable[[pa.Array], pa.Array]:
    def asked(ids: pa.Array) -> pa.Array:
        return pa.array([_said(partial(job.do, common, works[i])) for i in ids.to_pylist()], pa.string())

    return asked


def said_of_rows(job: type[OnRows], common: str, names: Sequence[str], columns: Columns) -> Iterator[pa.Array]:
    """NULL for each row, and for the last one the number of its partition and what ``job`` says of all of them."""
    context = TaskContext.get()
    assert context is not None
    share = context.partitionId()
    last = 0
    with Beside(lambda batches: _said(lambda: job.do(common, share, batches))) as beside:
        for arrays in columns:
            own = [arrays] if len(names) == 1 else arrays  # of one column Spark hands on no tuple
            beside.take(pa.RecordBatch.from_arrays(list(own), names))
            yield pa.nulls(last, pa.string())
            last = len(own[0])
        if last:
            answer = pa.array([f"{share} {beside.said()}"], pa.string())
            yield pa.concat_arrays([pa.nulls(last - 1, pa.string()), answer])


def _said(do: Callable[[], str]) -> str:
    """In a task: what ``do`` says. What rows are to blame for is said, too: Spark would try it again, and tell it in
    words of its own."""
    try:
        return WELL + do()
    except (CorruptState, EvaluationError) as error:
        return WRONG + json.dumps(asdict(Fault.of(error)))


class Beside:
    """What is done with batches in a thread of its own, as they come. Who hands them on is not held up for longer than
    it takes to work on some."""

    def __init__(self, do: Callable[[Batches], str]) -> None:
        self._do = do
        self._rows: Queue[pa.RecordBatch | None] = Queue(AHEAD)
        self._whole, self._said = False, ""
        self._error: BaseException | None = None
        self._thread = Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Beside":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Without an answer, if there is none yet: rows that did not all come are none to say anything of."""
        if self._thread.is_alive():
            self._rows.put(None)
            self._thread.join()

    def take(self, batch: pa.RecordBatch) -> None:
        """Hand on a batch. Raises what has gone wrong with those before it."""
        self._check()
        self._rows.put(batch)

    def said(self) -> str:
        """The answer, of all that was handed on. Raises what went wrong."""
        self._whole = True
        self._rows.put(None)
        self._thread.join()
        self._check()
        return self._said

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        batches = iter(self._rows.get, None)
        try:
            self._said = self._do(self._came(batches))
        except BaseException as error:
            self._error = error
        finally:
            deque(batches, 0)  # that nobody wants, so that who hands on does not wait

    def _came(self, batches: Batches) -> Batches:
        yield from batches
        if not self._whole:
            raise RowsLost


class RowsLost(Exception):
    """The rows of a partition ended before they all came."""


def gathered(batches: Batches, room: Room) -> Iterator[pa.Table]:
    """Batches of Spark, which are small, as tables of what is worked on at once."""
    some: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        some.append(batch)
        size += batch.nbytes
        if size > room.chunk // 2:
            yield pa.Table.from_batches(some)
            some, size = [], 0
    if some:
        yield pa.Table.from_batches(some)


def check_seen(said: Collection[str], written: Path) -> None:
    """Raises EnvironmentProblem when a task did not see the folder ``written`` to, which is two below the state's."""
    if UNSEEN in said:
        raise EnvironmentProblem(
            "the workers of Spark do not see the folder of the state",
            where=str(written.parent.parent),
            wanted="a folder that every worker has under this path",
            possible=["load(name, df.toArrow())", 'engine="local"'],
        )
