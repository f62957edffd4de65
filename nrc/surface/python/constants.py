"""Collections of constants that a program holds outside of its views: what is under a key of a dict, or at a place."""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from typing import Any, cast

from ripplenest.nrc.errors import TypeMismatch, UnknownName, Unsupported
from ripplenest.nrc.surface.python import advice, hints, scalars
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import Element, Reading, Static, Untyped, describe, is_bag
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import Base

MOST = 200  # keys of a dict that a view looks into
SOME = 10  # keys that a message shows
NONE = Untyped("None")
HELD = (list, tuple, range, set, frozenset, Mapping)
Held = Mapping[Any, Any] | list[Any] | tuple[Any, ...]
PARTS: dict[str, Callable[[Mapping[Any, Any]], Iterable[Any]]] = {
    "keys": lambda of: of.keys(), "values": lambda of: of.values(), "items": lambda of: of.items(),
}  # fmt: skip


def at(of: Held, node: ast.Subscript, scope: Scope) -> Static:
    """of[place], which is a constant, or holds some: of a list or a tuple also several. Raises UnknownName with what
    there is, Unsupported for a place that is no constant."""
    place, possible = node.slice, _instead(of, ast.unparse(node.value), ast.unparse(node.slice))
    key = _slice(of, place, scope) if isinstance(place, ast.Slice) else _constant(place, possible, scope)
    with suppress(LookupError, TypeError, ValueError):
        if not isinstance(of, Mapping) or key in of:  # asked of a dict that makes what it has not, it would be there
            return Static(of[key])
    known = map(repr, islice(of, SOME)) if isinstance(of, Mapping) else [f"0 to {len(of) - 1}"]
    raise UnknownName(f"the {type(of).__name__} has nothing there", got=repr(key), possible=known)


def _slice(of: Held, place: ast.Slice, scope: Scope) -> slice:
    if isinstance(of, Mapping):
        raise hints.unsupported("a slice of a dict", hints.CONSTANTS_BY_KEY)
    ends = (place.lower, place.upper, place.step)
    return slice(*(None if n is None else _constant(n, (hints.RELATION_BY_KEY,), scope) for n in ends))


def _constant(node: ast.expr, possible: Sequence[str], scope: Scope) -> Any:
    with scope.located(node):
        match scope.read(node):
            case Element(Lit(value)) | Static(value):
                return value
            case Untyped("None"):
                return None
        raise Unsupported("a view cannot look up constants by what is no constant itself", possible=possible)


def _instead(of: Held, name: str, key: str) -> tuple[str, ...]:
    """What is written in place of ``name[key]``, of a key that rows have."""
    if not isinstance(of, Mapping):
        by_place = f"`BY_PLACE = dict(enumerate({name}))` outside of the view, and `BY_PLACE.get({key}, default)`"
        return by_place, hints.RELATION_BY_KEY
    some = next((v for v in of.values() if not isinstance(v, scalars.CONSTANTS)), None)
    if some is None:
        return f"`{name}.get({key}, default)`, which is NULL without a default", hints.RELATION_BY_KEY
    rows, part = f"for k, v in {name}.items() if k == {key}", next(iter(some), 0) if isinstance(some, Mapping) else 0
    of_part = f"`min((v[{part!r}] {rows}), default=...)`, a part of what is there"
    return of_part, f"`{rows}` in a comprehension, all of it", hints.RELATION_BY_KEY


def span(args: Sequence[Reading]) -> range:
    """range(b) and range(a, b), of constants."""
    found = [settled.elem for settled in map(scalars.settle, args) if isinstance(settled, Element)]
    whole = [e.value for e in found if isinstance(e, Lit) and type(e.value) is int]
    if len(whole) != len(args) or len(args) not in (1, 2):
        raise hints.unsupported("such a range", "`x in range(1, 4)`, of constants, or `1 <= x < y`")
    return range(*whole)


def has_method(name: str) -> bool:
    return name == "get" or name in PARTS


