"""Whether the stored parts of a relation are what they should be, found by tasks (``reading/verify.py`` for few rows).

A task looks at the rows of a range of each part, and leaves the keys and labels that others have to do with as sorted
runs of their own: those that rows hold, and those under which rows are. Then tasks look at ranges of these: each is
held by one row, and each under which there are rows is held (nrc-ivm, definition 1). The driver is told how many rows
there are, and whether something is wrong; what it is, is found by looking again.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path

import pyarrow.compute as pc
from attrs import frozen

from ripplenest.data import columnar
from ripplenest.data.rows import Rows
from ripplenest.intake.faults import numbered
from ripplenest.reading.seen import Seen, sound, whole
from ripplenest.reading.verification import Table
from ripplenest.schema.relation import Relation
from ripplenest.state.stored import relation_of, relation_text
from ripplenest.store.disk import SEGMENTS
from ripplenest.store.ranges import Range, Unwritten, divided, parts, windows, written
from ripplenest.store.ref import Segments, TableRef
from ripplenest.store.segments import Segment
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.store.staging import FOLDER, Staging
from ripplenest.tasks.handed import (
    Surroundings,
    range_of,
    runs_of_json,
    runs_to_json,
    sources_of,
    sources_text,
)
from ripplenest.tasks.jobs import UNSEEN, Jobs, check_seen
from ripplenest.tasks.kinds import Checking, Meeting
from ripplenest.tasks.merging import Told

KEYS, HELD, UNDER = "keys of ", "held of ", "under "  # what runs are called, before the name of a part


@frozen
class Checks:
    """Tasks that look at relation ``r`` as it is in ``version``, and write runs that nobody names."""

    jobs: Jobs
    here: Surroundings
    version: Snapshot
    r: Relation
    staging: Staging

    def sizes(self) -> dict[str, int] | None:
        """By part how many rows there are; None where something is wrong."""
        refs = [self.version.table(part).under(SEGMENTS) for part in self.r.parts]
        told = Told.of([divided(ref, self.jobs.at_once, 0, 0) for ref in refs])
        common = sources_text(self.here, told.sources, json.dumps([self.r.name, relation_text(self.r)]))
        said = self.jobs.on_work(Checking, common, told.ranges)
        check_seen(said, Path(self.here.write))
        sizes, runs = Counter[str](dict.fromkeys(self.r.parts, 0)), defaultdict[str, Segments](tuple)
        for part, rows, is_wrong, found in map(json.loads, said):
            if is_wrong:
                return None
            sizes[part] += rows
            for name, own in runs_of_json(found).items():
                runs[name] = (*runs[name], *own)
        return None if self._meet(runs) else dict(sizes)

    def _meet(self, runs: Mapping[str, Segments]) -> bool:
        """Whether something is wrong with keys and labels."""
        work = [divided(source, self.jobs.at_once, 0, 0, under) for source, under in self._pairs(runs)]
        told = Told.of(work)
        return any(map(json.loads, self.jobs.on_work(Meeting, sources_text(self.here, told.sources), told.ranges)))

    def _pairs(self, runs: Mapping[str, Segments]) -> Iterator[tuple[TableRef, TableRef | None]]:
        """What is to be there once, and what is to be there at all."""
        for part in self.r.parts:
            if KEYS + part in runs:
                yield self._ref(part, KEYS, self.r.parts[part].key_columns, runs), None
            if HELD + part in runs or UNDER + part in runs:
                label = self.r.parts[part].label
                yield self._ref(part, HELD, label, runs), self._ref(part, UNDER, label, runs)

    def _ref(self, part: str, what: str, columns: Columns, runs: Mapping[str, Segments]) -> TableRef:
        ref = TableRef(_spec(self.r, part, columns), runs.get(what + part, ()))
        return ref.under(f"{FOLDER}/{self.staging.token}")


def _spec(r: Relation, part: str, columns: Columns) -> TableSpec:
    """That of runs of some columns of a part."""
    types = tuple(r.parts[part].types[c] for c in columns)
    return TableSpec(part, types, (tuple(range(len(types))),))


# ---------------------------------------------------------------- in tasks


def check_range(common: str, own: str) -> str:
    """Of a range of a part: its name, how many rows there are, whether something is wrong, and the runs of their keys
    and labels."""
    here, sources, more = sources_of(common)
    if not Path(here.write).is_dir():
        return UNSEEN
    name, relation = json.loads(more)
    piece = range_of(own, sources)
    at = _Checked(relation_of(name, relation), piece, here)
    rows, is_wrong = 0, False
    for _, found in windows(piece.source, here.reader, piece.low, piece.high, here.room):
        rows, is_wrong = rows + len(found), is_wrong or at.is_wrong(found)
        at.leave(found)
    return json.dumps([piece.source.spec.name, rows, is_wrong, runs_to_json(at.runs)])


def meet_range(common: str, own: str) -> str:
    """Whether, in a range, something is there several times, or under a label that nobody holds."""
    here, sources, _ = sources_of(common)
    piece = range_of(own, sources)
    refs = [ref for ref in (piece.source, piece.minus) if ref is not None]
    between = parts(refs, piece.low, piece.high, here.room)
    return json.dumps(any(_is_wrong([ref.between(here.reader, low, high) for ref in refs]) for low, high in between))


def _is_wrong(found: Sequence[Rows]) -> bool:
    once, *under = (rows.consolidated() for rows in found)
    if once.heaviest() > 1:
        return True
    every = tuple(range(len(once.types)))
    return any(not pc.all(columnar.among(rows, every, columnar.positive(once))).as_py() for rows in under if len(rows))


class _Checked:
    """Rows of a range that are looked at."""

    def __init__(self, r: Relation, piece: Range, here: Surroundings) -> None:
        self._r, self._here, self._source = r, here, piece.source
        self._part = r.parts[piece.source.spec.name]
        self._numbers = count(numbered(piece.id + 1))
        self.runs: dict[str, list[Segment]] = {}
        # Rows of one key have one hash, if what they stand in order by is a part of it.
        self._keeps_keys = {*piece.source.clustered} <= {*self._part.key_columns}

    def is_wrong(self, rows: Rows) -> bool:
        """Whether something is, in what can be seen here."""
        p = self._part
        seen = Seen(Table(p.name, "", 0), p.stored, rows)
        if any(True for _ in chain(sound(seen), whole(seen, p.given))):
            return True
        return bool(p.key) and self._keeps_keys and rows.select(p.key_columns).consolidated().heaviest() > 1

    def leave(self, rows: Rows) -> None:
        """Write what of the rows meets what is elsewhere."""
        p = self._part
        if p.key and not self._keeps_keys:
            self._write(KEYS, p.name, p.key_columns, rows.select(p.key_columns))
        if p.inner:
            under = rows.select(p.label).consolidated()
            self._write(UNDER, p.name, p.label, columnar.each_once(under))
        for site, holder in self._r.holders.items():
            if holder.part.name == p.name:
                held = rows.select(holder.columns)
                for i in range(len(holder.columns)):
                    held = columnar.where(held, columnar.column(held, i).is_valid())
                self._write(HELD, site, self._r.parts[site].label, held)

    def _write(self, what: str, part: str, columns: Columns, rows: Rows) -> None:
        spec = _spec(self._r, part, columns)
        summed = Rows(spec.types, table=rows.arrow().cast(Rows.empty(spec.types).arrow().schema)).consolidated()
        if len(summed):
            run = Unwritten(summed, spec.indexes, next(self._numbers))
            own = written([run], self._here.disk, self._here.room, lasts=False)
            self.runs.setdefault(what + part, []).extend(own)
