"""Maps that jobs would make pair by pair, in the driver: of what tasks read, as a run that they go on with.

What is compared this process puts in order (``plan/pairs.py``). It reads the tables of such a map whole, so maps of
more rows than a process works on are left to tasks.
"""

from collections.abc import Callable

from attrs import frozen

from ripplenest.data.grouping import crowd
from ripplenest.data.rows import Rows
from ripplenest.data.sums import summed
from ripplenest.plan.pairs import Crowd, in_pairs
from ripplenest.plan.planned import Plan
from ripplenest.plan.product import Product
from ripplenest.run.build import Loaded, build
from ripplenest.run.engines import MOST
from ripplenest.run.local import LocalJoiner
from ripplenest.run.trees import Way
from ripplenest.store.ranges import Unwritten, written
from ripplenest.store.ref import Segments, TableRef
from ripplenest.tasks.handed import Surroundings
from ripplenest.tasks.rows import some_at_once


def is_for_one(way: Way, ref: Callable[[str], TableRef], here: Surroundings) -> bool:
    """Whether a map is built in the driver."""

    def size(table: str) -> int:
        return ref(table).size

    def crowd_of(p: Product) -> Crowd:
        return lambda i, by: crowd((rows.arrow() for rows in some_at_once(ref(p.sources[i].table), here)), tuple(by))

    return fits(way, size) and any(
        in_pairs(p, [size(s.table) for s in p.sources], crowd_of(p)) for p in way.products
    )


def fits(way: Way, size: Callable[[str], int]) -> bool:
    """Whether a map reads no more than a process works on."""
    return sum(map(size, {s.table for p in way.products for s in p.sources})) <= MOST


@frozen
class Whole:
    """The tables of a piece of work, by what ``ref`` says of them."""

    ref: Callable[[str], TableRef]
    here: Surroundings

    def scan(self, table: str) -> Rows:
        """Every row."""
        return summed(self.ref(table).scan(self.here.reader), self.here.room)

    def run_of(self, plan: Plan, name: str, first: int, pairs: float) -> Segments:
        """The rows of a map of ``plan`` as a sorted run, which has the number ``first``; by definition where that joins
        no more than so many ``pairs``. Raises EvaluationError."""
        room = self.here.room
        rows = build(plan.only({name}), Loaded(self, {}), LocalJoiner(room), pairs=pairs)[name]
        draft = Unwritten(summed(rows, room), self.ref(name).spec.indexes[:1], first)
        return tuple(written([draft], self.here.disk, room, lasts=False)) if len(draft.rows) else ()
