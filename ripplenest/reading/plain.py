"""Nested columns as plain Python, column by column: what ``nrc/values.from_value`` makes of values one by one."""

from itertools import pairwise, repeat
from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from ripplenest.data.canonical import ends, in_order
from ripplenest.data.index import Places
from ripplenest.data.order import wide
from ripplenest.data.rows import python_column
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type
from ripplenest.reading.arrow import counted, nested_whole
from ripplenest.schema.shape import OutputShape
from ripplenest.version.version import Readable


def rows_of(shape: OutputShape, tables: Readable) -> list[Any]:
    """All nested rows as plain Python. Raises EvaluationError for a multiplicity below 0."""
    values, counts = nested_whole(shape, tables)
    kept, counts = counted(values, counts, shape.where)
    return listed(values.take(pa.array(kept)), counts, shape)


def listed(values: pa.Array, counts: Places, shape: OutputShape, most: int | None = None) -> list[Any]:
    """Nested rows, ``arranged``, as plain Python, each so often: in the order in which they are shown, the first
    ``most`` of them."""
    order = in_order(values, np.zeros(len(values), np.int64), shape.shown.get((), ()))
    many = counts[order] if most is None else first_copies(counts[order], most)
    return plain(values.take(pa.array(np.repeat(order, many))), shape.row)


def first_copies(counts: Places, most: int) -> Places:
    """Of rows that are there so often, how many of each are among the first ``most``."""
    before = np.cumsum(wide(counts)) - counts
    return np.minimum(np.maximum(min(most, np.iinfo(np.int64).max) - before, 0), counts).astype(np.int64)


def plain(values: pa.Array, t: Type) -> list[Any]:
    """The ``values`` of the nested type ``t``: records as dicts, bags as lists in the order in which their rows stand,
    NULL as None. Law: of what is ``arranged``, these are those of ``from_value``."""
    match t:
        case Base():
            return python_column(t, pa.chunked_array([values]))
        case Record() if t.is_optional:
            there = values.is_valid().to_pylist()
            return [row if is_there else None for row, is_there in zip(plain(values, t.there), there, strict=True)]
        case Record(fields):
            if not fields:
                return [{} for _ in range(len(values))]
            own = (plain(column, inner) for column, (_, inner) in zip(values.flatten(), fields, strict=True))
            names = t.names
            return [dict(zip(names, row, strict=True)) for row in zip(*own, strict=True)]
        case Bag(row):
            rows, spans = plain(values.flatten(), row), pairwise(ends(values).tolist())
            missing = values.is_null().to_pylist() if values.null_count else repeat(False)
            return [None if none else rows[a:b] for none, (a, b) in zip(missing, spans, strict=False)]
        case Label() | Dict():
            raise AssertionError(f"{t} is no type of nested rows")
        case _:
            assert_never(t)
