"""What the figures of views with totals ought to be, numbered by themselves. They are about scale 1, which has 6
million items, a million pairs and a million edges; a smaller run shows what it found."""

from collections.abc import Callable, Iterable

from ripplenest.bench.goals import LARGE, Goal, Judged, growth, has_grown
from ripplenest.bench.results import Measured, Point, Run
from ripplenest.bench.workloads import (
    CHAIN,
    GROUPBY,
    JOINGROUP,
    MOMENTS,
    MOST,
    NF2,
    NN2,
    PATHS,
    TOP10,
    TRIANGLES,
    Workload,
)

Of = Callable[[Measured], float | None]

TINY, FEW, MORE = 100, 1_000, 10_000
INCREMENTS = (10_000, 20_000, 30_000, 40_000)
NEAR = 0.2  # a batch of about one percent of the items is one that is so near to it
KINDS = ("insert", "mixed", "delete")


def judged(run: Run) -> list[Judged]:
    """Every goal."""
    return [goal.judged(run) for goal in GOALS]


def measured(run: Run, workload: Workload) -> Measured | None:
    """At scale 1, or the largest below it."""
    return max((m for m in run.of(workload.name) if m.scale <= LARGE), key=lambda m: m.scale, default=None)


def _goal(
    number: str, what: str, bound: float, unit: str, workload: Workload, of: Of, *, least: bool = False
) -> Goal[Run]:
    """About a workload at scale 1."""

    def figure(run: Run) -> float | None:
        found = measured(run, workload)
        return None if found is None else of(found)

    def sized(run: Run) -> bool:
        found = measured(run, workload)
        return found is not None and found.scale == LARGE

    return Goal(number, what, bound, unit, figure, sized, least)


def _ahead(number: str, what: str, bound: float, workload: Workload, of: Of) -> Goal[Run]:
    """Of a rival, that takes at least so many times as long."""
    return _goal(number, what, bound, "x", workload, of, least=True)


# ---------------------------------------------------------------- figures


def _ms(rows: int) -> Of:
    def figure(m: Measured) -> float | None:
        p = m.point("insert", rows)
        return p.batch.median * 1e3 if p else None

    return figure


def _times(rival: str, p: Point | None) -> float | None:
    """How many times as long the rival takes."""
    return p.rivals[rival].median / p.batch.median if p and rival in p.rivals else None


def _than(rival: str, rows: int) -> Of:
    return lambda m: _times(rival, m.point("insert", rows))


def _than_at_one_percent(rival: str) -> Of:
    def figure(m: Measured) -> float | None:
        share = m.items / 100
        found = min(m.of_kind("insert"), key=lambda p: abs(p.rows - share), default=None)
        return _times(rival, found) if found and abs(found.rows - share) <= NEAR * share else None

    return figure


def _than_whatever_changes(m: Measured) -> float | None:
    """Of DuckDB, whose time hardly depends on the change: against the slowest kind of batch, the worst of all sizes."""
    return min(_found(_of_any_kind(m, rows) for rows in INCREMENTS), default=None)


def _of_any_kind(m: Measured, rows: int) -> float | None:
    inserts = m.point("insert", rows)
    if inserts is None or "duckdb" not in inserts.rivals:
        return None
    return inserts.rivals["duckdb"].median / max(p.batch.median for p in m.points if p.kind in KINDS and p.rows == rows)


def _found(figures: Iterable[float | None]) -> list[float]:
    return [figure for figure in figures if figure is not None]


def _reads_for_items(m: Measured) -> float | None:
    """Stored rows that a price reads where its part has many items, against one that has few, in as many names."""
    few, many = (next((f for f in m.fan_outs if (f.items > f.names) == more), None) for more in (False, True))
    return many.rows_read / few.rows_read if few and many and few.names == many.names else None


def _reads_for_names(m: Measured) -> float | None:
    """The same for each name, where many have one item each, against where few have."""
    each = [f.rows_read / f.names for f in sorted(m.fan_outs, key=lambda f: f.names) if f.items == f.names]
    return each[-1] / each[0] if len(each) > 1 else None


def _reads_for_firsts(m: Measured) -> float | None:
    """Stored rows that a batch reads for each first row that it takes, and for each that the view shows of a group."""
    return m.drained.most_read / (m.drained.groups * m.drained.limit) if m.drained else None


