"""Parts of strings, ``s[1:3]``, ``s[-2:]``: bounds are constants, as in Python, where places outside hold nothing."""

import ast

from ripplenest.nrc.errors import Unsupported
from ripplenest.nrc.surface.python import hints, scalars
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import Element
from ripplenest.nrc.syntax import Lit
from ripplenest.nrc.types import INT

FARTHEST = 1 << 30  # a place, and the length of a text: their sum still has 32 bits
POSSIBLE = "s[a:b], s[:b], s[a:], s[-n:] and s[a:-n] with constants"


def sliced(text: Element, place: ast.Slice, scope: Scope) -> Element:
    """s[a:b] = substring(s, a + 1, b - a), of which a may be from the end; the length says where b is that is from it.

    Raises Unsupported for a step, for bounds that are no constants, and for one from the end before one that is not.
    """
    lower, upper = (None if node is None else _bound(node, scope) for node in (place.lower, place.upper))
    start = lower or 0
    if place.step is not None or (start < 0 <= (-1 if upper is None else upper)):
        raise Unsupported("a view cannot contain such a part of a string", possible=[POSSIBLE])
    if upper is not None and (upper < 0) == (start < 0):
        return _substring(text, start, _int(max(upper - start, 0)))
    if upper is None:
        return _substring(text, start, _int(FARTHEST))
    whole = scalars.apply("length", [text])
    return _substring(text, start, scalars.apply("monus", [whole, _int(start - upper)]))


def _substring(text: Element, start: int, size: Element) -> Element:
    return scalars.apply("substring", [text, _int(start if start < 0 else start + 1), size])


def _int(n: int) -> Element:
    return Element(Lit(n, INT), INT)


def _bound(node: ast.expr, scope: Scope) -> int:
    with scope.located(node):
        match scalars.settle(scope.read(node)):
            case Element(Lit(int() as n)) if not isinstance(n, bool) and abs(n) < FARTHEST:
                return n
        raise hints.unsupported("a bound of a string that is no constant", POSSIBLE)
