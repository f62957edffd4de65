"""The folds: what a group makes of its rows, in one table with the type rule and the reference meaning of each.

A fold takes elements of a row, one for each ⊗-factor, and sees each row as often as it is there. Meanings are written
over values, not over the columns in which engines keep them, so that the oracle shares no accumulator with what it is
to judge. What they have in common: a row of which an argument is NULL adds nothing; nothing added is NULL, but a count
of nothing is 0; integers and decimals are exact however large they become on the way, and only an answer can be outside
its type, which is an EvaluationError. A sum of doubles is the double nearest to their exact sum, whatever their order.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, isnan, prod
from typing import Any

from attrs import frozen

from ripplenest.nrc.errors import EvaluationError, TypeMismatch, UnknownName
from ripplenest.nrc.functions.ordering import place
from ripplenest.nrc.functions.signatures import maybe_null
from ripplenest.nrc.types import BOOL, DOUBLE, LONG, Base
from ripplenest.nrc.values import INT_BITS, MAX_DIGITS, NAN, in_range

Occurrences = Iterable[tuple[tuple[Any, ...], int]]  # the arguments of a row, and how often it is there
EXACT_KINDS = ("int", "long", "decimal")
SUMMED = (*EXACT_KINDS, "double")
ROOM = 10  # digits that a sum of decimals has more than what it adds, as in Spark
FACTORED = ("sum", "avg")  # the folds of a product of arguments
ADDED = (*FACTORED, "count")  # those that add up something of each row
EXTREME = ("min", "max")  # those that one row answers, which are kept in order
DIGITS = {"int": 10, "long": 20}  # of integers
LIMB = 10 ** (MAX_DIGITS - 1)  # sums of more digits are told by digits to this base
MEAN = 4  # digits that an average of decimals has more behind the point


@frozen
class FoldFunction:
    """One fold. ``rule`` gives the type of the answer, or None when the arguments do not fit ``takes``."""

    name: str
    takes: tuple[str, ...]
    rule: Callable[[Sequence[Base]], Base | None]
    meaning: Callable[[Occurrences, Base], object]


def result_type(fn: str, args: Sequence[Base]) -> Base:
    """The type of the answer of ``fn`` over arguments of these types. Raises UnknownName, TypeMismatch."""
    fold = _look_up(fn)
    found = fold.rule(args)
    if found is None:
        got = f"({', '.join(map(str, args))})"
        raise TypeMismatch(f"{fn} of a group does not take these types", got=got, possible=list(fold.takes))
    return found


def answer(fn: str, rows: Occurrences, t: Base) -> object:
    """What ``fn`` makes of rows, none of which is there less than 0 times, as a ``t``. Raises EvaluationError for an
    answer beyond its type."""
    return _look_up(fn).meaning(rows, t)


def _look_up(fn: str) -> FoldFunction:
    if fn not in FOLDS:
        raise UnknownName("there is no such fold", got=ascii(fn), possible=FOLDS)
    return FOLDS[fn]


# ---------------------------------------------------------------- the table


def _count_type(args: Sequence[Base]) -> Base | None:
    return LONG if len(args) <= 1 else None


def _count(rows: Occurrences, t: Base) -> object:
    return within(sum(n for args, n in rows if None not in args), t)


def _sum_type(args: Sequence[Base]) -> Base | None:
    """long of integers, double of doubles, which have no factors; else a decimal with the scale of the product and room
    for its digits, at most 38."""
    if [t.kind for t in args] == ["double"]:
        return maybe_null(DOUBLE, True)
    if not args or any(t.kind not in EXACT_KINDS for t in args):
        return None
    if all(t.kind != "decimal" for t in args):
        return maybe_null(LONG, True)
    digits, scale = _product(args)
    return Base("decimal", True, min(MAX_DIGITS, digits + ROOM), scale) if scale <= MAX_DIGITS else None


def _product(args: Sequence[Base]) -> tuple[int, int]:
    """The digits of a product of decimals, and how many of them are behind the point."""
    digits = sum(t.precision if t.kind == "decimal" else DIGITS[t.kind] for t in args)
    return digits + len(args) - 1, sum(t.scale for t in args)


def kept_sum(t: Base) -> Base | None:
    """What sums of values of type ``t``, and of products that they are factors of, are kept as, with as many digits
    behind the point; None for what is not added up exactly."""
    return Base("decimal", True, MAX_DIGITS, t.scale) if t.kind in EXACT_KINDS else None


def has_room(factors: Sequence[Base]) -> bool:
    """Whether any number that 64 bits count of products of exact values of these types add up to at most 38 digits."""
    return _most(factors) <= int(10**MAX_DIGITS)


def can_be_told(factors: Sequence[Base]) -> bool:
    """Whether any such sum can be told by values of ``kept_sum`` of each factor, ``LIMB`` in those behind the first."""
    return has_room(factors) or (len(factors) > 1 and _most(factors) <= LIMB ** len(factors))


def _most(factors: Sequence[Base]) -> int:
    """What no sum of as many products as 64 bits count is beyond."""
    return int(prod(map(bound, factors)) * 2**63)


def bound(t: Base) -> int:
    """What no value of an exact type is beyond, without its point."""
    return int(10**t.precision) if t.kind == "decimal" else int(2 ** (INT_BITS[t.kind] - 1))


def _sum(rows: Occurrences, t: Base) -> object:
    if t.kind == "double":
        return _reals(rows, False)
    added = [n * prod(map(Fraction, args)) for args, n in rows if None not in args]
    if not added:
        return None
    total = int(sum(added) * 10**t.scale)  # the scales of the factors are that of the answer
    return unscaled(total, t)


def _avg_type(args: Sequence[Base]) -> Base | None:
    """double; of a decimal one with 4 more digits behind the point, as in Spark, where there is room for them."""
    if [t.kind for t in args] == ["double"]:
        return maybe_null(DOUBLE, True)
    if not args or any(t.kind not in EXACT_KINDS for t in args):
        return None
    if all(t.kind != "decimal" for t in args):
        return maybe_null(DOUBLE, True)
    digits, behind = _product(args)
    scale = min(behind + MEAN, MAX_DIGITS)
    return Base("decimal", True, min(MAX_DIGITS, max(digits + MEAN, scale)), scale) if behind <= MAX_DIGITS else None


def _avg(rows: Occurrences, t: Base) -> object:
    rows = list(rows)
    if any(isinstance(args[0], float) for args, _ in rows):
        return _reals(rows, True)
    added = [(prod(map(Fraction, args)) * n, n) for args, n in rows if None not in args and n]
    if not added:
        return None
    digits = int(sum(x for x, _ in added) * 10**t.scale)
    return mean(digits, sum(n for _, n in added), t.scale, t)


def _reals(rows: Occurrences, divided: bool) -> float | None:
    """The double nearest to the exact sum, or to the exact average."""
    found = [(args[0], n) for args, n in rows if args[0] is not None and n]
    if not found:
        return None
    if any(isnan(x) for x, _ in found) or {inf, -inf} <= {x for x, _ in found}:
        return NAN
    if unending := {x for x, _ in found} & {inf, -inf}:
        return float(unending.pop())
    total = sum(n * Fraction(x) for x, n in found)
    try:
        return float(total / sum(n for _, n in found) if divided else total) + 0.0
    except OverflowError:
        return inf if total > 0 else -inf


def mean(total: int, n: int, scale: int, t: Base) -> object:
    """The average of ``n`` values whose sum has the digits ``total``, ``scale`` of them behind the point: of integers
    the sum as a double over ``n`` as one, of decimals rounded half up. Raises EvaluationError beyond the type."""
    if t.kind == "double":
        return float(total) / float(n)
    return unscaled(halves_up(total * 10 ** (t.scale - scale), n), t)


def halves_up(n: int, d: int) -> int:
    """n / d, d > 0, rounded to the nearest integer; halves away from 0."""
    whole = (2 * abs(n) + d) // (2 * d)
    return whole if n >= 0 else -whole


def _bool_type(args: Sequence[Base]) -> Base | None:
    return BOOL if all(t.kind == "bool" for t in args) and len(args) <= 1 else None


def _any(rows: Occurrences, t: Base) -> object:  # noqa: ARG001
    return any(n and (not args or args[0] is True) for args, n in rows)


def _all(rows: Occurrences, t: Base) -> object:  # noqa: ARG001
    return all(not n or args[0] is True for args, n in rows)


def _extreme_type(args: Sequence[Base]) -> Base | None:
    return maybe_null(args[0], True) if len(args) == 1 else None


def _extreme(pick: Callable[..., Any]) -> Callable[[Occurrences, Base], object]:
    """The first or the last value that is not NULL."""
    return lambda rows, _: pick((args[0] for args, n in rows if n and args[0] is not None), key=place, default=None)


def unscaled(n: int, t: Base) -> int | Decimal:
    """The sum of type ``t`` whose digits without a point are ``n``. Raises EvaluationError beyond the type."""
    if t.kind == "long":
        return within(n, t)
    if abs(n) >= 10**t.precision:
        raise EvaluationError("a sum or an average beyond its type", wanted=f"at most {t.precision} digits: {t}")
    return Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -t.scale))


def within(n: int, t: Base) -> int:
    """``n``. Raises EvaluationError when it is no ``t``."""
    if not in_range(n, t.kind):
        raise EvaluationError(f"{t.kind} overflow", wanted=f"an integer of {INT_BITS[t.kind]} bits")
    return n


_ENTRIES = (
    FoldFunction("count", ("nothing, for every row", "anything, for rows where it is not NULL"), _count_type, _count),
    FoldFunction("sum", ("int, long or decimal, and factors like it", "double"), _sum_type, _sum),
    FoldFunction("avg", ("int, long or decimal, and factors like it", "double"), _avg_type, _avg),
    FoldFunction("any", ("nothing, for some row", "bool, for some row of which it is true"), _bool_type, _any),
    FoldFunction("all", ("bool, for no row of which it is not true",), lambda a: _bool_type(a) if a else None, _all),
    FoldFunction("min", ("a base value, of which NULL is none",), _extreme_type, _extreme(min)),
    FoldFunction("max", ("a base value, of which NULL is none",), _extreme_type, _extreme(max)),
)

FOLDS: dict[str, FoldFunction] = {entry.name: entry for entry in _ENTRIES}
