"""What a process does to a folder, as events: the vocabulary between those who record and the model of the disk.

Paths are relative to the folder, "a/b"; "" is the folder itself, which is durable.
"""

from attrs import field, frozen


@frozen
class Make:
    """A new name, of an empty file or folder."""

    path: str
    folder: bool = False


@frozen
class Write:
    path: str
    offset: int
    data: bytes = field(repr=len)


@frozen
class Truncate:
    path: str
    size: int


@frozen
class Sync:
    """fsync or fdatasync of a file or of a folder."""

    path: str


@frozen
class Remove:
    path: str


@frozen
class Rename:
    old: str
    new: str


@frozen
class Link:
    """A second name for a file."""

    path: str
    new: str


@frozen
class Stored:
    """A whole file with its name, durable at once: what a database promises to do, trusted and not looked into."""

    path: str
    data: bytes = field(repr=len)


@frozen
class Said:
    """What the process told the world, such as that a batch is safe."""

    text: str


Event = Make | Write | Truncate | Sync | Remove | Rename | Link | Stored | Said
