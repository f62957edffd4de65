"""``difference(xs, ys)`` and ``intersect(xs, ys)`` in Python views, and the operators of sets, which are bags that have
each row once."""

import ast
from collections.abc import Sequence
from typing import TypeGuard

from attrs import evolve

from ripplenest.nrc.errors import Unsupported
from ripplenest.nrc.surface.python import aggregates, constants, hints, scalars
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import BagTerm, Element, Reading, Untyped, alike, is_bag, plus
from ripplenest.nrc.surface.sets import combined


def combine(word: str, args: Sequence[Reading], scope: Scope) -> BagTerm:
    """What ``word`` makes of two bags, one of which may be ``[]``. Raises Unsupported, TypeMismatch."""
    if len(args) != 2:
        raise hints.unsupported(f"{word} with {len(args)} arguments", f"`{word}(xs, ys)`, of two bags")
    left, right = alike(args)
    return combined(word, left, right, scope.site, scope.session.names)


def operated(op: ast.operator, left: Reading, right: Reading, scope: Scope) -> BagTerm | None:
    """``&``, ``-`` and ``|`` of two sets, which is a set; None for other operators, and for bags of which none is a set
    or it is not asked for.

    Raises Unsupported for ``-`` of a set and a bag, which counts rows here and is an error in Python.
    """
    left, right = _sets([left, right])
    if _is_set(left) and _is_set(right):
        match op:
            case ast.BitOr():
                return aggregates.distinct(plus(alike([left, right]), "the two sides of |"), scope)
            case ast.BitAnd():
                return evolve(combine("intersect", [left, right], scope), is_set=True)
            case ast.Sub():
                return _without(left, right, scope)
            case ast.BitXor():
                both = [_without(left, right, scope), _without(right, left, scope)]
                return evolve(plus(both, "the two sides of ^"), is_set=True)
    if isinstance(op, ast.Sub) and (_is_set(left) or _is_set(right)):
        what = "`-` between a set and a bag: it counts rows, and those that only the second has would be there -1 times"
        possible = ["`set(xs) - set(ys)`", "`rn.difference(xs, ys)`, which takes nothing away that is not there"]
        raise Unsupported(what, wanted="two sets", possible=possible)
    return None


def _sets(sides: Sequence[Reading]) -> Sequence[Reading]:
    """``sides``, of which ``set()`` beside a set is one of its rows."""
    if Untyped("[]") not in sides or not any(map(_is_set, sides)):
        return sides
    bags = zip(sides, alike(sides), strict=True)
    return [evolve(bag, is_set=True) if side == Untyped("[]") else side for side, bag in bags]


def _without(left: BagTerm, right: BagTerm, scope: Scope) -> BagTerm:
    """left - right, of sets."""
    return evolve(combine("difference", [left, right], scope), is_set=True)


def compared(op: ast.cmpop, sides: Sequence[Reading], scope: Scope) -> Element | None:
    """``==``, ``!=``, ``<=``, ``<``, ``>=`` and ``>`` of two sets: whether one has what the other has not. None for all
    else. Raises TypeMismatch for sets of different rows."""
    left, right = _sets(sides)
    if isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) or not (_is_set(left) and _is_set(right)):
        return None
    plus([left, right], "the two sets that are compared")
    others, lacking = (_no_row(_without(a, b, scope), scope) for a, b in ((left, right), (right, left)))
    match op:
        case ast.LtE():
            return others
        case ast.GtE():
            return lacking
        case ast.Eq():
            return scalars.apply("and", [others, lacking])
        case ast.NotEq():
            return _not(scalars.apply("and", [others, lacking]))
        case ast.Lt():
            return scalars.apply("and", [others, _not(lacking)])
        case ast.Gt():
            return scalars.apply("and", [lacking, _not(others)])
    return None


def _no_row(rows: BagTerm, scope: Scope) -> Element:
    return _not(aggregates.exists(rows, scope))


def _not(truth: Reading) -> Element:
    return scalars.apply("not", [truth])


def method(node: ast.Call, name: str, receiver: Reading, scope: Scope) -> Reading | None:
    """``xs.issubset(ys)``, ``xs.union(ys)`` and others of a set, with any bag; None for all else."""
    if not _is_set(receiver) or len(node.args) != 1 or node.keywords:
        return None
    _, other = constants.beside_bags([receiver, aggregates.listed(node.args[0], scope)], node, scope)
    if is_bag(other):
        other = aggregates.distinct(other, scope)
    if (op := COMPARISONS.get(name)) is not None:
        return compared(op, [receiver, other], scope)
    if (operator := OPERATORS.get(name)) is not None:
        return operated(operator, receiver, other, scope)
    if name == "isdisjoint":
        return _no_row(combine("intersect", [receiver, other], scope), scope)
    return None


COMPARISONS: dict[str, ast.cmpop] = {"issubset": ast.LtE(), "issuperset": ast.GtE()}
OPERATORS: dict[str, ast.operator] = {
    "union": ast.BitOr(), "intersection": ast.BitAnd(), "difference": ast.Sub(), "symmetric_difference": ast.BitXor(),
}  # fmt: skip


def _is_set(reading: Reading) -> TypeGuard[BagTerm]:
    return isinstance(reading, BagTerm) and reading.is_set
