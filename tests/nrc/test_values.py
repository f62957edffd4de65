"""User data to canonical values and back: what is accepted, what is refused and how, and the canonical order."""

import datetime as datetime_module
import decimal
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ripplenest.nrc.bags import BagValue, LabelValue
from ripplenest.nrc.errors import DataError, EvaluationError, WrongColumns, WrongValue
from ripplenest.nrc.printing.shown import sort_key
from ripplenest.nrc.syntax import dict_row
from ripplenest.nrc.types import NUMBERED, Bag, Base, Dict, Label, Record, Site, Type, nullable, optional
from ripplenest.nrc.values import NAN, canonical, from_value, literal_type, to_value

DEC = Base("decimal", False, 5, 2)
ITEM = Record((("qty", Base("int")),))
ORDER = Record((("key", Base("long")), ("note", Base("string", True)), ("items", Bag(ITEM, nullable=True))))


class Size(IntEnum):
    S = 1


class Nanos(datetime):
    """A datetime with a finer part, as other libraries have it."""

    nanosecond = 0


class OneNano(Nanos):
    nanosecond = 1


class NotATime(datetime):
    """A datetime without a year, as other libraries have it."""

    year = math.nan  # type: ignore[assignment]


@attrs.frozen
class Item:
    qty: int


@pytest.mark.parametrize(
    ("kind", "given_value", "value"),
    [
        ("bool", np.True_, True),
        ("int", np.int64(3), 3),
        ("int", Size.S, 1),
        ("int", -(2**31), -(2**31)),
        ("long", 2**63 - 1, 2**63 - 1),
        ("double", 3, 3.0),
        ("double", 2**53 + 2, 2.0**53 + 2),
        ("double", -0.0, 0.0),
        ("double", np.float32(0.5), 0.5),
        ("string", "", ""),
        ("string", "a\0😀", "a\0😀"),
        ("string", np.str_("x"), "x"),
        ("date", date(1, 1, 1), date(1, 1, 1)),
        ("timestamp", datetime(9999, 12, 31), datetime(9999, 12, 31, tzinfo=UTC)),
        ("timestamp", datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), datetime(2024, 1, 1, tzinfo=UTC)),
        ("timestamp", Nanos(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC)),
        ("binary", bytearray(b"a\0"), b"a\0"),
        ("binary", memoryview(b"a"), b"a"),
    ],
)
def test_base_values(kind: str, given_value: object, value: object) -> None:
    got = to_value(given_value, Base(kind), "x")  # type: ignore[arg-type]
    assert (type(got), repr(got)) == (type(value), repr(value))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bool", 1),
        ("int", True),
        ("int", 2**31),
        ("int", -(2**31) - 1),
        ("int", 1.0),
        ("int", "1"),
        ("int", None),
        ("long", 2**63),
        ("long", Decimal(1)),
        ("double", True),
        ("double", Decimal(1)),
        ("double", 2**53 + 1),
        ("double", 10**400),
        ("string", b"x"),
        ("string", "\ud800"),
        ("date", datetime(2024, 1, 1)),
        ("timestamp", date(2024, 1, 1)),
        ("timestamp", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
        ("timestamp", NotATime(2024, 1, 1)),
        ("timestamp", OneNano(2024, 1, 1)),
        ("binary", "x"),
        ("decimal", 0.5),
        ("decimal", Decimal("NaN")),
        ("decimal", Decimal("Infinity")),
        ("decimal", Decimal("1000")),
        ("decimal", Decimal("0.001")),
        ("decimal", Decimal("999.999")),
        ("decimal", Decimal("1E+999999")),
        ("decimal", Decimal("1E-999999")),
        ("decimal", 10**1000),
    ],
)
def test_refused_base_values(kind: str, value: object) -> None:
    t = DEC if kind == "decimal" else Base(kind)  # type: ignore[arg-type]
    with pytest.raises(WrongValue, match=r"rows\[3\]\.x: ") as error:
        to_value([0, 0, 0, {"x": value}][3], Record((("x", t),)), "rows[3]")
    assert str(t) in str(error.value)


@pytest.mark.parametrize("text", ["0", "-0", "-0.0", "0E+999999", "1", "1.5", "-999.99", "1.500000", "1E+2"])
def test_decimals_are_exact_with_the_scale_of_their_type(text: str) -> None:
    value = to_value(Decimal(text), DEC, "x")
    assert isinstance(value, Decimal) and value == Decimal(text)
    assert value.as_tuple().exponent == -2 and not (value.is_zero() and value.is_signed())
    assert to_value(int(Decimal("7")), DEC, "x") == Decimal("7.00")


def test_not_a_number_is_one_object() -> None:
    assert to_value(float("-nan"), Base("double"), "x") is NAN
    assert canonical(np.float64("nan"), Base("double")) is NAN
    assert type(canonical(np.float64(1), Base("double"))) is float
    assert math.copysign(1, canonical(-0.0, Base("double"))) == 1  # type: ignore[arg-type]
    assert to_value([NAN, float("nan")], Bag(Base("double")), "x") == BagValue({NAN: 2})


