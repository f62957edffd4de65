"""Processes that die at any step, and disks that refuse: simulated in this process, so that it costs nothing."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from ripplenest.store import Change, Disk, Store, commit, merging, parts


class Death(BaseException):
    """The process ends here: whatever it would still do to the disk or the catalogue, it does not."""


STEP, DISK, RETURN = "the process dies", "the disk refuses, once", "the process dies when its commit has returned"


class Fate:
    """What happens to a process at its next steps: those of ``Disk.step``, and every statement and commit of SQL."""

    def __init__(self) -> None:
        self.struck = False
        self.spare()

    def spare(self) -> None:
        """Nothing happens from now on."""
        self.how, self.left, self.dead = "", 0, False
        self.meanwhile: Callable[[], object] | None = None  # done once, before the next commit

    def strike(self, how: str, after: int) -> None:
        """``how`` it happens, after so many steps of its kind."""
        self.how, self.left = how, after

    def step(self, *kinds: str) -> None:
        """A step, at which fates of these ``kinds`` are met."""
        if self.dead:
            raise Death
        self.left -= self.how in kinds
        if self.how in kinds and self.left == 0:
            self.struck, self.dead = True, self.how != DISK
            raise OSError(errno.ENOSPC, "No space left on device") if self.how == DISK else Death


@contextmanager
def one_fate() -> Iterator[Fate]:
    """That of all stores while it lasts. Merges come early then, and leave something for compaction."""
    found, plain = Fate(), Store.commit

    def statement(*_: Any) -> None:
        found.step(STEP)

    def committed(store: Store, change: Change, parent: int) -> int:
        act, found.meanwhile = found.meanwhile, None
        if act is not None:
            act()
        version = plain(store, change, parent)
        found.step(RETURN)
        return version

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Disk, "step", lambda *_: found.step(STEP, DISK))
        patch.setattr(Store, "commit", committed)
        patch.setattr(merging, "FANOUT", 3)
        patch.setattr(merging, "TIER_ROWS", 4)
        patch.setattr(parts, "BUDGET", 4)
        patch.setattr(parts, "LITTLE", 4)  # some are sums of their own
        patch.setattr(commit, "LITTLE", 2)  # some merges lie in a file of their own
        events = ("before_cursor_execute", "commit")
        for event in events:
            sa.event.listen(sa.Engine, event, statement)
        yield found
        for event in events:
            sa.event.remove(sa.Engine, event, statement)
