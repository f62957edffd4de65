"""Rows in chunks: they are a sum of the rows, whatever the chunks are."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from support.choices import Choices
from support.laws import law

from ripplenest.data import columnar, grouping, sums
from ripplenest.data.grouping import prints
from ripplenest.data.room import Room
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.types import LONG, STRING, Base, nullable

TEXT = nullable(STRING)
assert isinstance(TEXT, Base)
VALUES: dict[Base, tuple[object, ...]] = {LONG: (1, 2, -(2**63)), TEXT: ("", "a", "é\x00", None)}
WEIGHTS = (1, -1, 2, 2**55, -(2**55))
COUNTS: Counter[str] = Counter()


@pytest.mark.parametrize("memory", [1 << 10, 1 << 30])
@law(examples=300)
def test_chunks_are_a_sum_of_the_rows(memory: int, c: Choices) -> None:
    """Each chunk is consolidated, no row is in two of them, and their sum is the rows; summed = consolidated."""
    types = tuple(c.pick((LONG, TEXT)) for _ in range(c.number(4)))
    pairs = [(tuple(c.pick(VALUES[t]) for t in types), c.pick(WEIGHTS)) for _ in range(c.number(30))]
    made = Rows.of_pairs(types, pairs)
    rows = [made, made.plus(made.negated()), made.consolidated(), Rows.of_arrow(types, made.arrow())][c.number(4)]
    count = 1 + c.number(5)
    found: list[dict[Row, int]] = [chunk.counts() for chunk in columnar.chunks(rows, count)]
    assert all(chunk.is_sum for chunk in columnar.chunks(rows, count))
    several = {"a": rows, "b": made, "c": Rows.empty(types), "d": made.plus(made.negated()), "e": made.plus(rows)}
    together = columnar.consolidated(several)
    with pytest.MonkeyPatch.context() as patch:
        hashes = c.pick((1, 3, 1 << 62))
        patch.setattr(grouping, "prints", lambda columns, n: prints(columns, n) % np.uint64(hashes))
        collided = columnar.consolidated(several)
        patch.setattr(sums, "SMALL", 0)
        both = sums.summed(rows, Room(memory))
    assert {row: n for chunk in found for row, n in chunk.items()} == rows.counts() == both.counts()
    assert sum(map(len, found)) == len(rows.counts()) == len(both) and both.is_sum
    for found_of in (together, collided):
        assert {name: r.counts() for name, r in found_of.items()} == {name: r.counts() for name, r in several.items()}
        assert all(r.is_sum and len(r) == len(r.counts()) for r in found_of.values())
    COUNTS["several chunks"] += len(found) > 1
    COUNTS["sums"] += len(rows) > len(rows.counts())


def test_a_sum_beyond_64_bits_has_no_chunks() -> None:
    rows = Rows.of_pairs((LONG,), [((1,), 2**62), ((1,), 2**62), ((2,), 1)])
    with pytest.MonkeyPatch.context() as patch, pytest.raises(EvaluationError, match="multiplicity overflow"):
        patch.setattr(sums, "SMALL", 0)
        sums.summed(rows, Room(1))


def test_coverage() -> None:
    if COUNTS:
        assert min(COUNTS["several chunks"], COUNTS["sums"]) > 100, COUNTS


def test_rows_that_are_there_0_times_or_too_often() -> None:
    """Together as alone."""
    nothing = Rows.of_arrow((LONG,), pa.table({"c0": [1, 2], "w": [0, 3]}))
    one = Rows.of_pairs((LONG,), [((1,), 1)])
    found = columnar.consolidated({"a": nothing, "b": one})
    assert found["a"].pairs() == [((2,), 3)] and found["b"].pairs() == [((1,), 1)]
    often = Rows.of_arrow((LONG,), pa.table({"c0": [1, 1], "w": [2**62, 2**62]}))
    with pytest.raises(EvaluationError, match="multiplicity overflow"):
        columnar.consolidated({"a": often, "b": one})
