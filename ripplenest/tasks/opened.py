"""Files of rows that Spark opens: a DataFrame of the rows of Parquet, or of lines of JSON, which tasks read as the
types of the relation (``intake/files.py``); and what is wrong with them, in the words that it has when they are read
here.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from attrs import frozen
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ripplenest.intake.faults import Fault, numbered
from ripplenest.intake.files import CANNOT_BE_READ, FilePath, are_lines, lines_schema, located, of_lines
from ripplenest.intake.share import Loading
from ripplenest.nrc.errors import MOST, WrongValue, raise_first
from ripplenest.nrc.types import Type
from ripplenest.tasks.jobs import Jobs, OnRows, SparkJobs

PARTITION = 33  # bits of the number that Spark gives a row of a partition; those above say which partition
UNREADABLE = "FAILED_READ_FILE"  # what Spark says of bytes that are no such file
NONE = "PATH_NOT_FOUND"
SparkErrors = (PySparkException, Py4JJavaError)


@frozen
class Opened:
    """The rows of type ``row`` at ``path``, which messages call ``named``: in ``frame``, or as lines of it, which are
    ``whole`` or not."""

    frame: DataFrame
    row: Type
    named: str
    are_lines: bool
    whole: bool = False

    @classmethod
    def of(cls, spark: SparkSession, path: FilePath, row: Type, where: str, whole: bool = False) -> "Opened":
        """Raises WrongValue for what Spark does not open, or what cannot be rows of type ``row``."""
        place, named = located(path, where), f"{where}: {path}"
        with _told(named):
            if not are_lines(path):
                frame = spark.read.parquet(place)
            elif lines_schema(row, named):
                frame = spark.read.text(place, lineSep="\n")
            return cls(frame, row, named, are_lines(path), whole)

    @property
    def jobs(self) -> "FileJobs":
        return FileJobs(self.frame.select("value") if self.are_lines else self.frame, self)

    def toArrow(self) -> pa.Table:
        """The rows, here. Raises what is wrong with lines of them."""
        with _told(self.named, UNREADABLE):
            if not self.are_lines:
                return self.frame.toArrow()
            found = self.frame.select("value", _number()).toArrow()
        numbers = found.column(1)
        return of_lines(found.column(0), self.row, self.named, lambda i: self._line(numbers[i].as_py()), self.whole)

    def check_lines(self, faults: Iterable[Fault]) -> None:
        """Raises the first of the faults that are of a line, with those that come next."""
        lines = f"{self.named}: line"
        wrong = sorted((f for f in faults if f.number(lines) >= 0), key=lambda f: f.number(lines))[:MOST]
        places = {n: self._line(_spark_number(n)) for n in dict.fromkeys(f.number(lines) for f in wrong)}
        raise_first(f.at(places[n] + f.where[len(f"{lines}[{n}]") :]) for f in wrong for n in (f.number(lines),))

    def _line(self, number: int) -> str:
        """What messages call the line with a number of Spark's. Pieces of a file have numbers in their order."""
        numbers = self.frame.select(F.col("_metadata")["file_path"].alias("file"), _number())
        until = numbers.filter(F.col("n") <= number).coalesce(1).groupBy("file").agg(F.max("n"), F.count("n"))
        _, file, lines = max((last, file, lines) for file, last, lines in until.collect())
        named = self.named if len(self.frame.inputFiles()) == 1 else f"{self.named}: {unquote(file)}"
        return f"{named}: line {lines}"


@frozen
class FileJobs(SparkJobs):
    """Jobs beside the rows of ``file``."""

    file: Opened

    @property
    def schema(self) -> pa.Schema:
        return lines_schema(self.file.row, self.file.named) if self.file.are_lines else super().schema

    @property
    def many(self) -> int:
        with _told(self.file.named, UNREADABLE):
            return super().many

    def on_rows(self, job: type[OnRows], common: str) -> dict[int, str]:
        with _told(self.file.named, UNREADABLE):
            return super().on_rows(job, common)


def jobs_beside(rows: Any) -> Jobs:
    """Jobs beside a DataFrame, or a file."""
    return rows.jobs if isinstance(rows, Opened) else SparkJobs(rows)


def _number() -> Any:
    return F.monotonically_increasing_id().alias("n")


def _spark_number(number: int) -> int:
    """Spark's, of a row that has this one of ours (``faults.numbered``)."""
    share, own = divmod(number, numbered(1))
    return (share << PARTITION) + own


@contextmanager
def _told(named: str, only: str = "") -> Iterator[None]:
    """What Spark says of files that it cannot read, in our words; ``only`` where it says this."""
    try:
        yield
    except SparkErrors as error:
        if only not in str(error):
            raise
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        if condition == NONE:
            raise WrongValue("there is no such file", where=named) from None
        got = only or condition or _first_line(error)
        raise WrongValue(CANNOT_BE_READ, where=named, wanted="a file that Spark reads", got=got) from error


def _first_line(error: BaseException) -> str:
    """What an error of Java is called, and what it says."""
    said = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
    return str(said).partition("\n")[0]


# ---------------------------------------------------------------- in tasks


def rows_of_lines(tables: Iterator[pa.Table], work: Loading, named: str, share: int) -> Iterator[pa.Table]:
    """The rows of lines of a share, which faults know by their numbers."""
    whole = work.verb == "upsert"
    start = numbered(share)
    for table in tables:
        lines, first = table.column(0), start
        yield of_lines(lines, work.row, named, lambda i, first=first: f"{named}: line[{first + i}]", whole)  # type: ignore[misc]
        start += len(lines)
