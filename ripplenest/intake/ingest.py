"""User rows, checked: dicts, records, an Arrow table, a DataFrame or a file, all in the same way.

Columns are looked at as a whole. Only where one is not plainly what it should be are rows read one by one, which finds
those that are wrong.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TypeAlias

import pyarrow as pa

from ripplenest.data.columnar import without_gaps
from ripplenest.data.levels import Level
from ripplenest.data.room import FEWEST, Room
from ripplenest.data.spool import concatenated
from ripplenest.intake.files import check_whole, file_pieces, is_path, read_file
from ripplenest.intake.given import Given
from ripplenest.intake.messages import Json
from ripplenest.intake.plain import from_arrow, from_python, named_fields, one_column
from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.errors import RipplenestError, WrongColumns, WrongValue, raise_first, shown
from ripplenest.nrc.instances import field_names, fields_of
from ripplenest.nrc.types import Bag, Record, Type, has_columns
from ripplenest.nrc.values import other_fields, to_value

PYTHON = 1 << 9  # bytes that a row takes in Python, about
BATCH = 1 << 16  # rows that a file is asked for at a time
TINY = 4  # rows of a bag that are read one by one
Source: TypeAlias = pa.Table | Sequence[object]  # rows as they came
WANTED = "dicts, records, a pyarrow.Table, a DataFrame, rn.json(...), or a path of files of Parquet or JSON lines"
# What Arrow raises, often with the value in it: bytes that are no text, nanoseconds, years beyond 9999, unknown zones,
# structs of which two fields have one name.
UNREADABLE = (ValueError, OverflowError, LookupError, pa.ArrowException)


def read_rows(rows: object, row: Type, where: str, key: Sequence[str] = (), *, whole: bool = False) -> Given:
    """The rows as canonical values of type ``row``, in their order; ``key`` has the fields that name a row in messages.
    Lines of JSON that must be ``whole`` say NULL where they mean it.

    Inner bags come as lists, inner records as dicts or records. Raises WrongColumns or WrongValue with the path of the
    culprit, such as ``rows[17].items[2].qty``, and with the first others.
    """
    if is_path(rows):
        tables = list(read_file(rows, row, where))
        if whole:
            check_whole(rows, row, where)
        found = list(_given(tables, row, where, key))
        return found[0] if len(found) == 1 else Given(row, level=concatenated([piece.level for piece in found]))
    table = rows.table(row, where, whole=whole) if isinstance(rows, Json) else _table(rows, where)
    return next(_given([_python_rows(rows, where) if table is None else table], row, where, key))


def read_pieces(rows: object, row: Type, where: str, key: Sequence[str], room: Room) -> Iterator[Given]:
    """The same in pieces, at least one, of which none is much more than what is worked on at a time in ``room``. What
    hands out pieces is never held whole."""
    yield from read_tables(_sources(rows, row, where, room), row, where, key, room)


def read_tables(
    sources: Iterable[Source], row: Type, where: str, key: Sequence[str], room: Room, start: int = 0
) -> Iterator[Given]:
    """The same of rows that come in pieces, which are numbered from ``start`` on."""
    yield from _given(_cut(sources, room), row, where, key, start)


def named_columns(rows: object, where: str) -> tuple[Mapping[str, Sequence[object] | pa.ChunkedArray | Json], int]:
    """Rows with fields as the columns that they came as, whose types nobody has looked at yet, and how many there are.
    Raises WrongValue or WrongColumns where they do not all have the same fields."""
    if is_path(rows):
        possible = ["pyarrow.parquet.read_table(path)", "pyarrow.json.read_json(path)"]
        raise WrongValue("a path", where=where, wanted=WANTED.rpartition(", or")[0], possible=possible)
    if isinstance(rows, Json):
        return rows.columns(where)
    table = _table(rows, where)
    if table is None:
        found = _python_rows(rows, where)
        fields = named_fields(found)
        if fields is None:
            raise _other_fields(found, where)
        return fields, len(found)
    names = table.column_names
    if len(set(names)) < len(names):
        raise WrongColumns("two columns with one name", where=where, wanted="names that differ", got=names)
    return {name: table.column(name) for name in names}, table.num_rows


def _other_fields(rows: Sequence[object], where: str) -> RipplenestError:
    """What is wrong with rows of which some have no names for their fields, or other ones than the first."""
    names = [sorted(map(str, row)) if isinstance(row, dict) else None for row in rows]
    i = next((i for i, (row, own) in enumerate(zip(rows, names, strict=True)) if own is None or own != names[0]), 0)
    got = names[i] or type(rows[i]).__name__
    wanted = names[0] or "dicts or records"
    return WrongColumns("rows have names for their fields, all the same", where=f"{where}[{i}]", wanted=wanted, got=got)


def _sources(rows: object, row: Type, where: str, room: Room) -> Iterable[Source]:
    at_once = max(room.chunk // PYTHON, FEWEST)
    if is_path(rows):
        return file_pieces(rows, row, where, min(at_once, BATCH))
    if isinstance(rows, Json):
        return rows.pieces(row, where, at_once)
    whole = isinstance(rows, pa.Table) or callable(getattr(rows, "toArrow", None))  # Spark's own stream needs pandas
    if hasattr(rows, "__arrow_c_stream__") and not whole:
        return _stream(rows, where)
    table = _table(rows, where)
    if table is not None:
        return [table]
    if isinstance(rows, Iterator):
        return _some(rows, at_once)
    found = _python_rows(rows, where)
    return (found[i : i + at_once] for i in range(0, max(len(found), 1), at_once))


def _some(rows: Iterator[object], at_once: int) -> Iterator[Sequence[object]]:
    yield list(islice(rows, at_once))
    while some := list(islice(rows, at_once)):
        yield some


def _stream(rows: object, where: str) -> Iterator[pa.Table]:
    """What a reader hands out; its schema first, for readers without rows."""
    try:
        reader = pa.RecordBatchReader.from_stream(rows)
        yield pa.table([pa.nulls(0, t) for t in reader.schema.types], reader.schema)
        yield from (pa.Table.from_batches([batch]) for batch in reader if batch.num_rows)
    except pa.ArrowException:
        raise _no_arrow(rows, where) from None


def is_frame(rows: object) -> bool:
    """Whether rows are a DataFrame of Spark, which is told without importing Spark."""
    return all(callable(getattr(rows, name, None)) for name in ("toArrow", "mapInArrow"))


def _cut(sources: Iterable[Source], room: Room) -> Iterator[Source]:
    for source in sources:
        if isinstance(source, pa.Table) and source.nbytes > room.chunk:
            most = max(source.num_rows * room.chunk // source.nbytes, 1)
            yield from (source.slice(i, most) for i in range(0, source.num_rows, most))
        else:
            yield source


def _given(
    sources: Iterable[Source], row: Type, where: str, key: Sequence[str], start: int = 0
) -> Iterator[Given]:
    """Each of ``sources``, which are one after the other. Raises what is wrong with their rows, numbered through."""
    rest = iter(sources)
    for source in rest:
        level = _level(source, row)
        if level is not None:
            yield Given(row, level=level)
        else:
            values: list[Value] = []
            faults = _faults(source, row, where, key, values, start)
            first = next(faults, None)
            if first is not None:
                later = _later(rest, row, where, key, start + len(source))
                raise_first(chain([first], faults, later))
            yield Given(row, values=tuple(values))
        start += len(source)


def _later(
    sources: Iterable[Source], row: Type, where: str, key: Sequence[str], start: int
) -> Iterator[RipplenestError]:
    for source in sources:
        if _level(source, row) is None:
            yield from _faults(source, row, where, key, [], start)
        start += len(source)


def _level(source: Source, row: Type) -> Level | None:
    """The columns of rows, where they are plain and worth it."""
    if isinstance(source, pa.Table):
        return from_arrow(source, row) if _has_columns(source, row) else None
    return None if _is_tiny(source) else from_python(source, row)


def _faults(
    source: Source, row: Type, where: str, key: Sequence[str], values: list[Value], start: int
) -> Iterator[RipplenestError]:
    """What is wrong with rows that are numbered from ``start`` on, one fault for each that is; ``values`` gets the
    others."""
    rows = _arrow_rows(source, row, where, start) if isinstance(source, pa.Table) else source
    for i, given in enumerate(rows, start):
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
            return without_gaps(pa.table(rows))
        except pa.ArrowException:
            raise _no_arrow(rows, where) from None
    return None


def _no_arrow(rows: object, where: str) -> WrongValue:
    """For what hands out Arrow data, and not such that can be read."""
    what, possible = "rows that cannot be read as Arrow", ["columns of types that Arrow has, not Int128 of polars"]
    return WrongValue(what, where=where, wanted=WANTED, got=type(rows).__name__, possible=possible)


def _python_rows(rows: object, where: str) -> Sequence[object]:
    if isinstance(rows, Mapping) or fields_of(rows) is not None:
        raise WrongValue("one row, not a collection of them", where=where, wanted=WANTED, possible=["[row]"])
    if not isinstance(rows, Iterable) and callable(getattr(rows, "collect", None)):  # as a LazyFrame of polars
        what, got = "not a collection of rows yet", type(rows).__name__
        raise WrongValue(what, where=where, wanted=WANTED, got=got, possible=["collect()"])
    if isinstance(rows, str | bytes | BagValue) or not isinstance(rows, Iterable):
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
            return field_names(type(given)) is None


def _has_columns(table: pa.Table, row: Type) -> bool:
    """Whether the columns are those of ``row``; where they are not, rows are read to say so."""
    if isinstance(row, Record) and sorted(table.column_names) == sorted(row.there.names):
        return True
    return not has_columns(row) and bool(table.num_columns == 1)


def _arrow_rows(table: pa.Table, row: Type, where: str, start: int) -> Iterable[object]:
    """A table's rows as dicts; a bag of base values is a table of one column. Names are checked even without rows."""
    if has_columns(row):
        _check_names(table.column_names, row, where)
        columns = {name: _python_column(table.column(name), f".{name}", where, start) for name in row.names}
        yield from (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    elif _has_columns(table, row):
        yield from _python_column(one_column(table, row), "", where, start)
    else:
        raise WrongColumns("rows without fields are one column", where=where, wanted=row, got=table.column_names)
    for name, t in row.fields if has_columns(row) else ():
        _check_inner_names(table.schema.field(name).type, t, f"{where}[].{name}")


def _check_inner_names(arrow: pa.DataType, t: Type, where: str) -> None:
    """The fields of inner records, for bags that have no rows to show them."""
    match t:
        case Record() if pa.types.is_struct(arrow):
            _check_names([field.name for field in arrow], t.there, where)
            for name, inner in t.there.fields:
                _check_inner_names(arrow.field(name).type, inner, f"{where}.{name}")
        case Bag(row) if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
            _check_inner_names(arrow.value_type, row, f"{where}[]")


def _check_names(names: list[str], row: Record, where: str) -> None:
    if sorted(names) != sorted(row.names):
        faults = other_fields(names, row) or "one of them twice"
        what, is_wide = f"other columns than the relation has: {faults}", "extra" in faults and "[" not in where
        without = [f"`table.select({[*row.names]})`, without the others"] if is_wide else []
        raise WrongColumns(what, where=where, possible=[*row.names, *without])


def _python_column(column: pa.ChunkedArray, field: str, where: str, start: int) -> list[object]:
    """The values of a column. Raises WrongValue for one that Python has not, such as the year 10000."""
    try:
        values: list[object] = column.to_pylist()
        return values
    except UNREADABLE:
        i, value = next((i, v) for i, v in enumerate(column, start) if not _readable(v))
        culprit, got = _culprit(value, f"{where}[{i}]{field}")
        what = "a text that is not UTF-8" if pa.types.is_string(got) else "a value that Python does not have"
        raise WrongValue(what, where=culprit, got=got) from None


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
