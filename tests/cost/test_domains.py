"""Cost domains (nrc-ivm, section 4.2): sizes, the two orders, sup and tcost. Example 5, and the laws of the orders."""

import pytest
from support.choices import Choices
from support.laws import law
from support.schemas import random_value, row_type

from ripplenest.cost.domains import (
    ONE,
    BagCost,
    Cost,
    RecordCost,
    at_most,
    bag_size,
    bottom,
    less,
    record_cost,
    size,
    sup,
    tcost,
)
from ripplenest.nrc.bags import EMPTY, BagValue, LabelValue
from ripplenest.nrc.errors import TypeMismatch, UnknownName
from ripplenest.nrc.types import LONG, STRING, UNIT, Bag, Dict, Label, Record, nullable

GENRES = Record((("gen", STRING), ("films", Bag(STRING))))
NUMBERS = Bag(LONG)


def test_example_5() -> None:
    """size({⟨Comedy, {Carnage}⟩, ⟨Animation, {Up, Shrek, Cars}⟩}) = 2{⟨1, 3{1}⟩}"""
    comedy = (("gen", "Comedy"), ("films", BagValue.of(["Carnage"])))
    animation = (("gen", "Animation"), ("films", BagValue.of(["Up", "Shrek", "Cars"])))
    found = size(BagValue.of([comedy, animation]), Bag(GENRES))
    assert found == BagCost(2, RecordCost((("gen", ONE), ("films", BagCost(3, ONE)))))
    assert str(found) == "2{⟨1, 3{1}⟩}"
    assert tcost(found) == 2 * (1 + 3)


@pytest.mark.parametrize(
    ("cost", "text", "steps"),
    [
        (ONE, "1", 1),
        (BagCost(1, ONE), "{1}", 1),
        (BagCost(3, BagCost(2, ONE)), "3{2{1}}", 6),
        (record_cost((("a", BagCost(2, ONE)), ("b", ONE))), "⟨2{1}, 1⟩", 3),
        (record_cost(()), "1", 1),
    ],
)
def test_printing_and_tcost(cost: Cost, text: str, steps: int) -> None:
    assert (str(cost), tcost(cost)) == (text, steps)


def test_sizes_count_repetitions_and_deletions() -> None:
    """|X| is the sum of absolute multiplicities."""
    assert size(BagValue({1: 2, 2: -3}), NUMBERS) == BagCost(5, ONE)


def test_empty_bags_null_and_labels() -> None:
    """What has no elements has the least cost, and a label costs 1."""
    inner = Bag(GENRES, True)
    assert bottom(inner) == BagCost(1, RecordCost((("gen", ONE), ("films", BagCost(1, ONE)))))
    assert bag_size(EMPTY, GENRES) == size(None, inner) == bottom(inner)
    assert size(None, nullable(LONG)) == size(LabelValue("ι", (1, 2)), Label(())) == ONE
    assert bottom(Dict(LONG)) == bottom(NUMBERS)
    assert bottom(Bag(UNIT)) == BagCost(1, ONE)


def test_the_bag_of_an_empty_and_a_full_bag() -> None:
    """The sup is over all elements, at each level: 2{2{3{1}}}, from {{{1, 2, 3}}, {{}, {4}}}."""
    one, two = BagValue.of([BagValue.of([1, 2, 3])]), BagValue.of([EMPTY, BagValue.of([4])])
    assert str(size(BagValue.of([one, two]), Bag(Bag(NUMBERS)))) == "2{2{3{1}}}"


def test_strict_order() -> None:
    """n{x} < m{y} = n < m and x ≤ y; never on base values, so never on records that have one."""
    small, large = BagCost(2, BagCost(3, ONE)), BagCost(3, BagCost(3, ONE))
    assert less(small, large)
    assert not less(large, small)
    assert not less(large, large)
    assert not less(ONE, ONE)
    assert at_most(ONE, ONE)
    assert not less(BagCost(2, BagCost(2, ONE)), small)
    assert at_most(BagCost(2, BagCost(2, ONE)), small)
    assert not less(BagCost(2, BagCost(4, ONE)), large)
    pair = RecordCost((("a", small), ("b", small)))
    assert less(pair, RecordCost((("a", large), ("b", large))))
    assert not less(pair, RecordCost((("a", large), ("b", small))))
    assert not less(RecordCost((("a", ONE), ("b", small))), RecordCost((("a", ONE), ("b", large))))


def test_bad_costs() -> None:
    """ℕ⁺ has no 0; costs of different types have no order; fields must be there."""
    with pytest.raises(TypeMismatch, match="counts from 1"):
        BagCost(0, ONE)
    pair = RecordCost((("a", ONE),))
    for f in (less, at_most, sup):
        with pytest.raises(TypeMismatch, match="one type"):
            f(pair, RecordCost((("b", ONE),)))
        with pytest.raises(TypeMismatch, match="one type"):
            f(BagCost(1, ONE), ONE)
    with pytest.raises(UnknownName, match="'b'"):
        pair.get("b")
    with pytest.raises(TypeMismatch, match="dictionary"):
        size(EMPTY, Dict(LONG))


@law()
def test_the_order(c: Choices) -> None:
    """≤ is a partial order with least element 1_A and least upper bounds; < is transitive, and < is within ≤."""
    a = Bag(row_type(c, 2))
    x, y, z = (size(random_value(c, a, 3), a) for _ in range(3))
    z = sup(y, z) if c.number(2) else z  # sizes of three random bags are seldom ordered
    assert at_most(x, x)
    assert at_most(bottom(a), x)
    assert (at_most(x, y) and at_most(y, x)) == (x == y)
    assert not (at_most(x, y) and at_most(y, z)) or at_most(x, z)
    assert not (less(x, y) and at_most(y, z)) or less(x, z)
    assert not less(x, y) or (at_most(x, y) and not less(y, x))
    assert at_most(x, sup(x, y))
    assert at_most(y, sup(x, y))
    assert at_most(sup(x, y), z) == (at_most(x, z) and at_most(y, z))


@law()
def test_tcost_keeps_the_order(c: Choices) -> None:
    """a < b ⟹ tcost(a) < tcost(b)        a ≤ b ⟹ tcost(a) ≤ tcost(b)        tcost ≥ 1"""
    a = Bag(row_type(c, 2))
    x, y = (size(random_value(c, a, 3), a) for _ in range(2))
    assert 1 <= tcost(x) <= tcost(sup(x, y))
    more = sup(x, y)
    assert isinstance(more, BagCost)
    more = BagCost(more.count + 1, more.inner)
    assert less(x, more)
    assert tcost(x) < tcost(more)


@law()
def test_size_is_the_least_bound(c: Choices) -> None:
    """size(X) = |X|{least upper bound of the elements}; ⊖X costs the same."""
    row = row_type(c, 2)
    x = random_value(c, Bag(row), 4)
    assert isinstance(x, BagValue)
    found = bag_size(x, row)
    assert all(at_most(size(value, row), found.inner) for value, _ in x)
    assert found == bag_size(-x, row)
    doubled = bag_size(x + x, row)
    assert doubled.inner == found.inner
    assert doubled.count == (2 * found.count if x else 1)
