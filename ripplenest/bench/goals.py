"""What the figures ought to be: each goal with its bound, what was found, and whether it is met.

A goal that is about a size is judged at that size only; at others its figure is shown and says nothing yet.
"""

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

from attrs import frozen

from ripplenest.bench.changes import CUSTOMER_ORDERS, ORDER_ITEMS
from ripplenest.bench.crossings import slope
from ripplenest.bench.results import Measured, Point, Run
from ripplenest.bench.workloads import F2, Workload

Verdict = Literal["met", "not met", "not measured", "other size"]
R = TypeVar("R")
Figure = Callable[[Run], float | None]
MEMORY_ROWS = 10_000_000
MANY_ROWS = 10_000
LARGE = 1.0  # the scale that most of them are about


@frozen
class Goal(Generic[R]):
    """``figure`` is to be at most ``bound``, or at least where ``least``; ``sized`` says whether a run has the size
    that the goal is about."""

    number: str
    what: str
    bound: float
    unit: str
    figure: Callable[[R], float | None]
    sized: Callable[[R], bool] = lambda _: True
    least: bool = False

    def judged(self, run: R) -> "Judged":
        """What ``run`` says of it."""
        figure = self.figure(run)
        if figure is None:
            return Judged(self, None, "not measured")
        met = figure >= self.bound if self.least else figure <= self.bound
        return Judged(self, figure, ("met" if met else "not met") if self.sized(run) else "other size")


@frozen
class Judged:
    """A goal, and what a run says of it."""

    goal: Goal[Any]
    figure: float | None
    verdict: Verdict


def judged(run: Run) -> list[Judged]:
    """Every goal."""
    return [goal.judged(run) for goal in GOALS]


# ---------------------------------------------------------------- figures


def _f2(of: Callable[[Measured], float | None], workload: str = "f2") -> Figure:
    """A figure of a workload at its largest scale."""

    def figure(run: Run) -> float | None:
        found = run.largest(workload)
        return None if found is None else of(found)

    return figure


def _batch(rows: int) -> Figure:
    def ms(m: Measured) -> float | None:
        p = m.point("insert", rows)
        return p.batch.median * 1e3 if p else None

    return _f2(ms)


def _each(m: Measured) -> float | None:
    """Microseconds for one more changed item."""
    seconds = slope([(p.rows, p.batch.median) for p in m.of_kind("insert")])
    return None if seconds is None else seconds * 1e6


def _each_stored(m: Measured) -> float | None:
    """The same for one more row of a new document, which has orders besides items."""
    found = _each(m)
    return None if found is None else found / (1 + 1 / ORDER_ITEMS + 1 / ORDER_ITEMS / CUSTOMER_ORDERS)


def _over_floor(rows: int) -> Figure:
    def times(p: Point) -> float | None:
        return p.batch.median / p.floor.median if p.floor else None

    return _f2(lambda m: _ratio(m.point("insert", rows), times))


def _ahead(rows: int) -> Figure:
    """How many times as long DuckDB takes."""

    def times(p: Point) -> float | None:
        duckdb = p.rivals.get("duckdb")
        return duckdb.median / p.batch.median if duckdb else None

    return _f2(lambda m: _ratio(m.point("insert", rows), times))


def _ratio(p: Point | None, of: Callable[[Point], float | None]) -> float | None:
    return None if p is None else of(p)


def growth(workload: Workload) -> Figure:
    """How many times as long a batch takes on the large state as on the small one, the worst of all sizes."""
    return lambda run: next((g.worst for g in run.growing if g.workload == workload.name), None)


def has_grown(workload: Workload) -> Callable[[Run], bool]:
    """Whether these states are as far apart as the goal has them."""
    return lambda run: any(g.workload == workload.name and g.scales == workload.states for g in run.growing)


def _crossover(m: Measured) -> float | None:
    """Percent of the items, as far as was tried."""
    return 100 * m.crossover.least / m.items if m.crossover else None


def _agrees(m: Measured) -> float | None:
    return None if m.crossover is None else float(m.crossover.agrees)


