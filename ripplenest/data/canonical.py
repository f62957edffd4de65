"""The canonical order of nested values, over columns: which comes before which, and which are equal.

Theory of operation. Values are told apart field by field, and only those that agree so far are asked for the next one.
A bag is compared by its rows in their order, each with how often it is there: their ranks and counts, written one after
the other as numbers of 64 bits with the highest byte first, are compared as texts are. So a bag costs a sort of its
rows, at every depth, and no row is looked at by itself.

Law: the order is that of ``nrc/shown.sort_key``, and values of one rank are equal.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.argsort import argsort, argsort_by
from ripplenest.data.grouping import same
from ripplenest.data.index import Places
from ripplenest.data.order import By, changes, told_apart, wide
from ripplenest.nrc.bags import checked
from ripplenest.nrc.printing.shown import ANYHOW, INSIDE, Path, Shown
from ripplenest.nrc.syntax import Sorting

Mask = npt.NDArray[np.bool_]


def ranks(values: pa.Array, nulls_first: bool = True) -> Places:
    """For each of the nested ``values`` how many come before it; equal ones share a number."""
    found = np.zeros(len(values), np.int64)
    _told(found, np.arange(len(values)), values, nulls_first)
    return found


def summed(values: pa.Array, weights: Places) -> tuple[Places, Places]:
    """Where each of the different ``values`` is that is not there 0 times, and the sum of its ``weights``, in canonical
    order. Raises EvaluationError beyond 64 bits."""
    own = ranks(values)
    order = argsort(own)
    starts = np.flatnonzero(changes([own[order]]))
    if not len(starts):
        return starts, starts
    sums = np.add.reduceat(wide(weights[order]), starts)
    if sums.dtype == object:
        sums = np.array([checked(n) for n in sums], np.int64)
    kept = np.flatnonzero(sums)
    return order[starts][kept], sums[kept]


def arranged(values: pa.Array, shown: Shown = ANYHOW, path: Path = (INSIDE,)) -> pa.Array:
    """The nested ``values``, which are those at ``path``, with the rows of each bag sorted as ``shown`` says, and where
    that leaves them open in canonical order."""
    if pa.types.is_struct(values.type):
        names = [values.type.field(i).name for i in range(values.type.num_fields)]
        if not names:
            return values
        fields = [arranged(own, shown, (*path, name)) for own, name in zip(values.flatten(), names, strict=True)]
        return pa.StructArray.from_arrays(fields, names=names, mask=values.is_null() if values.null_count else None)
    if not pa.types.is_list(values.type):
        return values
    rows, spans = arranged(values.flatten(), shown, (*path, INSIDE)), ends(values)
    order = in_order(rows, np.repeat(spans[:-1], np.diff(spans)), shown.get(path, ()))
    missing = values.is_null() if values.null_count else None
    return pa.ListArray.from_arrays(pa.array(spans, pa.int32()), rows.take(pa.array(order)), mask=missing)


def unequal(a: pa.Array, b: pa.Array) -> Mask:
    """Which of the values differ, those of ``a`` from those of ``b`` at the same places; both are ``arranged``."""
    if pa.types.is_struct(a.type):
        told: Mask = _nulls(a) != _nulls(b)
        for own, other in zip(a.flatten(), b.flatten(), strict=True):
            told |= unequal(own, other)
        return told
    if not pa.types.is_list(a.type):
        return ~same(a, b)
    sizes, others = np.diff(ends(a)), np.diff(ends(b))
    found: Mask = (sizes != others) | (_nulls(a) != _nulls(b))
    alike = np.flatnonzero(~found)
    rows = unequal(*(bags.take(pa.array(alike)).flatten() for bags in (a, b)))
    found[np.repeat(alike, sizes[alike])[rows]] = True
    return found


def _nulls(values: pa.Array) -> Mask:
    missing: Mask = values.is_null().to_numpy(zero_copy_only=False)
    return missing


def in_order(rows: pa.Array, start: Places, order: Sequence[Sorting] = ()) -> Places:
    """The places of ``rows`` in the order in which they are shown, group by group: that of each begins at ``start``."""
    found = start.copy()
    tied = np.arange(len(rows))
    for by in order:
        tied = told_apart(found, tied, _at(rows, by.path), By(0, by.descending, by.nulls_first))
    _told(found, tied, rows, nulls_first=not order)
    return argsort(found)


def _at(rows: pa.Array, path: Iterable[str]) -> pa.Array:
    for name in path:
        rows = rows.flatten()[rows.type.get_field_index(name)]
    return rows


def _told(found: Places, tied: Places, values: pa.Array, nulls_first: bool) -> Places:
    """As ``told_apart``, by nested values."""
    if len(tied) < 2:
        return tied
    if pa.types.is_struct(values.type):
        if values.null_count:  # whether it is there is its first field
            tied = told_apart(found, tied, values.is_valid(), By(0))
        for own in values.flatten():
            tied = _told(found, tied, own, nulls_first)
        return tied
    by = By(0, nulls_first=nulls_first)
    if not pa.types.is_list(values.type):
        return told_apart(found, tied, values, by)
    bags, among = _bag_ranks(values.take(pa.array(tied)), nulls_first), found[tied]
    left = told_apart(among, np.arange(len(tied)), bags, by)
    found[tied] = among
    return tied[left]


def _bag_ranks(bags: pa.Array, nulls_first: bool) -> pa.Array:
    """For each bag a number that is ordered as bags are; NULL for one that is NULL."""
    rows, spans = bags.flatten(), ends(bags)
    holders, own = np.repeat(np.arange(len(bags)), np.diff(spans)), ranks(rows, nulls_first)
    order = argsort_by(holders, own)
    starts = np.flatnonzero(changes([holders[order], own[order]]))
    counts = np.diff(starts, append=len(order))
    most = int(counts.max(initial=0)) + 1  # ranks and counts are numbers of rows in memory, so their product fits
    words = (own[order][starts] * most + counts).astype(">u8")
    until = np.searchsorted(holders[order][starts], np.arange(len(bags) + 1)).astype(np.int64) * words.itemsize
    texts = pa.Array.from_buffers(pa.large_binary(), len(bags), [None, pa.py_buffer(until), pa.py_buffer(words)])
    found = pc.rank(texts, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
    return pa.array(found, mask=_nulls(bags))


def ends(bags: pa.Array) -> Places:
    """Where each bag begins among ``bags.flatten()``, and where the last one ends."""
    sizes = pc.fill_null(pc.list_value_length(bags), 0).to_numpy()
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
