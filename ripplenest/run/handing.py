"""When tasks read the tables of a statement by themselves.

To look rows up, this process reads the keys of a change, and holds what it finds until it is joined. A change in files
was to stay there. So where the other tables are not much larger than the change, tasks read them whole: what is looked
up is a part of what is read then, and products ask for equal keys themselves, so they make the same rows. Where they
are much larger, each task looks up what some rows of the change ask for. Neither way does a row come here.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Literal

from attrs import frozen

from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.data.seen import EVERYTHING, Seen
from ripplenest.nrc.syntax import At
from ripplenest.plan.planned import Index, Plan
from ripplenest.plan.product import Product, Source
from ripplenest.run.passing import seen_of
from ripplenest.store.files import Filed

LARGER = 8
"""Times as many rows as of the change are read sooner than some are looked up: to look one up costs several times what
it costs to read one."""


@frozen
class Came:
    """What has changed so far, by table: what statements see of it (``changes``), what is stored of a map that passes
    on something else (``moved``), and what parts have ``caused`` in auxiliary maps."""

    changes: Mapping[str, Rows]
    moved: Mapping[str, Rows]
    caused: Collection[str]

    def of(self, s: Source) -> Rows | None:
        """What is stored beside what was before, where a source is read as it is now."""
        return self.moved.get(s.table, self.changes.get(s.table)) if s.at is At.NEW else None


@frozen
class Handing:
    """``stored`` gives what is seen of the rows of a table, or of these and a change, which nobody reads here, and
    ``size`` says how many there are; but for tables that have some elsewhere: ``apart``."""

    stored: Callable[[str, Seen, Filed | None], Filed]
    size: Callable[[str], int]
    room: Room
    apart: Collection[str] = ()

    def by_key(self, rows: Rows, key: Index) -> Iterator[Rows]:
        """``rows``, in files some at a time; those of one key come together."""
        if isinstance(rows, Filed) and {*rows.ref.clustered} <= {*key}:
            yield from rows.windows(self.room)
        else:
            yield rows

    def how(self, p: Product, plan: Plan, came: Came) -> Literal["whole", "looked up"] | None:
        """How tasks are to read what ``p`` reads beside a change, all of which is in files: whole, if it is not much
        larger; else looked up, if its keys lead to all of it. So are places, of which some have no row. None where this
        process is to read it."""
        deltas, others = ([s for s in p.sources if (s.at is At.DELTA) == is_delta] for is_delta in (True, False))
        if len(deltas) != 1 or not others:
            return None
        change = came.changes.get(deltas[0].table)
        if not isinstance(change, Filed) or not all(self._is_filed(s, plan, came) for s in others):
            return None
        if not any(step.place for step in p.steps) and self._is_small(others, change):
            return "whole"
        return "looked up" if self._leads(p) and change.types else None

    def _is_small(self, others: Iterable[Source], change: Rows) -> bool:
        return sum(map(self.size, {s.table for s in others})) <= LARGER * len(change)

    def _leads(self, p: Product) -> bool:
        """Whether the change leads to all other sources of ``p`` by access keys, in whichever order they are read."""
        for order in p.orders:
            first, *others = order.steps
            if p.sources[first.source].at is not At.DELTA:
                return False
            for step in others:
                keys = self.stored(p.sources[step.source].table, EVERYTHING, None).ref.spec.indexes
                alone = step.alone or step
                if step.place and not step.columns:
                    continue  # one row
                if not (step.via or step.place) or step.columns not in keys or alone.columns not in keys:
                    return False
        return True

    def _is_filed(self, s: Source, plan: Plan, came: Came) -> bool:
        """Whether all that is seen of a source is in files: what is stored, and what changed in that."""
        if s.table in self.apart or s.table in came.caused or seen_of(plan.shown.get(s.table)) is None:
            return False
        moved = came.of(s)
        return moved is None or (isinstance(moved, Filed) and moved.of == s.table)

    def rows(self, s: Source, plan: Plan, came: Came) -> Rows:
        """What is seen of a source, which nobody reads here."""
        if s.at is At.DELTA:
            return came.changes[s.table]
        seen, moved = seen_of(plan.shown.get(s.table)), came.of(s)
        assert seen is not None and (moved is None or isinstance(moved, Filed))
        return self.stored(s.table, seen, moved)
