"""The index of a segment on an access key, as it is stored: half of each hash, and what is needed to look it up.

A hash only finds candidates, so its upper 32 bits do: h: uint32, ascending. The rows of these hashes are r: uint32
(int64 in segments that are longer), which the index that a segment is ordered by does not need. ``fences`` are every
STEPth hash. They say between which two entries a hash can be, and only what is between is read; of that only the two
entries that a hash comes in between are checked, so that looking up a key that is not there costs a block.

Indexes of format 4 have h: uint64 and r: int64, of texts as ``blake2b`` hashes them, and no fences: they are searched
as a whole.
"""

from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen

from ripplenest.data.hashing import U64, TextHash
from ripplenest.data.index import Index, Keys, Places
from ripplenest.nrc.errors import CorruptState
from ripplenest.store.blocks import Blocks
from ripplenest.store.index.filters import Filter
from ripplenest.store.mapped import in_order, touch
from ripplenest.store.specs import Access, columns_text

STEP = 1 << 12  # entries between two fences: a block of them
SHIFT = np.uint64(32)  # bits of a hash that are not stored
NEAR = 1 << 16  # entries that are searched as they are, for however many hashes
SPARSE, SOME = 1 << 7, 1 << 10  # hashes for which all entries are searched so, and sixteen times as many
FEW = 16  # hashes that are searched for one by one
NARROW = 1 << 32  # rows whose numbers have 32 bits
RANGE = 1 << 32  # what the stored half of a hash can be
COLUMNS, SEGMENT, HASH, FENCES = b"columns", b"segment", b"hash", b"fences"  # metadata
_KNOWN: dict[bytes | None, TextHash] = {None: "blake2b", b"words": "words"}
Hashes = npt.NDArray[np.uint32] | U64


Entries = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32] | Places | None]  # hashes and rows, as they are stored


def upper(hashes: U64) -> npt.NDArray[np.uint32]:
    """What is stored of hashes."""
    return (hashes >> SHIFT).astype(np.uint32)


