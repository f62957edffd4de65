"""Rows as the columns of a published table: Arrow types of nested and of flat types, and the values in them.

A record is a struct, a bag an array, NULL of either kind NULL, and every field may be NULL, because readers of Delta
tables disagree about fields that may not. A label is a struct of its parameters, as in ``ViewHandle.flat()``. The unit
record is a struct with one field ``unit`` of NULL: Parquet has no empty structs. Arrays are in canonical order, so that
equal rows are equal arrays.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.labels import SHOWN, SITE, param_name, param_type, shows_site
from ripplenest.data.rows import arrow_type
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type, has_columns

ID, BUCKET, MULTIPLICITY, OP = "_id", "id_bucket", "_multiplicity", "_op"
FEED = ("_change_type", "_commit_version", "_commit_timestamp")  # what the change data feed adds
RESERVED = (ID, BUCKET, OP, *FEED)
INTERNAL = "__delta_rs"  # how the columns begin that a merge adds to ours
FORBIDDEN = " ,;{}()\n\t=`"  # Delta's own list for tables without column mapping, and what quotes names in a merge
Fields = tuple[tuple[str, Type], ...]


def fields_of(row: Type) -> Fields:
    """The columns of rows of type ``row``: those of a record, or else one, ``value``."""
    return row.fields if has_columns(row) else (("value", row),)


def schema_of(fields: Fields, *more: pa.Field) -> pa.Schema:
    """``_id``, ``id_bucket``, the ``fields``, and then ``more``. The id is first: files have statistics of the first
    column only."""
    own = [pa.field(name, data_type(t)) for name, t in fields]
    return pa.schema([pa.field(ID, pa.string()), pa.field(BUCKET, pa.int32()), *own, *more])


def data_type(t: Type) -> pa.DataType:
    """The Arrow type of values of ``t``."""
    match t:
        case Base():
            return arrow_type(t)
        case Record():
            own = [(name, data_type(inner)) for name, inner in t.there.fields]
            return pa.struct(own or [("unit", pa.int32())])
        case Bag(row):
            return pa.list_(data_type(row))
        case Label():
            return pa.struct([(name, data_type(inner)) for name, inner in _label_fields(t)])
        case Dict():
            raise AssertionError(f"{t} is no type of published rows")
        case _:
            assert_never(t)


def _label_fields(t: Label) -> Fields:
    """The parameters of the label; of several sites, those of each, behind the name of the one that made it."""
    params = ((param_name(t, s, name), param_type(t, inner)) for s in t.sites for name, inner in s.params)
    return (*(((SHOWN, SITE),) if shows_site(t) else ()), *params)


def without_bucket(schema: pa.Schema) -> pa.Schema:
    """The columns that rows have before it is known how many buckets there are."""
    return pa.schema([f for f in schema if f.name != BUCKET])


def bucketed(rows: pa.Table, bits: int) -> pa.Table:
    """``rows`` with the column ``id_bucket``: 1 followed by the first ``bits`` bits of the id, at most 16."""
    coded = pc.utf8_slice_codeunits(rows.column(ID).combine_chunks(), 0, 4).dictionary_encode()
    known = [(1 << 16 | int(digits, 16)) >> (16 - bits) for digits in coded.dictionary.to_pylist()]
    return rows.add_column(1, pa.field(BUCKET, pa.int32()), pa.array(known, pa.int32()).take(coded.indices))


def check_names(schema: pa.Schema, where: str) -> None:
    """Raises QueryError for names that Delta tables cannot have, or that are ours, at any depth of ``schema``."""
    _check_names([f.name for f in list(schema)[2:]], where, RESERVED)
    for path, names in _structs(schema):
        _check_names(names, f"{where}.{path}", ())


def _check_names(names: Iterable[str], where: str, reserved: tuple[str, ...]) -> None:
    seen = {name: name for name in reserved}
    for name in names:
        if not name or any(c in FORBIDDEN or ord(c) < 32 for c in name) or name.startswith(INTERNAL):
            wanted = f"a name without any of {FORBIDDEN!r}"
            raise QueryError("a name that a Delta table cannot have", where=where, wanted=wanted, got=ascii(name))
        if name.lower() in seen:
            what = "a Delta table does not tell upper from lower case, and has names of its own"
            raise QueryError(what, where=where, wanted=f"a name other than {seen[name.lower()]}", got=name)
        seen[name.lower()] = name


def _structs(fields: Iterable[pa.Field]) -> Iterator[tuple[str, list[str]]]:
    """The names of the fields of every struct in ``fields``, with its path."""
    for f in fields:
        t = f.type
        while pa.types.is_list(t):
            t = t.value_type
        if pa.types.is_struct(t):
            inner = [t.field(i) for i in range(t.num_fields)]
            yield f.name, [i.name for i in inner]
            yield from ((f"{f.name}.{path}", names) for path, names in _structs(inner))
