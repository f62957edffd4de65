"""One workload at one scale: Ripplenest and its rivals in turns on like changes, and their answers compared.

They are compared before the batches, and again when each has changed rows that are not taken back yet. All that is said
of a rival rests on its answers being equal to ours, and all that is said of us on the reference's.

Each has rounds of its own: who computes the view again reads all of it, and leaves whoever comes next a processor
whose caches hold nothing of theirs, the more so the larger the state is. So a batch in between would seem to grow with
the state.
"""

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from attrs import Factory, define

import ripplenest as rn
from ripplenest.bench.asked import REFERENCE, Asked
from ripplenest.bench.changes import Change, Changes, Rows, written
from ripplenest.bench.child import ask
from ripplenest.bench.crossings import crossing
from ripplenest.bench.data import Data
from ripplenest.bench.drained import drained
from ripplenest.bench.fanout import fan_outs
from ripplenest.bench.floor import floor
from ripplenest.bench.process import ProcessFailed
from ripplenest.bench.results import Crossover, Measured, Point, Reading, Tried
from ripplenest.bench.rivals.rival import Reference, Rival
from ripplenest.bench.subject import Applied, Policy, apply, load, nested, opened
from ripplenest.bench.timing import Timing, timed
from ripplenest.bench.workloads import F2, Workload
from ripplenest.examples.same import differing

WARM, WARM_ROUNDS = 0.3, 20  # seconds, and rounds in them
QUICK, MORE = 2.0, 10  # seconds for rounds that are quick, which are done up to so many times as often as was asked
RIVAL_ROUNDS = 3  # what they compute hardly depends on the change
OPENINGS = 3
LONGEST = 200  # characters that are shown of an error
PERCENT = (1, 10, 50)  # of the items, that come at once where recomputing may pay
POLICIES: tuple[Policy, ...] = ("incremental", "full", "auto")
BEFORE, AFTER = "before the batches", "after the batches"
T = TypeVar("T")


class Differs(Exception):
    """Our answer is not the reference's."""


@define
class Samples:
    """Of one kind of batch and number of rows."""

    applied: list[Applied] = Factory(list)
    floors: list[float] = Factory(list)
    rivals: dict[str, list[float]] = Factory(lambda: defaultdict(list))

    def point(self, kind: str, rows: int, right: Iterable[str]) -> Point:
        """With those rivals whose answers were ``right``."""
        names = self.applied[0].phases
        return Point(
            kind,
            rows,
            self.applied[-1].verdict,
            Timing.of([a.seconds for a in self.applied]),
            {name: statistics.median(a.phases[name] for a in self.applied) for name in names},
            Timing.of(self.floors) if self.floors else None,
            {name: Timing.of(self.rivals[name]) for name in right if self.rivals[name]},
            self.applied[-1].engine,
            statistics.median_low([a.rows_read for a in self.applied]),
        )


