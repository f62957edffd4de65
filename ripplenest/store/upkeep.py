"""The upkeep of a state besides what commits do of it: merging, forgetting, removing, checking, and its size."""

import contextlib
from collections.abc import Iterable

from ripplenest.errors import Stale
from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.store.disk import Blob
from ripplenest.store.specs import Batch, Change, Swept, Usage
from ripplenest.store.staging import sweep
from ripplenest.store.writable import Writable

COMPACTED = {"kind": "compact"}


class Upkeep(Writable):
    """An open state as its operators see it."""

    def compact(self, everything: bool = False) -> int:
        """Merge segments until no tier asks for it, or each table into one; the rows that were rewritten.

        One commit after another, each of a bounded size, so that other writers get their turn; readers never wait.
        """
        before = self.rewritten
        while self.merge(everything):
            pass
        return self.rewritten - before

    def merge(self, everything: bool = False) -> bool:
        """One of these commits; whether there was something to merge."""
        while True:
            parent = self.version
            with contextlib.suppress(Stale):  # somebody's batch came first: look again
                return self._advance(Change(note=COMPACTED), parent, "all" if everything else "due") != parent

    def vacuum(self, keep: int | None = None) -> Swept:
        """Forget the versions beyond ``keep`` besides the newest (what the state says without one), and remove files
        that nothing names. Versions and files that a reader still uses elsewhere end with a clear error there."""
        self.check_open()
        with self._catalogue.transaction(write=True) as c:
            tip = self._catalogue.tip(c)
            kept = self._catalogue.retain(tip) if keep is None else check_keep(keep)
            forgotten = self._catalogue.forget(c, tip, tip.n - kept).oldest - tip.oldest
        with self._catalogue.transaction(write=True) as c:  # after the commit, or a name could be without its file
            files = sorted(self._disk.list() - self._catalogue.files(c))
            size = sum(map(self._disk.size, files))
            self._remove(files)
            sweep(self.path)
        return Swept(forgotten, len(files), size)

    def batches(self) -> list[Batch]:
        """(source, seq, digest) of every batch that was applied."""
        self.check_open()
        with self._catalogue.transaction() as c:
            return self._catalogue.batches(c)

    def remember(self, batches: Iterable[Batch]) -> None:
        """Know ``batches`` as applied: those of a state that this one was made of."""
        self.check_open()
        with self._catalogue.transaction(write=True) as c:
            self._catalogue.remember(c, batches)
        self._seen = None  # sources are further now, at the same version

    def usage(self) -> Usage:
        """What the state takes up."""
        self.check_open()
        with self._catalogue.transaction() as c:
            tip = self._catalogue.tip(c)
            head, named = self._look(c, tip).head, self._catalogue.files(c)
        files = self._disk.list()
        segments = sum(map(len, head.live.values()))
        size, retain = sum(map(self._disk.size, files)), self._catalogue.retain(tip)
        return Usage(tip.oldest, tip.n, retain, len(files), size, segments, tuple(sorted(files - named)))

    def check_segments(self) -> int:
        """Read everything that is stored, of all versions that are kept, and compare digests: how many blobs. Other
        processes may go on meanwhile. Raises CorruptState."""
        self.check_open()
        with self._catalogue.transaction() as c:
            self._catalogue.check_segments(c)
            blobs = self._catalogue.blobs(c)
        for blob in blobs:
            self._check_blob(blob)
        return len(blobs)

    def _check_blob(self, blob: Blob) -> None:
        try:
            self._reader.check(blob)
        except CorruptState:
            with self._catalogue.transaction() as c:
                if blob.file in self._catalogue.files(c):  # and not gone meanwhile, with the last version that had it
                    raise

    def _set_retain(self, versions: int) -> None:
        with self._catalogue.transaction() as c:
            same = self._catalogue.retain(self._catalogue.tip(c)) == check_keep(versions, 1)
        if not same:
            with self._catalogue.transaction(write=True) as c:
                self._catalogue.set_retain(c, versions)


def check_keep(versions: int, least: int = 0) -> int:
    """A number of versions to keep. Raises StateError for one that is none."""
    if isinstance(versions, bool) or not isinstance(versions, int) or not least <= versions < 2**63:
        raise StateError("not a number of versions to keep", wanted=f"{least} or more, of 64 bits", got=versions)
    return versions
