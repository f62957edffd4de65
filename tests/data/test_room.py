"""Rows in files are the rows: sorted, summed and read again in pieces, however small the room for them is."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from support.choices import Choices
from support.laws import law
from support.schemas import random_bag, random_schema

from ripplenest.data import spool
from ripplenest.data.hashing import hash_columns
from ripplenest.data.level_values import of_values, values_of
from ripplenest.data.levels import Level
from ripplenest.data.room import DEFAULT, LEAST, MOST, Room, memory_of, row_bytes
from ripplenest.data.rows import Rows
from ripplenest.data.sorting import Sorter
from ripplenest.data.spool import Extent, Spool, concatenated, spooled
from ripplenest.data.sums import Sum
from ripplenest.nrc.bags import Value
from ripplenest.nrc.errors import EvaluationError, WrongValue
from ripplenest.nrc.types import BOOL, DOUBLE, LONG, STRING, Base, Type, nullable

COUNTS: Counter[str] = Counter()
TEXT = nullable(STRING)
assert isinstance(TEXT, Base)
VALUES: dict[Base, tuple[object, ...]] = {
    LONG: (1, 2, -(2**63)),
    TEXT: ("", "a", "é\x00", None),
    BOOL: (True, False),
    DOUBLE: (0.0, 1.5),
}


def levels_of(c: Choices) -> tuple[Type, list[tuple[Value, ...]], list[Level]]:
    row = random_schema(c).relations[0][1]
    made = [tuple(v for v, n in random_bag(c, row, 4) for _ in range(n)) for _ in range(1 + c.number(4))]
    return row, made, [of_values(values, row) for values in made]


@pytest.mark.parametrize("longest", [4, spool.LONGEST])
@law(examples=50)
def test_what_is_in_a_file_is_what_was_appended(longest: int, c: Choices) -> None:
    """Stored.slice(a, b) has the rows a … b of what was appended; so has the level in memory that is put together."""
    row, made, levels = levels_of(c)
    every = [value for values in made for value in values]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "LONGEST", max(longest, *map(_longest, levels)))
        extent = Extent.of(levels[0])
        for level in levels[1:]:
            extent = extent.plus(Extent.of(level))
        file = Spool(Room(), extent)
        for level in levels:
            file.append(level)
        stored = file.stored()
    start = c.number(len(every) + 1)
    end = start + c.number(len(every) - start + 1)
    assert list(values_of(stored.slice(start, end), row)) == every[start:end]
    assert list(values_of(concatenated(levels), row)) == every
    COUNTS["several arrays"] += any(column.num_chunks > 1 for column in stored.columns)
    COUNTS["parts"] += 0 < start < end < len(every)
    COUNTS["bags"] += bool(stored.bags) and end > start


def _longest(level: Level) -> int:
    """The bytes of the longest text column."""
    own = [text for _, text in Extent.of(level).columns]
    return max([*own, *(_longest(bag.rows) for bag in level.bags)], default=0)


@pytest.mark.parametrize("memory", [1 << 9, 1 << 30])
@law(examples=16)
def test_a_sorter_sorts(memory: int, c: Choices) -> None:
    """The windows one after the other are the rows in the order of their numbers, those of one number as they came;
    with a finer number each window of one number has all rows of its own."""
    row, made, levels = levels_of(c)
    sorter, below, numbered = Sorter(Room(memory)), c.pick((1, 2, 1 << 62)), []
    for values, level in zip(made, levels, strict=True):
        numbers = [c.number(below) * c.pick((1, 1, 4)) for _ in values]
        numbered += zip(numbers, values, strict=True)
        sorter.add(level, np.array(numbers, np.uint64))
    windows = list(sorter.windows())
    found = [(n, v) for numbers, level in windows for n, v in zip(numbers.tolist(), values_of(level, row), strict=True)]
    assert found == sorted(numbered, key=lambda pair: pair[0])
    apart = [
        Counter(zip(numbers.tolist(), values_of(level, row), strict=True))
        for numbers, level in sorter.windows(lambda level: level.printed.prints)
    ]
    assert sum(apart, Counter()) == Counter(found)
    assert all(not a.keys() & b.keys() for i, a in enumerate(apart) for b in apart[:i])
    COUNTS["windows"] += len(windows) > 1
    COUNTS["crowds"] += len(apart) > len({n for n, _ in found})


@pytest.mark.parametrize("memory", [1 << 9, 1 << 30])
@law(examples=40)
def test_a_sum_is_one(memory: int, c: Choices) -> None:
    """Sum.rows() is the consolidated sum of what was added; what was in files is in the order of its hashes."""
    types = tuple(c.pick((LONG, TEXT, BOOL, DOUBLE)) for _ in range(c.number(4)))
    by = tuple(i for i in range(len(types)) if c.one_in(2))
    total, made = Sum(Room(memory), types, by), Rows.empty(types)
    for _ in range(c.number(5)):
        pairs = [(tuple(c.pick(VALUES[t]) for t in types), c.pick((1, -1, 2, 2**55))) for _ in range(c.number(12))]
        rows = Rows.of_arrow(types, Rows.of_pairs(types, pairs).arrow())
        total.add(rows)
        made = made.plus(rows)
    found = total.rows()
    assert found.is_sum and found.counts() == made.counts() and len(found) == len(made.counts())
    if total.is_spilled:
        hashes = hash_columns([found.arrow().column(i).combine_chunks() for i in by or range(len(types))], len(found))
        assert (hashes[1:] >= hashes[:-1]).all()
    if not types:
        assert total.held <= 8 or not total.held > Room(memory).chunk
    COUNTS["spilled"] += total.is_spilled and len(found) > 2
    COUNTS["cancelled"] += total.is_spilled and len(found) < len(made)


def test_a_sum_beyond_64_bits_is_none() -> None:
    total = Sum(Room(1), (LONG,))
    for weight in (2**62, 2**62):
        total.add(Rows.of_arrow((LONG,), Rows.of_pairs((LONG,), [((1,), weight)]).arrow()))
    with pytest.raises(EvaluationError, match="multiplicity overflow"):
        total.rows()


def test_what_is_released_is_read_again() -> None:
    room = Room()
    stored = spooled(room, Level(3, [pa.array(["a", None, "c"])]))
    room.release()
    assert stored.slice(0, 3).columns[0].to_pylist() == ["a", None, "c"]


def test_rows_at_once_are_a_share_of_the_memory() -> None:
    narrow, wide = (LONG,), (LONG, TEXT, TEXT, TEXT)
    assert Room(1 << 30).rows(narrow) == 2 * Room(1 << 29).rows(narrow) == (1 << 30) // 64 // row_bytes(narrow)
    assert Room(1 << 30).rows(wide) < Room(1 << 30).rows(narrow)
    assert Room(1).rows(wide) == 64
    assert 2 * Room(MOST).chunk < 2**31  # of texts that are put together, one array holds them


@pytest.mark.parametrize(
    ("given", "found"),
    [("512MB", 512 * 10**6), ("1.5 GiB", 3 << 29), (LEAST, LEAST), ("16777216", LEAST), (" 2gb ", 2 * 10**9)],
)
def test_amounts_of_memory(given: object, found: int) -> None:
    assert memory_of(given, {}) == memory_of(None, {"RIPPLENEST_MEMORY": str(given)}) == found
    assert memory_of(None, {}) == memory_of(None, {"RIPPLENEST_MEMORY": ""}) == DEFAULT
    assert memory_of(given, {"RIPPLENEST_MEMORY": "1TB"}) == found


@pytest.mark.parametrize(
    "given", ["", "much", "12 parsecs", "-1GB", "1e9", "15MB", LEAST - 1, True, 1.5e9, [], "9999999TB", MOST + 1, "nan"]
)
def test_no_amounts_of_memory(given: object) -> None:
    with pytest.raises(WrongValue, match="not an amount of memory") as caught:
        memory_of(given, {})
    assert caught.value.where == "open: memory" and '"512MB"' in str(caught.value)


def test_an_environment_with_nonsense_is_named() -> None:
    with pytest.raises(WrongValue, match="RIPPLENEST_MEMORY"):
        memory_of(None, {"RIPPLENEST_MEMORY": "lots"})


def test_coverage() -> None:
    if len(COUNTS) == 7:
        assert min(COUNTS.values()) >= 3, COUNTS
