"""What the first rows of places tell of those that they are after a batch (``run/so_far.py``).

Of each place T are its first n copies before the batch, and Δ is what changes of the rows up to it. If T is fewer than
n copies it was all there was, and the first of T ⊎ Δ are the answer. Else let b be the last row of T: all that comes
before b is in T, and so the answer is known where n copies of T ⊎ Δ come before b, or with the copies of b that are
known to be there.
"""

from typing import Self

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Places, index_of, matches
from ripplenest.data.order import FAR, Copies, Ordering, ranks, weighed
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.data.so_far import NONE, Spans, Stream
from ripplenest.nrc.errors import LawBroken
from ripplenest.plan.ranking import Ranked
from ripplenest.run.stretches import (
    CAME,
    NEAR,
    Flags,
    Owned,
    Placed,
    Stretches,
    comings,
    lows,
    points,
    ranked,
    untils,
)

BEFORE = -1  # all that is in a run


def of_row(table: pa.Table, label: int) -> pa.Table:
    """Rows without the ``label`` columns that say whose they are."""
    columns = table.columns[label:]
    return pa.Table.from_arrays(columns, [*(f"c{i}" for i in range(len(columns) - 1)), WEIGHT]).combine_chunks()


def order_of(r: Ranked) -> Ordering:
    """The order of such rows."""
    return Ordering((), tuple(evolve(b, column=b.column - r.keys) for b in r.order.by))


def first_of_points(r: Ranked, places: Owned, rows: Owned, base: Owned | None = None) -> Owned:
    """The first rows of places, by their numbers: of those up to them in their run, at whose beginning are those of the
    ``base``. Raises LawBroken for rows that are there less than 0 times."""
    every = Owned(of_row(rows.table, len(r.group)), rows.of)
    every = every if base is None else every.plus(base)
    weights = every.weights
    if weights.min(initial=1) < 1:
        raise LawBroken("rows in order that are there less than 0 times", where=r.kept, wanted="1 or more")
    k, rank = every.values(r.compared.column - len(r.group)), ranks(every.table, order_of(r))
    at, edges, until = ranked(r, k, places.values(r.edge), untils(r, places))
    if r.nearest is not None and r.nearest.until is not None:
        spans = Spans(every.of, comings(r, at), rank, weights)
        which, some, copies = spans.first(places.of, lows(r, until), points(r, edges), r.limit)
        return Owned(weighed(every.table, some, copies), which)
    once, at = np.ones(len(places), np.int64), np.where(np.arange(len(every)) < len(rows), comings(r, at), BEFORE)
    found = Stream(
        np.concatenate([every.of, places.of]),
        np.concatenate([at, points(r, edges)]),
        np.concatenate([rank, NONE * once]),
        np.concatenate([weights, once]),
    )
    which, first, copies = found.first(r.limit)
    some = np.empty(len(every), np.int64)
    some[rank] = np.arange(len(every))
    return Owned(weighed(every.table, some[first], copies), which - len(every))


@frozen(eq=False)
class Told:
    """Of what is ``placed``: the ``answers`` of those that are known, and which others are asked for. What was up to
    these before the batch came at a row of ``held``, or later: at that of the number ``since``, if it is 0 or more.
    ``coming``: the first of the rows that come up to each."""

    placed: Placed
    answers: Owned
    asked: Flags
    held: Owned
    since: Places
    coming: Owned

    @classmethod
    def of(cls, r: Ranked, s: Stretches, changed: Rows, placed: Placed, held: Owned) -> Self:
        """Of places, and the rows ``held`` by the number of each. Raises LawBroken."""
        places = placed.places
        groups, weights = s.groups[places.of], changed.arrow().column(WEIGHT).to_numpy()
        every = Owned(changed.arrow().combine_chunks(), s.groups[s.of_changed])
        coming = first_of_points(r, Owned(places.table, groups), every.where(weights > 0))
        left = _left(r, Owned(held.table, groups[held.of]), every.where(weights < 0))
        own, n = held.plus(coming), len(places)
        rank, is_full = ranks(own.table, order_of(r)), np.bincount(held.of, held.weights, n) >= r.limit
        last = np.full(n, -1)
        np.maximum.at(last, held.of, rank[: len(held)])
        last[~is_full] = FAR
        if ((left < 0) & (rank[: len(held)] != last[held.of])).any():
            raise LawBroken("rows in order that are there less than 0 times", where=r.kept, wanted="0 or more")
        counts = np.concatenate([np.maximum(left, 0), coming.weights])
        some, copies = Copies.of(own.of, rank, counts).first(r.limit)
        total, worst = np.bincount(own.of[some], copies, n), np.full(n, -1)
        np.maximum.at(worst, own.of[some], rank[some])
        known = (placed.kinds != CAME) & (~is_full | ((total == r.limit) & (worst <= last)))
        answers = Owned(weighed(own.table, some, copies), own.of[some])
        asked, since = _asked(placed, ~known), _since(placed, held, rank)
        if r.nearest is not None and r.nearest.until is not None:  # what is up to one may be no more of the next
            since[placed.kinds == CAME] = -1
        return cls(placed, answers.where(known[answers.of]), asked, held, since, coming)


def _left(r: Ranked, held: Owned, went: Owned) -> Places:
    """How many copies are left of rows that were held in groups, of which some went."""
    if not len(went):
        return held.weights
    gone = of_row(went.table, len(r.group))
    table = gone.set_column(gone.num_columns - 1, "group", pa.array(went.of))
    own, key = [*held.table.combine_chunks().columns[:-1], pa.array(held.of)], tuple(range(table.num_columns))
    arrays = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in own]
    which, at = matches(index_of(table, key), table, key, hash_columns(arrays, len(held)), arrays)
    left = held.weights.copy()
    left[which] += went.weights[at]
    return left


def _asked(placed: Placed, unknown: Flags) -> Flags:
    """Of those that are unknown not those before a chain, where what follows is known."""
    follows = np.append(unknown[1:] & (placed.chains[1:] == placed.chains[:-1]), False)[: len(placed)]
    asked: Flags = unknown & ((placed.kinds != NEAR) | follows)
    return asked


def _since(placed: Placed, held: Owned, rank: Places) -> Places:
    """By place the number of the first row that it, or the next one of its chain that has some, holds; -1 if none
    does."""
    n, first = len(placed), np.full(len(placed), -1)
    order = np.lexsort((-rank[: len(held)], held.of))
    first[held.of[order]] = order  # the last one that is written is the least
    has = np.where(first >= 0, np.arange(n), n)
    following = np.minimum.accumulate(has[::-1])[::-1]
    inside = np.minimum(following, n - 1)
    is_own = (following < n) & (placed.chains[inside] == placed.chains)
    return np.where(is_own, first[inside], -1)
