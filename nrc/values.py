"""Canonical values: what user data becomes before the calculus sees it, and what it becomes again at the edge.

Canonical form, per type (the one place where it is written down):

- bool, int, long, double, string, binary: exactly ``bool``, ``int``, ``int``, ``float``, ``str``, ``bytes``. There is
  one NaN object (``NAN``), so that dictionaries find it, and no -0.0.
- decimal(p,s): a ``Decimal`` with exactly s digits after the point, and no negative zero.
- date: ``date``. timestamp: ``datetime`` in UTC *with* its zone. A datetime without a zone is read as UTC, because
  the zone of the Spark session is UTC; the zone of the machine never plays a part.
- records are tuples of (field, value) pairs in the type's order, with ∃ first where they may be NULL; bags are
  ``BagValue``; labels are ``LabelValue``; NULL is None.

Messages name places and types, not the values themselves: values may be confidential.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from os import PathLike
from typing import Any, assert_never

import numpy as np

from ripplenest.nrc.bags import BagValue, LabelValue, Row, Value
from ripplenest.nrc.conversions import conversions
from ripplenest.nrc.errors import EvaluationError, WrongColumns, WrongValue
from ripplenest.nrc.instances import fields_of
from ripplenest.nrc.printing.shown import ANYHOW, INSIDE, NOT_THERE, THERE, Path, Shown, in_order
from ripplenest.nrc.types import EXISTS, Bag, Base, Dict, Label, Record, Type

NAN = float("nan")
INT_BITS: dict[str, int] = {"int": 32, "long": 64}
MAX_DIGITS = 38
FILES = (".parquet", ".json", ".jsonl", ".ndjson", ".csv", ".gz")
WRONG_TYPE = "wrong type"  # of a value that is of none that a column takes

_EXACT = Context(prec=2 * MAX_DIGITS + 4)


def in_range(n: int, kind: str) -> bool:
    """True when ``n`` is a two's complement integer of ``kind`` (``int``: 32 bits, ``long``: 64)."""
    half = 1 << (INT_BITS[kind] - 1)
    return -half <= n < half


def canonical_float(x: float) -> float:
    """``x`` with the one NaN and without -0.0, so that equal doubles are one key."""
    return NAN if math.isnan(x) else float(x) + 0.0


def canonical(value: object, type: Base) -> object:
    """The canonical form of a base value known to be of ``type``, as an engine returns it; nothing is checked."""
    match value:
        case float():
            return canonical_float(value)
        case bytearray() | memoryview():
            return bytes(value)
        case datetime():
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        case Decimal():
            return _scaled(value, type.scale)
        case _:
            return value


def literal_type(value: object) -> Base | None:
    """The tightest base type of a constant, None when it has none; NULL is a bool? until a neighbour types it."""
    match value:
        case None:
            return Base("bool", nullable=True)
        case bool():
            return Base("bool")
        case int():
            return Base("int") if in_range(value, "int") else Base("long") if in_range(value, "long") else None
        case float():
            return Base("double")
        case Decimal():
            return _decimal_type(value)
        case str():
            return Base("string")
        case datetime():
            return Base("timestamp")
        case date():
            return Base("date")
        case bytes():
            return Base("binary")
        case _:
            return None


def _decimal_type(value: Decimal) -> Base | None:
    """decimal(p,s) with the fewest digits that hold ``value`` as it is written; None beyond 38 digits."""
    if not value.is_finite():
        return None
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)  # it is a letter only for NaN and the infinities
    scale = max(0, -exponent)
    whole = max(0, value.adjusted() + 1) if value else 0
    precision = max(1, whole + scale)
    return Base("decimal", False, precision, scale) if precision <= MAX_DIGITS else None


# ---------------------------------------------------------------- user data to values


def to_value(obj: object, type: Type, where: str) -> Value:
    """``obj`` as a canonical value of ``type``; ``where`` is its place, such as ``rows[17]``.

    Records come as mappings, as instances that name their fields (``instances.py``) or as (field, value) pairs; bags as
    iterables (a ``BagValue`` keeps its multiplicities). Raises WrongColumns for missing or extra fields, WrongValue for
    anything else that does not fit.
    """
    match type:
        case Base():
            return _base(obj, type, where)
        case Record() if type.is_optional:
            return _optional(obj, type, where)
        case Record():
            return _record(obj, type, where)
        case Bag(row, nullable):
            return _null(nullable, type, where) if obj is None else _bag(obj, row, where)
        case Label():
            return _null(type.nullable, type, where) if obj is None else _label(obj, type, where)
        case Dict():
            raise WrongValue("a dictionary is not data", where=where, wanted=type, got=_type_name(obj))
        case _:
            assert_never(type)


def _optional(obj: object, type: Record, where: str) -> Value:
    """A record that may be NULL, also one that is a canonical value."""
    if isinstance(obj, tuple) and obj[:1] in (THERE, NOT_THERE):
        obj = obj[1:] if obj[:1] == THERE else None
    return absent(type) if obj is None else (*THERE, *_record(obj, type.there, where))


