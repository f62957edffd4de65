"""Where a line of times meets a time: the change from which on it is better to compute the view again."""

import math
from collections.abc import Sequence
from itertools import pairwise

Pairs = Sequence[tuple[float, float]]


def crossing(times: Pairs, level: float) -> float | None:
    """The x at which the ``times``, as (x, seconds) from left to right, first reach ``level``.

    Between two points along a straight line of their logarithms; beyond the last along the straight line of the last
    two. 0 where the first is above it, None where times do not grow.
    """
    if times and times[0][1] >= level:
        return 0.0
    for (x0, t0), (x1, t1) in pairwise(times):
        if t0 < level <= t1:
            part = math.log(level / t0) / math.log(t1 / t0)
            return float(x0 * (x1 / x0) ** part)
    each = slope(times)
    return None if each is None or each <= 0 else times[-1][0] + (level - times[-1][1]) / each


def slope(times: Pairs) -> float | None:
    """Seconds for one more, between the last two of them; None for fewer."""
    if len(times) < 2:
        return None
    (x0, t0), (x1, t1) = times[-2:]
    return (t1 - t0) / (x1 - x0)
