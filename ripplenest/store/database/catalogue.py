"""The catalogue: which segments make up which table at which version, in one database.

``records.py`` reads and checks, this module writes. Writers are serialised by the backend: whoever holds the write
transaction is the only one with files that no row names yet.

Versions are a bounded window. A state keeps the newest version and 1,000 before it, unless told otherwise, so that
files, catalogue and time per batch do not grow with the number of batches. Each commit forgets at most two versions,
and removes the files that only they needed after the transaction. That a batch was applied is never forgotten (100
bytes each): a late retry must not be applied again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from attrs import asdict, frozen
from sqlalchemy import event
from sqlalchemy.engine import Connection

from ripplenest.data.order import Ordering
from ripplenest.nrc.errors import StateError
from ripplenest.store.database.backend import Backend
from ripplenest.store.database.chain import Head, Schema, Version, first_version, tombstone, types_text
from ripplenest.store.database.records import Records, Tip
from ripplenest.store.database.seal import seal
from ripplenest.store.database.statements import (
    DIE,
    DROP_INDEXES,
    DROP_SEGMENTS,
    DROP_VERSIONS,
    GONE_FILES,
    INSERT,
    SET,
)
from ripplenest.store.database.tables import ALL, BATCHES, INDEXES, META, SEGMENT_INDEXES, SEGMENTS, TABLES, VERSIONS
from ripplenest.store.disk import Blob
from ripplenest.store.place import Place
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Access, Batch, columns_text

FORMAT = 5  # 5: digests of blocks, other indexes; 4: labels are keys and numbers; 3: tables can be dropped
ORDERED = 6  # a state of format 5 in which tables are ordered: releases that cannot keep them in order refuse it
REACHING = 7  # one of format 6 in which orders say how far rows reach
FORMATS = (*map(str, (REACHING, ORDERED, FORMAT)), "4")  # what can be read: format 4 becomes 5 with the next commit
OLDER = ("2", "3")  # formats that ``migrate`` reads
MIGRATE = "`ripplenest migrate OLD NEW`, which copies relations, views and batches to a new state, and leaves the old"
RETAIN = 1000  # versions that are kept besides the newest, unless the state says otherwise


@frozen
class Born:
    """What a commit adds: segments, each with the version that it died at, if at once; the ids of those that die; and
    index blobs of segments by their columns."""

    segments: Iterable[tuple[Segment, int | None]] = ()
    dead: Iterable[int] = ()
    indexes: Iterable[tuple[int, Access, Blob]] = ()


@frozen
class Forgotten:
    """What is left when versions were forgotten: the oldest that is kept, and files that no row names any longer."""

    oldest: int
    files: tuple[str, ...] = ()


def _format(orders: Iterable[Ordering]) -> int:
    """What a state with these is of."""
    return max((ORDERED if o.until is None else REACHING for o in orders), default=FORMAT)


def _instead(told: str) -> list[str]:
    """What can be done with a state of a format that is not the one that is wanted."""
    if told in FORMATS:
        return ["rn.open: there is nothing to migrate"]
    if told in OLDER:
        return [MIGRATE, "the release of ripplenest that made it"]
    is_newer = told.isdecimal() and int(told) > REACHING
    return [f"the {'newer ' * is_newer}release of ripplenest that made it", "a new state directory"]


class Catalogue(Records):
    """The catalogue of a state. Methods that take a connection run in the caller's transaction."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend.where)
        self._backend, self.beside = backend, backend.beside

        @event.listens_for(backend.engine, "begin")
        def begin(c: Connection) -> None:
            backend.begin(c, bool(c.get_execution_options().get("ripplenest_write")))

    def prepare(self, stored: Callable[[], bool], formats: Collection[str] = FORMATS) -> None:
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
            self._check_format(c, formats)
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
        INSERT[META.name].run(c, [{"key": k, "value": str(v)} for k, v in own.items()])
        self._add_version(c, first_version(now()))

    def _check_format(self, c: Connection, formats: Collection[str]) -> None:
        got = self.setting(c, "format")
        if got not in formats:
            *some, last = sorted(formats)
            wanted = f"format {', '.join(some)} or {last}" if some else f"format {last}"
            what = "a state of another format" + ", which this release opens as it is" * (got in FORMATS)
            raise StateError(what, where=self.where, wanted=wanted, got=f"format {got}", possible=_instead(got))

    def close(self) -> None:
        """Let go of connections."""
        self._backend.engine.dispose()

    def settle(self) -> None:
        """Make durable what is read as committed."""
        self._backend.settle()

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
        except self._backend.driver_error as e:  # of a statement that was handed to the driver
            raise self._backend.explained(sa.exc.DBAPIError(None, None, e)) from e
        except UnicodeDecodeError as e:  # sqlite3 quotes damaged bytes in its own message
            raise self.corrupt("text that is not UTF-8", "a catalogue", e.reason) from e

    # ------------------------------------------------------------ a new version

    def advance(self, c: Connection, old: Head, new: Head, born: Born) -> None:
        """Write what ``new`` adds to ``old``."""
        self._write_schema(c, old.schema, new.schema)
        fields = ("id", "rows", "level", "born")
        rows = [
            {k: getattr(s, k) for k in fields}
            | _named(s.blob)
            | {"table_id": s.table, "died": died, "is_delta": int(s.is_delta)}
            for s, died in born.segments
        ]
        INSERT[SEGMENTS.name].run(c, rows)
        blobs = [{"segment_id": i, "columns": columns_text(k)} | _named(b) for i, k, b in born.indexes]
        INSERT[SEGMENT_INDEXES.name].run(c, blobs)
        DIE.run(c, [{"dead": i, "at": new.version.n} for i in born.dead])
        self._add_version(c, new.version)
        self._set(c, {"newest": new.version.n, "format": _format(new.schema.orders)})

    def _write_schema(self, c: Connection, old: Schema, new: Schema) -> None:
        if new is old:
            return
        self._bury(c, old, new)
        for name, spec in new.tables.items():
            if old.ids.get(name) == new.ids[name] and old.tables[name].types != spec.types:
                same = TABLES.c.id == new.ids[name]
                c.execute(sa.update(TABLES).where(same).values(columns=types_text(spec.types)))
        known = set(old.ids.values())
        fresh = [t for name, t in new.tables.items() if new.ids[name] not in known]
        rows = [(new.ids[t.name], t.name, types_text(t.types), new.born[t.name]) for t in fresh]
        INSERT[TABLES.name].run(c, [dict(zip(("id", "name", "columns", "born"), row, strict=True)) for row in rows])
        indexes = [
            {"table_id": new.ids[name], "columns": columns_text(access), "position": i}
            for name, t in new.tables.items()
            for i, access in t.placed
            if new.ids[name] not in known or access not in old.tables[name].access
        ]
        INSERT[INDEXES.name].run(c, indexes)
        before, after = old.stored_meta, new.stored_meta
        changed = {k: v for k, v in after.items() if before.get(k) != v}
        if stale := [*changed, *(before.keys() - after.keys())]:
            c.execute(sa.delete(META).where(META.c.key.in_(stale)))
            INSERT[META.name].run(c, [{"key": k, "value": v} for k, v in changed.items()])

    def _bury(self, c: Connection, old: Schema, new: Schema) -> None:
        """Dropped tables lose their names, for others to have, and go when no version is kept that has them."""
        kept, fallen = {t.id for t in new.dropped}, {t.id for t in old.dropped}
        for table in kept - fallen:
            c.execute(sa.update(TABLES).where(TABLES.c.id == table).values(name=tombstone(table)))
        if gone := fallen - kept:
            c.execute(sa.delete(INDEXES).where(INDEXES.c.table_id.in_(gone)))
            c.execute(sa.delete(TABLES).where(TABLES.c.id.in_(gone)))

    def _add_version(self, c: Connection, version: Version) -> None:
        INSERT[VERSIONS.name].run(c, [asdict(version) | {"state": version.state}])

    def _set(self, c: Connection, values: Mapping[str, object]) -> None:
        SET.run(c, [{"at": key, "given": str(value)} for key, value in values.items()])

    # ------------------------------------------------------------ old versions

    def identity(self, c: Connection) -> str:
        """What the state is called."""
        return self._unsealed("id", self.setting(c, "id"))

    def place(self, c: Connection) -> Place:
        """Where the state lives."""
        return self._backend.place(c)

    def retain(self, tip: Tip) -> int:
        """How many versions are kept besides the newest."""
        return int(self._unsealed("retain", self._given("retain", tip.retain)))

    def _unsealed(self, key: str, text: str) -> str:
        """The value of a setting that carries its own digest."""
        value, _, _ = text.partition(" ")
        if text != _sealed(key, value):
            raise self.corrupt(f"the setting {key}", _sealed(key, value), text)
        return value

    def set_retain(self, c: Connection, versions: int) -> None:
        """From now on keep ``versions`` besides the newest."""
        self._set(c, {"retain": _sealed("retain", versions)})

    def forget(self, c: Connection, tip: Tip, before: int, limit: int | None = None) -> Forgotten:
        """Keep no version below ``before``, or ``limit`` versions fewer. ``tip`` is of this transaction.

        A segment goes when no version that is kept has it: what died is in none of the versions from then on, and the
        changes of a version are asked for by the versions before it. The batches stay known.
        """
        before = before if limit is None else min(before, tip.oldest + limit)
        if before <= tip.oldest:
            return Forgotten(tip.oldest)
        batches = self._keep_batches(c, self.versions(c, tip.oldest, before - 1))
        known = int(self._given("forgotten", tip.forgotten)) + batches
        DROP_VERSIONS.run(c, gone := [{"before": before}])
        self._set(c, {"oldest": before, "forgotten": known})
        files = tuple(sorted(row.file for row in GONE_FILES.rows(c, gone[0])))
        DROP_INDEXES.run(c, gone)
        DROP_SEGMENTS.run(c, gone)
        return Forgotten(before, files)

    def _keep_batches(self, c: Connection, versions: Iterable[Version]) -> int:
        """Remember the batches among ``versions``; how many there are."""
        return _remember(c, ((v.source, v.seq, v.n, v.digest) for v in versions if v.source is not None))

    def batches(self, c: Connection) -> list[Batch]:
        """Every batch that was applied, but for those that no version is of."""
        tip = self.tip(c)
        kept = [(v.source, v.seq, v.digest) for v in self.versions(c, tip.oldest, tip.n) if v.source is not None]
        gone = [(row.source, row.seq, self._forgotten(*row).digest) for row in c.execute(sa.select(BATCHES))]
        return [(source, seq, digest) for source, seq, digest in (*gone, *kept) if seq is not None]

    def remember(self, c: Connection, batches: Iterable[Batch]) -> None:
        """From now on batches of another state, of which this one has the rows, were applied by the newest version."""
        tip = self.tip(c)
        known = _remember(c, ((source, seq, tip.n, digest) for source, seq, digest in batches))
        self._set(c, {"forgotten": int(self._given("forgotten", tip.forgotten)) + known})


def _remember(c: Connection, batches: Iterable[tuple[str, int | None, int, str]]) -> int:
    """Write batches down that no version names; how many there are."""
    fields = ("source", "seq", "n", "digest", "seal")
    rows = [dict(zip(fields, (*batch, seal(*batch)), strict=True)) for batch in batches]
    INSERT[BATCHES.name].run(c, rows)
    return len(rows)


def now() -> str:
    """UTC in ISO 8601, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _sealed(key: str, value: object) -> str:
    return f"{value} {seal(key, str(value))}"


def _named(blob: Blob) -> dict[str, Any]:
    """The columns of a blob."""
    return {"file": blob.file, "offset": blob.offset, "bytes": blob.bytes, "sha256": blob.sha256}
