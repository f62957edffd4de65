"""Ranges of hashes that tasks merge (``store/ranges.py``): runs to segments, and what differs to changes."""

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from ripplenest.run.counts import check_most
from ripplenest.store.ranges import Merged, Range, merge
from ripplenest.store.ref import TableRef
from ripplenest.store.segments import Segment
from ripplenest.tasks.handed import (
    Surroundings,
    merged_of,
    merged_text,
    range_of,
    range_text,
    sources_of,
    sources_text,
)
from ripplenest.tasks.jobs import UNSEEN, Jobs, check_seen
from ripplenest.tasks.kinds import Merging


@frozen
class Told:
    """The sources of some ranges, each once, and each range as it is told."""

    sources: list[TableRef]
    ranges: list[str]

    @classmethod
    def of(cls, work: Sequence[Sequence[Range]]) -> "Told":
        """Of ranges by table."""
        sources: list[TableRef] = []
        told = []
        for own in work:
            at, minus = len(sources), None if own[0].minus is None else len(sources) + 1
            sources += [own[0].source, *([] if own[0].minus is None else [own[0].minus])]
            told += [range_text(piece, at, minus) for piece in own]
        return cls(sources, told)


def merge_ranges(jobs: Jobs, here: Surroundings, work: Sequence[Sequence[Range]]) -> list[list[Segment]]:
    """The segments of the ranges of several tables, each of which a task writes where ``here`` says; those of ranges
    without rows are missing. One job. The files are durable but for their names. Raises EvaluationError for a row that
    a source has too often."""
    return [[m.segment for m in parts if m.segment is not None] for parts in merged_ranges(jobs, here, work)]


def merged_ranges(jobs: Jobs, here: Surroundings, work: Sequence[Sequence[Range]]) -> list[list[Merged]]:
    """The same with how often rows are there."""
    told = Told.of(work)
    said = jobs.on_work(Merging, sources_text(here, told.sources), told.ranges)
    check_seen(said, Path(here.write))
    merged = map(merged_of, said)
    found = [[next(merged) for _ in own] for own in work]
    for own, parts in zip(work, found, strict=True):
        check_most(own[0].source.spec.name, (m.heaviest for m in parts))
    return found


def merge_range(common: str, own: str) -> str:
    """What a range becomes."""
    here, sources, _ = sources_of(common)
    if not Path(here.write).is_dir():
        return UNSEEN
    return merged_text(merge(range_of(own, sources), here.reader, here.disk, here.room))
