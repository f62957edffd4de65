"""Rows that came as JSON and are not in a file: what ``json.loads`` gives, or the texts of documents.

Law: they mean what the same documents mean as the lines of a file (``files.py``), whose code reads them: the same rows,
and the same errors, but for where they are. What was parsed is written as lines again, decimals with all their digits.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice
from secrets import token_hex

import pyarrow as pa
from attrs import evolve, field, frozen

from ripplenest.intake.files import lines_schema, of_block
from ripplenest.intake.json_lines import NO_LINE
from ripplenest.nrc.arguments import kind
from ripplenest.nrc.errors import RipplenestError, WrongValue
from ripplenest.nrc.types import Record, Type

DOCUMENTS = "dicts of json.loads, or texts or bytes of documents"
MARK = token_hex(16)  # around numbers that are encoded as texts, from which the quotes are taken away again
VALUE = "value"  # the field of rows without fields
MISSING = object()  # what a document does not say


@frozen
class Json:
    """Rows that came as JSON: ``documents``, each a dict or a text. What is ``parsed`` is no text of a document, and
    its rows need no fields."""

    documents: Iterable[object] = field(repr=False)
    parsed: bool = False

    def table(self, row: Type, where: str, *, whole: bool = False, start: int = 0) -> pa.Table:
        """The rows, which are numbered from ``start`` on. Raises WrongValue and WrongColumns. ``whole`` as in
        ``files.check_whole``."""
        values = list(self.documents)
        if self.parsed and not isinstance(row, Record):
            values, row = [{VALUE: value} for value in values], Record(((VALUE, row),))
        empty = lines_schema(row, where).empty_table()
        block = _block(values, self.parsed, where, start)
        return of_block(block, row, where, lambda i: f"{where}[{start + i}]", whole, len(values)) if values else empty

    def pieces(self, row: Type, where: str, rows: int) -> Iterator[pa.Table]:
        """The same in pieces of at most so many rows, at least one; who hands documents out is asked for no more."""
        start, rest = 0, iter(self.documents)
        while (some := list(islice(rest, rows))) or not start:
            yield evolve(self, documents=some).table(row, where, start=start)
            start += len(some)
            if not some:
                return

    def columns(self, where: str) -> tuple[Mapping[str, "Json"], int]:
        """The fields of all documents, each as what they say of it, and how many documents there are. Raises
        WrongValue."""
        found = [_parsed(value, f"{where}[{i}]") for i, value in enumerate(self.documents)]
        names = dict.fromkeys(name for value in found for name in value)
        return {name: Json([value.get(name, MISSING) for value in found], True) for name in names}, len(found)

    @property
    def plain(self) -> "Json":
        """Of what documents say of a field: the rows, NULL of those that do not say it."""
        return Json([None if value is MISSING else value for value in self.documents], True)


def documents_of(columns: Mapping[str, Iterable[object] | Json]) -> Json:
    """Documents that say what ``columns`` have of their fields; columns that are of none have values of parsed ones."""
    every = [column.documents if isinstance(column, Json) else column for column in columns.values()]
    rows = (zip(columns, row, strict=True) for row in zip(*every, strict=True))
    return Json([{name: value for name, value in row if value is not MISSING} for row in rows], True)


def rows_of_json(messages: object) -> Json:
    """Rows that came as JSON, wherever rows are given, ``b.insert("Orders", rn.json(messages))``: dicts as
    ``json.loads`` gives them, or documents as texts or bytes, as messages of a queue are.

    They mean what they mean as lines of a ``.jsonl`` file: dates, times, decimals and binary are texts, and a field
    that is missing is NULL, but in an upsert, where it is refused. In a load they may come one by one. Raises
    WrongValue for one document, or the path of a file, instead of several documents.
    """
    if isinstance(messages, pa.Array | pa.ChunkedArray):
        return Json(messages.to_pylist())
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        is_list = isinstance(messages, str | bytes) and messages.lstrip()[:1] in ("[", b"[")
        possible = ["rn.json(json.loads(text))"] if is_list else ["json([document])", "insert(relation, path)"]
        what, got = "not a collection of documents", kind(messages)
        raise WrongValue(what, where="json: messages", wanted=DOCUMENTS, got=got, possible=possible)
    return Json(messages)


# ---------------------------------------------------------------- as lines


def _block(values: Iterable[object], parsed: bool, where: str, start: int) -> bytes:
    """The lines of a file with these documents. Raises WrongValue."""
    block = b"\n".join(_lines(values, parsed, where, start))
    quoted = f'"{MARK}'.encode(), f'{MARK}"'.encode()
    return block.replace(quoted[0], b"").replace(quoted[1], b"")


def _lines(values: Iterable[object], parsed: bool, where: str, start: int) -> Iterator[bytes]:
    for i, value in enumerate(values, start):
        try:
            yield _line(value, parsed)
        except (TypeError, ValueError, RecursionError):
            raise _no_document(value, f"{where}[{i}]") from None


def _line(value: object, parsed: bool) -> bytes:
    """The line of a document. Raises TypeError, ValueError or RecursionError for what is none."""
    if isinstance(value, dict):
        return ENCODER.encode(value).encode()
    if parsed or not isinstance(value, str | bytes):
        raise TypeError
    line = value.encode() if isinstance(value, str) else value
    if b"\n" in line:  # it stands between what documents consist of: in a text of one it would be no JSON
        json.loads(line.decode())
        line = line.replace(b"\n", b" ")
    if not line.strip():
        raise ValueError
    return line


def _marked(value: object) -> str:
    if not isinstance(value, Decimal):
        raise TypeError
    return f"{MARK}{value}{MARK}"


ENCODER = json.JSONEncoder(default=_marked)


def _no_document(value: object, where: str) -> RipplenestError:
    try:
        fault = next(_strange(value, where), None) if isinstance(value, dict) else None
    except RecursionError:  # it is too deep, or holds itself
        fault = None
    return fault or WrongValue(NO_LINE, where=where, wanted=DOCUMENTS, got=kind(value))


def _strange(value: object, where: str) -> Iterator[RipplenestError]:
    """The values in what was parsed that no parser gives."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from _strange(inner, f"{where}.{name}")
        case list() | tuple():
            for i, inner in enumerate(value):
                yield from _strange(inner, f"{where}[{i}]")
        case None | bool() | int() | float() | str() | Decimal():
            return
        case _:
            what, possible = "a value that JSON does not have", ["rows without rn.json, whose values are Python's"]
            yield WrongValue(what, where=where, wanted="what json.loads gives", got=kind(value), possible=possible)


# ---------------------------------------------------------------- as dicts


def _parsed(value: object, where: str) -> Mapping[str, object]:
    """A document as the values that it says."""
    try:
        found = value if isinstance(value, dict) else READER.decode(_text(value))
    except (TypeError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise WrongValue(NO_LINE, where=where, wanted=DOCUMENTS, got=kind(value))
    return found


def _text(value: object) -> str:
    if not isinstance(value, str | bytes):
        raise TypeError
    return value if isinstance(value, str) else value.decode()


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


READER = json.JSONDecoder(parse_float=Decimal, object_pairs_hook=_once)
