"""Stretches of places: from each change on, up to the next one, as far as the change may reach (``run/so_far.py``).

A change is a row that comes or goes, or a place that comes. What it changes begins at the first place that it is up to,
and ends at one where nothing differs, as that tells all behind it that are before the next change. So some places are
read of each stretch, and more as long as something differs at the last of them.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, field, frozen

from ripplenest.data.index import Places
from ripplenest.data.order import FAR, By, Edges, Firsts, Ordering, key_numbers, ranks_by
from ripplenest.data.rows import WEIGHT, Rows
from ripplenest.plan.ranking import Ranked
from ripplenest.run.nearest import together
from ripplenest.version.version import Tables

FIRST, TIMES = 4, 4  # copies of places that are read of a stretch, and how many times as many when more are
NEAR, STORED, CAME = range(3)  # kinds of places: before a stretch, of those that were there, and new
Flags = npt.NDArray[np.bool_]


@frozen(eq=False)
class Owned:
    """Rows, and the number of what each is ``of``."""

    table: pa.Table
    of: Places

    def __len__(self) -> int:
        return len(self.of)

    def plus(self, *others: "Owned") -> "Owned":
        table = pa.concat_tables([self.table, *(o.table for o in others)]).combine_chunks()
        return Owned(table, np.concatenate([self.of, *(o.of for o in others)]))

    def where(self, some: Flags) -> "Owned":
        return Owned(self.table.filter(pa.array(some)), self.of[some])

    def take(self, some: Places) -> "Owned":
        return Owned(self.table.take(pa.array(some)), self.of[some])

    @property
    def weights(self) -> Places:
        found: Places = self.table.column(WEIGHT).to_numpy()
        return found

    def values(self, column: int) -> pa.Array:
        return self.table.column(column).combine_chunks()


@frozen(eq=False)
class Placed:
    """Places of stretches, in their order: of which kind each is, and the number of its chain. What is next in a chain
    comes next of all places of the group; it begins with the place before it, if there is one."""

    places: Owned
    kinds: Places
    chains: Places

    def __len__(self) -> int:
        return len(self.kinds)


def with_edges(r: Ranked, places: Owned) -> Owned:
    """Those of places that have an edge, or both."""
    edges = (places.values(r.edge + i) for i in range(1 if r.nearest is None or r.nearest.until is None else 2))
    return places.where(np.logical_and.reduce([e.is_valid().to_numpy(zero_copy_only=False) for e in edges]))


def untils(r: Ranked, places: Owned) -> pa.Array:
    """The values from which on rows are those of places; NULL where they are from the first one on."""
    assert r.nearest is not None
    own = places.values(r.edge)
    return pa.nulls(len(places), own.type) if r.nearest.until is None else places.values(r.edge + 1)


def ranked(r: Ranked, *values: pa.Array) -> Sequence[Places]:
    """Numbers of values in the order in which edges come that more and more rows are up to; FAR of NULL."""
    every = pa.chunked_array([c for v in values for c in (v.chunks if isinstance(v, pa.ChunkedArray) else [v])])
    found = ranks_by(pa.table([every], ["at"]), [By(0, not r.compared.descending)])
    found = np.where(every.is_null().to_numpy(), FAR, found)
    return np.split(found, np.cumsum([len(v) for v in values[:-1]]))


def points(r: Ranked, rank: Places) -> Places:
    """Where places of such a rank come, beside rows (``comings``)."""
    assert r.nearest is not None
    return 2 * rank + (not r.nearest.open)


def comings(r: Ranked, rank: Places) -> Places:
    """Where rows of such a rank come: before the places that they are up to."""
    assert r.nearest is not None
    return 2 * rank + r.nearest.open


def lows(r: Ranked, rank: Places) -> Places:
    """From where on rows are those of places that they are up to: 0 of FAR."""
    assert r.nearest is not None
    return np.where(rank == FAR, 0, 2 * rank + 2 * bool(r.nearest.until))


@define(eq=False)
class Stretches:
    """By stretch, those of a group one after another: the ``keys`` of the group and its number, the value ``at`` which
    the change is and that of the one ``following``, NULL where there is none, and whether it ``reaches`` its end.
    ``near`` are the places before them, and ``came`` those that came. Those that are ``on`` are to be read on, up to so
    many places.
    """

    r: Ranked
    tables: Tables
    keys: Rows
    groups: Places
    at: pa.Array
    following: pa.Array
    near: Owned
    came: Owned
    of_changed: Places
    on: Places
    reaches: Flags
    most: int = FIRST
    read: int = 0
    cancelled: Counter[str] = field(factory=Counter)

    @classmethod
    def of(cls, r: Ranked, changed: Rows, came: pa.Table, tables: Tables) -> "Stretches":
        """Those of rows that ``changed``, and of places that came. Of each row, its stretch is ``of_changed``."""
        assert r.nearest is not None
        every = together(r, changed.arrow(), came)
        (rank,) = ranked(r, every.column(r.edge))
        numbers = key_numbers(every, r.group) * len(every) + rank
        _, firsts, of = np.unique(numbers, return_index=True, return_inverse=True)
        groups, every, many = (numbers // max(len(every), 1))[firsts], every.take(pa.array(firsts)), len(firsts)
        types, once = tuple(changed.types[i] for i in r.group), pa.array(np.ones(many, np.int64))
        keys, at = Rows.of_columns(types, every.columns[: r.edge], once), every.column(r.edge).combine_chunks()
        is_next = np.append(groups[1:] == groups[:-1], False)[:many]
        following = at.take(pa.array(np.where(is_next, np.arange(1, many + 1), 0), mask=~is_next))
        nothing = Owned(came.slice(0, 0), np.empty(0, np.int64))
        came_of = Owned(came, of[len(changed) :])
        places = nothing, came_of, of[: len(changed)], np.arange(many), np.zeros(many, np.bool_)
        new = cls(r, tables, keys, groups, at, following, *places)
        order = r.by_edges(r.compared.descending)
        near = new._first(order, Edges(at, not r.nearest.open), np.ones(many, np.int64), np.arange(many))
        new.near = with_edges(r, near)
        return new

    def _first(self, order: Ordering, edges: Edges, limits: Places, stretches: Places) -> Owned:
        """The first places of stretches behind edges; some may have no place where they end."""
        assert self.r.nearest is not None
        keys = Rows(self.keys.types, table=self.keys.arrow().take(pa.array(stretches)))
        found = self.tables.first(self.r.nearest.asked, Firsts(order, keys, limits, edges=edges))
        self.read += found.read
        self.cancelled[self.r.nearest.asked] += found.read - len(found.rows)
        places = Owned(found.rows.arrow().combine_chunks(), stretches[found.of])
        return places.where(places.values(self.r.edge).is_valid().to_numpy(zero_copy_only=False))

    def read_on(self) -> Placed:
        """The places of those that go on, from their beginnings on."""
        stored = self._places()
        is_on = np.zeros(len(self.groups), np.bool_)
        is_on[self.on] = True
        starts = np.ones(len(is_on), np.bool_)
        starts[1:] = (self.groups[1:] != self.groups[:-1]) | ~(is_on & self.reaches)[:-1]
        near, came = self.near.where((is_on & starts)[self.near.of]), self.came.where(is_on[self.came.of])
        places, kinds = near.plus(stored, came), np.repeat((NEAR, STORED, CAME), [len(near), len(stored), len(came)])
        rank, until = ranked(self.r, places.values(self.r.edge), untils(self.r, places))
        order = np.lexsort((lows(self.r, until), rank, kinds != NEAR, places.of))
        places = places.take(order)
        chains: Places = np.cumsum(starts)
        return Placed(places, kinds[order], chains[places.of])

    def _places(self) -> Owned:
        """Those that are stored."""
        assert self.r.nearest is not None
        edges, limits = Edges(self.at.take(pa.array(self.on)), self.r.nearest.open), np.full(len(self.on), self.most)
        places = self._first(self.r.by_edges(not self.r.compared.descending), edges, limits, self.on)
        copies, furthest = np.zeros(len(self.groups), np.int64), np.full(len(self.groups), -1)
        np.add.at(copies, places.of, places.values(self.r.keys).to_numpy())
        at, following = ranked(self.r, places.values(self.r.edge), self.following)
        np.maximum.at(furthest, places.of, at)
        is_cut = copies >= self.most  # of the last ones there may be more with the same edge
        own = at <= following[places.of] if self.r.nearest.open else at < following[places.of]
        beyond = furthest > following if self.r.nearest.open else furthest >= following
        self.reaches[self.on] = (~is_cut | beyond)[self.on]
        if self.r.nearest.until is not None:  # of which some may end later
            own &= ~(is_cut[places.of] & (at == furthest[places.of]))
        return with_edges(self.r, places.where(own))

    def go_on(self, on: Places) -> None:
        """With these."""
        self.on, self.most = on, self.most * TIMES
