"""The catalogue: which segments make up which table at which version, in one database.

``records.py`` reads and checks, this module writes. Writers are serialised by the backend: whoever holds the write
transaction is the only one with files that no row names yet.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from attrs import asdict, frozen
from sqlalchemy import event
from sqlalchemy.engine import Connection

from ripplenest.nrc.errors import StateError
from ripplenest.store.backend import Backend
from ripplenest.store.chain import Head, Schema, Version, columns_text, first_version, types_text
from ripplenest.store.disk import Blob
from ripplenest.store.place import Place
from ripplenest.store.records import Records
from ripplenest.store.seal import seal
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Columns
from ripplenest.store.tables import ALL, BATCHES, INDEXES, META, SEGMENT_INDEXES, SEGMENTS, TABLES, VERSIONS

FORMAT = 2
RETAIN = 1000  # versions that are kept besides the newest, unless the state says otherwise


@frozen
class Born:
    """What a commit adds: segments, each with the version that it died at, if at once; the ids of those that die; and
    index blobs of segments by their columns."""

    segments: Iterable[tuple[Segment, int | None]] = ()
    dead: Iterable[int] = ()
    indexes: Iterable[tuple[int, Columns, Blob]] = ()


class Catalogue(Records):
    """The catalogue of a state. Methods that take a connection run in the caller's transaction."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend.where)
        self._backend, self.beside = backend, backend.beside

        @event.listens_for(backend.engine, "begin")
        def begin(c: Connection) -> None:
            backend.begin(c, bool(c.get_execution_options().get("ripplenest_write")))

    def prepare(self, stored: Callable[[], bool]) -> None:
        """Make the tables and version 0 when the database is new, check all of it when it is not.

        Raises StateError for another format; CorruptState, also when the database is new but what the state has
        ``stored`` is there, so that this is another database, or it was lost.
        """
        if not self._exists():
            with self.transaction(write=True) as c:
                if not sa.inspect(c).has_table("meta"):  # nobody else was faster
                    if stored():
                        raise self.corrupt("it is empty, but there are segments", "the catalogue of them", "nothing")
                    self._make(c)
        with self.transaction() as c:
            self._check_format(c)
            if (found := self._backend.damage(c)) is not None:
                raise self.corrupt("a page or an index", "ok", found)
            self.check_counts(c)

    def _exists(self) -> bool:
        with self.transaction() as c:
            return sa.inspect(c).has_table("meta")

    def _make(self, c: Connection) -> None:
        self._backend.make(c)
        ALL.create_all(c)
        sealed = {"id": _sealed("id", self._backend.identity), "retain": _sealed("retain", RETAIN)}
        own = {"format": FORMAT, "newest": 0, "oldest": 0, "forgotten": 0, **sealed}
        c.execute(sa.insert(META), [{"key": k, "value": str(v)} for k, v in own.items()])
        self._add_version(c, first_version(now()))

    def _check_format(self, c: Connection) -> None:
        got = self.setting(c, "format")
        if got != str(FORMAT):
            what = "a state of another format"
            possible = ["the version of ripplenest that made it", "a new state directory"]
            raise StateError(what, where=self.where, wanted=f"format {FORMAT}", got=f"format {got}", possible=possible)

    def close(self) -> None:
        """Let go of connections."""
        self._backend.engine.dispose()

    @contextmanager
    def transaction(self, write: bool = False) -> Iterator[Connection]:
        """One transaction: a consistent view, and with ``write`` the only writer. Rolled back by any exception.

        Raises StateError when the database is busy or refuses, CorruptState when it sees damage.
        """
        try:
            with self._backend.engine.connect() as c, c.execution_options(ripplenest_write=write).begin():
                yield c
        except sa.exc.DBAPIError as e:
            raise self._backend.explained(e) from e
        except UnicodeDecodeError as e:  # sqlite3 quotes damaged bytes in its own message
            raise self.corrupt("text that is not UTF-8", "a catalogue", e.reason) from e

    # ------------------------------------------------------------ a new version

    def advance(self, c: Connection, old: Head, new: Head, born: Born) -> None:
        """Write what ``new`` adds to ``old``."""
        self._write_schema(c, old.schema, new.schema)
        fields = ("id", "rows", "level", "born")
        rows = [
            {k: getattr(s, k) for k in fields}
            | asdict(s.blob)
            | {"table_id": s.table, "died": died, "is_delta": int(s.is_delta)}
            for s, died in born.segments
        ]
        _insert(c, SEGMENTS, rows)
        blobs = [{"segment_id": i, "columns": columns_text(k)} | asdict(b) for i, k, b in born.indexes]
        _insert(c, SEGMENT_INDEXES, blobs)
        ids = [{"dead": i} for i in born.dead]
        if ids:
            here = SEGMENTS.c.id == sa.bindparam("dead")
            c.execute(sa.update(SEGMENTS).where(here).values(died=new.version.n), ids)
        self._add_version(c, new.version)
        self._set(c, "newest", new.version.n)

    def _write_schema(self, c: Connection, old: Schema, new: Schema) -> None:
        fresh = [t for name, t in new.tables.items() if name not in old.tables]
        rows = [(new.ids[t.name], t.name, types_text(t.types), new.born[t.name]) for t in fresh]
        _insert(c, TABLES, [dict(zip(("id", "name", "columns", "born"), row, strict=True)) for row in rows])
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

    def _set(self, c: Connection, key: str, value: object) -> None:
        c.execute(sa.update(META).where(META.c.key == key).values(value=str(value)))

    # ------------------------------------------------------------ old versions

    def identity(self, c: Connection) -> str:
        """What the state is called."""
        return self._unsealed(c, "id")

    def place(self, c: Connection) -> Place:
        """Where the state lives."""
        return self._backend.place(c)

    def retain(self, c: Connection) -> int:
        """How many versions are kept besides the newest."""
        return int(self._unsealed(c, "retain"))

    def _unsealed(self, c: Connection, key: str) -> str:
        """The value of a setting that carries its own digest."""
        value, _, _ = (text := self.setting(c, key)).partition(" ")
        if text != _sealed(key, value):
            raise self.corrupt(f"the setting {key}", _sealed(key, value), text)
        return value

    def set_retain(self, c: Connection, versions: int) -> None:
        """From now on keep ``versions`` besides the newest."""
        self._set(c, "retain", _sealed("retain", versions))

    def forget(self, c: Connection, before: int, limit: int | None = None) -> list[str]:
        """Keep no version below ``before``, or ``limit`` versions fewer; the files that no row names any longer.

        A segment goes when no version that is kept has it: what died is in none of the versions from then on, and the
        changes of a version are asked for by the versions before it. The batches stay known.
        """
        oldest = self.oldest(c)
        before = before if limit is None else min(before, oldest + limit)
        if before <= oldest:
            return []
        self._keep_batches(c, self.versions(c, oldest, before - 1))
        c.execute(sa.delete(VERSIONS).where(VERSIONS.c.n < before))
        self._set(c, "oldest", before)
        gone = sa.select(SEGMENTS.c.id).where(SEGMENTS.c.died <= before)
        of_gone = SEGMENT_INDEXES.c.segment_id.in_(gone)
        files = set(c.execute(sa.select(SEGMENTS.c.file).where(SEGMENTS.c.died <= before)).scalars())
        files |= set(c.execute(sa.select(SEGMENT_INDEXES.c.file).where(of_gone)).scalars())
        c.execute(sa.delete(SEGMENT_INDEXES).where(of_gone))
        c.execute(sa.delete(SEGMENTS).where(SEGMENTS.c.died <= before))
        return sorted(f for f in files if not self._is_named(c, f))

    def _keep_batches(self, c: Connection, versions: Iterable[Version]) -> None:
        known = [(v.source, v.seq, v.n, v.digest) for v in versions if v.source is not None]
        fields = ("source", "seq", "n", "digest", "seal")
        rows = [dict(zip(fields, (*batch, seal(*batch)), strict=True)) for batch in known]
        _insert(c, BATCHES, rows)
        self._set(c, "forgotten", int(self.setting(c, "forgotten")) + len(rows))

    def _is_named(self, c: Connection, file: str) -> bool:
        return any(
            c.execute(sa.select(t.c.file).where(t.c.file == file).limit(1)).first() for t in (SEGMENTS, SEGMENT_INDEXES)
        )


def now() -> str:
    """UTC in ISO 8601, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _sealed(key: str, value: object) -> str:
    return f"{value} {seal(key, str(value))}"


def _insert(c: Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        c.execute(sa.insert(table), rows)
