"""Measuring: answers are compared, and what an answer does not bear out is not told."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from support.figures import timing

from ripplenest.bench import fanout, many, measure, run
from ripplenest.bench.asked import Asked
from ripplenest.bench.data import Data
from ripplenest.bench.measure import AFTER, BEFORE, Differs
from ripplenest.bench.process import ProcessFailed, answered, why
from ripplenest.bench.results import Measured
from ripplenest.bench.rivals.duck import Duck
from ripplenest.bench.rivals.maintaining import MAINTAINERS, Maintainer
from ripplenest.bench.rivals.pole import Pole
from ripplenest.bench.workloads import F2, GROUPBY, JOIN, JOINGROUP, NF2, NN2, WORKLOADS, Workload

DATA = Data(0.0001, 3)
ASKED = Asked((DATA.scale,), ("f2",), (1, 10, 60, 10_000), ("duckdb", "polars"), 2, 60.0, 3, 3, "ripplenest bench")


def without_last(table: pa.Table) -> pa.Table:
    return table.slice(0, table.num_rows - 1)


class Forgetful(Pole):
    """Its answers lack a row, from the ``late``-th on."""

    def __init__(self, *args: Any, late: int = 0) -> None:
        super().__init__(*args)
        self._late = late

    def answer(self) -> pa.Table:
        self._late -= 1
        return super().answer() if self._late >= 0 else without_last(super().answer())


class Failing(Pole):
    """It has no memory for the view."""

    def __init__(self, *args: Any, said: str) -> None:
        super().__init__(*args)
        self._said = said

    def recompute(self) -> None:
        raise MemoryError(self._said)


@pytest.fixture(autouse=True)
def _warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round to warm up is enough here."""
    monkeypatch.setattr(measure, "WARM", 0)
    monkeypatch.setattr(measure, "QUICK", 0)


def measured(folder: Path, polars: Pole, workload: Workload = JOIN) -> tuple[Measured, Any]:
    duckdb = Duck(workload.name)
    return measure.measure(workload, DATA, ASKED, folder, duckdb, {"duckdb": duckdb, "polars": polars})


OFTEN = ("f2", "nf2", "top10", "paths")  # one of each kind: nested, totals, first rows, rings
ALL = [pytest.param(w, marks=[] if w.name in OFTEN else pytest.mark.long) for w in WORKLOADS.values()]


