"""Which hashes an index surely has not: a Bloom filter of one function (Bloom 1970), the upper bits of a hash.

Most keys that a batch asks for are new, or are in one segment of many, and looking one up in the others costs a search
in each. A filter has a bit for each value of some bits more than the index has entries, so that some fifteen of sixteen
hashes that are not there are passed over after a look at one byte. It is made of the index in memory, once that was
asked for an eighth as many hashes as it has entries, and is stored nowhere.
"""

import numpy as np
import numpy.typing as npt
from attrs import define

from ripplenest.data.index import Places

Uppers = npt.NDArray[np.unsignedinteger]  # halves of hashes, which 32 bits hold

FEW = 256  # hashes that are searched for without it
WORTH = 8  # entries of which a filter is made, for each hash that was asked for
MOST = 1 << 20  # entries of an index that may have one, which takes 2 to 4 bytes for each
SPREAD = 16  # bits for each entry, at least
HALF = 32  # bits of a hash that are stored
_IN_BYTE = np.uint8(7)


@define(eq=False)
class Filter:
    """That of one index, which was ``asked`` for so many hashes."""

    asked: int = 0
    _bits: npt.NDArray[np.uint8] | None = None

    def is_worth(self, wanted: int, entries: int) -> bool:
        """Whether to use it for so many hashes more, of an index of so many entries."""
        if wanted < FEW or entries > MOST:
            return False
        self.asked += wanted
        return self._bits is not None or WORTH * self.asked >= entries

    def possible(self, have: Uppers, wanted: Uppers) -> Places:
        """The places of the ``wanted`` that may be among those that the index has.

        Law: possible(have, wanted) ⊇ {i | wanted[i] ∈ have}.
        """
        if self._bits is None:
            self._bits = _bits_of(have)
        at = wanted >> _shift(len(have))
        found = self._bits.take(at >> np.uint32(3)) >> (at.astype(np.uint8) & _IN_BYTE)
        return np.flatnonzero(found & np.uint8(1))


def _bits_of(have: Uppers) -> npt.NDArray[np.uint8]:
    shift = _shift(len(have))
    marked = np.zeros(1 << (HALF - int(shift)), np.bool_)
    marked[have >> shift] = True
    return np.packbits(marked, bitorder="little")


def _shift(entries: int) -> np.uint32:
    """How many bits of a hash do not matter."""
    return np.uint32(HALF - max((SPREAD * entries - 1).bit_length(), 3))