def test_canonical_forms_of_engine_values() -> None:
    assert canonical(datetime(2024, 1, 1), Base("timestamp")) == datetime(2024, 1, 1, tzinfo=UTC)
    assert str(canonical(Decimal("-0"), DEC)) == "0.00"
    assert canonical(bytearray(b"a"), Base("binary")) == b"a"
    assert canonical(None, DEC) is None


NESTED = {"items": ({"qty": 2}, Item(2), {"qty": 3}), "key": 7, "note": None}


def test_records_and_bags() -> None:
    value = to_value(NESTED, ORDER, "rows[0]")
    items = BagValue({(("qty", 2),): 2, (("qty", 3),): 1})
    assert value == (("key", 7), ("note", None), ("items", items))
    assert to_value(value, ORDER, "rows[0]") == value
    assert from_value(value, ORDER) == {"key": 7, "note": None, "items": [{"qty": 2}, {"qty": 2}, {"qty": 3}]}


def test_null_and_empty_bags_are_two_values() -> None:
    null, empty = (to_value({**NESTED, "items": x}, ORDER, "x") for x in (None, iter(())))
    assert null != empty and from_value(null, ORDER)["items"] is None and from_value(empty, ORDER)["items"] == []
    with pytest.raises(WrongValue, match="NULL"):
        to_value(None, Bag(ITEM), "x")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"key": 1}, r"rows\[1\]: missing fields note, items\n  possible key, note, items"),
        ({**NESTED, "a\nb": 1}, r"rows\[1\]: extra fields 'a\\nb'"),
        ({"key": 1, "note": None, "items": None, 3: 1, "Key": 1}, r"extra fields 3, Key"),
        ({**NESTED, "items": [{"qty": 1}, {}]}, r"rows\[1\]\.items\[1\]: missing fields qty"),
        ({**NESTED, "items": [{"qty": 1}, {"qty": "1"}]}, r"rows\[1\]\.items\[1\]\.qty: wrong type"),
        ({**NESTED, "items": {"qty": 1}}, r"rows\[1\]\.items: not a bag"),
        ({**NESTED, "items": "abc"}, r"rows\[1\]\.items: not a bag"),
        ({**NESTED, "items": [None]}, r"rows\[1\]\.items\[0\]: not a record"),
        (7, r"rows\[1\]: not a record"),
        ((("key", 1), ("key", 2)), r"rows\[1\]: not a record"),
    ],
)
def test_wrong_rows_are_named_by_their_path(row: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        to_value(row, ORDER, "rows[1]")
    assert isinstance(error.value, WrongColumns) == ("fields" in error.value.what)


def test_messages_hold_no_values() -> None:
    with pytest.raises(WrongValue) as error:
        to_value({**NESTED, "key": "secret"}, ORDER, "x")
    assert "secret" not in str(error.value)


def test_labels_and_dictionaries() -> None:
    row = dict_row(Base("int"), "R.items")
    value = to_value({"label": LabelValue("R.items", (7,)), "row": 1}, row, "x")
    assert from_value(value, row) == {"label": LabelValue("R.items", (7,)), "row": 1}
    assert to_value(None, Label((Site("R", NUMBERED),), True), "x") is None
    for wrong in (None, 7, LabelValue("S", (7,)), LabelValue("R", ()), LabelValue("R", ("7",))):
        with pytest.raises(WrongValue):
            to_value(wrong, Label((Site("R", NUMBERED),)), "x")
    with pytest.raises(WrongValue, match="dictionary"):
        to_value({}, Dict(ITEM), "x")


def test_a_change_is_not_a_collection_of_rows() -> None:
    change = BagValue({(("qty", 2),): -1, (("qty", 1),): 1})
    with pytest.raises(EvaluationError, match=r"\.items: a row is there less than 0 times\n.*\n  got      -1 times"):
        from_value((("items", change),), Record((("items", Bag(ITEM)),)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "bool?"), (True, "bool"), (1, "int"), (2**31, "long"), (0.5, "double"), ("", "string")),
        *((b"", "binary"), (date(1, 1, 1), "date"), (datetime(1, 1, 1), "timestamp"), (Decimal("0"), "decimal(1,0)")),
        *((Decimal("0.05"), "decimal(2,2)"), (Decimal("-12.50"), "decimal(4,2)"), (Decimal("1E+3"), "decimal(4,0)")),
        *((Decimal("0.00"), "decimal(2,2)"), (2**63, "None"), (Decimal("1E+99"), "None"), (Decimal("NaN"), "None")),
        *(([], "None"), (Decimal("1." + "0" * 38), "None"), (Decimal("0E-999"), "None")),
    ],
)
def test_types_of_constants(value: object, text: str) -> None:
    t = literal_type(value)
    assert str(t) == text
    assert t is None or from_value(to_value(value, t, ""), t) in (value, datetime(1, 1, 1, tzinfo=UTC))


