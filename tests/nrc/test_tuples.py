"""Tuples are compared as Python compares them."""

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.nrc.errors import TypeMismatch


@rn.record
class Six:
    a: int
    b: int
    c: int
    x: int
    y: int
    z: int


@rn.view
def less(S: Bag[Six]) -> list[Any]:
    return [s for s in S if (s.a, s.b, s.c) < (s.x, s.y, s.z)]


@rn.view
def at_most(S: Bag[Six]) -> list[Any]:
    return [s for s in S if (s.a, s.b, s.c) <= (s.x, s.y, s.z)]


@rn.view
def more(S: Bag[Six]) -> list[Any]:
    return [s for s in S if (s.a, s.b, s.c) > (s.x, s.y, s.z)]


@rn.view
def at_least(S: Bag[Six]) -> list[Any]:
    return [s for s in S if (s.a, s.b, s.c) >= (s.x, s.y, s.z)]


@rn.view
def equal(S: Bag[Six]) -> list[Any]:
    return [s for s in S if (s.a, s.b, s.c) == (s.x, s.y, s.z)]


@rn.view
def other(S: Bag[Six]) -> list[Any]:
    return [s for s in S if (s.a, s.b, s.c) != (s.x, s.y, s.z)]


VIEWS = (less, at_most, more, at_least, equal, other)
OPS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
ROWS = [dict(zip("abcxyz", values, strict=True)) for values in product((0, 1), repeat=6)]


@pytest.mark.parametrize(("view", "op"), [*zip(VIEWS, OPS, strict=True)])
def test_by_the_first_parts_that_are_not_equal(view: rn.View, op: Callable[[Any, Any], bool]) -> None:
    found = {tuple(row[n] for n in "abcxyz") for row in view(ROWS)}
    assert found == {values for values in product((0, 1), repeat=6) if op(values[:3], values[3:])}


def test_several_in_a_row() -> None:
    @rn.view
    def between(S: Bag[Six]) -> list[Any]:
        return [s for s in S if (s.a, s.b) <= (s.x, 1) < (s.y, s.z)]

    found = {tuple(row[n] for n in "abcxyz") for row in between(ROWS)}
    every = product((0, 1), repeat=6)
    assert found == {(a, b, c, x, y, z) for a, b, c, x, y, z in every if (a, b) <= (x, 1) < (y, z)}


def test_of_different_lengths() -> None:
    with pytest.raises(TypeMismatch, match="tuples of different lengths are compared") as raised:

        @rn.view
        def longer(S: Bag[Six]) -> list[Any]:
            return [s for s in S if (s.a, s.b) < (s.x, s.y, s.z)]

    assert "(s.a, s.b) < (s.x, s.y, s.z)" in str(raised.value) and "2 and 3" in str(raised.value)


def test_what_is_wrong_in_one_is_shown_there() -> None:
    with pytest.raises(TypeMismatch) as raised:

        @rn.view
        def mixed(S: Bag[Six]) -> list[Any]:
            return [s for s in S if (s.a, s.b) < (s.x, "1")]

    assert "long" in str(raised.value) and "string" in str(raised.value)
