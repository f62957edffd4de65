"""Functions that a view may call by name, recognised by identity. They also run on plain Python values."""

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def coalesce(*values: T | None) -> T | None:
    """The first of ``values`` that is not NULL, else NULL."""
    return next((v for v in values if v is not None), None)


def flatten(bags: Iterable[Iterable[T] | None]) -> list[T]:
    """The union of the inner bags; NULL bags add nothing."""
    return [row for bag in bags if bag is not None for row in bag]
