"""Groups fold rows that are there: nothing below a group may take rows away.

A row may be there less than 0 times where ⊖ stands, or a weight that nothing keeps from being negative: in the bag
itself, in one that a ``let`` names, or in an inner bag that a variable holds. What a group makes is there once.
"""

from collections.abc import Mapping
from typing import assert_never

from attrs import evolve, field, frozen

from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.functions.natural import NO_COLUMNS, is_natural
from ripplenest.nrc.rewriting.normal import Comprehension
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
    Top,
    Weigh,
)
from ripplenest.nrc.walk import free_vars

WANTED = "no ⊖ below it, and no weight that can be negative"
POSSIBLE = [
    "⊖ above the group: what both come to, and not what is left of the rows",
    "difference(a, b), which is what is left of the rows of a",
    "monus(n, 0) as the weight",
]


@frozen
class _Signs:
    """Whether rows of a bag may be there less than 0 times, and whether those of its inner bags may."""

    rows: bool = False
    inner: bool = False

    def __or__(self, other: "_Signs") -> "_Signs":
        return _Signs(self.rows or other.rows, self.inner or other.inner)


@frozen
class _Around:
    """The bags that let-variables are, the variables whose inner bags may have such rows, and the counts among the
    fields of others."""

    lets: Mapping[str, _Signs] = field(factory=dict)
    holders: frozenset[str] = frozenset()
    counts: Mapping[str, frozenset[str]] = field(factory=dict)


def check_positive(e: Expr) -> None:
    """Law: no group of ``e`` meets a row that is there less than 0 times. Raises QueryError."""
    _signs(e, _Around())


def _signs(e: Expr, around: _Around) -> _Signs:
    match e:
        case Rel() | Pred() | Empty() | Apply():  # what labels stand for is checked where it is made
            return _Signs()
        case LetVar(name):
            return around.lets[name]
        case Weigh(count):
            return _Signs(not is_natural(count, around.counts))
        case Let(name, bound, body):
            return _signs(body, evolve(around, lets={**around.lets, name: _signs(bound, around)}))
        case For(var, source, body):
            own = _signs(source, around)
            found = _signs(body, _holding(var, source, own, around))
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
        case Group(site, _, of) | Top(site, _, of):
            if _signs(of, around).rows:
                what = "a group is of rows that are there, and some could be there less than 0 times"
                raise QueryError(what, where=f"the group {site}", wanted=WANTED, possible=POSSIBLE)
            return _Signs()
        case _:
            assert_never(e)


def _holding(var: str, source: Expr, rows: _Signs, around: _Around) -> _Around:
    holders = around.holders | {var} if rows.inner else around.holders - {var}
    made = frozenset(f.name for f in source.folds if f.fn == "count") if isinstance(source, Group) else NO_COLUMNS
    return evolve(around, holders=holders, counts={**around.counts, var: made})


def _holds(elem: Elem, around: _Around) -> bool:
    return not around.holders.isdisjoint(free_vars(elem))


def may_be_negative(c: Comprehension) -> bool:
    """Whether rows of a product of stored parts may be there less than 0 times."""
    return c.weight < 0 or not all(map(is_natural, c.times))
