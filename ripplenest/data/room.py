"""Room to work in: how much memory work may take, and files for what does not fit.

One setting bounds both: what is worked on at a time is a share of it, in bytes of the rows at hand, so that wide rows
are fewer at once than narrow ones. What is more lies in files without a name, mapped: the system writes them out when
memory is wanted elsewhere, and removes them when the process ends, however it ends.
"""

import mmap
import os
import re
import tempfile
import weakref
from collections.abc import Callable, Mapping
from threading import Lock

import pyarrow as pa
from attrs import field, frozen

from ripplenest.data.rows import arrow_type
from ripplenest.nrc.arguments import kind
from ripplenest.nrc.errors import WrongValue
from ripplenest.nrc.types import Base

VARIABLE = "RIPPLENEST_MEMORY"
DEFAULT = 1 << 30
LEAST = 1 << 24
MOST = 1 << 50
UNITS: Mapping[str, int] = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS = {**UNITS, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
_AMOUNT = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([a-zA-Z]{0,3})\s*")
CHUNK = 4  # parts of the memory, one of which is rows that are worked on as a whole; copies and hashes are others
JOIN = 64  # the same where they are joined, which makes several of each
LARGEST = 1 << 29  # bytes at once, however much memory there is: an array of texts has 2 GB at most
TEXT = 32  # bytes of a text, as long as nobody has seen one
FEWEST = 64  # rows at once, however wide
SCANT = 256  # rows that fit, however wide


def memory_of(given: object, environ: Mapping[str, str] = os.environ) -> int:
    """The bytes that ``given`` means: a number of them, or a text such as "512MB"; what the environment says for None.
    Raises WrongValue."""
    where = "open: memory"
    if given is None:
        if not environ.get(VARIABLE):
            return DEFAULT
        given, where = environ[VARIABLE], VARIABLE
    wanted, possible = f"a number of bytes from {LEAST:,} on", ['"512MB"', '"2GiB"', str(DEFAULT)]
    found = _AMOUNT.fullmatch(given) if isinstance(given, str) else None
    size = -1
    if found is not None and found[2].upper() in UNITS:
        size = int(float(found[1]) * UNITS[found[2].upper()])
    elif isinstance(given, int) and not isinstance(given, bool):
        size = given
    if not LEAST <= size <= MOST:
        got = ascii(given) if isinstance(given, str) else kind(given)
        raise WrongValue("not an amount of memory", where=where, wanted=wanted, got=got, possible=possible)
    return size


class Scratch:
    """A file without a name. It is written by whoever has it, then mapped, and gone with the last that uses it."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed when it is mapped

    def write(self, at: int, data: bytes | memoryview) -> None:
        """Write ``data`` from byte ``at`` on."""
        rest = memoryview(data).cast("B")
        while rest:  # the system may write less than it is given
            done = os.pwrite(self._file.fileno(), rest, at)
            rest, at = rest[done:], at + done

    def mapped(self, size: int) -> mmap.mmap:
        """The first ``size`` bytes, which nobody writes any more."""
        with self._file as file:
            file.truncate(max(size, 1))
            return mmap.mmap(file.fileno(), max(size, 1), prot=mmap.PROT_READ)


def in_temporary_folder() -> Scratch:
    """A file where the system has such."""
    return Scratch()


@frozen(eq=False)
class Room:
    """``memory`` in bytes, and where files are made."""

    memory: int = DEFAULT
    scratch: Callable[[], Scratch] = in_temporary_folder
    _maps: "weakref.WeakSet[mmap.mmap]" = field(factory=weakref.WeakSet, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    @property
    def chunk(self) -> int:
        """Bytes of rows that are worked on as a whole."""
        return min(self.memory // CHUNK, LARGEST)

    def rows(self, types: tuple[Base, ...]) -> int:
        """How many rows of ``types`` are joined at a time."""
        return max(self.memory // JOIN // row_bytes(types), FEWEST)

    def map(self, file: Scratch, size: int) -> pa.Buffer:
        """What was written to ``file``."""
        found = file.mapped(size)
        with self._lock:
            self._maps.add(found)
        return pa.py_buffer(found)

    def release(self) -> None:
        """What was read of files is no longer this process's; it is read again when it is asked for."""
        with self._lock:
            for found in self._maps:
                found.madvise(mmap.MADV_DONTNEED)


def held(table: pa.Table) -> int:
    """The bytes of ``table``; 0 for so few rows that asking would cost more than they do."""
    return table.nbytes if table.num_rows > SCANT else 0


def row_bytes(types: tuple[Base, ...]) -> int:
    """About what a row of ``types`` takes, with its weight."""
    return 8 + sum(_width(t) for t in types)


def _width(t: Base) -> int:
    arrow = arrow_type(t)
    return TEXT if pa.types.is_string(arrow) or pa.types.is_binary(arrow) else max(arrow.bit_width // 8, 1)

