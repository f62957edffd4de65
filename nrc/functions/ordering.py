"""The order of values, as the reference meaning has it: what the first rows of a bag are.

false is before true, NaN is the highest double, texts are ordered by code point. Rows that agree in what they are
ordered by are ordered by all base values that they hold, in their order, ascending and with NULL last: so no two
different rows are in one place, and the same rows are first before and after shredding.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import isnan
from typing import Any

from attrs import frozen

from ripplenest.nrc.bags import Value


def place(value: Any) -> tuple[bool, Any]:
    """What orders values of one type that are not NULL."""
    return (True, 0.0) if isinstance(value, float) and isnan(value) else (False, value)


@frozen
class Direction:
    """Ascending or descending, with NULL first or last."""

    descending: bool = False
    nulls_first: bool = False

    def of(self, value: Any) -> tuple[bool, Any]:
        """What orders values in a list that is reversed where this is ``descending``."""
        last = (value is None) != self.nulls_first
        return last != self.descending, (False, 0) if value is None else place(value)


ASCENDING = Direction()


def leaves(value: Value) -> Iterator[Value]:
    """The base values of a row without bags, in their order."""
    if isinstance(value, tuple):
        for _, inner in value:
            yield from leaves(inner)
    else:
        yield value


def first(
    rows: Iterable[tuple[Value, int]], by: Sequence[Sequence[Value]], directions: Sequence[Direction], limit: int
) -> dict[Value, int]:
    """The first ``limit`` copies of ``rows``, none of which is there less than 0 times; ``by`` has what each row is
    ordered by, in these ``directions``."""
    entries = [(row, n, (*own, *leaves(row))) for (row, n), own in zip(rows, by, strict=True)]
    width = max((len(values) for _, _, values in entries), default=0)
    every = (*directions, *[ASCENDING] * (width - len(directions)))
    for i in reversed(range(width)):  # sorts keep the order of what they find equal
        entries.sort(key=lambda entry, i=i: every[i].of(entry[2][i]), reverse=every[i].descending)  # type: ignore[misc]
    found: dict[Value, int] = {}
    for row, n, _ in entries:
        if limit > 0 and n > 0:
            found[row] = min(n, limit)
            limit -= n
    return found
