"""Lines of JSON as rows, and what is wrong with those that are none.

Many are parsed at once, and the culprit is looked for only when they cannot be: some are halved until one is left, and
that one is looked into. No message shows a value.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import islice

import pyarrow as pa
import pyarrow.json

from ripplenest.data.level_values import nested_type
from ripplenest.data.rows import arrow_type
from ripplenest.nrc.conversions import conversions
from ripplenest.nrc.errors import RipplenestError, WrongColumns, WrongValue
from ripplenest.nrc.types import Bag, Base, Record, Type
from ripplenest.nrc.values import WRONG_TYPE, to_value

BLOCK = 1 << 24  # bytes of lines that are parsed at once; a line is at most as long
CHECKED = 1 << 12  # lines that are looked at at once, for which of them are wrong
BLANK = b" \t\r\n\xef\xbb\xbf"  # also what says that a file is UTF-8
MAYBE_NULL = re.compile(rb"\}\s*null")  # behind a document, if that is not in a text
NO_LINE = "not a line of JSON with fields"
SEVERAL = "`rn.json(d for text in texts for d in json.loads(text))`, of texts that hold several documents"
NUMBERS = ("int", "long", "double", "decimal")
UNQUOTED = {"bool": "true or false, without quotes", **dict.fromkeys(NUMBERS[:3], "the number, without quotes")}
TEXTS: Mapping[str, str] = {"date": "2024-12-31", "timestamp": "2024-12-31T23:59:59Z"}


def typed(block: bytes, row: Record) -> pa.Table:
    """Whole lines as rows. Raises ArrowException."""
    if not block.lstrip(BLANK).startswith(b"{"):  # a first line that is null ends the process
        raise pa.ArrowInvalid(NO_LINE)
    if MAYBE_NULL.search(block) and not all(map(_is_document, block.splitlines())):
        raise pa.ArrowInvalid(NO_LINE)  # which Arrow reads as a row of NULLs
    schema, written = schema_of(row), pa.schema([(name, nested_type(t, _written)) for name, t in row.fields])
    how = pyarrow.json.ParseOptions(explicit_schema=written, unexpected_field_behavior="error")
    found = pyarrow.json.read_json(io.BytesIO(block), pyarrow.json.ReadOptions(block_size=BLOCK), how)
    return found.select(schema.names).cast(schema)


def _is_document(line: bytes) -> bool:
    """Whether a line has one document, or nothing."""
    if not line.strip(BLANK):
        return True
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(line.strip(BLANK)), dict)
    return False


def schema_of(row: Record) -> pa.Schema:
    return pa.schema([(name, nested_type(t)) for name, t in row.fields])


def faults(lines: Iterable[bytes], row: Record, named: Callable[[int], str]) -> Iterator[RipplenestError]:
    """What is wrong with lines, each of which is called ``named(i)``."""
    rest = ((i, line) for i, line in enumerate(lines) if line.strip())
    while some := list(islice(rest, CHECKED)):
        yield from _of_lines(some, row, named)


def _of_lines(
    lines: Sequence[tuple[int, bytes]], row: Record, named: Callable[[int], str]
) -> Iterator[RipplenestError]:
    """The same of some, halved until all are right, or it is one that is wrong: only that one is looked into."""
    with suppress(pa.ArrowException, UnicodeDecodeError):
        if typed(b"\n".join(line for _, line in lines), row).num_rows == len(lines):
            return
    if len(lines) > 1:
        half = len(lines) // 2
        yield from _of_lines(lines[:half], row, named)
        yield from _of_lines(lines[half:], row, named)
        return
    ((i, line),) = lines
    faults = list(_of_line(line, row, named(i)))
    yield from faults or [WrongValue("a line that cannot be read", where=named(i), wanted=row)]


def _of_line(line: bytes, row: Record, where: str) -> Iterator[RipplenestError]:
    twice = list[str]()

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        twice.extend(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
        return dict(pairs)

    value, got = None, None
    try:
        value = json.loads(line, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        got = f"{error.msg}, at column {error.colno}"
    except (ValueError, RecursionError):
        pass
    if twice:
        yield WrongValue("a field that comes twice", where=where, wanted="each once", got=list(dict.fromkeys(twice)))
    elif isinstance(value, dict):
        yield from _of_value(value, row, where)
    else:
        possible = [SEVERAL] if isinstance(value, list) else None
        yield WrongValue(NO_LINE, where=where, wanted=row, got=got, possible=possible)


def _of_value(value: object, t: Type, where: str) -> Iterator[RipplenestError]:
    """What is wrong with a value. What is missing is left to who reads the rows."""
    match t:
        case Record() if isinstance(value, dict):
            own = t.there
            extra = [name for name in value if name not in own.names]
            if extra:
                what = "other columns than the relation has"
                possible = [f"`{{n: d[n] for n in {[*own.names]} if n in d}}`, of dicts for `rn.json(...)`"]
                yield WrongColumns(what, where=where, wanted=list(own.names), got=extra, possible=possible)
            for name, inner in own.fields:
                yield from _of_value(value.get(name), inner, f"{where}.{name}")
        case Bag(row) if isinstance(value, list):
            for i, inner in enumerate(value):
                yield from _of_value(inner, row, f"{where}[{i}]")
        case _:
            yield from _of_leaf(value, t, where)


def _of_leaf(value: object, t: Type, where: str) -> Iterator[RipplenestError]:
    row = Record((("value", t),))
    try:
        typed(json.dumps({"value": value}).encode(), row)
    except pa.ArrowException:
        yield _number(value, t, where) or _leaf(value, t, where)


def _number(value: object, t: Type, where: str) -> RipplenestError | None:
    """What is wrong with a number where numbers are: it is too great, or has too many digits. None of all else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isinstance(t, Base) or t.kind not in NUMBERS:
        return None
    try:
        to_value(Decimal(repr(value)) if t.kind == "decimal" else value, t, where)
    except WrongValue as error:
        error.got = type(value).__name__
        return error if error.what != WRONG_TYPE else None
    return None


def _leaf(value: object, t: Type, where: str) -> RipplenestError:
    kind = t.kind if isinstance(t, Base) else ""
    is_text = isinstance(value, str)
    wanted, got = _text_of(t) if is_text or kind in TEXTS else (str(t), "")
    possible = conversions(kind, value) if kind not in (*TEXTS, "decimal") else None
    if is_text and kind in UNQUOTED:
        possible = (*(possible or ()), UNQUOTED[kind])
    got = got if is_text else type(value).__name__
    return WrongValue("a value that is not of its type", where=where, wanted=wanted, got=got, possible=possible)


def _text_of(t: Type) -> tuple[str, str]:
    """How values of ``t`` are written, where some are texts, and that one is not."""
    if isinstance(t, Base) and t.kind == "decimal":
        behind = f" before the point, and {t.scale} behind it" if t.scale else ""
        most = f"{t.precision - t.scale} digits{behind}"
        return f"{t}: a text or number of at most {most}", "another text"
    written = TEXTS.get(t.kind) if isinstance(t, Base) else None
    return (str(t), "str") if written is None else (f"{t}: a text such as {written}", "another text")


def _written(base: Base) -> pa.DataType:
    """As what a value stands in JSON: a date is a text, in which no time of day is left out unseen."""
    return pa.string() if base.kind == "date" else arrow_type(base)
