"""Collections of constants that a program holds outside of its views: what is under a key of a dict, or at a place."""

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, cast

from ripplenest.nrc.errors import TypeMismatch, UnknownName, Unsupported
from ripplenest.nrc.surface.python import advice, hints, scalars
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import Element, Reading, Static, Untyped, describe
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import Base

MOST = 200  # keys of a dict that a view looks into
SOME = 10  # keys that a message shows
NONE = Untyped("None")
Held = Mapping[Any, Any] | list[Any] | tuple[Any, ...]


def at(of: Held, place: ast.expr, scope: Scope) -> Static:
    """of[place], which is a constant, or holds some: of a list or a tuple also several. Raises UnknownName with what
    there is, Unsupported for a place that is no constant."""
    key = _slice(of, place, scope) if isinstance(place, ast.Slice) else _constant(place, of, scope)
    with suppress(LookupError, TypeError, ValueError):
        if not isinstance(of, Mapping) or key in of:  # asked of a dict that makes what it has not, it would be there
            return Static(of[key])
    possible = map(repr, islice(of, SOME)) if isinstance(of, Mapping) else [f"0 to {len(of) - 1}"]
    raise UnknownName(f"the {type(of).__name__} has nothing there", got=repr(key), possible=possible)


def _slice(of: Held, place: ast.Slice, scope: Scope) -> slice:
    if isinstance(of, Mapping):
        raise hints.unsupported("a slice of a dict", hints.CONSTANTS_BY_KEY)
    return slice(*(None if n is None else _constant(n, of, scope) for n in (place.lower, place.upper, place.step)))


def _constant(node: ast.expr, of: Held, scope: Scope) -> Any:
    with scope.located(node):
        match scope.read(node):
            case Element(Lit(value)) | Static(value):
                return value
            case Untyped("None"):
                return None
        hint = hints.CONSTANTS_BY_KEY if isinstance(of, Mapping) else hints.RELATION_BY_KEY
        raise hints.unsupported("a place in constants that is none itself", hint)


def span(args: Sequence[Reading]) -> range:
    """range(b) and range(a, b), of constants."""
    found = [settled.elem for settled in map(scalars.settle, args) if isinstance(settled, Element)]
    whole = [e.value for e in found if isinstance(e, Lit) and type(e.value) is int]
    if len(whole) != len(args) or len(args) not in (1, 2):
        raise hints.unsupported("such a range", "`x in range(1, 4)`, of constants, or `1 <= x < y`")
    return range(*whole)


def get(table: Mapping[Any, Any], args: Sequence[Reading]) -> Reading:
    """table.get(x, y) = coalesce(if(x = k₁, v₁, NULL), …, y): NULL is under the key None, if that is one.

    Raises Unsupported for a dict that is too big or holds None, TypeMismatch for keys and values of other types.
    """
    if len(args) not in (1, 2):
        raise hints.unsupported(f"get with {len(args)} arguments", "`RATES.get(x.key, 0)`")
    key, default = scalars.settle(args[0]), scalars.settle(args[1]) if len(args) == 2 else NONE
    if not isinstance(key, Element) or not isinstance(key.type, Base):
        raise TypeMismatch("a key is a base value", wanted="a base value", got=describe(key))
    if len(table) > MOST:
        what = f"a dict with {len(table)} keys is not looked into"
        raise Unsupported(what, wanted=f"at most {MOST}", possible=[hints.RELATION_BY_KEY])
    if None in table.values():
        then = ", as get gives None anyway" if default == NONE else "; get gives the default there"
        raise Unsupported("a dict in which a value is None", possible=[f"the dict without it{then}"])
    found = [scalars.choose(_is(key, k), scalars.literal(v), NONE) for k, v in table.items()]
    if not found:
        return default
    with advice.advising("a default, and values, of one type"):
        return scalars.apply("coalesce", found if default == NONE else [*found, default], "get")


def _is(key: Element, k: object) -> Element:
    return scalars.apply("is_null", [key]) if k is None else scalars.apply("eq", [key, scalars.literal(k)])


def rows(value: object, node: ast.expr) -> ast.List | None:
    """A collection of constants as the list that it would be written as where ``node`` is; None of what is none."""
    if not isinstance(value, list | tuple | range | set | frozenset | Mapping):
        return None
    if len(value) > MOST:
        what = f"a collection of {len(value)} constants is not gone through"
        raise Unsupported(what, wanted=f"at most {MOST}", possible=["a relation that holds them"])
    return ast.fix_missing_locations(ast.copy_location(ast.List([_written(v) for v in scalars.ordered(value)]), node))


def _written(value: object) -> ast.expr:
    """A constant as it would be written: parts of tuples and lists are constants, too."""
    match value:
        case tuple():
            return ast.Tuple([_written(v) for v in value])
        case list():
            return ast.List([_written(v) for v in value])
        case dict():
            return ast.Dict([ast.Constant(k) for k in value], [_written(v) for v in value.values()])
    return ast.Constant(cast("Any", value))
