"""Columns of what is plainly of its type: the fast way in, which takes nothing that it would have to think about.

Each column is looked at as a whole, those of inner bags too: their rows are taken one after the other. Where one holds
anything but plain values of its type, there are no columns (None), and the rows are read one by one
(``nrc/values.py``), which takes what can be taken and finds the culprit. Law: what is taken here is what is read there.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain
from operator import attrgetter, itemgetter
from types import NoneType
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.levels import Bags, Level, Mask
from ripplenest.data.rows import arrow_type, canonical_doubles
from ripplenest.nrc.instances import field_names
from ripplenest.nrc.types import EXISTS, Bag, Base, Dict, Label, Record, Type, has_columns

PLAIN: dict[str, frozenset[type]] = {
    "bool": frozenset({bool}),
    "int": frozenset({int}),
    "long": frozenset({int}),
    "double": frozenset({float, int}),  # Arrow refuses integers that no double is equal to
    "decimal": frozenset({Decimal}),
    "string": frozenset({str}),
    "date": frozenset({date}),
    "timestamp": frozenset({datetime}),
    "binary": frozenset({bytes}),
}
ZONES: tuple[set[object], ...] = (set(), {None}, {UTC})  # of no times at all, of times without a zone, of UTC
_MISFIT = (pa.ArrowException, ValueError, OverflowError)
_FIRST, _LAST = (pa.scalar(d, pa.date32()).cast(pa.int32()).as_py() for d in (date.min, date.max))
_DAY = 86_400_000_000  # microseconds


class NotPlain(Exception):
    """Somewhere is something else than a plain value."""


def from_python(rows: Sequence[object], t: Type) -> Level | None:
    """Dicts, records, lists or base values of type ``t``."""
    try:
        return _of_objects(rows, t)
    except NotPlain:
        return None


def named_fields(rows: Sequence[object]) -> dict[str, Sequence[object]] | None:
    """The values of each field of dicts with the same keys, or of records of one class; None of other rows."""
    first = rows[0] if rows else {}
    names = tuple(first) if isinstance(first, dict) else field_names(type(first))
    try:
        return None if names is None else dict(zip(names, _fields(rows, names), strict=True))
    except NotPlain:
        return None


def from_arrow(table: pa.Table, t: Type) -> Level | None:
    """A table with the fields of type ``t``, or with one column for a type without fields, or whose rows may be NULL.
    """
    try:
        if not has_columns(t):
            return _of_array(_whole(one_column(table, t)), t)
        found = _Leaves(table.num_rows)
        for name, inner in t.fields:
            _add_array(_whole(table.column(name)), inner, found)
        return found.level()
    except NotPlain:
        return None


def one_column(table: pa.Table, t: Type) -> pa.ChunkedArray:
    """Rows of type ``t`` as one column, also where a table has each field of records in one."""
    own = isinstance(t, Record) and sorted(table.column_names) == sorted(t.there.names)
    return pa.chunked_array(table.to_struct_array()) if own else table.column(0)


class _Leaves:
    """What has been found of the rows of a level so far."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.columns: list[pa.Array] = []
        self.bags: list[Bags] = []

    def spread(self, there: Mask, level: Level, t: Record) -> None:
        """The records of ``level``, of type ``t``, where they are ``there``, and NULL elsewhere."""
        places = pa.array(np.cumsum(there) - 1, mask=~there)
        self.columns.append(pa.array(there))
        for column, says in zip(level.columns, _exists(t), strict=True):
            own = column.take(places)
            self.columns.append(own.fill_null(False) if says else own)
        for bag in level.bags:
            counts = np.zeros(self.size, np.int64)
            counts[there] = bag.counts
            present = there.copy()
            present[there] = True if bag.present is None else bag.present
            self.bags.append(Bags(counts, bag.rows, present))

    def level(self) -> Level:
        return Level(self.size, self.columns, self.bags)


