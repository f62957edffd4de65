"""The comparison of nested tables finds every difference, and none where there is none."""

import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ripplenest.examples.same import differing

ITEM = pa.struct([("part", pa.string()), ("qty", pa.int64())])
ORDER = pa.struct([("date", pa.date32()), ("items", pa.list_(ITEM))])
SCHEMA = pa.schema([("name", pa.string()), ("orders", pa.list_(ORDER))])

ITEMS = st.fixed_dictionaries({"part": st.sampled_from(["a", "b", None]), "qty": st.integers(0, 2)})
DATES = st.sampled_from([datetime.date(1992, 1, 1), datetime.date(1992, 1, 2)])
ORDERS = st.fixed_dictionaries({"date": DATES, "items": st.none() | st.lists(ITEMS, max_size=3)})
ROWS = st.fixed_dictionaries({"name": st.sampled_from(["x", "y"]), "orders": st.none() | st.lists(ORDERS, max_size=3)})


def table(rows: list[Any]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def canonical(value: Any) -> Any:
    """A value as text, bags in one order."""
    match value:
        case dict():
            return repr({k: canonical(value[k]) for k in sorted(value)})
        case list():
            return repr(sorted(map(canonical, value)))
    return repr(value)


def expected(left: list[Any], right: list[Any]) -> int:
    mine, theirs = sorted(map(canonical, left)), list(map(canonical, right))
    common = 0
    for row in mine:
        if row in theirs:
            theirs.remove(row)
            common += 1
    return len(left) - common + len(theirs)


@given(st.lists(ROWS, max_size=4), st.lists(ROWS, max_size=4))
def test_it_counts_what_differs(left: list[Any], right: list[Any]) -> None:
    assert differing(table(left), table(right)) == expected(left, right)


@given(st.lists(ROWS, max_size=4), st.randoms(use_true_random=False))
def test_order_is_nothing(rows: list[Any], random: Any) -> None:
    def shuffled(value: Any) -> Any:
        match value:
            case dict():
                return {k: shuffled(v) for k, v in value.items()}
            case list():
                return random.sample([shuffled(v) for v in value], len(value))
        return value

    assert differing(table(rows), table(shuffled(rows))) == 0


def test_chunks_and_wider_types_are_read_alike() -> None:
    rows = [{"name": "x", "orders": [{"date": datetime.date(1992, 1, 1), "items": [{"part": "a", "qty": 1}]}]}] * 3
    wide = pa.schema([("orders", pa.large_list(pa.struct([("date", pa.date32()), ("items", pa.large_list(ITEM))]))),
                      ("name", pa.large_string())])  # fmt: skip
    chunks = pa.concat_tables([pa.Table.from_pylist(rows[:1], wide), pa.Table.from_pylist(rows[1:], wide)])
    assert differing(table(rows), chunks) == 0
    assert differing(table(rows), chunks.slice(1)) == 1


def test_other_columns_are_an_error() -> None:
    with pytest.raises(LookupError):
        differing(table([]), pa.table({"name": ["x"]}))


def test_items_of_one_order_are_no_items_of_another() -> None:
    """Sums that are not mixed between the levels would be equal."""

    def row(*bags: list[int]) -> dict[str, Any]:
        orders = [{"date": None, "items": [{"part": "a", "qty": q} for q in bag]} for bag in bags]
        return {"name": "x", "orders": orders}

    assert differing(table([row([1, 2], [3])]), table([row([1], [2, 3])])) == 2
    assert differing(table([row([1, 2], [])]), table([row([1], [2])])) == 2


def test_fields_belong_to_their_row() -> None:
    """Sums of fields would be equal."""

    def row(*items: tuple[str, int]) -> dict[str, Any]:
        return {"name": "x", "orders": [{"date": None, "items": [{"part": p, "qty": q} for p, q in items]}]}

    assert differing(table([row(("a", 1), ("b", 2))]), table([row(("a", 2), ("b", 1))])) == 2


def test_bags_of_bags() -> None:
    def bags(value: Any) -> pa.Table:
        return pa.table({"b": pa.array([value], pa.list_(pa.list_(pa.int64())))})

    assert differing(bags([[1, 2], [3]]), bags([[3], [2, 1]])) == 0
    assert differing(bags([[1, 2], [3]]), bags([[1], [2, 3]])) == 2
    assert differing(bags([[1], []]), bags([[1]])) == 2
    assert differing(bags([[1], None]), bags([[1], []])) == 2
