"""What is few: where Python's rows are faster than the fixed cost of columns. Both ways make the same rows (law)."""

from collections.abc import Iterable

from ripplenest.data.rows import Rows

FEW = 32


def are_few(inputs: Iterable[Rows]) -> bool:
    """Whether there are few rows in all of ``inputs`` together."""
    return sum(map(len, inputs)) < FEW
