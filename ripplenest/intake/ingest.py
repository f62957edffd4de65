"""User rows, checked: dicts, records, an Arrow table, a DataFrame or a file, all in the same way.

Columns are looked at as a whole. Only where one is not plainly what it should be are rows read one by one, which finds
those that are wrong.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import pyarrow as pa

from ripplenest.intake.files import is_path, read_file
from ripplenest.intake.given import Given
from ripplenest.intake.plain import from_arrow, from_python
from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.errors import RipplenestError, WrongColumns, WrongValue, raise_first, shown
from ripplenest.nrc.types import Bag, Record, Type
from ripplenest.nrc.values import to_value

TINY = 4  # rows of a bag that are read one by one
WANTED = "dicts, records, a pyarrow.Table, a DataFrame, or a path of Parquet or JSON lines"
# What Arrow raises, often with the value in it: bytes that are no text, nanoseconds, years beyond 9999, unknown zones,
# structs of which two fields have one name.
UNREADABLE = (ValueError, OverflowError, LookupError, pa.ArrowException)


def read_rows(rows: object, row: Type, where: str, key: Sequence[str] = ()) -> Given:
    """The rows as canonical values of type ``row``, in their order; ``key`` has the fields that name a row in messages.

    Inner bags come as lists, inner records as dicts or records. Raises WrongColumns or WrongValue with the path of the
    culprit, such as ``rows[17].items[2].qty``, and with the first others.
    """
    table = read_file(rows, row, where) if is_path(rows) else _table(rows, where)  # type: ignore[arg-type]
    if table is not None:
        one_by_one = _arrow_rows(table, row, where)
        level = from_arrow(table, row) if _has_columns(table, row) else None
    else:
        found = _python_rows(rows, where)
        one_by_one, level = iter(found), None if _is_tiny(found) else from_python(found, row)
    if level is not None:
        return Given(row, level=level)
    values: list[Value] = []
    raise_first(_faults(one_by_one, row, where, key, values))
    return Given(row, values=tuple(values))


def _faults(
    rows: Iterable[object], row: Type, where: str, key: Sequence[str], values: list[Value]
) -> Iterator[RipplenestError]:
    """What is wrong with rows, one fault for each that is; ``values`` gets the others."""
    for i, given in enumerate(rows):
        try:
            values.append(to_value(given, row, f"{where}[{i}]"))
        except (WrongColumns, WrongValue) as fault:
            yield fault.of_row(_key_of(given, row, key))


def _key_of(given: object, row: Type, key: Sequence[str]) -> str:
    """The key of a row that is wrong, where that much of it is right."""
    types = dict(row.fields) if isinstance(row, Record) else {}
    found = []
    for name in key:
        try:
            value = given[name] if isinstance(given, Mapping) else getattr(given, name)
            found.append(f"{name} {shown(to_value(value, types[name], name))}")
        except (LookupError, AttributeError, RipplenestError):
            return ""
    return ", ".join(found)


def _table(rows: object, where: str) -> pa.Table | None:
    """A pyarrow.Table, a DataFrame of Spark, or what hands out Arrow data with fields (polars, readers)."""
    to_arrow = getattr(rows, "toArrow", None)  # a Spark DataFrame, without importing Spark
    if callable(to_arrow):
        rows = to_arrow()
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return rows
    if hasattr(rows, "__arrow_c_stream__") or (hasattr(rows, "__arrow_c_array__") and not isinstance(rows, pa.Array)):
        try:
            return pa.table(rows)
        except pa.ArrowException:
            raise WrongValue("not a collection of rows", where=where, wanted=WANTED, got=type(rows).__name__) from None
    return None


def _python_rows(rows: object, where: str) -> Sequence[object]:
    if isinstance(rows, str | bytes | dict | BagValue) or not isinstance(rows, Iterable):
        raise WrongValue("not a collection of rows", where=where, wanted=WANTED, got=type(rows).__name__)
    return rows if isinstance(rows, list | tuple) else list(rows)


def _is_tiny(given: object) -> bool:
    """Whether rows are so few, and their bags so small at every depth, that columns would cost more than they save."""
    match given:
        case list() | tuple():
            return len(given) <= TINY and all(map(_is_tiny, given))
        case dict():
            return all(map(_is_tiny, given.values()))
        case _:
            return not attrs.has(type(given))


def _has_columns(table: pa.Table, row: Type) -> bool:
    """Whether the columns are those of ``row``; where they are not, rows are read to say so."""
    if isinstance(row, Record):
        return sorted(table.column_names) == sorted(row.names)
    return bool(table.num_columns == 1)


def _arrow_rows(table: pa.Table, row: Type, where: str) -> Iterable[object]:
    """A table's rows as dicts; a bag of base values is a table of one column. Names are checked even without rows."""
    if isinstance(row, Record):
        _check_names(table.column_names, row, where)
        columns = {name: _python_column(table.column(name), f".{name}", where) for name in row.names}
        yield from (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    elif table.num_columns == 1:
        yield from _python_column(table.column(0), "", where)
    else:
        raise WrongColumns("rows without fields are one column", where=where, wanted=row, got=table.column_names)
    for name, t in row.fields if isinstance(row, Record) else ():
        _check_inner_names(table.schema.field(name).type, t, f"{where}[].{name}")


def _check_inner_names(arrow: pa.DataType, t: Type, where: str) -> None:
    """The fields of inner records, for bags that have no rows to show them."""
    match t:
        case Record(fields) if pa.types.is_struct(arrow):
            _check_names([field.name for field in arrow], t, where)
            for name, inner in fields:
                _check_inner_names(arrow.field(name).type, inner, f"{where}.{name}")
        case Bag(row) if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
            _check_inner_names(arrow.value_type, row, f"{where}[]")


def _check_names(names: list[str], row: Record, where: str) -> None:
    if sorted(names) != sorted(row.names):
        raise WrongColumns("other columns than the relation has", where=where, wanted=list(row.names), got=names)


def _python_column(column: pa.ChunkedArray, field: str, where: str) -> list[object]:
    """The values of a column. Raises WrongValue for one that Python has not, such as the year 10000."""
    try:
        values: list[object] = column.to_pylist()
        return values
    except UNREADABLE:
        i, value = next((i, v) for i, v in enumerate(column) if not _readable(v))
        culprit, got = _culprit(value, f"{where}[{i}]{field}")
        raise WrongValue("a value that Python does not have", where=culprit, got=got) from None


def _culprit(value: pa.Scalar, where: str) -> tuple[str, pa.DataType]:
    """The place and type of the innermost value that cannot be read."""
    if isinstance(value, pa.StructScalar):
        names = [value.type.field(i).name for i in range(value.type.num_fields)]
        if len(set(names)) < len(names):
            return where, value.type
        inner = [(value[name], f"{where}.{name}") for name in names]
    elif isinstance(value, pa.ListScalar) and not isinstance(value, pa.MapScalar):
        inner = [(v, f"{where}[{i}]") for i, v in enumerate(value.values)]
    else:
        return where, value.type
    return next((_culprit(v, place) for v, place in inner if not _readable(v)), (where, value.type))


def _readable(value: pa.Scalar) -> bool:
    try:
        value.as_py()
    except UNREADABLE:
        return False
    return True