def entries_of(index: Index) -> Entries:
    """What is stored of an index in memory."""
    hashes, rows = index
    narrow = rows.astype(np.uint32) if len(rows) <= NARROW else rows
    return upper(hashes), None if in_order(rows) else narrow


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
    _filter: Filter = field(factory=Filter, init=False)

    @classmethod
    def of(cls, entries: "Entries", columns: Access, segment: int) -> "KeyIndex":
        """The index with these entries."""
        hashes, rows = entries
        return cls(hashes, rows, hashes[::STEP].copy(), _text(columns), segment)

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
        hashes, numbers = arrays[0].to_numpy(), arrays[1].to_numpy() if table.column_names[1:2] == ["r"] else None
        fences = np.frombuffer(bytes.fromhex(metadata.get(FENCES, b"").decode()), ">u4").astype(np.uint32)
        if texts == "words" and len(fences) != -(-len(hashes) // STEP):
            raise CorruptState("an index of other fences", where=where, wanted=-(-len(hashes) // STEP), got=len(fences))
        segment = int(metadata[SEGMENT]) if SEGMENT in metadata else None
        return cls(hashes, numbers, fences, metadata.get(COLUMNS, b"").decode(), segment, texts, blocks, arrays)

    def is_of(self, columns: Access, segment: int) -> bool:
        """Whether it is on ``columns`` of ``segment``: a catalogue may name another's blob."""
        return self.columns == _text(columns) and self.segment in (None, segment)

    def foreign(self, columns: Access, segment: int, where: str) -> CorruptState:
        """What is wrong with one that is not."""
        wanted, got = f"columns {_text(columns)} of segment {segment}", f"{self.columns} of {self.segment}"
        return CorruptState("an index of something else", where=where, wanted=wanted, got=got)

    def asked(self, keys: Keys) -> U64:
        """The hashes of ``keys`` as this index has them."""
        return keys.hashed(self.texts)

    def possible(self, wanted: npt.NDArray[np.unsignedinteger]) -> Places | None:
        """The places of the ``wanted`` halves of hashes that it may have; None where it is as well to look for all.
        Raises CorruptState."""
        have = self.hashes
        if have.dtype != np.uint32 or self.texts != "words" or not self._filter.is_worth(len(wanted), len(have)):
            return None
        if self.blocks is not None:
            self.blocks.all()
        return self._filter.possible(have, wanted)

    def spans(self, hashes: U64) -> tuple[Places, Places]:
        """By hash, the first entry that has it, and how many have it. Raises CorruptState."""
        wanted = hashes if self.hashes.dtype == np.uint64 else (hashes >> SHIFT).astype(np.uint32)
        first = self._searched(wanted, "left")
        if len(wanted) <= FEW:
            return first, self._searched(wanted, "right") - first
        many = self._is(first, wanted).astype(np.int64)
        there = np.flatnonzero(many)
        again = there[self._is(first[there] + 1, wanted[there])]
        if len(again):  # most hashes are not there, or once
            many[again] = self._searched(wanted[again], "right") - first[again]
        return first, many

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

    @property
    def ends(self) -> tuple[int, int]:
        """The least stored hash and the greatest, of an index that is in order and has some. Raises CorruptState."""
        self._touch(np.array([0, len(self.hashes) - 1]))
        return int(self.hashes[0]), int(self.hashes[-1])

    def is_near(self, wanted: int) -> bool:
        """Whether it is searched as it is for so many hashes: it has today's, and nothing has to be checked, or passed
        over by fences to read less."""
        return self._whole and self.texts == "words" and _are_near(len(self.hashes), wanted)

    @property
    def _whole(self) -> bool:
        """Whether nothing has to be checked."""
        return self.blocks is None or self.blocks.whole

    def _searched(self, wanted: Hashes, side: Literal["left", "right"]) -> Places:
        """Where ``wanted`` come in, as ``np.searchsorted`` says. Raises CorruptState.

        The search itself believes what it reads, and only the two entries that a hash comes in between are checked:
        because entries ascend, these prove where it does.
        """
        if not len(self.fences) or (self._whole and _are_near(len(self.hashes), len(wanted))):
            return np.searchsorted(self.hashes, wanted, side)
        fence = np.searchsorted(self.fences, wanted, side)
        found = _between(self.hashes, fence, wanted, side)
        if self._proved(found, wanted, side):
            return found
        assert self.blocks is not None
        self.blocks.all()
        return np.searchsorted(self.hashes, wanted, side)

    def _proved(self, found: Places, wanted: Hashes, side: Literal["left", "right"]) -> bool:
        """Whether ``wanted`` come in at ``found``. Raises CorruptState for entries beside it that have changed."""
        if self._whole:
            return True
        below, above = found > 0, found < len(self.hashes)
        self._touch(np.concatenate([found[below] - 1, found[above]]))
        before, after = self.hashes[found[below] - 1], self.hashes[found[above]]
        if side == "left":
            return bool((before < wanted[below]).all() and (after >= wanted[above]).all())
        return bool((before <= wanted[below]).all() and (after > wanted[above]).all())

    def _is(self, entries: Places, wanted: Hashes) -> npt.NDArray[np.bool_]:
        """Whether there are these entries, and their hashes are the ``wanted`` ones. Raises CorruptState."""
        if not len(self.hashes):
            return np.zeros(len(entries), np.bool_)
        inside = np.minimum(entries, len(self.hashes) - 1)
        self._touch(inside)
        equal: npt.NDArray[np.bool_] = (self.hashes[inside] == wanted) & (inside == entries)
        return equal

    def _touch(self, entries: Places) -> None:
        """Check the hashes of entries. Raises CorruptState."""
        if self.blocks is not None and not self.blocks.whole:
            touch(self.blocks, self.arrays[0], entries)

    def rows(self, entries: Places) -> Places:
        """The rows of entries. Raises CorruptState."""
        if self.numbers is None:
            return entries
        if self.blocks is not None and not self.blocks.whole:
            touch(self.blocks, self.arrays[1], entries)
        return self.numbers[entries].astype(np.int64, copy=False)


def _are_near(entries: int, wanted: int) -> bool:
    """Whether ``np.searchsorted`` finds so many hashes faster than what fences tell: it knows no fences, and what it
    reads of many entries is not in the cache of a processor the next time."""
    return entries <= NEAR or wanted <= SPARSE or (wanted <= SOME and entries <= 16 * NEAR)


def _between(hashes: Hashes, fence: Places, wanted: Hashes, side: Literal["left", "right"]) -> Places:
    """Where ``wanted`` come in between the fence before ``fence`` and that: a binary search of all at once.

    ``np.searchsorted`` halves all that comes after the key before, and so reads other entries for each key; here all
    that is read of a key lies together.
    """
    low = np.maximum(fence - 1, 0) * STEP
    if len(wanted) <= FEW:
        near = ((int(n), hashes[n : n + STEP], w) for n, w in zip(low, wanted, strict=True))
        return np.fromiter((n + some.searchsorted(w, side) for n, some, w in near), np.int64, len(wanted))
    less = np.less if side == "left" else np.less_equal
    found, rest = low + 1, STEP - 1  # the fence itself is less
    while rest:
        half = (rest + 1) // 2
        found += half * less(hashes.take(found + (half - 1), mode="clip"), wanted)
        rest -= half
    return np.where(fence > 0, np.minimum(found, len(hashes)), 0)


@lru_cache(maxsize=1024)
def _text(columns: Access) -> str:
    return ",".join(map(str, columns)) if isinstance(columns, tuple) else columns_text(columns)
