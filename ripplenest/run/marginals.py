"""What statements see of a sum map: a bag that adds up to the same as the rows that it is made of.

Stored is one row for each key: how many rows there are of it, n, and of each column x in how many there is a value, nₓ,
and what these come to, s. What is seen are n copies of the key. The first of them has s in x, the others up to nₓ have
0, and behind these there is NULL. Law: for each x the rows of a key are there n times, have a value in x nₓ times, and
add up to s there; and what is seen of a sum of stored rows is the sum of what is seen. So whoever reads each x by
itself, and only adds up, sees what the rows are that it is made of.

What a batch does to the map before the turn of a statement is seen as the rows that statements have made, which are
not added up yet: they are of the same columns, and come to the same. So nobody waits for stored rows to be read.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.rows import WEIGHT, Rows, arrow_schema, arrow_type
from ripplenest.nrc.types import Base
from ripplenest.plan.groups import Folding
from ripplenest.plan.planned import PlannedMap

Ints = np.typing.NDArray[np.int64]


def seen(m: PlannedMap, rows: Rows) -> Rows:
    """What statements see of stored ``rows`` of a sum map, or of their change."""
    f, table = m.adding, rows.arrow().combine_chunks()
    schema, weights = arrow_schema(m.made), table.column(WEIGHT).to_numpy()
    pieces = []
    for columns, copies in _copies(f, table):
        found = [*table.columns[: f.keys], *columns, pa.array(weights * copies)]
        pieces.append(pa.Table.from_arrays(found, schema=schema).filter(pa.array(copies != 0)))
    return Rows(m.made, table=pa.concat_tables(pieces))


def _copies(f: Folding, table: pa.Table) -> Iterator[tuple[list[pa.Array], Ints]]:
    """Values of the columns that are summed, for each key, and how many copies of it have them."""
    kept = [table.column(f.keys + i) for i in range(len(f.accumulators))]
    n, counts = kept[0].to_numpy(), [kept[a.count].to_numpy() for a in f.answers]
    sums = [_scaled(kept[a.total or 0], a.type) for a in f.answers]
    yield [_where(s, c > 0) for s, c in zip(sums, counts, strict=True)], np.minimum(n, 1)
    zeros = [pa.repeat(pa.scalar(0, arrow_type(a.type)), len(table)) for a in f.answers]
    before = np.ones_like(n)
    for last in np.maximum(np.sort(np.vstack([*counts, n]), axis=0), 1):
        yield [_where(zero, c >= last) for zero, c in zip(zeros, counts, strict=True)], last - before
        before = last


def _where(values: pa.Array, there: np.typing.NDArray[np.bool_]) -> pa.Array:
    return pc.if_else(pa.array(there), values, pa.scalar(None, values.type))


def _scaled(digits: pa.ChunkedArray, t: Base) -> pa.Array:
    """Integers without a point as the decimals that they are the digits of: the same bytes, of another type."""
    return digits.combine_chunks().view(arrow_type(t))
