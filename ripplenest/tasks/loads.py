"""Loads of DataFrames: what ``intake/share.py`` does in tasks, and what the driver makes of their answers.

Each partition of the DataFrame is a share, whose task leaves sorted runs in the staging folder. Then tasks look for
keys that come again, each in a range of hashes, and merge the runs into segments. The driver is told names and numbers,
and names what it was told: what other attempts have written goes with the folder.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial, reduce
from pathlib import Path
from typing import Any

from attrs import asdict, frozen
from pyspark.sql import DataFrame

from ripplenest.data.content import Content
from ripplenest.intake.faults import Fault, first_faults
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.share import Loading, Share, Taken, keys_again
from ripplenest.nrc.errors import LawBroken, raise_first
from ripplenest.store.ranges import divided, written
from ripplenest.store.ref import TableRef
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Written
from ripplenest.store.staging import Shared, Staging
from ripplenest.tasks.handed import (
    Surroundings,
    faults_of,
    loading_of,
    loading_text,
    range_of,
    range_text,
    sources_of,
    sources_text,
    surroundings,
    taken_of,
    taken_text,
)
from ripplenest.tasks.jobs import UNSEEN, Batches, Jobs, OnRows, SparkJobs, check_seen, gathered
from ripplenest.tasks.kinds import Again, Looking, Taking
from ripplenest.tasks.merging import merge_ranges


@frozen
class TaskLoads:
    """Loads whose tasks may take ``memory`` each (``commits.Tasks``); ``jobs`` are those beside the rows of a load."""

    memory: int
    jobs: Callable[[Any], Jobs] = SparkJobs

    def takes(self, rows: object) -> bool:
        """Whether there is more than what the driver has anyway."""
        return isinstance(rows, DataFrame) and not rows.isLocal()

    def content(self, rows: object, work: Loading, staging: Staging) -> Content:
        """What the rows are; nothing is written. Raises what is wrong with their types."""
        taken = self._shares(self.jobs(rows), Looking, work, staging)
        _check(work, taken, [f for t in taken.values() for f in t.types])
        return _content(taken)

    def load(
        self, rows: object, work: Loading, staging: Staging, tables: Mapping[str, int], first: int
    ) -> tuple[Written, dict[str, int], Content]:
        """The segments of the tables that get rows, numbered from ``first`` on, how many rows of each part there are,
        and what they are. Raises WrongColumns, WrongValue, DuplicateKey."""
        jobs = self.jobs(rows)
        taken = self._shares(jobs, Taking, work, staging)
        _check(work, taken, [f for t in taken.values() for f in t.types])
        here, sources = self._here(staging), _sources(work, taken)
        again = _again(jobs, work, here, sources)
        _check(work, taken, [*again, *(f for t in taken.values() for f in t.inside)])
        if any(t.is_wrong for t in taken.values()):
            raise LawBroken("rows could not be loaded, and none of them is wrong", where=work.where)
        ranges = []
        for table in sorted(sources.keys() & tables.keys()):
            ranges.append(divided(sources[table], jobs.at_once, first, tables[table]))
            first += len(ranges[-1])
        found = merge_ranges(jobs, here, ranges)
        made = {own[0].source.spec.name: tuple(s) for own, s in zip(ranges, found, strict=True) if s}
        sizes = sum((Counter(t.sizes) for t in taken.values()), Counter[str]())
        return Written(staging.folder, made), dict(sizes), _content(taken)

    def _here(self, staging: Staging) -> Surroundings:
        return surroundings(str(staging.folder), str(staging.folder), self.memory)

    def _shares(self, jobs: Jobs, job: type[OnRows], work: Loading, staging: Staging) -> dict[int, Taken]:
        """What came of each share. Raises WrongColumns for columns of no rows, and EnvironmentProblem."""
        said = jobs.on_rows(job, loading_text(work, self._here(staging)))
        check_seen(said.values(), staging)
        taken = {share: taken_of(text) for share, text in said.items()}
        if not any(t.rows for t in taken.values()):
            read_rows(jobs.schema.empty_table(), work.relation.row, work.rows)
        return taken


def _content(taken: Mapping[int, Taken]) -> Content:
    return reduce(Content.plus, (t.content for t in taken.values()), Content())


def _check(work: Loading, taken: Mapping[int, Taken], faults: list[Fault]) -> None:
    raise_first(first_faults(faults, work.rows, {share: t.rows for share, t in taken.items()}))


def _sources(work: Loading, taken: Mapping[int, Taken]) -> dict[str, TableRef]:
    """By table the runs of all shares."""
    found: dict[str, tuple[Segment, ...]] = {}
    for share in sorted(taken):
        for table, runs in taken[share].runs.items():
            found[table] = (*found.get(table, ()), *runs)
    return {table: TableRef(work.sources[table], runs) for table, runs in found.items()}


def _again(jobs: Jobs, work: Loading, here: Surroundings, sources: Mapping[str, TableRef]) -> list[Fault]:
    """What tasks find of keys that come again, of rows that have keys."""
    keys = sources.get(work.keys.name)
    if keys is None:
        return []
    told = [range_text(piece, 0) for piece in divided(keys, jobs.at_once, 0, 0)]
    common = sources_text(here, [keys], loading_text(work, here))
    said = jobs.on_work(Again, common, told)
    return [fault for text in said for fault in faults_of(json.loads(text))]


# ---------------------------------------------------------------- in tasks


def find_again(common: str, own: str) -> str:
    """The keys of a range that come again."""
    here, sources, more = sources_of(common)
    (work, _), piece = loading_of(more), range_of(own, sources)
    with here.messages():
        found = keys_again(work, piece.source, here.reader, piece.low, piece.high, here.room)
    return json.dumps([asdict(fault) for fault in found])


def take(text: str, share: int, batches: Batches, writes: bool) -> str:
    """What becomes of the rows of a share, which are written or only looked at."""
    work, here = loading_of(text)
    if not Path(here.write).is_dir():
        return UNSEEN
    room, disk = here.room, here.disk
    numbers = Shared.of_rows(disk.folder, work.version), Shared.of_arrays(disk.folder, work.version)
    write = partial(written, disk=disk, room=room) if writes else None
    with here.messages():
        return taken_text(Share(work, share, numbers, write, room).take(gathered(batches, room)))
