"""Functions that a view may call by name, recognised by identity. They also run on plain Python values."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeVar, cast

from ripplenest.nrc.arguments import kind
from ripplenest.nrc.errors import WrongValue
from ripplenest.nrc.folds import MEAN, halves_up
from ripplenest.nrc.meanings import EXACT

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")


def coalesce(*values: T | None) -> T | None:
    """The first of ``values`` that is not NULL, else NULL."""
    return next((v for v in values if v is not None), None)


def flatten(bags: Iterable[Iterable[T] | None]) -> list[T]:
    """The union of the inner bags; NULL bags add nothing. Raises WrongValue for what is no bag of bags."""
    return [row for bag in _bags(bags) if bag is not None for row in _bags(bag)]


def _bags(value: object) -> Iterable[Any]:
    if not isinstance(value, Iterable):
        raise WrongValue("not a bag of bags", where="flatten", wanted="a list of lists", got=kind(value))
    return value


def avg(values: Iterable[Any]) -> Any:
    """The average of ``values``, of those that are not NULL: a float of ints, a Decimal of Decimals with four more
    digits behind the point. NULL when there are none."""
    found = [v for v in values if v is not None]
    if not found:
        return None
    if not isinstance(found[0], Decimal):
        return float(sum(found)) / len(found)
    scale = max(-int(v.as_tuple().exponent) for v in found)
    digits = sum(int(v.scaleb(scale, EXACT)) for v in found)
    return Decimal(halves_up(digits * 10**MEAN, len(found))).scaleb(-scale - MEAN, EXACT)


def count(values: Iterable[object]) -> int:
    """How many of ``values`` are not NULL."""
    return sum(v is not None for v in values)


def exists(rows: Iterable[object]) -> bool:
    """Whether there is a row."""
    return any(True for _ in rows)


def group_by(rows: Iterable[T], key: Callable[[T], K]) -> list[tuple[K, list[T]]]:
    """Each key of rows, NULL too, with the rows that have it."""
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return list(found.items())


def left_join(left: Iterable[T], right: Iterable[U], on: Callable[[T, U], object]) -> list[tuple[T, U]]:
    """The pairs for which ``on`` is true; and each row of ``left`` that has none beside one that is not there. In a
    view that row has NULL for every base value and inner bags without rows; here it is None."""
    found, others = [], list(right)
    for x in left:
        found += [(x, y) for y in others if on(x, y)] or [(x, cast("U", None))]
    return found


def right_join(left: Iterable[T], right: Iterable[U], on: Callable[[T, U], object]) -> list[tuple[T, U]]:
    """The left join of ``right`` and ``left``, with the rows of ``left`` first."""
    return [(x, y) for y, x in left_join(right, left, lambda y, x: on(x, y))]


def full_join(left: Iterable[T], right: Iterable[U], on: Callable[[T, U], object]) -> list[tuple[T, U]]:
    """The left join, and each row of ``right`` that has no partner beside one that is not there."""
    rows, others = list(left), list(right)
    alone = [(cast("T", None), y) for y in others if not any(on(x, y) for x in rows)]
    return left_join(rows, others, on) + alone
