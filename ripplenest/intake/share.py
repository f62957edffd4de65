"""A load that several processes share: what the rows of one of them do to the parts of an empty relation.

Theory of operation. A share is checked and shredded in pieces, as ``loading.py`` does it, and each piece leaves a
sorted run of each part, in files. All parts of a share are written by one attempt, so labels that are numbers are the
same in all of them, whichever attempt counts; numbers are taken from those of the version (``store/staging.py``), so
that shares have others. What shares have in common is looked at when runs are merged by ranges of hashes: equal rows
are summed (``store/ranges.py``), and equal keys meet. Beside each key stands the number of its row, so that it can be
said which row is wrong: in the run of the table whose rows have the keys, if that is in their order, else in a run of
its own.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from ripplenest.data.content import Content
from ripplenest.data.hashing import U64
from ripplenest.data.level_values import values_of
from ripplenest.data.levels import Level
from ripplenest.data.naming import Numbers
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows, arrow_schema, python_column
from ripplenest.intake.columns import ColumnChanges, Culprit
from ripplenest.intake.faults import Fault, numbered
from ripplenest.intake.ingest import read_tables
from ripplenest.intake.loading import has_culprit, inserted, later
from ripplenest.intake.session import key_again, numbered_faults
from ripplenest.intake.shredding import placed
from ripplenest.nrc.errors import MOST, RipplenestError
from ripplenest.nrc.types import LONG
from ripplenest.schema.relation import Relation
from ripplenest.store.disk import Disk
from ripplenest.store.ranges import Range, Unwritten, gathered, merge, settled, windows
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
    def numbered(self) -> TableSpec | None:
        """The runs in which rows stand in the order of their keys, and last the number of each: of the table that has
        the keys, or of these alone, which are never stored. None where rows have no keys."""
        r = self.relation
        if not r.key:
            return None
        columns, spec = r.parts[r.name].key_columns, self.specs[r.name]
        if spec.indexes[:1] == (columns,):
            return TableSpec(r.name, (*spec.types, LONG), (columns,))
        types = (*(spec.types[c] for c in columns), LONG)
        return TableSpec(f"{r.name}/keys", types, (tuple(range(len(columns))),))

    @property
    def sources(self) -> Mapping[str, TableSpec]:
        """What there are runs of: tables, and what is numbered."""
        return dict(self.specs) if self.numbered is None else {**self.specs, self.numbered.name: self.numbered}


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
        tables = {} if self._is_wrong else self._shredded(level)
        if self._is_wrong:
            self._inside += islice(self._wrong_inside(level, start), MOST)
        if self._work.numbered is not None:
            tables[self._work.numbered.name] = self._numbered(self._work.numbered, level, start, tables)
        runs = [self._run(rows, self._work.sources[table]) for table, rows in tables.items()]
        for table, segment in zip(tables, self._write(runs), strict=True):
            self._runs.setdefault(table, []).append(segment)

    def _run(self, rows: Rows, spec: TableSpec) -> Unwritten:
        self._last += 1
        return Unwritten(rows, spec.indexes[:1], self._last)

    def _numbered(self, spec: TableSpec, level: Level, start: int, tables: Mapping[str, Rows]) -> Rows:
        """Rows that have the keys, and their numbers. Once something is wrong, all else in them does not matter."""
        r, numbers = self._work.relation, pa.array(np.arange(start, start + level.size))
        part = r.parts[r.name]
        if spec.name in tables:
            return Rows.of_columns(spec.types, [*tables[spec.name].arrow().columns[:-1], numbers])
        shown = range(len(part.types)) if spec.name == r.name else part.key_columns
        columns = placed(part, (), level.columns)
        types = arrow_schema(part.types).types
        found = (columns[c] if c in columns else pa.nulls(level.size, types[c]) for c in shown)
        return Rows.of_columns(spec.types, [*found, numbers])

    def _shredded(self, level: Level) -> dict[str, Rows]:
        """The rows of each table; none once something is wrong."""
        try:
            found = inserted(ColumnChanges(self._work.relation, self._before, self._numbers), level)
        except Culprit:
            self._is_wrong = True
            return {}
        for part, rows in found.items():
            self._sizes[part] = self._sizes.get(part, 0) + len(rows)
        return folded(found, self._before, self._work.folds, self._arrays)

    def _wrong_inside(self, level: Level, start: int) -> Iterator[Fault]:
        r = self._work.relation
        if r.keys and has_culprit(r, level):
            for n, value in enumerate(values_of(level, r.row), start):
                faults = numbered_faults(r, r.parts[r.name], [(n, value)], self._work.where)
                yield from map(Fault.of, faults)


def settle(work: Loading, piece: Range, reader: Reader, disk: Disk, room: Room) -> tuple[Segment | None, list[Fault]]:
    """The segment that a range of the runs of all shares becomes, or the first rows in it whose keys came before: then
    there is none, nor of keys that have runs of their own."""
    if piece.source.spec != work.numbered:
        return merge(piece, reader, disk, room).segment, []
    again = _Again(work, piece.source)
    found = again.passed(windows(piece.source, reader, piece.low, piece.high, room))
    if again.spec.name not in work.specs:
        deque(found, 0)
        return None, again.faults
    spec = work.specs[again.spec.name]
    rows = gathered(spec.types, ((hashes, _unnumbered(rows, spec)) for hashes, rows in found), room)
    own = evolve(piece, source=evolve(piece.source, spec=spec))
    return (None, again.faults) if again.faults else (settled(own, rows, disk, room), [])


def keys_again(work: Loading, piece: Range, reader: Reader, room: Room) -> list[Fault]:
    """The first rows of a range whose keys came before."""
    again = _Again(work, piece.source)
    deque(again.passed(windows(piece.source, reader, piece.low, piece.high, room)), 0)
    return again.faults


def _unnumbered(rows: Rows, spec: TableSpec) -> Rows:
    *columns, _, weights = rows.arrow().columns
    table = pa.Table.from_arrays([*columns, weights], schema=arrow_schema(spec.types))
    return Rows(spec.types, table=table, summed=True)


class _Again:
    """Rows whose keys came before, among numbered ones that pass by in the order of the hashes of their keys."""

    def __init__(self, work: Loading, source: TableRef) -> None:
        self._work, self.spec = work, source.spec
        self._found: dict[int, Fault] = {}

    @property
    def faults(self) -> list[Fault]:
        """What was found so far."""
        return list(self._found.values())

    def passed(self, found: Iterable[tuple[U64, Rows]]) -> Iterator[tuple[U64, Rows]]:
        """The same rows, looked at."""
        for hashes, rows in found:
            if (hashes[1:] == hashes[:-1]).any():
                self._look(rows)
            yield hashes, rows

    def _look(self, rows: Rows) -> None:
        columns, *_ = self.spec.indexes
        part, table = self._work.relation.parts[self._work.relation.name], rows.arrow()
        keys, numbers = [table.column(c).combine_chunks() for c in columns], table.columns[-2].to_numpy()
        again = sorted(n for n, _ in later(Level(len(rows), [*keys, pa.array(numbers)])))[:MOST]
        places = pa.array(np.flatnonzero(np.isin(numbers, again)))
        types = [self.spec.types[c] for c in columns]
        values = [python_column(t, c.take(places)) for t, c in zip(types, keys, strict=True)]
        for n, *own in zip(numbers[places.to_numpy()].tolist(), *values, strict=True):
            value = tuple(zip(part.key, own, strict=True))
            self._found[n] = Fault.of(key_again(part, value, f"{self._work.rows}[{n}]"))
        self._found = {n: self._found[n] for n in sorted(self._found)[:MOST]}
