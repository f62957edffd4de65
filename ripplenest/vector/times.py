"""Kernels of timestamps, which are microseconds since 1970 in UTC."""

from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.data.rows import arrow_type
from ripplenest.nrc.meanings import BEYOND, NO_WINDOW
from ripplenest.nrc.types import LONG, Base
from ripplenest.vector.column import Column, Mask, either, failed, nulls
from ripplenest.vector.numbers import Long, add, integer, longs, sub

_DAY = 86_400_000_000
_DAYS = ((date.min - date(1970, 1, 1)).days, (date.max - date(1970, 1, 1)).days)
_MICROS = (_DAYS[0] * _DAY, (_DAYS[1] + 1) * _DAY - 1)


def days_between(later: pa.Array, earlier: pa.Array) -> pa.Array:
    """The days from ``earlier`` to ``later``: a date is stored as its day since 1970."""
    return pc.subtract(later.cast(pa.int32()), earlier.cast(pa.int32()))


def days_after(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
    days, n = args
    since = days.cast(pa.int32()).cast(pa.int64())
    return _moved(since, n, _DAYS, lambda found: found.cast(pa.int32()).cast(pa.date32()))


def micros_after(args: Sequence[pa.Array], _types: Sequence[Base], result: Base) -> Column:
    moments, n = args
    return _moved(moments.view(pa.int64()), n, _MICROS, lambda found: found.view(arrow_type(result)))


def micros_between(later: pa.Array, earlier: pa.Array) -> pa.Array:
    """Fewer than 2^59, whatever the two are."""
    return pc.subtract(later.view(pa.int64()), earlier.view(pa.int64()))


def tumbled(back: Callable[[pa.Array, Long, Mask], Column]) -> Callable[..., Column]:
    """How far a value lies behind the start of its window, and so much ``back``."""

    def kernel(args: Sequence[pa.Array], _types: Sequence[Base], _result: Base) -> Column:
        absent = np.logical_or.reduce([nulls(a) for a in args])
        x, size, origin = (longs(_numbered(a)) for a in args)
        bad = (size <= 0) & ~absent
        length = np.where(size <= 0, 1, size)
        found = back(args[0], np.mod(np.mod(x, length) - np.mod(origin, length), length), absent)
        return Column(found.values, either([failed(bad, NO_WINDOW), found.failed]))

    return kernel


def back_of_day(x: pa.Array, n: Long, absent: Mask) -> Column:
    return days_after((x, pa.array(-n, pa.int64(), mask=absent)), (), Base("date"))


def back_of_time(x: pa.Array, n: Long, absent: Mask) -> Column:
    return micros_after((x, pa.array(-n, pa.int64(), mask=absent)), (), Base("timestamp"))


def back_of_number(x: pa.Array, n: Long, absent: Mask) -> Column:
    return integer("long", sub)((x, pa.array(n, pa.int64(), mask=absent)), (), LONG)


def _numbered(values: pa.Array) -> pa.Array:
    """Values as how far they are from 0, or from 1970."""
    return values.cast(pa.int32()).cast(pa.int64()) if values.type == pa.date32() else values.view(pa.int64())


def _moved(since: pa.Array, n: pa.Array, within: tuple[int, int], of: Callable[[pa.Array], pa.Array]) -> Column:
    """What lies ``n`` after what is numbered ``since`` 1970, failing where it is not ``within``."""
    absent = nulls(since) | nulls(n)
    found, over = add(longs(since), longs(n))
    bad: Mask = (over | (found < within[0]) | (found > within[1])) & ~absent
    return Column(of(pa.array(np.where(bad | absent, 0, found), pa.int64(), mask=absent)), failed(bad, BEYOND))


def date_of(moments: pa.Array) -> pa.Array:
    """The day, rounded down also before 1970."""
    days = longs(moments.view(pa.int64())) // _DAY
    return pa.array(days.astype(np.int32), pa.int32(), mask=nulls(moments)).cast(pa.date32())


def part(unit: int, many: int) -> Callable[[pa.Array], pa.Array]:
    """How many ``unit``, in microseconds, of the ``many`` of the next greater one have passed."""

    def found(moments: pa.Array) -> pa.Array:
        passed = longs(moments.view(pa.int64())) // unit % many
        return pa.array(passed.astype(np.int32), pa.int32(), mask=nulls(moments))

    return found
