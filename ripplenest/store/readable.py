"""What can be asked of a state: its versions, its tables, how far its sources are, where it came from.

Every question is one transaction that reads, and so sees one moment. The newest version is loaded once, with all that
belongs to it; what each question asks first is only whether it still is the newest.

A batch asks the catalogue twice. One transaction reads the version that it is computed from, and how far its source
is; one writes what it made. The newest version is kept in memory and found to be the newest by its digest, and so is
how far sources are in it; what a commit made is known without reading it back: publications that follow it at once read
nothing. ``python -P scripts/batch_cost.py`` says what a batch costs, and what of that is fsync.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from attrs import evolve, field, frozen
from sqlalchemy.engine import Connection

from ripplenest.data.room import Room
from ripplenest.errors import Stale
from ripplenest.nrc.errors import StateError
from ripplenest.store.changelog import Changelog
from ripplenest.store.database.catalogue import Catalogue
from ripplenest.store.database.chain import Head, Known, Live, Version
from ripplenest.store.database.records import Tip, note_of
from ripplenest.store.disk import Disk
from ripplenest.store.place import Place
from ripplenest.store.segments import Reader
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Applied, Entry, Standing, TableSpec

AHEAD = 1 << 20  # numbers of segments that others may give while tasks are at work
SOURCES = 64  # of which is kept in memory how far they are


@frozen
class Newest:
    """The newest version when this object last looked, the oldest that was kept then, and what the newest changed, if
    this object made it. ``lasts`` is by source the greatest seq applied, of the sources that were asked for."""

    head: Head
    oldest: int
    changes: Live | None = None
    lasts: dict[str, int | None] = field(factory=dict)

    def standing(self, source: str, seq: int | None) -> Standing | None:
        """How far ``source`` is, if that is known, and ``seq`` comes after it or is none: else a batch is asked for."""
        if source not in self.lasts:
            return None
        last = self.lasts[source]
        return Standing(last, None) if seq is None or last is None or seq > last else None

    def learn(self, source: str, last: int | None) -> None:
        """From now on know how far ``source`` is in this version."""
        if len(self.lasts) >= SOURCES:
            self.lasts.clear()
        self.lasts[source] = last

    def after(self, source: str | None, seq: int | None) -> dict[str, int | None]:
        """``lasts`` of the version that a batch makes of this one, as a copy: this one may still be asked."""
        lasts = dict(self.lasts)
        if source is not None and seq is not None and source in lasts:
            last = lasts[source]
            lasts[source] = seq if last is None else max(seq, last)
        return lasts


class Readable:
    """An open state as its readers see it."""

    def __init__(self, path: Path, catalogue: Catalogue, disk: Disk, room: Room) -> None:
        self.path, self.room = path, room
        self._catalogue, self._disk = catalogue, disk
        self._reader = Reader(disk)
        self._seen: Newest | None = None
        self._identity = ""
        self._place: Place | None = None
        self._closed = False

    def close(self) -> None:
        """Release files and mappings; rows that were read stay valid."""
        self._closed = True
        self._reader.close()
        self._catalogue.close()

    def check_open(self) -> None:
        """Raises StateError when this object was closed."""
        if self._closed:
            raise StateError("the store is closed", where=str(self.path))

    # ------------------------------------------------------------ versions

    @property
    def version(self) -> int:
        """The newest committed version; 0 before the first."""
        self.check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.newest(c)

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The tables at ``version`` (the newest without one). Raises StateError for one that does not exist."""
        self.check_open()
        with self._catalogue.transaction() as c:
            tip = self._catalogue.tip(c)
            seen = self._look(c, tip)
            if version is None or version == tip.n:
                return self._newest(seen)
            self._catalogue.check_kept(version, tip)
            (old,) = self._catalogue.versions(c, version, version)
            live = self._catalogue.live(c, old)
        complete = frozenset(s.id for segments in seen.head.live.values() for s in segments)
        changelog = Changelog(self._catalogue, version)
        schema = seen.head.schema
        return Snapshot(old, schema, live, self._catalogue, self._reader, changelog, tip.oldest, complete)

    def begin(self, source: str, seq: int | None = None) -> tuple[Snapshot, Standing]:
        """The newest version, and how far ``source`` is in it, from one moment: what a batch begins with."""
        self.check_open()
        check_batch(source, 0 if seq is None else seq)
        with self._catalogue.transaction() as c:
            seen = self._look(c, self._catalogue.tip(c))
            standing = seen.standing(source, seq)
            if standing is None:
                found = self._catalogue.progress(c, source, seq)
                seen.learn(source, found.last)
                standing = Standing(found.last, None if found.batch is None else _applied(found.batch))
        return self._newest(seen), standing

    def seen(self) -> Snapshot:
        """The newest version that this object has read or made; whether there is a newer one is not asked."""
        self.check_open()
        return self.snapshot() if self._seen is None else self._newest(self._seen)

    def history(self, limit: int | None = None) -> list[Entry]:
        """The versions that are kept, newest first, at most ``limit`` of them."""
        self.check_open()
        with self._catalogue.transaction() as c:
            tip = self._catalogue.tip(c)
            first = tip.oldest if limit is None else max(tip.oldest, tip.n - limit + 1)
            versions = self._catalogue.versions(c, first, tip.n)
        return [_entry(v) for v in reversed(versions)]

    def state_of(self, version: int) -> str | None:
        """The digest of ``version`` and of everything before it; empty for one that is no longer kept, None for one
        that there has not been. Two states that were one have versions of the same number: this tells them apart."""
        self.check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.state_of(c, version)

    @property
    def oldest(self) -> int:
        """The oldest version that is kept."""
        self.check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.oldest(c)

    def reserved(self) -> int:
        """A number from which on segments can be numbered that another commit may come before, or some thousand."""
        self.check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.tip(c).last_segment + AHEAD

    # ------------------------------------------------------------ batches

    def applied(self, source: str, seq: int) -> Applied | None:
        """The version that the batch (source, seq) became, None when it was not applied. The note is empty when that
        version is no longer kept."""
        self.check_open()
        check_batch(source, seq)
        with self._catalogue.transaction() as c:
            known = self._catalogue.applied(c, source, seq)
        return None if known is None else _applied(known)

    def last_seq(self, source: str) -> int | None:
        """The greatest seq applied from ``source``."""
        self.check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.last_seq(c, source)

    def last_seqs(self) -> dict[str, int]:
        """By source, the greatest seq applied."""
        self.check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.last_seqs(c)

    # ------------------------------------------------------------ what is declared

    def meta(self, key: str) -> str | None:
        """The value that the last ``Change.meta`` with ``key`` gave it."""
        return self._head().schema.meta.get(key)

    def all_meta(self) -> Mapping[str, str]:
        """Every key that ``Change.meta`` has set, with its last value."""
        return dict(self._head().schema.meta)

    def tables(self) -> Mapping[str, TableSpec]:
        """The tables of the newest version, with all access keys that they have by now."""
        return dict(self._head().schema.tables)

    def born(self, table: str) -> int:
        """The version that made a table of the newest version."""
        return self._head().schema.born[table]

    @property
    def identity(self) -> str:
        """What this state is called, for ever: 32 hexadecimal digits."""
        self.check_open()
        if not self._identity:
            with self._catalogue.transaction() as c:
                self._identity = self._catalogue.identity(c)
        return self._identity

    @property
    def place(self) -> Place:
        """Where this state lives, which tells it from its copies. Raises StateError."""
        self.check_open()
        if self._place is None:
            with self._catalogue.transaction() as c:
                self._place = self._catalogue.place(c)
        return self._place

    @property
    def where(self) -> str:
        """Where the catalogue is, without a password."""
        return self._catalogue.where

    # ------------------------------------------------------------ the newest version, loaded once

    def _head(self) -> Head:
        self.check_open()
        with self._catalogue.transaction() as c:
            return self._look(c, self._catalogue.tip(c)).head

    def _look(self, c: Connection, tip: Tip) -> Newest:
        """The newest version; ``tip`` is of this transaction. One that somebody else has made is durable from now on,
        before anything is answered from it or made of it."""
        seen = self._seen
        if seen is None or (seen.head.version.n, seen.head.version.state) != (tip.n, tip.state):
            self._catalogue.settle()
            seen = Newest(self._catalogue.head(c, tip), tip.oldest)
        self._seen = seen if seen.oldest == tip.oldest else evolve(seen, oldest=tip.oldest)
        return self._seen

    def _newest(self, seen: Newest) -> Snapshot:
        head = seen.head
        changelog = Changelog(self._catalogue, head.version.n, seen.changes)
        return Snapshot(head.version, head.schema, head.live, self._catalogue, self._reader, changelog, seen.oldest)


def stale(path: Path, parent: int, newest: int) -> Stale:
    """What is wrong with a change of ``parent`` when another version is the newest."""
    what = "another commit came first: this change was computed from an older version"
    again = ["the same call once more: it has changed nothing"]
    return Stale(what, where=str(path), wanted=f"version {parent}", got=f"version {newest}", possible=again)


def _applied(known: Known) -> Applied:
    return Applied(known.n, known.digest, note_of(known.note))


def _entry(v: Version) -> Entry:
    return Entry(v.n, datetime.fromisoformat(v.time), v.source, v.seq, note_of(v.note))


def check_batch(source: str, seq: int) -> None:
    """Raises StateError for a (source, seq) that no batch can have: databases hold 64 bits, and True is no 1."""
    is_number = isinstance(seq, int) and not isinstance(seq, bool) and -(2**63) <= seq < 2**63
    if not isinstance(source, str) or not is_number:
        raise StateError("not the name of a batch", wanted="a text and an integer of 64 bits", got=(source, seq))
