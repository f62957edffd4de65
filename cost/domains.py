"""Cost domains A°, with their order and sizes (nrc-ivm, section 4.2).

``Base° = 𝕃° = 1° = 1°``, records field by field, ``Bag(A)° = ℕ⁺{A°}``: a cardinality and the least upper bound of what
the elements cost. A cost thus keeps how the size of a value is spread over its levels of nesting. ℕ⁺ begins at 1: the
empty bag and NULL have the least cost 1_A, like a bag with one least element, so that every count is a factor that
cannot hide what it multiplies. For the same reason the unit record costs 1 and not an empty tuple: with tcost 0 no
change of a Bag(1) would be cheaper than another. 𝕃 ↦ Bag(C) costs what one of its labels stands for, as C[[d(l)]] does.
"""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import assert_never, overload

from attrs import Attribute, field, frozen

from ripplenest.cost.counts import Count, fewer, larger, no_more
from ripplenest.nrc.bags import BagValue, Value, field_of
from ripplenest.nrc.errors import TypeMismatch, UnknownName
from ripplenest.nrc.types import Bag, Base, Dict, Label, Record, Type, is_flat


def _counts_from_one(_: "BagCost", __: "Attribute[Count]", count: Count) -> None:
    if isinstance(count, int) and count < 1:
        raise TypeMismatch("a cost counts from 1", wanted="a cardinality of ℕ⁺", got=count)


@frozen
class One:
    """1°, the only cost of base values, labels and the unit record."""

    def __str__(self) -> str:
        return "1"


@frozen
class RecordCost:
    """⟨c₁, …⟩, one cost a field, in the order of the record's fields."""

    fields: tuple[tuple[str, "Cost"], ...]

    def __str__(self) -> str:
        return "⟨" + ", ".join(str(c) for _, c in self.fields) + "⟩"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fields)

    def get(self, name: str) -> "Cost":
        """π_name(c). Raises UnknownName."""
        for field_name, c in self.fields:
            if field_name == name:
                return c
        raise UnknownName(f"there is no field {name!r}", got=name, possible=self.names)


@frozen
class BagCost:
    """n{c}: at most ``count`` elements, each at most ``inner``. Counts are numbers or symbolic (``cost/counts.py``)."""

    count: Count = field(validator=_counts_from_one)
    inner: "Cost"

    def __str__(self) -> str:
        return f"{self.count if self.count != 1 else ''}{{{self.inner}}}"


Cost = One | RecordCost | BagCost

ONE = One()


def record_cost(fields: tuple[tuple[str, Cost], ...]) -> Cost:
    """The cost of a record from those of its fields; 1 for the unit record."""
    return RecordCost(fields) if fields else ONE


# ---------------------------------------------------------------- the least cost, and sizes


@overload
def bottom(a: Bag) -> BagCost: ...
@overload
def bottom(a: Type) -> Cost: ...
def bottom(a: Type) -> Cost:
    """1_A, the least element of A°: ``bottom(a) ≤ c`` for every cost ``c`` of a value of type ``a``."""
    match a:
        case Base() | Label():
            return ONE
        case Record(fields):
            return record_cost(tuple((name, bottom(t)) for name, t in fields))
        case Bag(row) | Dict(row):
            return BagCost(1, bottom(row))
        case _:
            assert_never(a)


def size(value: Value, a: Type) -> Cost:
    """size_A(value): what a value of type ``a`` without dictionaries costs.

    A bag counts its repetitions, a deletion as much as an insertion: |X| is the sum of absolute multiplicities.
    """
    return _largest((value,), a)


def bag_size(bag: BagValue, row: Type) -> BagCost:
    """size_Bag(C)(X) = |X|{sup size_C(xᵢ)}, and 1_Bag(C) when X is empty."""
    return largest_bag((bag,), row)


def largest_bag(bags: Collection[BagValue], row: Type) -> BagCost:
    """sup size_Bag(C)(Xᵢ) = max |Xᵢ|{sup size_C(x)} over all x of all Xᵢ, and 1_Bag(C) when there are none."""
    count = max((sum(map(abs, bag.counts.values())) for bag in bags), default=1)
    return BagCost(max(count, 1), _largest([value for bag in bags for value in bag.counts], row))


