"""Rows in the order of a number that each has, however many there are: sorted runs in files, merged in windows.

What is added at a time is sorted and becomes a run. A window is a range of numbers, which in each run is one stretch,
so that a merge reads stretches, joins them and sorts again. Ranges are halved until they hold few enough rows: the
numbers are hashes, which fall everywhere alike. Rows of one number are more than a window only where they are many;
then they are several windows.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from ripplenest.data.argsort import argsort, ascends
from ripplenest.data.hashing import U64
from ripplenest.data.index import Places
from ripplenest.data.levels import Level
from ripplenest.data.room import Room
from ripplenest.data.spool import Extent, Stored, concatenated, spooled

Finer = Callable[[Level], U64]  # a second number of each row, equal for equal rows
Spans = list[tuple[int, int]]
END = 1 << 64


class Sorter:
    """Rows to be sorted. Law: the windows one after the other are a stable sort of all that was added."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._runs: list[tuple[U64, Stored]] = []
        self.extent: Extent | None = None

    def add(self, level: Level, numbers: U64) -> None:
        """Rows, and the number of each."""
        if not level.size:
            return
        if not ascends(numbers):
            order = argsort(numbers)
            level, numbers = level.take(order), numbers[order]
        own = Extent.of(level)
        self.extent = own if self.extent is None else self.extent.plus(own)
        stored = spooled(self._room, Level(level.size, [*level.columns, pa.array(numbers)], level.bags, level.weights))
        self._runs.append((stored.columns[-1].chunk(0).to_numpy(), stored))
        self._room.release()

    @property
    def size(self) -> int:
        """How many rows there are."""
        return 0 if self.extent is None else self.extent.rows

    def windows(self, finer: Finer | None = None) -> Iterator[tuple[U64, Level]]:
        """All rows, ascending by their numbers, which are beside them. Rows that have one number are in one window, or
        where they are too many those whose ``finer`` number is one are."""
        if self.extent is None:
            return
        most = max(self._room.chunk * self.size // max(self.extent.bytes, 1), 1)
        for spans in self._ranges(0, END, most):
            many = sum(end - start for start, end in spans)
            if many <= most:
                yield self._window([stored.slice(*span) for (_, stored), span in zip(self._runs, spans, strict=True)])
            elif finer is None:
                yield from (self._window([piece]) for piece in self._pieces(spans, most))
            else:
                for group in range(-(-many // most)):
                    yield self._window(list(self._group(spans, most, finer, group, -(-many // most))))
            self._room.release()

    def _ranges(self, low: int, high: int, most: int) -> Iterator[Spans]:
        """By run the rows whose numbers are ``low`` to before ``high``, in ranges of at most so many if that can be."""
        spans = [(_first(numbers, low), _first(numbers, high)) for numbers, _ in self._runs]
        many = sum(end - start for start, end in spans)
        if many > most and high - low > 1:
            middle = (low + high) // 2
            yield from self._ranges(low, middle, most)
            yield from self._ranges(middle, high, most)
        elif many:
            yield spans

    def _pieces(self, spans: Spans, most: int) -> Iterator[Level]:
        for (_, stored), (start, end) in zip(self._runs, spans, strict=True):
            yield from (stored.slice(at, min(at + most, end)) for at in range(start, end, most))

    def _group(self, spans: Spans, most: int, finer: Finer, group: int, groups: int) -> Iterator[Level]:
        for piece in self._pieces(spans, most):
            numbers = finer(Level(piece.size, piece.columns[:-1], piece.bags, piece.weights))
            own: Places = np.flatnonzero(numbers % np.uint64(groups) == np.uint64(group))
            yield piece.take(own)

    def _window(self, parts: list[Level]) -> tuple[U64, Level]:
        together = concatenated([part for part in parts if part.size] or parts[:1])
        numbers: U64 = together.columns[-1].to_numpy()
        level = Level(together.size, together.columns[:-1], together.bags, together.weights)
        if not ascends(numbers):
            order = argsort(numbers)
            level, numbers = level.take(order), numbers[order]
        return numbers, level


def _first(numbers: U64, low: int) -> int:
    """The first place whose number is at least ``low``."""
    return len(numbers) if low >= END else int(np.searchsorted(numbers, np.uint64(low), "left"))
