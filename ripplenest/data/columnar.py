"""Selection and projection of rows as Arrow does them: for tables that are too large to be taken apart in Python."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.rows import WEIGHT, Rows, arrow_schema
from ripplenest.nrc.types import Base


def column(rows: Rows, i: int) -> pa.ChunkedArray:
    """The values of c{i}."""
    return rows.arrow().column(i)


def weights(rows: Rows) -> pa.ChunkedArray:
    """The multiplicities."""
    return rows.arrow().column(WEIGHT)


def where(rows: Rows, mask: pa.ChunkedArray) -> Rows:
    """Those of consolidated ``rows`` for which ``mask`` is true; NULL is not true."""
    return Rows(rows.types, table=rows.arrow().filter(mask), summed=True)


def project(rows: Rows, columns: Sequence[int], types: tuple[Base, ...]) -> Rows:
    """The bag of ``columns`` of the rows, consolidated; ``types`` are theirs, up to nullability."""
    table = rows.arrow()
    arrays = [*(table.column(i) for i in columns), table.column(WEIGHT)]
    return Rows(types, table=pa.Table.from_arrays(arrays, schema=arrow_schema(types))).consolidated()


def each_once(rows: Rows) -> Rows:
    """Consolidated ``rows``, each with multiplicity 1."""
    table = rows.arrow()
    place = table.num_columns - 1
    once = pa.repeat(pa.scalar(1, pa.int64()), len(rows))
    return Rows(rows.types, table=table.set_column(place, table.schema.field(place), once), summed=True)


def positive(rows: Rows) -> Rows:
    """Those of consolidated ``rows`` that are there more than 0 times."""
    return where(rows, pc.greater(weights(rows), 0))


def negative(rows: Rows) -> Rows:
    """Those of consolidated ``rows`` that are there less than 0 times."""
    return where(rows, pc.less(weights(rows), 0))


def largest_bag(rows: Rows) -> int:
    """The rows of the largest bag in a stored dictionary: of the label in its first column that has most."""
    return project(rows, (0,), rows.types[:1]).heaviest()
