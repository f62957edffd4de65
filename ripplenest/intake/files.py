"""Rows from files: Parquet as it is, and JSON lines read as the types that the relation has.

Dates are texts such as "2024-02-29", timestamps ISO 8601 (without a zone: UTC), decimals numbers or texts, binary is
UTF-8; what is missing is NULL, where rows need not be whole.

A path is of this machine. What has a scheme, such as ``s3a://``, is opened by Spark, where it is asked for; lines of
JSON are then read here all the same, by its tasks.
"""

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet

from ripplenest.data.level_values import nested_type
from ripplenest.data.rows import arrow_type
from ripplenest.nrc.errors import RipplenestError, WrongColumns, WrongValue, raise_first
from ripplenest.nrc.types import Bag, Base, Record, Type

BLOCK = 1 << 24  # bytes of JSON lines that are parsed at once; a line is at most as long
SHORTEST = 3  # bytes of a line of JSON with a row
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of more than one letter, which would be a drive
GLOB = re.compile(r"([\\*?{}\[\],])")  # what Spark would read as a pattern
CANNOT_BE_READ = "a file that cannot be read"
NO_LINE = "not a line of JSON with fields"

FilePath = str | os.PathLike[str]


def is_path(rows: object) -> TypeGuard[FilePath]:
    """Whether rows are to be read from a file."""
    return isinstance(rows, os.PathLike) or (isinstance(rows, str) and (_is_uri(rows) or Path(rows).suffix in READERS))


def has_few(path: FilePath, rows: int) -> bool:
    """Whether a file of this machine has at most so many ``rows``, as far as that is known before they are read. One
    that cannot be read has: who reads it says so."""
    file = Path(path)
    if _is_uri(path) or not file.is_file():
        return False
    try:
        many = file.stat().st_size // SHORTEST if are_lines(path) else pyarrow.parquet.read_metadata(file).num_rows
    except (pa.ArrowException, OSError):
        return True
    return bool(many <= rows)


def located(path: FilePath, where: str) -> str:
    """How Spark is told what is at ``path``. Raises WrongValue."""
    if _is_uri(path):
        _check_suffix(path, where)
        return os.fspath(path)
    return "file://" + GLOB.sub(r"\\\1", str(_found(path, where).absolute()))


def are_lines(path: FilePath) -> bool:
    """Whether what is at ``path`` is lines of JSON."""
    return PIECES[Path(path).suffix] is _json_pieces


def of_lines(
    lines: pa.ChunkedArray, row: Type, where: str, named: Callable[[int], str], whole: bool = False
) -> pa.Table:
    """The rows of some lines of JSON. Raises WrongValue and WrongColumns: line i is called ``named(i)``, all of them
    ``where``. ``whole``: as ``check_whole``."""
    return of_block(_joined(lines), row, where, named, whole)


def of_block(
    block: bytes, row: Type, where: str, named: Callable[[int], str], whole: bool = False, rows: int | None = None
) -> pa.Table:
    """The same of whole lines as they are in a file; where they are known to be so many ``rows``, each is one."""
    fields = _fields(row, where)
    try:
        found = _typed(io.BytesIO(block), fields) if block.strip() else _schema(fields).empty_table()
        if rows not in (None, found.num_rows):
            raise pa.ArrowInvalid("lines that are not one row each")
        if whole:
            raise_first(_unsaid(block.split(b"\n"), row, named))
        return found
    except (pa.ArrowException, UnicodeDecodeError) as error:
        for i, line in enumerate(block.split(b"\n")):
            _check_line(line, fields, named(i))
        raise WrongValue(CANNOT_BE_READ, where=where, got=type(error).__name__) from None


def _joined(lines: pa.ChunkedArray) -> bytes:
    """All lines, each with its end."""
    texts, end = lines.cast(pa.large_binary()), pa.scalar(b"\n", pa.large_binary())
    whole = pc.binary_join_element_wise(texts, pa.scalar(b"", pa.large_binary()), end).combine_chunks()
    if not len(whole):
        return b""
    offsets = whole.buffers()[1].slice(8 * whole.offset)
    first, last = (int.from_bytes(offsets[8 * i : 8 * (i + 1)], "little") for i in (0, len(whole)))
    found: bytes = whole.buffers()[2][first:last].to_pybytes()
    return found


