"""Where times meet a time."""

import pytest

from ripplenest.bench.crossings import crossing, slope


@pytest.mark.parametrize(
    "times, level, rows",
    [
        ([(1, 2.0), (100, 3.0)], 1.0, 0),  # always above it
        ([(1, 1.0), (100, 100.0)], 10.0, 10),  # in between, along logarithms
        ([(1, 1.0), (10, 1.0), (1_000, 100.0)], 10.0, 100),
        ([(1, 1.0), (10, 2.0), (20, 3.0)], 5.0, 40),  # beyond
        ([(1, 1.0), (10, 1.0)], 5.0, None),  # never
        ([(1, 1.0)], 5.0, None),
        ([], 5.0, None),
    ],
)
def test_crossing(times: list[tuple[float, float]], level: float, rows: float | None) -> None:
    assert crossing(times, level) == (rows if rows is None else pytest.approx(rows))


def test_slope() -> None:
    assert slope([(1, 100.0), (10, 1.0), (20, 3.0)]) == pytest.approx(0.2)
    assert slope([(1, 1.0)]) is None
