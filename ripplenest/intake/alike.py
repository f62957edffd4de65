"""Operations of one shape, one after the other, as columns: what their addresses ask for, and what they give.

They come one by one, or as a table with a row for each.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from ripplenest.data.index import Places
from ripplenest.data.level_values import of_values
from ripplenest.data.levels import Level
from ripplenest.data.rows import arrow_columns
from ripplenest.intake.operations import Asked, Deep, ForEach, Named, Operation, Set, Where, Write
from ripplenest.intake.shredding import Arrays
from ripplenest.nrc.types import Base, Record


def grouped(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Operations that follow one another and differ only in the values in their addresses, and in their rows."""
    for shape, found in groupby(operations, key=_shape):
        group = list(found)
        yield from ([o] for o in group) if shape is None else [group]


def _shape(o: Operation) -> object:
    match o:
        case Write() | ForEach():
            return None
        case Deep():
            return "deep", o.verb, o.path, o.label is None, _steps(o)
        case Set():
            return "set", o.path, _steps(o), tuple(name for name, _ in o.fields)


def _steps(o: Deep | Set) -> tuple[object, ...]:
    return tuple((tuple(n for n, _ in s.fields), s.many) if isinstance(s, Where) else s.name for s in o.steps)


class Singles:
    """Operations of one shape, as columns."""

    def __init__(self, group: Sequence[Deep | Set]) -> None:
        self._group, self.path, self.steps = group, group[0].path, group[0].steps

    def __len__(self) -> int:
        return len(self._group)

    def asked(self, number: int, types: Sequence[Base]) -> Arrays:
        """The values of the fields of a step."""
        found = [tuple(value for _, value in o.steps[number].fields) for o in self._group]  # type: ignore[union-attr]
        return arrow_columns(tuple(types), found)

    def label(self, types: Sequence[Base]) -> Arrays | None:
        """The labels of their bags, where these are what they ask for."""
        given = [o.label for o in self._group if isinstance(o, Deep) and o.label is not None]
        return arrow_columns(tuple(types), given) if given else None

    @property
    def rows(self) -> tuple[Level, Places]:
        """The rows of all of them, and how many each has."""
        given = [o.rows for o in self._group if isinstance(o, Deep)]
        one = len(given) == 1
        level = given[0].level if one else of_values([v for rows in given for v in rows.values], given[0].type)
        return level, np.fromiter(map(len, given), np.int64, len(given))

    def values(self, types: Sequence[Base]) -> Arrays:
        """Those of the fields that are set."""
        group = [o for o in self._group if isinstance(o, Set)]
        return arrow_columns(tuple(types), [tuple(value for _, value in o.fields) for o in group])

    @property
    def names(self) -> list[Named]:
        """The fields that are set."""
        assert isinstance(self._group[0], Set)
        return [name for name, _ in self._group[0].fields]


class Table:
    """The same of operations that came as a table."""

    def __init__(self, each: ForEach) -> None:
        self._each, self.path, self.steps = each, each.path, each.steps

    def __len__(self) -> int:
        return len(self._each.rows)

    def asked(self, number: int, types: Sequence[Base]) -> Arrays:
        before = sum(len(s.fields) for s in self.steps[:number] if isinstance(s, Asked))
        return self._each.asked[before : before + len(types)]

    def label(self, _: Sequence[Base]) -> Arrays | None:
        return None

    @property
    def rows(self) -> tuple[Level, Places]:
        return self._each.rows.level, np.ones(len(self), np.int64)

    def values(self, _: Sequence[Base]) -> Arrays:
        return self._each.rows.level.columns

    @property
    def names(self) -> list[Named]:
        assert isinstance(self._each.rows.type, Record)
        return list(self._each.rows.type.names)


Group = Singles | Table
