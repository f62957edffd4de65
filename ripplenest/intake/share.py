"""A load that several processes share: what the rows of one of them do to the parts of an empty relation.

Theory of operation. A share is checked and shredded in pieces, as ``loading.py`` does it, and each piece leaves a
sorted run of each part, in files. All parts of a share are written by one attempt, so labels that are numbers are the
same in all of them, whichever attempt counts; numbers are taken from those of the version (``store/staging.py``), so
that shares have others. What shares have in common is looked at when runs are merged by ranges of hashes: equal rows
are summed (``store/ranges.py``), and of keys, which are a run of their own beside the number of the row, equal ones
meet.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from ripplenest.data.content import Content
from ripplenest.data.level_values import values_of
from ripplenest.data.levels import Level
from ripplenest.data.naming import Numbers
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows, python_column
from ripplenest.intake.columns import ColumnChanges, Culprit
from ripplenest.intake.faults import Fault, numbered
from ripplenest.intake.ingest import read_tables
from ripplenest.intake.loading import has_culprit, inserted, later
from ripplenest.intake.session import key_again, numbered_faults
from ripplenest.intake.shredding import placed
from ripplenest.nrc.errors import MOST, RipplenestError
from ripplenest.nrc.types import LONG
from ripplenest.schema.relation import Relation
from ripplenest.store.ranges import Unwritten, windows
from ripplenest.store.ref import TableRef
from ripplenest.store.segments import Reader, Segment
from ripplenest.store.specs import TableSpec
from ripplenest.version.empty import Empty
from ripplenest.version.folding import Fold, Unfolding, folded

Write = Callable[[Sequence[Unwritten]], list[Segment]]


@frozen
class Loading:
    """A load of ``relation``, which makes ``version``; ``folds`` are those of its bags that become arrays, and
    ``specs`` its tables."""

    relation: Relation
    folds: tuple[Fold, ...]
    specs: Mapping[str, TableSpec]
    version: int

    def is_for(self, other: "Loading") -> bool:
        """Whether it stores the same rows in the same tables, in whichever version."""
        return evolve(self, version=other.version) == other

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"load {self.relation.name}"

    @property
    def rows(self) -> str:
        """What messages call its rows."""
        return f"{self.where}: rows"

    @property
    def keys(self) -> TableSpec:
        """The keys of rows, each beside the number of its row: a table that is never stored."""
        part = self.relation.parts[self.relation.name]
        types = (*(part.types[c] for c in part.key_columns), LONG)
        return TableSpec(f"{self.relation.name}/keys", types, (tuple(range(len(part.key_columns))),))

    @property
    def sources(self) -> Mapping[str, TableSpec]:
        """What there are runs of: tables, and keys if rows have some."""
        return {**self.specs, self.keys.name: self.keys} if self.relation.key else self.specs


@frozen
class Taken:
    """What came of a share: how many rows there are, what they are, how many rows of each part, the runs of each
    table, and what is wrong. ``is_wrong`` also when only other rows say why."""

    rows: int
    content: Content
    sizes: Mapping[str, int]
    runs: Mapping[str, tuple[Segment, ...]]
    types: tuple[Fault, ...] = ()  # rows that are no rows of the relation
    inside: tuple[Fault, ...] = ()  # rows in whose bags a key comes again
    is_wrong: bool = False


class Share:
    """One share at work; ``write`` puts what it is given into a file."""

    def __init__(
        self, work: Loading, share: int, numbers: tuple[Numbers, Numbers], write: Write | None, room: Room
    ) -> None:
        """``numbers`` are those of rows, and of rows below arrays. Without ``write`` rows are looked at and no more."""
        self._work, self._first, self._write, self._room = work, numbered(share), write, room
        self._numbers, self._arrays = numbers
        self._before = Unfolding(Empty(work.version - 1, work.specs), work.folds)
        self._content, self._rows, self._is_wrong = Content(), 0, False
        self._last = numbered(share)  # of the numbers of runs, each of which is a segment by itself
        self._sizes: dict[str, int] = {}
        self._runs: dict[str, list[Segment]] = {}
        self._inside: list[Fault] = []

    def take(self, tables: Iterable[pa.Table]) -> Taken:
        """Check and shred all rows, which come in pieces."""
        counted = self._counted(tables)
        types = self._read(counted)
        for _ in counted:  # so that the rows of later shares have their numbers
            pass
        runs = {table: tuple(found) for table, found in self._runs.items()}
        inside = tuple(self._inside[:MOST])
        return Taken(self._rows, self._content, self._sizes, runs, tuple(types), inside, self._is_wrong)

    def _counted(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for table in tables:
            self._rows += table.num_rows
            yield table

    def _read(self, tables: Iterator[pa.Table]) -> list[Fault]:
        """Take all that is right; what is wrong with the types of rows."""
        r, start = self._work.relation, self._first
        pieces = read_tables(tables, r.row, self._work.rows, r.key, self._room, start)
        while True:
            try:
                given = next(pieces, None)
            except RipplenestError as error:
                return Fault.of_all(error)
            if given is None:
                return []
            self._add(given.level, start)
            start += len(given)
            self._room.release()

    def _add(self, level: Level, start: int) -> None:
        if not level.size:
            return
        self._content = self._content.plus(Content.of(level))
        if self._write is None:
            return
        runs = [*self._keys(level, start)]
        if not self._is_wrong:
            runs += self._shredded(level)
        if self._is_wrong:
            self._inside += islice(self._wrong_inside(level, start), MOST)
        for (table, _), segment in zip(runs, self._write([run for _, run in runs]), strict=True):
            self._runs.setdefault(table, []).append(segment)

    def _keys(self, level: Level, start: int) -> Iterator[tuple[str, Unwritten]]:
        r = self._work.relation
        if r.key:
            part, spec = r.parts[r.name], self._work.keys
            columns = placed(part, (), level.columns)
            numbers = pa.array(np.arange(start, start + level.size))
            rows = Rows.of_columns(spec.types, [*(columns[c] for c in part.key_columns), numbers])
            yield spec.name, self._run(rows, spec)

    def _run(self, rows: Rows, spec: TableSpec) -> Unwritten:
        self._last += 1
        return Unwritten(rows, spec.indexes[:1], self._last)

    def _shredded(self, level: Level) -> list[tuple[str, Unwritten]]:
        """The rows of each table; none once something is wrong."""
        try:
            found = inserted(ColumnChanges(self._work.relation, self._before, self._numbers), level)
        except Culprit:
            self._is_wrong = True
            return []
        for part, rows in found.items():
            self._sizes[part] = self._sizes.get(part, 0) + len(rows)
        stored = folded(found, self._before, self._work.folds, self._arrays)
        return [(table, self._run(rows, self._work.specs[table])) for table, rows in stored.items()]

    def _wrong_inside(self, level: Level, start: int) -> Iterator[Fault]:
        r = self._work.relation
        if r.keys and has_culprit(r, level):
            for n, value in enumerate(values_of(level, r.row), start):
                faults = numbered_faults(r, r.parts[r.name], [(n, value)], self._work.where)
                yield from map(Fault.of, faults)


def keys_again(work: Loading, source: TableRef, reader: Reader, low: int, high: int, room: Room) -> list[Fault]:
    """The first rows whose keys came before, of those whose keys have hashes from ``low`` to before ``high``."""
    part, found = work.relation.parts[work.relation.name], dict[int, Fault]()
    for hashes, rows in windows(source, reader, low, high, room):
        if (hashes[1:] == hashes[:-1]).any():
            columns = [column.combine_chunks() for column in rows.arrow().columns[:-1]]
            numbers = columns[-1].to_numpy()
            again = sorted(n for n, _ in later(Level(len(rows), columns)))[:MOST]
            places = pa.array(np.flatnonzero(np.isin(numbers, again)))
            keys = [python_column(t, c.take(places)) for t, c in zip(source.spec.types[:-1], columns[:-1], strict=True)]
            for n, *values in zip(numbers[places.to_numpy()].tolist(), *keys, strict=True):
                value = tuple(zip(part.key, values, strict=True))
                found[n] = Fault.of(key_again(part, value, f"{work.rows}[{n}]"))
            found = {n: found[n] for n in sorted(found)[:MOST]}
    return list(found.values())
