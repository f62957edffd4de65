"""Rows of the tables of a version by any columns: by an access key where there is one, else by reading the table."""

from typing import Protocol

from attrs import define, field

from ripplenest.data.index import Wanted
from ripplenest.data.rows import Rows
from ripplenest.data.scanned import Scanned
from ripplenest.store.specs import Columns
from ripplenest.version.version import AccessKeys, Readable


class Probed(Readable, Protocol):
    """Tables that say by which columns they can be probed, and which of them are empty."""

    def size(self, table: str) -> int:
        """0 only when there are no rows."""

    @property
    def access_keys(self) -> AccessKeys: ...


@define(eq=False)
class Lookups:
    """A search by columns that are no access key reads the table whole, once, and asks in ``missed`` for an access key,
    so that only the first such batch costs what the table costs. ``read`` counts the stored rows that were read, and
    ``cancelled``, by table, those of them that others cancel."""

    before: Probed
    missed: dict[str, tuple[Columns, ...]] = field(factory=dict, init=False)
    read: int = field(default=0, init=False)
    cancelled: dict[str, int] = field(factory=dict, init=False)
    _scanned: dict[str, Scanned] = field(factory=dict, init=False)

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        """The rows of ``table`` of which ``columns`` are among ``keys``."""
        if not self.before.size(table):  # the first rows of a relation are many, and find nothing
            return self.before.scan(table)
        if columns in self.before.access_keys.get(table, ()):
            return self._read(table, self.before.probe(table, columns, keys))
        if columns not in self.missed.get(table, ()):
            self.missed[table] = (*self.missed.get(table, ()), columns)
        if table not in self._scanned:
            self._scanned[table] = Scanned(self.all(table).consolidated())
        return self._scanned[table].probe(columns, keys)

    def all(self, table: str) -> Rows:
        """Every row of a table."""
        return self._read(table, self.before.scan(table))

    def _read(self, table: str, rows: Rows) -> Rows:
        self.read += len(rows)
        self.cancelled[table] = self.cancelled.get(table, 0) + rows.cancelled()
        return rows
