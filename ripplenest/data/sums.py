"""Sums of rows that come piece by piece: in memory while they are few, in sorted runs where they are not."""

from collections.abc import Iterable, Mapping
from itertools import chain

import pyarrow as pa

from ripplenest.data.argsort import argsort, ascends
from ripplenest.data.columnar import consolidated
from ripplenest.data.hashing import U64, fingerprints, hash_columns
from ripplenest.data.index import Columns
from ripplenest.data.levels import Level
from ripplenest.data.room import Room, held
from ripplenest.data.rows import SMALL, WEIGHT, Rows, arrow_schema
from ripplenest.data.sorting import Sorter
from ripplenest.data.spool import Spool, Stored
from ripplenest.nrc.types import Base

NOT_FOLDED: Mapping[str, Columns] = {}


class Sum:
    """Rows of ``types``. Law: ``rows`` is the sum of what was added, consolidated if ``each_once``; where that did not
    fit ``room``, in the order of the hashes of the columns ``by``, and in a file."""

    def __init__(self, room: Room, types: tuple[Base, ...], by: Columns = (), each_once: bool = True) -> None:
        self._room, self._types, self._each_once = room, types, each_once
        self._by = by or tuple(range(len(types)))
        self._tables: list[pa.Table] = []
        self.held = 0  # bytes in memory
        self._sorter: Sorter | None = None

    def add(self, rows: Rows) -> None:
        """More rows."""
        table = rows.arrow()
        self._tables.append(table)
        self.held += held(table)
        if self.held > self._room.chunk:
            self.spill()

    def spill(self) -> None:
        """Put what is in memory into files. Rows of no columns are one row, which stays."""
        if self._types:
            self._flush()
            return
        one = self.unsummed().consolidated().arrow()
        self._tables, self.held = [one], held(one)

    @property
    def is_spilled(self) -> bool:
        """Whether some are in files."""
        return self._sorter is not None

    def rows(self) -> Rows:
        """All of them. Raises EvaluationError for a weight beyond 64 bits."""
        if self._sorter is None:
            return self.unsummed().consolidated() if self._each_once else self.unsummed()
        self._flush()
        extent = self._sorter.extent
        if extent is None:
            return Rows.empty(self._types)
        spool = Spool(self._room, extent)
        for _, level in self._sorter.windows(_fingerprints):
            spool.append(self._window(level) if self._each_once else level)
        return stored_rows(self._types, spool.stored(), self._each_once)

    def unsummed(self) -> Rows:
        """What is in memory."""
        if len(self._tables) == 1:
            return Rows(self._types, table=self._tables[0])
        none = arrow_schema(self._types).empty_table()
        return Rows(self._types, table=pa.concat_tables([none, *self._tables]))

    def _flush(self) -> None:
        if self._sorter is None:
            self._sorter = Sorter(self._room)
        level = rows_level(self.unsummed().consolidated() if self._each_once else self.unsummed())
        self._tables, self.held = [], 0
        self._sorter.add(level, self._numbers(level))

    def _window(self, level: Level) -> Level:
        """The rows of a window, each once; no others are equal to them."""
        rows = Rows.of_columns(self._types, level.columns, pa.array(level.weights))
        found = rows_level(rows.consolidated())
        own = self._numbers(found)
        return found if ascends(own) else found.take(argsort(own))

    def _numbers(self, level: Level) -> U64:
        return hash_columns([level.columns[c] for c in self._by], level.size)


class Sums:
    """Several sums by name, which share the room. Law: each is that of what was added to it. Those that are ``folded``
    by columns need not have each row once."""

    def __init__(self, room: Room, folded: Mapping[str, Columns] = NOT_FOLDED) -> None:
        self._room, self._folded = room, folded
        self._sums: dict[str, Sum] = {}
        self._held = 0

    def add(self, name: str, rows: Rows, by: Columns = ()) -> None:
        """More rows of one of them, which are to be in the order of ``by`` where they do not fit."""
        is_folded = name in self._folded
        made = Sum(self._room, rows.types, self._folded.get(name, by), not is_folded)
        own = self._sums.setdefault(name, made)
        before = own.held
        own.add(rows)
        self._held += own.held - before
        if self._held > self._room.chunk:
            largest = max(self._sums.values(), key=lambda s: s.held)
            self._held -= largest.held
            largest.spill()
            self._held += largest.held

    def rows(self) -> dict[str, Rows]:
        """All of them. Raises EvaluationError for a weight beyond 64 bits."""
        of = self._sums.items()
        found = consolidated({name: s.unsummed() for name, s in of if not s.is_spilled and name not in self._folded})
        return {name: found[name] if name in found else own.rows() for name, own in self._sums.items()}


def summed(rows: Rows, room: Room) -> Rows:
    """``rows`` consolidated; in a file where they do not fit ``room``."""
    if rows.is_sum or len(rows) <= SMALL or held(rows.arrow()) <= room.chunk:
        return rows.consolidated()
    return sum_of(rows.types, [rows.arrow()], room)


def sum_of(types: tuple[Base, ...], tables: Iterable[pa.Table], room: Room, by: Columns = ()) -> Rows:
    """The sum of ``tables`` of rows; where it does not fit ``room``, in a file and in the order of ``by``."""
    some: list[pa.Table] = []
    more, size = iter(tables), 0
    for table in more:
        some.append(table)
        size += held(table)
        if size > room.chunk:
            break
    else:
        return Rows(types, table=pa.concat_tables(some or [arrow_schema(types).empty_table()])).consolidated()
    total = Sum(room, types, by)
    for table in chain(some, more):
        most = max(table.num_rows * room.chunk // max(table.nbytes, 1), 1)
        for start in range(0, table.num_rows, most):
            total.add(Rows(types, table=table.slice(start, most)))
            room.release()
    return total.rows()


def _fingerprints(level: Level) -> U64:
    return fingerprints(level.columns, level.size)


def rows_level(rows: Rows) -> Level:
    """Rows as a level without bags, with their weights."""
    *columns, weights = (c.chunk(0) if c.num_chunks == 1 else c.combine_chunks() for c in rows.arrow().columns)
    return Level(len(rows), columns, weights=weights.to_numpy())


def stored_rows(types: tuple[Base, ...], stored: Stored, summed: bool = True) -> Rows:
    """Rows in a file, each once if they are ``summed``."""
    schema = arrow_schema(types)
    assert stored.weights is not None
    table = pa.Table.from_arrays([*stored.columns, stored.weights], schema=schema)
    assert table.schema.names[-1] == WEIGHT
    return Rows(types, table=table, summed=summed)
