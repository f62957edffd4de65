"""s (nrc-ivm, figure 9) over columns: a level becomes the rows of parts, level by level and never row by row.

A label is the key of its place (``shred/places.py``): the columns of the label around it and those of the row's key, or
one number where the row has none. So labels are columns that are gathered, as all others are. Law: the rows are those
of ``shred/values.shred_rows``, but for which number a row has.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.index import Places
from ripplenest.data.levels import Level, Mask
from ripplenest.data.naming import Numbers
from ripplenest.data.rows import Rows
from ripplenest.schema.relation import Part, Relation

Arrays = Sequence[pa.Array]
Parts = Mapping[str, Rows]


class Numbering(Protocol):
    """How rows that hold bags, and have no key to be known by, are identified."""

    def numbers(self, part: Part, label: Arrays, level: Level, /) -> Places:
        """A number for each row of ``level``, which are those that come into bags of ``part`` with these labels."""


class Anew(Numbering):
    """Each row gets a number that no other has."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def numbers(self, _part: Part, _label: Arrays, level: Level) -> Places:
        found = self._numbers.take(len(level))
        return np.arange(found.start, found.stop)


class Shredder:
    """Levels to rows of the parts of one relation."""

    def __init__(self, relation: Relation, numbering: Numbering) -> None:
        self._relation, self._numbering = relation, numbering
        self._found: dict[str, Rows] = {}

    def shredded(self, part: Part, label: Arrays, level: Level) -> Parts:
        """The rows of ``level``, each in the bag of ``part`` whose label is beside it, as rows of all parts that have
        any. In each, those of one bag stand in the order of ``level``."""
        self._add(part, label, level)
        return self._found

    def _add(self, part: Part, label: Arrays, level: Level) -> None:
        stored = placed(part, label, level.columns)
        own = self._identity(part, label, level) if level.bags else ()
        for (path, held), bags in zip(part.held.items(), level.bags, strict=True):
            for c, column in zip(held, own, strict=True):
                stored[c] = column if bags.present is None else nulled(column, bags.present)
            if len(bags.rows):
                holders = pa.array(bags.owners)
                self._add(self._relation.parts[path], [c.take(holders) for c in own], bags.rows)
        weights = None if level.weights is None else pa.array(level.weights)
        self._found[part.name] = Rows.of_columns(part.types, [stored[c] for c in range(len(part.types))], weights)

    def _identity(self, part: Part, label: Arrays, level: Level) -> Arrays:
        """What the labels of the bags of each row are made of."""
        key = self._relation.rows_of(part).key
        if not key:
            return [pa.array(self._numbering.numbers(part, label, level))]
        columns = placed(part, label, level.columns)
        return [*label, *(columns[part.column((name,))] for name in key)]


def placed(part: Part, label: Arrays, columns: Arrays) -> dict[int, pa.Array]:
    """Labels and base columns of rows by where they are in the stored rows of ``part``."""
    return dict(zip(part.scalars, (*label, *columns), strict=True))


def nulled(column: pa.Array, kept: Mask) -> pa.Array:
    """``column`` with NULL where it is not ``kept``."""
    return pc.if_else(pa.array(kept), column, pa.scalar(None, column.type))
