"""Comparisons of tuples, which Python orders by their first parts that are not equal.

    (a, b) < (c, d)  ⟶  a < c or a == c and b < d          (a, b) == (c, d)  ⟶  a == c and b == d
    (a, b) in rows   ⟶  exists [True for p, q in rows if p == a and q == b]
"""

import ast
from collections.abc import Sequence
from itertools import pairwise

from ripplenest.nrc.errors import TypeMismatch

ORDERS = {ast.Lt: ast.Lt, ast.LtE: ast.Lt, ast.Gt: ast.Gt, ast.GtE: ast.Gt}
"""What the first parts are compared by, if there are others behind them."""
ROWS = "(rows)"  # which is no name of a user's, as those of the parts are none


def compared(node: ast.Compare) -> ast.expr | None:
    """``node`` as comparisons of what is in the tuples; None where other things are compared, or in another way.

    Raises TypeMismatch for tuples of different lengths.
    """
    sides = [node.left, *node.comparators]
    if not all(isinstance(op, (*ORDERS, ast.Eq, ast.NotEq)) for op in node.ops):
        return None
    every = [side.elts for side in sides if isinstance(side, ast.Tuple) and side.elts]
    if len(every) < len(sides) or any(isinstance(x, ast.Starred) for xs in every for x in xs):
        return None
    if len({len(xs) for xs in every}) > 1:
        raise of_lengths(*map(len, every))
    found = [_two(op, xs, ys) for op, (xs, ys) in zip(node.ops, pairwise(every), strict=True)]
    return _located(_all(ast.And(), found), node)


def of_lengths(*found: int) -> TypeMismatch:
    got = " and ".join(map(str, found))
    return TypeMismatch("tuples of different lengths are compared", wanted="as many parts in each", got=got)


def member(node: ast.Compare) -> list[ast.expr] | None:
    """The parts of a tuple, where it is asked whether it is one of some rows."""
    match node:
        case ast.Compare(ast.Tuple(elts), [ast.In() | ast.NotIn()], [_]):
            return None if any(isinstance(x, ast.Starred) for x in elts) else elts or None
    return None


def equal_rows(parts: Sequence[ast.expr], node: ast.expr) -> ast.expr:
    """A row for each of ``ROWS`` that has these ``parts``."""
    names = [ast.Name(f"({n})", ast.Load()) for n in range(len(parts))]
    equal = [_one(ast.Eq(), name, part) for name, part in zip(names, parts, strict=True)]
    generator = ast.comprehension(ast.Tuple([*names], ast.Store()), ast.Name(ROWS, ast.Load()), equal, 0)
    return _located(ast.ListComp(ast.Constant(True), [generator]), node)


def _two(op: ast.cmpop, xs: Sequence[ast.expr], ys: Sequence[ast.expr]) -> ast.expr:
    own, rest = _one(op, xs[0], ys[0]), (xs[1:], ys[1:])
    match op:
        case _ if not rest[0]:
            return own
        case ast.Eq():
            return ast.BoolOp(ast.And(), [own, _two(op, *rest)])
        case ast.NotEq():
            return ast.BoolOp(ast.Or(), [own, _two(op, *rest)])
    before, equal = _one(ORDERS[type(op)](), xs[0], ys[0]), _one(ast.Eq(), xs[0], ys[0])
    return ast.BoolOp(ast.Or(), [before, ast.BoolOp(ast.And(), [equal, _two(op, *rest)])])


def _one(op: ast.cmpop, x: ast.expr, y: ast.expr) -> ast.expr:
    return ast.Compare(x, [op], [y])


def _all(op: ast.boolop, found: Sequence[ast.expr]) -> ast.expr:
    return found[0] if len(found) == 1 else ast.BoolOp(op, [*found])


def _located(found: ast.expr, node: ast.expr) -> ast.expr:
    """``found`` where ``node`` stands, but for what was written there."""
    for n in ast.walk(found):
        if isinstance(n, ast.expr) and not hasattr(n, "lineno"):
            ast.copy_location(n, node)
    return found
