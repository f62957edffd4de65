"""What tasks are told and what they answer, as text."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from ripplenest.data.content import Content
from ripplenest.data.room import Room
from ripplenest.intake.faults import Fault
from ripplenest.intake.share import Loading, Taken
from ripplenest.nrc.errors import KEYS
from ripplenest.state.stored import relation_of, relation_text
from ripplenest.store.detached import Detached
from ripplenest.store.disk import Disk
from ripplenest.store.ranges import Merged, Range
from ripplenest.store.ref import (
    Segments,
    TableRef,
    ref_of_json,
    ref_to_json,
    segment_of_json,
    segment_to_json,
    spec_of_json,
    spec_to_json,
)
from ripplenest.store.segments import Reader, Segment
from ripplenest.version.folding import Fold


@frozen
class Surroundings:
    """Where a task reads and writes, in how much memory, and whether messages show what texts keys are."""

    read: str
    write: str
    memory: int
    keys: str | None = None

    @property
    def reader(self) -> Reader:
        """Of what is read."""
        return _reader(self.read)

    @property
    def disk(self) -> Disk:
        """Where it writes."""
        return Disk(Path(self.write))

    @property
    def room(self) -> Room:
        return Room(self.memory, self.disk.scratch)

    @contextmanager
    def messages(self) -> Iterator[None]:
        """What goes wrong here is told as the driver would tell it."""
        before = os.environ.pop(KEYS, None)
        if self.keys is not None:
            os.environ[KEYS] = self.keys
        try:
            yield
        finally:
            os.environ.pop(KEYS, None)
            if before is not None:
                os.environ[KEYS] = before


@lru_cache(maxsize=4)
def _reader(folder: str) -> Reader:
    """What this process has mapped and checked, whichever of its tasks asks."""
    return Reader(Disk(Path(folder)))


def surroundings(read: str, write: str, memory: int) -> Surroundings:
    """That of tasks of this driver."""
    return Surroundings(read, write, memory, os.environ.get(KEYS))


# ---------------------------------------------------------------- rows that come


def loading_text(work: Loading, here: Surroundings) -> str:
    """Law: loading_of(loading_text(w, p)) = (w, p)."""
    r = work.relation
    specs = [spec_to_json(spec) for spec in work.specs.values()]
    folds = [fold.root for fold in work.folds]
    before = None if work.before is None else detached_to_json(work.before)
    said = [work.version, work.where, work.given, before, work.lines, work.verb]
    return json.dumps([asdict(here), r.name, relation_text(r), folds, specs, said])


def loading_of(text: str) -> tuple[Loading, Surroundings]:
    here, name, relation, folds, specs, (version, where, given, before, *told) = json.loads(text)
    r = relation_of(name, relation)
    found = {spec.name: spec for spec in map(spec_of_json, specs)}
    folded, stored = tuple(Fold(r, root) for root in folds), None if before is None else detached_of_json(before)
    return Loading(r, folded, found, version, where, given, stored, *told), Surroundings(**here)


def detached_to_json(tables: Detached) -> list[Any]:
    """Law: detached_of_json(detached_to_json(t)) = t, of tables of one version."""
    return [tables.folder, tables.version, list(map(ref_to_json, tables.refs.values()))]


def detached_of_json(found: list[Any]) -> Detached:
    folder, version, refs = found
    return Detached(folder, version, {ref.spec.name: ref for ref in map(ref_of_json, refs)})


def taken_text(taken: Taken) -> str:
    """Law: taken_of(taken_text(t)) = t."""
    runs = runs_to_json(taken.runs)
    content = [taken.content.rows, list(taken.content.sums)]
    wrong = [[asdict(fault) for fault in faults] for faults in (taken.types, taken.inside)]
    return json.dumps([taken.rows, content, dict(taken.sizes), runs, wrong, taken.is_wrong])


def taken_of(text: str) -> Taken:
    rows, (many, sums), sizes, runs, (types, inside), is_wrong = json.loads(text)
    found = runs_of_json(runs)
    content = Content(many, tuple(sums))
    return Taken(rows, content, sizes, found, faults_of(types), faults_of(inside), is_wrong)


def runs_to_json(runs: Mapping[str, Sequence[Segment]]) -> dict[str, list[Any]]:
    """By table. Law: runs_of_json(runs_to_json(r)) = r."""
    return {table: list(map(segment_to_json, segments)) for table, segments in runs.items()}


def runs_of_json(found: Mapping[str, list[Any]]) -> dict[str, Segments]:
    return {table: tuple(map(segment_of_json, segments)) for table, segments in found.items()}


def faults_of(found: Sequence[dict[str, Any]]) -> tuple[Fault, ...]:
    """What is wrong, of JSON."""
    return tuple(map(Fault.of_json, found))


# ---------------------------------------------------------------- ranges


def sources_text(here: Surroundings, sources: Sequence[TableRef], more: str = "") -> str:
    """What ranges are of. Law: sources_of(sources_text(p, s, m)) = (p, s, m)."""
    return json.dumps([asdict(here), list(map(ref_to_json, sources)), more])


def sources_of(text: str) -> tuple[Surroundings, list[TableRef], str]:
    here, sources, more = json.loads(text)
    return Surroundings(**here), list(map(ref_of_json, sources)), more


def range_text(work: Range, source: int, minus: int | None = None) -> str:
    """The range, and which of the sources it is of. Law: range_of(range_text(r, i, j), s) = r where r is of s[i]
    without s[j]."""
    return json.dumps([source, work.low, work.high, work.id, work.table, minus])


def range_of(text: str, sources: Sequence[TableRef]) -> Range:
    source, low, high, number, table, minus = json.loads(text)
    return Range(sources[source], low, high, number, table, None if minus is None else sources[minus])


def merged_text(found: Merged) -> str:
    """Law: merged_of(merged_text(m)) = m."""
    return json.dumps([None if found.segment is None else segment_to_json(found.segment), found.heaviest])


def merged_of(text: str) -> Merged:
    segment, heaviest = json.loads(text)
    return Merged(None if segment is None else segment_of_json(segment), heaviest)
