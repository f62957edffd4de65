"""A deep change for each row of a table: ``each = rn.each(table)`` are its rows, ``each.custkey`` a value of each.

    b.at("Customers", custkey=each.customer).orders.at(orderkey=each.order).items.insert(each)

stands for one insert for each row, and so for every verb and for ``set``. They stay columns until they are done.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from ripplenest.data.levels import Level
from ripplenest.data.rows import arrow_columns
from ripplenest.errors import UnknownColumn, UnknownKey
from ripplenest.intake.given import Given
from ripplenest.intake.ingest import named_columns, read_rows
from ripplenest.intake.messages import Json, documents_of
from ripplenest.intake.operations import Asked, Field, Step, Where
from ripplenest.nrc.arguments import kind
from ripplenest.nrc.border import public
from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.types import Bag, Base, Record, Type

Values: TypeAlias = Sequence[object] | pa.ChunkedArray | Json


@public
class Each:
    """The rows of a table; a field of it stands for a value of each."""

    __slots__ = ("_columns", "_of", "_size")

    def __init__(self, columns: Mapping[str, Values], size: int, of: "Each | None" = None) -> None:
        """``of`` has the same rows, under other names."""
        self._columns, self._size, self._of = columns, size, self if of is None else of

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"each({self._size} rows: {', '.join(self._columns)})"

    def __getattr__(self, name: str) -> "EachValue":
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> "EachValue":
        if name not in self._columns and (self._columns or self._size):  # of no rows nobody knows the fields
            raise UnknownColumn("there is no such column", where="each", got=name, possible=self._columns)
        return EachValue(self, name, self._columns.get(name, ()))


@frozen(eq=False)
class EachValue:
    """What each row of a table has in one of its columns."""

    of: Each
    name: str
    column: Values = field(repr=False)


def each(rows: object) -> Each:
    """Rows for each of which a batch does something: dicts, records, a pyarrow.Table, a DataFrame, ``rn.json(...)`` or
    whatever else hands out Arrow data. Where ``at``, ``at_all`` and ``set`` are given ``each.<column>`` instead of a
    value, it is that of each row; ``insert(each)`` inserts its columns, but for those that only the address names, and
    ``insert(each.<column>)`` the rows that are in one."""
    return Each(*named_columns(rows, "each: rows"))


def plain(rows: object) -> object:
    """``rows``, also those that were given as a table's or as those in one of its columns, as what can be read."""
    match rows:
        case Each():
            return _left(rows, ())
        case EachValue(column=column) if isinstance(column, pa.ChunkedArray):
            whole = column.combine_chunks()
            fields = pa.types.is_struct(whole.type) and not whole.null_count
            return pa.Table.from_struct_array(whole) if fields else pa.table({"": whole})
        case EachValue(column=Json() as column):
            return column.plain
        case EachValue(column=column):
            return column
        case _:
            return rows


def keys_given(keys: object, fields: dict[str, object], key: Sequence[str], where: str) -> object:
    """Rows of the fields of a ``key``, as they are given for one or for several."""
    if isinstance(keys, int | float | date | Decimal):  # a text is the path of a file
        what, possible = "the fields of a key are named", [", ".join(f"{name}=..." for name in key)]
        raise UnknownKey(what, where=where, got=kind(keys), possible=possible)
    if (keys is None) == (not fields):
        what, wanted = "which rows go", "the fields of one key, or rows of keys"
        raise UnknownKey(what, where=where, wanted=wanted, got="both" if fields else "neither")
    return _named(fields, where) if keys is None else keys


def _named(fields: Mapping[str, object], where: str) -> object:
    """Rows of ``fields``: one, or one for each row of the table that some of them are values of."""
    found = table_of(fields.values(), where)
    if found is None:
        return [fields]
    columns = {n: v.column if isinstance(v, EachValue) else [v] * len(found) for n, v in fields.items()}
    return Each(columns, len(found), found)


