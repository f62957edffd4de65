"""Comparisons of several values in turn, as those of tuples are: (a, b) < (c, d) ⟺ a < c ∨ a = c ∧ b < d."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import reduce

from attrs import frozen

from ripplenest.nrc.rewriting.bands import SWAPPED
from ripplenest.nrc.rewriting.disjoint import disjuncts
from ripplenest.nrc.rewriting.normal import conjunction, conjuncts
from ripplenest.nrc.syntax import Call, Elem
from ripplenest.nrc.walk import read_by

STRICT = {"lt": "lt", "le": "lt", "gt": "gt", "ge": "gt"}


@frozen
class InTurn:
    """``values`` that are compared ``fn`` with ``others``: the first of each that are not equal."""

    fn: str
    values: tuple[Elem, ...]
    others: tuple[Elem, ...]

    @property
    def swapped(self) -> "InTurn":
        return InTurn(SWAPPED[self.fn], self.others, self.values)

    def towards(self, fn: str) -> "InTurn":
        """The same, in the direction of ``fn``."""
        return self if STRICT[self.fn] == STRICT[fn] else self.swapped

    def of(self, own: AbstractSet[str]) -> "InTurn | None":
        """The same, by values of ``own`` rows and others of none of these."""
        ways = (self, self.swapped)
        return next((w for w in ways if read_by(w.values) <= own and not read_by(w.others) & own), None)


def in_turn(c: Elem) -> InTurn | None:
    """What ``c`` compares so; None where it is no such comparison."""
    match c:
        case Call(fn, (a, b)) if fn in SWAPPED:
            return InTurn(fn, (a,), (b,))
        case Call("or", _):
            every = [*disjuncts(c)]
            found = (_first(way, [other for other in every if other is not way]) for way in every)
            return next((w for w in found if w is not None), None)
    return None


def _first(way: Elem, others: Sequence[Elem]) -> InTurn | None:
    """That of ``way``, if the ``others`` are asked where its sides are equal."""
    match way:
        case Call("lt" | "gt" as fn, (a, b)):
            rests = [[t for t in conjuncts(o) if t not in (Call("eq", (a, b)), Call("eq", (b, a)))] for o in others]
            if not all(len(rest) == len([*conjuncts(o)]) - 1 for rest, o in zip(rests, others, strict=True)):
                return None
            ways = [conjunction(rest) for rest in rests if rest]
            then = in_turn(reduce(lambda p, q: Call("or", (p, q)), ways)) if len(ways) == len(others) else None
            if then is not None:
                then = then.towards(fn)
                return InTurn(then.fn, (a, *then.values), (b, *then.others))
    return None
