"""Which products are made pair by pair by who joins by equalities alone, as jobs of a cluster do.

This process puts what is compared in order, and finds what lies between two values of it (``vector/bands.py``,
``vector/windows.py``), or joins by what is computed of rows and can fail (``vector/computed.py``).
"""

from collections.abc import Callable, Sequence

from ripplenest.plan.product import Op, Product, Scalar, Step, sources_of

PAIRS = 1 << 20  # of rows of two sources, which jobs make and ask in a second,
CROWD = 64  # and of each row with how many, on average: joins of few are what jobs are for
Crowd = Callable[[int, Sequence[int]], float]  # of a source by columns: how many rows have the key of a row, on average


def in_pairs(p: Product, sizes: Sequence[int], crowd: Crowd) -> bool:
    """Whether rows of a source are each asked of many of those before it, and most in vain; ``sizes`` by source."""
    before = 0
    for step in p.steps:
        own = sizes[step.source]
        if own > CROWD and before * own > PAIRS:
            each = _asked_of(step, own, crowd)
            if each > CROWD and before * each > PAIRS:
                return True
        before = max(before, own)
    return False


def _asked_of(step: Step, size: int, crowd: Crowd) -> float:
    """With how many rows of its source each of those before it is compared."""
    if not joins(step):
        return size
    return crowd(step.source, [k.column for k in step.keys]) if step.keys and _compares(step) else 1.0


def joins(step: Step) -> bool:
    """Whether an equality says which rows are joined: of what is looked up, or of what is computed of both sides."""
    is_looked_up = bool(step.via or (step.place and step.keys))
    return is_looked_up or any(_equates(c, step.source) for c in step.ready)


def _equates(condition: Scalar, source: int) -> bool:
    """Whether something of ``source`` alone is to equal something of others alone."""
    match condition:
        case Op("eq" | "same", (a, b)):
            sides = sources_of(a), sources_of(b)
            return {source} in sides and all(sides) and not sides[0] & sides[1]
    return False


def _compares(step: Step) -> bool:
    """Whether more than equalities says which of them are."""
    asked = (*step.ready, *step.guarded)
    return any(len(sources_of(c)) > 1 and not _equates(c, step.source) for c in asked)
