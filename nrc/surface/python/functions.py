"""Functions that a view may call by name, recognised by identity. They also run on plain Python values."""

from collections.abc import Iterable
from typing import Any, TypeVar

from ripplenest.nrc.arguments import kind
from ripplenest.nrc.errors import WrongValue

T = TypeVar("T")


def coalesce(*values: T | None) -> T | None:
    """The first of ``values`` that is not NULL, else NULL."""
    return next((v for v in values if v is not None), None)


def flatten(bags: Iterable[Iterable[T] | None]) -> list[T]:
    """The union of the inner bags; NULL bags add nothing. Raises WrongValue for what is no bag of bags."""
    return [row for bag in _bags(bags) if bag is not None for row in _bags(bag)]


def _bags(value: object) -> Iterable[Any]:
    if not isinstance(value, Iterable):
        raise WrongValue("not a bag of bags", where="flatten", wanted="a list of lists", got=kind(value))
    return value
