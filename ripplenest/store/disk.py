"""The only place that touches segment files: durable writes, verified read-only mappings, modes 0700 and 0600."""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from attrs import frozen

from ripplenest.nrc.errors import CorruptState, StateError


@frozen
class Blob:
    """A byte range of a file, with what it must hold."""

    file: str
    offset: int
    bytes: int
    sha256: str


@contextlib.contextmanager
def refusals(path: Path) -> Iterator[None]:
    """What the operating system refuses (no space, no permission, …) as a StateError that names ``path``."""
    try:
        yield
    except OSError as e:
        raise StateError("the file system refuses", where=str(path), got=e.strerror or e) from e


def sha256(data: bytes | pa.Buffer | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


class Disk:
    """The files of one folder. Names are ours, flat and unique; a file is written once and never changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self) -> None:
        """Make the folder for its owner alone; raises StateError when the file system refuses."""
        with refusals(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write_bytes(self, file: str, chunks: Iterable[bytes | memoryview | pa.Buffer]) -> None:
        """Write a file that does not exist, durable but for its name: call ``sync_folder`` before anything names it."""
        with refusals(self.folder / file):
            fd = os.open(self.folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(fd, "wb") as out:
                for chunk in chunks:
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())

    def sync_folder(self) -> None:
        """Make the names of all files written so far durable."""
        with refusals(self.folder):
            fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def map(self, blob: Blob) -> pa.Buffer:
        """The bytes of ``blob`` as a memory mapping that holds no descriptor.

        Raises CorruptState when the file is missing or too short. The digest is checked by ``verify``.
        """
        path = self.folder / blob.file
        try:
            with pa.memory_map(str(path)) as mapped:
                size = mapped.size()
                end = blob.offset + blob.bytes
                if size < end:
                    raise CorruptState("a stored file is too short (bytes)", where=str(path), wanted=end, got=size)
                mapped.seek(blob.offset)
                data: pa.Buffer = mapped.read_buffer(blob.bytes)
                return data
        except (OSError, pa.ArrowException) as e:
            raise CorruptState("a stored file cannot be read", where=str(path), wanted="the file", got=e) from e

    def verify(self, blob: Blob, data: pa.Buffer) -> None:
        """Raises CorruptState unless ``data`` are the bytes that were written as ``blob``."""
        got = sha256(data)
        if got != blob.sha256:
            where = f"{self.folder / blob.file}@{blob.offset}+{blob.bytes}"
            raise CorruptState("stored bytes have changed", where=where, wanted=blob.sha256, got=got)

    def list(self) -> set[str]:
        """The names of all files in the folder."""
        with refusals(self.folder):
            return set(os.listdir(self.folder))

    def remove(self, file: str) -> None:
        """Remove a file that nothing names; that it is gone already is fine."""
        with refusals(self.folder / file), contextlib.suppress(FileNotFoundError):
            os.unlink(self.folder / file)
