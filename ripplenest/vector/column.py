"""A column of values, and where it has none: what a scalar gives for many combinations of rows at once.

A scalar that fails for one row has values for the others, and whether anybody minds is only known when all conditions
of the product are: so a failure is data (``Failed``) until somebody asks for the values of rows that fulfil them.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

Mask = npt.NDArray[np.bool_]


@frozen(eq=False)
class Failed:
    """The rows for which a scalar has no value, and why the first of them has none."""

    rows: Mask
    why: str

    def within(self, rows: Mask) -> "Failed | None":
        """The failures of ``rows``; None when there are none."""
        return failed(self.rows & rows, self.why)


@frozen(eq=False)
class Column:
    """``values``, canonical and of the scalar's type. What stands at rows that ``failed`` means nothing."""

    values: pa.Array
    failed: Failed | None = None


def failed(rows: Mask, why: str) -> Failed | None:
    """The failures at ``rows``, None when there are none."""
    return Failed(rows, why) if rows.any() else None


def either(found: Iterable[Failed | None]) -> Failed | None:
    """Where any of ``found`` failed; None when none did."""
    known = [f for f in found if f is not None]
    return Failed(np.logical_or.reduce([f.rows for f in known]), known[0].why) if known else None


def mask(values: pa.Array) -> Mask:
    """Where a column of booleans is true; NULL is not."""
    filled = values.fill_null(False) if values.null_count else values
    result: Mask = filled.to_numpy(zero_copy_only=False)
    return result


def nulls(values: pa.Array) -> Mask:
    """Where a column is NULL."""
    if not values.null_count:
        return np.zeros(len(values), np.bool_)
    result: Mask = values.is_null().to_numpy(zero_copy_only=False)
    return result