def method(of: Mapping[Any, Any], node: ast.Call, args: Sequence[Reading]) -> Reading:
    """of.get(x, y); and of.keys(), of.values() and of.items() as the list that each of them shows."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    if name == "get":
        if not all(isinstance(v, scalars.CONSTANTS) for v in of.values()) and args:
            possible = _instead(of, ast.unparse(node.func.value), ast.unparse(node.args[0]))
            raise Unsupported("a dict in which a value is not one of a base type", possible=possible)
        return get(of, args)
    if args:
        raise hints.unsupported(f".{name} with {len(args)} arguments", f"`.{name}()`")
    return Static([*PARTS[name](of)])


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
    if not table:
        return default
    values: Sequence[Reading] = [scalars.literal(v) for v in table.values()]
    of_one_type = "a default, and values, of one type"
    if any(type(v) is Decimal for v in table.values()):  # each has digits of its own
        with advice.advising(of_one_type):
            *values, default = scalars.alike([*values, default])
    found = [scalars.choose(_is(key, k), v, NONE) for k, v in zip(table, values, strict=True)]
    with advice.advising(of_one_type):
        return scalars.apply("coalesce", found if default == NONE else [*found, default], "get")


def _is(key: Element, k: object) -> Element:
    return scalars.apply("is_null", [key]) if k is None else scalars.apply("eq", [key, scalars.literal(k)])


def rows(value: object, node: ast.expr) -> ast.List | None:
    """A collection of constants as the list that it would be written as where ``node`` is; None of what is none."""
    if not isinstance(value, HELD):
        return None
    if len(value) > MOST:
        what = f"a collection of {len(value)} constants is not gone through"
        raise Unsupported(what, wanted=f"at most {MOST}", possible=["a relation that holds them"])
    return ast.fix_missing_locations(ast.copy_location(ast.List([written(v) for v in scalars.ordered(value)]), node))


def beside_bags(readings: Sequence[Reading], node: ast.expr, scope: Scope) -> Sequence[Reading]:
    """``readings``, of which a list or set of constants beside a bag is the bag that it would be written as."""
    if not any(map(is_bag, readings)):
        return readings
    return [_as_bag(r.value, node, scope) or r if isinstance(r, Static) else r for r in readings]


def as_bag(reading: Static, node: ast.expr, scope: Scope) -> Reading:
    """A collection of constants as the bag that it would be written as; all else as it is."""
    written = rows(reading.value, node) if isinstance(reading.value, list | tuple | set | frozenset) else None
    return reading if written is None else scope.read(written)


def as_set(reading: Reading, node: ast.expr, scope: Scope) -> Reading:
    """A set of constants, of which a method is called, as the set that it would be written as."""
    held = reading.value if isinstance(reading, Static) and isinstance(reading.value, set | frozenset) else None
    return _as_bag(held, node, scope) or reading


def _as_bag(value: object, node: ast.expr, scope: Scope) -> Reading | None:
    written = rows(value, node) if isinstance(value, list | set | frozenset) else None
    if written is None:
        return None
    is_set = written.elts and not isinstance(value, list)
    return scope.read(ast.copy_location(ast.Set(written.elts), node) if is_set else written)


def made_of(reading: Reading) -> tuple[str, ...] | None:
    """What can be written of a collection of constants that is no value itself; None of all else."""
    is_held = isinstance(reading, Static) and isinstance(reading.value, HELD)
    return ("`[x for x in XS]`, a row of each, outside of the view `XS = [...]`",) if is_held else None


def written(value: object) -> ast.expr:
    """A constant as it would be written: parts of tuples and lists are constants, too."""
    match value:
        case tuple():
            return ast.Tuple([written(v) for v in value])
        case list():
            return ast.List([written(v) for v in value])
        case dict():
            return ast.Dict([ast.Constant(k) for k in value], [written(v) for v in value.values()])
    return ast.Constant(cast("Any", value))