def table_of(given: Iterable[object], where: str) -> Each | None:
    """The table that ``given`` has values or rows of. Raises TypeMismatch where there are several."""
    found = [v.of if isinstance(v, EachValue) else v for v in given if isinstance(v, Each | EachValue)]
    if len({id(table._of) for table in found}) > 1:
        raise TypeMismatch("values of several tables", where=where, wanted="values of one rn.each(...)")
    return found[0]._of if found else None


def asked_of(steps: Sequence[Step]) -> list[object]:
    """The values of the fields of an address."""
    return [value for step in steps if isinstance(step, Where) for _, value in step.fields]


class Asking:
    """What an address asks for each row of ``of``: ``steps`` with types, and ``asked``, a column for each field."""

    def __init__(self, of: Each, row: Type, steps: Sequence[Step], where: str) -> None:
        """``row`` is the type of the rows where the steps begin."""
        self._of, self._where = of, f"{where}: each"
        self.steps: tuple[Asked | Field, ...] = ()
        self.asked: list[pa.Array] = []
        self._named: set[str] = set()
        for step in steps:
            match row:
                case Bag(inner):
                    row = inner
            assert isinstance(row, Record)
            types = dict(row.fields)
            if isinstance(step, Field):
                self.steps, row = (*self.steps, step), types[step.name]
                continue
            named = [(name, value, base(types[name])) for name, value in step.fields]
            self.steps = (*self.steps, Asked(tuple((name, t) for name, _, t in named), step.many))
            self.asked.extend(self._column(value, t) for _, value, t in named)
            self._named |= {value.name for _, value, _ in named if isinstance(value, EachValue)}

    def given(self, rows: object, t: Type, key: Sequence[str], whole: bool) -> tuple[Given, list[pa.Array]]:
        """The rows of type ``t`` that come in or go, and what is asked beside each of them. Rows that are none of the
        table's are those of each. ``whole`` as in ``read_rows``."""
        if isinstance(rows, Each | EachValue):
            return read_rows(self._rows(rows, t), t, self._where, key, whole=whole), self.asked
        read = read_rows(rows, t, self._where, key, whole=whole).level
        n, times = len(self._of), len(read)
        asked = [c.take(pa.array(np.repeat(np.arange(n), times))) for c in self.asked]
        return Given(t, level=read.take(np.tile(np.arange(times), n))), asked

    def _rows(self, rows: Each | EachValue, t: Type) -> object:
        """Its rows without what only the address has: of a bag of base values the one column that is left."""
        if isinstance(rows, EachValue):
            return plain(rows)
        but = self._named - set(t.names if isinstance(t, Record) else ())
        left = [name for name in rows._columns if name not in but]
        return plain(rows[left[0]]) if len(left) == 1 and not isinstance(t, Record) else _left(rows, but)

    def values(self, fields: Mapping[str, tuple[object, Base]]) -> Given:
        """The values of ``fields`` for each row, as one row of them."""
        columns = [self._column(value, t) for value, t in fields.values()]
        row = Record(tuple((name, t) for name, (_, t) in fields.items()))
        return Given(row, level=Level(len(self._of), columns))

    def _column(self, value: object, t: Base) -> pa.Array:
        if not isinstance(value, EachValue):
            return arrow_columns((t,), [(value,)])[0].take(pa.array(np.zeros(len(self._of), np.int64)))
        row = Record(((value.name, t),))
        return read_rows(_left(value.of, value.of._columns.keys() - {value.name}), row, self._where).level.columns[0]


def base(t: Type) -> Base:
    """A type that was seen to be that of a base field."""
    assert isinstance(t, Base)
    return t


def _left(table: Each, but: Collection[str]) -> object:
    """Its rows without the columns ``but``, as what can be read."""
    left = {name: column for name, column in table._columns.items() if name not in but}
    if table._columns and all(isinstance(column, pa.ChunkedArray) for column in left.values()):
        return pa.table(left)
    if any(isinstance(column, Json) for column in left.values()):
        return documents_of(left)
    return [dict(zip(left, row, strict=True)) for row in zip(*left.values(), strict=True)]
