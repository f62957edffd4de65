"""A view that is published as a Delta table: the first publication, and batches that the table follows.

The floor is what deltalake takes itself, from rows that are there as Arrow: to write the same table, and to merge the
same rows into a copy of it. Publishing finds out first which rows these are. That the table holds what the view shows
is looked at before and after the batches.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import ripplenest as rn
from ripplenest.bench.changes import Change, Changes
from ripplenest.bench.data import Data
from ripplenest.bench.measure import AFTER, BEFORE, Differs
from ripplenest.bench.results import Followed, Publication
from ripplenest.bench.subject import apply, load, opened
from ripplenest.bench.timing import Timing, timed
from ripplenest.bench.workloads import F2
from ripplenest.examples.same import differing

SIZES = (100, 1_000, 10_000)
OWN = ("_id", "id_bucket")  # columns of a published table that the view has not
KIND = "_change_type"  # of the change data feed
MATCH = "t._id = s._id AND t.id_bucket = s.id_bucket"
FEED = {"delta.enableChangeDataFeed": "true", "delta.dataSkippingNumIndexedCols": "1"}  # as published tables are


def measure_published(data: Data, rounds: int, folder: Path, sizes: tuple[int, ...] = SIZES) -> Publication:
    """Of F2, with batches that insert at most a tenth of its items. Raises Differs."""
    table = folder / "table"
    with opened(folder / "state") as db:
        load(db, F2, F2.tables(data))
        db.create(F2.view)
        _, whole = timed(lambda: db.publish(F2.view.name, table))
        _compare(db, table, BEFORE)
        rows = _opened(table).to_pyarrow_table()
        _, floor = timed(lambda: _write(folder / "floor", rows))
        size = sum(pa.table(_opened(table).get_add_actions()).column("size_bytes").to_pylist())
        changes, most = F2.changes(data), max(data.items.num_rows // F2.share, 1)
        points = [_followed(db, table, changes, n, rounds) for n in sizes if n <= most]
        for change in changes.there(min(sizes[0], most)):
            apply(db, change)
        _compare(db, table, AFTER)
    return Publication(F2.name, data.scale, rows.num_rows, size, whole, floor, tuple(points))


def _followed(db: rn.Database, table: Path, changes: Changes, rows: int, rounds: int) -> Followed:
    """Batches that insert so many items, each taken back. The first is not counted."""
    found = [_inserted(db, table, changes, rows) for _ in range(rounds + 1)][1:]
    batches, publications, floors, touched = zip(*found, strict=True)
    return Followed(rows, touched[-1], Timing.of(batches), Timing.of(publications), Timing.of(floors))


def _inserted(db: rn.Database, table: Path, changes: Changes, rows: int) -> tuple[float, float, float, int]:
    """The seconds of a batch until it is committed, of its publication, and of the floor; and the rows that it touched
    in the table."""
    found = [_one(db, table, change) for change in _round(changes, rows)]
    return next(one for one in found if one is not None)


def _round(changes: Changes, rows: int) -> Iterator[Change]:
    yield from changes.there(rows)
    yield from changes.back(rows)


def _one(db: rn.Database, table: Path, change: Change) -> tuple[float, float, float, int] | None:
    if change.kind != "insert":
        apply(db, change)
        return None
    before, copy = _opened(table).version(), table.parent / "copy"
    shutil.copytree(table, copy, copy_function=os.link)  # files of a Delta table are never written again
    try:
        done = apply(db, change)
        rows = _touched(table, before + 1)
        committed = sum(done.phases.values())
        return committed, done.seconds - committed, _merge(copy, rows), rows.num_rows
    finally:
        shutil.rmtree(copy)


def _touched(table: Path, since: int) -> pa.Table:
    """The rows that came, changed and went since a version of the table, as they are then."""
    shown = _opened(table)
    columns = pa.schema([*pa.schema(shown.schema().to_arrow()), pa.field(KIND, pa.string())])
    feed = pa.table(shown.load_cdf(starting_version=since).read_all()).select(columns.names).cast(columns)
    return feed.filter(pc.not_equal(feed.column(KIND), "update_preimage"))


def _merge(table: Path, rows: pa.Table) -> float:
    """The seconds in which deltalake merges ``rows`` into the table."""
    found = _opened(table)
    merger = found.merge(rows, MATCH, source_alias="s", target_alias="t", streamed_exec=False)
    merger = merger.when_matched_delete(f"s.{KIND} = 'delete'").when_matched_update_all(except_cols=[KIND])
    return timed(merger.when_not_matched_insert_all(except_cols=[KIND]).execute)[1]


def _write(table: Path, rows: pa.Table) -> None:
    from deltalake import write_deltalake  # noqa: PLC0415 - it is optional

    write_deltalake(table, rows, partition_by=[OWN[1]], configuration=FEED)


def _opened(table: Path) -> Any:
    from deltalake import DeltaTable  # noqa: PLC0415 - it is optional

    return DeltaTable(table)


def _compare(db: rn.Database, table: Path, when: str) -> None:
    """Raises Differs where the table does not hold what the view shows."""
    expected = db.view(F2.view.name).to_arrow()
    shown = _opened(table).to_pyarrow_table().drop_columns(list(OWN))
    if rows := differing(expected, shown):
        raise Differs(f"the published table: {rows:,} rows differ {when}")
