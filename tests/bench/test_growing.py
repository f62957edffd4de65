"""States that take turns: what is slow for a while is slow for both, and answers are compared as everywhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from ripplenest.bench import growing, measure, timing
from ripplenest.bench.asked import Asked
from ripplenest.bench.data import Data
from ripplenest.bench.growing import measure_growing
from ripplenest.bench.measure import AFTER, Differs
from ripplenest.bench.timing import in_turns
from ripplenest.bench.workloads import F2, GROUPBY, Workload

ASKED = Asked((0.0001,), ("f2",), (1, 10), (), 2, 60.0, 3, 3, "ripplenest bench")


def test_works_take_turns() -> None:
    """A machine that is ten times as slow from some moment on."""
    done: list[str] = []

    def work(name: str, seconds: float) -> float:
        done.append(name)
        return seconds * (10 if len(done) > 12 else 1)

    small, large = in_turns(4, lambda: work("small", 1.0), lambda: work("large", 1.2))
    each = timing.WARM + timing.MORE
    assert done == (["small"] * each + ["large"] * each) * 4
    assert (small.rounds, large.rounds) == (4 * timing.MORE, 4 * timing.MORE)
    assert large.median / small.median == pytest.approx(1.2)


def test_what_warms_up_is_not_counted() -> None:
    seconds: Iterator[float] = iter([9.0, 9.0, 1.0, 2.0, 3.0] * 2)
    (found,) = in_turns(2, lambda: next(seconds))
    assert (found.least, found.median, found.most) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("workload", [F2, GROUPBY], ids=lambda w: w.name)
def test_batches_of_the_small_state_on_both(folder: Path, workload: Workload) -> None:
    small, large = Data(0.0001, 3), Data(0.001, 3)
    found = measure_growing(workload, small, large, ASKED, folder)
    assert (found.workload, found.scales) == (workload.name, (0.0001, 0.001))
    assert found.items == (workload.counted(small), workload.counted(large))
    assert [g.rows for g in found.grown] == [1, 10]
    assert all(t.rounds == ASKED.rounds * timing.MORE for g in found.grown for t in (g.small, g.large))
    assert found.worst == max(g.large.median / g.small.median for g in found.grown)


def test_no_more_rows_than_a_batch_must_not_see_the_state_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "FLAT_TO", 5)
    found = measure_growing(GROUPBY, Data(0.0001, 3), Data(0.001, 3), ASKED, folder)
    assert [g.rows for g in found.grown] == [1]


def test_a_batch_that_does_nothing_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the large state, of the batches that stay."""
    whole, sizes = measure.apply, list[int]()

    def apply(db, change, policy="incremental"):
        sizes.append(change.rows)
        return whole(db, evolve(change, writes=()) if change.rows == 1 and sizes.count(1) == 2 else change, policy)

    monkeypatch.setattr(measure, "apply", apply)
    with pytest.raises(Differs, match=rf"rows differ from duckdb's {AFTER}"):
        measure_growing(GROUPBY, Data(0.0001, 3), Data(0.001, 3), ASKED, folder)
