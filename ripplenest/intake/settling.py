"""Runs of rows that several processes have shredded (``share.py``), settled a range of hashes at a time: equal rows are
summed, and keys meet those that came before and those that are stored. Law: the faults are those of ``session.py``.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
from attrs import evolve, field, frozen

from ripplenest.data.columnar import among
from ripplenest.data.hashing import U64
from ripplenest.data.index import Places
from ripplenest.data.levels import Level
from ripplenest.data.room import Room
from ripplenest.data.rows import Rows, arrow_schema, python_column
from ripplenest.intake.faults import Fault
from ripplenest.intake.loading import later
from ripplenest.intake.session import key_again, key_taken
from ripplenest.intake.share import Loading
from ripplenest.nrc.bags import Value
from ripplenest.nrc.errors import MOST, RipplenestError
from ripplenest.schema.relation import Part
from ripplenest.store.disk import Disk
from ripplenest.store.ranges import Range, gathered, merge, settled, windows
from ripplenest.store.segments import Reader, Segment
from ripplenest.store.specs import TableSpec

Says = Callable[[Part, Value, str], RipplenestError]


@frozen
class Settled:
    """What a range became: its segment, if it has rows and nothing is wrong; the first rows whose keys came ``again``,
    and those that the state is against: their keys are ``there`` already, or they are to go and are not. By part the
    runs of what was in bags that change (``replacing.py``)."""

    segment: Segment | None
    again: tuple[Fault, ...] = ()
    there: tuple[Fault, ...] = ()
    old: Mapping[str, tuple[Segment, ...]] = field(factory=dict)


def settle(work: Loading, piece: Range, reader: Reader, disk: Disk, room: Room) -> Settled:
    """Write the segment that a range of the runs of all shares becomes. There is none of keys that have runs of their
    own."""
    if piece.source.spec != work.numbered:
        return Settled(merge(piece, reader, disk, room).segment)
    keys = NumberedKeys(work, piece.source.spec)
    found = keys.passed(windows(piece.source, reader, piece.low, piece.high, room))
    if keys.spec.name not in work.specs:
        deque(found, 0)
        return Settled(None, keys.again, keys.there)
    spec = work.specs[keys.spec.name]
    rows = gathered(spec.types, ((hashes, unnumbered(rows, spec)) for hashes, rows in found), room)
    if keys.again or keys.there:
        return Settled(None, keys.again, keys.there)
    return Settled(settled(evolve(piece, source=evolve(piece.source, spec=spec)), rows, disk, room))


def keys_again(work: Loading, piece: Range, reader: Reader, room: Room) -> tuple[Fault, ...]:
    """The first rows of a range whose keys came before."""
    keys = NumberedKeys(evolve(work, before=None), piece.source.spec)
    deque(keys.passed(windows(piece.source, reader, piece.low, piece.high, room)), 0)
    return keys.again


def unnumbered(rows: Rows, spec: TableSpec) -> Rows:
    *columns, _, weights = rows.arrow().columns
    table = pa.Table.from_arrays([*columns, weights], schema=arrow_schema(spec.types))
    return Rows(spec.types, table=table, summed=True)


@frozen
class NumberedKeys:
    """Keys of numbered rows that pass by in the order of their hashes, and what is wrong with them, by row."""

    work: Loading
    spec: TableSpec
    _again: dict[int, Fault] = field(factory=dict, init=False)
    _there: dict[int, Fault] = field(factory=dict, init=False)

    @property
    def again(self) -> tuple[Fault, ...]:
        """Of keys that came before."""
        return tuple(self._again[n] for n in sorted(self._again)[:MOST])

    @property
    def there(self) -> tuple[Fault, ...]:
        """Of rows that the state is against."""
        return tuple(self._there[n] for n in sorted(self._there)[:MOST])

    def passed(self, found: Iterable[tuple[U64, Rows]]) -> Iterator[tuple[U64, Rows]]:
        """The same rows, looked at."""
        for hashes, rows in found:
            if (hashes[1:] == hashes[:-1]).any():
                self.look_again(rows)
            if self.work.before is not None:
                self._look_up(rows, rows.select(self.spec.indexes[0]))
            yield hashes, rows

    def look_again(self, rows: Rows) -> None:
        """Note the first of ``rows`` whose keys came before."""
        keys = [rows.arrow().column(c).combine_chunks() for c in self.spec.indexes[0]]
        numbers = numbers_of(rows)
        again = sorted(n for n, _ in later(Level(len(rows), [*keys, pa.array(numbers)])))[:MOST]
        self._note(self._again, rows, np.flatnonzero(np.isin(numbers, again)), key_again)

    def _look_up(self, rows: Rows, keys: Rows) -> None:
        assert self.work.before is not None
        found = self.work.before.probe(self.work.own.name, self.work.own.key_columns, keys).consolidated()
        if len(found):
            mask = among(keys, tuple(range(len(keys.types))), found.select(self.work.own.key_columns))
            places = np.flatnonzero(mask.to_numpy())
            self.note_there(rows, places, key_taken)

    def note_there(self, rows: Rows, places: Places, says: Says) -> None:
        """The state is against the rows at ``places``, of which the first are told."""
        self._note(self._there, rows, places[np.argsort(numbers_of(rows)[places])][:MOST], says)

    def _note(self, faults: dict[int, Fault], rows: Rows, places: Places, says: Says) -> None:
        key, at = self.work.own.key_columns, pa.array(places)
        columns = key if self.spec.name in self.work.specs else range(len(key))
        values = [python_column(self.spec.types[c], rows.arrow().column(c).take(at)) for c in columns]
        for n, *own in zip(numbers_of(rows)[places].tolist(), *values, strict=True):
            value = tuple(zip(self.work.own.key, own, strict=True))
            faults[n] = Fault.of(says(self.work.own, value, f"{self.work.rows}[{n}]"))


def numbers_of(rows: Rows) -> Places:
    """Of rows, those that stand beside their keys."""
    found: Places = rows.arrow().columns[-2].to_numpy()
    return found
