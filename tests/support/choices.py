"""Where random things come from: hypothesis, which shrinks what fails, or a seed, which is ten times as fast."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Draw = Any  # hypothesis' draw: SearchStrategy[T] -> T


class Choices:
    """Numbers from ``number(below)``, and what is made of them. The first choice is the simplest."""

    def __init__(self, number: Callable[[int], int]) -> None:
        self._number = number

    def number(self, below: int) -> int:
        """0 ≤ n < below."""
        return self._number(below) if below > 1 else 0

    def pick(self, options: Sequence[T]) -> T:
        return options[self.number(len(options))]

    def one_in(self, n: int) -> bool:
        return self.number(n) == n - 1


@lru_cache
def _below(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n - 1)


def drawn(draw: Draw) -> Choices:
    """Choices that hypothesis makes, and shrinks."""
    return Choices(lambda below: draw(_below(below)))


def seeded(seed: int) -> Choices:
    """The same choices for the same seed."""
    return Choices(Random(seed).randrange)


def recorded(number: Callable[[int], int]) -> tuple[Choices, list[int]]:
    """Choices, and the list that says afterwards which they were."""
    made: list[int] = []

    def choose(below: int) -> int:
        made.append(number(below))
        return made[-1]

    return Choices(choose), made


def replayed(made: Sequence[int]) -> Callable[[int], int]:
    """The numbers of ``made`` again; the largest possible where one is too large, and 0 when there are no more."""
    left = iter(made)
    return lambda below: min(next(left, 0), below - 1)
