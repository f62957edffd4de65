"""Weights, and bags compared row by row, as text: ``weigh(t)``, ``difference(e₁, e₂)``, ``intersect(e₁, e₂)``.

``show`` prints a weight, and a difference as the group that it stands for.
"""

from collections.abc import Sequence

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.readings import BagTerm, Element, Reading, Untyped, alike
from ripplenest.nrc.surface.sets import combined, weighed
from ripplenest.nrc.surface.text.scope import Scope


def weigh(count: Element) -> BagTerm:
    """w(t)"""
    return weighed(count)


def combine(word: str, sides: Sequence[Reading], scope: Scope) -> BagTerm:
    """What ``word`` makes of two bags, one of which may be ``[]``. Raises TypeMismatch."""
    if len(sides) != 2:
        raise TypeMismatch(f"{word} takes two bags", got=f"{len(sides)} arguments")
    if all(isinstance(s, Untyped) for s in sides):
        raise TypeMismatch("[] has no type here", possible=["∅[long]", "a bag beside it"])
    left, right = alike(sides)
    return combined(word, left, right, scope.site, scope.session.names)
