"""Comparisons of sums of integers, which are decimals (``nrc/rewriting/exact.py``), solved for one that is added.

    x - q + n < r  ⟶  x < r + q - n          p - x < r  ⟶  x > p - r

Both say the same: decimals have digits enough for what is on the other side then, too. Terms of the calculus are
compared like this, and so are scalars of products.
"""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Protocol, TypeVar, runtime_checkable

MINUS, PLUS, TIMES, NEGATED = "sub_decimal", "add_decimal", "mul_decimal", "neg_decimal"
SIGNS = {PLUS: 1, MINUS: -1}
"""Of what is added second."""
T = TypeVar("T")
Make = Callable[[str, T, T], T]


@runtime_checkable
class _Call(Protocol):
    @property
    def fn(self) -> str: ...
    @property
    def args(self) -> tuple[Any, ...]: ...


@runtime_checkable
class _Constant(Protocol):
    @property
    def value(self) -> object: ...


def solved(own: T, other: T, make: Make[T]) -> Iterator[tuple[T, T, bool]]:
    """(x, y, turned) of each x in the sum ``own``, an integer or a product: own < other says that x < y, or x > y where
    ``turned``; what makes a sum or difference is given. Nothing of what is no sum of integers."""
    terms = _terms(own)
    if len(terms) < 2 or not all(_is_integer(t) for _, t in (*terms, *_terms(other))):
        return
    for i, (sign, t) in enumerate(terms):
        if isinstance(t, _Call):
            rest = [(-s * sign, r) for s, r in (*terms[:i], *terms[i + 1 :])]
            yield t.args[0] if t.fn == "to_decimal" else t, _sum([*rest, (sign, other)], make), sign < 0


def _terms(t: T, sign: int = 1) -> list[tuple[int, T]]:
    """What ``t`` is the sum of, with signs."""
    match t:
        case _Call(fn=fn, args=(a, b)) if fn in SIGNS:
            return [*_terms(a, sign), *_terms(b, sign * SIGNS[fn])]
    return [(sign, t)]


def _is_integer(t: object) -> bool:
    match t:
        case _Call(fn="to_decimal", args=(x,)):
            return not (isinstance(x, _Call) and x.fn == "to_decimal")
        case _Call(fn="mul_decimal" | "neg_decimal" | "add_decimal" | "sub_decimal", args=args):
            return all(map(_is_integer, args))
        case _Constant(value=Decimal() as value):
            return value == value.to_integral_value()
    return False


def _sum(terms: Sequence[tuple[int, T]], make: Make[T]) -> T:
    """What is added first, of which there is some."""
    (_, found), *others = sorted(terms, key=lambda term: -term[0])
    for sign, t in others:
        found = make(PLUS if sign > 0 else MINUS, found, t)
    return found
