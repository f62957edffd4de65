"""Bags that are kept as arrays, shredded by tasks: runs of the rows that they stand for (``version/folding.py``)."""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from ripplenest.intake.faults import numbered
from ripplenest.state.stored import relation_of, relation_text
from ripplenest.store.database.chain import types_of, types_text
from ripplenest.store.ranges import Range, Unwritten, divided, written
from ripplenest.store.ref import Segments, TableRef, ranges, segment_of_json, segment_to_json
from ripplenest.store.segments import Segment
from ripplenest.store.specs import TableSpec
from ripplenest.tasks.handed import Surroundings, range_of, range_text, sources_of, sources_text
from ripplenest.tasks.jobs import UNSEEN, Jobs, check_seen
from ripplenest.tasks.kinds import Shredding
from ripplenest.version.folding import Fold

PART = 64  # parts of the memory, one of which is texts that are values at a time


def shredded(
    jobs: Jobs, here: Surroundings, fold: Fold, arrays: TableRef, parts: Mapping[str, TableSpec]
) -> dict[str, Segments]:
    """By part the runs of what signed ``arrays`` stand for. One job."""
    r = fold.relation
    specs = [[part, types_text(spec.types), list(map(list, spec.indexes[:1]))] for part, spec in parts.items()]
    more = json.dumps([r.name, relation_text(r), fold.root, specs])
    said = jobs.on_work(
        Shredding, sources_text(here, [arrays], more), [range_text(p, 0) for p in divided(arrays, jobs.at_once, 0, 0)]
    )
    check_seen(said, Path(here.write))
    found: defaultdict[str, Segments] = defaultdict(tuple)
    for own in map(json.loads, said):
        for part, segments in own.items():
            found[part] = (*found[part], *map(segment_of_json, segments))
    return dict(found)


def shred_range(common: str, own: str) -> str:
    """In a task: the runs of a range of arrays."""
    here, sources, more = sources_of(common)
    if not Path(here.write).is_dir():
        return UNSEEN
    name, relation, root, parts = json.loads(more)
    specs = {part: TableSpec(part, types_of(types), tuple(map(tuple, keys))) for part, types, keys in parts}
    found = _runs(Fold(relation_of(name, relation), root), range_of(own, sources), specs, here)
    return json.dumps({part: list(map(segment_to_json, segments)) for part, segments in found.items()})


def _runs(fold: Fold, work: Range, specs: Mapping[str, TableSpec], here: Surroundings) -> dict[str, list[Segment]]:
    found: defaultdict[str, list[Segment]] = defaultdict(list)
    size = sum(s.blob.bytes for s in work.source.segments)
    for low, high in ranges(work.low, work.high, max(size * PART // here.memory, 1)):
        arrays = work.source.between(here.reader, low, high)
        for part, rows in fold.rows(arrays, specs).items():
            number = numbered(work.id + 1) + len(found[part])  # runs of one number would be taken for one run
            draft = Unwritten(rows.consolidated(), specs[part].indexes, number)
            found[part] += written([draft], here.disk, here.room) if len(draft.rows) else ()
        here.room.release()
    return found
