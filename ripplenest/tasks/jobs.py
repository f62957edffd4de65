"""Jobs of Spark whose tasks run our own code on Arrow, and answer with one text each.

A job is a data source: one that is written to takes the rows of a DataFrame, one that is read from does pieces of
work. What goes to a task is text, beside the name of a class of this package, and what comes back is text, of those
attempts alone that Spark has committed. It works on classic sessions, on Connect and on clusters whose workers have
this package; ``DataFrame.mapInArrow`` would do the same, and wants pandas.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from attrs import asdict, frozen
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ripplenest.data.room import Room
from ripplenest.errors import CorruptState, EnvironmentProblem, EvaluationError

if TYPE_CHECKING:
    from ripplenest.store.staging import Staging

Batches = Iterator[pa.RecordBatch]
Options = MutableMapping[str, str]
ANSWER = StructType([StructField("task", LongType()), StructField("said", StringType())])
COMMON, WORKS, FOLDER, FILE = "common", "works", "folder", "file"  # options
UNSEEN = "null"  # what a task says that does not see the folder
WELL, WRONG = "+", "-"  # what comes before an answer, and before an error
MISSING = "No module named 'ripplenest"


class Job(DataSource):
    """What Spark knows by the name of its class."""

    @classmethod
    def name(cls) -> str:
        return f"ripplenest.{cls.__name__.lower()}"


class OnRows(Job):
    """What each partition of a DataFrame is given to."""

    @staticmethod
    @abstractmethod
    def do(common: str, share: int, batches: Batches) -> str:
        """What there is to say of the rows of partition number ``share``. ``common`` is told to all."""

    def writer(self, schema: StructType, overwrite: bool) -> "_Writer":  # noqa: ARG002 - as rows come
        return _Writer(type(self), dict(self.options))


class OnWork(Job):
    """What does pieces of work, a task each."""

    @staticmethod
    @abstractmethod
    def do(common: str, own: str) -> str:
        """What there is to say of a piece of work. ``common`` is told to all."""

    def schema(self) -> StructType:
        return ANSWER

    def reader(self, schema: StructType) -> "_Reader":  # noqa: ARG002 - it is the one that we gave
        return _Reader(type(self), dict(self.options))


class Jobs(Protocol):
    """What does jobs, beside some rows."""

    @property
    def schema(self) -> pa.Schema:
        """That of the rows."""

    @property
    def at_once(self) -> int:
        """How many tasks may be done at once."""

    def on_rows(self, job: type[OnRows], common: str, staging: "Staging") -> dict[int, str]:
        """By partition of the rows, what ``job`` says of them."""

    def on_work(self, job: type[OnWork], common: str, works: Sequence[str]) -> list[str]:
        """What ``job`` says of each of ``works``."""


@frozen
class SparkJobs:
    """Those of Spark, in the session of ``rows``."""

    rows: DataFrame

    @property
    def schema(self) -> pa.Schema:
        return to_arrow_schema(self.rows.schema)

    @property
    def at_once(self) -> int:
        """As many as its user has a shuffle have."""
        return max(int(self.rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "1") or 1), 1)

    def on_rows(self, job: type[OnRows], common: str, staging: "Staging") -> dict[int, str]:
        self.rows.sparkSession.dataSource.register(job)
        file = token_hex(16)
        told = {COMMON: common, FOLDER: str(staging.folder), FILE: file}
        with _without_us():
            self.rows.write.format(job.name()).mode("append").options(**told).save()
        found = json.loads((staging.folder / file).read_bytes())
        return {int(share): _heard(said) for share, said in found.items()}

    def on_work(self, job: type[OnWork], common: str, works: Sequence[str]) -> list[str]:
        spark = self.rows.sparkSession
        spark.dataSource.register(job)
        told = {COMMON: common, WORKS: json.dumps(works)}
        with _without_us():
            found = spark.read.format(job.name()).options(**told).load().toArrow()
        said = dict(zip(found.column(0).to_pylist(), found.column(1).to_pylist(), strict=True))
        return [_heard(said[i]) for i in range(len(works))]


def _said(do: Callable[[], str]) -> str:
    """In a task: what ``do`` says. What rows are to blame for is said, too: Spark would try it again, and tell it in
    words of its own."""
    from ripplenest.intake.faults import Fault  # noqa: PLC0415 - not where jobs are planned

    try:
        return WELL + do()
    except (CorruptState, EvaluationError) as error:
        return WRONG + json.dumps(asdict(Fault.of(error)))


def _heard(said: str) -> str:
    """What a task has said. Raises what it was wrong with."""
    if said.startswith(WELL):
        return said.removeprefix(WELL)
    from ripplenest.intake.faults import Fault  # noqa: PLC0415 - not where jobs are planned

    raise Fault(**json.loads(said.removeprefix(WRONG))).at(None)


class _Said(WriterCommitMessage):
    """What the task of a partition says."""

    def __init__(self, share: int, said: str) -> None:
        self.share, self.said = share, said


class _Writer(DataSourceArrowWriter):
    """Rows that come to a job. What tasks said whose attempts count is put down for who waits."""

    def __init__(self, job: type[OnRows], options: Options) -> None:
        super().__init__()
        self.job, self.options = job, options

    def write(self, iterator: Batches) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        share = context.partitionId()
        return _Said(share, _said(lambda: self.job.do(self.options[COMMON], share, iterator)))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        said = {m.share: m.said for m in messages if isinstance(m, _Said)}
        from ripplenest.store.disk import Disk  # noqa: PLC0415 - not where jobs are planned

        Disk(Path(self.options[FOLDER])).write_bytes(self.options[FILE], [json.dumps(said).encode()])


class _Piece(InputPartition):
    """A piece of work."""

    def __init__(self, task: int, own: str) -> None:
        super().__init__(None)
        self.task, self.own = task, own


class _Reader(DataSourceReader):
    """Work for a job."""

    def __init__(self, job: type[OnWork], options: Options) -> None:
        self.job, self.options = job, options

    def partitions(self) -> Sequence[InputPartition]:
        return [_Piece(i, own) for i, own in enumerate(json.loads(self.options[WORKS]))]

    def read(self, partition: InputPartition) -> Batches:
        assert isinstance(partition, _Piece)
        said = _said(lambda: self.job.do(self.options[COMMON], partition.own))
        columns = [pa.array([partition.task], pa.int64()), pa.array([said], pa.string())]
        yield pa.RecordBatch.from_arrays(columns, ANSWER.names)


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


def check_seen(said: Collection[str], staging: "Staging") -> None:
    """Raises EnvironmentProblem when a task did not see the folder."""
    if UNSEEN in said:
        raise unseen(staging.disk.folder.parent)


def unseen(state: Path) -> EnvironmentProblem:
    """The error for workers that do not see the folder of a state."""
    return EnvironmentProblem(
        "the workers of Spark do not see the folder of the state",
        where=str(state),
        wanted="a folder that every worker has under this path",
        possible=["load(name, df.toArrow())", 'engine="local"'],
    )


@contextmanager
def _without_us() -> Iterator[None]:
    """Workers that do not have this package are told of as such. All else that Spark says stays what it is."""
    try:
        yield
    except PySparkException as error:
        if MISSING not in str(error):
            raise
        raise EnvironmentProblem(
            "the workers of Spark do not have this package",
            where="spark",
            wanted="ripplenest in the Python of each worker",
            possible=["pip install ripplenest on each", "load(name, df.toArrow())"],
        ) from error
