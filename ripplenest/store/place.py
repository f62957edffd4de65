"""Where a state lives: what tells the one state of a history from its copies.

A copied folder has everything that the first one has, its identity too. What it cannot have is the place: so whoever
writes outside of the state (a publication) says there which place wrote, and goes on only from the same one.
"""

import os
import platform
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from ripplenest.data.naming import digest
from ripplenest.nrc.errors import StateError

HOST = "RIPPLENEST_HOST"  # the variable that names the host where its own name changes, as in containers
MACHINE = Path("/etc/machine-id")


@frozen
class Place:
    """Two marks of a place, as digests. ``thing`` is kept when the state is moved, and ``address`` when it is restored
    where it was; a copy elsewhere has neither. Both are of one host: two hosts can have equal paths and equal inodes.

    What can not be told is a disk that was cloned, with a host of the same name and machine id.
    """

    thing: str
    address: str

    def same(self, other: "Place") -> bool:
        """Whether the state of ``other`` can be this one."""
        return self.thing == other.thing or self.address == other.address

    def __str__(self) -> str:
        return f"{self.thing} {self.address}"

    @classmethod
    def of(cls, thing: list[object], address: list[object]) -> "Place":
        """The place with these marks."""
        return cls(digest("thing", thing)[:16], digest("address", address)[:16])

    @classmethod
    def read(cls, text: object) -> "Place | None":
        """Law: read(str(p)) = p. None for what is no such text."""
        parts = text.split() if isinstance(text, str) else []
        return cls(*parts) if len(parts) == 2 else None


def place_of_folder(folder: Path) -> Place:
    """Of a state whose catalogue is in its folder: what the file system calls the folder, and the path to it. Raises
    StateError when it is gone."""
    try:
        found, path = folder.stat(), os.path.realpath(folder)
    except OSError as error:
        raise StateError("the folder of the state cannot be found", where=str(folder), got=error.strerror) from error
    return Place.of([*host(), found.st_dev, found.st_ino], [*host(), path])


def host() -> tuple[str, str]:
    """What this host is called, and what the system calls itself where it says so."""
    named = os.environ.get(HOST)
    if named:
        return named, ""
    machine = ""
    with suppress(OSError, UnicodeDecodeError):
        machine = MACHINE.read_text(encoding="ascii").strip()
    return platform.node(), machine
