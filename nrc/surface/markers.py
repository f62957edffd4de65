"""What annotations are written with: ``Bag[Movie]``, ``Int``, ``Decimal[10, 2]``."""

import decimal
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Generic, NoReturn, TypeVar

from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.types import INT, Base
from ripplenest.nrc.values import MAX_DIGITS

T_co = TypeVar("T_co", covariant=True)


class Bag(Generic[T_co]):
    """The annotation of a bag whose rows are ``T_co``; a value is any iterable of rows, not an instance.

    ``list[T_co]`` says the same. Type checkers then take lists as values of it, but know no ⊖ and × of lists.

    The methods are what type checkers see inside of a view: iteration, ⊎ (``+``), ⊖ (unary ``-``) and × (``*``).
    """

    def __init__(self, *_: object) -> None:
        self._never()

    def __iter__(self) -> Iterator[T_co]:
        self._never()

    def __add__(self, other: Iterable[object]) -> "Bag[Any]":
        self._never()

    def __radd__(self, other: Iterable[object]) -> "Bag[Any]":
        self._never()

    def __sub__(self, other: Iterable[object]) -> "Bag[Any]":
        self._never()

    def __rsub__(self, other: Iterable[object]) -> "Bag[Any]":
        self._never()

    def __neg__(self) -> "Bag[T_co]":
        self._never()

    def __mul__(self, other: Iterable[object]) -> "Bag[Any]":
        self._never()

    def __rmul__(self, other: Iterable[object]) -> "Bag[Any]":
        self._never()

    def _never(self) -> NoReturn:
        raise TypeMismatch("Bag is an annotation only", possible=["a list of rows", "Bag[...] as a type"])


Int = Annotated[int, INT]
"""A 32-bit integer column; a plain ``int`` is 64 bits wide."""


if TYPE_CHECKING:
    Decimal: Any  # numbers are no types to mypy, but it looks at nothing that is in the brackets of Any
else:

    class Decimal:
        """``Decimal[p, s]``: p digits, s of them after the point (p at most 38). Type checkers know it as Any;
        ``Annotated[decimal.Decimal, Base("decimal", precision=p, scale=s)]`` says the same, and more to them."""

        def __init__(self, *given: object) -> None:
            possible = ["decimal.Decimal('0.50') as a value", "rn.Decimal[10, 2] as a type"]
            raise TypeMismatch("rn.Decimal is an annotation only", got=list(given), possible=possible)

        def __class_getitem__(cls, digits: object) -> Any:
            match digits:
                case (int() as p, int() as s) if 0 <= s <= p <= MAX_DIGITS and p > 0:
                    return Annotated[decimal.Decimal, Base("decimal", precision=p, scale=s)]
                case _:
                    wanted = f"rn.Decimal[p, s] with 0 <= s <= p <= {MAX_DIGITS}"
                    raise TypeMismatch("a decimal needs its digits", wanted=wanted, got=digits)
