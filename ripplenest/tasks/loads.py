"""Loads and inserts of DataFrames: what ``intake/share.py`` does in tasks, and what the driver makes of their answers.

Each partition of the DataFrame is a share, whose task leaves sorted runs in the staging folder. Then tasks merge the
runs into segments, each in a range of hashes, where they meet keys that come again, or are stored. The driver is told
names and numbers, and names what it was told: what other attempts have written goes with the folder.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial, reduce
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen
from pyspark.sql import DataFrame, SparkSession

from ripplenest.data.content import Content
from ripplenest.intake.columns import Culprit
from ripplenest.intake.faults import Fault, first_faults
from ripplenest.intake.files import FilePath
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.share import Loading, Share, Taken
from ripplenest.nrc.errors import LawBroken, raise_first
from ripplenest.nrc.types import Type
from ripplenest.store.ranges import written
from ripplenest.store.ref import TableRef
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Written
from ripplenest.store.staging import Shared, Staging
from ripplenest.tasks.handed import (
    Surroundings,
    loading_of,
    loading_text,
    surroundings,
    taken_of,
    taken_text,
)
from ripplenest.tasks.jobs import UNSEEN, Batches, Jobs, OnRows, check_seen, gathered
from ripplenest.tasks.kinds import Looking, Taking
from ripplenest.tasks.opened import Opened, jobs_beside, rows_of_lines
from ripplenest.tasks.seeing import sees
from ripplenest.tasks.settled import Settlement


@frozen
class TaskLoads:
    """Loads whose tasks may take ``memory`` each (``commits.Tasks``); ``jobs`` are those beside the rows of a load.
    Files are opened by ``spark``."""

    memory: int
    spark: Callable[[], SparkSession]
    jobs: Callable[[Any], Jobs] = jobs_beside
    _seen: dict[Path, bool] = field(factory=dict, init=False)

    def opened(self, path: FilePath, row: Type, where: str, whole: bool) -> object:
        """The rows of a file, as what tasks take. Raises WrongValue for one that Spark does not read."""
        return Opened.of(self.spark(), path, row, where, whole)

    def takes(self, rows: object) -> bool:
        """Whether there is more than what the driver has anyway."""
        return isinstance(rows, Opened) or (isinstance(rows, DataFrame) and not rows.isLocal())

    def many(self, rows: object, row: Type, where: str) -> int:
        """How many there are; none of other columns. Raises WrongColumns."""
        jobs = self.jobs(rows)
        read_rows(jobs.schema.empty_table(), row, where)
        return jobs.many

    def sees(self, rows: object, folder: Path) -> bool:
        """Whether the workers see a folder, and have this package, as they did when they were first asked."""
        if folder not in self._seen:
            self._seen[folder] = sees(self.jobs(rows), folder)
        return self._seen[folder]

    def content(self, rows: object, work: Loading, staging: Staging) -> Content:
        """What the rows are; nothing is written. Raises what is wrong with their types."""
        return _content(self._shares(rows, Looking, _named(work, rows), staging))

    def load(
        self, rows: object, work: Loading, staging: Staging, tables: Mapping[str, int], first: int
    ) -> tuple[Written, dict[str, int], Content]:
        """The segments of the tables that change, numbered from ``first`` on, how many rows of each part came, and what
        rows are. Raises WrongColumns, WrongValue, DuplicateKey, RowNotThere, and Culprit for a document that is to
        go and is not there."""
        jobs, work = self.jobs(rows), _named(work, rows)
        taken = self._shares(rows, Taking, work, staging)
        settlement = Settlement(jobs, work, self._here(staging), _sources(work, taken), tables, first)
        if work.verb == "delete" and work.is_shredded and any(t.is_wrong for t in taken.values()):
            raise Culprit
        if any(t.is_wrong for t in taken.values()):
            _check(work.rows, taken, [*settlement.again(), *(f for t in taken.values() for f in t.inside)])
            raise LawBroken("rows could not be taken, and none of them is wrong", where=work.where)
        done = settlement.settled()
        if done.there and work.verb == "delete" and work.is_shredded:  # rows that differ in their bags may be to blame
            raise Culprit
        _check(work.rows, taken, done.again)
        _check(work.rows, taken, done.there)
        made = done.made if work.verb == "insert" else {**done.made, **settlement.inside(done.old)}
        sizes = sum((Counter(t.sizes) for t in taken.values()), Counter[str]())
        return Written(staging.folder, made), dict(sizes), _content(taken)

    def _here(self, staging: Staging) -> Surroundings:
        return surroundings(str(staging.folder), str(staging.folder), self.memory)

    def _shares(self, rows: object, job: type[OnRows], work: Loading, staging: Staging) -> dict[int, Taken]:
        """What came of each share. Raises what is wrong with the types of rows, and EnvironmentProblem."""
        jobs = self.jobs(rows)
        said = jobs.on_rows(job, loading_text(work, self._here(staging)))
        check_seen(said.values(), staging.folder)
        taken = {share: taken_of(text) for share, text in said.items()}
        if not any(t.rows for t in taken.values()):
            read_rows(jobs.schema.empty_table(), work.row, work.given)
        faults = [f for t in taken.values() for f in t.types]
        if isinstance(rows, Opened):
            rows.check_lines(faults)
        _check(work.given, taken, faults)
        return taken


def _named(work: Loading, rows: object) -> Loading:
    """Work on rows of files that come as lines."""
    return evolve(work, lines=rows.named) if isinstance(rows, Opened) and rows.are_lines else work


def _content(taken: Mapping[int, Taken]) -> Content:
    return reduce(Content.plus, (t.content for t in taken.values()), Content())


def _check(rows: str, taken: Mapping[int, Taken], faults: list[Fault]) -> None:
    raise_first(first_faults(faults, rows, {share: t.rows for share, t in taken.items()}))


def _sources(work: Loading, taken: Mapping[int, Taken]) -> dict[str, TableRef]:
    """By table the runs of all shares."""
    found: dict[str, tuple[Segment, ...]] = {}
    for share in sorted(taken):
        for table, runs in taken[share].runs.items():
            found[table] = (*found.get(table, ()), *runs)
    return {table: TableRef(work.sources[table], runs) for table, runs in found.items()}


# ---------------------------------------------------------------- in tasks


def take(text: str, share: int, batches: Batches, writes: bool) -> str:
    """What becomes of the rows of a share, which are written or only looked at."""
    work, here = loading_of(text)
    if not Path(here.write).is_dir():
        return UNSEEN
    room, disk = here.room, here.disk
    numbers = Shared.of_rows(disk.folder, work.version), Shared.of_arrays(disk.folder, work.version)
    write = partial(written, disk=disk, room=room, lasts=False) if writes else None
    with here.messages():
        tables = gathered(batches, room)
        rows = tables if work.lines is None else rows_of_lines(tables, work, work.lines, share)
        return taken_text(Share(work, share, numbers, write, room).take(rows))
