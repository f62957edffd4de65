"""Figures of runs that nobody made."""

from typing import Any

from ripplenest.bench.results import Crossover, Growing, Grown, Many, Measured, Memory, Point, Reading, Run, Tried
from ripplenest.bench.timing import Timing

PHASES = {"read": 0.0001, "snapshot": 0.0002, "intake": 0.0003, "views": 0.0004, "commit": 0.001}
TIMES = {1: 4.0, 1_000: 10.0, 10_000: 40.0, 100_000: 300.0}  # ms by changed rows


def timing(ms: float) -> Timing:
    return Timing(ms / 1e3, ms / 2e3, ms / 5e2, 5)


def point(rows: int, ms: float, duckdb_ms: float | None = None, floor_ms: float | None = None) -> Point:
    rivals = {} if duckdb_ms is None else {"duckdb": timing(duckdb_ms)}
    floor = None if floor_ms is None else timing(floor_ms)
    return Point("insert", rows, "incremental", timing(ms), PHASES, floor, rivals)


def measured(workload: str, scale: float, *points: Point, **more: Any) -> Measured:
    items = round(6_000_000 * scale)
    usual: dict[str, Any] = {
        "rows": items, "items": items, "input_bytes": 1_000, "state_bytes": 2_000, "load": items * 1e-6,
        "create": 2.0, "reading": Reading(1.0, 0.5, 0.1), "crossover": None, "opening": None,
    }  # fmt: skip
    return Measured(workload=workload, scale=scale, points=points, **{**usual, **more})


def run(*found: Measured, **more: Any) -> Run:
    usual: dict[str, Any] = {"memory": None, "many": None, "left_out": (), "refused": ()}
    versions = {"ripplenest": "0", "duckdb": "1"}
    return Run("ripplenest bench", "2026-01-01", 1, "a machine", versions, found, **{**usual, **more})


def growing(workload: str, scales: tuple[float, float], *pairs: tuple[float, float]) -> Growing:
    """By ms on the small state and on the large one, of batches of 1, 10, … rows."""
    grown = tuple(Grown(10**i, timing(small), timing(large)) for i, (small, large) in enumerate(pairs))
    return Growing(workload, scales, (round(6_000_000 * scales[0]), round(6_000_000 * scales[1])), grown)


def whole() -> Run:
    """A run that measured everything, all of it good."""
    crossover = Crossover(1_000_000, (Tried(60_000, 0.1, 9.0, "incremental"), Tried(3_000_000, 20.0, 9.0, "full")))
    points = [point(rows, ms, 7_500.0, ms / 2) for rows, ms in TIMES.items()]
    return run(
        measured("f2", 0.02, *points),
        measured("f2", 1.0, *points, crossover=crossover, opening=timing(100),
                 state_bytes=1_500_000_000, input_bytes=1_000_000_000, create=15.0),
        measured("nested", 1.0, *points),
        memory=Memory(10_000_000, 12.0, 1_500_000_000),
        growing=(growing("f2", (0.02, 1.0), (4.0, 4.4), (10.0, 12.0)),),
        many=Many(100, 100, 0.002, 0.01, timing(10), timing(40)),
    )  # fmt: skip
