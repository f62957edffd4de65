"""Many views of one shape over one base: a batch over all of them against a batch over one."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import ripplenest as rn
from ripplenest.bench.changes import Changes, Write
from ripplenest.bench.data import Data
from ripplenest.bench.measure import Differs, is_next
from ripplenest.bench.results import Many
from ripplenest.bench.rivals.duck import Duck
from ripplenest.bench.subject import apply, load, nested, opened
from ripplenest.bench.timing import Timing, timed
from ripplenest.bench.views import like_f2
from ripplenest.bench.workloads import F2
from ripplenest.examples.same import differing

ROWS = 100
LARGEST = 0.002  # the scale: what is asked is the cost of a view, which the base has no part in


def measure_many(views: int, data: Data, rounds: int, folder: Path) -> Many:
    """Each answer is compared with DuckDB's, once batches have changed it. Raises Differs."""
    first, *others = like_f2(views).values()
    with opened(folder / "state") as db:
        load(db, F2, F2.tables(data))
        db.create(first)
        changes = F2.changes(data)
        one = _batches(db, changes, rounds)
        _, creating = timed(lambda: [db.create(view) for view in others])
        every = _batches(db, changes, rounds)
        writes: list[Write] = []
        for change in changes.there(ROWS):
            apply(db, change)
            writes += change.writes
        for quantity, view in like_f2(views).items():
            _compare(db, view.name, _without(F2.tables(data), writes, quantity))
    return Many(views, ROWS, data.scale, creating / max(len(others), 1), one, every)


def _batches(db: rn.Database, changes: Changes, rounds: int) -> Timing:
    """Of inserts, each taken back, of which the first is not counted; quick ones more often."""
    found: list[float] = []
    while is_next(len(found) - 1, sum(found), rounds):
        done = [(change.kind, apply(db, change).seconds) for change in changes.there(ROWS)]
        found += [seconds for kind, seconds in done if kind == "insert"]
        for change in changes.back(ROWS):
            apply(db, change)
    return Timing.of(found[1:])


def _without(tables: Mapping[str, pa.Table], writes: Iterable[Write], quantity: int) -> pa.Table:
    """What the view that leaves out ``quantity`` ought to show after ``writes``: F2 of items without it."""
    duck = Duck(F2.name)
    duck.load({**tables, "L": _but(tables["L"], quantity)})
    duck.apply([Write(write.verb, write.relation, _but(write.rows, quantity)) for write in writes])
    found = duck.nested()
    duck.close()
    return found


def _but(items: pa.Table, quantity: int) -> pa.Table:
    return items.filter(pc.not_equal(items.column("qty"), quantity))


def _compare(db: rn.Database, view: str, expected: pa.Table) -> None:
    if rows := differing(expected, nested(db, view, expected.schema)):
        raise Differs(f"{view}: {rows:,} rows differ from what they ought to be")