def lines_schema(row: Type, where: str) -> pa.Schema:
    """Of the rows of lines of JSON. Raises WrongValue for rows that they cannot be."""
    return _schema(_fields(row, where))


def read_file(path: FilePath, row: Type, where: str) -> pa.Table:
    """The rows of a file, or of all files of a folder of Parquet. Raises WrongValue or WrongColumns."""
    file = _found(path, where)
    where = f"{where}: {file}"
    try:
        return READERS[file.suffix](file, row, where)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise WrongValue(CANNOT_BE_READ, where=where, got=type(error).__name__) from None


def check_whole(path: FilePath, row: Type, where: str) -> None:
    """Raises WrongColumns for lines of JSON of which some field is missing, at any depth. What takes the place of
    stored rows is whole: what a document does not say would be lost."""
    file = _found(path, where)
    if READERS[file.suffix] is _json_lines:
        raise_first(_unsaid(_lines(file), row, lambda i: f"{where}: {file}: line {i + 1}"))


def _unsaid(lines: Iterable[bytes], row: Type, named: Callable[[int], str]) -> Iterator[RipplenestError]:
    for i, line in enumerate(lines):
        found = next(_missing(json.loads(line), row, ""), None) if line.strip() else None
        if found is not None:
            what, possible = "a field is missing, which an upsert would set to NULL", ["null", "at(...).set(...)"]
            place, name = named(i) + found.rpartition(".")[0], found.rpartition(".")[2]
            yield WrongColumns(what, where=place, wanted=name, got="nothing", possible=possible)


def _missing(value: object, t: Type, path: str) -> Iterator[str]:
    """The paths of fields that are missing."""
    match t:
        case Record(fields) if isinstance(value, dict):
            for name, inner in fields:
                if name in value:
                    yield from _missing(value[name], inner, f"{path}.{name}")
                else:
                    yield f"{path}.{name}"
        case Bag(row) if isinstance(value, list):
            for i, inner in enumerate(value):
                yield from _missing(inner, row, f"{path}[{i}]")


