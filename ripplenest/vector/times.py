"""Kernels of timestamps, which are microseconds since 1970 in UTC."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.nrc.functions.meanings import BEYOND, DAY, ENDS, NO_WINDOW
from ripplenest.nrc.types import Base
from ripplenest.vector.column import Column, Mask, either, failed, nulls
from ripplenest.vector.numbers import Long, add, longs

MOMENTS = ("date", "timestamp")
_KINDS = {pa.date32(): "date", pa.timestamp("us", tz="UTC"): "timestamp"}


def days_between(later: pa.Array, earlier: pa.Array) -> pa.Array:
    """The days from ``earlier`` to ``later``: a date is stored as its day since 1970."""
    return pc.subtract(later.cast(pa.int32()), earlier.cast(pa.int32()))


def after(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
    """What lies so many days after a date, or microseconds after a timestamp."""
    x, n = args
    return _moved(x, longs(n), nulls(x) | nulls(n))


def micros_between(later: pa.Array, earlier: pa.Array) -> pa.Array:
    """Fewer than 2^59, whatever the two are."""
    return pc.subtract(later.view(pa.int64()), earlier.view(pa.int64()))


def tumble(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
    """The start of the window in which a date, a timestamp or a long lies."""
    absent: Mask = np.logical_or.reduce([nulls(a) for a in args])
    x, size, origin = (longs(_numbered(a)) for a in args)
    bad = (size <= 0) & ~absent
    length = np.where(size <= 0, 1, size)
    found = _moved(args[0], -np.mod(np.mod(x, length) - np.mod(origin, length), length), absent)
    return Column(found.values, either([failed(bad, NO_WINDOW), found.failed]))


def _numbered(values: pa.Array) -> pa.Array:
    """Values as how far they are from 0, or from 1970."""
    return values.cast(pa.int32()).cast(pa.int64()) if values.type == pa.date32() else values.view(pa.int64())


def _moved(x: pa.Array, n: Long, absent: Mask) -> Column:
    """What lies ``n`` after ``x``, failing where there is none."""
    kind = _KINDS.get(x.type, "long")
    (first, last), why = ENDS[kind], "long overflow" if kind == "long" else BEYOND
    found, over = add(longs(_numbered(x)), n)
    bad: Mask = (over | (found < first) | (found > last)) & ~absent
    return Column(_unnumbered(np.where(bad, 0, found), absent, x.type), failed(bad, why))


def _unnumbered(numbers: Long, absent: Mask, t: pa.DataType) -> pa.Array:
    """Values of type ``t`` that are so far from 0, or from 1970."""
    found = pa.array(np.where(absent, 0, numbers), pa.int64(), mask=absent)
    return found.cast(pa.int32()).cast(t) if t == pa.date32() else found.view(t)


def nearest_after(is_last: bool) -> Callable[[Sequence[pa.Array], Sequence[Base], Base], Column]:
    """The last date or timestamp up to so many days or microseconds after one, or the first from there on."""

    def kernel(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
        x, n = args
        (first, last), absent = ENDS[_KINDS[x.type]], nulls(x) | nulls(n)
        by = longs(n)
        found, over = add(longs(_numbered(x)), by)
        above, below = np.where(over, by > 0, found > last), np.where(over, by < 0, found < first)
        absent |= below if is_last else above
        return Column(_unnumbered(np.where(above, last, np.where(below, first, found)), absent, x.type))

    return kernel


def date_of(moments: pa.Array) -> pa.Array:
    """The day, rounded down also before 1970."""
    days = longs(moments.view(pa.int64())) // DAY
    return pa.array(days.astype(np.int32), pa.int32(), mask=nulls(moments)).cast(pa.date32())


def part(unit: int, many: int) -> Callable[[pa.Array], pa.Array]:
    """How many ``unit``, in microseconds, of the ``many`` of the next greater one have passed."""

    def found(moments: pa.Array) -> pa.Array:
        passed = longs(moments.view(pa.int64())) // unit % many
        return pa.array(passed.astype(np.int32), pa.int32(), mask=nulls(moments))

    return found
