"""The database: declared relations, loaded rows, views that are kept fresh, and the batches that change them.

One batch is one version: operations become signed rows (``apply``), the trigger programs of all views turn them into
the changes of their maps (``engine``), or these are recomputed (``policy``), and the store commits all of it together
or nothing.
"""

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from attrs import evolve

from ripplenest.apply import Session
from ripplenest.batch import LOADS, Batch, find_relation
from ripplenest.declared import Declared, HasQuery, Kept, compiled, query_of, relation_meta
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import Materialize
from ripplenest.engine import Joiner, Propagation, PythonJoiner, build, propagate
from ripplenest.folding import Fold, Unfolding, folded, unfolded
from ripplenest.ingest import read_rows
from ripplenest.judge import check_strict
from ripplenest.nrc.dsl.records import annotation_type
from ripplenest.nrc.errors import AlreadyLoaded, BatchConflict, BatchGap, EvaluationError, RelationChanged, UnknownView
from ripplenest.operations import Operation, Write, content
from ripplenest.overlay import Overlay
from ripplenest.plan.planned import merged
from ripplenest.policy import Decision, Policy, after_failure, check_policy, decide
from ripplenest.recompute import recomputed
from ripplenest.relation import Relation, declare
from ripplenest.report import Report
from ripplenest.rows import Rows
from ripplenest.store.specs import Change, TableSpec
from ripplenest.store.store import Store
from ripplenest.verification import Verification
from ripplenest.verify import verify
from ripplenest.view import ViewHandle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Engine = Literal["spark", "python"]
LOCAL = "local"