@define
class Turns:
    """A state and its rivals, which change alike. ``wrong`` is by rival why nothing is said of it: how many rows of an
    answer differed, or what it failed with."""

    db: rn.Database
    workload: Workload
    folder: Path
    reference: Reference
    rivals: Mapping[str, Rival]
    samples: dict[tuple[str, int], Samples] = Factory(lambda: defaultdict(Samples))
    wrong: dict[str, str] = Factory(dict)

    @property
    def others(self) -> dict[str, Rival]:
        """The rivals that have not failed, but for the reference, without which there is no figure."""
        return {name: r for name, r in self.rivals.items() if name != REFERENCE and name not in self.wrong}

    def load(self, tables: Mapping[str, pa.Table]) -> None:
        self.reference.load(tables)
        for name, rival in self.others.items():
            self._try(name, partial(rival.load, tables))

    def _try(self, name: str, work: Callable[[], T]) -> T | None:
        """What ``work`` of a rival gives; None when it fails, as one that runs out of memory does, which is told."""
        try:
            return work()
        except Exception as error:
            first = "".join(str(error).splitlines()[:1])[:LONGEST]
            self.wrong[name] = f"failed: {type(error).__name__}: {first}"
            return None

    def compare(self, when: str) -> float:
        """Compute every answer again and compare it with ours; the seconds that reading ours took. Raises Differs when
        the reference's is another."""
        self.reference.recompute()
        expected = self.reference.answer()
        ours, seconds = timed(lambda: nested(self.db, self.workload.view.name, expected.schema))
        if rows := differing(expected, ours):
            raise Differs(f"{rows:,} rows differ from {REFERENCE}'s {when}")
        for name, rival in self.others.items():
            if found := self._try(name, partial(_differing, ours, rival)):
                self.wrong[name] = f"{found:,} rows differ {when}"
        return seconds

    def apply(self, change: Change) -> Applied:
        """To everybody."""
        found = apply(self.db, change, "auto")
        self.reference.apply(change.writes)
        for name, rival in self.others.items():
            self._try(name, partial(rival.apply, change.writes))
        return found

    def ours(self, change: Change) -> float:
        """To us alone, measured; the seconds of it."""
        samples = self.samples[change.kind, change.rows]
        samples.applied.append(apply(self.db, change, "auto"))
        if change.kind == "insert":
            samples.floors.append(floor(self.folder, change.writes))
        return samples.applied[-1].seconds

    def theirs(self, change: Change) -> None:
        """To everybody; what rivals take to compute the view again is measured."""
        self.apply(change)
        if change.kind != "insert":
            return
        samples = self.samples[change.kind, change.rows]
        if REFERENCE in self.rivals:
            samples.rivals[REFERENCE].append(timed(self.reference.recompute)[1])
        for name, rival in self.others.items():
            found = self._try(name, partial(timed, rival.recompute))
            samples.rivals[name].extend(found[1:] if found else ())

    def points(self) -> tuple[Point, ...]:
        right = [name for name in self.rivals if name not in self.wrong]
        return tuple(samples.point(kind, rows, right) for (kind, rows), samples in self.samples.items())


def measure(
    workload: Workload, data: Data, asked: Asked, folder: Path, reference: Reference, rivals: Mapping[str, Rival]
) -> tuple[Measured, Mapping[str, str]]:
    """All that there is to measure, and by rival why there is nothing of it. ``rivals`` are those that are timed, the
    reference among them or not.

    Raises Differs.
    """
    tables = workload.tables(data)
    with opened(folder / "state") as db:
        _, loading = timed(lambda: load(db, workload, tables))
        _, creating = timed(lambda: db.create(workload.view))
        created_by = str(db.history(1)[0].note["engine"])
        state_bytes = db.usage.bytes
        turns = Turns(db, workload, folder, reference, rivals)
        turns.load(tables)
        reading = Reading(turns.compare(BEFORE), timed(reference.nested)[1], timed(reference.answer)[1])
        changes, sizes = workload.changes(data), batch_sizes(workload, asked, data)
        _rounds(turns, changes, sizes, asked, data.scale)
        prices = tuple(fan_outs(turns.apply, data, asked.rounds)) if workload.fans_out else ()
        gone = drained(turns.apply, data, workload.limit) if workload.limit else None
        leave_and_compare(turns, changes, sizes)
        crossover = _crossover(turns, changes, data.items.num_rows) if workload is F2 else None
    found = Measured(
        workload=workload.name,
        scale=data.scale,
        rows=sum(map(stored_rows, tables.values())),
        items=workload.counted(data),
        input_bytes=sum(table.nbytes for table in tables.values()),
        state_bytes=state_bytes,
        load=loading,
        create=creating,
        reading=reading,
        points=turns.points(),
        crossover=crossover,
        opening=_opening(turns, data) if workload is F2 else None,
        fan_outs=prices,
        drained=gone,
        created_by=created_by,
    )
    return found, turns.wrong


def stored_rows(table: pa.Table) -> int:
    """Its rows and those of its inner bags."""
    return int(table.num_rows) + sum(map(_inner_rows, table.columns))


