"""The life of a state from nothing to the last batch, and what may be found when it was cut short.

A life does what is left to do: it opens, declares what is not declared, and sends every batch again. So it is also what
a user does after a crash. A ``Life`` knows from plain lists what the state holds after each batch, and ``examine`` says
whether a folder holds that: the version that was acknowledged last or the next one, all of every batch or nothing; and
in the end the same state as if nothing had happened, without anything left over.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import pytest
from attrs import frozen

from ripplenest import Database
from ripplenest.store import Change, Store, commit, merging
from support.crashes import Tell

SOURCE = "shop"
Handle = TypeVar("Handle", Store, Database)


@frozen
class Found:
    """A state as it was found: the version, and how many batches are in it."""

    version: int
    batches: int


class Life(ABC, Generic[Handle]):
    """A state that goes through all that a store does."""

    @abstractmethod
    def open(self, folder: Path) -> Handle:
        """An open state; nothing is declared in it."""

    @abstractmethod
    def live(self, folder: Path, tell: Tell) -> None:
        """Do what is left to do, and tell "version batches" whenever something is acknowledged."""

    @abstractmethod
    def go_on(self, handle: Handle, tell: Tell) -> None:
        """``live`` on a state that is open."""

    @abstractmethod
    def look(self, handle: Handle) -> Found:
        """Read everything; AssertionError unless it is what plain lists say after so many batches."""

    @abstractmethod
    def digest(self, handle: Handle) -> str:
        """Of all that the newest version holds."""

    @property
    @abstractmethod
    def last(self) -> str:
        """The digest after an undisturbed life."""

    def recovers(self, folder: Path, said: Iterable[str]) -> None:
        """Nothing that was acknowledged is lost and nothing else is there; then the whole life again: the state is the
        undisturbed one, and nothing is left over."""
        with self.open(folder) as handle:
            self.examine(handle, said)
            self.go_on(handle, lambda _: None)
        self.complete(folder)

    def examine(self, handle: Handle, said: Iterable[str]) -> None:
        version, batches = told(said)
        found = self.look(handle)
        assert found.version - version in (0, 1), f"version {version} was acknowledged, {found.version} found"
        assert found.batches - batches in (0, 1), f"{batches} batches were acknowledged, {found.batches} found"

    def complete(self, folder: Path) -> None:
        """The state holds what an undisturbed life holds, and after one more commit no file that nothing names."""
        with self.open(folder) as handle:
            assert self.digest(handle) == self.last
            store = handle if isinstance(handle, Store) else handle._store
            store.commit(Change(note={"kind": "one more"}), store.version)
            left = leftovers(folder, store)
        assert not left, f"left over: {left}"


def told(said: Iterable[str]) -> tuple[int, int]:
    """The last (version, batches) that was acknowledged."""
    lines = list(said)
    version, batches = lines[-1].split() if lines else ("0", "0")
    return int(version), int(batches)


def leftovers(folder: Path, store: Store) -> list[str]:
    """Files that have no business in a state that nobody uses."""
    ours = {"catalogue.sqlite", "catalogue.sqlite-journal", "segments"}
    return sorted({*store.usage().orphans, *(p.name for p in folder.iterdir())} - ours)


def digest_of(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()


@contextmanager
def merging_soon() -> Iterator[None]:
    """Segments are merged when there are a few of them, so that a short life meets it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "FANOUT", 3)
        patch.setattr(commit, "LITTLE", 8)  # some merges lie in a file of their own
        yield
