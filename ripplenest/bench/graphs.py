"""Directed graphs whose nodes differ very much in their edges: R-MAT (Chakrabarti, Zhan and Faloutsos, "R-MAT: a
recursive model for graph mining", SDM 2004), with the shares that Graph500 takes.

A graph of n edges is drawn on a square of 2^k nodes a side, the least with twice as many nodes as edges: each edge goes
into a quarter of the square, into a quarter of that, and so on. No edge is there twice. Of 1,000,000 edges one has 70
others at its start on an average, and 2,900 at most; and 12 on an average at that of its ends where they are fewer.
"""

from math import ceil, log2

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SHARES = (0.57, 0.19, 0.19, 0.05)  # of the quarters: upper left, upper right, lower left, lower right


def levels(edges: int) -> int:
    """k, for a graph of so many edges."""
    return max(ceil(log2(2 * edges)), 1)


def drawn(draw: np.random.Generator, levels: int, edges: int) -> Ints:
    """So many edges as numbers, x · 2^levels + y; some may be equal."""
    x, y = np.zeros((2, edges), np.int64)
    a, b, c, _ = np.cumsum(SHARES)
    for _ in range(levels):
        at = draw.random(edges)
        x, y = 2 * x + (at >= b), 2 * y + (((at >= a) & (at < b)) | (at >= c))
    return (x << levels) + y


def distinct(draw: np.random.Generator, levels: int, edges: int, known: Ints) -> Ints:
    """So many different edges, none of which is ``known``, in random order."""
    found = np.empty(0, np.int64)
    while len(found) < edges:
        more = np.unique(drawn(draw, levels, 2 * (edges - len(found))))
        found = np.union1d(found, more[~np.isin(more, known)])
    return draw.permutation(found)[:edges]


def table(edges: Ints, levels: int) -> pa.Table:
    """(x, y)."""
    return pa.table({"x": edges >> levels, "y": edges & ((1 << levels) - 1)})
