"""Columns whose NULLs have values behind them: Arrow says nothing of what stands there, so nobody may read it."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import cycle

import pyarrow as pa

from ripplenest.data.rows import Rows, arrow_type
from ripplenest.nrc.types import Base
from support.edges import EDGES


def over_edges(known: Sequence[object], t: Base) -> pa.Array:
    """The column of ``known``, with edge values behind NULL."""
    edges = cycle(_edges(t))
    full = pa.array([next(edges) if v is None else v for v in known], arrow_type(t))
    valid = pa.array([v is not None for v in known]).buffers()[1]
    return pa.Array.from_buffers(full.type, len(full), [valid, *full.buffers()[1:]])


def rows_over_edges(rows: Rows) -> Rows:
    """The same rows."""
    table = rows.arrow()
    for i, t in enumerate(rows.types):
        column = table.column(i)
        if column.null_count:
            table = table.set_column(i, table.schema.field(i), over_edges(column.to_pylist(), t))
    return Rows(rows.types, table=table)


def _edges(t: Base) -> Sequence[object]:
    own = Base(t.kind, True, t.precision, t.scale)
    if t.kind != "decimal" or own in EDGES:
        return EDGES[own]
    assert t.precision is not None and t.scale is not None
    return [Decimal((sign, (9,) * t.precision, -t.scale)) for sign in (0, 1)]
