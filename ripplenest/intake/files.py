"""Rows from files, and from folders of files: Parquet as it is, and JSON lines, which may be compressed, read as the
types that the relation has.

Dates are texts such as "2024-02-29", timestamps ISO 8601 (without a zone: UTC), decimals numbers or texts, binary is
UTF-8; what is missing is NULL, where rows need not be whole.

A path is of this machine. What has a scheme, such as ``s3a://``, is opened by Spark, where it is asked for; lines of
JSON are then read here all the same, by its tasks.
"""

import io
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeGuard

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet

from ripplenest.intake.folders import pieces
from ripplenest.intake.json_lines import BLANK, BLOCK, faults, schema_of, typed
from ripplenest.nrc.errors import RipplenestError, WrongColumns, WrongValue, of_memory, raise_first
from ripplenest.nrc.types import Bag, Record, Type, may_be_null

SHORTEST = 3  # bytes of a line of JSON with a row
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # of more than one letter, which would be a drive
GLOB = re.compile(r"([\\*?{}\[\],])")  # what Spark would read as a pattern
CANNOT_BE_READ = "a file that cannot be read"

FilePath = str | os.PathLike[str]


def is_path(rows: object) -> TypeGuard[FilePath]:
    """Whether rows are to be read from a file, or from those of a folder; also from one that cannot be read."""
    return isinstance(rows, os.PathLike) or (isinstance(rows, str) and (_is_uri(rows) or _is_named(rows)))


def _is_named(text: str) -> bool:
    """Whether a text is the name of a file, or of a folder that is there."""
    return _suffix(text) in READERS or Path(text).suffix in OTHERS or os.path.isdir(text)


def _suffix(path: FilePath) -> str:
    """What a file is, and how it is compressed."""
    *_, kind, last = ("", "", *Path(path).suffixes)
    return kind + last if last in COMPRESSED else last


def is_opened(path: FilePath) -> bool:
    """Whether Spark opens what is at ``path``, where it is asked for. All else is read here."""
    return _is_uri(path) or Path(path).suffix in OPENED


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
        _check_suffix(path, where, OPENED)
        return os.fspath(path)
    return "file://" + GLOB.sub(r"\\\1", str(_found(path, where).absolute()))


def are_lines(path: FilePath) -> bool:
    """Whether what is at ``path`` is lines of JSON."""
    return Path(path).suffix != ".parquet"


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
        found = typed(block, fields) if block.strip() else schema_of(fields).empty_table()
        if rows not in (None, found.num_rows):
            raise pa.ArrowInvalid("lines that are not one row each")
        if whole:
            raise_first(_unsaid(block.split(b"\n"), row, named))
        return found
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if (told := of_memory(error, where)) is not None:
            raise told from error
        raise_first(faults(block.split(b"\n"), fields, named))
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
    return schema_of(_fields(row, where))


def read_file(path: FilePath, row: Type, where: str) -> Iterator[pa.Table]:
    """The rows of a file, or those of each file of a folder. Raises WrongValue or WrongColumns."""
    for piece in pieces(_found(path, where), where):
        read = READERS[_checked(piece.file, where)]
        with _readable(f"{where}: {piece.file}"):
            yield piece.whole(read(piece.file, piece.row(row), f"{where}: {piece.file}"), row, where)


def check_whole(path: FilePath, row: Type, where: str) -> None:
    """Raises WrongColumns for lines of JSON of which some field is missing, at any depth. What takes the place of
    stored rows is whole: what a document does not say would be lost."""
    for piece in pieces(_found(path, where), where):
        if READERS[_checked(piece.file, where)] is _json_lines:
            named = partial("{}: {}: line {}".format, where, piece.file)
            with lines_of(piece.file) as lines:
                raise_first(_unsaid(lines, piece.row(row), lambda i, named=named: named(i + 1)))  # type: ignore[misc]


def _unsaid(lines: Iterable[bytes], row: Type, named: Callable[[int], str]) -> Iterator[RipplenestError]:
    for i, line in enumerate(lines):
        found = next(_missing(json.loads(line), row, ""), None) if line.strip() else None
        if found is not None:
            path, t = found
            what, possible = "a field is missing, which an upsert would set to NULL", [_nothing(t), "at(...).set(...)"]
            place, name = named(i) + path.rpartition(".")[0], path.rpartition(".")[2]
            yield WrongColumns(what, where=place, wanted=name, got="nothing", possible=possible)


def _nothing(t: Type) -> str:
    """What a document may say of a field of which there is nothing."""
    if may_be_null(t):
        return "null"
    return "[]" if isinstance(t, Bag) else "its value"


def _missing(value: object, t: Type, path: str) -> Iterator[tuple[str, Type]]:
    """The paths of fields that are missing, and their types."""
    match t:
        case Record() if isinstance(value, dict):
            for name, inner in t.there.fields:
                if name in value:
                    yield from _missing(value[name], inner, f"{path}.{name}")
                else:
                    yield f"{path}.{name}", inner
        case Bag(row) if isinstance(value, list):
            for i, inner in enumerate(value):
                yield from _missing(inner, row, f"{path}[{i}]")


