"""Maps that are built by Spark, and stay where its tasks write them: what ``run/build.py`` does for what is large.

Level by level, the products of a map are DataFrame joins over stored tables and what a commit changes in them, which
tasks read (``rows.py``). Who has rows of a map sums them a piece at a time and leaves sorted runs. Those count against
what is stored by ranges of hashes, and what differs becomes segments: the change of the map (``store/ranges.py``). So
Spark groups nothing, the driver is told names, and a map that nobody has stored differs in all that it holds. What
later levels read of a map is what is stored, and its change.
"""

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path

from attrs import define, field
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.data.sums import summed
from ripplenest.intake.faults import numbered
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product
from ripplenest.run.passing import visible
from ripplenest.spark.frames import frame, join_of, layout
from ripplenest.spark.joiner import evaluation
from ripplenest.state.tasks import Built, Pending
from ripplenest.store.folder import SEGMENTS
from ripplenest.store.indexes import RANGE
from ripplenest.store.ranges import LEAST, Range, Unwritten, divided, merge, written
from ripplenest.store.ref import Segments, TableRef, segment_of_json, segment_to_json
from ripplenest.store.segments import Segment
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import TableSpec, Written
from ripplenest.store.staging import FOLDER, Staging
from ripplenest.tasks.handed import Surroundings, sources_of, sources_text, surroundings
from ripplenest.tasks.jobs import UNSEEN, Batches, Jobs, SparkJobs, check_seen, gathered
from ripplenest.tasks.kinds import Summing
from ripplenest.tasks.merging import merge_ranges
from ripplenest.tasks.rows import stored


@define
class TaskBuilds:
    """Builds in ``spark``, whose tasks may take ``memory`` each (``state.tasks.Builds``)."""

    spark: SparkSession
    memory: int

    def build(self, plan: Plan, over: Pending, staging: Staging, first: int) -> Built:
        """The change of every map of ``plan``, in segments that are numbered from ``first`` on. Raises
        EvaluationError."""
        return _Build(Differences(self.spark, self.memory, over, staging, first), plan).done()


@define
class Differences:
    """Tables of a version with what changes in them, in ``changed``: by table segments of this piece of work."""

    spark: SparkSession
    memory: int
    over: Pending
    staging: Staging
    first: int
    changed: dict[str, Segments] = field(factory=dict)
    jobs: int = 0

    @property
    def tables(self) -> Snapshot:
        """The stored tables."""
        found = self.over.version.tables
        assert isinstance(found, Snapshot)
        return found

    @property
    def here(self) -> Surroundings:
        """Tasks read the tables and what is on top of them, and write the latter."""
        return surroundings(str(self.staging.disk.folder.parent), str(self.staging.folder), self.memory)

    def before(self, table: str) -> TableRef:
        """What is stored of a table; nothing where it is made."""
        if table in self.over.made:
            return TableRef(self.over.made[table], ())
        return self.tables.table(table).under(SEGMENTS)

    def now(self, table: str) -> TableRef:
        """With what changed."""
        return self.before(table).with_change(self._staged(self.changed.get(table, ())), self.over.version.version + 1)

    def stage(self, table: str, rows: Rows) -> None:
        """Write a change that is here, for tasks to read."""
        here = self.here
        spec = self.before(table).spec
        draft = Unwritten(summed(rows, here.room), spec.indexes[:1], self.first, is_delta=True)
        self.first += 1
        self.changed[table] = tuple(written([draft], here.disk, here.room)) if len(draft.rows) else ()

    def differ(self, given: Sequence[tuple[TableSpec, Segments, TableRef]], jobs: Jobs) -> None:
        """The change of each table from rows that are stored to what ``given`` runs hold."""
        work = []
        for spec, runs, before in given:
            number = 0 if spec.name in self.over.made else self.tables.number(spec.name)
            minus = before if before.segments else None
            if runs or minus is not None:
                source = TableRef(spec, self._staged(runs))
                work.append(divided(source, jobs.at_once, self.first, number, minus))
                self.first += len(work[-1])
        self.changed.update({spec.name: () for spec, _, _ in given})
        if not work:
            return
        self.jobs += 1
        for own, found in zip(work, merge_ranges(jobs, self.here, work), strict=True):
            self.changed[own[0].source.spec.name] = self._together(own[0], found)

    def _together(self, one: Range, segments: Sequence[Segment]) -> Segments:
        """Segments of which each task that found little has made one: they become one, here."""
        if len(segments) < 2 or sum(s.blob.bytes for s in segments) > LEAST:
            return tuple(segments)
        here, source = self.here, TableRef(one.source.spec, self._staged(segments))
        self.first += 1
        found = merge(Range(source, 0, RANGE, self.first - 1, one.table), here.reader, here.disk, here.room)
        return () if found.segment is None else (found.segment,)

    def _staged(self, segments: Sequence[Segment]) -> Segments:
        return TableRef(TableSpec("", ()), tuple(segments)).under(f"{FOLDER}/{self.staging.token}").segments


