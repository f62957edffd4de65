"""Per-key steps by tasks: what statements have made of groups, of first rows and of domains is in files, by the hash of
columns of the key, and becomes the change of the map there, a range of hashes at a time (``run/step.py``).

A range has all rows of its keys, so ranges share no key: each looks up what is stored of its own, and what it finds
are segments. Those of a map that is stored by other columns are runs, which are merged by ranges of their own.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import frozen

from ripplenest.data.rows import Rows
from ripplenest.data.sums import Sum
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.serial import map_of_json, map_to_json
from ripplenest.run.step import Stepped, stepped
from ripplenest.store.detached import Detached
from ripplenest.store.files import Filed, Files, windows
from ripplenest.store.index.indexes import RANGE
from ripplenest.store.ranges import Merged, Range, Unwritten, divided, written
from ripplenest.store.ref import Segments, TableRef, segment_of_json, segment_to_json
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.store.staging import FOLDER
from ripplenest.tasks.handed import Surroundings, detached_of_json, detached_to_json, range_of, sources_of, sources_text
from ripplenest.tasks.jobs import UNSEEN, Jobs, check_seen
from ripplenest.tasks.kinds import Stepping
from ripplenest.tasks.merging import Told, merged_ranges


@frozen
class Steps:
    """Steps by ``jobs``, whose tasks read and write ``here``, of rows that are in ``files``."""

    jobs: Jobs
    here: Surroundings
    files: Files

    def stepped(self, m: PlannedMap, made: Filed) -> Stepped | None:
        """See ``run.step.Stepper``: None where rows of one key are not together. One job; and one more, if the map is
        stored by other columns."""
        spec = self.files.tables.tables.get(m.name)
        near = together(m, made.ref)
        if spec is None or not made.ref.is_run or not {*near} <= {*m.together}:
            return None
        found = self._asked(m, made.ref)
        changes, seen = ([*filter(None, own)] for own in ([f.change for f in found], [f.seen for f in found]))
        types = m.types if m.answers is None else m.answers.visible
        shown = TableSpec(f"{m.name} seen", types, (near,) if near else ())
        visible = self.files.filed(shown, tuple(seen), most(found))
        read, jobs = sum(f.read for f in found), 1
        if m.answers is None:
            return Stepped(made, visible, read, jobs)
        if not is_stored_by(spec, near):
            changes, jobs = self._merged(spec, tuple(changes)), jobs + bool(changes)
        return Stepped(self.files.filed(spec, tuple(changes), most(found)), visible, read, jobs)

    def _asked(self, m: PlannedMap, made: TableRef) -> list["Found"]:
        tables = [m.name, *(() if m.ranked is None else (table for table, _ in m.ranked.orders(len(m.types))))]
        before = Detached(self.here.read, 0, {name: self.files.tables.table(name) for name in tables})
        numbers = self.files.next, self.files.number(m.name)
        pieces = divided(made, self.jobs.at_once, *numbers) if m.together else [Range(made, 0, RANGE, *numbers)]
        self.files.take(2 * len(pieces))
        told = Told.of([pieces])
        common = json.dumps([map_to_json(m), detached_to_json(before), len(pieces)])
        said = self.jobs.on_work(Stepping, sources_text(self.here, told.sources, common), told.ranges)
        check_seen(said, Path(self.here.write))
        return [Found.of_json(json.loads(text)) for text in said]

    def _merged(self, spec: TableSpec, runs: Segments) -> list[Segment]:
        """The segments of a map of whose rows there are ``runs``, no two of which share a row."""
        source = TableRef(spec, runs).under(f"{FOLDER}/{self.files.staging.token}")
        work = divided(source, self.jobs.at_once, self.files.next, self.files.number(spec.name))
        self.files.take(len(work))
        (found,) = merged_ranges(self.jobs, self.here, [work])
        return [m.segment for m in found if m.segment is not None]


@frozen
class Found:
    """What a range becomes: segments of what changes in a map and in what readers see of it, if there are rows in them,
    each at most ``heaviest`` times; and how many stored rows were ``read``."""

    change: Segment | None
    seen: Segment | None
    heaviest: int
    read: int

    def to_json(self) -> list[Any]:
        """Law: of_json(to_json(f)) = f."""
        segments = (None if s is None else segment_to_json(s) for s in (self.change, self.seen))
        return [*segments, self.heaviest, self.read]

    @classmethod
    def of_json(cls, found: list[Any]) -> "Found":
        change, seen = (None if s is None else segment_of_json(s) for s in found[:2])
        return cls(change, seen, *found[2:])


def together(m: PlannedMap, made: TableRef) -> Columns:
    """The columns by whose hash rows of one key are together; none where all are of one key, which is one range."""
    return made.clustered if m.together else ()


def is_stored_by(spec: TableSpec, near: Columns) -> bool:
    """Whether ranges of hashes of these columns are ranges of a map, too; a single one always is."""
    return not near or spec.indexes[:1] == (near,)


def most(found: Iterable[Found | Merged]) -> int:
    """How often some row is there."""
    return max((f.heaviest for f in found), default=0)


# ---------------------------------------------------------------- in tasks


def step_range(common: str, own: str) -> str:
    """What the rows of a range do to a map."""
    here, sources, more = sources_of(common)
    if not Path(here.write).is_dir():
        return UNSEEN
    m, before, many = json.loads(more)
    with here.messages():
        piece = _Piece(map_of_json(m), detached_of_json(before), range_of(own, sources), here)
        return json.dumps(piece.done(many).to_json())


@frozen
class _Piece:
    """Rows of a range that were made for a map, on top of tables ``before``."""

    m: PlannedMap
    before: Detached
    work: Range
    here: Surroundings

    def done(self, many: int) -> Found:
        """What becomes of them, of so ``many`` ranges: numbers of what is seen come after those of all changes."""
        types = self.m.types if self.m.answers is None else self.m.answers.visible
        change, seen = (Sum(self.here.room, t, self._near, each_once=False) for t in (self.m.types, types))
        read = heaviest = 0
        for rows in self._windows():
            found = stepped(self.m, rows, self.before)
            seen.add(found.seen)
            if self.m.answers is not None:  # what changes in a domain is there already
                change.add(found.change)
            read += found.read
            heaviest = max(heaviest, found.change.heaviest(), found.seen.heaviest())
        keys = (self._near,) if self._near else ()
        shown = self._written(Unwritten(seen.rows().as_sum(), keys, self.work.id + many), False)
        return Found(self._changed(change.rows().as_sum()), shown, heaviest, read)

    @property
    def _near(self) -> Columns:
        return together(self.m, self.work.source)

    def _windows(self) -> Iterable[Rows]:
        """Rows of the range, those of one key together."""
        source, reader = self.work.source, self.here.reader
        if not self.m.together:
            return [source.scan(reader)]
        return windows(source, reader, (self.work.low, self.work.high), self.here.room)

    def _changed(self, rows: Rows) -> Segment | None:
        """The segment of what changes, as the map is stored; else a run of it."""
        spec = self.before.refs[self.m.name].spec
        if not is_stored_by(spec, self._near):
            return self._written(Unwritten(rows, spec.indexes[:1], self.work.id), False)
        return self._written(Unwritten(rows, spec.access, self.work.id, self.work.table, is_delta=True), True)

    def _written(self, rows: Unwritten, lasts: bool) -> Segment | None:
        return written([rows], self.here.disk, self.here.room, lasts)[0] if len(rows.rows) else None
