"""Kernels of numbers: exact, checked, and canonical where a double could be NaN or -0.0.

Arrow's own ``add`` wraps around, and its checked one says that some row failed but not which. So integers are computed
here with wrap-around, and compared with what cannot be.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.rows import arrow_type
from ripplenest.nrc.functions.meanings import BEYOND_TYPE, ENDS
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import INT_BITS, MAX_DIGITS, NAN
from ripplenest.vector.column import Column, Mask, either, failed, nulls

Long = npt.NDArray[np.int64]
Wrapped = Callable[..., tuple[Long, Mask]]  # the low 64 bits of a result, and where these are not all of it

BY_ZERO = "division by zero"
NO_CAST = "a cast that fails"
_MIN, _MAX = np.int64(-(2**63)), np.int64(2**63 - 1)


def longs(values: pa.Array) -> Long:
    """Integers with 0 for NULL."""
    filled = values.fill_null(0) if values.null_count else values
    result: Long = filled.to_numpy().astype(np.int64, copy=False)
    return result


def doubles(values: pa.Array) -> npt.NDArray[np.float64]:
    """Doubles with 1.0 for NULL, which no kernel minds."""
    filled = values.fill_null(1.0) if values.null_count else values
    result: npt.NDArray[np.float64] = filled.to_numpy()
    return result


def canonical(values: npt.NDArray[np.float64], absent: Mask) -> pa.Array:
    """A column of doubles with one NaN and no -0.0."""
    return pa.array(np.where(np.isnan(values), NAN, values + 0.0), pa.float64(), mask=absent)


def _absent(args: Sequence[pa.Array]) -> Mask:
    first, *others = (nulls(a) for a in args)
    return reduce(np.logical_or, others, first)


# ---------------------------------------------------------------- integers


def integer(kind: str, f: Wrapped) -> Callable[..., Column]:
    """``f`` of integers of ``kind``, failing where the result does not fit."""
    beyond = f"{kind} overflow"

    def kernel(args: Sequence[pa.Array], _types: Sequence[Base], result: Base) -> Column:
        absent = _absent(args)
        with np.errstate(over="ignore"):
            values, over = f(*map(longs, args))
        if kind == "int":
            over = over | (values != values.astype(np.int32))
        bad = over & ~absent
        fitting = np.where(bad, 0, values) if bad.any() else values
        return Column(pa.array(fitting, pa.int64(), mask=absent).cast(arrow_type(result)), failed(bad, beyond))

    assert kind in INT_BITS
    return kernel


def add(a: Long, b: Long) -> tuple[Long, Mask]:
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def sub(a: Long, b: Long) -> tuple[Long, Mask]:
    difference = a - b
    return difference, ((a ^ b) & (a ^ difference)) < 0


def monus(a: Long, b: Long) -> tuple[Long, Mask]:
    difference, over = sub(a, b)
    return np.where(a > b, difference, 0), over & (a > b)


def least(a: Long, b: Long) -> tuple[Long, Mask]:
    return np.minimum(a, b), np.zeros(len(a), np.bool_)


def mul(a: Long, b: Long) -> tuple[Long, Mask]:
    """A product that does not fit differs from itself divided again, but for -1 · -2^63, whose quotient wraps too."""
    product = a * b
    divisor = np.where((a == 0) | (a == -1), 1, a)
    over = (product // divisor != b) | (product % divisor != 0)
    return product, np.where(a == 0, False, np.where(a == -1, b == _MIN, over))


def neg(a: Long) -> tuple[Long, Mask]:
    return -a, a == _MIN


def absolute(a: Long) -> tuple[Long, Mask]:
    return np.abs(a), a == _MIN


def mod(args: Sequence[pa.Array], _types: Sequence[Base], result: Base) -> Column:
    """The remainder with the sign of the first argument; that of -1 is 0, also of the least integer."""
    absent = _absent(args)
    a, b = map(longs, args)
    bad = (b == 0) & ~absent
    values = np.fmod(a, np.where((b == 0) | (b == -1), 1, b))
    return Column(pa.array(values, pa.int64(), mask=absent).cast(arrow_type(result)), failed(bad, BY_ZERO))


def quotient(kind: str) -> Callable[..., Column]:
    """⌊a / b⌋ of integers of ``kind``."""
    fitting = integer(kind, _quotient)

    def kernel(args: Sequence[pa.Array], types: Sequence[Base], result: Base) -> Column:
        found, by_zero = fitting(args, types, result), (longs(args[1]) == 0) & ~_absent(args)
        return Column(found.values, either([failed(by_zero, BY_ZERO), found.failed]))

    return kernel


def _quotient(a: Long, b: Long) -> tuple[Long, Mask]:
    over = (a == _MIN) & (b == -1)
    return a // np.where((b == 0) | over, 1, b), over


# ---------------------------------------------------------------- doubles


def double(f: Callable[..., npt.NDArray[np.float64]]) -> Callable[..., Column]:
    def kernel(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
        with np.errstate(all="ignore"):
            return Column(canonical(f(*map(doubles, args)), _absent(args)))

    return kernel


def div(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
    absent = _absent(args)
    a, b = map(doubles, args)
    bad = (b == 0) & ~absent
    with np.errstate(all="ignore"):
        return Column(canonical(a / np.where(b == 0, 1.0, b), absent), failed(bad, BY_ZERO))


# ---------------------------------------------------------------- decimals and casts


def decimal(f: Callable[..., pa.Array]) -> Callable[..., Column]:
    """Arrow's own decimals are exact; their result has as many digits as the type rule says, or more."""

    def kernel(args: Sequence[pa.Array], _types: Sequence[Base], result: Base) -> Column:
        return Column(f(*args).cast(arrow_type(result)))

    return kernel


