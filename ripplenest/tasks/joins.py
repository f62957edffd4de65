"""Products of many rows, as batches have them: tasks read them from files and leave their sums in files, so that Java
holds neither. What is written goes with the staging folder, and the driver maps what it found.

A row that is in a plan takes some eight times its bytes in Java's heap: it is an object there, a part of each task,
and again whatever the planner makes of it.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path

from attrs import define, field
from pyspark.sql import DataFrame, SparkSession

from ripplenest.data.rows import Rows
from ripplenest.plan.planned import Target
from ripplenest.run.joiner import Joined, Task
from ripplenest.spark import frames
from ripplenest.spark.frames import frame
from ripplenest.spark.joiner import Prepared
from ripplenest.state.tasks import mapped
from ripplenest.store.ranges import Unwritten, written
from ripplenest.store.ref import TableRef
from ripplenest.store.specs import TableSpec
from ripplenest.store.staging import FOLDER, Staging
from ripplenest.tasks.builds import runs_of
from ripplenest.tasks.faulty import raised
from ripplenest.tasks.handed import Surroundings, surroundings
from ripplenest.tasks.jobs import SparkJobs
from ripplenest.tasks.rows import Seen, stored
from ripplenest.tasks.seeing import sees


@define
class TaskJoins:
    """Joins of many rows in ``spark``, by files beside the segments of ``state``; each task may take ``memory``
    (``spark.joiner.Large``)."""

    spark: SparkSession
    state: Path
    memory: int
    _seen: bool | None = field(default=None, init=False)

    @property
    def is_able(self) -> bool:
        """Whether workers see the folder and have this package, as they did when they were first asked."""
        if self._seen is None:
            self._seen = sees(SparkJobs(self.spark.range(0)), self.state)
        return self._seen

    def joined(self, tasks: Sequence[Task], targets: Sequence[Target], prepared: Prepared) -> Joined:
        """By target, the rows of its tasks. One job. Raises EvaluationError."""
        specs = {t.name: TableSpec(t.name, t.types, ()) for t in targets}
        with Staging.begin(self.state) as staging, raised(staging):
            here = self._here(staging)
            read = self._frames({id(rows): rows for t in tasks for rows in t.inputs}.values(), staging, here)
            products = [
                prepared.join(t).frame(self.spark, [read[id(rows)] for rows in t.inputs], False) for t in tasks
            ]
            runs = runs_of(reduce(DataFrame.unionAll, products), prepared.layout, specs, here)
            return Joined({name: mapped(spec, staging, runs[name]) for name, spec in specs.items()}, 1)

    def _frames(self, inputs: Iterable[Rows], staging: Staging, here: Surroundings) -> dict[int, DataFrame]:
        """By identity: those of few rows, which are not worth a file as long as they are few together, and the others.
        """
        found, few = {}, 0
        for number, rows in enumerate(sorted(inputs, key=len), 1):
            few += len(rows)
            is_few = few <= frames.SMALL_ROWS
            found[id(rows)] = frame(self.spark, rows) if is_few else self._file(rows, number, staging, here)
        return found

    def _file(self, rows: Rows, number: int, staging: Staging, here: Surroundings) -> DataFrame:
        """``rows`` as tasks read them, in whatever order they have."""
        spec = TableSpec(f"input {number}", rows.types, ())
        segments = written([Unwritten(rows, (), number)], here.disk, here.room, lasts=False)
        ref = TableRef(spec, tuple(segments)).under(f"{FOLDER}/{staging.token}")
        return stored(self.spark, here, ref, Seen())

    def _here(self, staging: Staging) -> Surroundings:
        return surroundings(str(self.state), str(staging.folder), self.memory)
