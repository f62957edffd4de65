"""Reading the catalogue: every row is checked against the digests of a version row before it is believed."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from ripplenest.nrc.errors import CorruptState, NotKept, StateError
from ripplenest.store.chain import (
    Head,
    Known,
    Live,
    Schema,
    Version,
    columns_of,
    schema_digest,
    segments_digest,
    types_of,
)
from ripplenest.store.disk import Blob, is_pack
from ripplenest.store.seal import seal
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.store.tables import BATCHES, INDEXES, META, SEGMENT_INDEXES, SEGMENTS, TABLES, VERSIONS

RESERVED = ("format", "id", "newest", "oldest", "forgotten", "retain")  # meta keys that are the catalogue's own


class Records:
    """What the catalogue at ``where`` says. Every method runs in the caller's transaction and raises CorruptState for
    rows that have changed."""

    def __init__(self, where: str) -> None:
        self.where = where

    def newest(self, c: Connection) -> int:
        """The number of the newest version."""
        return self.tip(c)[0]

    def tip(self, c: Connection) -> tuple[int, str]:
        """The number of the newest version, and its digest: a database that was restored has another of that number."""
        v, noted = VERSIONS.c, sa.select(META.c.value).where(META.c.key == "newest").scalar_subquery()
        row = c.execute(sa.select(v.n, v.state, noted).order_by(v.n.desc()).limit(1)).one_or_none()
        if row is None or str(row[0]) != row[2]:
            raise self.corrupt("the newest version", row and row[2], row and row[0])
        return int(row[0]), str(row[1])

    def oldest(self, c: Connection) -> int:
        """The oldest version that is still kept."""
        found = c.execute(sa.select(sa.func.min(VERSIONS.c.n))).scalar()
        if str(found) != (noted := self.setting(c, "oldest")):
            raise self.corrupt("the oldest version", noted, found)
        return int(noted)

    def setting(self, c: Connection, key: str) -> str:
        """The value of a reserved meta key."""
        found = c.execute(sa.select(META.c.value).where(META.c.key == key)).scalar()
        if found is None:
            raise self.corrupt(f"the setting {key}", "a value", found)
        return str(found)

    def head(self, c: Connection) -> Head:
        """The newest version with all that belongs to it."""
        version = self.version(c, self.newest(c))
        return Head(version, self._schema(c, version), self.live(c, version))

    def version(self, c: Connection, n: int) -> Version:
        """Version ``n``. Raises StateError when it does not exist or is no longer kept."""
        self.check_kept(c, n)
        return self.versions(c, n, n)[0]

    def check_kept(self, c: Connection, n: int) -> None:
        """Raises StateError unless version ``n`` can be read."""
        oldest, newest = self.oldest(c), self.newest(c)
        if not oldest <= n <= newest:
            wanted = f"{oldest} to {newest}"
            if 0 <= n < oldest:
                raise NotKept("this version is no longer kept", where=self.where, wanted=wanted, got=n)
            raise StateError("no such version", where=self.where, wanted=wanted, got=n)

    def versions(self, c: Connection, first: int, last: int) -> list[Version]:
        """The versions first to last, which are kept, in their order."""
        v = VERSIONS.c
        rows = c.execute(sa.select(VERSIONS).where(v.n >= first, v.n <= last).order_by(v.n)).all()
        if len(rows) != last - first + 1:
            raise self.corrupt("versions are missing", f"{first} to {last}", f"{len(rows)} of them")
        found: list[Version] = []
        for row in rows:
            *values, state = row
            version = Version(*values)
            if version.state != state or (found and found[-1].state != version.parent):
                raise self.corrupt(f"version {first + len(found)}", version.state, state)
            found.append(version)
        return found

    def live(self, c: Connection, version: Version) -> Live:
        """By table id, the segments that make up the tables at ``version``."""
        s, n = SEGMENTS.c, version.n
        segments = self._segments(c, (s.born <= n) & (s.died.is_(None) | (s.died > n)))
        self._check_live(version, segments)
        live: dict[int, tuple[Segment, ...]] = {}
        for segment in segments:
            live[segment.table] = (*live.get(segment.table, ()), segment)
        return live

    def deltas(self, c: Connection, since: int, upto: int) -> list[Segment]:
        """The delta segments of all tables born in (since, upto]. Raises StateError when some are no longer kept."""
        self.check_kept(c, since)
        s = SEGMENTS.c
        segments = self._segments(c, (s.born > since) & (s.born <= upto) & (s.is_delta == 1))
        born: dict[int, list[Segment]] = {}
        for segment in segments:
            born.setdefault(segment.born, []).append(segment)
        for version in self.versions(c, since + 1, upto):
            got = segments_digest(born.get(version.n, ()))
            if got != version.changes:
                raise self.corrupt(f"the changes of version {version.n}", version.changes, got)
        return segments

    # ------------------------------------------------------------ batches

    def applied(self, c: Connection, source: str, seq: int) -> Known | None:
        """The batch (source, seq), whether its version is kept or not."""
        v, b = VERSIONS.c, BATCHES.c
        n = c.execute(sa.select(v.n).where(v.source == source, v.seq == seq)).scalar()
        if n is not None:
            version = self.version(c, n)
            return Known(n, seq, version.digest, version.note)
        row = c.execute(sa.select(BATCHES).where(b.source == source, b.seq == seq)).one_or_none()
        return None if row is None else self._forgotten(*row)

    def last_seq(self, c: Connection, source: str) -> int | None:
        """The greatest seq applied from ``source``."""
        for table in (VERSIONS, BATCHES):
            seq = c.execute(sa.select(sa.func.max(table.c.seq)).where(table.c.source == source)).scalar()
            known = None if seq is None else self.applied(c, source, seq)
            if known is not None:
                return known.seq
        return None

    def _forgotten(self, source: str, seq: int, n: int, digest: str, sealed: str) -> Known:
        got = seal(source, seq, n, digest)
        if got != sealed:
            raise self.corrupt(f"the batch {source}:{seq}", sealed, got)
        return Known(n, seq, digest, "{}")

    def check_counts(self, c: Connection) -> None:
        """No version and no batch is missing, and none has changed: one that is not found would be applied again."""
        self.versions(c, self.oldest(c), self.newest(c))
        known = c.execute(sa.select(BATCHES), execution_options={"yield_per": 1000})
        found = sum(1 for _ in (self._forgotten(*row) for row in known))
        if str(found) != (wanted := self.setting(c, "forgotten")):
            raise self.corrupt("batches are missing", wanted, found)

    def check_segments(self, c: Connection) -> None:
        """Every version that is kept has the segments and the changes that it had, and the newest every index."""
        head, oldest = self.head(c), self.oldest(c)
        segments, died = self._segments(c, sa.true()), self._deaths(c)
        for version in self.versions(c, oldest, head.version.n):
            self._check_live(version, [s for s in segments if s.born <= version.n < died[s.id]])
        self.deltas(c, oldest, head.version.n)
        for name, spec in head.schema.tables.items():
            for segment in head.live.get(head.schema.ids[name], ()):
                if missing := set(spec.indexes) - set(segment.indexes):
                    raise self.corrupt(f"segment {segment.id} of {name} has lost an index", min(missing), "nothing")

    def _check_live(self, version: Version, segments: Iterable[Segment]) -> None:
        got = segments_digest(segments)
        if got != version.live:
            raise self.corrupt(f"the segments of version {version.n}", version.live, got)

    def _deaths(self, c: Connection) -> Mapping[int, float]:
        """By segment, the version that it died at; infinity for those that live."""
        found = c.execute(sa.select(SEGMENTS.c.id, SEGMENTS.c.died))
        return {segment: math.inf if died is None else died for segment, died in found}

    # ------------------------------------------------------------ segments and files

    def next_segment(self, c: Connection) -> int:
        """An id that no segment has."""
        return int(c.execute(sa.select(sa.func.max(SEGMENTS.c.id))).scalar() or 0) + 1

    def files(self, c: Connection) -> set[str]:
        """Every pack file that a row names."""
        named = sa.union(sa.select(SEGMENTS.c.file), sa.select(SEGMENT_INDEXES.c.file))
        return set(c.execute(named).scalars())

    def blobs(self, c: Connection) -> list[Blob]:
        """Everything that is stored, in the order of files."""
        found = [Blob(*row) for t in (SEGMENTS, SEGMENT_INDEXES) for row in c.execute(_blob_columns(t))]
        return sorted(found, key=lambda b: (b.file, b.offset))

    def _segments(self, c: Connection, where: sa.ColumnElement[bool]) -> list[Segment]:
        i, s = SEGMENT_INDEXES.c, SEGMENTS.c
        found: dict[int, dict[Columns, Blob]] = {}
        query = sa.select(i.segment_id, i.columns, i.file, i.offset, i.bytes, i.sha256)
        for segment, columns, *blob in c.execute(query.where(i.segment_id.in_(sa.select(s.id).where(where)))):
            found.setdefault(segment, {})[self._parsed(columns_of, columns)] = self._blob(*blob)
        rows = c.execute(
            sa.select(s.id, s.table_id, s.file, s.offset, s.bytes, s.sha256, s.rows, s.level, s.born, s.is_delta)
            .where(where)
            .order_by(s.id)
        )
        return [
            Segment(r.id, r.table_id, self._blob(*r[2:6]), *r[6:9], is_delta=bool(r[9]), indexes=found.get(r.id, {}))
            for r in rows
        ]

    def _blob(self, file: str, offset: int, size: int, sha256: str) -> Blob:
        """A blob of a file that is ours: a catalogue must not be able to name any other file."""
        if not is_pack(file):
            raise self.corrupt("the name of a segment file", "a name of ours", file)
        return Blob(file, offset, size, sha256)

    def _schema(self, c: Connection, version: Version) -> Schema:
        tables = c.execute(sa.select(TABLES)).all()
        i = INDEXES.c
        indexes = c.execute(sa.select(i.table_id, i.columns, i.position).order_by(i.position)).all()
        meta = c.execute(sa.select(META.c.key, META.c.value).where(META.c.key.not_in(RESERVED))).all()
        got = schema_digest(tables, indexes, meta)
        if got != version.schema:
            raise self.corrupt("the list of tables, access keys and settings", version.schema, got)
        keys: dict[int, tuple[Columns, ...]] = {}
        for table, text, _ in indexes:
            keys[table] = (*keys.get(table, ()), columns_of(text))
        specs = {t.name: TableSpec(t.name, types_of(t.columns), keys.get(t.id, ())) for t in tables}
        ids, born = {t.name: t.id for t in tables}, {t.name: t.born for t in tables}
        return Schema(specs, ids, born, {row.key: row.value for row in meta})

    # ------------------------------------------------------------ what is wrong

    def _parsed(self, parse: Callable[[str], Any], text: str) -> Any:
        try:
            return parse(text)
        except (TypeError, ValueError) as e:
            raise self.corrupt("a value cannot be read", "JSON", type(e).__name__) from e

    def corrupt(self, what: str, wanted: object, got: object) -> CorruptState:
        """What is wrong with the catalogue, as an error."""
        return CorruptState(f"{what}: the catalogue has changed", where=self.where, wanted=wanted, got=got)


def _blob_columns(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table.c.file, table.c.offset, table.c.bytes, table.c.sha256)


def note_of(text: str) -> dict[str, object]:
    """The note of a version, as it was given."""
    found: dict[str, object] = json.loads(text)
    return found
