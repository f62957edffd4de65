"""Whether batches feel the state: like batches on a small state and on a large one, which take turns.

A machine may be slower for minutes, and what is measured one after the other would meet them at one size alone.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from ripplenest.bench.asked import Asked
from ripplenest.bench.changes import Changes
from ripplenest.bench.data import Data
from ripplenest.bench.measure import BEFORE, Turns, batch_sizes, leave_and_compare
from ripplenest.bench.results import Growing, Grown
from ripplenest.bench.rivals.duck import Duck
from ripplenest.bench.subject import inserted, load, opened
from ripplenest.bench.timing import in_turns
from ripplenest.bench.workloads import Workload

FLAT_TO = 10_000  # changed rows up to which a batch must not see the state


State = tuple[Turns, Changes]


def measure_growing(workload: Workload, small: Data, large: Data, asked: Asked, folder: Path) -> Growing:
    """Batches of each size of the small one, up to FLAT_TO rows, on both. Raises Differs for an answer that is not
    DuckDB's, before them or after them."""
    sizes = [rows for rows in batch_sizes(workload, asked, small) if rows <= FLAT_TO]
    with ExitStack() as stack:
        states = [
            stack.enter_context(_state(workload, data, folder / name))
            for name, data in (("small", small), ("large", large))
        ]
        os.sync()
        grown = [Grown(rows, *in_turns(asked.rounds, *_works(states, rows))) for rows in sizes]
        for turns, changes in states:
            leave_and_compare(turns, changes, sizes)
    items = workload.counted(small), workload.counted(large)
    return Growing(workload.name, (small.scale, large.scale), items, tuple(grown))


def _works(states: Iterable[State], rows: int) -> Iterator[Callable[[], float]]:
    return (partial(inserted, turns.db, changes, rows) for turns, changes in states)


@contextmanager
def _state(workload: Workload, data: Data, folder: Path) -> Iterator[State]:
    reference = Duck(workload.name)
    try:
        with opened(folder) as db:
            tables = workload.tables(data)
            load(db, workload, tables)
            db.create(workload.view)
            turns = Turns(db, workload, folder, reference, {})
            turns.load(tables)
            turns.compare(BEFORE)
            yield turns, workload.changes(data)
    finally:
        reference.close()
