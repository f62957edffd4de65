"""Digests of stored bytes, block by block: what is not needed is not checked, and what an answer rests on always is.

A blob is data and then a trailer: the sha256 of each block of BLOCK bytes of the data. The catalogue has the sha256 of
the trailer, so that one digest there stands for all of them. Before an answer rests on a byte its block is checked,
once in a process; the trailer is checked when a blob is opened. Blobs of format 4 have no trailer: they are one block,
whose digest is in the catalogue.
"""

import hashlib
import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ripplenest.nrc.errors import CorruptState

BLOCK = 1 << 14  # bytes, a multiple of what any value takes: what is read of rows here and there costs a block each
DIGEST = 32  # bytes
Numbers = npt.NDArray[np.int64]
Checked = npt.NDArray[np.bool_]  # by block
_KNOWN = re.compile(r"([0-9a-f]{64})(?:/([1-9][0-9]{0,9}))?")


def trailer(parts: Iterable[memoryview]) -> bytes:
    """The digests of the blocks of data, one after another; ``parts`` of it are put together."""
    found, rest = bytearray(), b""
    for part in parts:
        start = 0
        if rest:
            start = min(BLOCK - len(rest), len(part))
            rest += part[:start]
            if len(rest) < BLOCK:
                continue
            found += hashlib.sha256(rest).digest()
        whole = start + (len(part) - start) // BLOCK * BLOCK
        for i in range(start, whole, BLOCK):
            found += hashlib.sha256(part[i : i + BLOCK]).digest()
        rest = bytes(part[whole:])
    return bytes(found + hashlib.sha256(rest).digest()) if rest else bytes(found)


def root(digests: bytes) -> str:
    """What the catalogue has of a blob with this trailer: its digest, and of how many bytes a block is."""
    return f"{hashlib.sha256(digests).hexdigest()}/{BLOCK}"


class Blocks:
    """The data of one blob where it is mapped. What is read of it must be checked before, by the methods here, which
    raise CorruptState when it is not what was written."""

    def __init__(self, blob: pa.Buffer, known: str, where: str, at: int, checked: Checked | None = None) -> None:
        """``blob`` are the mapped bytes, which begin ``at`` in the file ``where``, and ``known`` what the catalogue
        has of them. ``checked`` are the blocks that need not be checked again."""
        found = _KNOWN.fullmatch(known)
        if found is None:
            raise CorruptState("the digest of stored bytes has changed", where=where, wanted="a sha256", got=known)
        self._where, self._at = where, at
        if found[2] is None:
            self._size, self._digests, self.data = max(blob.size, 1), bytes.fromhex(found[1]), blob
        else:
            self._size = int(found[2])
            many = -(-blob.size // (self._size + DIGEST))
            self.data = blob.slice(0, max(blob.size - many * DIGEST, 0))
            self._digests = self._trailer(blob, found[1])
        many = len(self._digests) // DIGEST
        self.checked = checked if checked is not None and len(checked) == many else np.zeros(many, np.bool_)
        self.whole = bool(self.checked.all())

    def _trailer(self, blob: pa.Buffer, wanted: str) -> bytes:
        found = memoryview(blob)[self.data.size :].tobytes()
        got = hashlib.sha256(found).hexdigest()
        if got != wanted:
            raise self._changed(0, blob.size, wanted, got)
        return found

    def all(self) -> None:
        """Check what has not been checked."""
        if not self.whole:
            self._check(np.flatnonzero(~self.checked))

    def span(self, first: int, end: int) -> None:
        """Check the bytes from ``first`` to before ``end``."""
        if not self.whole and end > first:
            low, high = first // self._size, (end - 1) // self._size + 1
            if not self.checked[low:high].all():
                self._check(np.arange(low, high))

    def values(self, begin: int, width: int, places: Numbers) -> None:
        """Check the values at ``places`` of an array of values of ``width`` bytes that begins at byte ``begin``."""
        if self.whole or not len(places):
            return
        at = begin + places * width
        self._check(at // self._size)
        if begin % width or self._size % width:  # else none is in two blocks
            self._check((at + (width - 1)) // self._size)

    def spans(self, first: Numbers, end: Numbers) -> None:
        """Check the bytes from each ``first`` to before its ``end``."""
        some = end > first
        if self.whole or not some.any():
            return
        low, high = first[some] // self._size, (end[some] - 1) // self._size
        inside = np.zeros(len(self.checked) + 1, np.int64)
        np.add.at(inside, low, 1)
        np.add.at(inside, high + 1, -1)
        self._check(np.flatnonzero(np.cumsum(inside[:-1])))

    def _check(self, numbers: Numbers) -> None:
        missing = numbers[~self.checked[numbers]]
        if not len(missing):
            return
        asked = np.zeros(len(self.checked), np.bool_)
        asked[missing] = True
        view, size, digests = memoryview(self.data), self._size, self._digests
        for i in np.flatnonzero(asked).tolist():
            first = i * size
            got = hashlib.sha256(view[first : first + size]).digest()
            if got != (wanted := digests[i * DIGEST : (i + 1) * DIGEST]):
                end = min(first + size, self.data.size)
                raise self._changed(first, end - first, wanted.hex(), got.hex())
        self.checked[missing] = True
        self.whole = bool(self.checked.all())

    def _changed(self, first: int, size: int, wanted: str, got: str) -> CorruptState:
        where = f"{self._where}@{self._at + first}+{size}"
        return CorruptState("stored bytes have changed", where=where, wanted=wanted, got=got)
