"""The store: versions of tables of weighted rows in one directory, committed one by one, each all or nothing.

Theory of operation. A commit is four steps under one write transaction of the catalogue: check that the parent is
still the newest version; write the pack files; fsync them and their folder; insert the rows that name them. The
transaction's own commit is the only moment of visibility. Before it, no row names the files, and they are removed; a
process that dies leaves them, and the next writer removes them, which is safe because the transaction makes it the
only writer. Files never change once they are named, so readers need no locks: a snapshot is a list of segments.

Each commit also forgets the versions that the state does not keep any longer, a few at a time; their files are removed
after the transaction, so that one which dies in between leaves files that nothing names, and never names without files.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType

from sqlalchemy.engine import Connection

from ripplenest.nrc.errors import BatchConflict, CorruptState, RipplenestError, Stale, StateError
from ripplenest.store.catalogue import Catalogue
from ripplenest.store.chain import Head, Known, Version
from ripplenest.store.commit import Draft, Merge
from ripplenest.store.disk import Blob, Disk, is_pack
from ripplenest.store.folder import SEGMENTS, backend_of
from ripplenest.store.place import Place
from ripplenest.store.records import note_of
from ripplenest.store.segments import Reader
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Applied, Change, Entry, Swept, TableSpec, Usage

FORGET = 2  # versions that one commit forgets at most, so that it does not pay for a new setting alone


class Store:
    """A state directory. Use ``Store.open``; several may be open on one directory, also in different processes."""

    def __init__(self, path: Path, catalogue: Catalogue, disk: Disk) -> None:
        self.path = path
        self._catalogue, self._disk = catalogue, disk
        self._reader = Reader(disk)
        self._cached: Head | None = None
        self._swept = self._closed = False
        self.rewritten = 0  # rows that merges of this object wrote

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        disk: Callable[[Path], Disk] = Disk,
        catalogue: str | None = None,
        retain: int | None = None,
    ) -> "Store":
        """Open the state in ``path``, made with mode 0700 when there is none.

        ``catalogue`` is the URL of a PostgreSQL database; without one the catalogue is a file in ``path``. ``retain``
        says how many versions are kept besides the newest, from now on: at least one, because a publication comes after
        the commit and reads what that changed. Raises StateError for a folder of something else, a state of another
        format or with its catalogue elsewhere, CorruptState for a damaged one, and EnvironmentProblem when the driver
        is missing.
        """
        folder = Path(path).absolute()
        root, files = disk(folder), disk(folder / SEGMENTS)
        found = Catalogue(backend_of(folder, root, catalogue))
        store = cls(folder, found, files)
        try:
            found.prepare(files.folder.is_dir)
            files.create()
            root.sync_folder()  # names that a process made which died before it did this
            there = files.list()  # first: a writer may go on meanwhile
            store._check_files(there, store._head().version.n)
            if retain is not None:
                store._set_retain(retain)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Release files and mappings; rows that were read stay valid."""
        self._closed = True
        self._reader.close()
        self._catalogue.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------ reading

    @property
    def version(self) -> int:
        """The newest committed version; 0 before the first."""
        self._check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.newest(c)

    def snapshot(self, version: int | None = None) -> Snapshot:
        """The tables at ``version`` (the newest without one). Raises StateError for one that does not exist."""
        self._check_open()
        with self._catalogue.transaction() as c:
            head = self._load(c)
            if version is None or version == head.version.n:
                return Snapshot(head.version.n, head.schema, head.live, self._catalogue, self._reader)
            live = self._catalogue.live(c, self._catalogue.version(c, version))
        complete = frozenset(s.id for segments in head.live.values() for s in segments)
        return Snapshot(version, head.schema, live, self._catalogue, self._reader, complete)

    def applied(self, source: str, seq: int) -> Applied | None:
        """The version that the batch (source, seq) became, None when it was not applied. The note is empty when that
        version is no longer kept."""
        self._check_open()
        check_batch(source, seq)
        with self._catalogue.transaction() as c:
            known = self._catalogue.applied(c, source, seq)
        return None if known is None else Applied(known.n, known.digest, note_of(known.note))

    def last_seq(self, source: str) -> int | None:
        """The greatest seq applied from ``source``."""
        self._check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.last_seq(c, source)

    def meta(self, key: str) -> str | None:
        """The value that the last ``Change.meta`` with ``key`` gave it."""
        return self._head().schema.meta.get(key)

    def all_meta(self) -> Mapping[str, str]:
        """Every key that ``Change.meta`` has set, with its last value."""
        return dict(self._head().schema.meta)

    def tables(self) -> Mapping[str, TableSpec]:
        """The tables of the newest version, with all access keys that they have by now."""
        return dict(self._head().schema.tables)

    @property
    def identity(self) -> str:
        """What this state is called, for ever: 32 hexadecimal digits."""
        self._check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.identity(c)

    @property
    def place(self) -> Place:
        """Where this state lives, which tells it from its copies. Raises StateError."""
        self._check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.place(c)

    def state_of(self, version: int) -> str | None:
        """The digest of ``version`` and of everything before it; empty for one that is no longer kept, None for one
        that there has not been. Two states that were one have versions of the same number: this tells them apart."""
        self._check_open()
        with self._catalogue.transaction() as c:
            if version > self._catalogue.newest(c):
                return None
            if version < self._catalogue.oldest(c):
                return ""
            return self._catalogue.versions(c, version, version)[0].state

    @property
    def oldest(self) -> int:
        """The oldest version that is kept."""
        self._check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.oldest(c)

    @property
    def where(self) -> str:
        """Where the catalogue is, without a password."""
        return self._catalogue.where

    def history(self, limit: int | None = None) -> list[Entry]:
        """The versions that are kept, newest first, at most ``limit`` of them."""
        self._check_open()
        with self._catalogue.transaction() as c:
            newest, oldest = self._catalogue.newest(c), self._catalogue.oldest(c)
            first = oldest if limit is None else max(oldest, newest - limit + 1)
            versions = self._catalogue.versions(c, first, newest)
        return [_entry(v) for v in reversed(versions)]

    def usage(self) -> Usage:
        """What the state takes up."""
        self._check_open()
        with self._catalogue.transaction() as c:
            head, named = self._load(c), self._catalogue.files(c)
            oldest, retain = self._catalogue.oldest(c), self._catalogue.retain(c)
        files = self._disk.list()
        segments = sum(map(len, head.live.values()))
        size = sum(map(self._disk.size, files))
        return Usage(oldest, head.version.n, retain, len(files), size, segments, tuple(sorted(files - named)))

    def check_segments(self) -> int:
        """Read everything that is stored, of all versions that are kept, and compare digests: how many blobs. Other
        processes may go on meanwhile. Raises CorruptState."""
        self._check_open()
        with self._catalogue.transaction() as c:
            self._catalogue.check_segments(c)
            blobs = self._catalogue.blobs(c)
        for blob in blobs:
            self._check_blob(blob)
        return len(blobs)

    def _check_blob(self, blob: Blob) -> None:
        try:
            self._disk.verify(blob, self._disk.map(blob))
        except CorruptState:
            with self._catalogue.transaction() as c:
                if blob.file in self._catalogue.files(c):  # and not gone meanwhile, with the last version that had it
                    raise

    # ------------------------------------------------------------ writing

    def commit(self, change: Change, parent: int) -> int:
        """Apply ``change`` on top of version ``parent``; the new version's number.

        Raises Stale when ``parent`` is no longer the newest (someone else committed), BatchConflict when (source,
        seq) was applied before, and whatever the change itself does wrong. After any error nothing has changed.
        """
        return self._advance(change, parent, None)

    def compact(self, everything: bool = False) -> int:
        """Merge segments until no tier asks for it, or each table into one; the rows that were rewritten.

        One commit after another, each of a bounded size, so that other writers get their turn; readers never wait.
        """
        before = self.rewritten
        while True:
            with self._catalogue.transaction() as c:
                parent = self._catalogue.newest(c)
            with contextlib.suppress(Stale):  # somebody's batch came first: look again
                change = Change(note={"kind": "compact"})
                if self._advance(change, parent, "all" if everything else "due") == parent:
                    return self.rewritten - before

    def vacuum(self, keep: int | None = None) -> Swept:
        """Forget the versions beyond ``keep`` besides the newest (what the state says without one), and remove files
        that nothing names. Versions and files that a reader still uses elsewhere end with a clear error there."""
        self._check_open()
        with self._catalogue.transaction(write=True) as c:
            oldest, newest = self._catalogue.oldest(c), self._catalogue.newest(c)
            self._catalogue.forget(c, newest - (self._catalogue.retain(c) if keep is None else check_keep(keep)))
            forgotten = self._catalogue.oldest(c) - oldest
        with self._catalogue.transaction(write=True) as c:  # after the commit, or a name could be without its file
            files = sorted(self._disk.list() - self._catalogue.files(c))
            size = sum(map(self._disk.size, files))
            self._remove(files)
        return Swept(forgotten, len(files), size)

    def _set_retain(self, versions: int) -> None:
        with self._catalogue.transaction() as c:
            same = self._catalogue.retain(c) == check_keep(versions, 1)
        if not same:
            with self._catalogue.transaction(write=True) as c:
                self._catalogue.set_retain(c, versions)

    def _advance(self, change: Change, parent: int, merge: Merge | None) -> int:
        """The number of the new version; ``parent`` for a merge that has nothing to do."""
        self._check_open()
        written: list[str] = []
        try:
            with self._catalogue.transaction(write=True) as c:
                head = self._load(c)
                self._check_parent(c, head, change, parent)
                self._sweep(c)
                draft = Draft(head, change, self._reader, self._catalogue.next_segment(c), merge)
                if merge and not draft.merged:
                    return parent
                for pack in draft.packs:
                    written.append(pack.file)
                    pack.write(self._disk)
                if written:
                    self._disk.sync_folder()
                self._catalogue.advance(c, head, draft.head, draft.born)
                gone = self._catalogue.forget(c, draft.head.version.n - self._catalogue.retain(c), FORGET)
        except BaseException:
            self._discard(written)
            raise
        self._cached = draft.head
        self.rewritten += draft.rewritten
        self._remove(gone)
        return draft.head.version.n

    def _check_files(self, files: Collection[str], newest: int) -> None:
        """Raises CorruptState for files of later versions than a writer that died can have left. A catalogue elsewhere
        may have been put back from a backup that is older than the files."""
        ahead = max((int(f.partition("-")[0]) for f in files if is_pack(f)), default=0)
        if ahead > newest + 1 and self._catalogue.beside:
            what = "the catalogue is older than the segments"
            raise CorruptState(what, where=self._catalogue.where, wanted=f"version {ahead - 1} or later", got=newest)

    def _check_parent(self, c: Connection, head: Head, change: Change, parent: int) -> None:
        if head.version.n != parent:
            what = "another commit came first: this change was computed from an older version"
            raise Stale(what, where=str(self.path), wanted=f"version {parent}", got=f"version {head.version.n}")
        if (change.source is None) != (change.seq is None):
            raise StateError("a batch has both a source and a seq or neither", got=(change.source, change.seq))
        if change.source is not None and change.seq is not None:
            check_batch(change.source, change.seq)
            before: Known | None = self._catalogue.applied(c, change.source, change.seq)
            if before is not None:
                where = f"{change.source}:{change.seq}"
                raise BatchConflict("this batch was applied before", where=where, got=f"version {before.n}")

    def _sweep(self, c: Connection) -> None:
        """Remove what a writer that died has left, once; ``c`` holds the write lock, so no other writer is at work."""
        if not self._swept:
            for file in self._disk.list() - self._catalogue.files(c):
                self._disk.remove(file)
            self._swept = True

    def _remove(self, files: Iterable[str]) -> None:
        """Remove files that no row names any longer. That one cannot be removed now is no failure of the commit that
        is done: the next process to write here removes it."""
        for file in files:
            with contextlib.suppress(StateError):
                self._disk.remove(file)

    def _discard(self, written: list[str]) -> None:
        """Remove the files of a failed commit, but for those that a commit with an unclear outcome has named.

        A commit whose answer was lost may not have ended yet. It holds the lock as long as it lasts.
        """
        if not written:
            return
        self._swept = False  # what cannot be removed now, the next commit removes
        with contextlib.suppress(RipplenestError, OSError), self._catalogue.transaction(write=True) as c:
            named = self._catalogue.files(c)
            for file in written:
                if file not in named:
                    self._disk.remove(file)

    # ------------------------------------------------------------ the newest version, loaded once

    def _head(self) -> Head:
        self._check_open()
        with self._catalogue.transaction() as c:
            return self._load(c)

    def _load(self, c: Connection) -> Head:
        tip = self._catalogue.tip(c)
        if self._cached is None or (self._cached.version.n, self._cached.version.state) != tip:
            self._cached = self._catalogue.head(c)
        return self._cached

    def _check_open(self) -> None:
        if self._closed:
            raise StateError("the store is closed", where=str(self.path))


def _entry(v: Version) -> Entry:
    return Entry(v.n, datetime.fromisoformat(v.time), v.source, v.seq, note_of(v.note))


def check_batch(source: str, seq: int) -> None:
    """Raises StateError for a (source, seq) that no batch can have: databases hold 64 bits, and True is no 1."""
    is_number = isinstance(seq, int) and not isinstance(seq, bool) and -(2**63) <= seq < 2**63
    if not isinstance(source, str) or not is_number:
        raise StateError("not the name of a batch", wanted="a text and an integer of 64 bits", got=(source, seq))


def check_keep(versions: int, least: int = 0) -> int:
    """A number of versions to keep. Raises StateError for one that is none."""
    if isinstance(versions, bool) or not isinstance(versions, int) or not least <= versions < 2**63:
        raise StateError("not a number of versions to keep", wanted=f"{least} or more", got=versions)
    return versions
