"""The store: versions of tables of weighted rows in one directory, committed one by one, each all or nothing.

Theory of operation. A commit is four steps under one write transaction of the catalogue: check that the parent is
still the newest version; write the pack files; fsync them and their folder; insert the rows that name them. The
transaction's own commit is the only moment of visibility. Before it, no row names the files, and they are removed; a
process that dies leaves them, and the next writer removes them, which is safe because the transaction makes it the
only writer. Files never change once they are named, so readers need no locks: a snapshot is a list of segments.
"""

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from sqlalchemy.engine import Connection

from ripplenest.nrc.errors import BatchConflict, RipplenestError, StateError
from ripplenest.store.catalogue import FILE, Catalogue, Head, Live
from ripplenest.store.commit import Draft
from ripplenest.store.disk import Disk
from ripplenest.store.segments import Reader
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import Applied, Change, TableSpec

SEGMENTS = "segments"


class Store:
    """A state directory. Use ``Store.open``; several may be open on one directory, also in different processes."""

    def __init__(self, path: Path, catalogue: Catalogue, disk: Disk) -> None:
        self.path = path
        self._catalogue, self._disk = catalogue, disk
        self._reader = Reader(disk)
        self._cached: Head | None = None
        self._swept = self._closed = False

    @classmethod
    def open(cls, path: str | os.PathLike[str], disk: Callable[[Path], Disk] = Disk) -> "Store":
        """Open the state in ``path``, made with mode 0700 when there is none.

        Raises StateError for a folder of something else or a state of another format, CorruptState for a damaged one.
        """
        folder = Path(path).absolute()
        if folder.exists() and not (folder / FILE).exists():
            foreign = sorted(Disk(folder).list() - {SEGMENTS, f"{FILE}-journal"})
            if foreign:
                wanted = f"a folder with {FILE}, or an empty one"
                raise StateError("not a state directory", where=str(folder), wanted=wanted, got=foreign[0])
        Disk(folder).create()
        files = disk(folder / SEGMENTS)
        files.create()
        catalogue = Catalogue(folder)
        store = cls(folder, catalogue, files)
        try:
            catalogue.prepare(files.list)
            store._head()
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
            live = head.live if version is None else self._live(c, head, version)
        n = head.version.n if version is None else version
        return Snapshot(n, head.schema, live, self._catalogue, self._reader)

    def applied(self, source: str, seq: int) -> Applied | None:
        """The version that the batch (source, seq) became, None when it was not applied."""
        self._check_open()
        with self._catalogue.transaction() as c:
            version = self._catalogue.applied(c, source, seq)
        return None if version is None else Applied(version.n, version.digest, json.loads(version.note))

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

    # ------------------------------------------------------------ writing

    def commit(self, change: Change, parent: int) -> int:
        """Apply ``change`` on top of version ``parent``; the new version's number.

        Raises StateError when ``parent`` is no longer the newest (someone else committed), BatchConflict when (source,
        seq) was applied before, and whatever the change itself does wrong. After any error nothing has changed.
        """
        self._check_open()
        written: list[str] = []
        try:
            with self._catalogue.transaction(write=True) as c:
                head = self._load(c)
                self._check_parent(c, head, change, parent)
                self._sweep(c)
                draft = Draft(head, change, self._reader, self._catalogue.next_segment(c))
                for pack in draft.packs:
                    written.append(pack.file)
                    pack.write(self._disk)
                if written:
                    self._disk.sync_folder()
                self._catalogue.advance(c, head, draft.head, draft.born, draft.dead, draft.indexes)
        except BaseException:
            self._discard(written)
            raise
        self._cached = draft.head
        return draft.head.version.n

    def _check_parent(self, c: Connection, head: Head, change: Change, parent: int) -> None:
        if head.version.n != parent:
            what = "another commit came first: this change was computed from an older version"
            raise StateError(what, where=str(self.path), wanted=f"version {parent}", got=f"version {head.version.n}")
        if (change.source is None) != (change.seq is None):
            raise StateError("a batch has both a source and a seq or neither", got=(change.source, change.seq))
        if change.source is not None and change.seq is not None:
            before = self._catalogue.applied(c, change.source, change.seq)
            if before is not None:
                where = f"{change.source}:{change.seq}"
                raise BatchConflict("this batch was applied before", where=where, got=f"version {before.n}")

    def _sweep(self, c: Connection) -> None:
        """Remove what a writer that died has left, once; ``c`` holds the write lock, so no other writer is at work."""
        if not self._swept:
            for file in self._disk.list() - self._catalogue.files(c):
                self._disk.remove(file)
            self._swept = True

    def _discard(self, written: list[str]) -> None:
        """Remove the files of a failed commit, but for those that a commit with an unclear outcome has named."""
        with contextlib.suppress(RipplenestError, OSError):
            named = self._named() if written else set()
            for file in written:
                if file not in named:
                    self._disk.remove(file)

    def _named(self) -> set[str]:
        with self._catalogue.transaction() as c:
            return self._catalogue.files(c)

    # ------------------------------------------------------------ the newest version, loaded once

    def _head(self) -> Head:
        self._check_open()
        with self._catalogue.transaction() as c:
            return self._load(c)

    def _load(self, c: Connection) -> Head:
        newest = self._catalogue.newest(c)
        if self._cached is None or self._cached.version.n != newest:
            self._cached = self._catalogue.head(c)
        return self._cached

    def _live(self, c: Connection, head: Head, version: int) -> Live:
        if version == head.version.n:
            return head.live
        if not 0 <= version <= head.version.n:
            raise StateError("no such version", where=str(self.path), wanted=f"0 to {head.version.n}", got=version)
        return self._catalogue.live(c, self._catalogue.version(c, version))

    def _check_open(self) -> None:
        if self._closed:
            raise StateError("the store is closed", where=str(self.path))