def _drained_growth(m: Measured) -> float | None:
    return m.drained.growth if m.drained else None


def _created(m: Measured) -> float | None:
    """Seconds of ``create`` against those of the better of DuckDB and Spark, after the smallest change."""
    first = m.of_kind("insert")[:1]
    rivals = [p.rivals[name].median for p in first for name in ("duckdb", "spark") if name in p.rivals]
    return m.create / min(rivals) if len(rivals) == 2 else None


def _reads_for_edges(m: Measured) -> float | None:
    """Stored rows that a batch of 100 edges reads for each, of the kind for which it reads most."""
    found = [p.rows_read / p.rows for p in m.points if p.kind in KINDS and p.rows == TINY]
    return max(found, default=None)



GOALS: tuple[Goal[Run], ...] = (
    _goal("g1", "a batch on NN2 that changes 1k items", 40, "ms", NN2, _ms(FEW)),
    _goal("g1", "a batch on NF2 that changes 1k items", 40, "ms", NF2, _ms(FEW)),
    _ahead("g1", "DuckDB recomputing NN2, against 1k items", 100, NN2, _than("duckdb", FEW)),
    _ahead("g1", "DuckDB recomputing NF2, against 1k items", 100, NF2, _than("duckdb", FEW)),
    _ahead("g1", "DuckDB recomputing NN2, against 10k items", 20, NN2, _than("duckdb", MORE)),
    _ahead("g1", "DuckDB recomputing NF2, against 10k items", 20, NF2, _than("duckdb", MORE)),
    _goal("g2", "a price on NF2: rows read for 100 times the items of as many names", 1.1, "x", NF2, _reads_for_items),
    _goal("g2", "a price on NF2: rows read for each of 10 times the names", 1.1, "x", NF2, _reads_for_names),
    _ahead("g3", "Spark recomputing NN2 from memory, against 1k items", 40, NN2, _than("spark", FEW)),
    _ahead("g3", "Spark recomputing NF2 from memory, against 1k items", 40, NF2, _than("spark", FEW)),
    _ahead("g3", "Spark recomputing NN2 from memory, against 1 % of the items", 10, NN2, _than_at_one_percent("spark")),
    _ahead("g3", "Spark recomputing NF2 from memory, against 1 % of the items", 10, NF2, _than_at_one_percent("spark")),
    _goal("g4", "a batch on averages of 1 M pairs that changes 10k", 40, "ms", GROUPBY, _ms(MORE)),
    _ahead("g4", "Structured Streaming maintaining them, against 10k", 5, GROUPBY, _than("streaming", MORE)),
    _ahead("g4", "Pathway maintaining them, against 10k", 1, GROUPBY, _than("pathway", MORE)),
    _ahead("g4", "DuckDB recomputing them, against 10k", 1, GROUPBY, _than("duckdb", MORE)),
    _ahead("g5", "DuckDB recomputing the join, the worst of 10k to 40k", 5, JOINGROUP, _than_whatever_changes),
    Goal("g6", "10 M pairs against 100 k, the worst up to 10k", 1.5, "x", growth(GROUPBY), has_grown(GROUPBY)),
    _ahead("g8", "DuckDB counting triangles, against 100 edges", 100, TRIANGLES, _than("duckdb", TINY)),
    _goal("g8", "rows read for each of 100 edges that change", 50, "", TRIANGLES, _reads_for_edges),
    _goal("g9", "rows read for each first row of ten that goes, of thirty batches", 4, "x", TOP10, _reads_for_firsts),
    _goal("g9", "the greatest goes, batch after batch: the last against the first", 1.5, "x", MOST, _drained_growth),
    _ahead("g10", "DuckDB multiplying matrices of one entry a row, against 100", 50, CHAIN, _than("duckdb", TINY)),
    _ahead("g10", "DuckDB multiplying matrices of four entries a row, against 100", 50, PATHS, _than("duckdb", TINY)),
    _goal("g10", "a batch on moments of 5 M facts that changes 1k", 30, "ms", MOMENTS, _ms(FEW)),
    _ahead("g10", "DuckDB recomputing the moments, against 1k facts", 100, MOMENTS, _than("duckdb", FEW)),
    _goal("g7", "create of NN2, against the better of DuckDB and Spark", 1.5, "x", NN2, _created),
)  # fmt: skip