def file_pieces(path: FilePath, row: Type, where: str, rows: int) -> Iterator[pa.Table]:
    """The same in pieces, of at most ``rows`` rows where the file can be asked for so many; at least one."""
    for piece in pieces(_found(path, where), where):
        read = PIECES[_checked(piece.file, where)]
        with _readable(f"{where}: {piece.file}"):
            for table in read(piece.file, piece.row(row), f"{where}: {piece.file}", rows):
                yield piece.whole(table, row, where)


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """What is wrong with the bytes of a file, in our words."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise of_memory(error, where) or WrongValue(CANNOT_BE_READ, where=where, got=type(error).__name__) from None


def _found(path: FilePath, where: str) -> Path:
    """The file or folder, which is one of this machine."""
    file = Path(path)
    if _is_uri(path):
        scheme = os.fspath(path).partition(":")[0]
        what, possible = "a file that is opened by Spark alone", ['engine="spark"', "a path of this machine"]
        raise WrongValue(what, where=f"{where}: {path}", got=scheme, possible=possible)
    if not file.is_dir():
        _check_suffix(path, where, READERS)
    if not file.exists():
        possible = ["the folder, of which all files are read", "one call for each file"]
        is_pattern = bool({*"*?["} & {*str(file)})
        raise WrongValue("there is no such file", where=f"{where}: {file}", possible=possible if is_pattern else None)
    return file


def _is_uri(path: FilePath) -> bool:
    return isinstance(path, str) and SCHEME.match(path) is not None


def _check_suffix(path: FilePath, where: str, known: Collection[str]) -> None:
    suffix = _suffix(path)
    if suffix not in known:
        other = OTHERS.get(suffix.removesuffix(Path(path).suffix) or suffix)
        lines = [kind for kind in known if kind in LINES and kind.count(".") == 1]
        possible = [] if other is None else [other]
        compressed = f"; {', '.join(lines)} also {', '.join(COMPRESSED)}" if known is READERS else ""
        wanted = ", ".join([".parquet", *lines]) + compressed
        where, got = f"{where}: {path}", suffix or "no suffix"
        raise WrongValue("not a file of rows", where=where, wanted=wanted, got=got, possible=possible)


def _checked(file: Path, where: str) -> str:
    """The suffix of a file of rows."""
    _check_suffix(file, where, READERS)
    return _suffix(file)


def _fields(row: Type, where: str) -> Record:
    if not isinstance(row, Record):
        raise WrongValue("JSON lines are rows with fields", where=where, wanted=row)
    return row.there  # no line is a row that is NULL


def _parquet(file: Path, _row: Type, _where: str) -> pa.Table:
    return pyarrow.parquet.read_table(file, partitioning=None)


def _parquet_pieces(file: Path, _row: Type, _where: str, rows: int) -> Iterator[pa.Table]:
    one = pyarrow.parquet.ParquetFile(file, pre_buffer=False)
    schema, batches = one.schema_arrow, one.iter_batches(rows, use_threads=False)
    yield schema.empty_table()
    yield from (pa.Table.from_batches([batch]) for batch in batches)


def _json_lines(file: Path, row: Type, where: str) -> pa.Table:
    return pa.concat_tables(_json_pieces(file, row, where, 0))


def _json_pieces(file: Path, row: Type, where: str, _rows: int) -> Iterator[pa.Table]:
    fields = _fields(row, where)
    yield schema_of(fields).empty_table()
    try:
        with lines_of(file) as lines:
            while block := lines.read(BLOCK >> 1):
                block += lines.readline()  # whole lines
                if block.strip():
                    yield typed(block, fields)
    except pa.ArrowException:
        _check_lines(file, fields, where)
        raise


@contextmanager
def lines_of(file: Path) -> Iterator[io.BufferedReader]:
    """The bytes of a file, which may be compressed. Raises OSError for bytes that are not so."""
    compressed = file.suffix in COMPRESSED
    if compressed and not file.stat().st_size:
        raise OSError("an empty file is nothing that was compressed")
    with pa.input_stream(str(file), compression=COMPRESSED.get(file.suffix)) as stream:
        yield io.BufferedReader(stream, buffer_size=1 << 16)


def _check_lines(file: Path, row: Record, where: str) -> None:
    """Raises WrongColumns or WrongValue for the first lines that are wrong."""
    with lines_of(file) as lines:
        if lines.peek(1).lstrip(BLANK).startswith(b"["):
            what, possible = "one document, and not a document on each line", ["rn.json(json.load(open(path)))"]
            raise WrongValue(what, where=where, wanted=row, possible=possible)
        raise_first(faults(lines, row, lambda i: f"{where}: line {i + 1}"))


COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
OPENED = (".parquet", ".jsonl", ".ndjson")  # by Spark
LINES = tuple(kind + how for kind in (".jsonl", ".ndjson", ".json") for how in ("", *COMPRESSED))
PIECES: Mapping[str, Callable[[Path, Type, str, int], Iterator[pa.Table]]] = {
    ".parquet": _parquet_pieces,
    **dict.fromkeys(LINES, _json_pieces),
}
READERS: Mapping[str, Callable[[Path, Type, str], pa.Table]] = {
    ".parquet": _parquet,
    **dict.fromkeys(LINES, _json_lines),
}
OTHERS = {  # what files of other kinds are read by
    ".csv": "pyarrow.csv.read_csv(path)",
    ".tsv": "pyarrow.csv.read_csv(path, parse_options=pyarrow.csv.ParseOptions(delimiter='\\t'))",
    ".avro": "polars.read_avro(path)",
    ".orc": "pyarrow.orc.read_table(path)",
    ".arrow": "pyarrow.ipc.open_file(path).read_all()",
    ".feather": "pyarrow.feather.read_table(path)",
    ".xlsx": "polars.read_excel(path)",
}
