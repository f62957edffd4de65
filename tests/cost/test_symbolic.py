"""Costs without sizes: example 6 as the paper prints it, symbolic counts against numbers, and sizes from row counts."""

from functools import reduce

import pytest
from support.choices import Choices
from support.laws import law
from support.related import MOVIE, RELATED
from support.schemas import random_schema

from ripplenest.cost.counts import Count, Symbol, fewer, larger, no_more, symbol, value
from ripplenest.cost.domains import ONE, BagCost, RecordCost, less, show_tcost, tcost
from ripplenest.cost.interpret import cost, dict_cost
from ripplenest.cost.sizes import derived_sizes, nested_sizes, stored_sizes
from ripplenest.delta.rules import Scope, delta, delta_dict
from ripplenest.nrc.errors import TypeMismatch, UnknownName
from ripplenest.nrc.rewriting.simplify import simplify_dict
from ripplenest.nrc.syntax import At, DictLit, Product, Rel
from ripplenest.nrc.types import LONG, Bag, Record
from ripplenest.shred.contexts import dictionaries, stored_parts
from ripplenest.shred.terms import shred

ITEM = Record((("part", LONG), ("tags", Bag(LONG))))
CUSTOMER = Record((("custkey", LONG), ("orders", Bag(Record((("orderkey", LONG), ("items", Bag(ITEM, True))))))))
M, DM, S = symbol("M"), symbol("M", At.DELTA), symbol("S")


def test_example_6_in_symbols() -> None:
    """C[[related[M]]] = |M|{⟨1, |M|{1}⟩}, in at most |M|(1 + |M|) steps (nrc-ivm, example 6)."""
    found = cost(RELATED, nested_sizes({"M": MOVIE}))
    assert str(found) == "|M|{⟨1, |M|{1}⟩}"
    assert show_tcost(found) == "|M|·(1 + |M|)"


def test_section_2_in_symbols() -> None:
    """related^F and related^Γ(l) cost |M|, their deltas |ΔM| (nrc-ivm, section 2.1, cost analysis)."""
    s, sizes, changed = shred(RELATED), stored_sizes({"M": MOVIE}, {}), frozenset(("M",))
    (d,) = dictionaries(s.context)
    change = simplify_dict(delta_dict(d, Scope(changed, telescoped=True)))
    before, after = cost(s.flat, sizes), cost(delta(s.flat, changed), sizes)
    assert (str(before), str(after)) == ("|M|{⟨1, 1⟩}", "|ΔM|{⟨1, 1⟩}")
    assert (str(dict_cost(d, sizes)), str(dict_cost(change, sizes))) == ("|M|{1}", "|ΔM|{1}")
    assert less(after, before)
    assert less(dict_cost(change, sizes), dict_cost(d, sizes))
    assert isinstance(change, DictLit)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (M, "|M|"),
        (DM, "|ΔM|"),
        (M * DM * M, "|M|²·|ΔM|"),
        (M * 3, "3·|M|"),
        (3 * M, "3·|M|"),
        (larger(M, S * DM), "max(|M|, |ΔM|·|S|)"),
        (larger(M, DM), "|M|"),
        (larger(M, 1), "|M|"),
        (larger(larger(M, 7), 5), "max(7, |M|)"),
        (larger(M * 2, M), "2·|M|"),
        (larger(M, S) * larger(M, S), "max(|M|², |M|·|S|, |S|²)"),
        (symbol("C.orders", total=True), "‖C.orders‖"),
        (symbol("a b"), "|`a b`|"),
        (larger(M * 2, M * S) * 0, "0·|M|·|S|"),  # which are ordered, though 2·|M| and |M|·|S| are not
    ],
)
def test_counts_as_text(count: Count, text: str) -> None:
    assert str(count) == text


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (ONE, "1"),
        (BagCost(3, ONE), "3"),
        (BagCost(M, ONE), "|M|"),
        (BagCost(1, BagCost(M, ONE)), "|M|"),
        (BagCost(2, BagCost(M, BagCost(S, ONE))), "2·|M|·|S|"),
        (BagCost(M, RecordCost((("a", ONE), ("b", ONE), ("c", BagCost(4, ONE))))), "6·|M|"),
        (BagCost(1, RecordCost((("a", ONE), ("b", BagCost(M, ONE)), ("c", BagCost(S, ONE))))), "1 + |M| + |S|"),
        (BagCost(M, RecordCost((("a", BagCost(M, ONE)), ("b", BagCost(S, ONE))))), "|M|·(|M| + |S|)"),
    ],
)
def test_steps_as_text(cost: BagCost, text: str) -> None:
    assert show_tcost(cost) == text


