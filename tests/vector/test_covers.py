"""What is left to be read of intervals that come and go; and what is inside of one by its prefix is inside of it."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.edges import EDGES
from support.sizes import many

from ripplenest.data.order import By, prefixes
from ripplenest.data.rows import arrow_type
from ripplenest.nrc.functions.scalars import apply
from ripplenest.nrc.types import Base
from ripplenest.vector.covers import remaining, uncancelled

POINTS = 12
PLACES = st.integers(0, POINTS)
INTERVALS = st.tuples(st.integers(0, 2), PLACES, PLACES, st.sampled_from([1, -1, 1, -1, 2]))
COUNTS: Counter[str] = Counter()


@given(st.lists(INTERVALS.filter(lambda i: i[1] <= i[2]), max_size=6))
@settings(max_examples=many(300, 5000))
def test_what_is_not_read_comes_to_nothing(made: list[tuple[int, int, int, int]]) -> None:
    """Law: of a point outside of what remains the weights of the intervals that it is inside of come to 0, and it is
    the end of none. A stretch that comes to nothing is not read."""
    group, low, high, weight = (np.array([i[n] for i in made], np.int64) for n in range(4))
    numbers, first, last = remaining(lambda: group, low.astype(np.uint64), high.astype(np.uint64), weight)
    left = [(group[n], a, b) for n, a, b in zip(numbers.tolist(), first.tolist(), last.tolist(), strict=True)]
    signed = len({w > 0 for *_, w in made}) > 1
    for g in range(3):
        own = [(a, b, w) for of, a, b, w in made if of == g]
        for x in range(POINTS + 1):
            is_read = any(of == g and a <= x <= b for of, a, b in left)
            is_end = any(x in (a, b) for a, b, _ in own)
            wanted = is_end or sum(w for a, b, w in own if a < x < b) != 0
            assert is_read == wanted if signed else is_read == any(a <= x <= b for a, b, _ in own)
            COUNTS["nothing"] += not is_read and any(a < x < b for a, b, _ in own)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([1, -1, 2, -2])), max_size=6))
@settings(max_examples=many(300, 5000))
def test_rows_that_are_told_alike_count_as_one(made: list[tuple[int, int]]) -> None:
    """Law: those of a group are left unless they weigh nothing together."""
    group, weight = (np.array([i[n] for i in made], np.int64) for n in range(2))
    sums = Counter[int]()
    for g, w in made:
        sums[g] += w
    assert uncancelled(lambda: group, weight).tolist() == [n for n, (g, _) in enumerate(made) if sums[g]]
    COUNTS["group"] += 0 in sums.values()


def test_some_came_to_nothing() -> None:
    assert min(COUNTS["nothing"], COUNTS["group"]) > 20, COUNTS


def test_weights_without_end_are_left_as_they_are() -> None:
    """Their sum could be 0 where it is not."""
    low, high = np.array([[1, 1, 1], [9, 9, 9]], np.uint64)
    found = remaining(lambda: np.zeros(3, np.int64), low, high, np.array([2**62, 2**62, -(2**62)]))
    assert [own.tolist() for own in found] == [[0, 1, 2], [1, 1, 1], [9, 9, 9]]
    weights = np.array([2**62, 2**62, -(2**62), -(2**62)])
    assert uncancelled(lambda: np.zeros(4, np.int64), weights).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("t", EDGES, ids=str)
def test_what_prefixes_tell_apart_is_compared_so(t: Base) -> None:
    """Law: what has a prefix between those of two edges, and neither of them, is between them by every comparison."""
    values = EDGES[t]
    own = prefixes(pa.array(values, arrow_type(t)), By(0)).tolist()
    for a, x in zip(values, own, strict=True):
        for b, y in zip(values, own, strict=True):
            if x < y:
                assert apply("lt", a, b) is apply("le", a, b) is True
                assert apply("gt", b, a) is apply("ge", b, a) is True
