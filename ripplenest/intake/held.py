"""Stored rows of several parts that belong together: rows, and all that is in their bags.

Rows that come are compared with them by numbers that nearly always differ for different contents
(``data/levels.py``). A number that is wrongly equal costs a Culprit or a longer change, never a wrong row: what goes is
compared exactly afterwards.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.argsort import argsort
from ripplenest.data.hashing import U64, fingerprints, hash_columns, mix
from ripplenest.data.index import Columns, Places, matches
from ripplenest.data.levels import Level, bag_prints, row_prints, weighted
from ripplenest.data.naming import Numbers
from ripplenest.data.rows import Rows
from ripplenest.intake.shredding import Arrays, Numbering
from ripplenest.schema.relation import Part, Relation
from ripplenest.vector.binding import Input


class Held:
    """``rows`` by part, each once."""

    def __init__(self, relation: Relation, rows: Mapping[str, Rows]) -> None:
        self._relation, self.rows = relation, rows
        self._inputs: dict[str, Input] = {}
        self._prints: dict[str, U64] = {}

    def input(self, part: Part) -> Input:
        """The rows of a part, which may be none."""
        if part.name not in self._inputs:
            self._inputs[part.name] = Input.of(self.rows.get(part.name, Rows.empty(part.types)))
        return self._inputs[part.name]

    def prints(self, part: Part) -> U64:
        """For each row of a part, the number of the nested row that it stands for. Law: ``Printed`` gives the same."""
        if part.name not in self._prints:
            self._prints[part.name] = self._printed(part)
        return self._prints[part.name]

    def _printed(self, part: Part) -> U64:
        rows, sums = self.input(part), []
        for path, held in part.held.items():
            which, places = self._below(rows, path, held)
            below = self._relation.parts[path]
            inner = weighted(self.prints(below), self.input(below).weights)[places]
            present = rows.columns[held[0]].is_valid().to_numpy(zero_copy_only=False)
            sums.append(bag_prints(np.bincount(which, minlength=len(rows)), inner, present))
        own = [rows.columns[c] for c in part.scalars[len(part.label) :]]
        return row_prints(own, sums, len(rows))

    def only(self, part: Part, places: Places) -> "Held":
        """The rows of ``part`` at ``places``, and what is in them."""
        found: dict[str, Rows] = {}
        self._take(part, places, found)
        return Held(self._relation, found)

    def _take(self, part: Part, places: Places, found: dict[str, Rows]) -> None:
        rows = self.input(part)
        found[part.name] = Rows(part.types, table=rows.table.take(pa.array(places)), summed=True)
        taken = Held(self._relation, found).input(part)
        for path, held in part.held.items():
            self._take(self._relation.parts[path], self._below(taken, path, held)[1], found)

    def _below(self, rows: Input, path: str, held: Columns) -> tuple[Places, Places]:
        """(which, place): row number ``which`` holds the bag that the row ``place`` of the part ``path`` is in."""
        part = self._relation.parts[path]
        below, labels = self.input(part), [rows.columns[c] for c in held]
        return matches(below.index(part.label), below.table, part.label, hash_columns(labels, len(rows)), labels)


class Kept(Numbering):
    """The numbers of rows that are held, for those that come in their place: of those with equal contents, then of
    those with equal base fields; any other row gets a new one. Law: a bag that comes again gets the labels it has.

    Rows that come into ``whole`` come in the place of those with their key.
    """

    def __init__(self, held: Held, whole: Part | None, anew: Numbers) -> None:
        self._held, self._whole, self._anew = held, whole, anew

    def numbers(self, part: Part, label: Arrays, level: Level) -> Places:
        stored = self._held.input(part)
        known = pc.coalesce(*(stored.columns[columns[0]] for columns in part.held.values()))
        free = np.flatnonzero(known.is_valid().to_numpy(zero_copy_only=False))
        numbers: Places = known.fill_null(0).to_numpy()
        free = free[argsort(numbers[free])]
        found, open_ = np.full(len(level), -1, np.int64), np.arange(len(level))
        for new, old in self._ways(part, label, level, stored):
            mine, theirs = paired(new[open_], old[free])
            found[open_[mine]] = numbers[free[theirs]]
            open_, free = np.delete(open_, mine), np.delete(free, theirs)
        found[open_] = self._anew.take(len(open_))
        return found

    def _ways(self, part: Part, label: Arrays, level: Level, stored: Input) -> list[tuple[U64, U64]]:
        """Numbers of rows that come and of stored rows, which are equal where one may come in the place of the other:
        the better way first."""
        new, old = [*label, *level.columns], [stored.columns[c] for c in part.scalars]
        if part is self._whole:
            at = [part.scalars.index(c) for c in part.key_columns]
            return [(_of(new, at, len(level)), _of(old, at, len(stored)))]
        bag = range(len(label))
        around = _of(new, bag, len(level)), _of(old, bag, len(stored))
        contents = mix(around[0] + level.printed.prints), mix(around[1] + self._held.prints(part))
        return [contents, (fingerprints(new, len(level)), fingerprints(old, len(stored)))]


def _of(columns: Arrays, places: Columns | range | list[int], rows: int) -> U64:
    return hash_columns([columns[i] for i in places], rows)


def paired(a: U64, b: U64) -> tuple[Places, Places]:
    """Places of equal numbers, one in ``a`` and one in ``b``: the first with the first, the second with the second."""
    _, mine, theirs = np.intersect1d(_ranked(a), _ranked(b), return_indices=True)
    return mine, theirs


def _ranked(a: U64) -> U64:
    """Each number with how many equal ones come before it."""
    order = argsort(a)
    ascending = a[order]
    first = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]])) if len(a) else order
    rank = np.empty(len(a), np.uint64)
    rank[order] = np.arange(len(a)) - np.repeat(first, np.diff(np.append(first, len(a))))
    return mix(a + rank * np.uint64(0x9E3779B97F4A7C15))
