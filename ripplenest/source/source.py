"""``spark.read.format("ripplenest")``: Spark reads a state by itself.

The driver asks the catalogue once, for the segments of a version; tasks map these, check the blocks that they read, and
hand Arrow to Spark, a piece at a time. No row passes the driver. It works on classic sessions, on Connect and on
clusters whose workers see the folder of the state under the same path and have this package.

Options: ``path`` of the state (or ``load(path)``); ``view`` or ``relation``; ``layout``: nested (unless told), flat or
dictionary, with its ``site``; ``asOf``: a version, or ``source:seq``; ``since``: what changed after a version, with
``_multiplicity``, or "start" for all that is there, with it; ``catalogue``: the URL of one in PostgreSQL, else that in
RIPPLENEST_CATALOGUE.

All rows are read, and Spark filters them. A reader that has ``pushFilters`` is asked once for a DataFrame and not for
each use of it (Spark 4.3): whatever reads the DataFrame again gets what another query's filters have left.
"""

from collections.abc import Iterator, MutableMapping, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ripplenest.nrc.border import bordered
from ripplenest.reading.structs import numbered, struct_schema
from ripplenest.source.asked import Asked
from ripplenest.source.handed import taken
from ripplenest.source.parts import parts, read
from ripplenest.source.pinned import Pinned
from ripplenest.source.schema import check_names, spark_schema
from ripplenest.source.stream import Stream
from ripplenest.spark import sources
from ripplenest.spark.session import check_session

FORMAT = "ripplenest"
HANDED = "handed"  # the option of our own DataFrames: all that there is to know
Options = MutableMapping[str, str]


@bordered
def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("ripplenest")`` known to a session; again is fine. Raises WrongValue and
    EnvironmentProblem as ``open`` does for its session, and where another session of the application has it."""
    check_session(spark)
    sources.register(spark, Source)


class Source(DataSource):
    """The format, with the options of one reader. Raises WrongValue, UnknownName, StateError or CorruptState."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        given = options.get(HANDED)
        self._asked = Asked.of(options) if given is None else None
        self._found = taken(str(given)) if self._asked is None else self._asked.pinned()
        names = self._found.schema
        if self._asked is not None:
            check_names(names)
        self._schema = numbered(names) if self._asked is None else struct_schema(names)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return spark_schema(self._schema)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it is the one that we gave
        return Reader(self._found, self._schema)

    def streamReader(self, schema: StructType) -> Stream:  # noqa: ARG002 - as above
        assert self._asked is not None
        return Stream(self._asked, self._schema)


class Reader(DataSourceReader):
    """One version, which was the newest when the query was planned unless ``asOf`` says which."""

    def __init__(self, found: Pinned, schema: pa.Schema) -> None:
        self.found, self.schema = found, schema

    def partitions(self) -> Sequence[InputPartition]:
        return parts(self.found, self.schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(partition)
