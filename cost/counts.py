"""Cardinalities of costs: numbers, or what is known of them without sizes: ``|M|``, ``|ΔM|·|S|``.

A symbolic count is the largest of some monomials. Symbols stand for any numbers of ℕ⁺ with ``|ΔR| ≤ |R|``, and
``|ΔR| < |R|`` for the bags that an update adds to: the hypothesis of theorems 4 and 5, that updates are incremental.
Monomials are compared factor by factor, so what ≤ and < say holds for all such numbers; some counts are not ordered.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from math import prod

from attrs import evolve, frozen

from ripplenest.nrc.printing.text import part
from ripplenest.nrc.syntax import At

POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@frozen(order=True)
class Symbol:
    """|R| or |ΔR|: the rows of a bag, or of the largest of the bags below a path (``|C.orders|``).

    ``total``: the rows of all bags below the path together, ``‖C.orders‖``. ``strict``: |ΔR| < |R|, else only ≤.
    """

    name: str
    change: bool = False
    total: bool = False
    strict: bool = True

    def __str__(self) -> str:
        bar = "‖" if self.total else "|"
        return bar + (At.DELTA if self.change else At.OLD).show(part(self.name)) + bar

    @property
    def family(self) -> "Symbol":
        """|R|, for |R| and for |ΔR|."""
        return Symbol(self.name, False, self.total, self.strict)


@frozen(order=True)
class Monomial:
    """factor · s₁ · …, the symbols in order."""

    symbols: tuple[Symbol, ...]
    factor: int = 1

    def __str__(self) -> str:
        powers = Counter(self.symbols).items()
        texts = [f"{symbol}{str(n).translate(POWERS) if n > 1 else ''}" for symbol, n in powers]
        return "·".join([str(self.factor)] * (self.factor != 1 or not texts) + texts)

    def times(self, other: "Monomial") -> "Monomial":
        return Monomial(tuple(sorted(self.symbols + other.symbols)), self.factor * other.factor)

    def at_most(self, other: "Monomial") -> bool:
        """Each factor has one in ``other`` that is as large; what is left over there is at least 1."""
        if self.factor > other.factor or len(self.symbols) > len(other.symbols):
            return False
        there = other.powers
        faced = ((power, there.get(family, NONE)) for family, power in self.powers.items())
        return all(a.old <= b.old and a.both <= b.both for a, b in faced)

    def below(self, other: "Monomial") -> bool:
        """As ``at_most``, and some |R| of ``other`` faces |ΔR| or nothing: |R| > |ΔR| ≥ 1."""
        here = self.powers
        faced = (family.strict and here.get(family, NONE).old < b.old for family, b in other.powers.items())
        return self.at_most(other) and (self.factor < other.factor or any(faced))

    @cached_property
    def powers(self) -> Mapping[Symbol, "_Power"]:
        """How often each family is a factor. Counted once: of many monomials each is compared with each."""
        every = Counter(symbol.family for symbol in self.symbols)
        old = Counter(symbol for symbol in self.symbols if not symbol.change)
        return {family: _Power(old[family], n) for family, n in every.items()}


@frozen
class _Power:
    """How often |R|, and |R| or |ΔR|, are factors of a monomial."""

    old: int
    both: int


NONE = _Power(0, 0)


@frozen
class Symbolic:
    """The largest of two or more monomials, or of one with symbols; none is at most another."""

    monomials: tuple[Monomial, ...]

    def __str__(self) -> str:
        texts = [str(m) for m in self.monomials]
        return texts[0] if len(texts) == 1 else f"max({', '.join(texts)})"

    def __mul__(self, other: "Count") -> "Count":
        if isinstance(other, int) and other > 0:  # the same factor in each: what was not ordered is not
            return Symbolic(tuple(sorted(evolve(m, factor=m.factor * other) for m in self.monomials)))
        return _largest(a.times(b) for a in self.monomials for b in _monomials(other))

    __rmul__ = __mul__


Count = int | Symbolic


def symbol(name: str, at: At = At.OLD, total: bool = False, strict: bool = True) -> Symbolic:
    """|name| or |Δname| as a count."""
    return Symbolic((Monomial((Symbol(name, at is At.DELTA, total, strict),)),))


def fewer(a: Count, b: Count) -> bool:
    """a < b, whatever the symbols stand for."""
    return a < b if isinstance(a, int) and isinstance(b, int) else _all_have(a, b, Monomial.below)


def no_more(a: Count, b: Count) -> bool:
    """a ≤ b, whatever the symbols stand for."""
    return a <= b if isinstance(a, int) and isinstance(b, int) else _all_have(a, b, Monomial.at_most)


def larger(a: Count, b: Count) -> Count:
    """The least upper bound of two counts."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return _largest([*_monomials(a), *_monomials(b)])


def value(count: Count, numbers: Mapping[Symbol, int]) -> int:
    """The count when the symbols are ``numbers``."""
    return max(m.factor * prod(numbers[s] for s in m.symbols) for m in _monomials(count))


def _monomials(count: Count) -> tuple[Monomial, ...]:
    return count.monomials if isinstance(count, Symbolic) else (Monomial((), count),)


def _largest(found: Iterable[Monomial]) -> Count:
    """Without what is at most another."""
    kept: list[Monomial] = []
    for m in sorted(set(found)):
        if not any(m.at_most(other) for other in kept):
            kept = [other for other in kept if not other.at_most(m)] + [m]
    if len(kept) == 1 and not kept[0].symbols:
        return kept[0].factor
    return Symbolic(tuple(sorted(kept)))


def _all_have(few: Count, many: Count, test: Callable[[Monomial, Monomial], bool]) -> bool:
    """Every monomial of ``few`` has one of ``many`` with which it passes the test."""
    return all(any(test(m, other) for other in _monomials(many)) for m in _monomials(few))
