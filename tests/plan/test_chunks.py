"""Rows in chunks: they are a sum of the rows, whatever the chunks are."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law

from ripplenest.data import columnar, sums
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
    together = columnar.consolidated({"a": rows, "b": made, "c": Rows.empty(types)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "SMALL", 0)
        both = sums.summed(rows, Room(memory))
    assert {row: n for chunk in found for row, n in chunk.items()} == rows.counts() == both.counts()
    assert sum(map(len, found)) == len(rows.counts()) == len(both) and both.is_sum
    assert {name: r.counts() for name, r in together.items()} == {"a": rows.counts(), "b": made.counts(), "c": {}}
    assert [len(r) for r in together.values()] == [len(r.counts()) for r in together.values()]
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
