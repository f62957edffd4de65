"""What is seen of a domain, by columns, against its meaning row by row."""

from collections import Counter
from collections.abc import Mapping

import pytest
from support.choices import Choices
from support.laws import law
from support.programs import Memory

from ripplenest.data.rows import Row, Rows
from ripplenest.delta.program import MapKind
from ripplenest.nrc.types import DOUBLE, LONG, STRING, Base, nullable
from ripplenest.nrc.values import NAN
from ripplenest.plan.planned import PlannedMap
from ripplenest.run import sizes
from ripplenest.run.passing import stored_before, support, visible, visible_change

MOST = 2**63 - 1
COLUMNS: tuple[tuple[Base, tuple[object, ...]], ...] = (
    (LONG, (1, 2, -(2**63))),
    (nullable(STRING), ("", "a", "é\x00", None)),  # type: ignore[list-item]
    (nullable(DOUBLE), (0.0, NAN, None)),  # type: ignore[list-item]
)
COUNTS = (1, -1, 2, -2, 3, 2**62, -(2**62), MOST, -MOST - 1)
MET: Counter[str] = Counter()


def seen(counts: Mapping[Row, int]) -> dict[Row, int]:
    """The meaning: each row with a count above 0, once."""
    return {row: 1 for row, n in counts.items() if n > 0}


def of_chance(c: Choices, types: tuple[int, ...], most: int) -> dict[Row, int]:
    return {tuple(c.pick(COLUMNS[i][1]) for i in types): c.pick(COUNTS) for _ in range(c.number(most))}


def as_stored(c: Choices, types: tuple[Base, ...], counts: Mapping[Row, int]) -> Rows:
    """``counts`` as Python's rows, as columns, or as a sum of both signs that is still to be made."""
    rows = Rows.of_counts(types, counts)
    match c.number(3):
        case 0:
            return rows
        case 1:
            return Rows.of_arrow(types, rows.arrow())
        case _:
            one = Rows.of_counts(types, dict.fromkeys(counts, 1))
            return Rows.of_arrow(types, rows.plus(one, one.negated()).arrow())


@pytest.mark.parametrize("few", [sizes.FEW, 0])
@law(examples=1500)
def test_a_visible_change_is_the_change_of_what_is_visible(few: int, c: Choices) -> None:
    """visible(before ⊎ change) = visible(before) ⊎ visible_change(change), by rows and by columns."""
    chosen = tuple(c.number(len(COLUMNS)) for _ in range(c.number(4)))
    types = tuple(COLUMNS[i][0] for i in chosen)
    m = PlannedMap("D", MapKind.DOMAIN, types, (), ())
    held, change = of_chance(c, chosen, 40), of_chance(c, chosen, 40)
    held = {row: n for row, n in held.items() if n > 0}
    after = {row: held.get(row, 0) + change.get(row, 0) for row in held | change}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "FEW", few)
        changed = as_stored(c, types, change)
        columns = tuple(range(len(types)))
        before = stored_before(m, changed, Memory({"D": as_stored(c, types, held)}, {"D": (columns,)}))
        assert before.counts() == {row: n for row, n in held.items() if row in change or not types}
        found = visible_change(m, changed, before).counts()
        assert visible(m, as_stored(c, types, held)).counts() == seen(held)
        assert support(as_stored(c, types, change)).counts() == seen(change)
    wanted = Counter(seen(after))
    wanted.subtract(seen(held))
    assert found == {row: n for row, n in wanted.items() if n}
    MET.update(found.values())
    MET["beyond 64 bits"] += any(abs(n) > MOST for n in after.values())


def test_coverage() -> None:
    if MET:
        assert min(MET[1], MET[-1], MET["beyond 64 bits"]) > 100, MET
