"""What tasks write for one commit: rows that the driver knows by the names of their files, and reads if it must."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from ripplenest.data.rows import Rows
from ripplenest.store.disk import Disk
from ripplenest.store.ref import Segments, TableRef
from ripplenest.store.segments import Reader
from ripplenest.store.snapshot import Snapshot
from ripplenest.store.specs import TableSpec, Written
from ripplenest.store.staging import FOLDER, Staging


class Filed(Rows):
    """Rows of ``spec``, each once and at most ``most`` times, in ``segments``, whose files are in a ``staging`` folder.
    Nobody reads them before somebody looks at them. Those ``of`` a table were made to change it, and a commit may name
    them."""

    __slots__ = ("_most", "of", "segments", "spec", "staging")

    def __init__(
        self, spec: TableSpec, segments: Segments, staging: Staging, most: int, of: str | None = None
    ) -> None:
        super().__init__(spec.types, summed=True)
        self.spec, self.segments, self.staging, self.of = spec, segments, staging, of
        self._most = most

    @property
    def ref(self) -> TableRef:
        """As tasks read them, from the folder of the state."""
        return TableRef(self.spec, self.segments).under(f"{FOLDER}/{self.staging.token}")

    def arrow(self) -> pa.Table:
        if self._table is None:
            reader = Reader(Disk(self.staging.folder))
            self._table = TableRef(self.spec, self.segments).scan(reader).arrow()
        return self._table

    def negated(self) -> Rows:
        return Rows(self.types, table=self.arrow(), summed=True).negated()

    def heaviest(self) -> int:
        """At least the largest absolute weight."""
        return self._most

    def __len__(self) -> int:
        return sum(s.rows for s in self.segments)


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

    def add(self, segments: Segments) -> Segments:
        """Note which numbers are taken."""
        self._next = max((self.next, *(s.id + 1 for s in segments)))
        return segments


def divided_by_place(changes: Mapping[str, Rows]) -> tuple[dict[str, Rows], Written | None]:
    """Changes of tables: those that are here, and those that are in files already, which are all in one folder."""
    files = {table: rows for table, rows in changes.items() if isinstance(rows, Filed) and rows.of == table}
    here = {table: rows for table, rows in changes.items() if table not in files}
    folders = {rows.staging.folder for rows in files.values()}
    if not folders:
        return here, None
    (folder,) = folders
    return here, Written(folder, {table: rows.segments for table, rows in files.items() if len(rows)})
