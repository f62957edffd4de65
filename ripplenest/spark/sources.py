"""Data sources in Python, made known to sessions.

Spark 4.3 takes a name in one session of an application: another one, which ``newSession`` has made, neither knows what
that knows nor takes its name. So what we read by ourselves has a name of its own in each session.
"""

from secrets import token_hex
from weakref import WeakKeyDictionary

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource

from ripplenest.errors import EnvironmentProblem
from ripplenest.spark.workers import told_without_us

_TAKEN = "DATA_SOURCE_ALREADY_EXISTS"
_names: WeakKeyDictionary[SparkSession, dict[type[DataSource], str]] = WeakKeyDictionary()


def known(spark: SparkSession, source: type[DataSource]) -> str:
    """The name by which ``spark`` alone knows a data source."""
    names = _names.setdefault(spark, {})
    if source not in names:
        name = f"{source.name()}.{token_hex(8)}"
        spark.dataSource.register(type(source.__name__, (source,), {"name": classmethod(lambda _: name)}))
        names[source] = name
    return names[source]


def read(spark: SparkSession, source: type[DataSource], option: str, value: str) -> DataFrame:
    """What a data source reads of what it is told. Raises EnvironmentProblem where workers do not have this package."""
    with told_without_us():
        return spark.read.format(known(spark, source)).option(option, value).load()


def register(spark: SparkSession, source: type[DataSource]) -> None:
    """Make a data source known to ``spark`` by its name; again is fine. Raises EnvironmentProblem where another session
    has it."""
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if error.getCondition() != _TAKEN:
            raise
        raise EnvironmentProblem(
            "another session of this application has the format, and Spark gives it to one",
            where="register",
            wanted="the session that has it",
            got="one that newSession has made",
            possible=["spark.read.format in that session", "db.view(name).nested() in this one"],
        ) from error
