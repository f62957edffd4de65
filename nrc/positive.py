"""Groups fold rows that are there: nothing below a group may take rows away.

A row may be there less than 0 times where ⊖ stands: in the bag itself, in one that a ``let`` names, or in an inner bag
that a variable holds. What a group makes is there once.
"""

from collections.abc import Mapping
from typing import assert_never

from attrs import field, frozen

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.syntax import (
    Apply,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    Group,
    Let,
    LetVar,
    Neg,
    Plus,
    Pred,
    Product,
    Rel,
    Sng,
    SngBag,
)
from ripplenest.nrc.walk import free_vars

POSSIBLE = ["⊖ above the group: what both come to, and not what is left of the rows"]


@frozen
class _Signs:
    """Whether rows of a bag may be there less than 0 times, and whether those of its inner bags may."""

    rows: bool = False
    inner: bool = False

    def __or__(self, other: "_Signs") -> "_Signs":
        return _Signs(self.rows or other.rows, self.inner or other.inner)


@frozen
class _Around:
    """The bags that let-variables are, and the variables whose inner bags may have such rows."""

    lets: Mapping[str, _Signs] = field(factory=dict)
    holders: frozenset[str] = frozenset()


def check_positive(e: Expr) -> None:
    """Law: no group of ``e`` meets a row that is there less than 0 times. Raises QueryError."""
    _signs(e, _Around())


def _signs(e: Expr, around: _Around) -> _Signs:
    match e:
        case Rel() | Pred() | Empty() | Apply():  # what labels stand for is checked where it is made
            return _Signs()
        case LetVar(name):
            return around.lets[name]
        case Let(name, bound, body):
            return _signs(body, _Around({**around.lets, name: _signs(bound, around)}, around.holders))
        case For(var, source, body):
            own = _signs(source, around)
            found = _signs(body, _holding(var, own, around))
            return _Signs(own.rows or found.rows, found.inner)
        case Sng(elem):
            return _Signs(inner=_holds(elem, around))
        case SngBag(_, body):
            own = _signs(body, around)
            return _Signs(inner=own.rows or own.inner)
        case Flatten(of):
            own = _signs(of, around)
            return _Signs(own.rows or own.inner, own.inner)
        case Product(left, right) | Plus(left, right):
            return _signs(left, around) | _signs(right, around)
        case Neg(of):
            return _Signs(True, _signs(of, around).inner)
        case Group(site, _, of):
            if _signs(of, around).rows:
                what = "a group folds rows that are there, and some could be there less than 0 times"
                raise QueryError(what, where=f"the group {site}", wanted="no ⊖ below it", possible=POSSIBLE)
            return _Signs()
        case _:
            assert_never(e)


def _holding(var: str, rows: _Signs, around: _Around) -> _Around:
    holders = around.holders | {var} if rows.inner else around.holders - {var}
    return _Around(around.lets, holders)


def _holds(elem: Elem, around: _Around) -> bool:
    return not around.holders.isdisjoint(free_vars(elem))
