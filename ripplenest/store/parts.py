"""What tables consist of while a version of them is made: sorted runs that are stored, and rows that are not; and the
merges of these.

Merges of few rows, of however many tables, are one sum: what a sum costs at all is most of what it costs for them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal

import pyarrow as pa
from attrs import define, field, frozen

from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.data.sums import Sums, sum_of
from ripplenest.store.merging import BUDGET, LITTLE, due, worn
from ripplenest.store.ref import Segments, sorted_runs
from ripplenest.store.segments import Segment
from ripplenest.store.specs import TableSpec

Merge = Literal["due", "all"]
Scan = Callable[[Segment], pa.Table]


@frozen(eq=False)
class Part:
    """A sorted run of a table that is ``stored`` already, or ``rows`` that are not yet written, which become one."""

    size: int
    stored: Segments = ()
    rows: Rows | None = None
    is_delta: bool = False

    def tables(self, scan: Scan) -> Iterator[pa.Table]:
        """Its rows."""
        yield from map(scan, self.stored)
        if self.rows is not None:
            yield self.rows.arrow()


@define(eq=False)
class Parts:
    """What table number ``id`` has ``before`` a version, what comes with it, ``fresh``, and what it has ``after`` it.
    So many of the rows that were read of it were ``cancelled`` by others."""

    spec: TableSpec
    id: int
    before: Sequence[Part]
    fresh: Sequence[Part]
    cancelled: int
    after: list[Part] = field(init=False)

    @after.default
    def _all(self) -> list[Part]:
        return [*self.before, *self.fresh]

    @classmethod
    def of(cls, spec: TableSpec, number: int, live: Segments, delta: Rows | None, cancelled: int) -> "Parts":
        """Of the ``live`` segments, and a ``delta`` that has rows."""
        before = [Part(sum(s.rows for s in run), stored=run) for run in sorted_runs(live)]
        fresh = [] if delta is None else [Part(len(delta), rows=delta, is_delta=True)]
        return cls(spec, number, before, fresh, cancelled)

    @property
    def gone(self) -> list[int]:
        """The segments that the version no longer has."""
        return [s.id for p in self.before if p not in self.after for s in p.stored]

    def become_one(self, parts: Collection[Part], rows: Rows) -> None:
        """``parts`` are merged: ``rows`` are their sum."""
        self.after = [p for p in self.after if p not in parts]
        if len(rows):
            self.after.append(Part(len(rows), rows=rows))


@frozen
class Merger:
    """Merges within the budget of a batch, or as ``merge`` says: "due" what the tiers ask for, "all" each table into
    one segment, until the budget is used; but ``whole`` tables are always merged into one."""

    scan: Scan
    room: Room
    merge: Merge | None
    whole: Collection[str]

    def run(self, tables: Iterable[Parts], spent: int) -> int:
        """Merge what is due, and what is due then; ``spent`` of the budget is used. How many rows were written anew."""
        waiting, rewritten = list(tables), 0
        while chosen := self._chosen(waiting, BUDGET - spent - rewritten):
            sums = self._sums(chosen)
            for table, parts in chosen:
                table.become_one(parts, sums[table.spec.name])
                rewritten += len(sums[table.spec.name])
            waiting = [table for table, _ in chosen]
        return rewritten

    def _chosen(self, tables: Iterable[Parts], budget: int) -> list[tuple[Parts, list[Part]]]:
        """Of which tables which parts are next."""
        found = []
        for table in tables:
            parts = [table.after[i] for i in self._due(table, budget)]
            if parts:
                found.append((table, parts))
                budget -= sum(p.size for p in parts)
            table.cancelled = 0
        return found

    def _due(self, table: Parts, budget: int) -> list[int]:
        sizes = [p.size for p in table.after]
        if table.spec.name in self.whole and len(sizes) > 1:
            return list(range(len(sizes)))
        if self.merge is None:
            return worn(sizes, table.cancelled) or due(sizes, budget)
        if budget <= 0:
            return []
        return due(sizes, None) if self.merge == "due" else list(range(len(sizes))) * (len(sizes) > 1)

    def _sums(self, chosen: Iterable[tuple[Parts, list[Part]]]) -> dict[str, Rows]:
        """By table the sum of its parts; small ones are found together."""
        together, found = Sums(self.room), {}
        for table, parts in chosen:
            spec, tables = table.spec, (t for p in parts for t in p.tables(self.scan))
            by = spec.indexes[0] if spec.indexes else ()
            if sum(p.size for p in parts) > LITTLE:
                found[spec.name] = sum_of(spec.types, tables, self.room, by)
                continue
            for each in tables:
                together.add(spec.name, Rows(spec.types, table=each), by)
        return {**found, **together.rows()}
