"""The catalogue: which segments make up which table at which version, in one SQLite database.

Everything read from it is checked against the digests of a version row, which form a chain:

    state(n) = seal(state(n-1), n, source, seq, digest, note, changes(n), live(n), schema(n))

``changes`` seals the delta segments born at n, ``live`` the segments that tables are made of at n, ``schema`` the
tables, access keys and meta values (only the newest is kept). SQLite notices some damage itself, but not a flipped
bit in a value, and a segment that silently goes missing is a wrong answer.

Writers are serialised by BEGIN IMMEDIATE: whoever holds it is the only one with files that no row names yet.
"""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from attrs import asdict, frozen
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine

from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.nrc.types import Base
from ripplenest.store.disk import Blob, refusals
from ripplenest.store.seal import seal
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.store.tables import ALL, INDEXES, META, SEGMENT_INDEXES, SEGMENTS, TABLES, VERSIONS

FORMAT = 1
FILE = "catalogue.sqlite"
BUSY_SECONDS = 30.0
RESERVED = ("format", "newest")  # meta keys that are the catalogue's own
Live = Mapping[int, tuple[Segment, ...]]

@frozen
class Version:
    """One row of the chain; ``note`` is JSON text, ``parent`` the state of the version before."""

    n: int
    source: str | None
    seq: int | None
    digest: str
    note: str
    changes: str
    live: str
    schema: str
    parent: str

    @property
    def state(self) -> str:
        sealed = (self.changes, self.live, self.schema)
        return seal(self.parent, self.n, self.source, self.seq, self.digest, self.note, *sealed)


@frozen
class Schema:
    """Tables with their ids, and meta values, at the newest version."""

    tables: Mapping[str, TableSpec]
    ids: Mapping[str, int]
    meta: Mapping[str, str]

    @property
    def digest(self) -> str:
        tables = [(self.ids[t.name], t.name, types_text(t.types)) for t in self.tables.values()]
        indexes = [(self.ids[n], columns_text(c), i) for n, t in self.tables.items() for i, c in enumerate(t.indexes)]
        return _schema_digest(tables, indexes, self.meta.items())


@frozen
class Head:
    """The newest version with all that belongs to it."""

    version: Version
    schema: Schema
    live: Live


def segments_digest(segments: Iterable[Segment]) -> str:
    return seal(*sorted(s.digest for s in segments))


def live_digest(live: Live) -> str:
    return segments_digest(s for segments in live.values() for s in segments)


def _schema_digest(*parts: Iterable[Any]) -> str:
    return seal(*(sorted(map(list, part), key=repr) for part in parts))


def types_text(types: tuple[Base, ...]) -> str:
    return json.dumps([[t.kind, t.nullable, t.precision, t.scale] for t in types])


def columns_text(columns: Columns) -> str:
    return json.dumps(columns)


def _columns(text: str) -> Columns:
    return tuple(json.loads(text))


