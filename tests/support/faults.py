"""File systems that refuse: at a step of the ``Disk`` seam or of the catalogue, or in a system call itself.

``Fault`` is a hook for ``stepping`` that raises what Python raises there. ``Injected`` lets strace answer a system call
with an error, so that SQLite meets it too.
"""

import errno
import os
import re
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable

import sqlalchemy as sa
from attrs import frozen

from support.crashes import Child, Tell, changes
from support.traces import STRACE, attached

SQLITE = {errno.ENOSPC: "SQLITE_FULL", errno.EIO: "SQLITE_IOERR", errno.EACCES: "SQLITE_READONLY"}


class Fault:
    """Fails at step ``at``; with ``lasting`` at every step from then on, until ``mended``."""

    def __init__(self, at: int, code: int, lasting: bool) -> None:
        self._left, self._code, self._lasting = at, code, lasting
        self.failed: list[tuple[str, str]] = []  # steps
        self.synced: list[str] = []  # files whose bytes the program had made durable, or wanted to
        self._mended = False

    def mend(self) -> None:
        self._mended = True

    def __call__(self, what: str, name: str) -> None:
        if not changes(what, name):
            return
        if what == "sync":
            self.synced.append(name)
        self._left -= 1
        if self._mended or not (self._left == 0 or (self._lasting and self._left < 0)):
            return
        self.failed.append((what, name))
        if what == "sql":
            raise sa.exc.OperationalError(name, None, self._sqlite())
        raise self._sqlite() if what == "commit" else OSError(self._code, os.strerror(self._code))

    def _sqlite(self) -> sqlite3.OperationalError:
        error = sqlite3.OperationalError(os.strerror(self._code))
        error.sqlite_errorname = SQLITE[self._code]
        return error


@frozen
class Injected:
    """A system call that failed, with the path of its file (empty where strace says none), and what the child told."""

    path: str
    said: tuple[str, ...]


def injected(body: Callable[[Tell], None], call: str, code: str, at: int) -> Injected | None:
    """Run ``body`` in a child whose system call number ``at`` of the name ``call`` fails with ``code``.

    None when there are not so many calls.
    """
    child = Child(body, held=True)
    with tempfile.NamedTemporaryFile("r") as out:
        rule = f"inject={call}:error={code}:when={at}"
        command = [str(STRACE), "-f", "-y", "-e", f"trace={call}", "-e", rule, "-o", out.name, "-p", str(child.pid)]
        tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            attached(tracer)
        finally:
            child.go()
            ended = child.end()
            tracer.communicate()
        lines = [line for line in out.read().splitlines() if line.endswith("(INJECTED)")]
    found = re.search(r"\(\d+<([^>]*)>", lines[0]) if lines else None
    return Injected(found[1] if found else "", ended.said) if lines else None
