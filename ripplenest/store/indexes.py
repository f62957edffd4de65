"""The index of a segment on an access key, as it is stored: half of each hash, and what is needed to look it up.

A hash only finds candidates, so its upper 32 bits do: h: uint32, ascending. The rows of these hashes are r: uint32
(int64 in segments that are longer), which the index that a segment is ordered by does not need. ``fences`` are every
STEPth hash. They say between which two entries a hash can be, and only these are looked at, so that looking up a key
in an index that was not read before checks a few blocks of it and not all.

Indexes of format 4 have h: uint64 and r: int64, of texts as ``blake2b`` hashes them, and no fences: they are searched
as a whole.
"""

from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from ripplenest.data.hashing import U64, TextHash
from ripplenest.data.index import Index, Keys, Places
from ripplenest.nrc.errors import CorruptState
from ripplenest.store.blocks import Blocks
from ripplenest.store.mapped import begin, in_order, touch
from ripplenest.store.specs import Columns

STEP = 1 << 12  # entries between two fences: a block of them
SHIFT = np.uint64(32)  # bits of a hash that are not stored
NARROW = 1 << 32  # rows whose numbers have 32 bits
RANGE = 1 << 32  # what the stored half of a hash can be
COLUMNS, SEGMENT, HASH, FENCES = b"columns", b"segment", b"hash", b"fences"  # metadata
_KNOWN: dict[bytes | None, TextHash] = {None: "blake2b", b"words": "words"}
Hashes = npt.NDArray[np.uint32] | U64


@frozen(eq=False)
class KeyIndex:
    """An index of a segment, stored or just made."""

    hashes: Hashes
    numbers: npt.NDArray[np.uint32] | Places | None  # the row of each entry; None when they are in order
    fences: Hashes
    columns: str
    segment: int | None  # its number in the catalogue; indexes of format 4 do not say it
    texts: TextHash = "words"
    blocks: Blocks | None = None
    arrays: tuple[pa.Array, ...] = ()  # what of it lies in blocks

    @classmethod
    def of(cls, index: Index, columns: Columns, segment: int) -> "KeyIndex":
        """What is stored of an index in memory."""
        hashes, rows = index
        upper = (hashes >> SHIFT).astype(np.uint32)
        narrow = rows.astype(np.uint32) if len(rows) <= NARROW else rows
        return cls(upper, None if in_order(rows) else narrow, upper[::STEP], _text(columns), segment)

    @property
    def table(self) -> pa.Table:
        """What its blob holds."""
        arrays = {"h": self.hashes} if self.numbers is None else {"h": self.hashes, "r": self.numbers}
        fences = self.fences.astype(">u4").tobytes().hex()
        said = {COLUMNS: self.columns, SEGMENT: str(self.segment), HASH: self.texts, FENCES: fences}
        return pa.table(arrays).replace_schema_metadata(said)

    @classmethod
    def read(cls, table: pa.Table, blocks: Blocks, where: str) -> "KeyIndex":
        """The index in a blob. Raises CorruptState when it has hashes that are not known here."""
        metadata = table.schema.metadata or {}
        texts = _KNOWN.get(metadata.get(HASH))
        if texts is None:
            raise CorruptState("an index of other hashes", where=where, wanted="words", got=metadata[HASH].decode())
        if texts != "words":
            blocks.all()
        arrays = tuple(c.chunk(0) for c in table.columns)
        hashes, numbers = arrays[0].to_numpy(), arrays[1].to_numpy() if len(arrays) > 1 else None
        fences = np.frombuffer(bytes.fromhex(metadata.get(FENCES, b"").decode()), ">u4").astype(np.uint32)
        if texts == "words" and len(fences) != -(-len(hashes) // STEP):
            raise CorruptState("an index of other fences", where=where, wanted=-(-len(hashes) // STEP), got=len(fences))
        segment = int(metadata[SEGMENT]) if SEGMENT in metadata else None
        return cls(hashes, numbers, fences, metadata.get(COLUMNS, b"").decode(), segment, texts, blocks, arrays)

    def is_of(self, columns: Columns, segment: int) -> bool:
        """Whether it is on ``columns`` of ``segment``: a catalogue may name another's blob."""
        return self.columns == _text(columns) and self.segment in (None, segment)

    def foreign(self, columns: Columns, segment: int, where: str) -> CorruptState:
        """What is wrong with one that is not."""
        wanted, got = f"columns {_text(columns)} of segment {segment}", f"{self.columns} of {self.segment}"
        return CorruptState("an index of something else", where=where, wanted=wanted, got=got)

    def asked(self, keys: Keys) -> U64:
        """The hashes of ``keys`` as this index has them."""
        return keys.hashed(self.texts)

    def spans(self, hashes: U64) -> tuple[Places, Places]:
        """By hash, the first entry that has it, and how many have it. Raises CorruptState."""
        wanted = hashes if self.hashes.dtype == np.uint64 else (hashes >> SHIFT).astype(np.uint32)
        if self.blocks is None or self.blocks.whole:
            first = np.searchsorted(self.hashes, wanted, "left")
            return first, np.searchsorted(self.hashes, wanted, "right") - first
        first = self._searched(np.searchsorted(self.fences, wanted, "left"), wanted, "left")
        return first, self._searched(np.searchsorted(self.fences, wanted, "right"), wanted, "right") - first

    @property
    def in_order(self) -> bool:
        """Whether the rows of the segment come in the order of these hashes."""
        return self.numbers is None and self.texts == "words"

    def between(self, low: int, high: int) -> tuple[int, int]:
        """The entries whose stored hashes are low ≤ h < high: the first, and the one after the last. Raises
        CorruptState."""
        asked = np.array([h for h in (low, high) if h < RANGE], np.uint64) << SHIFT
        found = [int(first) for first in self.spans(asked)[0]]
        return tuple((found + [len(self.hashes)] * 2)[:2])  # type: ignore[return-value]

    def _searched(self, fence: Places, wanted: Hashes, side: Literal["left", "right"]) -> Places:
        """Where ``wanted`` come in: between the fence before ``fence`` and that."""
        assert self.blocks is not None
        found, order = np.empty(len(fence), np.int64), np.argsort(fence, kind="stable")
        width, start = self.hashes.itemsize, begin(self.blocks, self.arrays[0].buffers()[1])
        ends = np.flatnonzero(np.diff(fence[order])) + 1
        for some in np.split(order, ends) if len(ends) else [order]:
            if len(some):
                low = max(int(fence[some[0]]) - 1, 0) * STEP
                high = min(low + STEP, len(self.hashes))
                self.blocks.span(start + low * width, start + high * width)
                found[some] = low + np.searchsorted(self.hashes[low:high], wanted[some], side)
        return found

    def rows(self, entries: Places) -> Places:
        """The rows of entries. Raises CorruptState."""
        if self.numbers is None:
            return entries
        if self.blocks is not None and not self.blocks.whole:
            touch(self.blocks, self.arrays[1], entries)
        return self.numbers[entries].astype(np.int64, copy=False)


@lru_cache(maxsize=1024)
def _text(columns: Columns) -> str:
    return ",".join(map(str, columns))
