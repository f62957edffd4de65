"""Functions that a view may call by name, recognised by identity. They also run on plain Python values."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, TypeVar, cast, overload

from ripplenest.nrc.arguments import kind
from ripplenest.nrc.errors import WrongValue
from ripplenest.nrc.functions.folds import MEAN, answer, halves_up
from ripplenest.nrc.functions.meanings import EXACT, rounded
from ripplenest.nrc.functions.ordering import Direction
from ripplenest.nrc.instances import fields_of
from ripplenest.nrc.types import DOUBLE
from ripplenest.nrc.values import MAX_DIGITS

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")
NAN = object()  # which every NaN stands for: one is no other to Python


@overload
def coalesce(value: T | None, other: U, /) -> T | U: ...
@overload
def coalesce(*values: T | None) -> T | None: ...
def coalesce(*values: T | None) -> T | None:
    """The first of ``values`` that is not NULL, else NULL."""
    return next((v for v in values if v is not None), None)


@overload
def decimal(x: int | Decimal, digits: int, scale: int = 0) -> Decimal: ...
@overload
def decimal(x: int | Decimal | None, digits: int, scale: int = 0) -> Decimal | None: ...
def decimal(x: int | Decimal | None, digits: int, scale: int = 0) -> Decimal | None:
    """``x`` as a decimal of at most so many ``digits``, ``scale`` of them behind the point, away from 0 where two are
    as near; NULL of NULL. Raises EvaluationError for what has more digits, WrongValue where there are no such decimals.
    Sums and products have as many digits as any of them could need, up to 38: this says that fewer are enough."""
    most = greatest(digits, scale)
    return None if x is None else rounded(x, most)


def greatest(digits: int, scale: int) -> Decimal:
    """The greatest decimal of so many digits. Raises WrongValue."""
    if not (0 < digits <= MAX_DIGITS and 0 <= scale <= digits):
        wanted, got = f"1 to {MAX_DIGITS} digits, as many or fewer behind the point", f"{digits}, {scale}"
        raise WrongValue("there are no such decimals", where="decimal", wanted=wanted, got=got)
    return Decimal((0, (9,) * digits, -scale))


def flatten(bags: Iterable[Iterable[T] | None]) -> list[T]:
    """The union of the inner bags; NULL bags add nothing. Raises WrongValue for what is no bag of bags."""
    return [row for bag in _bags(bags) if bag is not None for row in _bags(bag)]


def _bags(value: object) -> Iterable[Any]:
    if not isinstance(value, Iterable):
        raise WrongValue("not a bag of bags", where="flatten", wanted="a list of lists", got=kind(value))
    return value


def avg(values: Iterable[Any]) -> Any:
    """The average of ``values``, of those that are not NULL: a float of ints, the one nearest to the exact average of
    floats, a Decimal of Decimals with four more digits behind the point. NULL when there are none."""
    found = [v for v in values if v is not None]
    if not found:
        return None
    if not isinstance(found[0], Decimal):
        return answer("avg", [((v,), 1) for v in found], DOUBLE)
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


def top(
    n: int,
    rows: Iterable[T],
    key: Callable[[T], Any] | None = None,
    desc: bool | tuple[bool, ...] = False,
    nulls_first: bool | tuple[bool, ...] = False,
) -> list[T]:
    """The first ``n`` of ``rows`` by what ``key`` says of them, a value or a tuple of some; ``desc``: from the last
    one, for all values of a key or for each. NULL comes last, or first. In a view, rows that agree in it are in the
    order of all base values that they hold; here in the order in which they come."""
    found = list(rows)
    keys = [_several(row if key is None else key(row)) for row in found]
    for i in reversed(range(max(map(len, keys), default=0))):
        way = Direction(_way(desc, i), _way(nulls_first, i))
        own = [way.of(key[i]) for key in keys]
        order = sorted(range(len(found)), key=own.__getitem__, reverse=way.descending)
        found, keys = [found[j] for j in order], [keys[j] for j in order]
    return found[:n]


def rows_sorted(
    rows: Iterable[T],
    key: Callable[[T], Any] | None = None,
    desc: bool | tuple[bool, ...] = False,
    nulls_first: bool | tuple[bool, ...] = False,
) -> list[T]:
    """``rows`` in the order of ``top``: how a bag is shown, as a view has no order."""
    found = list(rows)
    return top(len(found), found, key, desc, nulls_first)


def _several(key: Any) -> tuple[Any, ...]:
    named = fields_of(key)
    if named is not None:
        return tuple(v for v in named.values() if not isinstance(v, list))
    return key if isinstance(key, tuple) else (key,)


def _way(flags: bool | tuple[bool, ...], i: int) -> bool:
    return flags[i] if isinstance(flags, tuple) else flags


def left_join(left: Iterable[T], right: Iterable[U], on: Callable[[T, U], object]) -> list[tuple[T, U]]:
    """The pairs for which ``on`` is true; and each row of ``left`` that has none beside None. In a view, fields of what
    is None are NULL, and its inner bags without rows."""
    found, others = [], list(right)
    for x in left:
        found += [(x, y) for y in others if on(x, y)] or [(x, cast("U", None))]
    return found


def right_join(left: Iterable[T], right: Iterable[U], on: Callable[[T, U], object]) -> list[tuple[T, U]]:
    """The left join of ``right`` and ``left``, with the rows of ``left`` first."""
    return [(x, y) for y, x in left_join(right, left, lambda y, x: on(x, y))]


def full_join(left: Iterable[T], right: Iterable[U], on: Callable[[T, U], object]) -> list[tuple[T, U]]:
    """The left join, and each row of ``right`` that has no partner beside None."""
    rows, others = list(left), list(right)
    alone = [(cast("T", None), y) for y in others if not any(on(x, y) for x in rows)]
    return left_join(rows, others, on) + alone


def difference(rows: Iterable[T] | None, others: Iterable[T] | None) -> list[T]:
    """``rows`` without as many copies of each as ``others`` has, as EXCEPT ALL; NULL equals NULL, a NULL bag has no
    rows. Raises WrongValue for what is no bag, and for rows that hold one."""
    return [row for row, is_common in _compared(rows, others, "difference") if not is_common]


def intersect(rows: Iterable[T] | None, others: Iterable[T] | None) -> list[T]:
    """Of each of ``rows`` as many copies as ``others`` has too, as INTERSECT ALL. Raises as ``difference`` does."""
    return [row for row, is_common in _compared(rows, others, "intersect") if is_common]


def _compared(rows: Iterable[T] | None, others: Iterable[T] | None, where: str) -> Iterator[tuple[T, bool]]:
    """Each of ``rows``, and whether one of ``others`` is its partner."""
    given, free = (list(_rows(bag, where)) for bag in (rows, others))
    left = Counter(_told_apart(row, where) for row in free)
    for row in given:
        own = _told_apart(row, where)
        yield row, left[own] > 0
        left[own] -= 1


def _told_apart(value: Any, where: str) -> Any:
    """What is the same of equal values: of one NaN and another, of a record and a dict with its fields."""
    named = fields_of(value)
    if named is not None:
        value = named
    match value:
        case Mapping():
            return tuple(sorted((name, _told_apart(v, where)) for name, v in value.items()))
        case tuple():
            return tuple(_told_apart(v, where) for v in value)
        case list() | set() | frozenset():
            what = f"{where} tells rows apart by all that they hold, and here is a bag"
            raise WrongValue(what, wanted="rows without bags", got=kind(value))
        case float() if value != value:  # noqa: PLR0124 - only NaN differs from itself
            return NAN
        case _:
            return value


def _rows(value: object, where: str) -> Iterable[Any]:
    if value is None:
        return ()
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise WrongValue("not a bag", where=where, wanted="two lists", got=kind(value))
    return value
