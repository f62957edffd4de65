"""The only place that touches segment files: durable writes, verified read-only mappings, modes 0700 and 0600.

What reads goes through pyarrow's filesystem interface, so that an object store can take the place of a local folder.
What a local folder needs is in two methods: a file is written for its owner alone and made durable, and named durably.
Everything that changes the disk announces itself to ``step`` first, so that tests can end the process, or let the file
system fail, at each of these moments.
"""

import contextlib
import mmap
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from attrs import frozen
from pyarrow import fs

from ripplenest.data.room import Scratch
from ripplenest.nrc.errors import CorruptState, StateError, of_memory

SEGMENTS = "segments"  # the folder of a state that segment files are in
PACK = re.compile(r"[0-9]{10,}-[0-9a-f]{16}\.(deltas|merges)")


@frozen(cache_hash=True)
class Blob:
    """A byte range of a file, with what it must hold: a digest, as ``blocks.py`` has it."""

    file: str
    offset: int
    bytes: int
    sha256: str


def is_pack(file: str) -> bool:
    """Whether ``file`` is a name of ours for a file of segments, and so no path to anywhere else."""
    return PACK.fullmatch(file) is not None


@contextlib.contextmanager
def refusals(path: Path) -> Iterator[None]:
    """What the operating system refuses (no space, no permission, …) as a StateError that names ``path``."""
    try:
        yield
    except OSError as e:
        refused = StateError("the file system refuses", where=str(path), got=e.strerror or e)
        raise of_memory(e, str(path)) or refused from e


class _Scratch(Scratch):
    """A file without a name that announces what it writes."""

    def __init__(self, disk: "Disk") -> None:
        super().__init__(disk.folder)
        self._disk = disk

    def write(self, at: int, data: bytes | memoryview) -> None:
        with refusals(self._disk.folder):
            self._disk.step("write", "scratch")
            super().write(at, data)

    def mapped(self, size: int) -> mmap.mmap:
        with refusals(self._disk.folder):
            return super().mapped(size)


class Disk:
    """The files of one folder. Names are ours, flat and unique; a file is written once and never changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem(use_mmap=True))

    def step(self, what: str, name: str) -> None:
        """Called before the disk changes: ``what`` is folder, create, write, sync, names, link or remove."""

    # ------------------------------------------------------------ writing

    def create(self) -> None:
        """Make the folder for its owner alone, and its name durable, up to where its file system is mounted, which was
        there before. Raises StateError when the file system refuses."""
        with refusals(self.folder):
            if self.folder.is_file():
                raise StateError("a file, and no folder of a state", where=str(self.folder), possible=["a folder"])
            missing = [p for p in (self.folder, *self.folder.parents) if not p.is_dir()]
            for path in reversed(missing):
                self.step("folder", str(path))
                path.mkdir(mode=0o700, exist_ok=True)
            if missing or not any(self.folder.iterdir()):  # perhaps another process made them, and died at once
                for path in self.folder.parents:
                    with contextlib.suppress(PermissionError):  # one that we may not read is not one that we made
                        self._sync(path)
                    if os.path.ismount(path):
                        break

    def write_bytes(
        self, file: str, chunks: Iterable[bytes | memoryview | pa.Buffer], lasts: bool = True
    ) -> None:
        """Write a file that does not exist, durable but for its name: call ``sync_folder`` before anything names it.
        One that only this piece of work reads does not need to last."""
        with refusals(self.folder / file):
            self._write(file, chunks, lasts)

    def sync_folder(self) -> None:
        """Make the names of all files written so far durable."""
        with refusals(self.folder):
            self.step("names", str(self.folder))
            self._sync(self.folder)

    def put(self, file: str, data: bytes) -> bool:
        """Write a whole file and its name, durably, or nothing; False when another one has the name already."""
        new = f"{file}.{os.urandom(8).hex()}.new"
        try:
            self.write_bytes(new, [data])
            with refusals(self.folder / file):
                self.step("link", file)
                os.link(self.folder / new, self.folder / file)
            self.sync_folder()
        except StateError as e:
            if not isinstance(e.__cause__, FileExistsError):
                raise
            return False
        finally:
            self.remove(new)
        return True

    def adopt(self, made: Path, file: str) -> None:
        """Give the name ``file`` to a durable file that stands elsewhere on this file system: call ``sync_folder``
        before anything names it."""
        with refusals(self.folder / file):
            self.step("link", file)
            os.rename(made, self.folder / file)

    def remove(self, file: str) -> None:
        """Remove a file that nothing names; that it is gone already is fine."""
        with refusals(self.folder / file), contextlib.suppress(FileNotFoundError):
            self.step("remove", file)
            self._files.delete_file(file)

    # ------------------------------------------------------------ what only a local folder needs

    def _write(self, file: str, chunks: Iterable[bytes | memoryview | pa.Buffer], lasts: bool) -> None:
        self.step("create", file)
        fd = os.open(self.folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for chunk in chunks:
                self.step("write", file)
                rest = memoryview(chunk)
                while rest:  # the system may write less than it is given
                    rest = rest[os.write(fd, rest) :]
            if lasts:
                self.step("sync", file)
                os.fsync(fd)
        finally:
            os.close(fd)

    def _sync(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def scratch(self) -> Scratch:
        """A file for what does not fit memory, on the disk that the rows will be on. It has no name, so that nothing of
        it is left; where a file system must give it one at first, a writer that dies then leaves it, and the next
        removes it."""
        with refusals(self.folder):
            self.step("create", "scratch")
            return _Scratch(self)

    # ------------------------------------------------------------ reading

    def map(self, blob: Blob) -> pa.Buffer:
        """The bytes of ``blob`` as a memory mapping that holds no descriptor.

        Raises CorruptState when the file is missing or too short, or a link to another, OutOfMemory where there is no
        room for it. ``blocks.py`` checks the digests.
        """
        path = self.folder / blob.file
        if path.is_symlink():
            raise CorruptState("a stored file is a link", where=str(path), wanted="the file", got="a link")
        try:
            with self._files.open_input_file(blob.file) as mapped:
                size = mapped.size()
                end = blob.offset + blob.bytes
                if size < end:
                    raise CorruptState("a stored file is too short (bytes)", where=str(path), wanted=end, got=size)
                mapped.seek(blob.offset)
                data: pa.Buffer = mapped.read_buffer(blob.bytes)
                return data
        except (OSError, pa.ArrowException) as e:
            harm = CorruptState("a stored file cannot be read", where=str(path), wanted="the file", got=e)
            raise of_memory(e, str(path)) or harm from e

    def read_bytes(self, file: str) -> bytes | None:
        """The whole of a small file, None when there is none."""
        with refusals(self.folder / file), contextlib.suppress(FileNotFoundError):
            return (self.folder / file).read_bytes()
        return None

    def list(self, folders: bool = False) -> set[str]:
        """The names of all files in the folder, and of ``folders``."""
        with refusals(self.folder):
            found = self._files.get_file_info(fs.FileSelector("", recursive=False))
            return {info.base_name for info in found if folders or info.is_file}

    def size(self, file: str) -> int:
        """The bytes of a file."""
        return int(self._files.get_file_info(file).size or 0)
