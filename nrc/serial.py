"""Types and queries as JSON: what the state keeps of a view, and how it is read back.

Every node is an object whose key ``is`` names its class, below it its fields by name. Constants are written by their
type, as text where JSON has no number for them. The text is deterministic (sorted keys, ASCII only), so that equal
queries have equal text. Whoever reads it trusts nothing: unknown classes, missing or further keys, values of another
kind and trees deeper than the limits are CorruptState.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, get_args, get_origin

from attrs import resolve_types
from cattrs import Converter, transform_error
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_unstructure_fn, override
from cattrs.v import format_exception

from ripplenest.nrc.errors import CorruptState, RipplenestError, TooDeep, TypeMismatch, WrongValue
from ripplenest.nrc.limits import check_limits
from ripplenest.nrc.syntax import DictExpr, Elem, Expr, Lit, Query, SngBag
from ripplenest.nrc.types import Base, Record, Site, Type
from ripplenest.nrc.values import INT_BITS, NAN, in_range

FORMAT = 1
TAG = "is"
UNIONS: tuple[Any, ...] = (Type, Elem, Expr, DictExpr)
MAX_JSON_DEPTH = 450  # a term of MAX_DEPTH records has three JSON levels a node; the rest is for types inside it

Json = Any


def query_to_json(q: Query) -> str:
    """``q`` as one line of ASCII text. Raises TooDeep or TooBig beyond the limits, TypeMismatch for a bad constant,
    WrongValue for text that is not Unicode.

    Law: query_from_json(query_to_json(q)) = q.
    """
    check_limits(q.body)
    return _dumps("query", q, Query)


def query_from_json(text: str) -> Query:
    """The query that ``text`` stands for. Raises CorruptState when it is not the text of a query."""
    query: Query = _loads("query", text, Query)
    try:
        check_limits(query.body)
    except RipplenestError as error:
        raise CorruptState(f"not a stored query: {error.what}", wanted=error.wanted) from error
    return query


def type_to_json(t: Type) -> str:
    """``t`` as one line of ASCII text. Raises TooDeep for a type that is nested too deeply to be read back."""
    return _dumps("type", t, Type)


def type_from_json(text: str) -> Type:
    """The type that ``text`` stands for. Raises CorruptState when it is not the text of a type."""
    found: Type = _loads("type", text, Type)
    return found


def _dumps(key: str, content: object, as_: Any) -> str:
    with _bounded(lambda: TooDeep("too deep to be written", wanted=f"at most {MAX_JSON_DEPTH} levels of JSON")):
        raw = {"format": FORMAT, key: CONVERTER.unstructure(content, unstructure_as=as_)}
        _check_depth(raw)
        if not _is_unicode(raw):
            raise WrongValue(f"a {key} with a lone surrogate, in a name or a constant, is not Unicode text")
        return json.dumps(raw, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _loads(key: str, text: str, as_: Any) -> Any:
    with _bounded(lambda: CorruptState("JSON that is nested too deeply", wanted=f"at most {MAX_JSON_DEPTH} levels")):
        try:
            raw = json.loads(text)
            _check_depth(raw)
            if not isinstance(raw, dict) or raw.get("format") != FORMAT or not isinstance(raw.get(key), dict):
                raise CorruptState("JSON of another format", wanted=f"an object of format {FORMAT} with a {key}")
            if not _is_unicode(raw):
                raise CorruptState("JSON with a lone surrogate", wanted="Unicode text")
            return CONVERTER.structure(raw[key], as_)
        except BaseValidationError as error:
            faults = transform_error(error, path=key, format_exception=_fault)
            raise CorruptState(f"JSON that is not a {key}", got="; ".join(map(ascii, faults[:3]))) from error
        except ValueError as error:  # json.JSONDecodeError, and integers with too many digits
            raise CorruptState(f"text that is not the JSON of a {key}", got=ascii(error)) from error


@contextmanager
def _bounded(error: Callable[[], RipplenestError]) -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise error() from None


def _fault(error: BaseException, wanted: type | None) -> str:
    plain = isinstance(error, ValueError) and not isinstance(error, BaseExceptionGroup)
    return str(error) if plain else format_exception(error, wanted)


def _is_unicode(raw: Json) -> bool:
    """False when some text cannot be written as UTF-8, as columns and files have it."""
    try:
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_depth(raw: Json) -> None:
    todo = [(raw, 1)]
    while todo:
        value, depth = todo.pop()
        if depth > MAX_JSON_DEPTH:
            raise RecursionError
        if isinstance(value, dict | list | tuple):
            inner = value.values() if isinstance(value, dict) else value
            todo.extend((v, depth + 1) for v in inner)


# ---------------------------------------------------------------- constants

_PLAIN: dict[str, type] = {"bool": bool, "int": int, "long": int, "string": str}
_TEXTS: dict[str, tuple[type, Callable[[Any], str], Callable[[Any], object]]] = {
    "double": (float, repr, lambda text: NAN if text == "nan" else float(text)),  # the one NaN
    "decimal": (Decimal, str, Decimal),
    "date": (date, date.isoformat, date.fromisoformat),
    "timestamp": (datetime, datetime.isoformat, datetime.fromisoformat),
    "binary": (bytes, bytes.hex, bytes.fromhex),
}


def write_constant(value: object, t: Base) -> Json:
    """A base value as JSON that says it exactly. Raises TypeMismatch for a value of another type."""
    python = _PLAIN.get(t.kind) or _TEXTS[t.kind][0]
    if value is not None and type(value) is not python:
        raise TypeMismatch("a constant of another type than it says", wanted=t, got=type(value).__name__)
    return value if value is None or t.kind in _PLAIN else _TEXTS[t.kind][1](value)


def read_constant(raw: Json, t: Base) -> object:
    """The base value that ``write_constant`` wrote. Raises ValueError for other JSON."""
    python = _PLAIN.get(t.kind, str)
    if raw is None:
        return None
    if type(raw) is not python:
        raise ValueError(f"invalid constant, expected {t}")
    if t.kind in _PLAIN:
        if isinstance(raw, int) and t.kind in INT_BITS and not in_range(raw, t.kind):
            raise ValueError(f"invalid constant, expected {t}")
        return raw
    try:
        return _TEXTS[t.kind][2](raw)
    except (ValueError, InvalidOperation):  # Python's message quotes the value
        raise ValueError(f"invalid constant, expected {t}") from None


# ---------------------------------------------------------------- nodes


def _converter() -> Converter:
    converter = Converter(forbid_extra_keys=True, unstruct_collection_overrides={tuple: list})
    for python in (str, int, bool):
        converter.register_structure_hook(python, _exactly(python))
    converter.register_structure_hook_factory(_is_tuple, lambda t: _tuple(converter, t))
    for cls in (Site, Query):
        resolve_types(cls)
    converter.register_unstructure_hook_factory(
        lambda t: t in (SngBag, Query),  # texts of what is not sorted are those of releases that know no order
        lambda t: make_dict_unstructure_fn(
            t, converter, sorted=override(omit_if_default=True), assumes=override(omit_if_default=True)
        ),
    )
    converter.register_unstructure_hook_factory(
        lambda t: t is Record,  # as it was before records could be NULL
        lambda t: make_dict_unstructure_fn(t, converter, firm=override(omit_if_default=True)),
    )
    for union in UNIONS:
        _register(converter, union)
    converter.register_unstructure_hook(Lit, lambda e: {"value": write_constant(e.value, e.type), "type": _base(e)})
    converter.register_structure_hook(Lit, _read_literal)
    return converter


def _base(e: Lit) -> Json:
    return CONVERTER.unstructure(e.type, unstructure_as=Base)


def _read_literal(raw: Json, _: Any) -> Lit:
    if set(raw) != {"value", "type"}:
        raise ValueError("a constant has a value and a type")
    t = CONVERTER.structure(raw["type"], Base)
    return Lit(read_constant(raw["value"], t), t)


def _exactly(python: type) -> Callable[[Json, Any], Any]:
    """JSON values of this very kind; nothing is converted."""

    def read(raw: Json, _: Any) -> Any:
        if type(raw) is not python:
            raise ValueError(f"expected {python.__name__}")
        return raw

    return read


def _is_tuple(t: Any) -> bool:
    origin: object = get_origin(t)
    return origin is tuple


def _tuple(converter: Converter, t: Any) -> Callable[[Json, Any], Any]:
    """tuple[A, ...] and tuple[A, B], of JSON lists only: cattrs itself takes any iterable, such as a string.

    A plain loop, because a comprehension would cost deep terms one more frame a level.
    """
    inner = get_args(t)

    def read(raw: Json, _: Any) -> Any:
        if type(raw) is not list:
            raise ValueError("expected a list")
        types = inner[:1] * len(raw) if inner[-1] is Ellipsis else inner
        if len(raw) != len(types):
            raise ValueError(f"expected a list of {len(types)}")
        out = []
        for item, a in zip(raw, types, strict=True):
            out.append(converter.get_structure_hook(a)(item, a))
        return tuple(out)

    return read


def _register(converter: Converter, union: Any) -> None:
    """A union whose members are told apart by ``TAG``. The unions hold each other, so the hook of a member is looked up
    when it is needed: cattrs' own strategy for tagged unions looks it up when the union is registered.
    """
    members = {cls.__name__: resolve_types(cls) for cls in get_args(union)}

    def write(node: Any) -> Json:
        return {TAG: type(node).__name__, **converter.get_unstructure_hook(type(node))(node)}

    def read(raw: Json, _: Any) -> Any:
        cls = members.get(raw.get(TAG)) if isinstance(raw, dict) and isinstance(raw.get(TAG), str) else None
        if cls is None:
            raise ValueError(f"expected one of {', '.join(members)}")
        return converter.get_structure_hook(cls)({k: v for k, v in raw.items() if k != TAG}, cls)

    converter.register_unstructure_hook(union, write)
    converter.register_structure_hook(union, read)


CONVERTER = _converter()