@pytest.mark.parametrize("workload", ALL, ids=lambda w: w.name)
def test_everything_is_there(workload: Workload, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "OPENINGS", 1)
    found, wrong = measured(folder, Pole(workload.name, workload.keys), workload)
    assert wrong == {}
    kinds = ["insert", "mixed", "delete"] + (["deep insert", "deep delete"] if workload.changes(DATA).deep else [])
    sizes = (1,) if workload is JOINGROUP else (1, 10)
    expected = {(kind, rows) for kind in kinds for rows in sizes} - {("mixed", 1)}
    assert {(p.kind, p.rows) for p in found.points} == expected
    for p in found.points:
        assert p.engine == "local" and p.batch.rounds == 2 and p.batch.least <= p.batch.median <= p.batch.most
        assert list(p.phases) == ["read", "snapshot", "digest", "intake", "views", "commit"]
        assert 0 < sum(p.phases.values()) < 2 * p.batch.most
        compared = p.kind == "insert"
        assert (p.floor is not None, set(p.rivals)) == (compared, {"duckdb", "polars"} if compared else set())
    assert (found.opening is not None) == (workload is F2)
    assert (found.crossover is not None) == (workload is F2)
    if found.crossover is not None:
        rows = [t.rows for t in found.crossover.tried]
        assert rows == [max(found.items * percent // 100, 1) for percent in measure.PERCENT]
        assert found.crossover.rows is None or found.crossover.rows <= rows[-1]
    assert min(found.load, found.create, found.reading.ours, found.reading.computed, found.reading.kept) > 0
    assert [(f.items, f.names) for f in found.fan_outs] == (list(fanout.CASES) if workload is NF2 else [])
    assert all(f.rows_read > f.names and f.batch.rounds == 2 for f in found.fan_outs)
    assert found.items == workload.counted(DATA) <= found.rows
    assert found.state_bytes > found.input_bytes > 0


@pytest.mark.parametrize("late, when", [(0, BEFORE), (1, AFTER)])
def test_a_rival_that_errs_has_no_figures(folder: Path, late: int, when: str) -> None:
    found, wrong = measured(folder, Forgetful(JOIN.name, JOIN.keys, late=late))
    assert wrong == {"polars": f"1 rows differ {when}"}
    assert {name for p in found.points for name in p.rivals} == {"duckdb"}


@pytest.mark.parametrize("said, shown", [("no room\nfor it", "no room"), ("", "")])
def test_a_rival_that_fails_has_none_either(folder: Path, said: str, shown: str) -> None:
    found, wrong = measured(folder, Failing(JOIN.name, JOIN.keys, said=said))
    assert wrong == {"polars": f"failed: MemoryError: {shown}"}
    assert {name for p in found.points for name in p.rivals} == {"duckdb"}


def failed(*_: Any) -> Any:
    raise ProcessFailed("killed")


def test_a_state_that_cannot_be_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "ask", failed)
    found, wrong = measured(folder, Pole(F2.name, F2.keys), F2)
    assert (found.opening, wrong) == (None, {"opening": "failed: killed"})
    assert {name for p in found.points for name in p.rivals} == {"duckdb", "polars"}


def test_a_process_says_why_it_failed() -> None:
    with pytest.raises(ProcessFailed, match=r"^KeyError: 'shut'$"):
        answered("ripplenest.bench.child", "shut", "folder", 1, 1)


def test_the_error_is_said_and_not_its_place() -> None:
    java = "Py4JError: an error\n: java.lang.Exception: one\n\tat a.B.c(B.java:1)\nCaused by: no heap\n\t... 3 more\n\n"
    assert why(java) == "Caused by: no heap" and why("") == why(" \n") == ""


def breaking(monkeypatch: pytest.MonkeyPatch, module: Any, after: int) -> None:
    """Our answers lack a row from the ``after``-th on."""
    whole: Callable[..., pa.Table] = measure.nested
    asked = [0]

    def nested(*args: Any) -> pa.Table:
        asked[0] += 1
        return whole(*args) if asked[0] <= after else without_last(whole(*args))

    monkeypatch.setattr(module, "nested", nested)


@pytest.mark.parametrize("after, when", [(0, BEFORE), (1, AFTER)])
def test_without_a_right_answer_there_is_no_figure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, after: int, when: str
) -> None:
    breaking(monkeypatch, measure, after)
    with pytest.raises(Differs, match=f"1 rows differ from duckdb's {when}"):
        measured(folder, Pole(JOIN.name, JOIN.keys))