def _largest(values: Collection[Value], a: Type) -> Cost:
    """sup size_A(vᵢ), at least 1_A. It is taken component by component, so that no value needs a cost of its own."""
    if _costs_the_same(a):
        return bottom(a)
    match a:
        case Base() | Label():
            return ONE
        case Record(fields):
            return record_cost(tuple((name, _largest([field_of(v, name) for v in values], t)) for name, t in fields))
        case Bag(row):
            return largest_bag([v for v in values if isinstance(v, BagValue)], row)
        case Dict():
            raise TypeMismatch("a dictionary is not a value of nested data", wanted="Base, 𝕃, a record or a bag", got=a)
        case _:
            assert_never(a)


_costs_the_same = lru_cache(is_flat)  # all values cost what the least of them does: there is no bag in them


# ---------------------------------------------------------------- order


def less(a: Cost, b: Cost) -> bool:
    """a < b: never for 1°, in every field for records, and ``n{x} < m{y}`` when n < m and x ≤ y.

    Law: ``less(a, b)`` implies ``tcost(a) < tcost(b)``. An update ΔR is *incremental* when size(ΔR) < size(R).
    """
    match a, b:
        case One(), One():
            return False
        case RecordCost(), RecordCost() if a.names == b.names:
            return _fields(less, a, b)
        case BagCost(), BagCost():
            return fewer(a.count, b.count) and at_most(a.inner, b.inner)
        case _:
            raise _different(a, b)


def at_most(a: Cost, b: Cost) -> bool:
    """a ≤ b: always for 1°, in every field for records, and ``n{x} ≤ m{y}`` when n ≤ m and x ≤ y.

    Law: a partial order, with ``tcost(a) ≤ tcost(b)``. It is coarser than "less or equal": {2{1}} ≤ {3{1}}, but neither
    < nor =.
    """
    match a, b:
        case One(), One():
            return True
        case RecordCost(), RecordCost() if a.names == b.names:
            return _fields(at_most, a, b)
        case BagCost(), BagCost():
            return no_more(a.count, b.count) and at_most(a.inner, b.inner)
        case _:
            raise _different(a, b)


@overload
def sup(a: BagCost, b: BagCost) -> BagCost: ...
@overload
def sup(a: Cost, b: Cost) -> Cost: ...
def sup(a: Cost, b: Cost) -> Cost:
    """The least upper bound with respect to ≤, component by component."""
    match a, b:
        case One(), One():
            return a
        case RecordCost(), RecordCost() if a.names == b.names:
            return RecordCost(tuple((n, sup(x, y)) for (n, x), (_, y) in zip(a.fields, b.fields, strict=True)))
        case BagCost(), BagCost():
            return BagCost(larger(a.count, b.count), sup(a.inner, b.inner))
        case _:
            raise _different(a, b)


def tcost(c: Cost) -> int:
    """The number of steps that producing a value of this cost takes, at least 1 (nrc-ivm, lemma 3).

    Raises TypeMismatch on symbolic counts, of which ``show_tcost`` gives the expression.
    """
    match c:
        case One():
            return 1
        case RecordCost(fields):
            return sum(tcost(inner) for _, inner in fields)
        case BagCost(int() as count, inner):
            return count * tcost(inner)
        case BagCost(count):
            raise TypeMismatch("a number of steps needs the sizes", wanted="numbers", got=count)
        case _:
            assert_never(c)


def show_tcost(c: Cost) -> str:
    """tcost(c) as an expression of its counts: ``|M|·(1 + |M|)`` for |M|{⟨1, |M|{1}⟩}."""
    ones, terms = _steps(c)
    return " + ".join([str(ones)] * (ones > 0) + terms)


def _steps(c: Cost) -> tuple[int, list[str]]:
    """tcost(c) as a number plus products."""
    match c:
        case One():
            return 1, []
        case RecordCost(fields):
            parts = [_steps(inner) for _, inner in fields]
            return sum(n for n, _ in parts), [text for _, texts in parts for text in texts]
        case BagCost(count, inner):
            ones, terms = _steps(inner)
            if not terms:
                return (count * ones, []) if isinstance(count, int) else (0, [_times(ones, str(count))])
            if count == 1:
                return ones, terms
            text = show_tcost(inner)
            return 0, [_times(count, text if len(terms) + (ones > 0) == 1 else f"({text})")]
        case _:
            assert_never(c)


def _times(count: Count, text: str) -> str:
    return text if count == 1 else f"{count}·{text}"


def _fields(test: Callable[[Cost, Cost], bool], a: RecordCost, b: RecordCost) -> bool:
    return all(test(x, y) for (_, x), (_, y) in zip(a.fields, b.fields, strict=True))


def _different(a: Cost, b: Cost) -> TypeMismatch:
    return TypeMismatch("only costs of one type are ordered", wanted=a, got=b)
