"""Maps built anew for a commit: here, or by tasks, whose rows do not come here (``tasks.Builds``)."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from attrs import field, frozen

from ripplenest.data.content import Content
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.data.sums import summed
from ripplenest.plan.planned import Plan
from ripplenest.run.build import build, recomputed
from ripplenest.run.counts import check_counts
from ripplenest.run.engines import Chosen, Place
from ripplenest.run.propagate import Propagation
from ripplenest.run.trees import LOOKED_INTO
from ripplenest.schema.relation import Relation
from ripplenest.state.state import State
from ripplenest.state.tasks import Back, Builds, Built, Pending, is_by_tasks, mapped
from ripplenest.store.ref import Segments
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import TableSpec, Written
from ripplenest.store.staging import Staging
from ripplenest.version.folding import Unfolding


@frozen
class Found:
    """What a commit does to maps: signed rows that are here, or what tasks have ``written``. By map how many ``rows``
    change; how many stored ones were read for it, in so many ``jobs``, and of which tables in vain (``Change``)."""

    rows: Mapping[str, int]
    rows_read: int
    jobs: int
    deltas: Mapping[str, Rows] = field(factory=dict)
    written: Written | None = None
    cancelled: Mapping[str, int] = field(factory=dict)

    @classmethod
    def of(cls, done: Propagation) -> "Found":
        """What was found here."""
        rows = {name: len(rows) for name, rows in done.changed.items()}
        return cls(rows, done.rows_read, done.jobs, done.changed, cancelled=done.cancelled)

    @classmethod
    def of_tasks(cls, built: Built) -> "Found":
        """What tasks wrote."""
        rows = {name: sum(s.rows for s in found) for name, found in built.written.segments.items()}
        return cls(rows, built.rows_read, built.jobs, written=built.written)


Differing = Callable[[Plan, Mapping[str, Rows]], Mapping[str, Rows]]
"""For maps of a plan, of which these rows are stored, the change to what their definitions give. Raises
EvaluationError."""

Checked = Callable[[Relation], Mapping[str, int] | None]
"""By part how many rows a relation has with which nothing is wrong; None where something is, or nobody has looked."""


@frozen
class Recomputing:
    """Recomputation for commits to one state; ``builds`` are there where there is Spark."""

    state: State
    builds: Callable[[], Builds] | None

    def found(
        self,
        plan: Plan,
        pending: Pending,
        engine: Chosen,
        rows: float,
        held: ExitStack,
        staging: Staging | None = None,
    ) -> Found:
        """The change of each map of ``plan`` when parts change as is ``pending``: work of about so many ``rows``. What
        tasks write stays until ``held`` ends, beside what is in ``staging`` already. Raises EvaluationError."""
        if self.builds is None or not is_by_tasks(engine, rows):
            changes = {**pending.changes, **self._mapped(pending, staging)}
            return Found.of(recomputed(plan, pending.version, changes, engine.joiner, self.state.room))
        check_counts(pending.version, pending.changes)
        place = self._begun(held) if staging is None else staging
        taken = [s.id + 1 for segments in pending.staged.values() for s in segments]
        return Found.of_tasks(self.builds().build(plan, pending, place, max(self.state.store.reserved(), *taken, 0)))

    def back(self, plan: Plan, back: Back, held: ExitStack) -> Found:
        """The change of tables to what they were, and of each map of ``plan`` with it, by tasks. Raises
        EvaluationError."""
        assert self.builds is not None
        return Found.of_tasks(self.builds().back(plan, back, self._begun(held), self.state.store.reserved()))

    def differing(self, version: Unfolding, engine: Chosen, rows: float, held: ExitStack) -> Differing:
        """What compares maps of ``version`` with what their definitions give: work of about so many ``rows``. What
        differs is few, or stays in files until ``held`` ends."""
        room = self.state.room

        def here(plan: Plan, stored: Mapping[str, Rows]) -> Mapping[str, Rows]:
            fresh = build(plan, version, engine.joiner, pairs=LOOKED_INTO)
            return {name: _difference(fresh[name], rows, room) for name, rows in stored.items()}

        def by_tasks(plan: Plan, stored: Mapping[str, Rows]) -> Mapping[str, Rows]:
            staging = self._begun(held)
            found = self._looked_into(plan, version, staging)
            return {
                name: mapped(TableSpec(name, rows.types), staging, found.get(name, ())).consolidated()
                for name, rows in stored.items()
            }

        return by_tasks if self.builds is not None and is_by_tasks(engine, rows) else here

    def checked(self, version: Unfolding, place: Place, held: ExitStack) -> Checked:
        """What looks at relations of ``version`` that have many rows, none of which are arrays, by tasks. What these
        write stays until ``held`` ends."""

        def by_tasks(r: Relation) -> Mapping[str, int] | None:
            is_folded = any(fold.relation == r for fold in version.folds)
            many, tables = sum(version.size(part) for part in r.parts), version.tables
            if is_folded or self.builds is None or not is_by_tasks(place, many) or not isinstance(tables, Snapshot):
                return None
            if not all(tables.tables[part].indexes for part in r.parts):
                return None
            return self.builds().check(tables, r, self._begun(held))

        return by_tasks

    def _looked_into(self, plan: Plan, version: Unfolding, staging: Staging) -> Mapping[str, Segments]:
        assert self.builds is not None
        first = self.state.store.reserved()
        return self.builds().build(plan, Pending(version), staging, first, LOOKED_INTO).written.segments

    def _begun(self, held: ExitStack) -> Staging:
        return held.enter_context(Staging.begin(self.state.store.path))

    def _mapped(self, pending: Pending, staging: Staging | None) -> dict[str, Rows]:
        if staging is None:
            return {}
        tables = self.state.store.tables()
        return {table: mapped(tables[table], staging, segments) for table, segments in pending.staged.items()}


def _difference(fresh: Rows, stored: Rows, room: Room) -> Rows:
    """Nearly always there is none: then nobody has to group rows to see it."""
    if Content.of_rows(fresh) == Content.of_rows(stored):
        return Rows.empty(fresh.types)
    return summed(fresh.plus(stored.negated()), room)
