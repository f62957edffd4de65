"""Processes that end in the middle: what they did is on disk, what they had acknowledged came through a pipe.

``stepping`` calls a hook before each operation on files, before each SQL statement, and before and after each commit
(the end of a transaction that only read is no step).
``Child`` is a forked process; ``die_at`` makes a hook that kills it there with SIGKILL, which nothing can catch.
"""

import errno
import gc
import os
import select
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from attrs import define, frozen
from sqlalchemy.engine.default import DefaultDialect

from ripplenest.store.disk import Disk

Hook = Callable[[str, str], None]
Tell = Callable[[object], None]
READS = ("SELECT", "PRAGMA", "BEGIN", "ROLLBACK")  # dying there is dying at the step before
HANGS = 60.0  # seconds


@define
class Full:
    """A hook: the file system is full when no steps ``what`` are ``left``."""

    what: str
    left: int

    def __call__(self, step: str, _name: str) -> None:
        self.left -= step == self.what
        if self.left == 0 and step == self.what:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def stepping(hook: Hook) -> Iterator[None]:
    """``hook(what, name)`` is called before each step: "write" with a file's name, "sql" with a statement, …"""

    changed = False
    committed = DefaultDialect.do_commit

    def statement(_c: Any, _cursor: Any, sql: str, *_: Any) -> None:
        nonlocal changed
        hook("sql", sql)
        changed = changes("sql", sql) or (changed and not sql.startswith("BEGIN"))

    def do_commit(dialect: Any, connection: Any) -> None:
        if changed:
            hook("commit", "before")
        committed(dialect, connection)
        if changed:
            hook("commit", "after")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Disk, "step", lambda _, what, name: hook(what, name))
        patch.setattr(DefaultDialect, "do_commit", do_commit)
        sa.event.listen(sa.Engine, "before_cursor_execute", statement)
        try:
            yield
        finally:
            sa.event.remove(sa.Engine, "before_cursor_execute", statement)


def changes(what: str, name: str) -> bool:
    """Whether the disk may be another one after the step."""
    return what != "sql" or not name.lstrip().upper().startswith(READS)


class Die:
    """Kills this process at step ``at``; counts only those for which ``counted`` is true."""

    def __init__(self, at: int, counted: Callable[[str, str], bool]) -> None:
        self._left, self._counted = at, counted

    def __call__(self, what: str, name: str) -> None:
        if self._counted(what, name):
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


@frozen
class Ended:
    """How a child ended: killed or by itself, and the lines that it had told."""

    killed: bool
    said: tuple[str, ...]


class Child:
    """A forked process that runs ``body(tell)``; with ``held`` not before ``go``. ``end`` must be called."""

    def __init__(self, body: Callable[[Tell], None], held: bool = False) -> None:
        self._rest = b""
        self._read, write = os.pipe()
        held_at, self._go = os.pipe()
        self.pipe = os.fstat(write).st_ino
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            os.close(self._read)
            _run(body, held_at if held else None, write)
        os.close(write)
        os.close(held_at)

    def go(self) -> None:
        os.write(self._go, b"g")

    def kill(self) -> None:
        """End it now; nothing happens to one that has ended."""
        os.kill(self.pid, signal.SIGKILL)

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def lines(self) -> Iterator[str]:
        """What the child tells, until it ends. What was told before the loop was left is not told again."""
        deadline = time.monotonic() + HANGS
        while True:
            while b"\n" in self._rest:
                line, _, self._rest = self._rest.partition(b"\n")
                yield line.decode()
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.kill()
                os.waitpid(self.pid, 0)
                raise AssertionError(f"a child process hangs: {HANGS} s without a word")
            data = os.read(self._read, 65536)
            if not data:
                return
            self._rest += data

    def end(self) -> Ended:
        """Wait for the end. Raises AssertionError with the child's traceback when it failed."""
        said = tuple(self.lines())
        _, status = os.waitpid(self.pid, 0)
        os.close(self._read)
        os.close(self._go)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0, "\n".join(["a child process failed:", *said])
        return Ended(killed, said)


def _run(body: Callable[[Tell], None], held: int | None, write: int) -> None:
    """All that a child does; it never returns to the tests."""
    pa.set_cpu_count(1)  # threads do not survive a fork
    gc.disable()  # it would copy pages for nothing
    status = 1
    try:
        if held is not None:
            os.read(held, 1)
        body(lambda text: _tell(write, str(text)))
        status = 0
    except BaseException:  # whatever it is, the parent must hear of it
        _tell(write, traceback.format_exc())
    finally:
        os._exit(status)


def _tell(fd: int, text: str) -> None:
    line = f"{text}\n".encode()
    try:
        os.write(fd, line)
    except OSError:  # it was this call that a test lets fail
        os.write(fd, line)


def killed_at(step: int, body: Callable[[Tell], None], counted: Callable[[str, str], bool] = changes) -> Ended:
    """Run ``body`` in a child that is killed at ``step`` (1 is the first), or ends when there are not so many."""

    def dying(tell: Tell) -> None:
        with stepping(Die(step, counted)):
            body(tell)

    return Child(dying).end()


def steps_of(body: Callable[[Tell], None], counted: Callable[[str, str], bool] = changes) -> list[tuple[str, str]]:
    """The steps that ``body`` takes, in this process."""
    found: list[tuple[str, str]] = []
    with stepping(lambda what, name: found.append((what, name)) if counted(what, name) else None):
        body(lambda _: None)
    return found


def frozen_at(
    body: Callable[[Tell], None], folder: Path, copies: Path, counted: Callable[[str, str], bool] = changes
) -> list[tuple[Path, tuple[str, ...]]]:
    """Run ``body``, which changes ``folder``, in this process, and copy the folder at each step: what a kill there
    leaves, and what had been said. A kill changes no file, so this is the same disk at a fraction of the time."""
    found: list[tuple[Path, tuple[str, ...]]] = []
    said: list[str] = []

    def copy(what: str, name: str) -> None:
        if counted(what, name):
            place = copies / str(len(found) + 1)
            if folder.exists():
                shutil.copytree(folder, place)
            found.append((place, tuple(said)))

    with stepping(copy):
        body(lambda text: said.append(str(text)))
    return found