def test_a_batch_that_does_nothing_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the last round: those before it would meet rows that are not there."""
    whole, seen = measure.apply, [0]

    def apply(db: Any, change: Any, policy: Any = "auto") -> Any:
        seen[0] += (change.kind, change.rows) == ("mixed", 10)
        if seen[0] == ASKED.rounds + measure.RIVAL_ROUNDS + 2 and change.kind == "mixed":
            return whole(db, measure.Change("insert", 0, ()), policy)
        return whole(db, change, policy)

    monkeypatch.setattr(measure, "apply", apply)
    with pytest.raises(Differs, match=f"10 rows differ from duckdb's {AFTER}"):
        measured(folder, Pole(JOIN.name, JOIN.keys))


@pytest.mark.parametrize(
    "workload, scale, rows, sizes",
    [
        (F2, 0.0001, None, [1, 10]),
        (F2, 0.0001, (1, 7, 100), [1, 7]),
        (NN2, 1, None, [1, 100, 1_000, 10_000, 60_000]),
        (JOINGROUP, 1, None, [100, 1_000, 10_000, 20_000, 30_000, 40_000]),
        (JOINGROUP, 1, (10, 50_000), [10]),
        (JOINGROUP, 0.0001, None, [1]),
    ],
)
def test_how_large_batches_are(workload: Workload, scale: float, rows: Any, sizes: list[int]) -> None:
    counted = evolve(workload, counted=lambda _: 6_000_000) if workload is NN2 else workload  # drawing takes seconds
    assert measure.batch_sizes(counted, evolve(ASKED, rows=rows), Data(scale, 3)) == sizes


# ---------------------------------------------------------------- who maintains, and is not asked in turns


def ran(*workloads: str, rival: str = "pathway") -> Any:
    asked = Asked((DATA.scale,), workloads, (1, 10), (rival,), 1, 60.0, 2, 3, "")
    return run.run(asked, lambda _: None)


@pytest.fixture
def alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured but batches."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(measure, "OPENINGS", 1)
    monkeypatch.setattr(run._Runner, "growing", lambda *_: ())
    for name in ("memory", "many", "published"):
        monkeypatch.setattr(run._Runner, name, lambda _: None)


@pytest.mark.usefixtures("alone")
def test_what_pathway_cannot_do_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "find_spec", lambda _: None)
    assert [(left.what, left.why) for left in ran("f2", "flat").left_out] == [
        ("pathway, f2 at scale 0.0001", "it is asked for flat, groupby only"),
        ("pathway, flat at scale 0.0001", "it is not installed: pip install 'ripplenest[pathway]'"),
    ]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("differing, refused", [(0, []), (2, ["2 rows differ after the batches"])])
def test_what_pathway_takes(differing: int, refused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    times = {1: timing(1.0), 10: timing(2.0)}
    monkeypatch.setattr(run, "find_spec", lambda name: name)
    found = lambda _, __, ___, sizes, *____: ({rows: times[rows] for rows in sizes}, differing)  # noqa: E731
    monkeypatch.setattr(Maintainer, "maintained", found)
    found = ran("flat")
    assert [left.why for left in found.refused] == refused
    told = {p.rows: p.rivals for p in found.measured[0].of_kind("insert")}
    assert told == ({1: {}, 10: {}} if differing else {rows: {"pathway": time} for rows, time in times.items()})
    assert all(not p.rivals for p in found.measured[0].of_kind("delete"))


@pytest.mark.usefixtures("alone")
def test_pathway_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process says why."""
    monkeypatch.setattr(run, "find_spec", lambda name: name)
    monkeypatch.setenv("PYTHONPATH", str(broken_pathway(Path(tempfile.mkdtemp()))))
    (refused,) = ran("flat").refused
    assert refused.why == "failed: ImportError: no licence"


def broken_pathway(folder: Path) -> Path:
    (folder / "pathway.py").write_text("raise ImportError('no licence')\n")
    return folder


@pytest.mark.parametrize("workload", [JOIN, GROUPBY], ids=lambda w: w.name)
def test_pathway_keeps_views(folder: Path, workload: Workload) -> None:
    pytest.importorskip("pathway")
    times, differing = MAINTAINERS["pathway"].maintained(workload, DATA, [1, 10], 1, folder)
    assert (list(times), differing) == ([1, 10], 0)


def test_a_run_tells_what_it_refuses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one workload, and goes on with the others."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    whole = measure.nested

    def nested(db: Any, view: str, like: Any) -> pa.Table:
        found = whole(db, view, like)
        return without_last(found) if view == "f2" else found

    monkeypatch.setattr(measure, "nested", nested)
    monkeypatch.setattr(many, "nested", lambda *args: without_last(whole(*args)))
    monkeypatch.setattr(run, "ask", failed)
    asked = Asked((DATA.scale,), ("f2", "flat"), (1,), ("polars",), 1, 60.0, 2, 3, "")
    found = run.run(asked, lambda _: None)
    turns = "f2 at scales 2e-06 and 0.0001, in turns"
    assert [left.what for left in found.refused] == ["f2 at scale 0.0001", turns, "the memory of a load", "many views"]
    assert "rows differ from" in found.refused[0].why and found.many is None
    assert [m.workload for m in found.measured] == ["flat"]
    assert {name for p in found.measured[0].points for name in p.rivals} == {"polars"}
    assert (found.memory, found.refused[2].why) == (None, "failed: killed")
