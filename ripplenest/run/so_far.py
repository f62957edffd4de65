"""The first rows so far: those up to the edge of each place, in another order than that of edges.

    T(l) = first n of {r ∈ R | r up to l}

What a batch changes of it is told by T(l) itself and what comes up to l, as long as none of its n rows goes, or enough
come before the last of them: what else goes is in no T(l), and one with fewer rows has all of them (``told.py``). So
rows are read for places that come, and for those that lose a row and get none (``sought.py``); and places as far as
something differs (``stretches.py``): where nothing does, nothing does behind it before the next change. What is read is
about what changes in the answers, however many rows lie before a place, and however few places there are.

Law (so far = first): the answer of each place is the first n copies of all rows of its group that are up to its edge.
"""

from collections import Counter

import numpy as np
import pyarrow as pa
from attrs import define, field

from ripplenest.data import columnar
from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Places, index_of, matches
from ripplenest.data.order import key_numbers
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.nrc.types import Base
from ripplenest.plan.planned import PlannedMap
from ripplenest.plan.ranking import Ranked
from ripplenest.run.nearest import Made, Moved, together
from ripplenest.run.sought import Sought
from ripplenest.run.stretches import NEAR, STORED, Flags, Owned, Stretches, comings, lows, ranked, untils, with_edges
from ripplenest.run.told import Told, first_of_points, of_row
from ripplenest.version.version import Tables

Types = tuple[Base, ...]


def built(r: Ranked, made: Rows, types: Types) -> Rows:
    """The first rows of all places, where all places and rows of some groups were ``made``. Raises LawBroken for rows
    that are there less than 0 times."""
    own = Made.of(r, made, types)
    rows, places = own.rows.arrow().combine_chunks(), own.places.arrow().combine_chunks()
    groups = key_numbers(together(r, rows, places), r.group)
    asked = with_edges(r, Owned(places, groups[len(rows) :]))
    return _placed(types, r, asked, first_of_points(r, asked, Owned(rows, groups[: len(rows)])))


def moved(m: PlannedMap, r: Ranked, made: Rows, tables: Tables) -> Moved:
    """What changes by ``made``. Raises LawBroken for rows that are there less than 0 times."""
    own = Made.of(r, made, m.types)
    step = _Step.of(m, r, own, tables)
    while len(step.stretches.on):
        step.go_on()
    went = columnar.negative(own.places)
    gone = step.had(Owned(went.arrow().combine_chunks(), np.zeros(len(went), np.int64)))
    stayed = columnar.others(step.change.consolidated(), m.own_key, columnar.distinct(went, m.own_key))
    change = stayed.plus(Rows(m.types, table=gone.table).negated()).consolidated()
    return Moved(change, step.read + step.stretches.read, step.cancelled + step.stretches.cancelled)


@define(eq=False)
class _Step:
    """How the first rows of places ``change``, of the stretches that are done with."""

    m: PlannedMap
    r: Ranked
    tables: Tables
    changed: Rows
    stretches: Stretches
    change: Rows
    read: int = 0
    cancelled: Counter[str] = field(factory=Counter)

    @classmethod
    def of(cls, m: PlannedMap, r: Ranked, made: Made, tables: Tables) -> "_Step":
        came = columnar.positive(made.places)
        places = with_edges(r, Owned(came.arrow().combine_chunks(), np.zeros(len(came), np.int64))).table
        return cls(m, r, tables, made.rows, Stretches.of(r, made.rows, places, tables), Rows.empty(m.types))

    def had(self, places: Owned) -> Owned:
        """The stored first rows of places, by the number of each."""
        if not len(places):
            return Owned(Rows.empty(self.m.types).arrow(), places.of)
        key, own = self.m.own_key, Rows(self.m.types[: self.r.keys], table=places.table)
        stored = self.tables.probe(self.m.name, key, columnar.distinct(own, key))
        self.read += len(stored)
        self.cancelled[self.m.name] += stored.cancelled()
        table, asked = stored.consolidated().arrow().combine_chunks(), [places.values(c) for c in key]
        which, at = matches(index_of(table, key), table, key, hash_columns(asked, len(places)), asked)
        return Owned(table.take(pa.array(at)), which)

    def go_on(self) -> None:
        """Read on, and see where something still differs at the end."""
        placed = self.stretches.read_on()
        places, kinds = placed.places, placed.kinds
        held = self.had(places)
        rows = Owned(of_row(held.table, self.r.keys), held.of)
        told = Told.of(self.r, self.stretches, self.changed, placed, rows)
        sought = Sought(self.r, self.stretches, self.tables, self.changed, told, told.answers, told.asked.copy())
        sought.go_on()
        self.read, self.cancelled = self.read + sought.read, self.cancelled + sought.cancelled
        is_own = kinds != NEAR
        new = _placed(self.m.types, self.r, places, sought.answers.where(is_own[sought.answers.of]))
        old = Rows(self.m.types, table=held.where(is_own[held.of]).table)
        self._leave(places, kinds, new.plus(old.negated()).consolidated())

    def _leave(self, places: Owned, kinds: Places, change: Rows) -> None:
        """Go on where the last places that are stored do not end it; be done with all others."""
        s, key, stored = self.stretches, self.m.own_key, places.where(kinds == STORED)
        last = stored.where(np.append(stored.of[1:] != stored.of[:-1], True)[: len(stored)])
        ends = self.r.nearest is not None and self.r.nearest.until is not None
        goes_on = self._goes_further(last) if ends else self._differs(last, change)
        is_done = s.reaches.copy()
        is_done[last.of[~goes_on]] = True
        own = places.where(is_done[places.of] & (kinds != NEAR)).table  # that may be one of a stretch that goes on
        mask = columnar.among(change, key, columnar.distinct(Rows(self.m.types[: self.r.keys], table=own), key))
        self.change = self.change.plus(columnar.where(change, mask))
        s.go_on(s.on[~is_done[s.on]])

    def _differs(self, places: Owned, change: Rows) -> Flags:
        """Whether these are no longer what they were."""
        if not len(places):
            return np.zeros(0, np.bool_)
        key, labels = self.m.own_key, Rows(self.m.types[: self.r.keys], table=places.table)
        found: Flags = columnar.among(labels, key, columnar.distinct(change, key)).to_numpy()
        return found

    def _goes_further(self, places: Owned) -> Flags:
        """Whether the changes of their stretches are of places that come later: rows may end before that."""
        at, until = ranked(self.r, self.stretches.at, untils(self.r, places))
        further: Flags = comings(self.r, at)[places.of] >= lows(self.r, until)
        return further


def _placed(types: Types, r: Ranked, places: Owned, answers: Owned) -> Rows:
    """Rows as those of their places."""
    asked = places.table.take(pa.array(answers.of))
    columns = [*asked.columns[: r.keys], *answers.table.columns]
    return Rows(types, table=pa.Table.from_arrays(columns, schema=arrow_schema(types)))
