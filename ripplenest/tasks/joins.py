"""Products of many rows, as batches have them: tasks read them from files and leave their sums in files, so that Java
holds neither. What is written goes with the staging folder, and the driver maps what it found.

A row that is in a plan takes some eight times its bytes in Java's heap: it is an object there, a part of each task,
and again whatever the planner makes of it.

Where a commit is to find what is made (``store/files.py``), rows that are in its files already are read there, and sums
of many rows become segments of the map that they change, a range of hashes at a time. So the driver sees neither.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from pathlib import Path

from attrs import define, field
from pyspark.sql import DataFrame, SparkSession

from ripplenest.data.rows import Rows
from ripplenest.data.seen import EVERYTHING
from ripplenest.plan.planned import PlannedMap, Target
from ripplenest.run.joiner import Joined, Task
from ripplenest.run.step import Stepped
from ripplenest.spark import frames
from ripplenest.spark.frames import frame
from ripplenest.spark.joiner import Prepared, evaluation
from ripplenest.state.tasks import mapped
from ripplenest.store.files import Filed, Files
from ripplenest.store.ranges import Merged, Range, Unwritten, divided, written
from ripplenest.store.ref import Segments, TableRef
from ripplenest.store.specs import TableSpec, same_columns
from ripplenest.store.staging import FOLDER, Staging
from ripplenest.tasks.builds import runs_of, told
from ripplenest.tasks.faulty import raised
from ripplenest.tasks.handed import Surroundings, surroundings
from ripplenest.tasks.jobs import Jobs, SparkJobs
from ripplenest.tasks.lookups import looked_up
from ripplenest.tasks.merging import merged_ranges
from ripplenest.tasks.rows import stored_by_source
from ripplenest.tasks.seeing import sees
from ripplenest.tasks.steps import Steps, most


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

    def joined(
        self, tasks: Sequence[Task], targets: Sequence[Target], prepared: Prepared, files: Files | None = None
    ) -> Joined:
        """By target, the rows of its tasks. One job, one for what is looked up, and one that sums many for ``files``.
        Raises EvaluationError."""
        specs = {t.name: TableSpec(t.name, t.types, ()) if files is None else summing(t, files) for t in targets}
        with ExitStack() as held:
            staging = held.enter_context(Staging.begin(self.state)) if files is None else files.staging
            held.enter_context(raised(staging) if files is None else told(staging, files.tables))
            here = self._here(staging)
            jobs, read = SparkJobs(self.spark.range(0)), 0
            whole, looked = ([t for t in tasks if t.looked == is_looked] for is_looked in (False, True))
            runs: dict[str, Segments] = dict.fromkeys(specs, ())
            if whole:
                runs = self._runs(whole, prepared, specs, here, staging)
            if looked:
                with evaluation():
                    found, read = looked_up(looked, specs, jobs, here)
                runs = {name: (*own, *found.get(name, ())) for name, own in runs.items()}
            large = {} if files is None else summed(specs, runs, jobs, here, files)
            rest = {name: mapped(spec, staging, runs[name]) for name, spec in specs.items() if name not in large}
            return Joined(rest | large, bool(whole) + bool(looked) + bool(large), read)

    def _runs(
        self, tasks: Sequence[Task], prepared: Prepared, specs: Mapping[str, TableSpec], here: Surroundings,
        staging: Staging,
    ) -> dict[str, Segments]:  # fmt: skip
        """By target the runs of what tasks make that read all of their inputs. One job."""
        read = self._frames({id(rows): rows for t in tasks for rows in t.inputs}.values(), staging, here)
        products = [prepared.join(t).frame(self.spark, [read[id(rows)] for rows in t.inputs], False) for t in tasks]
        return runs_of(reduce(DataFrame.unionAll, products), prepared.layout, specs, here)

    def stepped(self, m: PlannedMap, made: Filed, files: Files) -> Stepped | None:
        """The per-key step of a map (``run.step.Stepper``). Raises EvaluationError."""
        with told(files.staging, files.tables):
            return Steps(SparkJobs(self.spark.range(0)), self._here(files.staging), files).stepped(m, made)

    def _frames(self, inputs: Iterable[Rows], staging: Staging, here: Surroundings) -> dict[int, DataFrame]:
        """By identity: those of few rows, which are not worth a file as long as they are few together, and the others.
        """
        found, few = {}, 0
        for number, rows in enumerate(sorted(inputs, key=len), 1):
            few += len(rows)
            if few <= frames.SMALL_ROWS:
                found[id(rows)] = frame(self.spark, rows)
            elif isinstance(rows, Filed):
                found[id(rows)] = stored_by_source(self.spark, here, rows.ref, rows.seen)
            else:
                found[id(rows)] = self._file(rows, number, staging, here)
        return found

    def _file(self, rows: Rows, number: int, staging: Staging, here: Surroundings) -> DataFrame:
        """``rows`` as tasks read them, in whatever order they have."""
        spec = TableSpec(f"input {number}", rows.types, ())
        segments = written([Unwritten(rows, (), number)], here.disk, here.room, lasts=False)
        ref = TableRef(spec, tuple(segments)).under(f"{FOLDER}/{staging.token}")
        return stored_by_source(self.spark, here, ref, EVERYTHING)

    def _here(self, staging: Staging) -> Surroundings:
        return surroundings(str(self.state), str(staging.folder), self.memory)


def summed(
    specs: Mapping[str, TableSpec], runs: Mapping[str, Segments], jobs: Jobs, here: Surroundings, files: Files
) -> dict[str, Rows]:
    """The sums of runs of many rows, by target, each in segments of its own. One job, if there are any."""
    work: dict[str, list[Range]] = {}
    for name, spec in specs.items():
        source = TableRef(spec, runs[name]).under(f"{FOLDER}/{files.staging.token}")
        if source.size > frames.SMALL_ROWS and spec.types:
            work[name] = divided(source, jobs.at_once, files.next, files.number(spec.name))
            files.take(len(work[name]))
    with evaluation():
        merged = merged_ranges(jobs, here, list(work.values())) if work else []
    return {name: _filed(specs[name], found, files) for name, found in zip(work, merged, strict=True)}


def summing(t: Target, files: Files) -> TableSpec:
    """How the rows of a target are summed: as those of its map, where they are the change of what is stored of it; else
    in an order in which they can be."""
    spec = files.tables.tables.get(t.map)
    near = t.folded or t.near
    if spec is not None and near is None and same_columns(spec.types, t.types):
        return spec
    return TableSpec(t.name, t.types, (near or tuple(range(len(t.types))),) if t.types else ())


def _filed(spec: TableSpec, merged: Sequence[Merged], files: Files) -> Rows:
    segments = tuple(m.segment for m in merged if m.segment is not None)
    return files.filed(spec, segments, most(merged))
