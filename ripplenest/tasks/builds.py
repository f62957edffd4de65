"""Maps that are built by Spark, and stay where its tasks write them: what ``run/build.py`` does for what is large.

Level by level, the products of a map are DataFrame joins over stored tables, which tasks read (``rows.py``). Who has
rows of a map sums them a piece at a time and leaves sorted runs, which are merged by ranges of hashes into the segments
of the map (``store/ranges.py``): so Spark groups nothing, and the driver is told names. What later levels read of a map
is read from there.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path

from attrs import define, field
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.intake.faults import numbered
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product
from ripplenest.run.counts import MOST, check_most
from ripplenest.run.passing import visible
from ripplenest.spark.frames import frame, join_of, layout
from ripplenest.spark.joiner import evaluation
from ripplenest.store.disk import Disk
from ripplenest.store.folder import SEGMENTS
from ripplenest.store.ranges import Unwritten, divided, written
from ripplenest.store.ref import TableRef, segment_of_json, segment_to_json
from ripplenest.store.segments import Reader, Segment
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import TableSpec, Written
from ripplenest.store.staging import Staging
from ripplenest.tasks.handed import Surroundings, sources_of, sources_text, surroundings
from ripplenest.tasks.jobs import UNSEEN, Batches, Jobs, SparkJobs, check_seen, gathered
from ripplenest.tasks.kinds import Summing
from ripplenest.tasks.merging import merge_ranges
from ripplenest.tasks.rows import stored
from ripplenest.version.folding import Unfolding


@define
class TaskBuilds:
    """Builds in ``spark``, whose tasks may take ``memory`` each (``state.tasks.Builds``)."""

    spark: SparkSession
    memory: int

    def build(
        self, plan: Plan, specs: Mapping[str, TableSpec], version: Unfolding, staging: Staging, first: int
    ) -> Written:
        """The segments of every map of ``plan``, numbered from ``first`` on. Raises EvaluationError."""
        return _Build(self.spark, self.memory, plan, specs, version, staging, first).done()


@define
class _Build:
    """One build; ``made`` are the maps that are there, and ``read`` the tables as products read them, planned once."""

    spark: SparkSession
    memory: int
    plan: Plan
    specs: Mapping[str, TableSpec]
    version: Unfolding
    staging: Staging
    first: int
    made: dict[str, TableRef] = field(factory=dict)
    read: dict[str, DataFrame] = field(factory=dict)

    def done(self) -> Written:
        for level in self.plan.levels:
            self._level(level)
        return Written(self.staging.folder, {name: ref.segments for name, ref in self.made.items() if ref.segments})

    def _level(self, level: Sequence[PlannedMap]) -> None:
        """The maps of a level: their runs, and then all of them merged in one job."""
        here, work, jobs = self._here(str(self.staging.folder)), [], None
        for m in level:
            self.made[m.name] = TableRef(self.specs[m.name], ())
            if not m.build:
                continue
            jobs, runs, heaviest = self._summed(m)
            if runs:
                ranges = divided(TableRef(self.specs[m.name], runs), jobs.at_once, self.first, 0)
                self.first += len(ranges)
                work.append((m.name, ranges, heaviest))
        if jobs is None or not work:
            return
        with evaluation():
            found = merge_ranges(jobs, here, [ranges for _, ranges, _ in work])
        for (name, _, heaviest), segments in zip(work, found, strict=True):
            self.made[name] = TableRef(self.specs[name], tuple(segments))
            if heaviest > MOST:  # the sum of all that rows of the map count may be that of many
                check_most(name, [self.made[name].scan(Reader(Disk(self.staging.folder))).heaviest()])

    def _summed(self, m: PlannedMap) -> tuple[Jobs, tuple[Segment, ...], int]:
        """The runs of a map, and what bounds how often a row of it is there."""
        try:
            return self._runs(m, m.build)
        except EvaluationError:  # perhaps of a key, for a row without a partner
            again = tuple(p.cautious() for p in m.build)
            if again == m.build:
                raise
            return self._runs(m, again)

    def _runs(self, m: PlannedMap, products: Sequence[Product]) -> tuple[Jobs, tuple[Segment, ...], int]:
        jobs, here = SparkJobs(self._products(m, products)), self._here(str(self.staging.folder))
        common = sources_text(here, [TableRef(self.specs[m.name], ())])
        with evaluation():
            said = jobs.on_rows(Summing, common)
        check_seen(said.values(), self.staging)
        found = [json.loads(said[share]) for share in sorted(said)]
        runs = tuple(segment_of_json(s) for segments, _ in found for s in segments)
        return jobs, runs, sum(heaviest for _, heaviest in found)

    def _products(self, m: PlannedMap, products: Sequence[Product]) -> DataFrame:
        shared = layout([m.whole])
        columns = [F.col(slot).alias(f"c{i}") for i, slot in enumerate(shared.slots[m.name])]
        for table in {s.table: None for p in products for s in p.sources if s.table not in self.read}:
            self.read[table] = self._table(table)
        frames = (
            join_of(p, m.name, shared).frame(self.spark, [self.read[s.table] for s in p.sources], False)
            for p in products
        )
        return reduce(DataFrame.unionAll, frames).select(*columns, WEIGHT)

    def _table(self, table: str) -> DataFrame:
        """What statements see of a table; one with rows in arrays is read here."""
        m = self.plan.passing.get(table)
        if table in self.made:
            return stored(self.spark, self._here(str(self.staging.folder)), self.made[table], m is not None)
        tables = self.version.tables
        if any(table in fold.parts for fold in self.version.folds) or not isinstance(tables, Snapshot):
            return frame(self.spark, visible(m, self.version.scan(table)))
        segments = str(self.staging.disk.folder.parent / SEGMENTS)
        return stored(self.spark, self._here(segments), tables.table(table), m is not None)

    def _here(self, read: str) -> Surroundings:
        return surroundings(read, str(self.staging.folder), self.memory)


def sum_up(common: str, share: int, batches: Batches) -> str:
    """In a task: leave runs of the rows of a map, and say which, and how often a row of it may be there."""
    here, (ref,), _ = sources_of(common)
    if not Path(here.write).is_dir():
        return UNSEEN
    segments: list[Segment] = []
    heaviest = 0
    for rows in _rows(ref.spec, batches, here):
        number = numbered(share) + len(segments) + 1
        segments += written([Unwritten(rows, ref.spec.indexes[:1], number)], here.disk, here.room, lasts=False)
        heaviest += rows.heaviest() * len(rows)
    return json.dumps([list(map(segment_to_json, segments)), heaviest])


def _rows(spec: TableSpec, batches: Batches, here: Surroundings) -> Iterator[Rows]:
    """Sums of some rows at a time."""
    for table in gathered(batches, here.room):
        rows = Rows.of_arrow(spec.types, table).consolidated()
        if len(rows):
            yield rows
