"""Maps that are built by Spark, and stay where its tasks write them: what ``run/build.py`` does for what is large.

Level by level, the products of a map are DataFrame joins over stored tables and what a commit changes in them, which
tasks read (``rows.py``). Who has rows of a map sums them a piece at a time and leaves sorted runs. Those count against
what is stored by ranges of hashes, and what differs becomes segments: the change of the map (``store/ranges.py``). So
Spark groups nothing, the driver is told names, and a map that nobody has stored differs in all that it holds. What
later levels read of a map is what is stored, and its change.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

from attrs import define, evolve, field
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.data.seen import Seen
from ripplenest.data.sums import summed
from ripplenest.nrc.errors import CorruptState, EvaluationError
from ripplenest.plan.answers import of_nothing
from ripplenest.plan.planned import Plan, PlannedMap, Target
from ripplenest.plan.product import Const, Product
from ripplenest.run.passing import seen_of
from ripplenest.run.trees import Way, smaller, way
from ripplenest.schema.relation import Relation
from ripplenest.spark.frames import Layout, join_of, layout, placed
from ripplenest.spark.groups import folded
from ripplenest.spark.joiner import evaluation
from ripplenest.spark.ranking import first_rows
from ripplenest.state.tasks import Back, Built, Pending
from ripplenest.store.disk import SEGMENTS
from ripplenest.store.index.indexes import RANGE
from ripplenest.store.ranges import LEAST, Range, Unwritten, divided, merge, written
from ripplenest.store.ref import Segments, TableRef, segment_of_json
from ripplenest.store.segments import Segment
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import TableSpec, Written
from ripplenest.store.staging import FOLDER, Staging
from ripplenest.tasks.arrays import shredded
from ripplenest.tasks.checks import Checks
from ripplenest.tasks.faulty import raised
from ripplenest.tasks.handed import Surroundings, sources_text, surroundings
from ripplenest.tasks.jobs import Jobs, SparkJobs, check_seen
from ripplenest.tasks.kinds import Summing
from ripplenest.tasks.merging import merge_ranges
from ripplenest.tasks.rows import Sums, stored
from ripplenest.tasks.whole import Whole, fits, is_for_one
from ripplenest.version.folding import Fold

JOINS = 24  # tables that the products of one job read, about

Ways = Mapping[str, Way]


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
        return self.more(self.before(table), self.changed.get(table, ()))

    def since(self, table: str, version: int) -> tuple[TableRef, TableRef]:
        """What changed after ``version``, and what there was then of another table of this name."""
        changes, gone = self.tables.difference(table, version)
        return changes.under(SEGMENTS), gone.under(SEGMENTS)

    def shredded(self, fold: Fold, arrays: TableRef) -> dict[str, Segments]:
        """By part the runs of what signed ``arrays`` stand for."""
        if not arrays.segments:
            return {}
        self.jobs += 1
        specs = {part: self.before(part).spec for part in fold.parts}
        return shredded(SparkJobs(self.spark.range(0)), self.here, fold, arrays, specs)

    def more(self, ref: TableRef, runs: Segments) -> TableRef:
        """The rows of both, in the columns of this version."""
        return ref.with_change(self.staged(runs), self.over.version.version + 1)

    def stage(self, table: str, rows: Rows) -> None:
        """Write a change that is here, for tasks to read."""
        here = self.here
        spec = self.before(table).spec
        draft = Unwritten(summed(rows, here.room), spec.indexes[:1], self.first, is_delta=True)
        self.first += 1
        self.changed[table] = tuple(written([draft], here.disk, here.room)) if len(draft.rows) else ()

    def differ(self, given: Mapping[str, tuple[TableRef, TableRef]]) -> None:
        """Change each table by the rows of the first of both, without those of the second. One job."""
        jobs, work = SparkJobs(self.spark.range(0)), []
        for table, (source, minus) in given.items():
            number, spec = 0 if table in self.over.made else self.tables.number(table), self.before(table).spec
            if source.segments or minus.segments:
                gone = evolve(minus, spec=spec) if minus.segments else None
                work.append(divided(evolve(source, spec=spec), jobs.at_once, self.first, number, gone))
                self.first += len(work[-1])
        self.changed.update(dict.fromkeys(given, ()))
        if not work:
            return
        self.jobs += 1
        with evaluation():
            merged = merge_ranges(jobs, self.here, work)
        for own, found in zip(work, merged, strict=True):
            self.changed[own[0].source.spec.name] = self._together(own[0], found)

    def written(self, tables: Iterable[str]) -> Written:
        """What changes ``tables``, for a commit to name."""
        found = {table: self.changed[table] for table in tables}
        return Written(self.staging.folder, {table: segments for table, segments in found.items() if segments})

    def _together(self, one: Range, segments: Sequence[Segment]) -> Segments:
        """Segments of which each task that found little has made one: they become one, here."""
        if len(segments) < 2 or sum(s.blob.bytes for s in segments) > LEAST:
            return tuple(segments)
        here, source = self.here, TableRef(one.source.spec, self.staged(segments))
        self.first += 1
        found = merge(Range(source, 0, RANGE, self.first - 1, one.table), here.reader, here.disk, here.room)
        return () if found.segment is None else (found.segment,)

    def staged(self, segments: Sequence[Segment]) -> Segments:
        """Segments of this piece of work, as tasks read them."""
        return TableRef(TableSpec("", ()), tuple(segments)).under(f"{FOLDER}/{self.staging.token}").segments


@define
class TaskBuilds:
    """Builds in ``spark``, whose tasks may take ``memory`` each (``state.tasks.Builds``)."""

    spark: SparkSession
    memory: int

    def build(self, plan: Plan, over: Pending, staging: Staging, first: int, pairs: float = 0) -> Built:
        """The change of every map of ``plan``, in segments that are numbered from ``first`` on (``Builds``). Raises
        EvaluationError."""
        found = Differences(self.spark, self.memory, over, staging, first)
        with told(staging, found.tables):
            return _Build(found, plan, pairs).done()

    def back(self, plan: Plan, back: Back, staging: Staging, first: int) -> Built:
        """The change of tables to what they were, and of every map of ``plan`` with it (``Builds``)."""
        found = Differences(self.spark, self.memory, Pending(back.version), staging, first)
        found.tables.check_kept(back.to)
        with told(staging, found.tables):
            return self._back(found, plan, back)

    @property
    def jobs(self) -> Jobs:
        """Jobs beside no rows."""
        return SparkJobs(self.spark.range(0))

    def check(self, version: Snapshot, r: Relation, staging: Staging) -> dict[str, int] | None:
        """What is stored of a relation, looked at (``Builds``). Two jobs."""
        here = surroundings(str(staging.disk.folder.parent), str(staging.folder), self.memory)
        with told(staging, version):
            return Checks(self.jobs, here, version, r, staging).sizes()

    def merge(self, version: Snapshot, tables: Mapping[str, Segments], staging: Staging, first: int) -> Written:
        """The segments that can take the place of these, numbered from ``first`` on (``Builds``). One job."""
        jobs, work = self.jobs, list[list[Range]]()
        here = surroundings(str(staging.disk.folder.parent), str(staging.folder), self.memory)
        for table, segments in tables.items():
            source = evolve(version.table(table), segments=segments).under(SEGMENTS)
            work.append(divided(source, jobs.at_once, first, version.number(table)))
            first += len(work[-1])
        with told(staging, version):
            found = merge_ranges(jobs, here, work)
        made = zip(tables, found, strict=True)
        return Written(staging.folder, {t: tuple(s.merged(len(own)) for s in own) for t, own in made if own})

    def _back(self, found: Differences, plan: Plan, back: Back) -> Built:
        since = {table: found.since(table, back.to) for table in back.tables}
        for fold in back.unfolded:
            changes, gone = found.since(fold.table, back.to)
            came, went = found.shredded(fold, changes), found.shredded(fold, gone)
            for part in fold.parts:
                of, was = since[part]
                since[part] = found.more(of, came.get(part, ())), found.more(was, went.get(part, ()))
        found.differ({table: (gone, changes) for table, (changes, gone) in since.items()})
        built = _Build(found, plan).done()
        parts = found.written(back.tables)
        return evolve(built, written=evolve(parts, segments={**parts.segments, **built.written.segments}))


@define
class _Build:
    """One build, by definition where that joins no more than so many ``pairs``; ``read`` are the tables as products
    read them, planned once, and ``inside`` the runs of what arrays stand for, by their table and by part."""

    of: Differences
    plan: Plan
    pairs: float = 0
    read: dict[str, DataFrame] = field(factory=dict)
    inside: dict[str, dict[str, Segments]] = field(factory=dict)
    rows_read: int = 0

    def done(self) -> Built:
        over, asked = self.of.over, {s.table for m in self.plan.maps for p in m.build for s in p.sources}
        self.of.changed.update(over.staged)
        for table in sorted(asked & over.changes.keys()):
            self.of.stage(table, over.changes[table])
        for level in self.plan.levels:
            self._level(level)
        return Built(self.of.written(m.name for m in self.plan.maps), self.rows_read, self.of.jobs)

    def _level(self, level: Sequence[PlannedMap]) -> None:
        """The maps of a level: the runs of each, and then what differs in all of them, in one job."""
        ways = {m.name: self._way(m) for m in level}
        asked = {s.table for w in ways.values() for p in w.products for s in p.sources} - self.plan.by_name.keys()
        before = {m.name: self.of.before(m.name) for m in level}
        self.rows_read += sum(map(self.of.over.version.size, asked)) + sum(ref.size for ref in before.values())
        here = self.of.here
        runs = {name: self.of.staged(self._whole(name)) for name in ways if is_for_one(ways[name], self._ref, here)}
        rest = {name: way for name, way in ways.items() if name not in runs}
        for group in _groups(rest):
            runs |= {name: self.of.staged(found) for name, found in self._summed(group).items()}
        self.of.differ({name: (TableRef(ref.spec, runs.get(name, ())), ref) for name, ref in before.items()})

    def _way(self, m: PlannedMap) -> Way:
        """How a map is built: of sums that others keep, where they have much fewer rows."""
        return way(m, smaller(m, self._size, self.pairs) if m.trees else None)

    def _whole(self, name: str) -> Segments:
        """The run of a map that is built here."""
        self.of.first += 1
        return Whole(self._ref, self.of.here).run_of(self.plan, name, self.of.first - 1, self.pairs)

    def _size(self, table: str) -> int:
        return self._ref(table).size

    def _summed(self, built: Ways) -> dict[str, Segments]:
        """The runs of some maps. One job."""
        try:
            return self._runs(built)
        except EvaluationError:  # perhaps of a key, for a row without a partner
            again = {name: _cautious(self.plan.by_name[name]) for name in built}
            try:
                if again == built:
                    raise
                return self._runs(again)
            except EvaluationError:
                self._tell(built)
                raise

    def _tell(self, built: Ways) -> None:
        """Raise what this process says of a row that has no value, where it can: Spark names a condition, and no view.
        """
        for name, own in built.items():
            if fits(own, self._size):
                self._whole(name)

    def _runs(self, built: Ways) -> dict[str, Segments]:
        shared = layout([_stored(self.plan.by_name[name]) for name in built])
        self.of.jobs += 1
        return runs_of(self._products(built, shared), shared, {n: self.of.before(n).spec for n in built}, self.of.here)

    def _products(self, built: Ways, shared: Layout) -> DataFrame:
        """The rows of all products, tagged by their maps."""
        return reduce(DataFrame.unionAll, self._frames(built, shared))

    def _frames(self, built: Ways, shared: Layout) -> Iterator[DataFrame]:
        for name, own in built.items():
            m = self.plan.by_name[name]
            if m.answers is None:
                yield from (self._joined(p, name, shared) for p in own.products)
            else:
                yield self._answered(m, own, shared)

    def _answered(self, m: PlannedMap, built: Way, shared: Layout) -> DataFrame:
        """The rows of a group, or the first rows of places."""
        own = layout([built.target])
        names = [F.col(slot).alias(f"c{i}") for i, slot in enumerate(own.slots[m.name])]
        made = reduce(DataFrame.unionAll, (self._joined(p, m.name, own) for p in built.products))
        made = made.select(*names, WEIGHT)
        if built.folding is not None:
            rows = folded(built.folding, made)
        else:
            assert m.ranked is not None
            rows = first_rows(m.ranked, made)
        return rows.select(*placed(m.name, shared, [F.col(f"c{i}") for i in range(len(m.types))]), WEIGHT)

    def _joined(self, p: Product, name: str, own: Layout) -> DataFrame:
        tables = [s.table for s in p.sources]
        for table in tables:
            if table not in self.read:
                self.read[table] = self._table(table)
        join = join_of(p, name, own, self._nothing(tables))
        return join.frame(self.of.spark, [self.read[table] for table in tables], False)

    def _nothing(self, tables: Iterable[str]) -> dict[str, Sequence[Const]]:
        """By table the answers of a place without a row, of folds that have a row for every place."""
        found = {table: self.plan.passing[table].answers for table in tables if table in self.plan.passing}
        return {table: of_nothing(a) for table, a in found.items() if a is not None and a.nothing is not None}

    def _table(self, table: str) -> DataFrame:
        """What statements see of a table."""
        return stored(self.of.spark, self.of.here, self._ref(table), self._seen(table))

    def _ref(self, table: str) -> TableRef:
        """The rows of a table, some of which may be in arrays."""
        ref = self.of.now(table)
        for fold in self.of.over.version.folds:
            if table in fold.parts and fold.table in self.of.tables.tables:
                if fold.table not in self.inside:
                    self.inside[fold.table] = self.of.shredded(fold, self.of.before(fold.table))
                ref = self.of.more(ref, self.inside[fold.table].get(table, ()))
        return ref

    def _seen(self, table: str) -> Seen | Sums:
        m = self.plan.shown.get(table)
        found = seen_of(m)
        if found is None:
            assert m is not None
            return Sums(m)
        return found


def _stored(m: PlannedMap) -> Target:
    """What is stored of a map."""
    return Target(m.name, m.types, m.name)


def _cautious(m: PlannedMap) -> Way:
    """As it is defined, by no key that can fail."""
    return evolve(way(m), products=tuple(p.cautious() for p in m.build))


def _groups(ways: Ways) -> Iterator[dict[str, Way]]:
    """The maps of a level that are built, as many together as have few joins."""
    group: dict[str, Way] = {}
    joins = 0
    for name, built in ((name, built) for name, built in ways.items() if built.products):
        own = sum(len(p.sources) for p in built.products)
        if group and joins + own > JOINS:
            yield group
            group, joins = {}, 0
        group[name] = built
        joins += own
    if group:
        yield group


@contextmanager
def told(staging: Staging, tables: Snapshot) -> Iterator[None]:
    """What tasks have noted, as an error of ours. Raises NotKept where they could not read because the version of
    ``tables`` is no longer kept."""
    with raised(staging):
        try:
            yield
        except (PySparkException, CorruptState):
            tables.check_kept()
            raise


def runs_of(
    products: DataFrame, shared: Layout, specs: Mapping[str, TableSpec], here: Surroundings
) -> dict[str, Segments]:
    """By target the runs of the rows of products, which are tagged by it. One job. Raises EvaluationError."""
    refs = [TableRef(spec, ()) for spec in specs.values()]
    common = sources_text(here, refs, json.dumps([shared.slots[name] for name in specs]))
    with evaluation():
        said = SparkJobs(products).on_rows(Summing, common)
    check_seen(said.values(), Path(here.write))
    found = [json.loads(said[share]) for share in sorted(said)]
    return {name: tuple(segment_of_json(s) for own in found for s in own[i]) for i, name in enumerate(specs)}
