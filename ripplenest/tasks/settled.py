"""Runs of all shares become segments by ranges of hashes: what tasks are asked, and what the driver hears of it."""

import json
from collections.abc import Iterator, Mapping

from attrs import asdict, field, frozen

from ripplenest.intake.columns import Culprit
from ripplenest.intake.faults import Fault
from ripplenest.intake.replacing import replace
from ripplenest.intake.settling import keys_again, settle
from ripplenest.intake.share import Loading
from ripplenest.store.ranges import Range, divided
from ripplenest.store.ref import Segments, TableRef, segment_of_json, segment_to_json
from ripplenest.tasks.handed import (
    Surroundings,
    faults_of,
    loading_of,
    loading_text,
    range_of,
    runs_of_json,
    runs_to_json,
    sources_of,
    sources_text,
)
from ripplenest.tasks.jobs import Jobs
from ripplenest.tasks.kinds import Again, Settling
from ripplenest.tasks.merging import Told, merge_ranges


@frozen
class Done:
    """By table the ``made`` segments; the rows whose keys come ``again``, and those that the state is against
    (``there``); by part the runs of what was in bags that change (``old``)."""

    made: dict[str, Segments] = field(factory=dict)
    again: list[Fault] = field(factory=list)
    there: list[Fault] = field(factory=list)
    old: dict[str, Segments] = field(factory=dict)


@frozen
class Settlement:
    """Tasks that settle ``runs``, by table, for ``work``. ``numbers`` are what the catalogue calls tables; segments are
    numbered from ``first`` on."""

    jobs: Jobs
    work: Loading
    here: Surroundings
    runs: Mapping[str, TableRef]
    numbers: Mapping[str, int]
    first: int

    def again(self) -> list[Fault]:
        """What is found of keys that come again, of rows that have keys, when nothing becomes of the rows."""
        keys = self.work.numbered
        if keys is None or keys.name not in self.runs:
            return []
        told = Told.of([divided(self.runs[keys.name], self.jobs.at_once, 0, 0)])
        said = self.jobs.on_work(Again, self._common(told), told.ranges)
        return [fault for text in said for fault in faults_of(json.loads(text))]

    def settled(self) -> Done:
        """What becomes of all runs of an insert; of others, of those that meet stored rows. One job."""
        ranges, done = [*self._ranges()], Done()
        told = Told.of(ranges)
        said = map(json.loads, self.jobs.on_work(Settling, self._common(told), told.ranges))
        for piece, (segment, again, there, old) in zip((p for own in ranges for p in own), said, strict=True):
            done.again.extend(faults_of(again))
            done.there.extend(faults_of(there))
            if segment is not None:
                table = piece.source.spec.name if self.work.verb == "insert" else self.work.own.name
                done.made[table] = (*done.made.get(table, ()), segment_of_json(segment))
            for part, runs in runs_of_json(old).items():
                done.old[part] = (*done.old.get(part, ()), *runs)
        return done

    def inside(self, old: Mapping[str, Segments]) -> dict[str, Segments]:
        """By part how the bags of rows change, which held what is in ``old`` runs, and have what came, unless that goes
        with them. One job, and for a delete another one. Raises Culprit when something else is to go than was held."""
        inner = [part for part in self.work.relation.parts if part != self.work.own.name]
        found = self._merged({part: self.runs[part] for part in inner if part in self.runs}, old)
        if self.work.verb != "delete":
            return found
        if found:
            raise Culprit
        return self._merged({}, old)

    def _merged(self, new: Mapping[str, TableRef], old: Mapping[str, Segments]) -> dict[str, Segments]:
        """By part the ``new`` rows without the ``old`` ones."""
        first, work = self._end, list[list[Range]]()
        for part in sorted({*new, *old}):
            spec = self.work.specs[part]
            minus = TableRef(spec, old[part]) if part in old else None
            source = new.get(part, TableRef(spec, ()))
            work.append(divided(source, self.jobs.at_once, first, self.numbers[part], minus))
            first += len(work[-1])
        found = zip(work, merge_ranges(self.jobs, self.here, work), strict=True)
        return {own[0].source.spec.name: tuple(segments) for own, segments in found if segments}

    def _ranges(self) -> Iterator[list[Range]]:
        first, keys = self.first, self.work.numbered
        for table in sorted(self.runs):
            own = self.work.own.name if keys is not None and table == keys.name else table
            if self.work.verb == "insert" or own == self.work.own.name:
                found = divided(self.runs[table], self.jobs.at_once, first, self.numbers[own])
                yield found
                first += len(found)

    @property
    def _end(self) -> int:
        """The first number of no segment that is ``settled``."""
        return max((piece.id + 1 for own in self._ranges() for piece in own), default=self.first)

    def _common(self, told: Told) -> str:
        return sources_text(self.here, told.sources, loading_text(self.work, self.here))


# ---------------------------------------------------------------- in tasks


def find_again(common: str, own: str) -> str:
    """The keys of a range that come again."""
    here, sources, more = sources_of(common)
    with here.messages():
        found = keys_again(loading_of(more)[0], range_of(own, sources), here.reader, here.room)
    return json.dumps([asdict(fault) for fault in found])


def settle_range(common: str, own: str) -> str:
    """The segment that a range becomes, what is wrong with its rows, and the runs of what was in bags."""
    here, sources, more = sources_of(common)
    work, _ = loading_of(more)
    with here.messages():
        does = settle if work.verb == "insert" else replace
        found = does(work, range_of(own, sources), here.reader, here.disk, here.room)
    segment = None if found.segment is None else segment_to_json(found.segment)
    faults = ([asdict(fault) for fault in faults] for faults in (found.again, found.there))
    return json.dumps([segment, *faults, runs_to_json(found.old)])
