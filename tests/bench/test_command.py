"""``ripplenest bench``: a small run shows every section, and leaves its files; what cannot be asked is refused."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from attrs import evolve
from support.figures import measured, point, run, timing, whole
from typer.testing import CliRunner, Result

from ripplenest.bench import library, measure, plots, sections, written
from ripplenest.bench import run as running
from ripplenest.bench.results import Crossover, FanOut, Left, Tried
from ripplenest.cli import app

ASKED = ("f2", "nf2", "groupby", "triangles", "top10")  # of WORKLOADS, which test_measure.py measures one by one
SMALL = ["--scale", "0.0001", "--rows", "1", "--rounds", "1", "--views", "2", "--workload", ",".join(ASKED)]
TITLES = [
    "Goals",
    "Goals of totals",
    "f2 at scale 0.0001: flat to nested, three levels, ",
    "nf2 at scale 0.0001: nested to flat, the total of each customer and part, ",
    "nf2 at scale 0.0001: the price of one part changes",
    "groupby at scale 0.0001: the average of each group of pairs, 100 pairs",
    "triangles at scale 0.0001: how many triangles a skewed graph has, 100 edges",
    "top10 at scale 0.0001: the ten greatest pairs of each group, 100 pairs",
    "The same batches on a small state and on a large one",
    "First rows that go, batch after batch",
    "Load, create, read, size",
    "Processes of their own, and many views",
    "A published table: f2 at scale 0.0001, ",
    "The run",
]


def ripplenest(*args: object) -> Result:
    return CliRunner().invoke(app, ["bench", *map(str, args)])


def test_a_small_run(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))  # in memory
    monkeypatch.setattr(measure, "OPENINGS", 1)
    monkeypatch.setattr(measure, "WARM", 0)
    monkeypatch.setattr(measure, "QUICK", 0)
    done = ripplenest(*SMALL, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [title for title in TITLES if not any(line.startswith(title) for line in lines)] == []
    named = ("duckdb", "polars", "floor", "commit", "not met")
    for what in (*named, "peak memory of a load", "opening f2", "over 2 views"):
        assert what in done.stdout
    assert "f2 at scale 0.0001 ..." in done.stderr
    text = (tmp_path / "out" / "RESULTS.md").read_text("utf-8")
    assert [title for title in TITLES if f"## {title}" not in text] == []
    data = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert [m["workload"] for m in data["measured"]] == list(ASKED)
    assert [m["workload"] for m in data["growing"]] == ["f2", "groupby"]
    assert (data["seed"], data["refused"], data["left_out"]) == (1, [], [])
    drawn = re.findall(r"!\[.*\]\((.*)\)", text)
    assert sorted(drawn) == sorted(f"{w}-change.svg" for w in ASKED)
    for name in drawn:
        assert ElementTree.parse(tmp_path / "out" / name).getroot().tag.endswith("svg")  # noqa: S314 - it is ours


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "run", lambda *_: whole())
    done = ripplenest("--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["memory"]["rows"] == 10_000_000


def test_a_refusal_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = run(left_out=(Left("spark, f2", "no Java"),), refused=(Left("f2 at scale 1", "3 rows differ"),))
    monkeypatch.setattr(running, "run", lambda *_: refused)
    done = ripplenest()
    assert done.exit_code == 1
    assert [w for w in ("Left out", "spark, f2", "no Java", "Refused", "3 rows differ") if w not in done.stdout] == []


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None if name in ("duckdb", "matplotlib") else name)
    done = ripplenest()
    assert done.exit_code == 2
    assert done.stderr == (
        "EnvironmentProblem: bench: measuring needs packages that are not installed\n"
        "  wanted   duckdb, polars, matplotlib\n  got      no duckdb, matplotlib\n"
        "  possible pip install 'ripplenest[bench]'\n"
    )


def test_the_tool_works_without_them() -> None:
    """Nothing of it imports them before they are asked for."""
    program = "from ripplenest.cli import app; import ripplenest.bench.library, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert "ripplenest.cli.bench" in done.stdout.split()
    assert not {"duckdb", "polars", "matplotlib"} & set(done.stdout.split())


@pytest.mark.parametrize(
    "option, given, said",
    [
        ("--scale", "0", "is no scale"),
        ("--scale", "1,x", "'x' is no scale"),
        ("--scale", "nan", "is no scale"),
        ("--rows", "1,ten", "'ten' is no number of rows"),
        ("--rows", "0", "'0' is no number of rows"),
        ("--rows", "1.5k", "is no number of rows"),
        ("--workload", "f3", "possible are f2, nested, flat, nn2, nf2"),
        ("--rivals", "duckdb,oracle", "possible are duckdb, polars, spark, streaming, pathway"),
        ("--rounds", "0", "--rounds"),
    ],
)
def test_what_cannot_be_asked(option: str, given: str, said: str) -> None:
    done = ripplenest(option, given)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(re.sub(r"[│╭╮╰╯─]", "", done.stderr).split())


# ---------------------------------------------------------------- what is shown


def table(run: Any, title: str) -> sections.Section:
    return next(s for s in sections.sections(run) if s.title.startswith(title))


def test_the_batches_of_a_workload() -> None:
    points = (point(1, 4.0, 7_500, 2), point(1_000, 10.0, 7_500, 2), evolve(point(10_000, 20_000.0), verdict="full"))
    tried = (Tried(60_000, 0.1, 9.0, "incremental"), Tried(3_000_000, 9.0, 4.0, "full"))
    crossover = Crossover(600_000, tried)
    shown = table(run(measured("f2", 1.0, *points, crossover=crossover)), "f2 at scale 1")
    assert shown.head == ("batch", "rows", "ms", "least to most", "read", "snapshot", "intake", "views", "commit",
                          "floor", "rows read", "duckdb")  # fmt: skip
    assert shown.rows == (
        ("insert", "1", "4", "2 to 8", "0.1", "0.2", "0.3", "0.4", "1", "2", "0", "7,500 (1,875x)"),
        ("insert", "1k", "10", "5 to 20", "0.1", "0.2", "0.3", "0.4", "1", "2", "0", "7,500 (750x)"),
        ("insert (recomputed)", "10k", "20,000", "10,000 to 40,000", "0.1", "0.2", "0.3", "0.4", "1", "", "0", ""),
    )
    assert shown.notes[1].startswith("duckdb is faster from about 1,2")
    assert "beyond what was measured" in shown.notes[1]
    assert shown.notes[2:] == (
        "60,000 changed items (1 % of all) take 100 ms to maintain and 9,000 to recompute here (policy full); policy "
        "auto: incremental.",
        "3,000,000 changed items (50 % of all) take 9,000 ms to maintain and 4,000 to recompute here (policy full); "
        "policy auto: full.",
        "Recomputing pays from about 600,000 changed items (10 % of all) on.",
    )


@pytest.mark.parametrize(
    ("rows", "verdicts", "agrees"),
    [
        (100, ("incremental", "incremental", "full"), True),
        (100, ("incremental", "full", "full"), True),  # at the crossover itself either will do
        (100, ("full", "full", "full"), False),
        (100, ("incremental", "incremental", "incremental"), False),
        (None, ("incremental", "incremental", "incremental"), True),
        (None, ("incremental", "incremental", "full"), False),
        (0.0, ("full", "full", "full"), True),
        (0.0, ("incremental", "full", "full"), False),
    ],
)
def test_what_policy_auto_does(rows: float | None, verdicts: tuple[str, ...], agrees: bool) -> None:
    tried = tuple(Tried(n, 1.0, 1.0, auto) for n, auto in zip((50, 100, 200), verdicts, strict=True))
    assert Crossover(rows, tried).agrees == agrees


def test_where_recomputing_pays() -> None:
    tried = (Tried(600_000, 1.0, 9.0, "incremental"),)
    for rows, said in ((None, "paid for none of these."), (0.0, "pays for every batch.")):
        shown = table(run(measured("f2", 1.0, crossover=Crossover(rows, tried))), "f2 at scale 1")
        assert shown.notes[-1] == f"Recomputing {said}"


def test_time_against_state() -> None:
    small = measured("f2", 0.02, point(1, 4.0), point(1_000, 10.0))
    large = measured("f2", 1.0, point(1, 5.0), point(10, 1))
    shown = table(run(large, small), "f2: time against state")
    assert shown.head == ("rows inserted", "120,000 items", "6,000,000 items", "last against first")
    assert shown.rows == (("1", "4", "5", "1.25x"), ("10", "", "1", ""), ("1k", "10", "", ""))


def test_states_in_turns() -> None:
    shown = table(whole(), "The same batches")
    assert shown.head[-1] == "large against small"
    assert shown.rows == (
        ("f2", "1", "120,000 items", "4", "6,000,000 items", "4.4", "1.10x"),
        ("f2", "10", "120,000 items", "10", "6,000,000 items", "12", "1.20x"),
    )


def test_where_it_was_done_is_told() -> None:
    """Of what engine auto did in this process nothing is said."""
    found = run(measured("groupby", 1.0, point(1, 4.0), evolve(point(10, 4.0), engine="spark"), created_by="spark"))
    assert [row[0] for row in table(found, "groupby at scale 1").rows] == ["insert", "insert (on Spark)"]
    assert [row[5] for row in table(found, "Load").rows] == ["2.00 (on Spark)"]


def test_who_maintains_is_told() -> None:
    p = evolve(point(1, 4.0), rivals={"duckdb": timing(8), "streaming": timing(40), "pathway": timing(4)})
    shown = table(run(measured("groupby", 1.0, p)), "groupby at scale 1")
    assert shown.rows[0][-3:] == ("8 (2x)", "40 (10x)", "4 (1x)")
    assert shown.notes[0].startswith(
        "Milliseconds, medians of 5; of rivals, to compute the view again (of streaming and pathway, to maintain it), "
    )


def test_prices() -> None:
    found = (FanOut(50, 50, timing(3), 201, 405), FanOut(5_000, 50, timing(4), 6_351, 6_500))
    shown = table(run(measured("nf2", 1.0, fan_outs=found)), "nf2 at scale 1: the price")
    assert shown.rows == (("50", "50", "201", "405", "3"), ("5,000", "50", "6,351", "6,500", "4"))


def test_the_other_tables() -> None:
    good = whole()
    (loads,) = (s for s in sections.sections(good) if s.title == "Load, create, read, size")
    assert loads.rows[1][:5] == ("f2", "1", "6,000,000", "6.00", "1")
    assert loads.rows[1][-2:] == ("1500.0", "1.50x")
    assert table(good, "Processes").rows == (
        ("opening f2 at scale 1 (1500 MB) and applying one row", "100 ms"),
        ("peak memory of a load of 10,000,000 flat rows", "1.50 GB"),
        ("seconds of that load, and of drawing its items", "12.0 s"),
        ("a batch of 100 rows over one view", "10 ms"),
        ("the same over 100 views of its shape", "40 ms"),
        ("creating each of them", "10 ms"),
    )
    assert ("seed", "1") in table(good, "The run").rows


def test_the_goals_come_first() -> None:
    first = sections.sections(whole())[0]
    assert first.rows[0] == ("1", "a batch on F2 that changes 1 row", "≤ 5 ms", "4 ms", "met")
    assert first.notes == ("21 of the 21 that this run can judge are met, 0 are not.",)


def test_markdown() -> None:
    shown = sections.Section("T", ("a", "b"), (("x|y", "1"),), ("note",)).markdown()
    assert shown == "## T\n\n| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n\nnote\n"


def test_the_same_figures_are_the_same_files(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        written.write(whole(), tmp_path / folder)
    files = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert files == ["RESULTS.md", "f2-change.svg", "f2-state.svg", "nested-change.svg", "results.json"]
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_drawing_has_the_crossover() -> None:
    crossing = plots._against_change(measured("f2", 1.0, point(1, 1, 10), point(100, 100, 10)))
    (axes,) = crossing.axes
    assert axes.lines[-1].get_xdata() == pytest.approx([10, 10])
    assert [text.get_text() for text in crossing.legends[0].get_texts()] == ["ripplenest", "duckdb"]
