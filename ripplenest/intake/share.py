"""Rows that several processes share: what those of one of them do to the parts of a relation that has none of them yet.

Theory of operation. A share is checked and shredded in pieces, as ``loading.py`` does it, and each piece leaves a
sorted run of each part, in files. All parts of a share are written by one attempt, so labels that are numbers are the
same in all of them, whichever attempt counts; numbers are taken from those of the version (``store/staging.py``), so
that shares have others. What shares have in common is looked at when runs are merged by ranges of hashes: equal rows
are summed (``store/ranges.py``), and equal keys meet (``settling.py``). Beside each key stands the number of its row,
so that it can be said which row is wrong: in the run of the table whose rows have the keys, if that is in their order,
else in a run of its own.

A load is of an empty relation, and a large insert of one that may have rows. Both see the tables as empty here: labels
of new rows are made of keys that are new, or of numbers of the version, so no stored row is in a bag of theirs, and
whether the keys are new is seen where the runs are settled.
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
from ripplenest.data.rows import Rows, arrow_schema
from ripplenest.intake.columns import ColumnChanges, Culprit
from ripplenest.intake.faults import Fault, numbered
from ripplenest.intake.ingest import read_tables
from ripplenest.intake.loading import has_culprit, inserted
from ripplenest.intake.operations import KEYED, Verb
from ripplenest.intake.session import numbered_faults
from ripplenest.nrc.errors import MOST, RipplenestError
from ripplenest.nrc.types import LONG, Type
from ripplenest.schema.relation import Part, Relation, key_type
from ripplenest.store.detached import Detached
from ripplenest.store.ranges import Unwritten
from ripplenest.store.segments import Segment
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.version.empty import Empty
from ripplenest.version.folding import Fold, Unfolding
from ripplenest.version.refolding import folded

Write = Callable[[Sequence[Unwritten]], list[Segment]]


@frozen
class Loading:
    """Rows for ``relation``, in ``version``; ``folds`` are those of its bags that become arrays, and ``specs`` its
    tables. They are all of its rows, or come to those ``before`` them. Messages call what is done ``where``, and
    the rows ``given`` where only their types are looked at. They come as ``lines`` of JSON where these have a name.
    ``verb`` is what becomes of them; to take rows away by key, they are keys."""

    relation: Relation
    folds: tuple[Fold, ...]
    specs: Mapping[str, TableSpec]
    version: int
    where: str
    given: str
    before: Detached | None = None
    lines: str | None = None
    verb: Verb = "insert"

    def is_for(self, other: "Loading") -> bool:
        """Whether it stores the same rows in the same tables, in whichever version."""
        return evolve(self, version=other.version) == other

    @property
    def rows(self) -> str:
        """What messages call its rows."""
        return f"{self.where}: rows"

    @property
    def row(self) -> Type:
        """What its rows are."""
        r = self.relation
        return key_type(r.row, r.key) if self.verb in KEYED else r.row

    @property
    def key(self) -> tuple[str, ...]:
        """The fields that name a row in messages about its type."""
        return () if self.verb in KEYED else self.relation.key

    @property
    def own(self) -> Part:
        """What has its rows, without what is in their bags."""
        return self.relation.parts[self.relation.name]

    @property
    def found_by(self) -> Columns:
        """The columns by which stored rows are found that are meant."""
        return self.own.lookup if self.verb == "delete" else self.own.key_columns

    @property
    def is_shredded(self) -> bool:
        """Whether rows are told apart by part: not where they are keys, or have nothing but fields and are to go."""
        return self.verb not in KEYED and (self.verb != "delete" or len(self.relation.parts) > 1)

    @property
    def is_in_order(self) -> bool:
        """Whether stored rows stand in the order in which they are found."""
        return self.specs[self.relation.name].indexes[:1] == (self.found_by,)

    @property
    def numbered(self) -> TableSpec | None:
        """The runs in which rows stand in the order of their keys, and last the number of each: of the table that has
        the keys, or of these alone, which are never stored. None where rows have no keys; rows that go without one are
        found by all that they are."""
        r = self.relation
        columns, spec = self.found_by, self.specs[r.name]
        if not columns:
            return None
        if self.verb not in KEYED and self.is_in_order:
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
        work, start = self._work, self._first
        pieces = read_tables(tables, work.row, work.given, work.key, self._room, start)
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
        tables = {} if self._is_wrong or not self._work.is_shredded else self._shredded(level)
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
        scalars = part.key_columns if self._work.verb in KEYED else part.scalars
        columns = dict(zip(scalars, level.columns, strict=True))
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
