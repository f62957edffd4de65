"""Nested values as text: how an inner bag is stored that nothing looks into.

JSON, rows in canonical order, so that equal bags are equal texts: ``[[row, multiplicity], …]`` for a bag, a list of its
fields for a record, ``null`` for NULL, and base values as in ``nrc/serial.py``.
"""

import json
from typing import Any, assert_never

from ripplenest.nrc.bags import BagValue, Value, field_of
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.serial import read_constant, write_constant
from ripplenest.nrc.shown import sort_key
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type


def to_text(value: Value, t: Type) -> str:
    """The text of a value of the nested type ``t``. Law: from_text(to_text(v, t), t) = v; equal values, equal texts."""
    return json.dumps(_plain(value, t), separators=(",", ":"), allow_nan=False)


def from_text(text: str, t: Type) -> Value:
    """The value that ``text`` stands for. Raises CorruptState."""
    try:
        return _value(json.loads(text), t)
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


def _value(raw: Any, t: Type) -> Value:
    match t:
        case Base():
            return read_constant(raw, t)
        case Record(fields):
            if not isinstance(raw, list) or len(raw) != len(fields):
                raise ValueError(f"not a record of {len(fields)} fields")
            return tuple((name, _value(v, inner)) for v, (name, inner) in zip(raw, fields, strict=True))
        case Bag(row):
            return None if raw is None else BagValue.weighted((_value(v, row), int(n)) for v, n in raw)
        case Label() | Dict():
            raise AssertionError(f"{t} is no type of nested data")
        case _:
            assert_never(t)
