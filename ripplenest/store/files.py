"""What tasks write for one commit: rows that the driver knows by the names of their files, and reads if it must."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from ripplenest.data.room import Room
from ripplenest.data.rows import Row, Rows
from ripplenest.data.seen import EVERYTHING, Seen
from ripplenest.store.disk import SEGMENTS, Disk
from ripplenest.store.index.indexes import RANGE
from ripplenest.store.ref import Segments, TableRef, ranges
from ripplenest.store.segments import Reader
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import TableSpec, Written
from ripplenest.store.staging import FOLDER, Staging

ALL = 1 << 62  # times that a stored row is there at most (run/counts.py)


class Filed(Rows):
    """What is ``seen`` of rows in files below the folder of a ``state``, which ``ref`` names from there, each at most
    ``most`` times. They are not read before somebody looks at them. Those ``of`` a table were made to change it: they
    are in ``segments`` of a ``staging`` folder, which a commit may name."""

    __slots__ = ("_most", "of", "ref", "seen", "segments", "staging", "state")

    def __init__(
        self, state: Path, ref: TableRef, most: int, segments: Segments = (), staging: Path | None = None,
        of: str | None = None, seen: Seen = EVERYTHING,
    ) -> None:  # fmt: skip
        super().__init__(seen.types(ref.spec.types), summed=ref.is_run)
        self.seen = seen
        self.state, self.ref, self.segments, self.staging, self.of = state, ref, segments, staging, of
        self._most = most

    def arrow(self) -> pa.Table:
        if self._table is None:
            self._table = self.seen.of(self.ref.scan(Reader(Disk(self.state)))).arrow()
        return self._table

    def counts(self) -> dict[Row, int]:
        return self._here().counts()

    def consolidated(self) -> Rows:
        return self if self.is_sum else self._here().consolidated()

    def negated(self) -> Rows:
        return self._here().negated()

    def as_read(self, columns: Collection[int]) -> Rows:  # noqa: ARG002 - what is in files is much
        return self

    def heaviest(self) -> int:
        """At least the largest absolute weight."""
        return self._most

    def __len__(self) -> int:
        return self.ref.size

    def windows(self, room: Room) -> Iterator[Rows]:
        """The rows, some at a time; those of one value of the first access key come together."""
        yield from map(self.seen.of, windows(self.ref, Reader(Disk(self.state)), (0, RANGE), room))

    def _here(self) -> Rows:
        return Rows(self.types, table=self.arrow(), summed=self.is_sum)


def windows(ref: TableRef, reader: Reader, within: tuple[int, int], room: Room) -> Iterator[Rows]:
    """The rows of a table whose numbers are low ≤ n < high, some at a time; those of one value of the first access key
    come together."""
    low, high = within
    share = ref.size * (high - low) // RANGE
    for start, end in ranges(low, high, min(share // room.rows(ref.spec.types) + 1, high - low)):
        rows = ref.between(reader, start, end)
        if len(rows):
            yield rows


class Files:
    """The files of one commit on top of ``tables``: one folder, which is there until ``held`` ends, and segments of
    which no two have one number. Nothing is made before it is asked for."""

    def __init__(self, state: Path, tables: Snapshot, reserved: Callable[[], int], held: ExitStack) -> None:
        self.tables, self.held = tables, held
        self._state, self._reserved = state, reserved
        self._next: int | None = None

    @cached_property
    def staging(self) -> Staging:
        return self.held.enter_context(Staging.begin(self._state))

    @property
    def next(self) -> int:
        """The first number that no segment has."""
        if self._next is None:
            self._next = self._reserved()
        return self._next

    def take(self, many: int) -> None:
        """So many numbers are given."""
        self._next = self.next + many

    def number(self, table: str) -> int:
        """What the catalogue calls a table; 0 for what is none."""
        return self.tables.number(table) if table in self.tables.tables else 0

    def filed(self, spec: TableSpec, segments: Segments, most: int) -> Filed:
        """Rows in segments that tasks wrote here. They are the change of a table if they are laid out as it."""
        self._next = max((self.next, *(s.id + 1 for s in segments)))
        ref = TableRef(spec, segments).under(f"{FOLDER}/{self.staging.token}")
        of = spec.name if self.tables.tables.get(spec.name) == spec else None
        return Filed(self._state, ref, most, segments, self.staging.folder, of)

    def stored(self, table: str, seen: Seen = EVERYTHING, change: Filed | None = None) -> Filed:
        """What is seen of all rows of a table, as it is stored, or with a ``change`` of it."""
        ref = self.tables.table(table).under(SEGMENTS)
        if change is not None:
            ref = ref.with_change(change.ref.segments, self.tables.version + 1)
        return Filed(self._state, ref, ALL, seen=seen)


def divided_by_place(changes: Mapping[str, Rows]) -> tuple[dict[str, Rows], Written | None]:
    """Changes of tables: those that are here, and those that are in files already, which are all in one folder."""
    files = {table: rows for table, rows in changes.items() if isinstance(rows, Filed) and rows.of == table}
    here = {table: rows for table, rows in changes.items() if table not in files}
    folders = {rows.staging for rows in files.values() if rows.staging is not None}
    if not folders:
        return here, None
    (folder,) = folders
    return here, Written(folder, {table: rows.segments for table, rows in files.items() if len(rows)})
