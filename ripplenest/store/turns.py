"""Turns of writers. A change is computed from a version and is void when another commit came first; who takes long
would never be done beside writers that are quick. Whoever was overtaken several times has the turn: who begins waits.

Law: while a writer has the turn, no other one begins, so each of them commits once more at most. The lock is that of
the folder, and goes with the process that has it. One that hangs is waited for so long and no longer, and where the
file system has no locks, nobody waits.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from ripplenest.errors import NotKept, Stale

TRIES = 4  # how often a change is computed before it has the turn
IN_TURN = 16  # and then: whoever had begun before may commit once more
WAIT = 300.0  # seconds
PAUSE = 0.002
T = TypeVar("T")


def retried(folder: Path, attempt: Callable[[], T], tries: int = TRIES) -> T:
    """What ``attempt`` gives; it is made again from the newer version when another commit came first."""
    for _ in range(tries):
        await_turn(folder)
        with suppress(Stale, NotKept):  # the version that it read may have gone meanwhile, where few are kept
            return attempt()
    with turn(folder):
        for _ in range(IN_TURN - 1):
            with suppress(Stale, NotKept):
                return attempt()
        return attempt()


def await_turn(folder: Path) -> None:
    """Returns when nobody has the turn."""
    with _locked(folder, fcntl.LOCK_SH):
        pass


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Has the turn for the block."""
    with _locked(folder, fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(folder: Path, kind: int) -> Iterator[None]:
    try:
        held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # what becomes of the folder is said by who works in it
        yield
        return
    try:
        end = time.monotonic() + WAIT
        while not _is_free(held, kind) and time.monotonic() < end:
            time.sleep(PAUSE)
        yield
    finally:
        os.close(held)


def _is_free(held: int, kind: int) -> bool:
    """Whether the lock was free, and is taken now; or there are no locks here."""
    try:
        fcntl.flock(held, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