def _exists(t: Record) -> Iterator[bool]:
    """Of each base column, whether it says that a record is there."""
    for name, inner in t.fields:
        if isinstance(inner, Record):
            yield from _exists(inner)
        elif isinstance(inner, Base):
            yield name == EXISTS


# ---------------------------------------------------------------- Python


def _of_objects(rows: Sequence[object], t: Type) -> Level:
    found = _Leaves(len(rows))
    _add_objects(rows, t, found)
    return found.level()


def _add_objects(rows: Sequence[object], t: Type, found: _Leaves) -> None:
    match t:
        case Base():
            found.columns.append(_column(rows, t))
        case Record() if t.is_optional:
            there = np.fromiter((row is not None for row in rows), np.bool_, len(rows))
            found.spread(there, _of_objects([row for row in rows if row is not None], t.there), t.there)
        case Record(fields):
            columns = _fields(rows, [name for name, _ in fields])
            for column, (_, inner) in zip(columns, fields, strict=True):
                _add_objects(column, inner, found)
        case Bag(row):
            found.bags.append(_lists(rows, row, t.nullable))
        case Label() | Dict():
            raise NotPlain
        case _:
            assert_never(t)


def _lists(bags: Sequence[object], row: Type, nullable: bool) -> Bags:
    """The rows of bags that are lists, one after the other."""
    kinds = set(map(type, bags))
    if not kinds <= ({list, NoneType} if nullable else {list}):
        raise NotPlain
    given: list[list[object]] = [bag or [] for bag in bags] if NoneType in kinds else bags  # type: ignore[assignment, misc]
    counts = np.fromiter(map(len, given), np.int64, len(given))
    present = np.fromiter((bag is not None for bag in bags), np.bool_, len(bags)) if nullable else None
    return Bags(counts, _of_objects(list(chain.from_iterable(given)), row), present)


def _fields(rows: Sequence[object], names: Sequence[str]) -> list[Sequence[object]]:
    """The values of each field of dicts with these keys and no others, or of records of one class."""
    kinds = set(map(type, rows))
    if kinds <= {dict} and set(map(len, rows)) <= {len(names)}:  # type: ignore[arg-type]
        try:
            return [list(map(itemgetter(name), rows)) for name in names]  # type: ignore[arg-type]
        except KeyError:
            raise NotPlain from None
    own = field_names(kinds.pop()) if len(kinds) == 1 else None
    if own is not None and set(own) == set(names):
        return [list(map(attrgetter(name), rows)) for name in names]
    raise NotPlain


def _column(values: Sequence[object], t: Base) -> pa.Array:
    kinds = set(map(type, values))
    if not kinds - {type(None)} <= PLAIN[t.kind] or (type(None) in kinds and not t.nullable):
        raise NotPlain
    if t.kind == "timestamp" and {v.tzinfo for v in values if v is not None} not in ZONES:  # type: ignore[attr-defined]
        raise NotPlain
    try:
        found = pa.array(values, arrow_type(t))
    except _MISFIT:
        raise NotPlain from None
    return _canonical(found, t)


# ---------------------------------------------------------------- Arrow


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _of_array(values: pa.Array, t: Type) -> Level:
    found = _Leaves(len(values))
    _add_array(values, t, found)
    return found.level()


def _add_array(values: pa.Array, t: Type, found: _Leaves) -> None:
    match t:
        case Base():
            found.columns.append(_cast(values, t))
        case Record() if t.is_optional:
            there = values.is_valid().to_numpy(zero_copy_only=False)
            found.spread(there, _of_array(values.cast(_taken(values.type)).drop_null(), t.there), t.there)
        case Record(fields):
            names = [f.name for f in values.type] if pa.types.is_struct(values.type) else None
            if names is None or sorted(names) != sorted(n for n, _ in fields) or values.null_count:
                raise NotPlain
            columns = dict(zip(names, values.flatten(), strict=True))
            for name, inner in fields:
                _add_array(columns[name], inner, found)
        case Bag(row):
            found.bags.append(_list_array(values, row, t.nullable))
        case Label() | Dict():
            raise NotPlain
        case _:
            assert_never(t)


