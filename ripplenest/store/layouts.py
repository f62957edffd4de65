"""Tables whose columns change: rows that are stored already are read as they are, under the new types.

A column may become wider where its hash stays the same, so that indexes stay right: int becomes long, a decimal gets
digits before the point, NULL is allowed. Columns may come at the end, with a value for the rows that were there.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen

from ripplenest.data.rows import WEIGHT, Rows, arrow_schema, arrow_type
from ripplenest.nrc.errors import StateError
from ripplenest.nrc.serial import read_constant, write_constant
from ripplenest.nrc.types import Base
from ripplenest.store.specs import Reshape

Types = tuple[Base, ...]


@frozen
class Layout:
    """From version ``n`` on rows have ``types``; ``fills`` are the values that older ones have in the last columns."""

    n: int
    types: Types
    fills: tuple[object, ...] = ()

    def plain(self) -> list[Any]:
        """As JSON has it. Law: layout_of(plain) is the layout."""
        types = [[t.kind, t.nullable, t.precision, t.scale] for t in self.types]
        filled = self.types[len(self.types) - len(self.fills) :]
        return [self.n, types, [write_constant(v, t) for v, t in zip(self.fills, filled, strict=True)]]


def layout_of(plain: Sequence[Any]) -> Layout:
    n, raw, fills = plain
    types = tuple(Base(*t) for t in raw)
    filled = types[len(types) - len(fills) :]
    return Layout(n, types, tuple(read_constant(v, t) for v, t in zip(fills, filled, strict=True)))


def check_reshape(table: str, old: Types, layout: Layout) -> None:
    """Raises StateError unless rows of ``old`` types can be read under the new ones."""
    kept = layout.types[: len(layout.types) - len(layout.fills)]
    if len(kept) != len(old) or not all(is_wider(a, b) for a, b in zip(old, kept, strict=False)):
        shown = [", ".join(map(str, types)) for types in (old, layout.types)]
        raise StateError("columns that stored rows do not fit", where=table, wanted=shown[0], got=shown[1])


def is_wider(old: Base, new: Base) -> bool:
    """Whether every value of ``old`` is one of ``new``, with the same hash."""
    if old.nullable and not new.nullable:
        return False
    match old.kind, new.kind:
        case "int", "long":
            return True
        case "decimal", "decimal":
            return old.scale == new.scale and old.precision <= new.precision
    return old.kind == new.kind


def grown(rows: Rows, reshape: Reshape | None) -> Rows:
    """Rows of the old types as rows of the new ones."""
    if reshape is None:
        return rows
    return Rows(reshape.types, table=adapted(rows.arrow(), [Layout(0, reshape.types, reshape.fills)]))


def adapted(table: pa.Table, layouts: Iterable[Layout]) -> pa.Table:
    """``table``, with the columns c0…, w, under the newest of ``layouts``, which came after it."""
    for layout in layouts:
        old = layout.types[: len(layout.types) - len(layout.fills)]
        columns = [table.column(i).cast(arrow_type(t)) for i, t in enumerate(old)]
        for value, t in zip(layout.fills, layout.types[len(old) :], strict=True):
            columns.append(pa.chunked_array([pa.repeat(pa.scalar(value, arrow_type(t)), table.num_rows)]))
        table = pa.table([*columns, table.column(WEIGHT)], schema=arrow_schema(layout.types))
    return table
