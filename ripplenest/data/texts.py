"""Nested values as text: how an inner bag is stored that nothing looks into.

JSON, rows in canonical order, so that equal bags are equal texts: ``[[row, multiplicity], …]`` for a bag, a list of its
fields for a record, ``null`` for NULL, and base values as in ``nrc/serial.py``.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from ripplenest.nrc.bags import BagValue, Value, field_of
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.printing.shown import sort_key
from ripplenest.nrc.serial import read_constant, write_constant
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type


def to_text(value: Value, t: Type) -> str:
    """The text of a value of the nested type ``t``. Law: from_text(to_text(v, t), t) = v; equal values, equal texts."""
    return json.dumps(_plain(value, t), separators=(",", ":"), allow_nan=False)


def filled(fills: str | None, value: Value, t: Type) -> str:
    """``fills`` of a row type, None where there are none so far, with that of one more field: ``value`` of a base type,
    or NULL for a bag or a record."""
    return json.dumps([*([] if fills is None else json.loads(fills)), _plain(value, t)])


def from_text(text: str, t: Type, path: str = "", fills: Iterable[tuple[str, str]] = ()) -> Value:
    """The value that ``text`` stands for, a bag at ``path``. Rows that lack the last fields of their types have there
    what ``fills`` says by path. Raises CorruptState."""
    try:
        return _value(json.loads(text), t, path, {part: json.loads(found) for part, found in fills})
    except (ValueError, TypeError) as error:
        raise CorruptState("not the text of a nested value", wanted=t, got=ascii(error)) from error


def _plain(value: Value, t: Type) -> Any:
    match t:
        case Base():
            return write_constant(value, t)
        case Record(fields):
            return [_plain(field_of(value, name), inner) for name, inner in fields]
        case Bag(row):
            if not isinstance(value, BagValue):
                return None
            return [[_plain(v, row), n] for v, n in sorted(value, key=lambda pair: sort_key(pair[0]))]
        case Label() | Dict():
            raise AssertionError(f"{t} is no type of nested data")
        case _:
            assert_never(t)


def _value(raw: Any, t: Type, path: str, fills: Mapping[str, list[Any]]) -> Value:
    match t:
        case Base():
            return read_constant(raw, t)
        case Record(fields):
            if isinstance(raw, list) and path in fills:
                raw = [*raw, *fills[path][len(raw) - len(fields) :]] if len(raw) < len(fields) else raw
            if not isinstance(raw, list) or len(raw) != len(fields):
                raise ValueError(f"not a record of {len(fields)} fields")
            pairs = zip(raw, fields, strict=True)
            return tuple((name, _value(v, inner, f"{path}.{name}", fills)) for v, (name, inner) in pairs)
        case Bag(row):
            if raw is None:
                return None
            return BagValue.weighted((_value(v, row, path, fills), int(n)) for v, n in raw)
        case Label() | Dict():
            raise AssertionError(f"{t} is no type of nested data")
        case _:
            assert_never(t)
