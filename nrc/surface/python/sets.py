"""``difference(xs, ys)`` and ``intersect(xs, ys)`` in Python views."""

from collections.abc import Sequence

from ripplenest.nrc.surface.python import hints
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import BagTerm, Reading, alike
from ripplenest.nrc.surface.sets import combined


def combine(word: str, args: Sequence[Reading], scope: Scope) -> BagTerm:
    """What ``word`` makes of two bags, one of which may be ``[]``. Raises Unsupported, TypeMismatch."""
    if len(args) != 2:
        raise hints.unsupported(f"{word} with {len(args)} arguments", f"`{word}(xs, ys)`, of two bags")
    left, right = alike(args)
    return combined(word, left, right, scope.site, scope.session.names)
