"""A table that has no access key for what is asked of it: read whole, once, and looked up by columns in memory."""

import pyarrow as pa
from attrs import define, field

from ripplenest.data.index import Columns, Index, Wanted, asked_for, index_of, matches
from ripplenest.data.rows import Rows


@define(eq=False)
class Scanned:
    """The consolidated ``rows`` of a table, and 16 bytes of each for every set of columns that is asked for."""

    rows: Rows
    _indexes: dict[Columns, Index] = field(factory=dict)

    def probe(self, columns: Columns, keys: Wanted) -> Rows:
        """As ``Tables.probe``, by any columns. Raises WrongValue or WrongColumns for a key of other types."""
        if not columns:
            return self.rows
        table = self.rows.arrow()
        if columns not in self._indexes:
            self._indexes[columns] = index_of(table, columns)
        asked = asked_for(columns, keys, tuple(self.rows.types[i] for i in columns))
        _, places = matches(self._indexes[columns], table, columns, asked.hashes, asked.arrays)
        return Rows(self.rows.types, table=table.take(pa.array(places)), summed=True)
