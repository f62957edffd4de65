"""Times as drawings: against the change, with the crossovers, and against the state."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ripplenest.bench.asked import shown
from ripplenest.bench.crossings import crossing
from ripplenest.bench.results import Measured, Run
from ripplenest.bench.workloads import WORKLOADS

OURS = "ripplenest"
STYLE: Any = {"svg.hashsalt": "ripplenest", "svg.fonttype": "none", "font.size": 10}  # the same run, the same file


def write_plots(run: Run, folder: Path) -> list[Path]:
    """Write an SVG file for each workload and kind of drawing; their paths."""
    written = []
    with mpl.rc_context(STYLE):
        for name, figure in _figures(run):
            path = folder / f"{name}.svg"
            figure.savefig(path, format="svg", metadata={"Date": None})
            written.append(path)
    return written


def _figures(run: Run) -> Iterator[tuple[str, Figure]]:
    for workload in run.workloads():
        found = run.of(workload)
        yield f"{workload}-change", _against_change(found[-1])
        if len(found) > 1:
            yield f"{workload}-state", _against_state(found)


def _against_change(m: Measured) -> Figure:
    figure, axes = _axes("rows inserted in one batch")
    points = m.of_kind("insert")
    rows = [p.rows for p in points]
    axes.plot(rows, [p.batch.median * 1e3 for p in points], "o-", linewidth=2, label=OURS)
    floors = [(p.rows, p.floor.median * 1e3) for p in points if p.floor]
    if floors:
        axes.plot(*zip(*floors, strict=True), "--", color="grey", label="floor: write and sync")
    for rival in dict.fromkeys(name for p in points for name in p.rivals):
        theirs = [p for p in points if rival in p.rivals]
        times = [(p.rows, p.rivals[rival].median) for p in theirs]
        (line,) = axes.plot([x for x, _ in times], [t * 1e3 for _, t in times], "s-", markersize=4, label=rival)
        meets = crossing([(p.rows, p.batch.median / p.rivals[rival].median) for p in theirs], 1.0)
        if meets:
            axes.axvline(meets, color=line.get_color(), linestyle=":", linewidth=1)
    axes.set_title(f"{m.workload}, {m.items:,} {WORKLOADS[m.workload].unit}; dotted: where recomputing overtakes")
    figure.legend(loc="outside right upper")
    return figure


def _against_state(found: list[Measured]) -> Figure:
    figure, axes = _axes(f"{WORKLOADS[found[0].workload].unit} in the state")
    for rows in sorted({p.rows for m in found for p in m.of_kind("insert")}):
        points = [(m.items, p.batch.median * 1e3) for m in found if (p := m.point("insert", rows))]
        axes.plot(*zip(*points, strict=True), "o-", label=f"{shown(rows)} rows")
    axes.set_title(f"{found[0].workload}: time against state")
    figure.legend(loc="outside right upper")
    return figure


def _axes(x: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel("ms")
    axes.grid(True, which="major", alpha=0.3)
    return figure, axes