class Database:
    """State in a directory. Made by ``ripplenest.open``; close it, or use it as a context manager.

    Several may be open on one directory: each call works on the newest version, and when another object commits in the
    middle of it, it raises StateError and changes nothing.
    """

    def __init__(self, store: Store, spark: "SparkSession | None", engine: Engine, policy: Policy = "auto") -> None:
        self._store, self._engine, self._policy = store, engine, check_policy(policy)
        self._spark = spark
        self._joiner: Joiner | None = None
        self._declared = Declared()
        self._report: Report | None = None
        self._refresh()

    # ------------------------------------------------------------ life

    def close(self) -> None:
        """Release the state directory. A Spark session stays, it may be shared."""
        self._store.close()

    def __repr__(self) -> str:
        names = (", ".join(found) or "none" for found in (self._declared.relations, self._declared.views))
        return "<database: relations {}; views {}>".format(*names)

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def version(self) -> int:
        """The newest version; 0 for an empty state."""
        return self._store.version

    @property
    def report(self) -> Report | None:
        """The report of the last batch of this object."""
        return self._report

    @property
    def spark(self) -> "SparkSession":
        """The session in use; a local one is started when none was given."""
        if self._spark is None:
            from ripplenest.spark.session import local_session  # noqa: PLC0415 - Spark starts when it is needed

            self._spark = local_session()
        return self._spark

    # ------------------------------------------------------------ what there is

    def relation(
        self,
        name: str,
        record: object,
        key: str | tuple[str, ...] | None = None,
        immutable: str | tuple[str, ...] = (),
        arrays: bool | str | tuple[str, ...] = True,
    ) -> None:
        """Declare relation ``name`` with rows of the ``@record`` class, and the fields of its key if it has one.

        Instead of a record any other annotation of rows will do: ``str``, ``int | None``, ``Bag[str]``. ``immutable``
        are paths of inner bags (``"orders"``, ``"orders.items"``) that change only with the row that holds them; they
        are stored as arrays until a view looks into them. ``arrays`` are those of them that may be: all, or none with
        ``False``; views have the same rows either way. Declaring a relation again is fine. Raises RelationChanged when
        the state holds it differently, NameTaken.
        """
        wanted = declare(name, annotation_type(record, f"relation {name}"), key, immutable, arrays)
        version = self._refresh()
        known = self._declared.relations.get(name)
        if known is None:
            specs = (*wanted.specs, *(Fold(wanted, root).spec for root in wanted.arrays))
            self._declared.check_free([spec.name for spec in specs], self._store.tables())
            note = {"kind": "relation", "name": name}
            self._commit(Change(tables=specs, meta=relation_meta(wanted), note=note), version)
            self._declared.relations[name] = wanted
        elif known != wanted:
            what = f"the state holds {name} differently"
            raise RelationChanged(
                what,
                where=f"relation {name}",
                wanted=_signature(known),
                got=_signature(wanted),
                possible=["another name", "a new state directory"],
            )

    def load(self, name: str, rows: object) -> int:
        """Fill an empty relation, and compute the views that read it by ordinary queries. Returns the version.

        The same load again changes nothing. Raises AlreadyLoaded when the relation has other rows.
        """
        snapshot = self._snapshot()
        r = find_relation(self._declared.relations, name)
        write = Write("insert", name, read_rows(rows, r.row, f"load {name}: rows"))
        source, digest = f"{LOADS}{name}", _digest((write,))
        applied = self._store.applied(source, 1)
        if applied is not None and applied.digest == digest:
            return applied.version
        if applied is not None:
            got = f"version {applied.version}"
            raise AlreadyLoaded("the relation was loaded before", where=f"load {name}", got=got, possible=["batch"])
        if len(snapshot.scan(name).consolidated()):
            raise AlreadyLoaded("the relation has rows already", where=f"load {name}", possible=["batch"])
        return self._load(write, source, digest, snapshot)

    def create(self, view: HasQuery, materialize: Materialize | None = None) -> ViewHandle:
        """Keep ``view`` fresh from now on, computed by an ordinary query first. Creating it again is fine.

        ``materialize`` says which maps are kept beside the view so that batches join less: "none", "first" (those of
        first-order deltas), "full" (of all orders), or "cost", which keeps what pays for the rows that relations have
        at this moment. All give the same rows. Raises UnknownRelation or QueryError for a view that does not fit the
        relations, ViewChanged when the state holds a view of this name with another definition or other maps, and
        NotIncremental for a view that the policy "strict" does not allow.
        """
        query = query_of(view)
        snapshot = self._snapshot()
        self._declared.check_relations(query)
        known = self._declared.views.get(query.name)
        if known is not None:
            self._declared.check_same(compiled(query, known.options), materialize)
        else:
            rows = self._part_sizes(snapshot, query.relations)
            made = compiled(query, Options("cost" if materialize is None else materialize, rows))
            if self._policy == "strict":
                check_strict(query, made.judgement)
            self._keep(made, snapshot)
        return self.view(query.name)

    def view(self, name: str) -> ViewHandle:
        """A handle on a view that is kept. Raises UnknownView."""
        self._refresh()
        if name not in self._declared.views:
            raise UnknownView("there is no such view", got=name, possible=self._declared.views)
        return ViewHandle(self._declared.views[name], self._snapshot, lambda: self.spark)

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the declared relations."""
        self._refresh()
        return tuple(self._declared.relations)

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the views that are kept."""
        self._refresh()
        return tuple(self._declared.views)

    def verify(self, deep: bool = False) -> Verification:
        """Whether all that is stored is what it should be: relations consistent, each map what its definition gives.

        ``deep`` also evaluates each view on the nested relations, in Python and without the compiler, for small data;
        where that has no value, because it asks about rows that other conditions drop, the answer says so.
        One version is looked at whole, and nothing changes. Raises CorruptState for bytes that have changed.
        """
        self._refresh()  # first, so that the snapshot has the tables of all that is declared
        snapshot = Unfolding(self._store.snapshot(), self._declared.folds)
        return verify(self._declared, snapshot, self._engine_joiner(), deep)

    # ------------------------------------------------------------ change

    def batch(self, source: str | None = None, seq: int | None = None, policy: Policy | None = None) -> Batch:
        """A batch of changes, applied when its ``with`` block ends, once for each (source, seq).

        The first seq of a source is free, then each is one more than the last. Without both, the batch is the next
        one of the source ``local``. ``policy`` is that of the database unless given (``ripplenest.open``).
        """
        self._refresh()
        chosen = self._policy if policy is None else check_policy(policy)
        return Batch(self._declared.relations, lambda *args: self._apply(chosen, *args), source, seq)

    def _apply(
        self, policy: Policy, operations: tuple[Operation, ...], source: str | None, seq: int | None
    ) -> Report:
        started = time.perf_counter()
        snapshot = self._snapshot()
        if source is None or seq is None:
            source, seq = LOCAL, (self._store.last_seq(LOCAL) or 0) + 1
        digest = _digest(operations)
        if self._check_sequence(source, seq, digest):
            return self._repeated(source, seq)
        session = Session(self._declared.relations, self._overlay(snapshot), (source, seq))
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
        deltas, found_by = {**stored, **done.changes}, session.overlay.missed
        change = Change(deltas, indexes=found_by, source=source, seq=seq, digest=digest, note=note)
        self._commit(change, snapshot.version)
        self._report = evolve(report, seconds=time.perf_counter() - started)
        return self._report

    def _changed(
        self, policy: Policy, snapshot: Unfolding, changes: Mapping[str, Rows]
    ) -> tuple[Decision, Propagation]:
        """What a batch that changes parts does to every map, and how that was found."""
        if policy == "strict":
            self._declared.check_strict(changes)
        plan = self._declared.program()
        decision = decide(policy, plan, snapshot.size, {part: len(rows) for part, rows in changes.items()})
        if decision.how == "incremental":
            try:
                return decision, propagate(plan, snapshot, changes, self._engine_joiner())
            except EvaluationError as error:
                # Triggers also ask about rows that were and rows that came together, which no state holds.
                decision = after_failure(policy, error)
        return decision, recomputed(plan, snapshot, changes, self._engine_joiner())

    def _check_sequence(self, source: str, seq: int, digest: str) -> bool:
        """True when the batch was applied before. Raises BatchConflict or BatchGap."""
        where = f"batch {source}:{seq}"
        applied = self._store.applied(source, seq)
        if applied is not None and applied.digest != digest:
            what = "this batch was applied with other content"
            raise BatchConflict(what, where=where, wanted=applied.digest, got=digest)
        last = self._store.last_seq(source)
        if applied is None and last is not None and seq != last + 1:
            raise BatchGap("batches of a source come one after another", where=where, wanted=last + 1, got=seq)
        return applied is not None

    def _repeated(self, source: str, seq: int) -> Report:
        applied = self._store.applied(source, seq)
        assert applied is not None
        self._report = Report(applied.version, source, seq, applied=False)
        return self._report

    # ------------------------------------------------------------ inside

    def _engine_joiner(self) -> Joiner:
        if self._joiner is None:
            if self._engine == "python":
                self._joiner = PythonJoiner()
            else:
                from ripplenest.spark.joiner import SparkJoiner  # noqa: PLC0415 - Spark starts when it is needed

                self._joiner = SparkJoiner(self.spark)
        return self._joiner

    def _commit(self, change: Change, parent: int) -> int:
        """``parent`` is the version that the change was computed from; StateError when there is another by now."""
        return self._store.commit(change, parent)

    def _snapshot(self) -> Unfolding:
        """The newest version, with every relation and view that it has (or one that came this moment) known."""
        snapshot = self._store.snapshot()
        self._refresh()
        return Unfolding(snapshot, self._declared.folds)

    def _refresh(self) -> int:
        """Read what was declared since, here or by another object; the version from before."""
        version = self._store.version
        self._declared.read(self._store.all_meta())
        return version

    def _overlay(self, snapshot: Unfolding) -> Overlay:
        types = {p.name: p.types for r in self._declared.relations.values() for p in r.parts.values()}
        return Overlay(snapshot, types, {name: spec.indexes for name, spec in self._store.tables().items()})

    def _part_sizes(self, snapshot: Unfolding, relations: Iterable[tuple[str, object]]) -> dict[str, int]:
        """The rows of the stored parts that have any."""
        parts = (part for name, _ in relations for part in self._declared.relations[name].parts)
        return {part: size for part in parts if (size := snapshot.size(part))}

    def _load(self, write: Write, source: str, digest: str, snapshot: Unfolding) -> int:
        session = Session(self._declared.relations, self._overlay(snapshot), (source, 1))
        session.run(write, f"load {write.relation}")
        changes = session.changes()
        plan = merged(tuple(v.planned for v in self._declared.views.values() if write.relation in v.relations))
        stored = folded(changes, snapshot, self._declared.folded)
        deltas = {**stored, **recomputed(plan, snapshot, changes, self._engine_joiner()).changes}
        note = {"kind": "load", "name": write.relation}
        return self._commit(Change(deltas, source=source, seq=1, digest=digest, note=note), snapshot.version)

    def _keep(self, view: Kept, snapshot: Unfolding) -> None:
        """Build the maps of a view that are not stored yet, and commit them with its definition."""
        stored = self._store.tables()
        shared = {m.name for m in view.planned.maps if m.name in view.planned.auxiliaries and m.name in stored}
        own = {m.name: m for m in view.planned.maps if m.name not in shared}
        self._declared.check_free((view.name, *own), stored)
        indexes = view.planned.indexes
        tables = tuple(TableSpec(m.name, m.types, indexes.get(m.name, ())) for m in own.values())
        levels = tuple(tuple(m for m in level if m.name in own) for level in view.planned.levels)
        built = build(evolve(view.planned, levels=levels), snapshot, self._engine_joiner())
        unfold = self._declared.looked_into(view)
        change = Change(
            {**built, **unfolded(unfold, snapshot)},
            tables,
            {table: found for table, found in indexes.items() if table not in own},
            {**view.meta(), **self._declared.unfolding(unfold)},
            note={"kind": "create", "name": view.name},
        )
        self._commit(change, snapshot.version)
        self._declared.views[view.name] = view