def _recomputed(m: Measured) -> float | None:
    """Seconds of DuckDB's own recomputation, after the smallest change."""
    found = [p.rivals["duckdb"].median for p in m.of_kind("insert") if "duckdb" in p.rivals]
    return found[0] if found else None


def _created(m: Measured) -> float | None:
    seconds = _recomputed(m)
    return m.create / seconds if seconds else None


def _many(run: Run) -> float | None:
    return run.many.all.median / run.many.one.median if run.many else None


def _peak(run: Run) -> float | None:
    return run.memory.peak_bytes / 1e9 if run.memory else None


def _opened(m: Measured) -> float | None:
    return m.opening.median * 1e3 if m.opening else None


# ---------------------------------------------------------------- sizes


def _many_rows(workload: str) -> Callable[[Run], bool]:
    """Whether batches were so large that the time of one more row can be told."""

    def enough(run: Run) -> bool:
        found = run.largest(workload)
        return found is not None and any(p.rows >= MANY_ROWS for p in found.of_kind("insert"))

    return enough


def _at_one(run: Run) -> bool:
    found = run.largest("f2")
    return found is not None and found.scale >= LARGE


def _loaded(run: Run) -> bool:
    return run.memory is not None and run.memory.rows >= 0.99 * MEMORY_ROWS


def _gigabyte(run: Run) -> bool:
    found = run.largest("f2")
    return found is not None and found.state_bytes >= 1e9


def _hundred(run: Run) -> bool:
    return run.many is not None and run.many.views >= 100


GOALS: tuple[Goal[Run], ...] = (
    Goal("1", "a batch on F2 that changes 1 row", 5, "ms", _batch(1)),
    Goal("1", "1k rows", 15, "ms", _batch(1_000)),
    Goal("1", "10k rows", 50, "ms", _batch(10_000)),
    Goal("1", "100k rows", 400, "ms", _batch(100_000)),
    Goal("1", "each changed row more", 4, "µs", _f2(_each), _many_rows("f2")),
    Goal("1", "each row of a new document more", 6, "µs", _f2(_each_stored, "nested"), _many_rows("nested")),
    Goal("1", "10k rows, against the floor", 3, "x", _over_floor(10_000)),
    Goal("2", "6 M items against 120 k, the worst up to 10k rows", 1.3, "x", growth(F2), has_grown(F2)),
    Goal("3", "DuckDB recomputing, against 1k rows", 300, "x", _ahead(1_000), _at_one, least=True),
    Goal("3", "against 10k rows", 80, "x", _ahead(10_000), _at_one, least=True),
    Goal("3", "against 100k rows", 8, "x", _ahead(100_000), _at_one, least=True),
    Goal("3", "changed items up to which recomputing is not faster", 10, "%", _f2(_crossover), _at_one, least=True),
    Goal("3", "policy auto does what is faster, within 2 x (1: it does)", 1, "", _f2(_agrees), _at_one, least=True),
    Goal("4", "load, each flat row", 2, "µs", _f2(lambda m: m.load / m.rows * 1e6)),
    Goal("4", "load, each row of nested input", 4, "µs", _f2(lambda m: m.load / m.rows * 1e6, "nested")),
    Goal("4", "peak memory of a load of 10 M rows", 2, "GB", _peak, _loaded),
    Goal("4", "create of F2, against DuckDB recomputing", 3, "x", _f2(_created), _at_one),
    Goal("4", "all nested rows, against DuckDB's", 3, "x", _f2(lambda m: m.reading.ours / m.reading.computed), _at_one),
    Goal("5", "the state of F2, against its input as Arrow", 2, "x", _f2(lambda m: m.state_bytes / m.input_bytes)),
    Goal("5", "opening a state of 1 GB and applying 1 row", 150, "ms", _f2(_opened), _gigabyte),
    Goal("6", "100 views of one shape, against one", 5, "x", _many, _hundred),
    Goal("7", "make test", 5, "min", lambda _: None),
)  # fmt: skip
