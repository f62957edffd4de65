"""A load that does not fit memory: the rows of an empty relation, some at a time, in the order of ``spilled.py``.

Each piece becomes signed rows of parts as a batch would make them, by columns (``columns.py``), with the numbers that
go on where the last piece ended. What keeps pieces apart is checked where they meet: rows of each part are sorted by
the hashes of their keys, and two of one key stand together there. Law: the parts, labels and errors are those of a load
that is made at once (``apply.carry_out``).
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain

import numpy as np
import pyarrow as pa

from ripplenest.data.hashing import hash_columns
from ripplenest.data.index import Columns, Places
from ripplenest.data.level_values import values_of
from ripplenest.data.levels import Level
from ripplenest.data.naming import Numbers
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows
from ripplenest.data.sorting import Sorter
from ripplenest.data.spool import Stored
from ripplenest.data.sums import Sums
from ripplenest.intake.columns import ColumnChanges, Culprit, check_inside
from ripplenest.intake.lasting import check_update
from ripplenest.intake.session import numbered_faults
from ripplenest.intake.shredding import Arrays, Numbering, placed
from ripplenest.intake.spilled import Spilled
from ripplenest.nrc.bags import Value
from ripplenest.nrc.errors import MOST, LawBroken, raise_first
from ripplenest.schema.relation import Part, Relation
from ripplenest.version.lookups import Probed

Fold = Callable[[Mapping[str, Rows]], Mapping[str, Rows]]


class _Planned(Numbering):
    """Numbers of the rows of all pieces, those of each part in one range, as if they came in one piece."""

    def __init__(self, r: Relation, stored: Stored, numbers: Numbers) -> None:
        self._own: dict[str, Numbers] = {}
        self._plan(r, r.parts[r.name], stored, numbers)

    def _plan(self, r: Relation, part: Part, stored: Stored, numbers: Numbers) -> None:
        if stored.bags and not r.rows_of(part).key:
            found = numbers.take(stored.size)
            self._own[part.name] = Numbers(found.start, found.stop)
        for path, bag in zip(part.held, stored.bags, strict=True):
            if bag.rows.size:
                self._plan(r, r.parts[path], bag.rows, numbers)

    def numbers(self, part: Part, _label: Arrays, level: Level) -> Places:
        found = self._own[part.name].take(len(level))
        return np.arange(found.start, found.stop)


def load(
    r: Relation, before: Probed, numbers: Numbers, given: Spilled, folded: Fold, room: Room
) -> tuple[dict[str, Rows], dict[str, int]]:
    """What the rows do to stored tables, as ``folded`` makes it of what they do to parts; and how many rows that is, by
    part. Raises DuplicateKey."""
    flat, sums, many = r.parts[r.name], Sums(room), dict[str, int]()
    anew = _Planned(r, given.stored, numbers)
    for level in given.pieces():
        try:
            found = inserted(ColumnChanges(r, before, numbers, anew), level)
        except Culprit:
            _check_rows(r, given, room)
            raise LawBroken("rows could not be loaded, and none of them is wrong", where=r.name) from None
        for part, rows in found.items():
            many[part] = many.get(part, 0) + len(rows)
        for table, rows in folded(found).items():
            sums.add(table, rows, flat.key_columns if table == r.name else _first(r, table))
        room.release()
    made = sums.rows()
    if flat.key and _may_repeat(made[r.name], flat.key_columns, room):
        _check_rows(r, given, room)
    return {table: rows for table, rows in made.items() if len(rows)}, many


def inserted(changes: ColumnChanges, level: Level) -> dict[str, Rows]:
    """The rows of each part, of some of those that come to an empty relation. Raises Culprit."""
    changes.fill(level)
    found = changes.changes()
    check_update(changes, found)
    return found


def _first(r: Relation, table: str) -> Columns:
    """The access key by which a table is stored in order."""
    keys = next((spec.indexes for spec in r.specs if spec.name == table), ())
    return keys[0] if keys else ()


def _may_repeat(rows: Rows, columns: Columns, room: Room) -> bool:
    """Whether two of consolidated rows have one hash of ``columns``, or one row is there twice. Rows that fit memory
    come in any order, others in that of these hashes."""
    table, most = rows.arrow(), max(room.rows(rows.types), 2)
    if table.nbytes <= room.chunk:
        most = max(len(rows), 2)
    for start in range(0, len(rows), most - 1):  # the last row of a piece is the first of the next
        piece = table.slice(start, most).combine_chunks()
        hashes = np.sort(hash_columns([piece.column(c).combine_chunks() for c in columns], len(piece)))
        if (hashes[1:] == hashes[:-1]).any() or (piece.column(len(rows.types)).to_numpy() != 1).any():
            return True
        room.release()
    return False


# ---------------------------------------------------------------- which rows are wrong


def _check_rows(r: Relation, given: Spilled, room: Room) -> None:
    """Raises DuplicateKey for rows whose keys come again, with those that came first."""
    suspects = {*_again(r, given, room), *_wrong_inside(r, given)}
    values = sorted(_values(given, suspects), key=lambda pair: pair[0])
    raise_first(numbered_faults(r, r.parts[r.name], values, f"load {r.name}"))


def _again(r: Relation, given: Spilled, room: Room) -> Iterator[int]:
    """The numbers of the first rows whose keys came before, and of those that these came after."""
    part = r.parts[r.name]
    if not part.key:
        return
    sorter = Sorter(room)
    for came, level in given.numbered():
        columns = placed(part, (), level.columns)
        keys = [columns[c] for c in part.key_columns]
        sorter.add(Level(level.size, [*keys, pa.array(came)]), hash_columns(keys, level.size))
    found: list[tuple[int, int]] = []
    for _, level in sorter.windows(lambda level: hash_columns(level.columns[:-1], level.size)):
        found = heapq.nsmallest(MOST, [*found, *later(level)])
    yield from chain.from_iterable(found)


def later(level: Level) -> Iterator[tuple[int, int]]:
    """(number, number of the first row with its key) of rows whose keys came before."""
    *keys, came = level.columns
    names = [str(i) for i in range(len(keys))]
    table = pa.table([*keys, came], [*names, "came"])
    groups = table.group_by(names, use_threads=False).aggregate([("came", "min"), ("came", "count"), ("came", "list")])
    for first, many, every in zip(*(groups.column(f"came_{n}") for n in ("min", "count", "list")), strict=True):
        if many.as_py() > 1:
            yield from ((n, first.as_py()) for n in heapq.nsmallest(MOST + 1, every.as_py())[1:])


def _wrong_inside(r: Relation, given: Spilled) -> Iterator[int]:
    """The numbers of the first rows in whose bags a key comes again."""
    found: list[int] = []
    for came, level in given.numbered():
        if r.keys and has_culprit(r, level):
            rows = zip(came.tolist(), values_of(level, given.type), strict=True)
            wrong = (n for n, value in rows if any(True for _ in numbered_faults(r, r.parts[r.name], [(n, value)], "")))
            found = heapq.nsmallest(MOST, [*found, *wrong])
    yield from found


def has_culprit(r: Relation, level: Level) -> bool:
    try:
        check_inside(r, r.parts[r.name], level)
    except Culprit:
        return True
    return False


def _values(given: Spilled, numbers: Iterable[int]) -> Iterator[tuple[int, Value]]:
    """The rows that came at ``numbers``."""
    wanted = np.fromiter(numbers, np.int64)
    for came, level in given.numbered():
        own = np.flatnonzero(np.isin(came, wanted))
        yield from zip(came[own].tolist(), values_of(level.take(own), given.type), strict=True)
