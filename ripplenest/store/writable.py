"""Commits: the files of a version first, then the rows that name them, under the only write transaction."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy.engine import Connection

from ripplenest.data.room import Room
from ripplenest.errors import BatchConflict
from ripplenest.nrc.errors import RipplenestError, StateError
from ripplenest.store.commit import Draft
from ripplenest.store.database.catalogue import Catalogue
from ripplenest.store.database.chain import Head
from ripplenest.store.disk import Disk
from ripplenest.store.parts import Merge
from ripplenest.store.readable import Newest, Readable, check_batch, stale
from ripplenest.store.specs import Change
from ripplenest.store.staging import sweep

FORGET = 2  # versions that one commit forgets at most, so that it does not pay for a new setting alone


class Writable(Readable):
    """An open state as its writers see it."""

    def __init__(self, path: Path, catalogue: Catalogue, disk: Disk, room: Room) -> None:
        super().__init__(path, catalogue, disk, room)
        self._swept = False
        self.rewritten = 0  # rows that merges of this object wrote

    def commit(self, change: Change, parent: int) -> int:
        """Apply ``change`` on top of version ``parent``; the new version's number.

        Raises Stale when ``parent`` is no longer the newest (someone else committed), BatchConflict when (source,
        seq) was applied before, and whatever the change itself does wrong. After any error nothing has changed.
        """
        return self._advance(change, parent, None)

    def _advance(self, change: Change, parent: int, merge: Merge | None) -> int:
        """The number of the new version; ``parent`` for a merge that has nothing to do."""
        self.check_open()
        written: list[str] = []
        try:
            with self._catalogue.transaction(write=True) as c:
                tip = self._catalogue.tip(c)
                seen = self._look(c, tip)
                head = seen.head
                self._check_parent(c, head, change, parent)
                self._sweep(c)
                draft = Draft(head, change, self._reader, self.room, tip.last_segment + 1, merge, tip.oldest)
                if merge and not draft.merged:
                    return parent
                for pack in draft.packs:
                    written.append(pack.file)
                    pack.write(self._disk)
                for made, file in draft.adopted:
                    written.append(file)
                    self._disk.adopt(made, file)
                if written:
                    self._disk.sync_folder()
                self._catalogue.advance(c, head, draft.head, draft.born)
                before = draft.head.version.n - self._catalogue.retain(tip)
                forgotten = self._catalogue.forget(c, tip, before, FORGET)
        except BaseException:
            self._discard(written)
            raise
        lasts = seen.after(change.source, change.seq)
        self._seen = Newest(draft.head, forgotten.oldest, draft.changes, lasts)
        self._reader.remember(draft.made)
        self.rewritten += draft.rewritten
        self._remove(forgotten.files)
        return draft.head.version.n

    def _check_parent(self, c: Connection, head: Head, change: Change, parent: int) -> None:
        if head.version.n != parent:
            raise stale(self.path, parent, head.version.n)
        if (change.source is None) != (change.seq is None):
            raise StateError("a batch has both a source and a seq or neither", got=(change.source, change.seq))
        if change.source is not None and change.seq is not None:
            check_batch(change.source, change.seq)
            if self._catalogue.is_applied(c, change.source, change.seq):
                before = self._catalogue.applied(c, change.source, change.seq)
                where, got = f"{change.source}:{change.seq}", before and f"version {before.n}"
                raise BatchConflict("this batch was applied before", where=where, got=got)

    def _sweep(self, c: Connection) -> None:
        """Remove what a writer that died has left, once; ``c`` holds the write lock, so no other writer is at work.
        What tasks wrote for one that died goes whenever it is seen: others are at work there, and hold locks of their
        own."""
        sweep(self.path)
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