class Catalogue:
    """The SQLite file of a state directory. Methods that take a connection run in the caller's transaction."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._engine = _engine(self.path)

    def prepare(self, stored: Callable[[], Collection[str]]) -> None:
        """Make the tables and version 0 when the file is new, check all of it when it is not.

        Raises StateError for another format; CorruptState, also when the file is new but there are ``stored`` segment
        files, which the first writer would remove. The check is for what digests of rows cannot see: rows that are
        there but that an index of SQLite's does not find. It reads the file once.
        """
        with self.transaction(write=True) as c:
            if not sa.inspect(c).has_table("meta"):
                if stored():
                    raise self._corrupt("it is empty, but there are segments", "a catalogue", "an empty file")
                nothing = segments_digest(())
                ALL.create_all(c)
                c.execute(sa.insert(META), [{"key": "format", "value": str(FORMAT)}, {"key": "newest", "value": "0"}])
                self._add_version(c, Version(0, None, None, "", "{}", nothing, nothing, Schema({}, {}, {}).digest, ""))
        with self.transaction() as c:
            self._check_format(c)
            found = c.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
            if found != "ok":
                raise self._corrupt("a page or an index", "ok", found)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def transaction(self, write: bool = False) -> Iterator[Connection]:
        """One transaction: a consistent view, and with ``write`` the only writer. Rolled back by any exception.

        Raises StateError when the database is busy or the file system refuses, CorruptState when SQLite sees damage.
        """
        try:
            with self._engine.connect() as c, c.execution_options(ripplenest_write=write).begin():
                yield c
        except sa.exc.DatabaseError as e:
            raise self._explained(e) from e
        except UnicodeDecodeError as e:  # sqlite3 quotes damaged bytes in its own message
            raise self._corrupt("text that is not UTF-8", "a catalogue", e.reason) from e

    # ------------------------------------------------------------ reading

    def newest(self, c: Connection) -> int:
        """The number of the newest version. Raises CorruptState when two places disagree about it."""
        noted = sa.select(META.c.value).where(META.c.key == "newest").scalar_subquery()
        row = c.execute(sa.select(sa.func.max(VERSIONS.c.n), noted)).one()
        if str(row[0]) != row[1]:
            raise self._corrupt("the newest version", row[1], row[0])
        return int(row[0])

    def head(self, c: Connection) -> Head:
        version = self.version(c, self.newest(c))
        return Head(version, self._schema(c, version), self.live(c, version))

    def version(self, c: Connection, n: int) -> Version:
        """Version ``n``, checked. Raises CorruptState."""
        return self._versions(c, n, n)[0]

    def live(self, c: Connection, version: Version) -> Live:
        """By table id, the segments that make up the tables at ``version``. Raises CorruptState."""
        s, n = SEGMENTS.c, version.n
        segments = self._segments(c, (s.born <= n) & (s.died.is_(None) | (s.died > n)))
        if segments_digest(segments) != version.live:
            raise self._corrupt(f"the segments of version {n}", version.live, segments_digest(segments))
        live: dict[int, tuple[Segment, ...]] = {}
        for segment in segments:
            live[segment.table] = (*live.get(segment.table, ()), segment)
        return live

    def deltas(self, c: Connection, since: int, upto: int) -> list[Segment]:
        """The delta segments of all tables born in (since, upto]. Raises CorruptState."""
        s = SEGMENTS.c
        segments = self._segments(c, (s.born > since) & (s.born <= upto) & (s.is_delta == 1))
        born: dict[int, list[Segment]] = {}
        for segment in segments:
            born.setdefault(segment.born, []).append(segment)
        for version in self._versions(c, since + 1, upto):
            got = segments_digest(born.get(version.n, ()))
            if got != version.changes:
                raise self._corrupt(f"the changes of version {version.n}", version.changes, got)
        return segments

    def applied(self, c: Connection, source: str, seq: int) -> Version | None:
        """The version that committed (source, seq)."""
        v = VERSIONS.c
        n = c.execute(sa.select(v.n).where(v.source == source, v.seq == seq)).scalar()
        return None if n is None else self.version(c, n)

    def last_seq(self, c: Connection, source: str) -> int | None:
        v = VERSIONS.c
        n = c.execute(sa.select(v.n).where(v.source == source).order_by(v.seq.desc()).limit(1)).scalar()
        return None if n is None else self.version(c, n).seq

    def next_segment(self, c: Connection) -> int:
        return int(c.execute(sa.select(sa.func.max(SEGMENTS.c.id))).scalar() or 0) + 1

    def files(self, c: Connection) -> set[str]:
        """Every pack file that a row names."""
        named = sa.union(sa.select(SEGMENTS.c.file), sa.select(SEGMENT_INDEXES.c.file))
        return set(c.execute(named).scalars())

    # ------------------------------------------------------------ writing

    def advance(
        self,
        c: Connection,
        old: Head,
        new: Head,
        born: Iterable[tuple[Segment, int | None]],
        dead: Iterable[int],
        indexes: Iterable[tuple[int, Columns, Blob]],
    ) -> None:
        """Write what ``new`` adds to ``old``: segments (with the version they died at, if at once), deaths, indexes."""
        self._write_schema(c, old.schema, new.schema)
        fields = ("id", "rows", "level", "born")
        rows = [
            {k: getattr(s, k) for k in fields}
            | asdict(s.blob)
            | {"table_id": s.table, "died": died, "is_delta": int(s.is_delta)}
            for s, died in born
        ]
        _insert(c, SEGMENTS, rows)
        _insert(
            c, SEGMENT_INDEXES, [{"segment_id": i, "columns": columns_text(k)} | asdict(b) for i, k, b in indexes]
        )
        ids = [{"dead": i} for i in dead]
        if ids:
            here = SEGMENTS.c.id == sa.bindparam("dead")
            c.execute(sa.update(SEGMENTS).where(here).values(died=new.version.n), ids)
        self._add_version(c, new.version)
        c.execute(sa.update(META).where(META.c.key == "newest").values(value=str(new.version.n)))

    def _write_schema(self, c: Connection, old: Schema, new: Schema) -> None:
        fresh = [t for name, t in new.tables.items() if name not in old.tables]
        _insert(c, TABLES, [{"id": new.ids[t.name], "name": t.name, "columns": types_text(t.types)} for t in fresh])
        indexes = [
            {"table_id": new.ids[name], "columns": columns_text(columns), "position": i}
            for name, t in new.tables.items()
            for i, columns in enumerate(t.indexes)
            if name not in old.tables or columns not in old.tables[name].indexes
        ]
        _insert(c, INDEXES, indexes)
        changed = {k: v for k, v in new.meta.items() if old.meta.get(k) != v}
        if changed:
            c.execute(sa.delete(META).where(META.c.key.in_(changed)))
            _insert(c, META, [{"key": k, "value": v} for k, v in changed.items()])

    def _add_version(self, c: Connection, version: Version) -> None:
        c.execute(sa.insert(VERSIONS), asdict(version) | {"state": version.state})

    # ------------------------------------------------------------ checked rows

    def _versions(self, c: Connection, first: int, last: int) -> list[Version]:
        v = VERSIONS.c
        rows = c.execute(sa.select(VERSIONS).where(v.n >= first, v.n <= last).order_by(v.n)).all()
        if len(rows) != last - first + 1:
            raise self._corrupt("versions are missing", f"{first} to {last}", f"{len(rows)} of them")
        versions: list[Version] = []
        for row in rows:
            *values, state = row
            version = Version(*values)
            if version.state != state or (versions and versions[-1].state != version.parent):
                raise self._corrupt(f"version {first + len(versions)}", version.state, state)
            versions.append(version)
        return versions

    def _segments(self, c: Connection, where: sa.ColumnElement[bool]) -> list[Segment]:
        i, s = SEGMENT_INDEXES.c, SEGMENTS.c
        found: dict[int, dict[Columns, Blob]] = {}
        query = sa.select(i.segment_id, i.columns, i.file, i.offset, i.bytes, i.sha256)
        for segment, columns, *blob in c.execute(query.where(i.segment_id.in_(sa.select(s.id).where(where)))):
            found.setdefault(segment, {})[self._parsed(_columns, columns)] = Blob(*blob)
        rows = c.execute(
            sa.select(s.id, s.table_id, s.file, s.offset, s.bytes, s.sha256, s.rows, s.level, s.born, s.is_delta)
            .where(where)
            .order_by(s.id)
        )
        return [
            Segment(r.id, r.table_id, Blob(*r[2:6]), r.rows, r.level, r.born, bool(r.is_delta), found.get(r.id, {}))
            for r in rows
        ]

    def _schema(self, c: Connection, version: Version) -> Schema:
        tables = c.execute(sa.select(TABLES.c.id, TABLES.c.name, TABLES.c.columns)).all()
        i = INDEXES.c
        indexes = c.execute(sa.select(i.table_id, i.columns, i.position).order_by(i.position)).all()
        meta = c.execute(sa.select(META.c.key, META.c.value).where(META.c.key.not_in(RESERVED))).all()
        got = _schema_digest(tables, indexes, meta)
        if got != version.schema:
            raise self._corrupt("the list of tables, access keys and settings", version.schema, got)
        specs = {
            name: TableSpec(
                name,
                tuple(Base(*t) for t in json.loads(columns)),
                tuple(_columns(text) for table, text, _ in indexes if table == n),
            )
            for n, name, columns in tables
        }
        return Schema(specs, {name: n for n, name, _ in tables}, {row.key: row.value for row in meta})

    def _check_format(self, c: Connection) -> None:
        got = c.execute(sa.select(META.c.value).where(META.c.key == "format")).scalar()
        if got != str(FORMAT):
            raise StateError("a state of another format", where=str(self.path), wanted=FORMAT, got=got)

    def _parsed(self, parse: Callable[[str], Any], text: str) -> Any:
        try:
            return parse(text)
        except (TypeError, ValueError) as e:
            raise self._corrupt("a value cannot be read", "JSON", type(e).__name__) from e

    def _corrupt(self, what: str, wanted: object, got: object) -> CorruptState:
        return CorruptState(f"{what}: the catalogue has changed", where=str(self.path), wanted=wanted, got=got)

    def _explained(self, e: sa.exc.DatabaseError) -> StateError:
        name = getattr(e.orig, "sqlite_errorname", "SQLITE_CORRUPT")
        if name.startswith(_REFUSED):
            return StateError("the catalogue cannot be used now", where=str(self.path), got=f"{name}: {e.orig}")
        return CorruptState("the catalogue has changed", where=str(self.path), wanted="a catalogue", got=e.orig)


_REFUSED = tuple(
    f"SQLITE_{n}" for n in ("BUSY", "LOCKED", "FULL", "IOERR", "READONLY", "CANTOPEN", "PERM", "NOMEM", "CONSTRAINT")
)


def _insert(c: Connection, table: sa.Table, rows: list[dict[str, object]]) -> None:
    if rows:
        c.execute(sa.insert(table), rows)


def _engine(path: Path) -> Engine:
    """An engine whose transactions begin as asked and whose commits are durable; the file is its owner's alone."""
    with refusals(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    url = URL.create("sqlite", database=str(path))
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: object) -> None:
        connection.isolation_level = None  # the driver's own BEGIN comes too late and is never IMMEDIATE
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(c: Connection) -> None:
        write = c.get_execution_options().get("ripplenest_write")
        c.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


# A rollback journal and not WAL: a damaged WAL silently loses the newest versions.
_PRAGMAS = ("journal_mode=TRUNCATE", "synchronous=FULL", "foreign_keys=ON", "trusted_schema=OFF", "cell_size_check=ON")