def _taken(t: pa.DataType) -> pa.DataType:
    """``t`` with texts and bytes of which Arrow takes some: of views, as polars has them, it takes none."""
    if pa.types.is_struct(t):
        return pa.struct([f.with_type(_taken(f.type)) for f in t])
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return (pa.list_ if pa.types.is_list(t) else pa.large_list)(t.value_field.with_type(_taken(t.value_type)))
    if pa.types.is_string_view(t):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(t) else t


def _list_array(values: pa.Array, row: Type, nullable: bool) -> Bags:
    """The rows of lists, one after the other, by their offsets; what stands behind NULL is left out."""
    if pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    lists = pa.types.is_list(values.type) or pa.types.is_large_list(values.type)
    if not lists or (values.null_count and not nullable):
        raise NotPlain
    try:
        values.validate(full=True)
    except _MISFIT:
        raise NotPlain from None
    counts = pc.list_value_length(values).fill_null(0).cast(pa.int64()).to_numpy()
    present = values.is_valid().to_numpy(zero_copy_only=False) if nullable else None
    return Bags(counts, _of_array(values.flatten(), row), present)


def _cast(values: pa.Array, t: Base) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = _decoded(values)
    if not _alike(values.type, t) or (values.null_count and not t.nullable):
        raise NotPlain
    try:
        values.validate(full=True)  # bytes that are no text
        found = values.cast(arrow_type(t))
    except _MISFIT:
        raise NotPlain from None
    if pa.types.is_timestamp(values.type) and values.type.tz not in (None, "UTC"):
        _within(found, pa.int64(), (_FIRST + 1) * _DAY, _LAST * _DAY)  # other years there
    return _canonical(found, t)


def _decoded(values: pa.DictionaryArray) -> pa.Array:
    """Each value in its place. Arrow takes no views, of which the categories of polars are."""
    known = values.dictionary.cast(_taken(values.dictionary.type))
    return pa.DictionaryArray.from_arrays(values.indices, known).dictionary_decode()


def _alike(arrow: pa.DataType, t: Base) -> bool:
    """Whether a value of ``arrow`` becomes one of ``t`` unchanged, or not at all. Naive timestamps are in UTC. What
    would lose nanoseconds is refused by the cast."""
    match t.kind:
        case "bool":
            return bool(pa.types.is_boolean(arrow))
        case "int" | "long":
            return bool(pa.types.is_integer(arrow))
        case "double":
            return bool(pa.types.is_floating(arrow) or pa.types.is_integer(arrow))
        case "decimal":
            return bool(pa.types.is_decimal(arrow))
        case "string":
            return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))
        case "date":
            return bool(pa.types.is_date32(arrow))
        case "timestamp":
            return bool(pa.types.is_timestamp(arrow) and _is_zone(arrow))
        case "binary":
            return bool(pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_binary_view(arrow))
        case _:
            assert_never(t.kind)


def _is_zone(arrow: pa.DataType) -> bool:
    """Whether Python knows the zone in which timestamps are shown, if there is one; what is stored is UTC in all."""
    try:
        pa.scalar(0, arrow).as_py()
    except _MISFIT:
        return False
    return True


# ---------------------------------------------------------------- both


def _canonical(values: pa.Array, t: Base) -> pa.Array:
    """One NaN, no -0.0, and no day outside of the years 1 to 9999."""
    match t.kind:
        case "double":
            return canonical_doubles(values)
        case "date":
            return _within(values, pa.int32(), _FIRST, _LAST)
        case "timestamp":
            return _within(values, pa.int64(), _FIRST * _DAY, (_LAST + 1) * _DAY - 1)
        case _:
            return values


def _within(values: pa.Array, bits: pa.DataType, first: int, last: int) -> pa.Array:
    ends = pc.min_max(values.view(bits)).as_py()
    if ends["min"] is not None and not first <= ends["min"] <= ends["max"] <= last:
        raise NotPlain
    return values
