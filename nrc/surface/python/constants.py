"""Collections of constants that a program holds outside of its views: what is under a key of a dict, or at a place."""

from collections.abc import Sequence
from itertools import islice

from ripplenest.nrc.errors import TypeMismatch, UnknownName, Unsupported
from ripplenest.nrc.surface.python import hints, scalars
from ripplenest.nrc.surface.readings import Element, Reading, Static, Untyped, describe
from ripplenest.nrc.types import Base

MOST = 200  # keys of a dict that a view looks into
SOME = 10  # keys that a message shows
NONE = Untyped("None")


def at(of: object, key: object) -> Static:
    """of[key], which is a constant, or holds some. Raises UnknownName with the keys there are."""
    assert isinstance(of, dict | list | tuple)
    try:
        return Static(of[key])  # type: ignore[call-overload]
    except (LookupError, TypeError):
        possible = map(repr, islice(of, SOME)) if isinstance(of, dict) else [f"0 to {len(of) - 1}"]
        raise UnknownName(f"the {type(of).__name__} has nothing there", got=repr(key), possible=possible) from None


def get(table: dict[object, object], args: Sequence[Reading]) -> Reading:
    """table.get(x, y) = coalesce(if(x = k₁, v₁, NULL), …, y): NULL is under the key None, if that is one.

    Raises Unsupported for a dict that is too big or holds None, TypeMismatch for keys and values of other types.
    """
    if len(args) not in (1, 2):
        raise hints.unsupported(f"get with {len(args)} arguments", "`RATES.get(x.key, 0)`")
    key, default = scalars.settle(args[0]), scalars.settle(args[1]) if len(args) == 2 else NONE
    if not isinstance(key, Element) or not isinstance(key.type, Base):
        raise TypeMismatch("a key is a base value", wanted="a base value", got=describe(key))
    if len(table) > MOST or not table:
        what = f"a dict with {len(table)} keys is not looked into"
        raise Unsupported(what, wanted=f"1 to {MOST}", possible=[hints.RELATION_BY_KEY])
    if None in table.values():
        raise Unsupported("a dict in which a value is None", possible=["the dict without it, as get gives None anyway"])
    found = [scalars.choose(_is(key, k), scalars.literal(v), NONE) for k, v in table.items()]
    return scalars.apply("coalesce", found if default == NONE else [*found, default], "get")


def _is(key: Element, k: object) -> Element:
    return scalars.apply("is_null", [key]) if k is None else scalars.apply("eq", [key, scalars.literal(k)])