def _inner_rows(column: pa.Array | pa.ChunkedArray) -> int:
    if pa.types.is_list(column.type):
        rows = pc.list_flatten(column)
        return len(rows) + sum(_inner_rows(pc.struct_field(rows, i)) for i in range(rows.type.num_fields))
    return 0


def batch_sizes(workload: Workload, asked: Asked, data: Data) -> list[int]:
    """Those of the batches that were asked for, or are its own, that are not too large for the data; one row is not."""
    most = max(workload.counted(data) // workload.share, 1)
    return [rows for rows in asked.rows or workload.sizes if rows <= most] or [1]


def _rounds(turns: Turns, changes: Changes, sizes: Sequence[int], asked: Asked, scale: float) -> None:
    """Batches of each size, there and back, as often as was asked or fits into the time, and then those of rivals.
    Rounds to warm up come first, at least one, so that a batch finds what others of its size left, not larger ones, and
    not the caches that rivals left; before all of them the system writes what loading and creating left it to write.
    Quick rounds are done more often, so that a moment in which the machine is slow is not all that is measured of them.
    A round leaves what it found, so rivals need not hear of ours, and their time is their own: that they are slow takes
    no round from us."""
    os.sync()
    seconds = asked.seconds_at(scale) / len(sizes)
    for rows in sizes:
        for change in changes.round(rows):
            turns.apply(change)
        started, done, ours = time.perf_counter(), 0, 0.0
        while done < WARM_ROUNDS and time.perf_counter() - started < WARM:
            for change in changes.round(rows):
                apply(turns.db, change, "auto")
            done += 1
        done = 0
        while not done or (is_next(done, ours, asked.rounds) and ours * (done + 1) / done <= seconds):
            ours += sum(map(turns.ours, changes.round(rows)))
            done += 1
        started, done = time.perf_counter(), 0
        while turns.rivals and (not done or (done < RIVAL_ROUNDS and time.perf_counter() - started <= seconds)):
            for change in changes.round(rows):
                turns.theirs(change)
            done += 1


def is_next(done: int, seconds: float, rounds: int) -> bool:
    """Whether there is to be another round after these."""
    return done < rounds or (seconds < QUICK and done < MORE * rounds)


def leave_and_compare(turns: Turns, changes: Changes, sizes: Sequence[int]) -> None:
    """Batches of all sizes there, and not back."""
    for rows in sizes:
        for change in changes.there(rows):
            turns.apply(change)
    turns.compare(AFTER)


def _crossover(turns: Turns, changes: Changes, items: int) -> Crossover:
    """Where recomputing begins to pay: the same rows come under each policy, and go again."""
    tried = tuple(_tried(turns.db, changes, max(items * percent // 100, 1)) for percent in PERCENT)
    rows = crossing([(t.rows, t.incremental / t.full) for t in tried], 1.0)
    return Crossover(rows if rows is not None and rows <= tried[-1].rows else None, tried)


def _tried(db: rn.Database, changes: Changes, rows: int) -> Tried:
    new = changes.fresh(rows)
    found = [_there_and_back(db, rows, new, policy) for policy in POLICIES]
    incremental, full, auto = found
    return Tried(rows, incremental.seconds, full.seconds, auto.verdict)


def _there_and_back(db: rn.Database, rows: int, new: Rows, policy: Policy) -> Applied:
    found = apply(db, Change("insert", rows, written("insert", new)), policy)
    apply(db, Change("delete", rows, written("delete", new)))
    return found


def _differing(ours: pa.Table, rival: Rival) -> int:
    rival.recompute()
    return differing(ours, rival.answer())


def _opening(turns: Turns, data: Data) -> Timing | None:
    try:
        return Timing.of([ask("open", turns.folder / "state", data)["seconds"] for _ in range(OPENINGS)])
    except ProcessFailed as error:
        turns.wrong["opening"] = f"failed: {error}"
        return None