def file_pieces(path: FilePath, row: Type, where: str, rows: int) -> Iterator[pa.Table]:
    """The same in pieces, of at most ``rows`` rows where the file can be asked for so many; at least one."""
    file = _found(path, where)
    try:
        yield from PIECES[file.suffix](file, row, f"{where}: {file}", rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise WrongValue(CANNOT_BE_READ, where=f"{where}: {file}", got=type(error).__name__) from None


def _found(path: FilePath, where: str) -> Path:
    """The file, which is one of this machine."""
    file = Path(path)
    if _is_uri(path):
        scheme = os.fspath(path).partition(":")[0]
        what, possible = "a file that is opened by Spark alone", ['engine="spark"', "a path of this machine"]
        raise WrongValue(what, where=f"{where}: {path}", got=scheme, possible=possible)
    _check_suffix(path, where)
    if not file.exists():
        raise WrongValue("there is no such file", where=f"{where}: {file}")
    return file


def _is_uri(path: FilePath) -> bool:
    return isinstance(path, str) and SCHEME.match(path) is not None


def _check_suffix(path: FilePath, where: str) -> None:
    suffix = Path(path).suffix
    if suffix not in READERS:
        raise WrongValue("not a file of rows", where=f"{where}: {path}", got=suffix or "no suffix", possible=READERS)


def _fields(row: Type, where: str) -> Record:
    if not isinstance(row, Record):
        raise WrongValue("JSON lines are rows with fields", where=where, wanted=row)
    return row


def _parquet(file: Path, _row: Type, _where: str) -> pa.Table:
    return pyarrow.parquet.read_table(file)


def _parquet_pieces(file: Path, _row: Type, _where: str, rows: int) -> Iterator[pa.Table]:
    if file.is_dir():
        from pyarrow import dataset  # noqa: PLC0415 - for folders alone

        found = dataset.dataset(str(file), format="parquet", partitioning="hive")
        schema = found.schema
        batches = found.to_batches(batch_size=rows, batch_readahead=1, fragment_readahead=1, use_threads=False)
    else:
        one = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
        schema, batches = one.schema_arrow, one.iter_batches(rows, use_threads=False)
    yield schema.empty_table()
    yield from (pa.Table.from_batches([batch]) for batch in batches)


def _json_lines(file: Path, row: Type, where: str) -> pa.Table:
    fields = _fields(row, where)
    if not any(line.strip() for line in _lines(file)):
        return _schema(fields).empty_table()
    try:
        return _typed(file, fields)
    except pa.ArrowException:
        for i, line in enumerate(_lines(file)):
            _check_line(line, fields, f"{where}: line {i + 1}")
        raise


def _json_pieces(file: Path, row: Type, where: str, _rows: int) -> Iterator[pa.Table]:
    fields = _fields(row, where)
    yield _schema(fields).empty_table()
    try:
        for block in _blocks(file):
            if block.strip():
                yield _typed(io.BytesIO(block), fields)
    except pa.ArrowException:
        for i, line in enumerate(_lines(file)):
            _check_line(line, fields, f"{where}: line {i + 1}")
        raise


def _blocks(file: Path) -> Iterator[bytes]:
    """The bytes of a file, some whole lines at a time."""
    with file.open("rb") as lines:
        while block := lines.read(BLOCK >> 1):
            yield block + lines.readline()


def _typed(file: "Path | io.BytesIO", row: Record) -> pa.Table:
    schema, written = _schema(row), pa.schema([(name, nested_type(t, _written)) for name, t in row.fields])
    how = pyarrow.json.ParseOptions(explicit_schema=written, unexpected_field_behavior="error")
    found = pyarrow.json.read_json(file, pyarrow.json.ReadOptions(block_size=BLOCK), how)
    return found.select(schema.names).cast(schema)


def _schema(row: Record) -> pa.Schema:
    return pa.schema([(name, nested_type(t)) for name, t in row.fields])


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as lines:
        yield from lines


def _check_line(line: bytes, row: Record, where: str) -> None:
    """Raises WrongColumns or WrongValue for a line that is wrong."""
    try:
        value = json.loads(line) if line.strip() else {}
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise WrongValue(NO_LINE, where=where, wanted=row)
    if line.strip():
        _check_value(value, row, where)


def _check_value(value: object, t: Type, where: str) -> None:
    """Raises as ``_check_line`` does. What is missing is left to who reads the rows."""
    match t:
        case Record(fields) if isinstance(value, dict):
            extra = [name for name in value if name not in t.names]
            if extra:
                what = "other columns than the relation has"
                raise WrongColumns(what, where=where, wanted=list(t.names), got=extra)
            for name, inner in fields:
                _check_value(value.get(name), inner, f"{where}.{name}")
        case Bag(row) if isinstance(value, list):
            for i, inner in enumerate(value):
                _check_value(inner, row, f"{where}[{i}]")
        case _:
            _check_leaf(value, t, where)


def _check_leaf(value: object, t: Type, where: str) -> None:
    row = Record((("value", t),))
    try:
        _typed(io.BytesIO(json.dumps({"value": value}).encode()), row)
    except pa.ArrowException:
        raise WrongValue("a value that is not of its type", where=where, wanted=t, got=type(value).__name__) from None


def _written(base: Base) -> pa.DataType:
    """As what a value stands in JSON: a date is a text, in which no time of day is left out unseen."""
    return pa.string() if base.kind == "date" else arrow_type(base)


PIECES: Mapping[str, Callable[[Path, Type, str, int], Iterator[pa.Table]]] = {
    ".parquet": _parquet_pieces,
    ".jsonl": _json_pieces,
    ".ndjson": _json_pieces,
}
READERS: Mapping[str, Callable[[Path, Type, str], pa.Table]] = {
    ".parquet": _parquet,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}
