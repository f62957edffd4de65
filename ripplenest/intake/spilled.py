"""Rows that a user gave and that do not fit memory: in a file, in an order of their own.

Rows in any order are one batch, which is known by the digest of its rows in the order of their prints
(``data/content.py``). So many rows are sorted by their prints once, in runs, and from then on read in that order, some
at a time. Rows without inner bags have other prints than those with them, because their digests are older. Beside each
row stands its number among those that came, for messages.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from itertools import chain

import numpy as np
import pyarrow as pa

from ripplenest.data.argsort import argsort
from ripplenest.data.columns import base_types
from ripplenest.data.content import Content, level_digest, ordered_digest
from ripplenest.data.hashing import U64, fingerprints
from ripplenest.data.levels import Level
from ripplenest.data.room import Room
from ripplenest.data.sorting import Sorter
from ripplenest.data.spool import Extent, Spool, Stored, concatenated
from ripplenest.intake.given import Given
from ripplenest.nrc.types import Type, is_flat


class Spilled(Given):
    """Rows of ``type`` in a file."""

    def __init__(self, type: Type, room: Room, stored: Stored, rows: int) -> None:
        """``rows`` are worked on at a time."""
        super().__init__(type)
        self._room, self.stored, self._some = room, stored, rows

    def __len__(self) -> int:
        return self.stored.size

    @cached_property
    def total(self) -> int:
        return sum(level.total for level in self.pieces())

    @property
    def level(self) -> Level:
        """All rows, which takes the memory that they take."""
        if self._level is None:
            self._level = _rows(self.stored.slice(0, len(self)))
        return self._level

    def numbered(self) -> Iterator[tuple[U64, Level]]:
        """The rows, some at a time, and beside each its number among those that came."""
        for start in range(0, len(self), self._some):
            found = self.stored.slice(start, min(start + self._some, len(self)))
            yield found.columns[-1].to_numpy(), _rows(found)
            self._room.release()

    def pieces(self) -> Iterator[Level]:
        """The rows, some at a time."""
        return (level for _, level in self.numbered())

    def columns_digest(self) -> str:
        return ordered_digest(base_types(self.type), self.pieces)

    def level_digest(self) -> str:
        return level_digest(self.pieces)

    @cached_property
    def content(self) -> Content:
        return reduce(Content.plus, map(Content.of, self.pieces()), Content())


def _rows(found: Level) -> Level:
    """What is in a file, without the numbers of rows."""
    return Level(found.size, found.columns[:-1], found.bags, found.weights)


def gathered(pieces: Iterable[Given], row: Type, room: Room) -> Given:
    """``pieces``, of which there is one, together: as they are if they fit, and in a file if they do not."""
    found, rest, size = [], iter(pieces), 0
    for piece in rest:
        found.append(piece)
        size += Extent.of(piece.level).bytes if len(found) > 1 or len(piece) > FEW else 0
        if size > room.chunk:
            return _spilled(_together(found, rest, room), row, room)
    if len(found) == 1:
        return found[0]
    some = [piece for piece in found if len(piece)] or found[:1]
    return some[0] if len(some) == 1 else Given(row, level=concatenated([piece.level for piece in some]))


FEW = 1 << 10  # rows that fit


def _together(found: list[Given], rest: Iterator[Given], room: Room) -> Iterator[Level]:
    """Pieces, several as one where they are small: each becomes a run."""
    some: list[Level] = []
    size = 0
    for piece in chain(found, rest):
        if len(piece):
            some.append(piece.level)
            size += Extent.of(piece.level).bytes
        if size > room.chunk:
            yield concatenated(some)
            some, size = [], 0
    if some:
        yield concatenated(some)


def _spilled(levels: Iterable[Level], row: Type, room: Room) -> Given:
    flat, sorter, start = is_flat(row), Sorter(room), 0
    if flat and not base_types(row):
        return Given(row, level=concatenated(list(levels)))  # rows of nothing, which take nothing
    for level in levels:
        came = np.arange(start, start + level.size)
        if flat:
            numbers = fingerprints([*level.columns, pa.array(np.ones(level.size, np.int64))], level.size)
            found = level
        else:
            prints = level.printed.prints
            order = argsort(prints)
            numbers, found, came = prints[order], level.printed.ordered(), came[order]
        sorter.add(Level(found.size, [*found.columns, pa.array(came)], found.bags, found.weights), numbers)
        start += level.size
    assert sorter.extent is not None
    spool = Spool(room, sorter.extent)
    for _, window in sorter.windows():
        spool.append(window)
    rows = max(room.chunk * sorter.size // max(sorter.extent.bytes, 1), 1)
    return Spilled(row, room, spool.stored(), rows)
