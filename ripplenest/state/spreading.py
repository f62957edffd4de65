"""Rows of batches that stay with several processes: what a write of many does to the parts of its relation is in files
that tasks wrote, and the driver is told names and numbers.

A relation whose rows a batch changes in no other way gets them as a load would (``intake/share.py``), and an upsert or
a delete is summed with what is stored, where labels are made of keys (``intake/replacing.py``). Operations that
follow one another on one relation see what those before them did: then rows come here, as they do where workers do not
see the folder of the state, or where a state of an earlier release has other access keys.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from attrs import evolve, field, frozen

from ripplenest.data.naming import Numbers, array_numbers, row_numbers
from ripplenest.data.rows import Rows
from ripplenest.errors import CorruptState
from ripplenest.intake import operations
from ripplenest.intake.apply import is_found
from ripplenest.intake.columns import Culprit
from ripplenest.intake.files import has_few, is_opened, is_path
from ripplenest.intake.given import Given
from ripplenest.intake.ingest import is_frame, read_rows
from ripplenest.intake.operations import Operation, Verb, Write
from ripplenest.intake.replacing import is_replaced
from ripplenest.intake.share import Loading
from ripplenest.intake.spread import Spread
from ripplenest.nrc.types import Type
from ripplenest.run.engines import Engines
from ripplenest.schema.relation import Relation, key_type
from ripplenest.state.state import State
from ripplenest.state.tasks import Tasks, loading
from ripplenest.store.detached import Detached
from ripplenest.store.files import Files
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.staging import Shared, Staging
from ripplenest.version.folding import Unfolding

Named = Sequence[tuple[Operation, str]]
CAME = 1 << 39  # times that a row is there at most, each of which came by itself


@frozen
class Taken:
    """What tasks made of some operations: by part of relations the rows that it gets, by table what is stored of them,
    and by part how many rows that is. ``others`` are the operations that are left."""

    others: Named
    parts: Mapping[str, Rows] = field(factory=dict)
    stored: Mapping[str, Rows] = field(factory=dict)
    sizes: Mapping[str, int] = field(factory=dict)

    def row_numbers(self, files: Files, version: int) -> Numbers:
        """Of rows of the other operations: no two of a version have one number."""
        return Shared.of_rows(files.staging.folder, version) if self.stored else row_numbers(version)

    def array_numbers(self, files: Files, version: int) -> Numbers:
        """The same of rows below arrays."""
        return Shared.of_arrays(files.staging.folder, version) if self.stored else array_numbers(version)


@frozen
class Spreading:
    """Large writes to one state, by ``tasks`` if there can be any."""

    state: State
    engines: Engines
    tasks: Callable[[], Tasks] | None

    def rows(self, verb: Verb, r: Relation, rows: object, where: str) -> Given | None:
        """Rows that stay where they are: of a DataFrame or a file that is no small piece of work, where Spark is asked
        for, if tasks can do with them what is to be done. None for others. Raises WrongColumns, and WrongValue for a
        file that Spark does not read.

        How many there are is a job of Spark, which computes the DataFrame once more. Where nobody asks for Spark that
        is not worth it: nearly all batches are too small to go there.
        """
        if self.engines.wanted != "spark":
            return None
        is_keys = verb in operations.KEYED
        row, key = (key_type(r.row, r.key), ()) if is_keys else (r.row, r.key)
        tasks, found = self.carried(r, row, rows, where, whole=verb == "upsert")
        if tasks is None:
            return None
        is_done = verb == "insert" or is_replaced(r, verb)
        if is_done and (many := tasks.many(found, row, where)) > operations.SPREAD:
            return Spread(row, key, found, many, where)
        return read_rows(found, row, where, key) if found is not rows else None

    def carried(
        self, r: Relation, row: Type, rows: object, where: str, *, whole: bool = False
    ) -> tuple[Tasks | None, object]:
        """Who takes rows that are with several processes, and they: those of a file that is no small one are, where
        Spark is asked for. They are of type ``row``; ``whole`` as in ``read_rows``. The rows as they are, if nobody
        does."""
        if self.tasks is None or not r.parts[r.name].types:
            return None, rows
        is_there = self.engines.wanted == "spark" and is_path(rows) and is_opened(rows)
        if is_there and is_path(rows) and not has_few(rows, operations.SPREAD):
            tasks = self.tasks()
            return tasks, tasks.opened(rows, row, where, whole)
        if is_frame(rows) and self.tasks().takes(rows):
            return self.tasks(), rows
        return None, rows

    def look(self, known: Sequence[Operation], snapshot: Unfolding) -> None:
        """Find out what the rows of operations are, of a batch that was applied before."""
        for o in known:
            if isinstance(o, Write) and isinstance(o.rows, Spread):
                work, _ = self._work(o, o.rows, "", snapshot)
                with Staging.begin(self.state.store.path) as staging:
                    o.rows.is_known_as(self._tasks.content(o.rows.given, work, staging))

    def taken(self, named: Named, snapshot: Unfolding, files: Files) -> Taken:
        """What tasks can do of a batch on top of ``snapshot``. Raises WrongValue, DuplicateKey and RowNotThere."""
        often = Counter(o.relation for o, _ in named)
        done = {o.relation: self._written(o, where, snapshot, files) for o, where in named if often[o.relation] == 1}
        found = {relation: own for relation, own in done.items() if own is not None}
        return Taken(
            [(o, where) for o, where in named if o.relation not in found],
            {part: rows for own in found.values() for part, rows in own.parts.items()},
            {table: rows for own in found.values() for table, rows in own.stored.items()},
            {part: n for own in found.values() for part, n in own.sizes.items()},
        )

    def _written(self, o: Operation, where: str, snapshot: Unfolding, files: Files) -> Taken | None:
        """What an operation does, if tasks can do it."""
        r = self.state.declared.relations[o.relation]
        if not (isinstance(o, Write) and isinstance(o.rows, Spread) and is_found(r, snapshot.access_keys)):
            return None
        tasks = self._tasks
        if not tasks.sees(o.rows.given, self.state.store.path):
            return None
        work, ids = self._work(o, o.rows, where, snapshot)
        if o.verb != "insert" and (work.folds or not work.is_in_order):
            return None
        try:
            written, sizes, content = tasks.load(o.rows.given, work, files.staging, ids, files.next)
        except Culprit:  # it is said here which
            return None
        except CorruptState:  # perhaps of files that went while tasks were at work
            files.tables.check_kept()
            raise
        o.rows.is_known_as(content)
        stored: dict[str, Rows] = {
            table: files.filed(work.specs[table], segments, CAME)
            for table, segments in written.segments.items()
        }
        parts = {part: rows for part, rows in stored.items() if part in r.parts}
        came = sizes if o.verb == "insert" else {}
        return Taken((), parts, stored, {**came, **{part: len(rows) for part, rows in parts.items()}})

    def _work(self, o: Write, rows: Spread, where: str, snapshot: Unfolding) -> tuple[Loading, dict[str, int]]:
        r, tables = self.state.declared.relations[o.relation], snapshot.tables
        assert isinstance(tables, Snapshot)
        work, ids = loading(r, self.state.declared.folded, snapshot)
        refs = {name: tables.table(name) for name in ((r.name,) if o.verb == "insert" else r.parts)}
        before = Detached(str(self.state.store.path), snapshot.version, refs)
        meets_none = o.verb == "insert" and (not r.key or not snapshot.size(r.name))
        stored = None if meets_none else before
        return evolve(work, where=where, given=rows.where, before=stored, verb=o.verb), ids

    @property
    def _tasks(self) -> Tasks:
        assert self.tasks is not None
        return self.tasks()
