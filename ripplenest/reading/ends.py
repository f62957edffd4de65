"""The tables at both ends of a change, for who looks up by columns what it touched."""

from collections.abc import Mapping

from attrs import frozen

from ripplenest.data import columnar
from ripplenest.data.index import Wanted, wanted
from ripplenest.data.rows import Rows
from ripplenest.data.scanned import Scanned
from ripplenest.store.specs import Columns
from ripplenest.version.lookups import Lookups, Probed
from ripplenest.version.version import AccessKeys, Version


@frozen
class Searched:
    """Tables of which rows are found by any columns, and that remember by which no access key found them."""

    lookups: Lookups

    @classmethod
    def of(cls, tables: Probed) -> "Searched":
        return cls(Lookups(tables))

    @property
    def access_keys(self) -> AccessKeys:
        return self.lookups.before.access_keys

    def scan(self, table: str) -> Rows:
        """Every row of ``table``."""
        return self.lookups.all(table)

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        """The rows whose ``columns`` equal one of ``keys``; NULL equals NULL."""
        return self.lookups.probe(table, columns, keys)

    def rows_of(self, table: str, keys: Rows) -> Rows:
        """Those of ``keys``, whole rows, that are there, each as often as it is."""
        if keys.is_empty:
            return keys
        return self.lookups.probe(table, tuple(range(len(keys.types))), keys).consolidated()


@frozen
class Before:
    """The tables before a change, which are never read: before = after ⊎ ⊖δ, for a table and for the rows of a key
    alike. Nothing is stored of labels that are ``gone`` with the rows that held them, so they are not looked for."""

    after: Version
    deltas: Mapping[str, Rows]
    gone: Mapping[str, Rows]

    @property
    def access_keys(self) -> AccessKeys:
        return self.after.access_keys

    def size(self, table: str) -> int:
        """At least the number of rows."""
        return self.after.size(table) + len(self.deltas[table])

    def scan(self, table: str) -> Rows:
        return self.after.scan(table).plus(self.deltas[table].negated()).consolidated()

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:
        """As ``after`` has it, and back: a bag that is stored as an array would be looked for in all arrays."""
        delta = self.deltas[table]
        asked = wanted(keys, tuple(delta.types[c] for c in columns)).consolidated()
        back = Scanned(delta).probe(columns, asked).negated()
        gone = self.gone.get(table)
        if gone is not None and len(gone) and columns == tuple(range(len(gone.types))):
            asked = columnar.others(asked, columns, gone)
        return self.after.probe(table, columns, asked).plus(back).consolidated()
