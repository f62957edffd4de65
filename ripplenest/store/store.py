"""The store: versions of tables of weighted rows in one directory, committed one by one, each all or nothing.

Theory of operation. A commit is four steps under one write transaction of the catalogue: check that the parent is
still the newest version; write the pack files; fsync them and their folder; insert the rows that name them. The
transaction's own commit is the only moment of visibility. Before it, no row names the files, and they are removed; a
process that dies leaves them, and the next writer removes them, which is safe because the transaction makes it the
only writer. Files never change once they are named, so readers need no locks: a snapshot is a list of segments.

Each commit also forgets the versions that the state does not keep any longer, a few at a time; their files are removed
after the transaction, so that one which dies in between leaves files that nothing names, and never names without files.

A store is three things on top of one another: ``readable`` answers questions, ``writable`` makes commits, ``upkeep``
merges, forgets and checks. Here is how one is opened.
"""

import os
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType

from ripplenest.data.room import DEFAULT, Room
from ripplenest.nrc.errors import CorruptState
from ripplenest.store.database.catalogue import FORMATS, Catalogue
from ripplenest.store.disk import SEGMENTS, Disk, is_pack
from ripplenest.store.folder import backend_of
from ripplenest.store.upkeep import Upkeep, check_keep


class Store(Upkeep):
    """A state directory. Use ``Store.open``; several may be open on one directory, also in different processes."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        disk: Callable[[Path], Disk] = Disk,
        catalogue: str | None = None,
        retain: int | None = None,
        formats: Collection[str] = FORMATS,
        memory: int = DEFAULT,
    ) -> "Store":
        """Open the state in ``path``, made with mode 0700 when there is none.

        ``catalogue`` is the URL of a PostgreSQL database; without one the catalogue is a file in ``path``. ``retain``
        says how many versions are kept besides the newest, from now on: at least one, because a publication comes after
        the commit and reads what that changed. A state has one of ``formats``. ``memory`` is what work on it may take,
        in bytes. Raises StateError for a folder of something else, a state of another format or with its catalogue
        elsewhere, CorruptState for a damaged one, and EnvironmentProblem when the driver is missing.
        """
        if retain is not None:
            check_keep(retain, 1)
        folder = Path(path).absolute()
        root, files = disk(folder), disk(folder / SEGMENTS)
        found = Catalogue(backend_of(folder, root, catalogue))
        store = cls(folder, found, files, Room(memory, files.scratch))
        try:
            found.prepare(files.folder.is_dir, formats)
            files.create()
            root.sync_folder()  # names that a process made which died before it did this
            found.settle()
            there = files.list()  # first: a writer may go on meanwhile
            store._check_files(there, store.version)
            if retain is not None:
                store._set_retain(retain)
        except BaseException:
            store.close()
            raise
        return store

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_files(self, files: Collection[str], newest: int) -> None:
        """Raises CorruptState for files of later versions than a writer that died can have left. A catalogue elsewhere
        may have been put back from a backup that is older than the files."""
        ahead = max((int(f.partition("-")[0]) for f in files if is_pack(f)), default=0)
        if ahead > newest + 1 and self._catalogue.beside:
            what = "the catalogue is older than the segments"
            raise CorruptState(what, where=self._catalogue.where, wanted=f"version {ahead - 1} or later", got=newest)