def test_symbols_have_no_number() -> None:
    with pytest.raises(TypeMismatch, match="sizes"):
        tcost(BagCost(M, ONE))


@pytest.mark.parametrize(
    ("few", "many", "strictly"),
    [
        (DM, M, True),
        (DM * S, M * S, True),
        (DM * DM, M * DM, True),
        (1, M, True),  # |M| > |ΔM| ≥ 1
        (S * DM, larger(S * M, M), True),
        (1, DM, False),
        (M, M, False),
        (DM, DM * S, True),  # S changes as well, so it is more than 1
        (symbol("b", At.DELTA, strict=False), symbol("b", strict=False), False),
        (1, symbol("b", strict=False), False),
        (DM * 2, M * 3, True),
        (DM, DM * 2, True),
    ],
)
def test_the_order_of_counts(few: Count, many: Count, strictly: bool) -> None:
    assert no_more(few, many)
    assert not no_more(many, few) or few == many
    assert fewer(few, many) == strictly
    assert not fewer(many, few)


@pytest.mark.parametrize(("a", "b"), [(M, S), (M, DM * DM), (M, 7), (M * 2, M * S), (larger(M, S), M), (M, DM * 9)])
def test_counts_that_are_not_ordered(a: Count, b: Count) -> None:
    """Numbers could make either the larger one, or not strictly larger."""
    assert not fewer(a, b)
    assert not no_more(a, b)