BASES: dict[Type, st.SearchStrategy[object]] = {
    Base("bool"): st.booleans(),
    Base("long"): st.integers(-(2**63), 2**63 - 1),
    Base("double"): st.floats(),
    DEC: st.decimals(-999, 999, places=2),
    Base("string"): st.text(max_size=3).filter(str.isprintable),
    Base("date"): st.dates(),
    Base("timestamp"): st.datetimes(),
    Base("binary"): st.binary(max_size=3),
}


def typed(t: Type, values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[Type, list[Any]]]:
    """A type built over ``t`` with NULLs, records and bags, and three values of it."""
    inner = Record((("d", t), ("e", nullable(t))))
    fields = (("a", nullable(t)), ("b", Bag(t, nullable=True)), ("c", optional(inner)), ("f", Bag(optional(inner))))
    bag = Bag(Record(fields), nullable=True)
    record = st.none() | st.fixed_dictionaries({"d": values, "e": st.none() | values})
    own = {"a": st.none() | values, "b": st.none() | st.lists(values, max_size=3), "c": record}
    rows = st.fixed_dictionaries({**own, "f": st.lists(record, max_size=2)})
    return st.tuples(st.just(bag), st.lists(st.none() | st.lists(rows, max_size=3), min_size=3, max_size=3))


@given(st.one_of([typed(t, values) for t, values in BASES.items()]))
def test_laws_of_the_edge(case: tuple[Type, list[Any]]) -> None:
    """to(from(v)) = v = to(v); sort_key is a total order, equal exactly for equal values; the order of rows means
    nothing."""
    t, data = case
    values = [to_value(x, t, "x") for x in data]
    assert [to_value(from_value(v, t), t, "x") for v in values] == values == [to_value(v, t, "x") for v in values]
    assert [to_value(x and list(reversed(x)), t, "x") for x in data] == values
    for v in values:
        for w in values:
            assert (sort_key(v) == sort_key(w)) == (v == w)
            assert (sort_key(v) < sort_key(w)) + (sort_key(w) < sort_key(v)) == (v != w)


def test_order_puts_null_first_and_nan_last() -> None:
    doubles = [None, -math.inf, -1.0, 0.0, 1.0, math.inf, NAN]
    assert sorted([NAN, *doubles[:-1]], key=sort_key) == doubles
    assert repr(from_value(BagValue.of(doubles), Bag(Base("double", True)))) == repr(doubles)


@pytest.mark.parametrize(
    ("value", "told"), [(1.0, True), (math.nan, True), (1.5, False), (math.inf, False), ("1", False)]
)
def test_integers_that_became_floats_are_told_what_makes_them_integers(value: object, told: bool) -> None:
    """A column of pandas with NULL among integers has floats."""
    with pytest.raises(WrongValue, match="wrong type") as error:
        to_value(value, Base("long", True), "rows[0].n")
    assert ('astype("Int64")' in str(error.value)) == told


INSTEAD: list[tuple[str, object]] = [
    *(("long", x) for x in (True, "3", 3.0)),
    *(("double", x) for x in (True, "1.5", Decimal("1.5"))),
    *(("decimal", x) for x in (1.5, "1.5")),
    *(("bool", x) for x in (1, 0)),
    *(("string", x) for x in (3, 1.5, Decimal("1.5"), date(2024, 1, 2), datetime(2024, 1, 2))),
    *(("date", x) for x in (datetime(2024, 1, 2), "2024-01-02")),
    *(("timestamp", x) for x in ("2024-01-02 10:00", date(2024, 1, 2))),
    ("binary", "x"),
]


@pytest.mark.parametrize(("kind", "came"), INSTEAD, ids=str)
def test_what_is_told_in_place_of_a_value_of_another_type_makes_one(kind: str, came: object) -> None:
    wanted = Base("decimal", precision=4, scale=2) if kind == "decimal" else Base(kind)  # type: ignore[arg-type]
    with pytest.raises(WrongValue, match="wrong type") as caught:
        to_value(came, wanted, "x")
    assert caught.value.possible
    names = {"x": came, "datetime": datetime_module, "decimal": decimal}
    assert to_value(eval(caught.value.possible[0], names), wanted, "x") is not None  # noqa: S307 - as told


@pytest.mark.parametrize(("kind", "came"), [("long", []), ("date", 3), ("bool", "x"), ("string", b"x")])
def test_nothing_is_told_where_nothing_is_meant(kind: str, came: object) -> None:
    with pytest.raises(WrongValue) as caught:
        to_value(came, Base(kind), "x")  # type: ignore[arg-type]
    assert caught.value.possible is None
