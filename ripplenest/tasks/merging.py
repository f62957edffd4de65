"""Ranges of hashes that tasks merge (``store/ranges.py``): segments and runs to segments."""

from collections.abc import Sequence

from ripplenest.store.ranges import Range, merge
from ripplenest.store.segments import Segment
from ripplenest.tasks.handed import (
    Surroundings,
    range_of,
    range_text,
    segment_of,
    segment_text,
    sources_of,
    sources_text,
)
from ripplenest.tasks.jobs import Jobs
from ripplenest.tasks.kinds import Merging


def merge_ranges(jobs: Jobs, here: Surroundings, work: Sequence[Sequence[Range]]) -> list[list[Segment]]:
    """The segments of the ranges of several tables, each of which a task writes where ``here`` says; those of ranges
    without rows are missing. One job. The files are durable but for their names."""
    sources = [own[0].source for own in work]
    told = [range_text(piece, i) for i, own in enumerate(work) for piece in own]
    said = iter(jobs.on_work(Merging, sources_text(here, sources), told))
    return [[s for _ in own if (s := segment_of(next(said))) is not None] for own in work]


def merge_range(common: str, own: str) -> str:
    """The segment that a range becomes."""
    here, sources, _ = sources_of(common)
    return segment_text(merge(range_of(own, sources), here.reader, here.disk, here.room))