def rounded(args: Sequence[pa.Array], types: Sequence[Base], result: Base) -> Column:
    """With the scale of the second argument; in twice as many digits, which hold whatever comes on the way."""
    values, greatest = args
    absent, wide = _absent(args), pa.decimal256(2 * MAX_DIGITS, types[0].scale)
    found = pc.round(values.cast(wide), ndigits=result.scale, round_mode="half_towards_infinity")
    found = found.cast(pa.decimal256(2 * MAX_DIGITS, result.scale))
    bad = pc.fill_null(pc.greater(pc.abs(found), greatest.cast(found.type)), False).to_numpy(zero_copy_only=False)
    fitting = pc.if_else(pa.array(bad | absent), pa.scalar(None, found.type), found).cast(arrow_type(result))
    some = pa.scalar(Decimal(0), arrow_type(result))
    return Column(pc.if_else(pa.array(bad & ~absent), some, fitting), failed(bad & ~absent, BEYOND_TYPE))


def nearest(is_last: bool) -> Callable[[Sequence[pa.Array], Sequence[Base], Base], Column]:
    """The greatest integer up to a decimal, or the least from there on."""

    def kernel(args: Sequence[pa.Array], types: Sequence[Base], result: Base) -> Column:
        (values,) = args
        wide, whole = (pa.decimal256(2 * MAX_DIGITS, scale) for scale in (types[0].scale, 0))
        found = (pc.floor if is_last else pc.ceil)(values.cast(wide)).cast(whole)
        first, last = (pa.scalar(Decimal(n), whole) for n in ENDS[result.kind])
        above, below = pc.greater(found, last), pc.less(found, first)
        fitting = pc.if_else(above, last, pc.if_else(below, first, found)).cast(pa.int64()).cast(arrow_type(result))
        return Column(pc.if_else(below if is_last else above, pa.scalar(None, fitting.type), fitting))

    return kernel


def cast(args: Sequence[pa.Array], _types: Sequence[Base], result: Base) -> Column:
    """To a type that holds every value, but for the digits that a double cannot hold."""
    (values,) = args
    if result.kind == "double":
        return Column(canonical(_as_doubles(values), nulls(values)))
    return Column(values.cast(arrow_type(result)))


def _as_doubles(values: pa.Array) -> npt.NDArray[np.float64]:
    """The nearest doubles, with 1.0 for NULL. Arrow's own cast of a decimal divides by a power of ten, and rounds
    twice; a text is rounded once."""
    if pa.types.is_decimal(values.type):
        return doubles(values.cast(pa.string()).cast(pa.float64()))
    return doubles(values.cast(pa.float64(), safe=False))


def to_integer(args: Sequence[pa.Array], types: Sequence[Base], result: Base) -> Column:
    """The digits before the point; fails for what ``result`` cannot hold."""
    (values,) = args
    absent = nulls(values)
    match types[0].kind:
        case "double":
            found, bad = _of_doubles(doubles(values))
        case "decimal":
            found, bad = _of_decimals(values, types[0])
        case _:
            found, bad = longs(values), np.zeros(len(values), np.bool_)
    bad &= ~absent
    lost = found != found.astype(np.int32) if result.kind == "int" else np.zeros(len(found), np.bool_)
    over = lost & ~absent & ~bad
    why = f"{result.kind} overflow" if over.any() else NO_CAST
    fitting = np.where(bad | over, 0, found)
    return Column(pa.array(fitting, pa.int64(), mask=absent).cast(arrow_type(result)), failed(bad | over, why))


def _of_doubles(values: npt.NDArray[np.float64]) -> tuple[Long, Mask]:
    """2^63 is a double and no long; -2^63 is both."""
    whole = np.trunc(values)
    bad = ~((whole >= -(2.0**63)) & (whole < 2.0**63))
    return np.where(bad, 0.0, whole).astype(np.int64), bad


def _of_decimals(values: pa.Array, t: Base) -> tuple[Long, Mask]:
    whole = pc.trunc(values) if t.scale else values
    integers = whole.cast(pa.decimal128(38, 0), safe=False) if t.scale else whole
    low, high = (pa.scalar(int(end), pa.decimal128(38, 0)) for end in (_MIN, _MAX))
    wide = integers.cast(pa.decimal128(38, 0))
    bad = pc.or_(pc.less(wide, low), pc.greater(wide, high)).fill_null(False)
    fitting = pc.if_else(bad, pa.scalar(0, pa.decimal128(38, 0)), wide)
    return longs(fitting.cast(pa.int64())), bad.to_numpy(zero_copy_only=False)
