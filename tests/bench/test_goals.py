"""Goals: judged right on made-up figures on both sides of their bounds, and only where a run has their size."""

from collections.abc import Callable

import pytest
from attrs import evolve
from support.figures import growing, measured, point, run, timing, whole

from ripplenest.bench.goals import GOALS, Goal, judged
from ripplenest.bench.results import Crossover, Measured, Memory, Reading, Run, Tried

Change = Callable[[Measured], Measured]


def verdicts(found: Run) -> dict[str, str]:
    return {j.goal.what: j.verdict for j in judged(found)}


def f2(change: Change, workload: str = "f2") -> Run:
    """The whole run with another F2 at scale 1."""
    good = whole()
    return evolve(good, measured=[change(m) if (m.workload, m.scale) == (workload, 1.0) else m for m in good.measured])


def slower(rows: int, ms: float) -> Run:
    """A batch of so many rows takes so long."""
    return f2(lambda m: evolve(m, points=[evolve(p, batch=timing(ms)) if p.rows == rows else p for p in m.points]))


def test_a_good_run_meets_every_goal() -> None:
    found = verdicts(whole())
    assert found.pop("make test") == "not measured"
    assert set(found.values()) == {"met"}
    assert len(found) == len(GOALS) - 1


# What is missed ↦ figures that just miss it.
MISSED = {
    "a batch on F2 that changes 1 row": lambda: slower(1, 5.1),
    "1k rows": lambda: slower(1_000, 15.1),
    "10k rows": lambda: slower(10_000, 50.1),
    "100k rows": lambda: slower(100_000, 401),
    "each changed row more": lambda: slower(100_000, 40 + 361),
    "each row of a new document more": lambda: f2(
        lambda m: evolve(m, points=[point(1, 1), point(10_001, 1 + 61 * 1.275)]), "nested"
    ),
    "10k rows, against the floor": lambda: f2(lambda m: evolve(m, points=[point(10_000, 40, 7_500, 13)])),
    "6 M items against 120 k, the worst up to 10k rows": lambda: evolve(
        whole(), growing=(growing("f2", (0.02, 1.0), (4.0, 5.3), (10.0, 12.0)),)
    ),
    "DuckDB recomputing, against 1k rows": lambda: slower(1_000, 7_500 / 299),
    "against 10k rows": lambda: slower(10_000, 7_500 / 79),
    "against 100k rows": lambda: slower(100_000, 7_500 / 7.9),
    "changed items up to which recomputing is not faster": lambda: f2(
        lambda m: evolve(m, crossover=evolve(m.crossover, rows=599_000))
    ),
    "policy auto does what is faster, within 2 x (1: it does)": lambda: f2(
        lambda m: evolve(m, crossover=Crossover(None, (Tried(6_000_000, 1.0, 2.0, "full"),)))
    ),
    "load, each flat row": lambda: f2(lambda m: evolve(m, load=2.1e-6 * m.rows)),
    "load, each row of nested input": lambda: f2(lambda m: evolve(m, load=4.1e-6 * m.rows), "nested"),
    "peak memory of a load of 10 M rows": lambda: evolve(
        whole(), memory=Memory(10_000_000, 12.0, 2_010_000_000)
    ),
    "create of F2, against DuckDB recomputing": lambda: f2(lambda m: evolve(m, create=22.6)),
    "all nested rows, against DuckDB's": lambda: f2(lambda m: evolve(m, reading=Reading(1.6, 0.5, 2.0))),
    "the state of F2, against its input as Arrow": lambda: f2(lambda m: evolve(m, state_bytes=2_100_000_000)),
    "opening a state of 1 GB and applying 1 row": lambda: f2(lambda m: evolve(m, opening=timing(151))),
    "100 views of one shape, against one": lambda: evolve(whole(), many=evolve(whole().many, all=timing(51))),
}  # fmt: skip


def test_each_goal_can_be_missed() -> None:
    assert set(MISSED) | {"make test"} == {goal.what for goal in GOALS}


@pytest.mark.parametrize("what", MISSED)
def test_what_just_misses(what: str) -> None:
    assert verdicts(MISSED[what]())[what] == "not met"


def test_small_runs_judge_nothing_about_large_ones() -> None:
    """The figures are bad, and of another size than the goals."""
    small = measured("f2", 0.2, point(1, 1, 2, 1), point(100_000, 90_000, 2, 1), opening=timing(1_000), create=1_000.0)
    smaller = evolve(small, scale=0.1, points=[point(1, 0.1)])
    found = verdicts(run(small, smaller, growing=(growing("f2", (0.004, 0.2), (1, 9)),)))
    large = [
        "6 M items against 120 k, the worst up to 10k rows",
        "against 100k rows",
        "create of F2, against DuckDB recomputing",
        "opening a state of 1 GB and applying 1 row",
    ]
    assert [found[what] for what in large] == ["other size"] * 4
    assert (found["100k rows"], found["10k rows"]) == ("not met", "not measured")


def test_few_rows_say_nothing_of_one_more() -> None:
    found = verdicts(run(measured("f2", 1.0, point(1, 5), point(1_000, 4))))
    assert found["each changed row more"] == "other size"


def test_nothing_was_measured() -> None:
    assert set(verdicts(run()).values()) == {"not measured"}


def test_bounds_are_inside() -> None:
    most = Goal("1", "", 5, "ms", lambda _: 5.0)
    assert most.judged(run()).verdict == "met"
    assert evolve(most, least=True).judged(run()).verdict == "met"
    assert evolve(most, least=True, figure=lambda _: 4.9).judged(run()).verdict == "not met"
    assert evolve(most, sized=lambda _: False).judged(run()).verdict == "other size"
