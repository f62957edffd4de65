"""What makes a new version: a declaration, a load, a new view, a batch, a rollback.

Each is computed from one snapshot and committed on top of it, or not at all when another commit came first; batches
and rollbacks are then computed again from the newer version.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from attrs import evolve, frozen

from ripplenest.api.batch import LOADS, find_relation
from ripplenest.data.rows import Rows
from ripplenest.intake.apply import Session
from ripplenest.intake.ingest import read_rows
from ripplenest.intake.operations import Operation, Write, content
from ripplenest.nrc.errors import (
    AlreadyLoaded,
    BatchConflict,
    BatchGap,
    EvaluationError,
    NotKept,
    RelationChanged,
    Stale,
)
from ripplenest.plan.planned import merged
from ripplenest.run.build import build, recomputed
from ripplenest.run.joiner import Joiner
from ripplenest.run.policy import Decision, Policy, after_failure, decide
from ripplenest.run.propagate import Propagation, propagate
from ripplenest.schema.relation import Relation
from ripplenest.state.declared import Declared, Kept, relation_meta
from ripplenest.state.report import Report
from ripplenest.state.state import ROLLBACKS, State
from ripplenest.store.specs import Applied, Change, TableSpec
from ripplenest.version.folding import Fold, Unfolding, folded, unfolded

LOCAL = "local"
TRIES = 8  # how often a batch is computed again because another one came first
T = TypeVar("T")


@frozen
class Commits:
    """Commits to one state. ``joiner`` gives the engine, when it is first needed."""

    state: State
    joiner: Callable[[], Joiner]

    @property
    def _declared(self) -> Declared:
        return self.state.declared

    # ------------------------------------------------------------ relations and views

    def relation(self, wanted: Relation) -> None:
        """Declare a relation. Raises RelationChanged, NameTaken."""
        version = self.state.refresh()
        known = self._declared.relations.get(wanted.name)
        if known is None:
            specs = (*wanted.specs, *(Fold(wanted, root).spec for root in wanted.arrays))
            self._declared.check_free([spec.name for spec in specs], self.state.store.tables())
            note = {"kind": "relation", "name": wanted.name}
            self.state.commit(Change(tables=specs, meta=relation_meta(wanted), note=note), version)
            self._declared.relations[wanted.name] = wanted
        elif known != wanted:
            shown = [_signature(r) for r in (known, wanted)]
            where, possible = f"relation {wanted.name}", ["another name", "a new state directory"]
            what = f"the state holds {wanted.name} differently"
            raise RelationChanged(what, where=where, wanted=shown[0], got=shown[1], possible=possible)

    def load(self, name: str, rows: object) -> int:
        """Fill an empty relation. Returns the version. Raises AlreadyLoaded."""
        snapshot = self.state.snapshot()
        r = find_relation(self._declared.relations, name)
        write = Write("insert", name, read_rows(rows, r.row, f"load {name}: rows"))
        source, digest = f"{LOADS}{name}", _digest((write,))
        last = self.state.store.last_seq(source) or 0
        applied = self._in_force(source, last)
        if applied is not None:
            if applied.digest == digest:
                return applied.version
            got = f"version {applied.version}"
            raise AlreadyLoaded("the relation was loaded before", where=f"load {name}", got=got, possible=["batch"])
        if len(snapshot.scan(name).consolidated()):
            raise AlreadyLoaded("the relation has rows already", where=f"load {name}", possible=["batch"])
        return self._load(write, (source, last + 1), digest, snapshot)

    def _in_force(self, source: str, last: int) -> Applied | None:
        """The batch of ``source`` that the newest version contains: all others were rolled back."""
        found = (self.state.store.applied(source, seq) for seq in range(last, 0, -1))
        return next((a for a in found if a is not None and self.state.in_force(a.version)), None)

    def _load(self, write: Write, batch: tuple[str, int], digest: str, snapshot: Unfolding) -> int:
        session = Session(self._declared.relations, self.state.overlay(snapshot), batch)
        session.run(write, f"load {write.relation}")
        changes = session.changes()
        plan = merged([v.plan for v in self._declared.views.values() if write.relation in v.relations])
        stored = folded(changes, snapshot, self._declared.folded)
        deltas = {**stored, **recomputed(plan, snapshot, changes, self.joiner()).changes}
        note = {"kind": "load", "name": write.relation}
        source, seq = batch
        return self.state.commit(Change(deltas, source=source, seq=seq, digest=digest, note=note), snapshot.version)

    def keep(self, view: Kept, snapshot: Unfolding) -> None:
        """Build the maps of a view that are not stored yet, and commit them with its definition."""
        stored = self.state.store.tables()
        shared = self._declared.shared() & view.plan.auxiliaries
        own = {m.name: m for m in view.plan.maps if m.name not in shared}
        self._declared.check_free((view.name, *own), stored)
        indexes = view.plan.indexes
        tables = tuple(TableSpec(m.name, m.types, indexes.get(m.name, ())) for m in own.values())
        built = build(view.plan.only(own), snapshot, self.joiner())
        unfold = self._declared.looked_into(view)
        change = Change(
            {**built, **unfolded(unfold, snapshot)},
            tables,
            {table: found for table, found in indexes.items() if table not in own},
            {**view.meta(), **self._declared.unfolding(unfold)},
            note={"kind": "create", "name": view.name},
            merged=tuple(fold.table for fold in unfold),
        )
        self.state.commit(change, snapshot.version)
        self._declared.views[view.name] = view

    def part_sizes(self, snapshot: Unfolding, relations: Iterable[tuple[str, object]]) -> dict[str, int]:
        """The rows of the stored parts that have any."""
        parts = (part for name, _ in relations for part in self._declared.relations[name].parts)
        return {part: size for part in parts if (size := snapshot.size(part))}

    # ------------------------------------------------------------ batches

    def batch(
        self, policy: Policy, operations: tuple[Operation, ...], source: str | None, seq: int | None
    ) -> Report:
        """Apply operations once for each (source, seq). Raises BatchConflict, BatchGap and what the rows do wrong."""
        return _retried(lambda: self._batch(policy, operations, source, seq))

    def _batch(self, policy: Policy, operations: tuple[Operation, ...], source: str | None, seq: int | None) -> Report:
        started = time.perf_counter()
        snapshot = self.state.snapshot()
        if source is None or seq is None:
            source, seq = LOCAL, (self.state.store.last_seq(LOCAL) or 0) + 1
        digest = _digest(operations)
        repeated = self._repeated(source, seq, digest)
        if repeated is not None:
            return repeated
        session = Session(self._declared.relations, self.state.overlay(snapshot), (source, seq))
        for i, operation in enumerate(operations):
            session.run(operation, f"operation {i} ({operation.verb} {operation.target})")
        changes = session.changes()
        decision, done = self._changed(policy, snapshot, changes)
        report = Report(
            snapshot.version + 1,
            source,
            seq,
            {part: len(rows) for part, rows in changes.items()},
            {name: len(rows) for name, rows in done.changes.items() if len(rows)},
            session.overlay.read + done.rows_read,
            done.jobs,
            time.perf_counter() - started,
            decision.how,
            decision.why,
        )
        note = {"kind": "batch", **report.to_dict()}
        stored = folded(changes, snapshot, self._declared.folded)
        found_by = session.overlay.missed
        change = Change({**stored, **done.changes}, (), found_by, {}, source, seq, digest, note)
        self.state.commit(change, snapshot.version)
        return evolve(report, seconds=time.perf_counter() - started)

    def _changed(
        self, policy: Policy, snapshot: Unfolding, changes: Mapping[str, Rows]
    ) -> tuple[Decision, Propagation]:
        """What a batch that changes parts does to every map, and how that was found."""
        if policy == "strict":
            self._declared.check_strict(changes)
        plan = self._declared.plan()
        decision = decide(policy, plan, snapshot.size, {part: len(rows) for part, rows in changes.items()})
        if decision.how == "incremental":
            try:
                return decision, propagate(plan, snapshot, changes, self.joiner())
            except EvaluationError as error:
                # Triggers also ask about rows that were and rows that came together, which no state holds.
                decision = after_failure(policy, error)
        return decision, recomputed(plan, snapshot, changes, self.joiner())

    def _repeated(self, source: str, seq: int, digest: str) -> Report | None:
        """The report of a batch that was applied before. Raises BatchConflict or BatchGap."""
        where = f"batch {source}:{seq}"
        applied = self.state.store.applied(source, seq)
        if applied is not None and applied.digest != digest:
            what = "this batch was applied with other content"
            raise BatchConflict(what, where=where, wanted=applied.digest, got=digest)
        last = self.state.store.last_seq(source)
        if applied is None and last is not None and seq != last + 1:
            raise BatchGap("batches of a source come one after another", where=where, wanted=last + 1, got=seq)
        return None if applied is None else Report(applied.version, source, seq, applied=False)

    # ------------------------------------------------------------ back

    def rollback(self, policy: Policy, to: int) -> int:
        """A new version with the rows that relations had at version ``to``, and views to match. Returns its number."""
        return _retried(lambda: self._rollback(policy, to))

    def _rollback(self, policy: Policy, to: int) -> int:
        snapshot = self.state.snapshot()
        parts = [part for r in self._declared.relations.values() for part in r.parts]
        back = {part: snapshot.delta(part, to).negated().consolidated() for part in parts}
        changes = {part: rows for part, rows in back.items() if len(rows)}
        _, done = self._changed(policy if policy == "full" else "auto", snapshot, changes)
        stored = folded(changes, snapshot, self._declared.folded)
        rollbacks = [*self.state.rollbacks(), [snapshot.version + 1, to]]
        note, meta = {"kind": "rollback", "to": to}, {ROLLBACKS: json.dumps(rollbacks)}
        return self.state.commit(Change({**stored, **done.changes}, meta=meta, note=note), snapshot.version)


def _retried(attempt: Callable[[], T]) -> T:
    """What ``attempt`` gives; it is made again from the newer version when another commit came first."""
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except (Stale, NotKept):  # the version that it read may have gone meanwhile, where few are kept
            continue
    return attempt()


def _digest(operations: tuple[Operation, ...]) -> str:
    return hashlib.sha256(content(operations).encode()).hexdigest()


def _signature(r: Relation) -> str:
    kept = (("key", r.key), ("immutable", r.immutable), ("arrays", r.arrays))
    return ", ".join([str(r.row), *(f"{what} {', '.join(paths)}" for what, paths in kept if paths)])