def test_factors_of_a_monomial_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep views cost the largest of hundreds of monomials, of which each is compared with each."""
    asked: list[Symbol] = []
    found = Symbol.family.fget
    assert found is not None
    monkeypatch.setattr(Symbol, "family", property(lambda s: asked.append(s) or found(s)))
    many = [symbol(f"R{i}") * symbol(f"S{i}") for i in range(40)]
    every = reduce(larger, many)
    assert str(larger(every, every) * 2) == str(every * 2)
    assert len(asked) <= 2 * len(many)


SYMBOLS = tuple(Symbol(name, change, strict=name != "b") for name in ("M", "S", "b") for change in (False, True))


def random_count(c: Choices) -> Count:
    count: Count = 1 + c.number(3)
    for _ in range(c.number(4)):
        s = c.pick(SYMBOLS)
        one = symbol(s.name, At.DELTA if s.change else At.OLD, strict=s.strict)
        count = larger(count, one * random_count(c)) if c.one_in(3) else count * one
    return count


@law()
def test_symbols_stand_for_all_numbers(c: Choices) -> None:
    """For |ΔR| < |R| (≤ where it is not strict): a < b, a ≤ b, a · b and the larger of a and b, in numbers too."""
    a, b = random_count(c), random_count(c)
    if c.number(2):
        b = larger(a * b, b)
    for _ in range(4):
        numbers = {s: 1 + c.number(3) for s in SYMBOLS if s.change}
        numbers |= {s.family: n + s.strict + c.number(3) for s, n in numbers.items()}
        x, y = value(a, numbers), value(b, numbers)
        assert value(a * b, numbers) == x * y
        assert value(larger(a, b), numbers) == max(x, y)
        assert not no_more(a, b) or x <= y
        assert not fewer(a, b) or x < y
    assert no_more(a, larger(a, b))
    assert no_more(b, larger(a, b))


# ---------------------------------------------------------------- sizes


def text(sizes: dict[str, BagCost], *keys: str) -> list[str]:
    return [str(sizes[key]) for key in keys]


def test_sizes_of_nested_relations() -> None:
    """Inner bags have symbols, too; with row counts, the average that fits."""
    rows = {"C": 10, "C.orders": 35}
    assert text(nested_sizes({"C": CUSTOMER}), "C", "ΔC") == [
        "|C|{⟨1, |C.orders|{⟨1, |C.orders.items|{⟨1, |C.orders.items.tags|{1}⟩}⟩}⟩}",
        "|ΔC|{⟨1, |ΔC.orders|{⟨1, |ΔC.orders.items|{⟨1, |ΔC.orders.items.tags|{1}⟩}⟩}⟩}",
    ]
    assert text(nested_sizes({"C": CUSTOMER}, {**rows, "C.orders.items": 70, "C.orders.items.tags": 0}), "C", "ΔC") == [
        "10{⟨1, 4{⟨1, 2{⟨1, {1}⟩}⟩}⟩}",
        "{⟨1, 4{⟨1, 2{⟨1, {1}⟩}⟩}⟩}",
    ]
    assert text(nested_sizes({"C": CUSTOMER, "B": Bag(LONG)}, {**rows, "ΔC": 3}), "ΔC", "B") == [
        "3{⟨1, 4{⟨1, |ΔC.orders.items|{⟨1, |ΔC.orders.items.tags|{1}⟩}⟩}⟩}",
        "|B|{|B.[]|{1}}",
    ]


def test_sizes_of_stored_parts() -> None:
    """A dictionary has its rows, and what one label stands for: the rows divided by those of its parent."""
    parts = stored_parts("C", CUSTOMER)
    bags = {"C": parts.pop("C")}
    keys = ("C", "ΔC", "C.orders", "ΔC.orders", "C.orders(l)", "ΔC.orders(l)")
    assert text(stored_sizes(bags, parts), *keys) == [
        "|C|{⟨1, 1⟩}",
        "|ΔC|{⟨1, 1⟩}",
        "‖C.orders‖{⟨1, ⟨1, 1⟩⟩}",
        "‖ΔC.orders‖{⟨1, ⟨1, 1⟩⟩}",
        "|C.orders|{⟨1, 1⟩}",
        "|ΔC.orders|{⟨1, 1⟩}",
    ]
    assert text(stored_sizes(bags, parts, {"C": 10, "C.orders": 35, "ΔC.orders": 12}), *keys) == [
        "10{⟨1, 1⟩}",
        "{⟨1, 1⟩}",
        "35{⟨1, ⟨1, 1⟩⟩}",
        "12{⟨1, ⟨1, 1⟩⟩}",
        "4{⟨1, 1⟩}",
        "2{⟨1, 1⟩}",
    ]


def test_sizes_of_maps() -> None:
    """A map costs what its term does, one that reads it what follows, and their changes what those of the terms do."""
    once, twice = Rel("M", MOVIE), Product(Rel("V", MOVIE), Rel("M", MOVIE))
    terms = {"V": once, "W": twice}
    changes = {"V": [delta(once, frozenset(("M",)))], "W": [delta(twice, frozenset((r,))) for r in ("M", "V")]}
    sizes = derived_sizes(nested_sizes({"M": MOVIE}), terms, changes)
    assert [str(sizes[key].count) for key in ("V", "ΔV", "W", "ΔW")] == ["|M|", "|ΔM|", "|M|²", "|M|·|ΔM|"]
    assert derived_sizes(nested_sizes({"M": MOVIE}), {"V": once}, {})["ΔV"].count == 1


def test_a_change_of_what_is_not_counted() -> None:
    with pytest.raises(UnknownName, match="'ΔM' is counted, 'M' is not"):
        nested_sizes({"M": MOVIE}, {"ΔM": 1})


@law()
def test_symbolic_sizes_say_what_numbers_say(c: Choices) -> None:
    """Sizes of a random schema have the shape of its types, and |ΔR| < |R| for each."""
    relations = dict(random_schema(c).relations)
    sizes = nested_sizes(relations)
    assert all(less(sizes[At.DELTA.show(name)], sizes[name]) for name in relations)