@define
class _Build:
    """One build; ``read`` are the tables as products read them, planned once."""

    of: Differences
    plan: Plan
    read: dict[str, DataFrame] = field(factory=dict)
    rows_read: int = 0

    def done(self) -> Built:
        over, asked = self.of.over, {s.table for m in self.plan.maps for p in m.build for s in p.sources}
        self.of.changed.update(over.staged)
        for table in sorted(asked & over.changes.keys()):
            self.of.stage(table, over.changes[table])
        for level in self.plan.levels:
            self._level(level)
        found = {m.name: self.of.changed[m.name] for m in self.plan.maps}
        made = Written(self.of.staging.folder, {name: segments for name, segments in found.items() if segments})
        return Built(made, self.rows_read, self.of.jobs)

    def _level(self, level: Sequence[PlannedMap]) -> None:
        """The maps of a level: the runs of each, and then what differs in all of them, in one job."""
        asked = {s.table for m in level for p in m.build for s in p.sources} - self.plan.by_name.keys()
        before = {m.name: self.of.before(m.name) for m in level}
        self.rows_read += sum(map(self.of.over.version.size, asked)) + sum(ref.size for ref in before.values())
        given = [(before[m.name].spec, self._summed(m) if m.build else (), before[m.name]) for m in level]
        with evaluation():
            self.of.differ(given, SparkJobs(self.of.spark.range(0)))

    def _summed(self, m: PlannedMap) -> Segments:
        """The runs of a map."""
        try:
            return self._runs(m, m.build)
        except EvaluationError:  # perhaps of a key, for a row without a partner
            again = tuple(p.cautious() for p in m.build)
            if again == m.build:
                raise
            return self._runs(m, again)

    def _runs(self, m: PlannedMap, products: Sequence[Product]) -> Segments:
        jobs = SparkJobs(self._products(m, products))
        common = sources_text(self.of.here, [TableRef(self.of.before(m.name).spec, ())])
        self.of.jobs += 1
        with evaluation():
            said = jobs.on_rows(Summing, common, self.of.staging)
        check_seen(said.values(), self.of.staging)
        return tuple(segment_of_json(s) for share in sorted(said) for s in json.loads(said[share]))

    def _products(self, m: PlannedMap, products: Sequence[Product]) -> DataFrame:
        shared = layout([m.whole])
        columns = [F.col(slot).alias(f"c{i}") for i, slot in enumerate(shared.slots[m.name])]
        for table in {s.table: None for p in products for s in p.sources if s.table not in self.read}:
            self.read[table] = self._table(table)
        frames = (
            join_of(p, m.name, shared).frame(self.of.spark, [self.read[s.table] for s in p.sources], False)
            for p in products
        )
        return reduce(DataFrame.unionAll, frames).select(*columns, WEIGHT)

    def _table(self, table: str) -> DataFrame:
        """What statements see of a table; one with rows in arrays is read here."""
        m, version = self.plan.passing.get(table), self.of.over.version
        if any(table in fold.parts and version.tables.size(fold.table) for fold in version.folds):
            return frame(self.of.spark, visible(m, version.scan(table)))
        return stored(self.of.spark, self.of.here, self.of.now(table), m is not None)


def sum_up(common: str, share: int, batches: Batches) -> str:
    """In a task: leave runs of the rows of a map, and say which."""
    here, (ref,), _ = sources_of(common)
    if not Path(here.write).is_dir():
        return UNSEEN
    segments: list[Segment] = []
    for rows in _rows(ref.spec, batches, here):
        number = numbered(share) + len(segments) + 1
        segments += written([Unwritten(rows, ref.spec.indexes[:1], number)], here.disk, here.room)
    return json.dumps(list(map(segment_to_json, segments)))


def _rows(spec: TableSpec, batches: Batches, here: Surroundings) -> Iterator[Rows]:
    """Sums of some rows at a time."""
    for table in gathered(batches, here.room):
        rows = Rows.of_arrow(spec.types, table).consolidated()
        if len(rows):
            yield rows
