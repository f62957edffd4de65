"""How the rows of a term are shown, by path: what the reference interpreter gives is sorted as a database shows it.

An order has no meaning, and values do not carry it. So the paths are followed through the term: from where a bag is
made, ``sng_ι(e sorted o)``, through variables and fields, to where it comes out.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from ripplenest.nrc.printing.shown import INSIDE, Path, Shown, agreed
from ripplenest.nrc.syntax import (
    Apply,
    Call,
    Elem,
    Empty,
    Expr,
    Flatten,
    For,
    Group,
    InL,
    IsSite,
    Let,
    LetVar,
    Lit,
    Neg,
    OutL,
    Plus,
    Pred,
    Product,
    Proj,
    Query,
    Rel,
    Sng,
    SngBag,
    Sorting,
    Top,
    Tuple,
    Var,
    Weigh,
)
from ripplenest.nrc.types import Bag, Record, Type

Orders = frozenset[tuple[Path, tuple[Sorting, ...]]]  # by path in a value, one of the ways in which a bag is sorted
Env = Mapping[str, Orders]
NONE: Orders = frozenset()


def shown(query: Query) -> Shown:
    """By path how the rows of ``query`` are shown; those of all of them at ()."""
    return agreed([((), query.sorted), *_below((INSIDE,), _rows(query.body, {}, {}))])


def _rows(e: Expr, pi: Env, gamma: Env) -> Orders:
    """The orders in rows of ``e``."""
    match e:
        case Rel(_, row):
            return frozenset(_unsorted(row, ()))
        case LetVar(name):
            return gamma[name]
        case Let(name, bound, body):
            return _rows(body, pi, {**gamma, name: _rows(bound, pi, gamma)})
        case For(var, source, body):
            return _rows(body, {**pi, var: _rows(source, pi, gamma)}, gamma)
        case Sng(t):
            return _value(t, pi)
        case SngBag(_, body, order):
            return frozenset([((), order), *_below((INSIDE,), _rows(body, pi, gamma))])
        case Flatten(of):
            return _in(INSIDE, _rows(of, pi, gamma))
        case Product(left, right):
            pairs = (("_1", left), ("_2", right))
            return frozenset(o for name, side in pairs for o in _below((name,), _rows(side, pi, gamma)))
        case Plus(left, right):
            return _rows(left, pi, gamma) | _rows(right, pi, gamma)
        case Neg(of):
            return _rows(of, pi, gamma)
        case Pred() | Weigh() | Empty() | Group() | Top():  # whose rows hold no bags
            return NONE
        case Apply():
            raise AssertionError("terms of labels are not shown")
        case _:
            assert_never(e)


def _value(t: Elem, pi: Env) -> Orders:
    """The orders in ``t``."""
    match t:
        case Var(name):
            return pi[name]
        case Proj(of, name):
            return _in(name, _value(of, pi))
        case Tuple(fields):
            return frozenset(o for name, inner in fields for o in _below((name,), _value(inner, pi)))
        case Lit() | Call() | InL() | OutL() | IsSite():
            return NONE
        case _:
            assert_never(t)


def _unsorted(row: Type, path: Path) -> Iterator[tuple[Path, tuple[Sorting, ...]]]:
    """Every bag in rows of a relation."""
    match row:
        case Record(fields):
            for name, inner in fields:
                yield from _unsorted(inner, (*path, name))
        case Bag(inner):
            yield path, ()
            yield from _unsorted(inner, (*path, INSIDE))


def _below(path: Path, orders: Orders) -> Iterable[tuple[Path, tuple[Sorting, ...]]]:
    return (((*path, *own), order) for own, order in orders)


def _in(name: str, orders: Orders) -> Orders:
    """Those behind the field ``name``."""
    return frozenset((path[1:], order) for path, order in orders if path[:1] == (name,))
