"""Rows of a source in the order of a column, and the rows of it that lie in the bands of combinations.

Rows are ordered by their key, then by the column with the upper edge, or the only edge: so what a combination may look
at ends where the column gets beyond its edge. Where another column has the lower edge, rows are passed over from the
front as long as none of them, so far, reaches it: in an index of intervals by their begin, those that are over before
the first one that is not. Both are binary searches, for all combinations at once.

Values are compared by their prefixes (``data/order.py``), which some share, and edges are taken to be part of the band:
what is outside of it is found by conditions, which are asked as ever. Law: no combination for which the conditions are
true is left out.
"""

import numpy as np
import pyarrow as pa
from attrs import frozen

from ripplenest.data.argsort import argsort_by, searched_within
from ripplenest.data.grouping import hashes_of
from ripplenest.data.hashing import U64
from ripplenest.data.index import Places, Sorted
from ripplenest.data.order import LEAST, MOST, UP, By, furthest, prefixes
from ripplenest.plan.product import ByEdge
from ripplenest.vector.column import Column, Failed, Mask, nulls

Columns = tuple[int, ...]
Edges = tuple[Column | None, Column | None]  # by combination the upper edge, and the lower one
NEXT = np.uint64(1)


@frozen(eq=False)
class Banded:
    """The rows of a source with the ``hashes`` of their keys, ascending, and in each key in the order of ``prefixes``:
    those of the column with the upper edge, or of the only one. ``reach``: how many of the different prefixes that
    ``known`` has, of the column with the lower edge, are less than the greatest so far in the key."""

    hashes: U64
    places: Places
    prefixes: U64
    known: U64 | None
    reach: Places | None

    @classmethod
    def of(cls, table: pa.Table, columns: Columns, by: ByEdge) -> "Banded":
        """The rows of ``table`` by ``columns``, for bands whose columns are ``by``."""
        upper, lower = by
        hashes = hashes_of(table, columns)
        own = _prefixes(table, lower, UP) if upper is None else _prefixes(table, upper, By(0))
        order = argsort_by(hashes, own)
        hashes, own = hashes[order], own[order]
        if upper is None or lower is None or upper == lower:
            return cls(hashes, order, own, None, None)
        return cls(hashes, order, own, *furthest(hashes, _prefixes(table, lower, UP)[order]))

    def spans(self, hashes: U64, edges: Edges) -> tuple[Places, Places]:
        """By combination, which asks for a key of this hash, the first entry that it looks at, and how many."""
        first, many = Sorted((self.hashes, self.places)).spans(hashes)
        end = first + many
        upper, lower = edges
        if lower is not None:
            first = self._reached(first, end, lower)
        if upper is not None:
            end = np.where(_says(upper), self._passed(first, end, upper), end)
        nothing = np.logical_or.reduce([_is_null(c) for c in edges if c is not None])
        return first, np.where(nothing, 0, end - first)

    def _passed(self, first: Places, end: Places, edge: Column) -> Places:
        """The first entries beyond an upper edge."""
        return searched_within(self.prefixes, first, end, prefixes(edge.values, By(0)).clip(max=MOST) + NEXT)

    def _reached(self, first: Places, end: Places, edge: Column) -> Places:
        """The first entries at a lower edge: of the column that orders them, or from which on some row reaches it."""
        wanted = prefixes(edge.values, UP)
        if self.known is not None and self.reach is not None:
            found = searched_within(self.reach, first, end, np.searchsorted(self.known, wanted))
        else:
            found = searched_within(self.prefixes, first, end, wanted)
        return np.where(_says(edge), found, first)


def limits(edges: Edges, many: int) -> tuple[U64, U64] | None:
    """The least and the greatest prefix that each of so many combinations looks at, as stored indexes have them, below
    LEAST or above MOST where an edge is NULL; None where one has no value."""
    upper, lower = edges
    if any(e is not None and e.failed is not None for e in edges):
        return None
    low = np.full(many, LEAST) if lower is None else prefixes(lower.values, UP)
    return low, np.full(many, MOST) if upper is None else prefixes(upper.values, By(0))


def edge_of(found: Column, asking: Places) -> Column:
    """The edges of the combinations that are ``asking``."""
    if len(asking) == len(found.values):
        return found
    failed = None if found.failed is None else Failed(found.failed.rows[asking], found.failed.why)
    return Column(found.values.take(pa.array(asking)), failed)


def _prefixes(table: pa.Table, column: int | None, by: By) -> U64:
    assert column is not None
    return prefixes(table.column(column).combine_chunks(), by)


def _says(edge: Column) -> Mask:
    """Where an edge has a value: who has none looks at all, as the condition is asked of each."""
    return np.ones(len(edge.values), np.bool_) if edge.failed is None else ~edge.failed.rows


def _is_null(edge: Column) -> Mask:
    return nulls(edge.values) & _says(edge)