def _digest(operations: tuple[Operation, ...]) -> str:
    return hashlib.sha256(content(operations).encode()).hexdigest()


def _signature(r: Relation) -> str:
    kept = (("key", r.key), ("immutable", r.immutable), ("arrays", r.arrays))
    return ", ".join([str(r.row), *(f"{what} {', '.join(paths)}" for what, paths in kept if paths)])


def open_database(
    path: str | os.PathLike[str],
    spark: "SparkSession | None" = None,
    engine: Engine = "spark",
    policy: Policy = "auto",
) -> Database:
    """Open the state directory ``path``, made when missing.

    ``spark`` is the session to use; without one, a local session starts when it is first needed. ``engine="python"``
    evaluates the same plans in this process, for tests and small data. ``policy`` says how batches keep views fresh:
    "auto" takes what the estimates call cheaper, "incremental" always runs the triggers, "strict" also refuses views
    whose triggers do not cost what the change costs, "full" always recomputes. Raises StateError, CorruptState,
    ViewChanged, or EnvironmentProblem for a session whose settings would change what views mean.
    """
    if spark is not None:
        from ripplenest.spark.session import check_session  # noqa: PLC0415 - Spark is optional

        check_session(spark)
    store = Store.open(path)
    try:
        return Database(store, spark, engine, policy)
    except BaseException:
        store.close()
        raise
