"""A model of a disk whose power fails: everything that was not synced may be lost, in any combination.

A process that is killed loses nothing that it wrote, because the kernel still has it: only a power cut tests fsync.
A recorded history of a folder (``traces.py``, ``seam.py``) is played into a ``Volume``, and after each event the
volume says what a disk may hold if the power fails now:

- bytes are durable once their file was synced; each later write or truncation is kept, lost, torn between sectors of
  512 bytes, or its length is kept and its bytes are zero;
- a name (made, removed, moved) is durable once its folder was synced; each later change is kept or lost by itself. A
  folder that is lost takes everything in it along.

Syncing a file does not make its name durable: POSIX does not promise it.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from random import Random

from attrs import define, field, frozen

from support.events import Event, Link, Make, Remove, Rename, Said, Stored, Sync, Truncate, Write

SECTOR = 512
Image = Mapping[str, bytes | None]  # by path: what a file holds, None for a folder


Bytes = Write | Truncate


@define(eq=False)
class File:
    durable: bytes = b""
    pending: list[Bytes] = field(factory=list)


@define(eq=False)
class Folder:
    durable: "dict[str, Node]" = field(factory=dict)
    pending: "list[Mapping[str, Node | None]]" = field(factory=list)  # names and what they stand for, None: nothing


Node = File | Folder


class Fate:
    """What becomes of what was not synced: everything is kept with ``loss`` 0, nothing with 1."""

    def __init__(self, loss: float, chance: Random) -> None:
        self._loss, self._chance = loss, chance

    def keeps(self) -> bool:
        return self._chance.random() >= self._loss

    def of(self, data: bytes, change: Bytes) -> bytes:
        """``data`` after what is left of ``change``."""
        if self.keeps():
            return done(data, change)
        if isinstance(change, Truncate) or self._loss == 1:
            return data
        match self._chance.randrange(3):
            case 0:
                return data
            case 1:
                return data + bytes(max(0, change.offset + len(change.data) - len(data)))
            case _:
                for piece in sectors(change):
                    data = done(data, piece) if self._chance.randrange(2) else data
                return data


def done(data: bytes, change: Bytes) -> bytes:
    """``data`` after ``change``."""
    if isinstance(change, Truncate):
        return data[: change.size] + bytes(max(0, change.size - len(data)))
    end = change.offset + len(change.data)
    return data[: change.offset] + bytes(max(0, change.offset - len(data))) + change.data + data[end:]


def sectors(write: Write) -> Iterator[Write]:
    """``write`` in pieces that a disk writes whole."""
    start, end = write.offset, write.offset + len(write.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        yield Write(write.path, start, write.data[start - write.offset : stop - write.offset])
        start = stop


class Volume:
    """A disk with one durable folder, "", below which events happen."""

    def __init__(self, image: Image | None = None) -> None:
        self.root = Folder()
        self._now: dict[str, Node] = {"": self.root}
        self.said: list[str] = []
        for path, data in sorted((image or {}).items()):
            node = Folder() if data is None else File(data)
            self._now[path] = node
            self._parent(path).durable[PurePath(path).name] = node

    def play(self, event: Event) -> None:
        """Let ``event`` happen."""
        match event:
            case Make(path, folder):
                self._named({path: Folder() if folder else File()})
            case Remove(path):
                self._named({path: None})
            case Rename(old, new):
                self._named({old: None, new: self._now[old]})
            case Link(path, new):
                self._named({new: self._now[path]})
            case Stored(path, data):
                self._now[path] = self._parent(path).durable[PurePath(path).name] = File(data)
            case Sync(path):
                self._sync(self._now[path])
            case Said(text):
                self.said.append(text)
            case _:
                node = self._now[event.path]
                assert isinstance(node, File), event
                node.pending.append(event)

    def has(self, path: str) -> bool:
        return path in self._now

    def size(self, path: str) -> int:
        node = self._now[path]
        assert isinstance(node, File)
        return len(_content(node, Fate(0, Random())))

    def image(self, fate: Fate) -> Image:
        """What the disk holds after a power cut."""
        found: dict[str, bytes | None] = {}
        _walk("", self.root, fate, found)
        return found

    @property
    def unsynced(self) -> int:
        """How many changes could be lost."""
        return sum(len(node.pending) for node in set(self._now.values()))

    def _named(self, changes: Mapping[str, Node | None]) -> None:
        parents = {PurePath(path).parent for path in changes}
        assert len(parents) == 1, "moves between folders are not modelled"
        self._parent(next(iter(changes))).pending.append({PurePath(p).name: node for p, node in changes.items()})
        for path, node in changes.items():
            if node is None:
                del self._now[path]
            else:
                self._now[path] = node

    def _sync(self, node: Node) -> None:
        if isinstance(node, File):
            node.durable = _content(node, Fate(0, Random()))
        else:
            node.durable = _names(node, Fate(0, Random()))
        node.pending = []

    def _parent(self, path: str) -> Folder:
        parent = PurePath(path).parent.as_posix()
        node = self._now["" if parent == "." else parent]
        assert isinstance(node, Folder), path
        return node


def _content(file: File, fate: Fate) -> bytes:
    data = file.durable
    for change in file.pending:
        data = fate.of(data, change)
    return data


def _names(folder: Folder, fate: Fate) -> "dict[str, Node]":
    names = dict(folder.durable)
    for change in folder.pending:
        if fate.keeps():
            for name, node in change.items():
                if node is None:
                    names.pop(name, None)
                else:
                    names[name] = node
    return names


def _walk(path: str, folder: Folder, fate: Fate, found: dict[str, bytes | None]) -> None:
    for name, node in _names(folder, fate).items():
        here = f"{path}/{name}" if path else name
        if isinstance(node, File):
            found[here] = _content(node, fate)
        else:
            found[here] = None
            _walk(here, node, fate, found)


@frozen
class Cut:
    """One power cut: the state of a disk that stopped after ``after`` events, and what had been said by then."""

    after: int
    image: Image = field(repr=False)
    said: tuple[str, ...]
    lost: int  # changes that were not synced when the power failed


def cuts(events: Iterable[Event], chance: Random, each: int, every: bool = False) -> Iterator[Cut]:
    """After each event: everything kept (as after a kill), everything lost, and ``each`` random losses.

    A disk that was given before comes again only with ``every``.
    """
    volume = Volume()
    met: set[tuple[object, ...]] = set()
    for after, event in enumerate(events, 1):
        volume.play(event)
        losses = [0.0, 1.0, *(chance.choice([0.1, 0.5, 0.9]) for _ in range(each))]
        for loss in losses if volume.unsynced else losses[:1]:
            image = volume.image(Fate(loss, chance))
            key = (len(volume.said), *sorted((p, hash(d)) for p, d in image.items()))
            if every or key not in met:
                met.add(key)
                yield Cut(after, image, tuple(volume.said), volume.unsynced)


def image_of(events: Iterable[Event]) -> Image:
    """What the disk holds after ``events`` when nothing is lost."""
    volume = Volume()
    for event in events:
        volume.play(event)
    return volume.image(Fate(0, Random()))


def materialise(image: Image, folder: Path) -> None:
    """Make ``folder`` hold ``image``."""
    folder.mkdir()
    for path, data in sorted(image.items()):
        if data is None:
            (folder / path).mkdir(mode=0o700)
        else:
            (folder / path).write_bytes(data)
