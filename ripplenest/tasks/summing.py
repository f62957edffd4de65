"""Rows of maps that tasks sum as they come, and leave as sorted runs."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.intake.faults import numbered
from ripplenest.store.ranges import Unwritten, written
from ripplenest.store.ref import segment_to_json
from ripplenest.store.segments import Segment
from ripplenest.store.specs import TableSpec
from ripplenest.tasks.handed import sources_of
from ripplenest.tasks.jobs import UNSEEN, Batches, gathered


def sum_up(common: str, share: int, batches: Batches) -> str:
    """In a task: leave runs of the rows of maps, and say which."""
    here, refs, more = sources_of(common)
    if not Path(here.write).is_dir():
        return UNSEEN
    slots = json.loads(more)
    found: list[list[Segment]] = [[] for _ in refs]
    for table in gathered(batches, here.room):
        for i, ref in enumerate(refs):
            rows = _rows(ref.spec, table, i if len(refs) > 1 else None, slots[i])
            number = numbered(share) + sum(map(len, found)) + 1
            if len(rows):
                found[i] += written([Unwritten(rows, ref.spec.indexes[:1], number)], here.disk, here.room, lasts=False)
    return json.dumps([list(map(segment_to_json, segments)) for segments in found])


def _rows(spec: TableSpec, table: pa.Table, tag: int | None, slots: Sequence[str]) -> Rows:
    """The sum of the rows with a tag."""
    own = table if tag is None else table.filter(pc.equal(table.column("tag"), tag))
    names = [*(f"c{i}" for i in range(len(slots))), WEIGHT]
    columns = pa.Table.from_arrays([own.column(slot) for slot in (*slots, WEIGHT)], names=names)
    return Rows.of_arrow(spec.types, columns).consolidated()
