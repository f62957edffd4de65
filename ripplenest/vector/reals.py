"""Doubles as integers of powers of two, over columns (``nrc/functions/reals.py``): what 64 bits add up exactly.

A double is m · 2ᵉ in units, |m| < 2⁵³. With e = 8p + r, r < 8, it is a · 2⁸ᵖ + b · 2⁸ᵖ⁺²⁷ for an a below 2³⁴ and a b
below 2³³ in size. These are added up by p, of which numbers of one kind have few.
"""

import numpy as np
from attrs import frozen

from ripplenest.nrc.functions.reals import UNIT, decoded

Ints = np.typing.NDArray[np.int64]
Doubles = np.typing.NDArray[np.float64]
Objects = np.typing.NDArray[np.object_]  # integers without end
MANTISSA, LOW, STEP = 53, 27, 8  # bits
PLACES = 12  # as many different p as are worth columns of their own
MOST = 2.0 ** (62 - LOW - STEP)  # rows that can be added up


@frozen
class Places:
    """What rows add, by p: the parts a and b."""

    parts: dict[int, tuple[Ints, Ints]]

    def total(self, sums: dict[int, tuple[Ints, Ints]], n: int) -> Objects:
        """What ``n`` sums of such parts come to, in units."""
        found = np.zeros(n, np.object_)
        for p, (a, b) in sums.items():
            found = found + ((a.astype(np.object_) + (b.astype(np.object_) << LOW)) << (STEP * p))
        return found


def places(x: Doubles, weights: Ints) -> Places | None:
    """The parts of the finite ones of ``x``, each as often as ``weights`` says; None where they are too many."""
    added = np.isfinite(x) & (x != 0)
    if float(np.abs(weights.astype(np.float64)).sum()) >= MOST:
        return None
    fraction, exponent = np.frexp(np.where(added, x, 0.0))
    m = (fraction * 2.0**MANTISSA).astype(np.int64)
    e = exponent.astype(np.int64) - MANTISSA + UNIT
    m, e = m >> np.minimum(np.maximum(-e, 0), 63), np.maximum(e, 0)  # of the smallest ones the last bits are 0
    p, r = e // STEP, e % STEP
    found = np.unique(p[added]).tolist()
    if len(found) > PLACES:
        return None
    low, high = ((m & (2**LOW - 1)) << r) * weights, ((m >> LOW) << r) * weights
    return Places({i: (np.where(added & (p == i), low, 0), np.where(added & (p == i), high, 0)) for i in found})


def exact(stored: list[bytes]) -> Objects:
    """Stored sums in units, behind a 0."""
    found = np.empty(len(stored) + 1, np.object_)
    found[0] = 0
    found[1:] = [decoded(b) for b in stored]
    return found
