"""Many views of one shape over one base: a batch over all of them against a batch over one."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import ripplenest as rn
from ripplenest.bench.changes import Write
from ripplenest.bench.data import Data
from ripplenest.bench.measure import Differs
from ripplenest.bench.results import Many
from ripplenest.bench.rivals.duck import Duck
from ripplenest.bench.subject import apply, inserted, load, nested, opened
from ripplenest.bench.timing import in_turns, timed
from ripplenest.bench.views import like_f2
from ripplenest.bench.workloads import F2
from ripplenest.examples.same import differing

ROWS = 100
LARGEST = 0.002  # the scale: what is asked is the cost of a view, which the base has no part in


def measure_many(views: int, data: Data, rounds: int, folder: Path) -> Many:
    """Each answer is compared with DuckDB's, once batches have changed it. Raises Differs."""
    shapes = like_f2(views)
    first, *others = shapes.values()
    tables = F2.tables(data)
    with opened(folder / "one") as alone, opened(folder / "state") as db:
        for state in (alone, db):
            load(state, F2, tables)
            state.create(first)
        _, creating = timed(lambda: [db.create(view) for view in others])
        apart, changes = F2.changes(data), F2.changes(data)
        one, every = in_turns(rounds, partial(inserted, alone, apart, ROWS), partial(inserted, db, changes, ROWS))
        _compare(alone, first.name, _without(tables, (), min(shapes)))
        writes: list[Write] = []
        for change in changes.there(ROWS):
            apply(db, change)
            writes += change.writes
        for quantity, view in shapes.items():
            _compare(db, view.name, _without(tables, writes, quantity))
    return Many(views, ROWS, data.scale, creating / max(len(others), 1), one, every)


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
