"""Kernels of timestamps, which are microseconds since 1970 in UTC."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ripplenest.vector.column import nulls
from ripplenest.vector.numbers import longs

_DAY = 86_400_000_000


def days_between(later: pa.Array, earlier: pa.Array) -> pa.Array:
    """The days from ``earlier`` to ``later``: a date is stored as its day since 1970."""
    return pc.subtract(later.cast(pa.int32()), earlier.cast(pa.int32()))


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
