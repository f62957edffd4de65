"""``difference(xs, ys)`` and ``intersect(xs, ys)`` in Python views, and the operators of sets, which are bags that have
each row once."""

import ast
from collections.abc import Sequence
from typing import TypeGuard

from attrs import evolve

from ripplenest.nrc.errors import Unsupported
from ripplenest.nrc.surface.python import aggregates, hints
from ripplenest.nrc.surface.python.scope import Scope
from ripplenest.nrc.surface.readings import BagTerm, Reading, alike, plus
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
    if _is_set(left) and _is_set(right):
        match op:
            case ast.BitOr():
                return aggregates.distinct(plus(alike([left, right]), "the two sides of |"), scope)
            case ast.BitAnd():
                return evolve(combine("intersect", [left, right], scope), is_set=True)
            case ast.Sub():
                return evolve(combine("difference", [left, right], scope), is_set=True)
    if isinstance(op, ast.Sub) and (_is_set(left) or _is_set(right)):
        what = "`-` between a set and a bag: it counts rows, and those that only the second has would be there -1 times"
        possible = ["`set(xs) - set(ys)`", "`rn.difference(xs, ys)`, which takes nothing away that is not there"]
        raise Unsupported(what, wanted="two sets", possible=possible)
    return None


def _is_set(reading: Reading) -> TypeGuard[BagTerm]:
    return isinstance(reading, BagTerm) and reading.is_set
