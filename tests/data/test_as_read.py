"""Of rows that agree in all that somebody reads, one is left, with the sum of what they weigh."""

from collections import Counter
from typing import Any

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.data import rows as data
from ripplenest.data.rows import Rows
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import NAN

TYPES = (Base("long"), Base("string", True), Base("double", True))
COUNTS: Counter[str] = Counter()


def value(c: Choices, t: Base) -> Any:
    if t.nullable and c.one_in(4):
        return None
    return {"long": c.number(2), "string": c.pick(("", "a")), "double": c.pick((0.0, 1.5, NAN))}[t.kind]


@pytest.mark.parametrize("by_columns", [False, True], ids=["row by row", "by columns"])
@law(examples=many(150, 3000))
def test_who_reads_some_columns_sees_the_same(by_columns: bool, c: Choices) -> None:
    columns = [i for i in range(len(TYPES)) if c.one_in(2)]
    pairs = [(tuple(value(c, t) for t in TYPES), c.pick((-2, -1, 1, 1, 3))) for _ in range(c.number(8))]
    moved = [(tuple(v if i in columns else value(c, TYPES[i]) for i, v in enumerate(row)), -n) for row, n in pairs]
    rows = Rows.of_pairs(TYPES, pairs if c.one_in(2) else [*pairs, *moved])
    if by_columns:
        rows = Rows(TYPES, table=rows.arrow())
    with pytest.MonkeyPatch.context() as small:
        small.setattr(data, "SMALL", 0 if by_columns else data.SMALL)
        found = rows.as_read(columns)
    assert found.select(columns).counts() == rows.select(columns).counts()
    assert found.types == TYPES and {row for row, _ in found.pairs()} <= {row for row, _ in rows.pairs()}
    if found is not rows:
        assert len(found.select(columns).counts()) == len(found) < len(rows)
    COUNTS[f"{by_columns} {'fewer' if found is not rows else 'as they are'}"] += 1
    COUNTS["nothing is left"] += found is not rows and not len(found)


def test_enough_was_met() -> None:
    assert min(COUNTS.values()) > many(5, 100) and len(COUNTS) == 5, COUNTS


def test_what_has_one_sign_is_left_alone() -> None:
    """Nothing cancels, and to look would cost as much as it could save."""
    rows = Rows.of_pairs(TYPES, [((1, "a", None), 1), ((1, "", None), 2)])
    assert rows.as_read([0]) is rows


@pytest.mark.parametrize("by_columns", [False, True], ids=["row by row", "by columns"])
def test_sums_beyond_64_bits_are_left_to_who_adds_what_is_made(
    by_columns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "SMALL", 0)
    pairs = [((1, "a", None), 2**62), ((1, "", None), 2**62), ((1, "b", None), -1), ((1, "c", None), 2**62)]
    rows = Rows.of_pairs(TYPES, pairs)
    if by_columns:
        rows = Rows(TYPES, table=rows.arrow())
    assert rows.as_read([0]) is rows
