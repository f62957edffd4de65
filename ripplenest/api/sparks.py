"""The Spark of a database: a session that starts when it is first needed, and who works on it."""

from typing import TYPE_CHECKING

from ripplenest.run.joiner import Joiner
from ripplenest.state.tasks import Builds, Tasks
from ripplenest.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Sparks:
    """The session that a database was given, or a local one, and what loads, builds and joins on it."""

    def __init__(self, store: Store, given: "SparkSession | None") -> None:
        self._store, self._given = store, given
        self._loads: Tasks | None = None

    @property
    def session(self) -> "SparkSession":
        """The session in use; a local one is started when none was given."""
        if self._given is None:
            from ripplenest.spark.session import local_session  # noqa: PLC0415 - Spark starts when it is needed

            self._given = local_session()
        return self._given

    def tasks(self) -> Tasks:
        """Who loads what a DataFrame has."""
        from ripplenest.tasks.loads import TaskLoads  # noqa: PLC0415 - Spark is there when it has a DataFrame

        if self._loads is None:
            self._loads = TaskLoads(self._store.room.memory, lambda: self.session)
        return self._loads

    def builds(self) -> Builds:
        """Who builds maps."""
        from ripplenest.tasks.builds import TaskBuilds  # noqa: PLC0415 - Spark starts when it is needed

        return TaskBuilds(self.session, self._store.room.memory)

    def joiner(self) -> Joiner:
        """Who joins for a batch."""
        from ripplenest.spark.joiner import SparkJoiner  # noqa: PLC0415 - Spark starts when it is needed
        from ripplenest.tasks.joins import TaskJoins  # noqa: PLC0415 - as above

        return SparkJoiner(self.session, TaskJoins(self.session, self._store.path, self._store.room.memory))
