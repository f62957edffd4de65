"""The Spark of a database: a session that starts when it is first needed, and who works on it."""

from typing import TYPE_CHECKING

from ripplenest.run.joiner import Joiner
from ripplenest.state.tasks import Builds, Tasks
from ripplenest.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ripplenest.spark.joiner import SparkJoiner


class Sparks:
    """The session that a database was given, or a local one, and what loads, builds and joins on it."""

    def __init__(self, store: Store, given: "SparkSession | None") -> None:
        self._store, self._given = store, given
        self._found: SparkSession | None = None
        self._loads: Tasks | None = None
        self._joiner: SparkJoiner | None = None

    @property
    def session(self) -> "SparkSession":
        """The session in use; where none was given a local one is started, and again where it was stopped. It is looked
        at each time, since whoever shares it may have set or stopped it. Raises EnvironmentProblem."""
        from ripplenest.spark.session import check_session, is_stopped, local_session  # noqa: PLC0415 - when needed

        found = self._found if self._given is None else self._given
        if found is None or (self._given is None and is_stopped(found)):
            found = local_session()
        check_session(found, "Spark: the session")
        self._found = found
        return found

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
        """Who joins for a batch: one as long as there is one session, since it remembers what it has made."""
        from ripplenest.run.local import LocalJoiner  # noqa: PLC0415 - Arrow's kernels, for who works
        from ripplenest.spark.joiner import SparkJoiner  # noqa: PLC0415 - Spark starts when it is needed
        from ripplenest.tasks.joins import TaskJoins  # noqa: PLC0415 - as above

        session = self.session
        if self._joiner is None or self._joiner.spark is not session:
            room = self._store.room
            self._joiner = SparkJoiner(session, TaskJoins(session, self._store.path, room.memory), LocalJoiner(room))
        return self._joiner
