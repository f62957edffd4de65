"""Comparisons of tuples, which Python orders by their first parts that are not equal.

    (a, b) < (c, d)  ⟶  a < c or a == c and b < d          (a, b) == (c, d)  ⟶  a == c and b == d
"""

import ast
from collections.abc import Sequence
from itertools import pairwise

from ripplenest.nrc.errors import TypeMismatch

ORDERS = {ast.Lt: ast.Lt, ast.LtE: ast.Lt, ast.Gt: ast.Gt, ast.GtE: ast.Gt}
"""What the first parts are compared by, if there are others behind them."""


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
        got = " and ".join(str(len(xs)) for xs in every)
        raise TypeMismatch("tuples of different lengths are compared", wanted="as many parts in each", got=got)
    found = [_two(op, xs, ys) for op, (xs, ys) in zip(node.ops, pairwise(every), strict=True)]
    return _located(_all(ast.And(), found), node)


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
