"""The database: declared relations, loaded rows, views that are kept fresh, and the batches that change them.

One batch is one version: operations become signed rows (``apply``), the trigger programs of all views turn them into
the changes of their maps (``engine``), and the store commits all of it together or nothing.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, Protocol

from attrs import evolve

from ripplenest.apply import Session
from ripplenest.batch import LOADS, Batch, find_relation
from ripplenest.delta.compile import compile_view
from ripplenest.engine import Joiner, PythonJoiner, build, propagate
from ripplenest.ingest import read_rows
from ripplenest.nrc.dsl.records import annotation_type
from ripplenest.nrc.errors import (
    AlreadyLoaded,
    BatchConflict,
    BatchGap,
    NameTaken,
    QueryError,
    RelationChanged,
    StateError,
    TypeMismatch,
    UnknownRelation,
    UnknownView,
    ViewChanged,
)
from ripplenest.nrc.serial import query_from_json, query_to_json, type_from_json, type_to_json
from ripplenest.nrc.syntax import Query
from ripplenest.operations import Operation, Write, content
from ripplenest.overlay import Overlay
from ripplenest.plan.planned import PlannedProgram, merged, plan
from ripplenest.relation import Relation, declare
from ripplenest.report import Report
from ripplenest.rows import Rows
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Change, TableSpec
from ripplenest.store.store import Store
from ripplenest.view import ViewHandle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Engine = Literal["spark", "python"]
LOCAL = "local"


class HasQuery(Protocol):
    """A view: what ``@view`` makes of a function."""

    @property
    def query(self) -> Query: ...


class Database:
    """State in a directory. Made by ``ripplenest.open``; close it, or use it as a context manager.

    Several may be open on one directory: each call works on the newest version, and when another object commits in the
    middle of it, it raises StateError and changes nothing.
    """

    def __init__(self, store: Store, spark: "SparkSession | None", engine: Engine) -> None:
        self._store, self._engine = store, engine
        self._spark = spark
        self._joiner: Joiner | None = None
        self._relations: dict[str, Relation] = {}
        self._views: dict[str, PlannedProgram] = {}
        self._report: Report | None = None
        self._refresh()

    # ------------------------------------------------------------ life

    def close(self) -> None:
        """Release the state directory. A Spark session stays, it may be shared."""
        self._store.close()

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

    def relation(self, name: str, record: object, key: str | tuple[str, ...] | None = None) -> None:
        """Declare relation ``name`` with rows of the ``@record`` class, and the fields of its key if it has one.

        Instead of a record any other annotation of rows will do: ``str``, ``int | None``, ``Bag[str]``. Declaring it
        again is fine. Raises RelationChanged when the state holds it with other fields or another key, NameTaken.
        """
        wanted = declare(name, annotation_type(record, f"relation {name}"), key)
        version = self._refresh()
        known = self._relations.get(name)
        if known is None:
            self._check_free(wanted.parts)
            meta = {f"relation:{name}": json.dumps({"row": type_to_json(wanted.row), "key": wanted.key})}
            self._commit(Change(tables=wanted.specs, meta=meta, note={"kind": "relation", "name": name}), version)
            self._relations[name] = wanted
        elif known != wanted:
            what = f"the state holds {name} differently"
            raise RelationChanged(what, where=f"relation {name}", wanted=_signature(known), got=_signature(wanted))

    def load(self, name: str, rows: object) -> int:
        """Fill an empty relation, and compute the views that read it by ordinary queries. Returns the version.

        The same load again changes nothing. Raises AlreadyLoaded when the relation has other rows.
        """
        snapshot = self._snapshot()
        r = find_relation(self._relations, name)
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

    def create(self, view: HasQuery) -> ViewHandle:
        """Keep ``view`` fresh from now on, computed by an ordinary query first. Creating it again is fine.

        Raises UnknownRelation or QueryError for a view that does not fit the relations, ViewChanged when the state
        holds a view of this name with another definition.
        """
        query = getattr(view, "query", None)
        if not isinstance(query, Query):
            raise QueryError("not a view", wanted="a function with @view", got=type(view).__name__)
        snapshot = self._snapshot()
        self._check_relations(query)
        planned = plan(compile_view(query).program)
        known = self._views.get(query.name)
        if known is None:
            self._check_free((query.name, *(m.name for m in planned.maps)))
            self._build(query, planned, snapshot)
        elif known.program.fingerprint != planned.program.fingerprint:
            raise ViewChanged(
                f"the state was built by another definition of {query.name}",
                where=f"view {query.name}",
                wanted=known.program.fingerprint[:16],
                got=planned.program.fingerprint[:16],
                possible=["another name for the new definition", "a new state directory"],
            )
        return self.view(query.name)

    def view(self, name: str) -> ViewHandle:
        """A handle on a view that is kept. Raises UnknownView."""
        self._refresh()
        if name not in self._views:
            raise UnknownView("there is no such view", got=name, possible=self._views)
        return ViewHandle(self._views[name].program, self._store, lambda: self.spark)

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the declared relations."""
        self._refresh()
        return tuple(self._relations)

    @property
    def views(self) -> tuple[str, ...]:
        """The names of the views that are kept."""
        self._refresh()
        return tuple(self._views)

    # ------------------------------------------------------------ change

    def batch(self, source: str | None = None, seq: int | None = None) -> Batch:
        """A batch of changes, applied when its ``with`` block ends, once for each (source, seq).

        The first seq of a source is free, then each is one more than the last. Without both, the batch is the next
        one of the source ``local``.
        """
        self._refresh()
        return Batch(self._relations, self._apply, source, seq)

    def _apply(self, operations: tuple[Operation, ...], source: str | None, seq: int | None) -> Report:
        started = time.perf_counter()
        snapshot = self._snapshot()
        if source is None or seq is None:
            source, seq = LOCAL, (self._store.last_seq(LOCAL) or 0) + 1
        digest = _digest(operations)
        if self._check_sequence(source, seq, digest):
            return self._repeated(source, seq)
        session = Session(self._relations, self._overlay(snapshot), (source, seq))
        for i, operation in enumerate(operations):
            session.run(operation, f"operation {i} ({operation.verb} {operation.target})")
        changes = session.overlay.changes()
        done = propagate(merged(tuple(self._views.values())), snapshot, changes, self._engine_joiner())
        report = Report(
            snapshot.version + 1,
            source,
            seq,
            {part: len(rows) for part, rows in changes.items()},
            {name: len(rows) for name, rows in done.changes.items() if len(rows)},
            session.overlay.read + done.rows_read,
            done.jobs,
            time.perf_counter() - started,
        )
        note = {"kind": "batch", **report.to_dict()}
        deltas, found_by = {**changes, **done.changes}, session.overlay.missed
        change = Change(deltas, indexes=found_by, source=source, seq=seq, digest=digest, note=note)
        self._commit(change, snapshot.version)
        self._report = evolve(report, seconds=time.perf_counter() - started)
        return self._report

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

    def _snapshot(self) -> Snapshot:
        """The newest version, with every relation and view that it has (or one that came this moment) known."""
        snapshot = self._store.snapshot()
        self._refresh()
        return snapshot

    def _overlay(self, snapshot: Snapshot) -> Overlay:
        types = {p.name: p.types for r in self._relations.values() for p in r.parts.values()}
        return Overlay(snapshot, types, {name: spec.indexes for name, spec in self._store.tables().items()})

    def _check_free(self, names: Iterable[str]) -> None:
        """``names`` are a relation or a view and what is stored under it."""
        for name in names:
            if name in self._relations or name in self._views or name in self._store.tables():
                raise NameTaken("the name is in use", where=name, possible=["another name"])

    def _check_relations(self, query: Query) -> None:
        where = f"view {query.name}"
        for name, row in query.relations:
            if name not in self._relations:
                what = "the view reads a relation that is not declared"
                raise UnknownRelation(what, where=where, got=name, possible=self._relations)
            declared = self._relations[name].row
            if declared != row:
                what = f"the view reads {name} with other fields than it was declared with"
                raise TypeMismatch(what, where=where, wanted=declared, got=row)

    def _load(self, write: Write, source: str, digest: str, snapshot: Snapshot) -> int:
        session = Session(self._relations, self._overlay(snapshot), (source, 1))
        session.run(write, f"load {write.relation}")
        changes = session.overlay.changes()
        deltas = dict(changes)
        for planned in self._views.values():
            if write.relation in dict(planned.program.relations):
                deltas.update(self._rebuilt(planned, snapshot, changes))
        note = {"kind": "load", "name": write.relation}
        return self._commit(Change(deltas, source=source, seq=1, digest=digest, note=note), snapshot.version)

    def _rebuilt(self, planned: PlannedProgram, snapshot: Snapshot, changes: Mapping[str, Rows]) -> dict[str, Rows]:
        """The change of each map from what it holds to what its definition gives on the loaded relations."""
        fresh = build(planned, Loaded(snapshot, changes), self._engine_joiner())
        return {name: rows.plus(negated(snapshot.scan(name))).consolidated() for name, rows in fresh.items()}

    def _build(self, query: Query, planned: PlannedProgram, snapshot: Snapshot) -> None:
        maps = build(planned, snapshot, self._engine_joiner())
        tables = tuple(TableSpec(m.name, m.types, planned.indexes.get(m.name, ())) for m in planned.maps)
        own = {m.name for m in planned.maps}
        indexes = {table: found for table, found in planned.indexes.items() if table not in own}
        stored = {"query": query_to_json(query), "program": planned.program.fingerprint}
        meta = {f"view:{query.name}": json.dumps(stored)}
        note = {"kind": "create", "name": query.name}
        self._commit(Change(maps, tables=tables, indexes=indexes, meta=meta, note=note), snapshot.version)
        self._views[query.name] = planned

    def _refresh(self) -> int:
        """Read what was declared since, here or by another object; the version from before. What is declared stays."""
        version = self._store.version
        for key, text in sorted(self._store.all_meta().items()):
            kind, _, name = key.partition(":")
            if kind == "relation" and name not in self._relations:
                stored = json.loads(text)
                self._relations[name] = Relation(name, type_from_json(stored["row"]), tuple(stored["key"]))
            elif kind == "view" and name not in self._views:
                self._views[name] = self._compiled(name, json.loads(text))
        return version

    def _compiled(self, name: str, stored: Mapping[str, str]) -> PlannedProgram:
        planned = plan(compile_view(query_from_json(stored["query"])).program)
        if planned.program.fingerprint != stored["program"]:
            raise ViewChanged(
                f"this version of the compiler makes another program of {name}", where=f"view {name}",
                wanted=stored["program"][:16], got=planned.program.fingerprint[:16],
                possible=["the version of ripplenest that built the state", "a new state directory"],
            )  # fmt: skip
        return planned


