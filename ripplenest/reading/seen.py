"""Stored rows that are looked at, and what is wrong with each of them by itself."""

from collections.abc import Iterator

from attrs import frozen

from ripplenest.data import columnar
from ripplenest.data.columns import columns
from ripplenest.data.rows import Rows
from ripplenest.nrc.printing.text import path
from ripplenest.nrc.types import Type
from ripplenest.reading.hidden import wholes
from ripplenest.reading.verification import Difference, Sample, Table


@frozen
class Seen:
    """A table that was read: its consolidated rows, and what it is, for messages."""

    table: Table
    row: Type
    rows: Rows

    def differs(self, what: str, too_many: Rows, missing: Rows | None = None) -> Iterator[Difference]:
        """A difference when there are such rows."""
        if len(too_many) or (missing is not None and len(missing)):
            names = tuple(c.path for c in columns(self.row))
            lacking = Sample() if missing is None else Sample.of(missing)
            yield Difference(self.table.name, self.table.of, what, names, Sample.of(too_many), lacking)


def sound(t: Seen, signed: bool = False) -> Iterator[Difference]:
    """NULL only where the types have it, and unless rows are ``signed`` none there less than 0 times."""
    if not signed:
        yield from t.differs("rows with a multiplicity below 0", columnar.negative(t.rows))
    for i, c in enumerate(columns(t.row)):
        if not c.type.nullable:
            nulls = columnar.where(t.rows, columnar.column(t.rows, i).is_null())
            yield from t.differs(f"NULL in {path(c.path)}, which has none", nulls)


def whole(t: Seen, given: Type | None) -> Iterator[Difference]:
    """Records that are NULL hold nothing, in rows that users have ``given`` as nested ones of this type not even
    labels. What auxiliary maps keep of records are fields like others."""
    for own in wholes(t.row, given):
        of = path(own.path) if own.path else "a row"
        yield from t.differs(f"values in {of}, which is NULL", own.hiding(t.rows))
        for name, i in own.firm:
            yield from t.differs(f"NULL in {path(name)}, which has none where {of} is there", own.lacking(t.rows, i))
