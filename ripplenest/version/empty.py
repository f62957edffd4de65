"""A version of which all tables are without rows: what a load of a relation meets that has none."""

from collections.abc import Mapping

import numpy as np
from attrs import frozen

from ripplenest.data.index import Places, Wanted
from ripplenest.data.order import First, Firsts, Within
from ripplenest.data.rows import Rows
from ripplenest.store.index.asked import Asked
from ripplenest.store.index.first import read_first
from ripplenest.store.specs import Columns, TableSpec
from ripplenest.version.version import AccessKeys


@frozen
class Empty:
    """The tables ``specs`` at ``version`` (a ``Version``)."""

    version: int
    specs: Mapping[str, TableSpec]

    @property
    def access_keys(self) -> AccessKeys:
        return {name: spec.indexes for name, spec in self.specs.items()}

    def scan(self, table: str) -> Rows:
        """No row."""
        return Rows.empty(self.specs[table].types)

    def probe(self, table: str, columns: Columns, keys: Wanted) -> Rows:  # noqa: ARG002 - whatever is asked for
        """No row."""
        return self.scan(table)

    def many(self, table: str, columns: Columns, keys: Rows) -> Places:  # noqa: ARG002 - whatever is asked for
        """None of any key."""
        return np.zeros(len(keys), np.int64)

    def first(self, table: str, asked: Firsts) -> First:
        """What ``plus`` has."""
        return read_first([], Asked.of(asked, self.specs[table].types), asked.plus)

    def within(self, table: str, *asked: Within) -> Rows | None:  # noqa: ARG002 - whatever is asked for
        """No row."""
        return self.scan(table)

    def size(self, table: str) -> int:  # noqa: ARG002 - of any table
        return 0

    def some(self, table: str, most: int) -> Rows:  # noqa: ARG002 - however many are wanted
        """No row."""
        return self.scan(table)

    def delta(self, table: str, since: int) -> Rows:  # noqa: ARG002 - since whenever
        """No row."""
        return self.scan(table)