def absent(type: Type) -> Value:
    """A value of ``type`` where the record around it is NULL."""
    match type:
        case Record(fields):
            return tuple((name, False if name == EXISTS else absent(t)) for name, t in fields)
        case _:
            return None


def _record(obj: object, type: Record, where: str) -> Row:
    fields = _fields(obj, type, where)
    if what := other_fields(fields, type):
        without = [f"`{{n: row[n] for n in {[*type.names]}}}`, without the others"] if "extra" in what else []
        raise WrongColumns(what, where=where, possible=[*map(_name, type.names), *without])
    return tuple((name, to_value(fields[name], t, f"{where}.{_name(name)}")) for name, t in type.fields)


def other_fields(names: Collection[str], type: Record) -> str:
    """Which fields of ``type`` are missing among ``names``, and which are no fields of it; empty for its own."""
    missing = [name for name in type.names if name not in names]
    faults = (("missing", missing), ("extra", [name for name in names if name not in type.names]))
    return "; ".join(f"{fault} fields {', '.join(map(_name, found))}" for fault, found in faults if found)


def _fields(obj: object, type: Record, where: str) -> Mapping[Any, object]:
    if isinstance(obj, Mapping):
        return obj
    named = fields_of(obj)
    if named is not None:
        return named
    if isinstance(obj, tuple) and all(isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str) for p in obj):
        fields = dict(obj)
        if len(fields) == len(obj):
            return fields
    wanted = "a mapping or a record instance with the fields " + ", ".join(map(_name, type.names))
    is_path = isinstance(obj, PathLike) or (isinstance(obj, str) and obj.endswith(FILES))
    of_paths = ["one call for each file"] if is_path else None
    possible = ["dict(row)"] if hasattr(obj, "keys") else of_paths
    raise WrongValue("not a record", where=where, wanted=wanted, got=_type_name(obj), possible=possible)


def _bag(obj: object, row: Type, where: str) -> BagValue:
    if isinstance(obj, BagValue):
        if any(n < 0 for _, n in obj):
            raise WrongValue("a row is there less than 0 times", where=where, wanted=f"a bag of {row}")
        return BagValue.weighted((to_value(r, row, f"{where}[{i}]"), n) for i, (r, n) in enumerate(obj))
    if isinstance(obj, np.ndarray):
        obj = obj.tolist()
    if not isinstance(obj, Iterable) or isinstance(obj, str | bytes | bytearray | memoryview | Mapping):
        raise WrongValue("not a bag", where=where, wanted=f"an iterable of {row}", got=_type_name(obj))
    return BagValue.of(to_value(r, row, f"{where}[{i}]") for i, r in enumerate(obj))


def _label(obj: object, type: Label, where: str) -> LabelValue:
    site = type.site(obj.site) if isinstance(obj, LabelValue) else None
    if not isinstance(obj, LabelValue) or site is None or len(site.params) != len(obj.args):
        raise WrongValue("not a label of this place", where=where, wanted=type, got=_type_name(obj))
    pairs = zip(site.params, obj.args, strict=True)
    return LabelValue(obj.site, tuple(to_value(arg, t, f"{where}.{_name(name)}") for (name, t), arg in pairs))


def _null(allowed: bool, type: Type, where: str) -> Value:
    if not allowed:
        raise WrongValue("NULL where none is allowed", where=where, wanted=type, got="NULL")
    return None


# ---------------------------------------------------------------- base values


def _base(obj: object, type: Base, where: str) -> Value:
    if obj is None:
        return _null(type.nullable, type, where)
    plain = obj.item() if isinstance(obj, np.generic) else obj
    try:
        value = _CONVERT[type.kind](plain, type)
    except _Misfit as misfit:
        possible = conversions(type.kind, plain) if isinstance(plain, datetime) else None
        raise WrongValue(str(misfit), where=where, wanted=type, got=_type_name(obj), possible=possible) from None
    if value is None:
        possible = conversions(type.kind, plain)
        raise WrongValue(WRONG_TYPE, where=where, wanted=type, got=_type_name(obj), possible=possible)
    return value


class _Misfit(Exception):
    """A value of the right Python type that its column cannot hold."""


def _to_bool(obj: object, _: Base) -> bool | None:
    return obj if isinstance(obj, bool) else None


def _to_integer(obj: object, type: Base) -> int | None:
    if isinstance(obj, bool) or not isinstance(obj, int):
        return None
    if not in_range(obj, type.kind):
        raise _Misfit(f"an integer beyond {INT_BITS[type.kind]} bits")
    return int(obj)


def _to_double(obj: object, _: Base) -> float | None:
    """Of integers those that stay what they are."""
    if isinstance(obj, bool) or not isinstance(obj, int | float):
        return None
    try:
        found = float(obj)
    except OverflowError:
        raise _Misfit("an integer beyond the range of doubles") from None
    if isinstance(obj, int) and found != obj:
        raise _Misfit("an integer that no double is equal to, which float(x) rounds")
    return canonical_float(found)


