"""Nested columns in canonical order, and as plain Python: as the calculus has it value by value."""

from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from attrs import frozen
from support.choices import Choices
from support.laws import law
from support.schemas import random_bag, row_type
from support.sizes import many

from ripplenest.data.canonical import arranged, in_order, ranks, unequal
from ripplenest.data.level_values import nested_type
from ripplenest.nrc.bags import BagValue, Value
from ripplenest.nrc.printing.shown import INSIDE, Path, sort_key
from ripplenest.nrc.syntax import Sorting
from ripplenest.nrc.types import EXISTS, Bag, Base, Record, Type
from ripplenest.nrc.values import NAN, from_value
from ripplenest.reading.plain import first_copies, plain

COUNTS: Counter[str] = Counter()


@frozen
class Case:
    """Rows of a type, as values, some of them twice, and how bags in them are shown."""

    row: Type
    values: tuple[Value, ...]
    shown: dict[Path, tuple[Sorting, ...]]

    @property
    def columns(self) -> pa.Array:
        """The values as Arrow, bags in whatever order they have."""
        return pa.array([loose(v) for v in self.values], nested_type(self.row))


def loose(value: Value) -> object:
    """As Arrow takes it, bags in the order in which their rows came."""
    if isinstance(value, BagValue):
        return [loose(row) for row, n in value for _ in range(n)]
    if not isinstance(value, tuple):
        return value
    record = {name: loose(v) for name, v in value}
    return record if record.pop(EXISTS, True) else None


def random_case(c: Choices) -> Case:
    row = row_type(c, 3)
    bags = [random_bag(c, row, 3) for _ in range(1 + c.number(4))]
    values = tuple(value for bag in bags for value, _ in bag)
    return Case(row, values, dict(random_orders(c, row, (INSIDE,))))


def random_orders(c: Choices, t: Type, path: Path):
    """Orders for some of the bags in ``t``, by up to two of the base fields of their rows."""
    if isinstance(t, Record):
        for name, inner in t.there.fields:
            yield from random_orders(c, inner, (*path, name))
    if isinstance(t, Bag):
        fields = list(leaves(t.row, ()))
        if fields and c.one_in(2):
            some = dict.fromkeys(c.pick(fields) for _ in range(1 + c.number(2)))
            yield path, tuple(Sorting(leaf, c.one_in(2), c.one_in(2)) for leaf in some)
        yield from random_orders(c, t.row, (*path, INSIDE))


def leaves(t: Type, path: tuple[str, ...]):
    if isinstance(t, Base):
        yield path
    if isinstance(t, Record):
        for name, inner in t.there.fields:
            yield from leaves(inner, (*path, name))


@law(random_case, examples=many(250, 5000))
def test_ranks_are_the_order_of_values(case):
    """Law: how many are less; equal values share a rank, and no others do."""
    for nulls_first in (True, False):
        keys = [sort_key(v, nulls_last=not nulls_first) for v in case.values]
        less = [sum(other < own for other in keys) for own in keys]
        assert ranks(case.columns, nulls_first).tolist() == less
        COUNTS["ties"] += len(set(less)) < len(less)
        COUNTS["bags"] += isinstance(case.row, Bag) or (
            isinstance(case.row, Record) and any(isinstance(t, Bag) for _, t in case.row.fields)
        )


@law(random_case, examples=many(250, 5000))
def test_what_is_arranged_is_what_is_shown(case):
    """Law: plain(arranged(columns)) is from_value of each; also of columns that are a part of longer ones."""
    shown = [from_value(v, case.row, "", case.shown, (INSIDE,)) for v in case.values]
    columns = case.columns
    assert repr(plain(arranged(columns, case.shown), case.row)) == repr(shown)
    part = pa.concat_arrays([columns, columns]).slice(len(columns) // 2, len(columns))
    assert repr(plain(arranged(part, case.shown), case.row)) == repr((shown * 2)[len(shown) // 2 :][: len(shown)])
    COUNTS["sorted"] += bool(case.shown)


@law(random_case, examples=many(93, 3000))
def test_values_that_differ(case):
    """Law: of arranged values, those that are not equal, place by place."""
    twice = (*case.values, *case.values)
    for i in range(1, len(case.values) + 1):
        others = pa.concat_arrays([case.columns] * 2).slice(i, len(case.values))
        a, b = (arranged(columns, case.shown) for columns in (case.columns, others))
        assert unequal(a, b).tolist() == [(v,) != (w,) for v, w in zip(case.values, twice[i:], strict=False)]


def test_a_record_of_nulls_is_none_that_is_null() -> None:
    values = pa.array([{"a": None}, None, {"a": None}], pa.struct([("a", pa.int64())]))
    assert ranks(values).tolist() == [1, 0, 1]
    others = values.take(pa.array([0, 0, 1]))
    assert unequal(values, others).tolist() == [False, True, True]
    assert arranged(values).to_pylist() == values.to_pylist()


@law(random_case, examples=many(150, 3000))
def test_rows_are_in_the_order_of_a_bag(case):
    """Law: the places of rows, group by group, are those of ``from_value`` of the bags that they are."""
    order = tuple(Sorting(leaf, i % 2 == 0, i % 3 == 0) for i, leaf in enumerate(leaves(case.row, ())))[:2]
    half = len(case.values) // 2
    start = np.repeat([0, half], [half, len(case.values) - half])
    places = in_order(case.columns, start, order)
    groups = [BagValue.of(case.values[:half]), BagValue.of(case.values[half:])]
    shown = [row for g in groups for row in from_value(g, Bag(case.row), "", {**case.shown, (): order})]
    assert repr(plain(arranged(case.columns.take(pa.array(places)), case.shown), case.row)) == repr(shown)


def test_every_kind_of_value_has_its_place():
    """Decimals of 38 digits, doubles without an end, texts by code point: the order of Python, in bags, too."""
    domains = {
        Base("double", True): (None, float("-inf"), -5e-324, 0.0, 1.5, float("inf"), NAN),
        Base("decimal", True, 38, 2): (
            None,
            Decimal("-" + "9" * 36 + ".99"),
            Decimal("0.00"),
            Decimal("9" * 36 + ".01"),
        ),
        Base("string", True): (None, "", "\0", "a", "a\0", "b", "é", "\uffff", "\U0010ffff"),
        Base("binary"): (b"", b"\0", b"\0\xff", b"\xff"),
        Base("bool", True): (None, False, True),
        Base("long"): (-(2**63), -1, 0, 2**63 - 1),
    }
    for t, values in domains.items():
        array = pa.array(values[::-1], nested_type(t))
        assert ranks(array).tolist() == list(range(len(values)))[::-1], t
        bags = pa.array([[v] for v in values[::-1]], pa.list_(nested_type(t)))
        assert ranks(bags).tolist() == list(range(len(values)))[::-1], t
        assert repr(plain(arranged(pa.array([values[::-1]], pa.list_(nested_type(t)))), Bag(t))) == repr([list(values)])


def test_the_first_copies_of_very_many():
    """``limit`` makes as many rows as it shows, however often one of them is there, and whatever the sum is."""
    counts = np.array([1, 2**62, 2**62, 5])
    assert [first_copies(counts, most).tolist() for most in (0, 3)] == [[0, 0, 0, 0], [1, 2, 0, 0]]


def test_coverage():
    if COUNTS["ties"] + COUNTS["sorted"] < 50:
        pytest.skip("the tests of this module did not all run")
    assert COUNTS["ties"] > 50 and COUNTS["bags"] > 100 and COUNTS["sorted"] > 50, COUNTS
