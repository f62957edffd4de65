"""The tables of a version as a batch sees them: the stored rows and, on top, what the batch has changed so far."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.bags import checked
from ripplenest.nrc.types import Base
from ripplenest.store.specs import Columns
from ripplenest.version.lookups import Lookups, Probed

Found = dict[Row, int]
NO_TYPES: Mapping[str, tuple[Base, ...]] = {}


class Overlay:
    """Reads through to ``before``, fetching only the keys that are asked for, each once. ``types`` are those of the
    tables that change."""

    def __init__(self, reader: Probed, types: Mapping[str, tuple[Base, ...]] = NO_TYPES) -> None:
        self.before, self._types, self.access_keys = reader, types, reader.access_keys
        self.lookups = Lookups(reader)
        self._stored: dict[tuple[str, Columns], dict[Row, Found]] = defaultdict(dict)
        self._pending: dict[str, Found] = defaultdict(dict)
        self._by_key: dict[tuple[str, Columns], dict[Row, dict[Row, None]]] = {}

    def fetch(self, table: str, columns: Columns, keys: Iterable[Row]) -> None:
        """Read the stored rows of many keys at once, for the ``rows`` that follow."""
        stored = self._stored[table, columns]
        missing = [k for k in dict.fromkeys(keys) if k not in stored]
        if not missing:
            return
        stored.update((k, {}) for k in missing)
        for row, n in self.lookups.probe(table, columns, missing).counts().items():
            stored[tuple(row[c] for c in columns)][row] = n

    def rows(self, table: str, columns: Columns, key: Row) -> Found:
        """row ↦ multiplicity for the rows that have ``key`` now."""
        self.fetch(table, columns, [key])
        found = dict(self._stored[table, columns][key])
        for row in self._index(table, columns).get(key, ()):
            found[row] = found.get(row, 0) + self._pending[table].get(row, 0)
        return {row: n for row, n in found.items() if n}

    def scan(self, table: str) -> Found:
        """Every row as it is now."""
        found = self.whole(table)
        for row, n in self._pending[table].items():
            found[row] = found.get(row, 0) + n
        return {row: n for row, n in found.items() if n}

    def add(self, table: str, row: Row, n: int) -> None:
        """Change the multiplicity of ``row`` by ``n``."""
        pending = self._pending[table]
        pending[row] = checked(pending.get(row, 0) + n)
        for (name, columns), index in self._by_key.items():
            if name == table:
                index.setdefault(tuple(row[c] for c in columns), {})[row] = None

    def whole(self, table: str) -> Found:
        """Every row as it was before the batch."""
        return dict(self.lookups.all(table).counts())

    def seen(self, table: str) -> Found:
        """The rows, as they were before the batch, that were read so far."""
        read = (found for (name, _), keys in self._stored.items() if name == table for found in keys.values())
        return {row: n for found in read for row, n in found.items()}

    def changed(self, table: str) -> Found:
        """row ↦ how its multiplicity changes, for the rows of ``table`` for which it does."""
        return {row: n for row, n in self._pending.get(table, {}).items() if n}

    def changes(self) -> dict[str, Rows]:
        """The signed rows of every table that changed."""
        found = {t: self.changed(t) for t in self._pending}
        return {t: Rows.of_counts(self._types[t], rows).consolidated() for t, rows in found.items() if rows}

    def _index(self, table: str, columns: Columns) -> dict[Row, dict[Row, None]]:
        if (table, columns) not in self._by_key:
            index: dict[Row, dict[Row, None]] = {}
            for row in self._pending[table]:
                index.setdefault(tuple(row[c] for c in columns), {})[row] = None
            self._by_key[table, columns] = index
        return self._by_key[table, columns]