class Loaded:
    """A snapshot with rows on top that are not committed yet; read whole, as builds do."""

    def __init__(self, snapshot: Snapshot, changes: Mapping[str, Rows]) -> None:
        self._snapshot, self._changes = snapshot, changes

    def scan(self, table: str) -> Rows:
        """Every row."""
        rows = self._snapshot.scan(table)
        return rows.plus(self._changes[table]) if table in self._changes else rows

    def probe(self, table: str, columns: tuple[int, ...], keys: object) -> Rows:  # noqa: ARG002
        raise StateError("a build reads whole tables", where=table)


def negated(rows: Rows) -> Rows:
    """⊖rows."""
    return Rows.of_pairs(rows.types, ((row, -n) for row, n in rows.pairs()))


def _digest(operations: tuple[Operation, ...]) -> str:
    return hashlib.sha256(content(operations).encode()).hexdigest()


def _signature(r: Relation) -> str:
    return f"{r.row}" + (f" key {', '.join(r.key)}" if r.key else "")


def open_database(
    path: str | os.PathLike[str], spark: "SparkSession | None" = None, engine: Engine = "spark"
) -> Database:
    """Open the state directory ``path``, made when missing.

    ``spark`` is the session to use; without one, a local session starts when it is first needed. ``engine="python"``
    evaluates the same plans in this process, for tests and small data. Raises StateError, CorruptState, ViewChanged,
    or EnvironmentProblem for a session whose settings would change what views mean.
    """
    if spark is not None:
        from ripplenest.spark.session import check_session  # noqa: PLC0415 - Spark is optional

        check_session(spark)
    store = Store.open(path)
    try:
        return Database(store, spark, engine)
    except BaseException:
        store.close()
        raise
