"""Rows: the Python and the Arrow face say the same, whichever was first, in canonical values."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ripplenest.data import rows as module
from ripplenest.data.rows import Rows, arrow_type
from ripplenest.nrc.errors import EvaluationError, WrongColumns, WrongValue
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import NAN

LONG, DOUBLE, STRING = Base("long"), Base("double", True), Base("string", True)
TYPES = (LONG, DOUBLE, STRING)
MAX = 2**63 - 1


@pytest.fixture(params=[0, 10**9], ids=["by Arrow", "by Python"])
def either_way(request, monkeypatch):
    """Sums by Arrow even when there is one row, or by Python however many there are."""
    monkeypatch.setattr(module, "SMALL", request.param)


def table(types: tuple[Base, ...], *pairs: tuple[tuple[object, ...], int]) -> Rows:
    """Rows that only have their Arrow face."""
    return Rows.of_arrow(types, Rows.of_pairs(types, pairs).arrow())


@pytest.mark.usefixtures("either_way")
def test_sums_per_row():
    nan = float("nan")
    zeros = ((1, -0.0, None), 1), ((1, 0.0, None), 1)
    rows = table(TYPES, ((1, nan, "a"), 2), ((1, -nan, "a"), 1), *zeros, ((2, None, ""), 0))
    want = {(1, NAN, "a"): 3, (1, 0.0, None): 2}
    assert rows.counts() == want
    assert {repr(row): n for row, n in rows.counts().items()} == {repr(row): n for row, n in want.items()}
    assert rows.consolidated().counts() == want
    assert rows.consolidated().arrow().num_rows == 2
    assert rows.plus(table(TYPES, ((1, NAN, "a"), -3))).counts() == {(1, 0.0, None): 2}


def test_python_nan_and_negative_zero_become_canonical():
    rows = Rows.of_counts((LONG, DOUBLE), {(1, -0.0): 1, (1, float("nan")): 2, (2, None): 3})
    assert repr(rows.counts()) == "{(1, 0.0): 1, (1, nan): 2, (2, None): 3}"
    assert (1, NAN) in rows.counts()


@pytest.mark.usefixtures("either_way")
def test_arrow_nan_and_negative_zero_become_canonical():
    bits = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x8000000000000000], dtype=np.uint64)
    given = pa.table({"w": [1, 1, 1], "c0": pa.array(bits.view(np.float64))})
    rows = Rows.of_arrow((DOUBLE,), given)
    assert {repr(row): n for row, n in rows.counts().items()} == {"(nan,)": 2, "(0.0,)": 1}
    assert (NAN,) in rows.counts()
    assert len(set(rows.arrow().column("c0").to_numpy().view(np.uint64).tolist())) == 2


@pytest.mark.usefixtures("either_way")
def test_rows_without_columns():
    assert table((), ((), 2), ((), 3)).counts() == {(): 5}
    assert table((), ((), 2), ((), -2)).consolidated().is_empty
    assert Rows.empty(()).arrow().column_names == ["w"]
    assert Rows.of_arrow((), Rows.empty(()).arrow()).counts() == {}


@pytest.mark.usefixtures("either_way")
def test_weights_are_checked():
    assert table((LONG,), ((1,), MAX), ((1,), MAX), ((1,), -MAX)).counts() == {(1,): MAX}
    with pytest.raises(EvaluationError, match="overflow"):
        table((LONG,), ((1,), MAX), ((1,), 1)).consolidated()
    with pytest.raises(EvaluationError, match="overflow"):
        Rows.of_counts((LONG,), {(1,): MAX + 1})


def test_every_type_survives_arrow():
    moment = datetime(2020, 2, 29, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=2)))
    cases = [
        *((Base("bool"), True), (Base("int"), 7), (LONG, -7), (DOUBLE, 0.5), (STRING, "\0é"), (Base("binary"), b"\0")),
        *((Base("decimal", False, 38, 18), Decimal("1.5")), (Base("date"), moment.date()), (Base("timestamp"), moment)),
    ]
    for base, value in cases:
        ((back,),) = table((base,), ((value,), 1)).counts()
        assert back == value and type(back) is type(value), base
    ((back,),) = table((Base("timestamp"),), ((moment,), 1)).counts()
    assert back.tzinfo is UTC


def test_plus_keeps_both_and_refuses_other_types():
    a, b = Rows.of_counts((LONG,), {(1,): 1}), table((Base("long", True),), ((1,), 1), ((None,), 1))
    assert a.plus(b).counts() == b.plus(a).counts() == {(1,): 2, (None,): 1}
    assert len(a.plus(a, a)) == 3
    with pytest.raises(WrongColumns):
        a.plus(Rows.of_counts((STRING,), {("1",): 1}))


@pytest.mark.parametrize(
    "given",
    [{"c0": [1]}, {"c0": [1], "w": [1], "c1": [1]}, {"c0": ["x"], "w": [1]}, {"c0": [1], "w": [None]}],
)
def test_tables_that_do_not_fit_are_refused(given):
    with pytest.raises(WrongColumns):
        Rows.of_arrow((LONG,), pa.table(given))


def test_values_that_do_not_fit_are_refused_without_showing_them():
    with pytest.raises(WrongValue) as caught:
        Rows.of_counts((LONG, LONG), {(1, "secret"): 1}).arrow()
    assert caught.value.where == "c1" and caught.value.got == "str" and "secret" not in str(caught.value)
    for row in [(2**63,), (1, 2), ()]:
        with pytest.raises((WrongValue, WrongColumns)):
            Rows.of_counts((LONG,), {row: 1}).arrow()


def test_narrower_arrow_types_are_widened():
    given = pa.table({"c0": pa.array([1], pa.int32()), "w": pa.array([1], pa.int32())})
    assert Rows.of_arrow((LONG,), given).arrow().schema.types == [arrow_type(LONG), pa.int64()]
