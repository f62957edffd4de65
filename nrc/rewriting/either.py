"""Bounds (``bands.py``) that an ``or`` says, whichever way it is true: of a < p or a = p and b < q, a is at most p."""

from collections.abc import Iterable, Iterator

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.normal import conjuncts
from ripplenest.nrc.syntax import Call, Elem

Said = tuple[Elem, Elem, bool]  # that a is at most, or at least, b


def of_each(conditions: Iterable[Elem]) -> Iterator[tuple[Elem, Elem, bool, Elem]]:
    """(a, b, upper, comparison) as ``bands.compared`` has it, of what all ways of an ``or`` say by columns as they are.

    Law: where the condition is true, the comparison is.
    """
    for cond in conditions:
        first, *others = ([*_said(conjuncts(way))] for way in disjuncts(cond))
        for own, other, upper in first if others else ():
            if all((own, other, upper) in said for said in others):
                yield own, other, upper, Call("le" if upper else "ge", (own, other))


def _said(conditions: Iterable[Elem]) -> Iterator[Said]:
    for cond in conditions:
        match cond:
            case Call("eq", (a, b)):
                yield from ((own, other, upper) for own, other in ((a, b), (b, a)) for upper in (True, False))
            case Call(fn, (a, b)) if fn in SWAPPED:
                yield a, b, fn in ("lt", "le")
                yield b, a, SWAPPED[fn] in ("lt", "le")
