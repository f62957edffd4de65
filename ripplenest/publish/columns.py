"""Rows as the columns of a published table: Arrow types of nested and of flat types, and the values in them.

A record is a struct, a bag an array, NULL of either kind NULL, and every field may be NULL, because readers of Delta
tables disagree about fields that may not. A label is a struct of its parameters, as in ``ViewHandle.flat()``. The unit
record is a struct with one field ``unit`` of NULL: Parquet has no empty structs. Arrays are in canonical order, so that
equal rows are equal arrays.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, assert_never

import pyarrow as pa

from ripplenest.data.labels import SHOWN, SITE, param_name, param_type, shows_site
from ripplenest.data.rows import arrow_type
from ripplenest.nrc.bags import BagValue, LabelValue, Value, field_of
from ripplenest.nrc.errors import EvaluationError, QueryError
from ripplenest.nrc.shown import ANYHOW, INSIDE, Path, Shown, in_order
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type

ID, BUCKET, MULTIPLICITY, OP = "_id", "id_bucket", "_multiplicity", "_op"
FEED = ("_change_type", "_commit_version", "_commit_timestamp")  # what the change data feed adds
RESERVED = (ID, BUCKET, OP, *FEED)
INTERNAL = "__delta_rs"  # how the columns begin that a merge adds to ours
FORBIDDEN = " ,;{}()\n\t=`"  # Delta's own list for tables without column mapping, and what quotes names in a merge
Fields = tuple[tuple[str, Type], ...]


def fields_of(row: Type) -> Fields:
    """The columns of rows of type ``row``: those of a record, or else one, ``value``."""
    return row.fields if isinstance(row, Record) else (("value", row),)


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
        case Record(fields):
            return pa.struct([(name, data_type(inner)) for name, inner in fields] or [("unit", pa.int32())])
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


def plain(value: Value, t: Type, where: str, shown: Shown = ANYHOW, path: Path = ()) -> Any:
    """``value`` as Arrow takes it: dicts and lists, a row with multiplicity n n times, sorted as ``shown`` says. Raises
    EvaluationError when a row of a bag is there less than 0 times.

    Like ``from_value`` (``nrc/values.py``), with labels as structs, and a way out where a bag cannot be an array.
    """
    match t:
        case Base():
            return value
        case Record(fields):
            return {name: plain(field_of(value, name), inner, where, shown, (*path, name)) for name, inner in fields}
        case Bag(row):
            return None if value is None else _list(value, row, where, shown, path)
        case Label():
            return _label(value, t, where) if isinstance(value, LabelValue) else None
        case Dict():
            raise AssertionError(f"{t} is no type of published rows")
        case _:
            assert_never(t)


def _list(bag: Value, row: Type, where: str, shown: Shown, path: Path) -> list[Any]:
    assert isinstance(bag, BagValue)
    rows: list[Any] = []
    for value, n in in_order(bag, shown.get(path, ())):
        rows.extend([plain(value, row, where, shown, (*path, INSIDE))] * copies(n, where))
    return rows


def _label(value: LabelValue, t: Label, where: str) -> dict[str, Any]:
    site = t.site(value.site)
    assert site is not None
    pairs = zip(value.args, site.params, strict=True)
    params = {param_name(t, site, name): plain(arg, inner, where) for arg, (name, inner) in pairs}
    return {**({SHOWN: value.site} if shows_site(t) else {}), **params}


def copies(n: int, where: str) -> int:
    """How many rows a row with multiplicity ``n`` is. Raises EvaluationError below 0."""
    if n < 0:
        what = "a row with a multiplicity below 0 has no nested form"
        raise EvaluationError(what, where=where, wanted="0 or more", got=n, possible=["layout='shredded'"])
    return n


def table(
    fields: Fields, ids: Sequence[str], rows: Iterable[Value], where: str, shown: Shown = ANYHOW
) -> pa.Table:
    """``_id`` and the columns ``fields`` of ``rows``, records of these fields, or None for a row that is all NULL.
    Inner bags are sorted as ``shown`` says."""
    record = Record(fields)
    found = [{} if row is None else plain(row, record, where, shown, (INSIDE,)) for row in rows]
    columns = [pa.array([row.get(name) for row in found], data_type(t)) for name, t in fields]
    return pa.table([pa.array(ids, pa.string()), *columns], names=[ID, *(name for name, _ in fields)])


def bucketed(rows: pa.Table, bits: int) -> pa.Table:
    """``rows`` with the column ``id_bucket``: 1 followed by the first ``bits`` bits of the id, at most 16."""
    found = [(1 << 16 | int(i[:4], 16)) >> (16 - bits) for i in rows.column(ID).to_pylist()]
    return rows.add_column(1, pa.field(BUCKET, pa.int32()), pa.array(found, pa.int32()))


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
