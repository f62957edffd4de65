"""Reading the catalogue: every row is checked against the digests of a version row before it is believed."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from attrs import frozen
from sqlalchemy.engine import Connection

from ripplenest.errors import NotKept
from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.store.database.chain import (
    DROPPED,
    LAYOUTS,
    Head,
    Known,
    Live,
    Schema,
    Table,
    Version,
    schema_digest,
    segments_digest,
    types_of,
)
from ripplenest.store.database.seal import seal
from ripplenest.store.database.statements import (
    FORGOTTEN_LASTS,
    FORGOTTEN_OF_SOURCE,
    IS_APPLIED,
    LASTS,
    OF_SOURCE,
    RANGE,
    TIP,
)
from ripplenest.store.database.tables import BATCHES, INDEXES, META, SEGMENT_INDEXES, SEGMENTS, TABLES
from ripplenest.store.disk import Blob, is_pack
from ripplenest.store.layouts import layout_of
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Access, columns_of, columns_text, spec_of

RESERVED = ("format", "id", "newest", "oldest", "forgotten", "retain")  # meta keys that are the catalogue's own


@frozen
class Tip:
    """Which version is the newest, by number and digest: a database that was restored has another of that number. With
    it, from the same statement, what each commit asks: the oldest version that is kept, the greatest id of a segment,
    and two settings as they are stored."""

    n: int
    state: str
    oldest: int
    last_segment: int
    forgotten: str | None
    retain: str | None


@frozen
class Progress:
    """How far a source has come: the greatest seq applied, and the batch that was asked for, if it was applied."""

    last: int | None
    batch: Known | None


class Records:
    """What the catalogue at ``where`` says. Every method runs in the caller's transaction and raises CorruptState for
    rows that have changed."""

    def __init__(self, where: str) -> None:
        self.where = where

    def newest(self, c: Connection) -> int:
        """The number of the newest version."""
        return self.tip(c).n

    def oldest(self, c: Connection) -> int:
        """The oldest version that is still kept."""
        return self.tip(c).oldest

    def tip(self, c: Connection) -> Tip:
        """The newest version, and what is kept before it."""
        row = next(iter(TIP.rows(c)), None)
        if row is None or str(row.n) != row.newest:
            raise self.corrupt("the newest version", row and row.newest, row and row.n)
        if str(row.first) != row.oldest:
            raise self.corrupt("the oldest version", row.oldest, row.first)
        return Tip(int(row.n), str(row.state), int(row.first), row.last_segment or 0, row.forgotten, row.retain)

    def setting(self, c: Connection, key: str) -> str:
        """The value of a reserved meta key."""
        return self._given(key, c.execute(sa.select(META.c.value).where(META.c.key == key)).scalar())

    def _given(self, key: str, value: str | None) -> str:
        if value is None:
            raise self.corrupt(f"the setting {key}", "a value", value)
        return value

    def head(self, c: Connection, tip: Tip) -> Head:
        """The newest version with all that belongs to it."""
        (version,) = self.versions(c, tip.n, tip.n)
        return Head(version, self._schema(c, version), self.live(c, version))

    def version(self, c: Connection, n: int) -> Version:
        """Version ``n``. Raises StateError when it does not exist or is no longer kept."""
        self.check_kept(n, self.tip(c))
        return self.versions(c, n, n)[0]

    def check_kept(self, n: int, tip: Tip) -> None:
        """Raises StateError unless version ``n`` can be read."""
        if not tip.oldest <= n <= tip.n:
            wanted = f"{tip.oldest} to {tip.n}"
            if 0 <= n < tip.oldest:
                raise NotKept("this version is no longer kept", where=self.where, wanted=wanted, got=n)
            raise StateError("no such version", where=self.where, wanted=wanted, got=n)

    def state_of(self, c: Connection, n: int) -> str | None:
        """The digest of version ``n`` and of everything before it; empty for one that is no longer kept, None for one
        that there has not been."""
        tip = self.tip(c)
        if n > tip.n:
            return None
        return self.versions(c, n, n)[0].state if n >= tip.oldest else ""

    def versions(self, c: Connection, first: int, last: int) -> list[Version]:
        """The versions first to last, which are kept, in their order."""
        rows = RANGE.rows(c, {"first": first, "last": last})
        if len(rows) != last - first + 1:
            raise self.corrupt("versions are missing", f"{first} to {last}", f"{len(rows)} of them")
        found: list[Version] = []
        for row in rows:
            version = self._sealed_version(row)
            if found and found[-1].state != version.parent:
                raise self.corrupt(f"version {version.n}", found[-1].state, version.parent)
            found.append(version)
        return found

    def _sealed_version(self, row: Sequence[Any]) -> Version:
        *values, state = row
        version = Version(*values)
        if version.state != state:
            raise self.corrupt(f"version {version.n}", version.state, state)
        return version

    def live(self, c: Connection, version: Version) -> Live:
        """By table id, the segments that make up the tables at ``version``."""
        s, n = SEGMENTS.c, version.n
        segments = self._segments(c, (s.born <= n) & (s.died.is_(None) | (s.died > n)))
        self._check_live(version, segments)
        return grouped(segments, attrgetter("table"))

    def deltas(self, c: Connection, since: int, upto: int) -> Live:
        """By table id, the delta segments born in (since, upto], oldest first. Raises StateError when some are no
        longer kept.

        All tables are read at once: what a version seals are the changes of all of them, so that those of one table
        could not be believed alone. Their indexes are left out, because changes are scanned.
        """
        self.check_kept(since, self.tip(c))
        s = SEGMENTS.c
        segments = self._segments(c, (s.born > since) & (s.born <= upto) & (s.is_delta == 1), indexed=False)
        born = grouped(segments, attrgetter("born"))
        for version in self.versions(c, since + 1, upto):
            got = segments_digest(born.get(version.n, ()))
            if got != version.changes:
                raise self.corrupt(f"the changes of version {version.n}", version.changes, got)
        return grouped(segments, attrgetter("table"))

    # ------------------------------------------------------------ batches

    def progress(self, c: Connection, source: str, seq: int | None = None) -> Progress:
        """How far ``source`` has come, and the batch (source, seq), whether its version is kept or not."""
        asked = {"source": source, "seq": seq}
        known = {row.seq: self._forgotten(*row) for row in FORGOTTEN_OF_SOURCE.rows(c, asked)}
        for version in map(self._sealed_version, OF_SOURCE.rows(c, asked)):
            assert version.seq is not None  # it is one of those that were asked for
            known[version.seq] = Known(version.n, version.seq, version.digest, version.note)
        return Progress(max(known, default=None), None if seq is None else known.get(seq))

    def applied(self, c: Connection, source: str, seq: int) -> Known | None:
        """The batch (source, seq), whether its version is kept or not."""
        return self.progress(c, source, seq).batch

    def last_seq(self, c: Connection, source: str) -> int | None:
        """The greatest seq applied from ``source``."""
        return self.progress(c, source).last

    def last_seqs(self, c: Connection) -> dict[str, int]:
        """By source, the greatest seq applied, whether its version is kept or not."""
        known = {row.source: self._forgotten(*row).seq for row in FORGOTTEN_LASTS.rows(c)}
        for version in map(self._sealed_version, LASTS.rows(c)):
            assert version.source is not None and version.seq is not None  # it is a batch
            known[version.source] = max(version.seq, known.get(version.source, version.seq))
        return known

    def is_applied(self, c: Connection, source: str, seq: int) -> bool:
        """Whether a row names the batch (source, seq)."""
        return bool(IS_APPLIED.rows(c, {"source": source, "seq": seq}))

    def _forgotten(self, source: str, seq: int, n: int, digest: str, sealed: str) -> Known:
        got = seal(source, seq, n, digest)
        if got != sealed:
            raise self.corrupt(f"the batch {source}:{seq}", sealed, got)
        return Known(n, seq, digest, "{}")

    def check_counts(self, c: Connection) -> None:
        """No version and no batch is missing, and none has changed: one that is not found would be applied again."""
        tip = self.tip(c)
        self.versions(c, tip.oldest, tip.n)
        known = c.execute(sa.select(BATCHES), execution_options={"yield_per": 1000})
        found = sum(1 for _ in (self._forgotten(*row) for row in known))
        if str(found) != (wanted := self._given("forgotten", tip.forgotten)):
            raise self.corrupt("batches are missing", wanted, found)

    def check_segments(self, c: Connection) -> None:
        """Every version that is kept has the segments and the changes that it had, and the newest every index."""
        tip = self.tip(c)
        head, oldest = self.head(c, tip), tip.oldest
        segments, died = self._segments(c, sa.true()), self._deaths(c)
        for version in self.versions(c, oldest, head.version.n):
            self._check_live(version, [s for s in segments if s.born <= version.n < died[s.id]])
        self.deltas(c, oldest, head.version.n)
        for name, spec in head.schema.tables.items():
            for segment in head.live.get(head.schema.ids[name], ()):
                if missing := set(spec.access) - set(segment.indexes):
                    lost = min(map(columns_text, missing))
                    raise self.corrupt(f"segment {segment.id} of {name} has lost an index", lost, "nothing")

    def _check_live(self, version: Version, segments: Iterable[Segment]) -> None:
        got = segments_digest(segments)
        if got != version.live:
            raise self.corrupt(f"the segments of version {version.n}", version.live, got)

    def _deaths(self, c: Connection) -> Mapping[int, float]:
        """By segment, the version that it died at; infinity for those that live."""
        found = c.execute(sa.select(SEGMENTS.c.id, SEGMENTS.c.died))
        return {segment: math.inf if died is None else died for segment, died in found}

    # ------------------------------------------------------------ segments and files

    def files(self, c: Connection) -> set[str]:
        """Every pack file that a row names."""
        named = sa.union(sa.select(SEGMENTS.c.file), sa.select(SEGMENT_INDEXES.c.file))
        return set(c.execute(named).scalars())

    def blobs(self, c: Connection) -> list[Blob]:
        """Everything that is stored, in the order of files."""
        found = [Blob(*row) for t in (SEGMENTS, SEGMENT_INDEXES) for row in c.execute(_blob_columns(t))]
        return sorted(found, key=lambda b: (b.file, b.offset))

    def _segments(self, c: Connection, where: sa.ColumnElement[bool], indexed: bool = True) -> list[Segment]:
        s = SEGMENTS.c
        found = self._indexes(c, where) if indexed else {}
        rows = c.execute(
            sa.select(s.id, s.table_id, s.file, s.offset, s.bytes, s.sha256, s.rows, s.level, s.born, s.is_delta)
            .where(where)
            .order_by(s.id)
        )
        return [
            Segment(r.id, r.table_id, self._blob(*r[2:6]), *r[6:9], is_delta=bool(r[9]), indexes=found.get(r.id, {}))
            for r in rows
        ]

    def _indexes(self, c: Connection, where: sa.ColumnElement[bool]) -> dict[int, dict[Access, Blob]]:
        """By segment, its indexes."""
        i, of = SEGMENT_INDEXES.c, sa.select(SEGMENTS.c.id).where(where)
        query = sa.select(i.segment_id, i.columns, i.file, i.offset, i.bytes, i.sha256).where(i.segment_id.in_(of))
        found: dict[int, dict[Access, Blob]] = {}
        for segment, columns, *blob in c.execute(query):
            found.setdefault(segment, {})[self._parsed(columns_of, columns)] = self._blob(*blob)
        return found

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
        access: dict[int, list[Access]] = {}
        for table, text, _ in indexes:
            access.setdefault(table, []).append(columns_of(text))
        given = {row.key: row.value for row in meta}
        reshaped = json.loads(given.pop(LAYOUTS, "{}"))
        layouts = {int(table): tuple(map(layout_of, found)) for table, found in reshaped.items()}
        gone = {i: (name, died) for i, name, died in json.loads(given.pop(DROPPED, "[]"))}
        living = [t for t in tables if t.id not in gone]
        specs = {t.name: spec_of(t.name, types_of(t.columns), access.get(t.id, ())) for t in living}
        ids, born = {t.name: t.id for t in living}, {t.name: t.born for t in living}
        by_id = {t.id: t for t in tables}
        dropped = tuple(  # in the order that the meta value has, which is written again as it is
            Table(i, spec_of(name, types_of(by_id[i].columns), access.get(i, ())), by_id[i].born, died)
            for i, (name, died) in gone.items()
        )
        return Schema(specs, ids, born, given, dropped, layouts)

    # ------------------------------------------------------------ what is wrong

    def _parsed(self, parse: Callable[[str], Any], text: str) -> Any:
        try:
            return parse(text)
        except (TypeError, ValueError, KeyError) as e:
            raise self.corrupt("a value cannot be read", "JSON", type(e).__name__) from e

    def corrupt(self, what: str, wanted: object, got: object) -> CorruptState:
        """What is wrong with the catalogue, as an error."""
        return CorruptState(f"{what}: the catalogue has changed", where=self.where, wanted=wanted, got=got)


def grouped(segments: Iterable[Segment], by: Callable[[Segment], int]) -> dict[int, tuple[Segment, ...]]:
    """Segments by table, or by the version of their birth, each in the order given."""
    found: dict[int, list[Segment]] = {}
    for segment in segments:
        found.setdefault(by(segment), []).append(segment)
    return {key: tuple(group) for key, group in found.items()}


def _blob_columns(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table.c.file, table.c.offset, table.c.bytes, table.c.sha256)


def note_of(text: str) -> dict[str, object]:
    """The note of a version, as it was given."""
    found: dict[str, object] = json.loads(text)
    return found
