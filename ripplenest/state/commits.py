"""What makes a new version: a declaration, a load, a new view, a batch, a rollback.

Each is computed from one snapshot and committed on top of it, or not at all when another commit came first; batches
and rollbacks are then computed again from the newer version.

A rollback is a batch. The rows that relations had are found from the changes since, and their negation runs through
the triggers like any other change. So a view that did not exist then is right as well, and the feed of changes shows
what was undone. Sources go on where they are: a (source, seq) is applied once, and history is never rewritten.

Batches are computed outside of the lock, and committed only on top of the version that they read. The loser of a race
computes again; what it had written is removed. So a writer that dies, or stands still, holds nobody up, and there is
nothing to fence.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from attrs import evolve, frozen

from ripplenest.data.naming import Numbers, array_numbers, row_numbers
from ripplenest.data.rows import Rows
from ripplenest.data.sums import summed
from ripplenest.errors import AlreadyLoaded, Stale
from ripplenest.intake.apply import Outcome, carry_out, is_found
from ripplenest.intake.given import Given
from ripplenest.intake.ingest import read_pieces
from ripplenest.intake.loading import load
from ripplenest.intake.operations import LOADS as LOADED
from ripplenest.intake.operations import Operation, Verb, Write
from ripplenest.intake.share import Loading
from ripplenest.intake.spilled import Spilled, gathered
from ripplenest.intake.spread import are_spread
from ripplenest.plan.planned import merged
from ripplenest.run.engines import Engines, Place
from ripplenest.run.policy import Policy, Work, decide
from ripplenest.schema.differing import is_declared, relation_changed
from ripplenest.schema.relation import Relation, find_relation
from ripplenest.state.back import Undoing
from ripplenest.state.declared import Declared
from ripplenest.state.digests import digest_of, is_older, is_same, loaded_digest, repeated
from ripplenest.state.fresh import Fresh, Freshening
from ripplenest.state.notes import LOADS, ROLLBACKS, meta_key, note
from ripplenest.state.recomputing import Recomputing
from ripplenest.state.report import Laps, Report
from ripplenest.state.spreading import Spreading
from ripplenest.state.state import State
from ripplenest.state.stored import relation_text
from ripplenest.state.tasks import Builds, Pending, Tasks, is_by_tasks, loading
from ripplenest.store.files import Files, divided_by_place
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Applied, Change, Written
from ripplenest.store.staging import Staging
from ripplenest.store.turns import IN_TURN, retried
from ripplenest.version.folding import Fold, Unfolding
from ripplenest.version.refolding import folded

LOCAL = "local"


@frozen
class Recorded:
    """A batch as it was recorded: the relations ``used`` that rows were read for, its operations, its name if any."""

    used: Mapping[str, Relation]
    operations: tuple[Operation, ...]
    source: str | None
    seq: int | None


@frozen
class Commits:
    """Commits to one state, by its engines, and by ``tasks`` and ``builds`` if there can be any."""

    state: State
    engines: Engines
    tasks: Callable[[], Tasks] | None = None
    builds: Callable[[], Builds] | None = None

    @property
    def _declared(self) -> Declared:
        return self.state.declared

    def spread(self, verb: Verb, r: Relation, rows: object, where: str) -> Given | None:
        """Rows for a batch that stay where they are, if they are to. Raises WrongColumns."""
        return self._spreading.rows(verb, r, rows, where)

    @property
    def _spreading(self) -> Spreading:
        return Spreading(self.state, self.engines, self.tasks)

    @property
    def _recomputing(self) -> Recomputing:
        return Recomputing(self.state, self.builds)

    # ------------------------------------------------------------ relations and views

    def relation(self, wanted: Relation) -> None:
        """Declare a relation. Raises RelationChanged, NameTaken."""
        self.state.refresh()
        if not is_declared(self._declared.relations.get(wanted.name), wanted):  # who only names one waits for nobody
            retried(self.state.store.path, lambda: self._declare(wanted))

    def _declare(self, wanted: Relation) -> None:
        version = self.state.refresh()
        known = self._declared.relations.get(wanted.name)
        if known is None:
            specs = (*wanted.specs, *(Fold(wanted, root).spec for root in wanted.arrays))
            self._declared.check_free([spec.name for spec in specs], self.state.tables(version))
            meta = {meta_key("relation", wanted.name): relation_text(wanted)}
            self.state.commit(Change(tables=specs, meta=meta, note=note("relation", name=wanted.name)), version)
            self.state.refresh()
        elif not is_declared(known, wanted):
            raise relation_changed(known, wanted)

    def load(self, name: str, rows: object) -> int:
        """Fill an empty relation. Returns the version. Raises AlreadyLoaded."""
        snapshot = self.state.snapshot()
        r = find_relation(self._declared.relations, name)
        source = f"{LOADS}{name}"
        last = self.state.store.last_seq(source) or 0
        applied = self._in_force(source, last, self.state.store.born(name))
        where, room = f"load {name}: rows", self.state.room
        tasks, rows = self._spreading.carried(r, r.row, rows, where)
        if tasks is not None and not is_older(applied):
            return self._load_by_tasks(tasks, r, rows, snapshot, applied, last + 1)
        write = Write("insert", name, gathered(read_pieces(rows, r.row, where, r.key, room), r.row, room))
        digest = digest_of((write,), LOADED)
        return retried(self.state.store.path, lambda: self._load_write(write, r, digest), tries=1)

    def _load_write(self, write: Write, r: Relation, digest: str) -> int:
        """Fill the relation that ``r`` was when its rows were read."""
        snapshot, name, source = self.state.snapshot(), write.relation, f"{LOADS}{write.relation}"
        self._declared.check_unchanged({name: r})
        last = self.state.store.last_seq(source) or 0
        applied = self._in_force(source, last, self.state.store.born(name))
        if applied is not None and is_same(applied, digest, (write,)):
            return applied.version
        self._check_none(r, snapshot, applied)
        return self._load(write, snapshot, source, last + 1, digest)

    def _check_none(self, r: Relation, snapshot: Unfolding, applied: Applied | None) -> None:
        """Raises AlreadyLoaded when a relation has been loaded, or has rows."""
        verb = "upsert" if r.key else "insert"
        where, possible = f"load {r.name}", [f'with db.batch() as b: b.{verb}("{r.name}", rows)']
        if applied is not None:
            what, got = "the relation was loaded before, with other rows", f"version {applied.version}"
            raise AlreadyLoaded(what, where=where, got=got, possible=possible)
        if len(snapshot.scan(r.name).consolidated()):
            raise AlreadyLoaded("the relation has rows already", where=where, possible=possible)

    def _load_by_tasks(
        self, tasks: Tasks, r: Relation, rows: object, snapshot: Unfolding, applied: Applied | None, seq: int
    ) -> int:
        """The same of rows that do not come here. What tasks wrote does not depend on what others commit meanwhile,
        unless rows have numbers of the version."""
        store, work, ids = self.state.store, *loading(r, self._declared.folded, snapshot)
        with Staging.begin(store.path) as staging:
            if applied is not None and loaded_digest(r, tasks.content(rows, work, staging)) == applied.digest:
                return applied.version
            self._check_none(r, snapshot, applied)
            written, sizes, content = tasks.load(rows, work, staging, ids, store.reserved())
            change = Change(source=f"{LOADS}{r.name}", seq=seq, digest=loaded_digest(r, content), written=written)
            for _ in range(IN_TURN - 1):
                try:
                    return self._named(r, snapshot, sizes, change, staging)
                except Stale:
                    snapshot = self.state.snapshot()
                    if staging.is_numbered or not self._fits(work, ids, seq, snapshot):
                        raise
                    self._check_none(r, snapshot, None)
            return self._named(r, snapshot, sizes, change, staging)

    def _fits(self, work: Loading, ids: Mapping[str, int], seq: int, snapshot: Unfolding) -> bool:
        """Whether a load can be named on top of a newer version: its tables are there yet, and no other load is."""
        r, last = work.relation, self.state.store.last_seq(f"{LOADS}{work.relation.name}") or 0
        if self._declared.relations.get(r.name) != r or last >= seq:
            return False
        again, same = loading(r, self._declared.folded, snapshot)
        return again.is_for(work) and same == ids

    def _named(
        self, r: Relation, snapshot: Unfolding, sizes: Mapping[str, int], change: Change, staging: Staging
    ) -> int:
        """Commit what tasks wrote, and what it does to views; nothing is read where none reads it."""
        assert change.written is not None
        is_read = any(r.name in view.relations for view in self._declared.views.values())
        parts = sizes.keys() if is_read else ()
        staged = {table: segments for table, segments in change.written.segments.items() if table in parts}
        return self._finished(r.name, sizes, Pending(snapshot, staged=staged), change, staging)

    def fill(self, name: str, rows: Given) -> None:
        """Fill an empty relation with the rows of another state, which is no load of this one."""
        self._load(Write("insert", name, rows), self.state.snapshot())

    def _in_force(self, source: str, last: int, born: int) -> Applied | None:
        """The batch of ``source`` that the newest version contains: all others were rolled back, or were of a relation
        of this name before the one that was ``born`` then."""
        found = (self.state.store.applied(source, seq) for seq in range(last, 0, -1))
        later = (a for a in found if a is not None and a.version >= born)
        return next((a for a in later if self.state.in_force(a.version)), None)

    def _load(
        self,
        write: Write,
        snapshot: Unfolding,
        source: str | None = None,
        seq: int | None = None,
        digest: str = "",
    ) -> int:
        stored, sizes = self._loaded(write, snapshot)
        changes = {part: rows for part, rows in stored.items() if part in sizes}  # no view looks into what is folded
        change = Change(stored, source=source, seq=seq, digest=digest)
        return self._finished(write.relation, sizes, Pending(snapshot, changes), change)

    def _finished(
        self,
        name: str,
        sizes: Mapping[str, int],
        pending: Pending,
        change: Change,
        staging: Staging | None = None,
    ) -> int:
        """Commit a load, with what is ``pending`` in parts, of these ``sizes``, and what that does to views."""
        snapshot = pending.version
        plan = merged([v.plan for v in self._declared.views.values() if name in v.relations])
        rows = Work(plan, snapshot.size, sizes).full()
        engine = self.engines.choose(rows)
        said = note("load", name=name, **engine.facts)
        meta = self._declared.left_behind(sizes, snapshot.version)
        with ExitStack() as held:
            found = self._recomputing.found(plan, pending, engine, rows, held, staging)
            change = evolve(change, deltas={**change.deltas, **found.deltas}, meta=meta, note=said)
            return self.state.commit(_with_written(change, found.written), snapshot.version)

    def _loaded(self, write: Write, snapshot: Unfolding) -> tuple[dict[str, Rows], dict[str, int]]:
        """What a load stores, and how many rows of each part it has."""
        r, folds = self._declared.relations[write.relation], self._declared.folded
        if isinstance(write.rows, Spilled) and is_found(r, snapshot.access_keys):
            arrays = array_numbers(snapshot.version + 1)
            fold = partial(folded, before=snapshot, folds=folds, numbers=arrays)
            return load(r, snapshot, row_numbers(snapshot.version + 1), write.rows, fold, self.state.room)
        numbers = partial(row_numbers, snapshot.version + 1)
        changes = self._carried_out(snapshot, [(write, f"load {write.relation}")], numbers).changes
        return folded(changes, snapshot, folds), {part: len(rows) for part, rows in changes.items()}

    def part_sizes(self, snapshot: Unfolding, relations: Iterable[tuple[str, object]]) -> dict[str, int]:
        """The rows of the stored parts that have any."""
        parts = (part for name, _ in relations for part in self._declared.relations[name].parts)
        return {part: size for part in parts if (size := snapshot.size(part))}

    # ------------------------------------------------------------ batches

    def batch(self, policy: Policy, recorded: Recorded) -> Report:
        """Apply operations once for each (source, seq). Raises BatchConflict, BatchGap, RelationChanged, DataError."""
        return retried(self.state.store.path, lambda: self._batch(policy, recorded))

    def _batch(self, policy: Policy, recorded: Recorded) -> Report:
        operations, source, seq = recorded.operations, recorded.source, recorded.seq
        laps = Laps()
        snapshot, standing = self.state.begin(LOCAL if source is None else source, seq)
        laps.end("snapshot")
        if standing.batch is not None:
            self._spreading.look(operations, snapshot)
        is_seen = standing.batch is not None or not are_spread(operations)
        digest = digest_of(operations) if is_seen else ""
        if source is None or seq is None:
            source, seq = LOCAL, (standing.last or 0) + 1
        before = repeated(source, seq, digest, operations, standing, self._altered)
        if before is not None:
            return before
        self._declared.check_unchanged(recorded.used)
        laps.end("digest")
        named = [(o, f"operation {i} ({o.verb} {o.target})") for i, o in enumerate(operations)]
        with ExitStack() as held:
            files = self._files(snapshot, held)
            taken = self._spreading.taken(named, snapshot, files)
            applied = self._carried_out(snapshot, taken.others, partial(taken.row_numbers, files, snapshot.version + 1))
            changes = {**applied.changes, **taken.parts}
            laps.end("intake")
            decision, engine, found = self._fresh(policy, snapshot, changes, files)
            laps.end("views")
            report = Report(
                snapshot.version + 1,
                source,
                seq,
                {**{part: len(rows) for part, rows in changes.items()}, **taken.sizes},
                found.rows,
                applied.read + found.rows_read,
                found.jobs,
                laps.total,
                decision.how,
                decision.why,
                waiting=tuple(view.name for view in self._declared.waits_for(changes)),
                engine=engine.name,
                engine_why=engine.why,
            )
            numbers = taken.array_numbers(files, snapshot.version + 1)
            stored = folded(applied.changes, snapshot, self._declared.folded, numbers)
            meta = self._declared.left_behind(changes, snapshot.version)
            said, found_by = note("batch", **_noted(report)), applied.missed
            digest = digest if is_seen else digest_of(operations)
            change = Change({**stored, **taken.stored, **found.deltas}, (), found_by, meta, source, seq, digest, said)
            change = evolve(change, cancelled={**applied.cancelled, **found.cancelled})
            self.state.commit(_with_written(change, found.written), snapshot.version)
            laps.end("commit")
        return evolve(report, seconds=laps.total, phases=laps.spent)

    def _altered(self, relations: Collection[str], since: int) -> list[str]:
        """What was done to the fields of ``relations`` after a version, the first change first."""
        notes = [e.note for e in self.state.store.history() if e.version > since]
        of = [n for n in reversed(notes) if n.get("kind") == "alter" and n.get("name") in relations]
        return [f"{n['name']}: {n['what']}" for n in of]

    def _files(self, snapshot: Unfolding, held: ExitStack) -> Files:
        assert isinstance(snapshot.tables, Snapshot)
        return Files(self.state.store.path, snapshot.tables, self.state.store.reserved, held)

    def _carried_out(
        self, snapshot: Unfolding, named: Sequence[tuple[Operation, str]], numbers: Callable[[], Numbers]
    ) -> Outcome:
        return carry_out(self._declared.relations, lambda: self.state.overlay(snapshot), numbers, named)

    def _fresh(self, policy: Policy, snapshot: Unfolding, changes: Mapping[str, Rows], files: Files) -> Fresh:
        """What a batch that changes parts does to every map, and how and where that was found. What tasks wrote of it
        is in ``files``."""
        if policy == "strict":
            self._declared.check_strict(changes)
        self.state.check_indexed(snapshot)
        views = Freshening(self.engines, self._recomputing, self._declared.plan(), snapshot, changes, files)
        return views.found(policy)

    # ------------------------------------------------------------ back

    def rollback(self, policy: Policy, to: int) -> int:
        """A new version with the rows that relations had at version ``to``, and views to match. Returns its number."""
        return retried(self.state.store.path, lambda: self._rollback(policy, to))

    def _rollback(self, policy: Policy, to: int) -> int:
        snapshot = self.state.snapshot()
        then = self.state.store.snapshot(to)
        for r in self._declared.relations.values():
            self.state.check_same(r, then)
        undoing = Undoing(self._declared, snapshot, to)
        how: Policy = policy if policy == "full" else "auto"
        decision = decide(how, Work(self._declared.plan(), snapshot.size, undoing.sizes))
        most, place = undoing.most(decision), self.engines.place(undoing.most(decision))
        with ExitStack() as held:
            if self.builds is not None and is_by_tasks(place, most):
                found = self._recomputing.back(self._declared.plan(), undoing.back, held)
                return self._back(undoing, place, undoing.parts(found.rows), Change(written=found.written))
            back = {part: summed(snapshot.delta(part, to).negated(), self.state.room) for part in undoing.relations}
            changes = {part: rows for part, rows in back.items() if len(rows)}
            _, engine, found = self._fresh(how, snapshot, changes, self._files(snapshot, held))
            stored = folded(changes, snapshot, self._declared.folded)
            return self._back(undoing, engine, changes, Change({**stored, **found.deltas}, written=found.written))

    def _back(self, undoing: Undoing, place: Place, changed: Collection[str], change: Change) -> int:
        """Commit a rollback, which changes these parts."""
        snapshot, to = undoing.version, undoing.to
        undone = [*self.state.rollbacks(), [snapshot.version + 1, to]]
        meta = {ROLLBACKS: json.dumps(undone), **self._declared.left_behind(changed, snapshot.version)}
        said = note("rollback", to=to, **place.facts)
        return self.state.commit(evolve(change, meta=meta, note=said), snapshot.version)


def _with_written(change: Change, maps: Written | None) -> Change:
    """With what tasks wrote of maps, beside what they may have written of other tables; all of it in one folder."""
    here, files = divided_by_place(change.deltas)
    every = [written for written in (change.written, files, maps) if written is not None]
    if not every:
        return change
    segments = {table: found for written in every for table, found in written.segments.items()}
    return evolve(change, deltas=here, written=evolve(every[0], segments=segments))


def _noted(report: Report) -> dict[str, object]:
    """What history keeps of a report: all but its phases, which end after it is written."""
    return {name: value for name, value in report.to_dict().items() if name != "phases"}
