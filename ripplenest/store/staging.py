"""Where tasks write what a commit is to name: a folder of its own for each piece of work, beside the segments.

Several processes write at once, and none of them has the write transaction. So what they make does not stand among the
segments, where the next writer removes what no row names, but in ``staging/<token>``: the commit moves files from there
to the segments, under names of its version, before it names them. Attempts of a task that failed, that came twice or
that nobody waited for have names of their own, which nothing asks for.

Who is at work holds a lock on ``<token>.lock``, which the system lets go of when its process ends, however it ends. So
a folder whose lock can be had is that of a process that died, and the next writer removes it. The lock file comes
before the folder and goes after it: a folder without one is nobody's.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

from attrs import field, frozen

from ripplenest.data.naming import Numbers, array_numbers, row_numbers
from ripplenest.nrc.errors import StateError
from ripplenest.store.disk import Disk, refusals

FOLDER = "staging"
LOCK = ".lock"
NUMBERS = "numbers"


@frozen
class Staging:
    """The folder of one piece of work; ``held`` is the lock of who does it."""

    disk: Disk
    token: str
    held: int = field(repr=False)

    @property
    def folder(self) -> Path:
        return self.disk.folder / self.token

    @classmethod
    def begin(cls, state: Path) -> "Staging":
        """A new one in the folder of a state. Raises StateError when the file system refuses."""
        disk, held = Disk(state / FOLDER), None
        while held is None:
            disk.create()
            token = token_hex(8)
            held = _locked(disk, f"{token}{LOCK}")
        found = cls(disk, token, held)
        try:
            Disk(found.folder).create()
        except BaseException:
            found.end()
            raise
        return found

    @property
    def is_numbered(self) -> bool:
        """Whether numbers of a version were taken (``Shared``)."""
        return any(self.folder.glob(f"*.{NUMBERS}"))

    def end(self) -> None:
        """Remove what is left of it."""
        try:
            _remove(self.disk, self.token)
        finally:
            os.close(self.held)

    def __enter__(self) -> "Staging":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def file_name() -> str:
    """A name that no other attempt has."""
    return token_hex(16)


def sweep(state: Path) -> None:
    """Remove what processes that died have left. What cannot be removed now, somebody else removes later."""
    for token in left_over(state):
        _remove(Disk(state / FOLDER), token)


def left_over(state: Path) -> Iterator[str]:
    """What processes that died have left, while this one holds their locks."""
    folder = state / FOLDER
    if not folder.is_dir():
        return
    for token in sorted({name.removesuffix(LOCK) for name in Disk(folder).list(folders=True)}):
        with _free(folder / f"{token}{LOCK}") as free:
            if free:
                yield token


def _locked(disk: Disk, file: str) -> int | None:
    """The lock of a new file; None when somebody took the file for one of the dead before it was locked, or the folder
    went, where nobody else was."""
    with refusals(disk.folder / file):
        disk.step("create", file)
        try:
            held = os.open(disk.folder / file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(held).st_nlink:
                return held
        except BlockingIOError:
            pass
        except BaseException:
            os.close(held)
            raise
        os.close(held)
        return None


@contextlib.contextmanager
def _free(lock: Path) -> Iterator[bool]:
    """Whether nobody is at work under this lock, and nobody begins meanwhile."""
    try:
        held = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield not lock.exists()
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(held)


def _remove(disk: Disk, token: str) -> None:
    """Its files, its folder, its lock. Tasks that go on may write meanwhile: then the folder stays, and nothing is said
    of it."""
    own = Disk(disk.folder / token)
    with contextlib.suppress(OSError, StateError):
        for file in own.list() if own.folder.is_dir() else ():
            own.remove(file)
        if own.folder.is_dir():
            disk.step("remove", token)
            own.folder.rmdir()
        disk.remove(f"{token}{LOCK}")
        disk.folder.rmdir()  # if nobody else is there


class Shared(Numbers):
    """Numbers that several processes take, each of them once: how many are taken stands in a file of the folder, which
    is locked meanwhile. Those of an attempt that failed are nobody's."""

    def __init__(self, folder: Path, name: str, every: Numbers) -> None:
        super().__init__(every.next, every.end)
        self._start, self._file = every.next, folder / f"{name}.{NUMBERS}"

    @classmethod
    def of_rows(cls, folder: Path, version: int) -> "Shared":
        """Of rows that come in ``version`` (``naming.row_numbers``)."""
        return cls(folder, "rows", row_numbers(version))

    @classmethod
    def of_arrays(cls, folder: Path, version: int) -> "Shared":
        """Of rows below arrays that come in ``version`` (``naming.array_numbers``)."""
        return cls(folder, "arrays", array_numbers(version))

    def take(self, many: int) -> range:
        """As many that were not given out."""
        if not many:
            return range(self._start, self._start)
        with refusals(self._file):
            counter = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(counter, fcntl.LOCK_EX)
                self.next = self._start + int(os.pread(counter, 32, 0) or b"0")
                found = super().take(many)
                os.pwrite(counter, str(found.stop - self._start).encode(), 0)
            finally:
                os.close(counter)
        return found