def _to_decimal(obj: object, type: Base) -> Decimal | None:
    """Exactly representable decimals and integers only: rounding would lose what the user wrote."""
    if isinstance(obj, bool) or not isinstance(obj, int | Decimal):
        return None
    # Beyond 200 bits no integer fits 38 digits; the check keeps Decimal(obj) from converting a huge one.
    number = obj if isinstance(obj, Decimal) else Decimal(obj if obj.bit_length() <= 200 else "Infinity")
    if number.is_nan():
        raise _Misfit("a decimal has no NaN")
    if isinstance(obj, Decimal) and number.is_infinite():
        raise _Misfit("a decimal has no infinity")
    if number.is_infinite() or (number and number.adjusted() + 1 > type.precision - type.scale):
        raise _Misfit(f"more than {type.precision - type.scale} digits before the point")
    scaled = _scaled(number, type.scale)
    if scaled != number:
        raise _Misfit(f"more than {type.scale} digits after the point")
    return scaled


def _scaled(number: Decimal, scale: int) -> Decimal:
    """``number`` with ``scale`` digits after the point (rounded when it has more), without negative zero."""
    if not number:
        return Decimal((0, (0,), -scale))
    return number.quantize(Decimal((0, (1,), -scale)), context=_EXACT)


def _to_string(obj: object, _: Base) -> str | None:
    if not isinstance(obj, str):
        return None
    if any("\ud800" <= c <= "\udfff" for c in obj):
        raise _Misfit("a string with a lone surrogate is not Unicode text")
    return str.__str__(obj)


def _to_date(obj: object, _: Base) -> date | None:
    if isinstance(obj, datetime) or not isinstance(obj, date):
        return None
    return date(obj.year, obj.month, obj.day)


def _to_timestamp(obj: object, _: Base) -> datetime | None:
    if not isinstance(obj, datetime) or not isinstance(obj.year, int):  # the NaT of pandas is a datetime without a year
        return None
    if getattr(obj, "nanosecond", 0):
        raise _Misfit("a timestamp has microseconds, not nanoseconds")
    try:
        utc = obj.replace(tzinfo=UTC) if obj.tzinfo is None else obj.astimezone(UTC)
    except OverflowError:
        raise _Misfit("a timestamp outside the years 1 to 9999 in UTC") from None
    return datetime.combine(utc.date(), utc.time(), UTC)


def _to_binary(obj: object, _: Base) -> bytes | None:
    return bytes(obj) if isinstance(obj, bytes | bytearray | memoryview) else None


_CONVERT: dict[str, Callable[[object, Base], object | None]] = {
    "bool": _to_bool,
    "int": _to_integer,
    "long": _to_integer,
    "double": _to_double,
    "decimal": _to_decimal,
    "string": _to_string,
    "date": _to_date,
    "timestamp": _to_timestamp,
    "binary": _to_binary,
}


def _type_name(obj: object) -> str:
    """What came, without its content."""
    name = f"{obj.__class__.__module__}.{obj.__class__.__qualname__}"
    return "NULL" if obj is None else name.removeprefix("builtins.")


def _name(name: object) -> str:
    """A field name for a message: as it is when it is a plain name, else quoted with its control characters escaped."""
    return name if isinstance(name, str) and name.isidentifier() else ascii(name)


# ---------------------------------------------------------------- values to user data


def from_value(value: Value, type: Type, where: str = "", shown: Shown = ANYHOW, path: Path = ()) -> Any:
    """``value`` as plain Python: records as dicts, bags as lists with repetitions, NULL as None. Lists are sorted as
    ``shown`` says by their paths, canonically where it says nothing; ``path`` is that of ``value``.

    Raises EvaluationError for a negative multiplicity: a change is not a collection of rows.
    """
    match type:
        case Record() if type.is_optional:
            assert isinstance(value, tuple)
            (_, exists), *own = value
            return from_value(tuple(own), type.there, where, shown, path) if exists else None
        case Record(fields):
            assert isinstance(value, tuple)
            pairs = zip(fields, value, strict=True)
            return {
                name: from_value(v, t, f"{where}.{_name(name)}", shown, (*path, name)) for (name, t), (_, v) in pairs
            }
        case Bag(row):
            return None if value is None else _rows(value, row, where, shown, path)
        case Base() | Label() | Dict():
            return value
        case _:
            assert_never(type)


def _rows(bag: Value, row: Type, where: str, shown: Shown, path: Path) -> list[Any]:
    assert isinstance(bag, BagValue)
    rows: list[Any] = []
    for value, n in in_order(bag, shown.get(path, ())):
        if n < 0:
            what, wanted = "a row is there less than 0 times", "a multiplicity of 1 or more"
            raise EvaluationError(what, where=where, wanted=wanted, got=f"{n} times")
        rows.extend(from_value(value, row, f"{where}[]", shown, (*path, INSIDE)) for _ in range(n))
    return rows
