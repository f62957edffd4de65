"""The order of numbers is that of numpy's stable sorts, whatever the bits by which they differ."""

from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ripplenest.data import argsort as sorts
from ripplenest.data.argsort import argsort, argsort_by, ranks, searched

TYPES = (np.uint64, np.int64, np.uint32)
Numbers = npt.NDArray[np.uint64]


@pytest.fixture(autouse=True, scope="module", params=[0, 1 << 17], ids=["by value", "by radix"])
def large(request):
    """What is done to many is done to few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorts, "FEW", 0)
        patch.setattr(sorts, "MANY", request.param)
        yield


@st.composite
def numbers(draw: st.DrawFn, size: int) -> Numbers:
    """Some that differ in their lowest bits, some in their highest ones, and some that come again and again."""
    high, around = draw(st.sampled_from([0, 3, 30, 50, 60])), draw(st.sampled_from([0, 2**31, 2**63 - 4, 2**64 - 9]))
    few = st.lists(st.integers(0, 7), min_size=size, max_size=size)
    return np.array([(around + (a << high) + b) % 2**64 for a, b in zip(draw(few), draw(few), strict=True)], np.uint64)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Numbers, Numbers]:
    size = draw(st.integers(1, 40))
    return draw(numbers(size)), draw(numbers(size))


@given(pairs(), st.sampled_from(TYPES), st.sampled_from(TYPES))
def test_they_are_numpys(given: tuple[Numbers, Numbers], one: type, other: type) -> None:
    first, second = given[0].astype(one), given[1].astype(other)
    assert argsort(first).tolist() == np.argsort(first, kind="stable").tolist()
    assert argsort_by(first, second).tolist() == np.lexsort((second, first)).tolist()
    assert argsort_by(first, second, first[::-1]).tolist() == np.lexsort((first[::-1], second, first)).tolist()
    assert ranks(first).tolist() == np.unique(first, return_inverse=True)[1].tolist()


@pytest.mark.parametrize("side", ["left", "right"])
@given(pairs())
def test_they_are_found(side: Literal["left", "right"], given: tuple[Numbers, Numbers]) -> None:
    asked, there = given[0], np.sort(given[1])
    assert searched(there, asked, side).tolist() == np.searchsorted(there, asked, side).tolist()


@pytest.mark.parametrize("least", [8, 64])
def test_where_there_is_little_room_for_a_number(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of ties and places leave few bits, or too few."""
    r = np.random.default_rng(7)
    first = r.integers(0, 2**62, 3000, np.uint64)[r.integers(0, 3000, 9000)]
    second = r.integers(0, 2**64, 2000, np.uint64)[r.integers(0, 2000, 9000)] + r.integers(0, 3, 9000, np.uint64)
    monkeypatch.setattr(sorts, "LEAST", least)
    assert (argsort_by(first, second) == np.lexsort((second, first))).all()
    second &= np.uint64(3)
    assert (argsort_by(first, second) == np.lexsort((second, first))).all()
    assert (argsort(np.sort(first)) == np.arange(9000)).all() and not len(argsort(first[:0]))
