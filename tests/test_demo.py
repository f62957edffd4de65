"""The demo: its batches do what they say, its comparison can fail, and the command reports what happened.

The batches run on all films in this process, against the interpreter on few; on Spark the command runs on few films.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from typer.testing import CliRunner

import ripplenest as rn
from ripplenest.cli import app
from ripplenest.demo import main, runner, screen
from ripplenest.demo.batches import HELD_BACK, KINDS, Film, Step
from ripplenest.demo.operations import DeepDelete, DeepInsert, Delete, Input, Insert, Remove, Upsert, accumulate, record
from ripplenest.demo.runner import WATCHED, Built, Databases, Outcome, Runner, Seconds, Times
from ripplenest.examples import films, recompute
from ripplenest.examples.films import Movie

ALL = films.read_films()
BATCH_KEYS = ["seq", "kind", "rows_in", "rows_out", "local", "spark", "equal"]
TIMES: Times = {"local": Seconds(0.1, 0.2), "spark": Seconds(0.3, 0.4)}
OUTCOME = Outcome(1, "insert", "", 1, 1, TIMES, True)
BUILT = Built("related", 1, 1, TIMES, True)


def few() -> list[Film]:
    """Films enough for every batch: some distributors, those films that the batches are about, and the arrivals."""
    arriving = {film["Distributor"] for film in ALL[-HELD_BACK:]}
    known: set[str | None] = set()
    kept: list[Film] = []
    for i, film in enumerate(ALL[:-HELD_BACK]):
        about = film["Title"] == "Hamlet" or film["Distributor"] in {"USA Films", "Focus Features", "Polygram"}
        genre = film["Major Genre"] in {"Western", "Black Comedy", "Musical", "Concert/Performance"} and i % 20 == 0
        another = film["Distributor"] not in known and (i % 20 == 0 or film["Distributor"] in arriving)
        if about or genre or another or film["Title"] is None:
            kept.append(film)
            known.add(film["Distributor"])
    return [*kept, *ALL[-HELD_BACK:]]


def apply(db: rn.Database, seq: int, step: Step) -> rn.Report:
    with db.batch(source="test", seq=seq) as b:
        for operation in step.operations:
            record(b, operation)
    return b.report


@pytest.fixture
def db(tmp_path: Path) -> Iterator[rn.Database]:
    with rn.open(tmp_path / "state", engine="local") as db:
        yield db


@pytest.fixture
def dbs(db: rn.Database, tmp_path: Path) -> Iterator[Databases]:
    """Those of a demo, without Spark."""
    with ExitStack() as stack:
        opened = {n: rn.open(tmp_path / n, engine="local", policy="full") for n in ("spark", "related", "elsewhere")}
        for each in opened.values():
            stack.enter_context(each)
        yield Databases({"local": db, "spark": opened.pop("spark")}, opened)


# ---------------------------------------------------------------- films and batches


def test_the_films_are_all_there() -> None:
    assert len(ALL) == 3201
    assert {type(value) for film in ALL for value in film.values()} == {str, type(None)}
    names = Counter(map(films.movie, ALL))
    assert sorted(m.name or "" for m, n in names.items() if n > 1) == [
        "Friday the 13th", "Hamlet", "Night of the Living Dead",
    ]  # fmt: skip
    assert any(film["Title"] is None for film in ALL)


def test_what_the_batches_do() -> None:
    """Each batch on the copy of all films: which operations it has, and what is different after it."""
    loaded = runner.split(ALL)
    copy = Input(Counter(map(films.movie, loaded[0])))
    copy.distributors.update({name: Counter(bag) for name, bag in films.by_distributor(loaded[0]).items()})
    used = {}
    for step in runner.steps(copy, loaded[1]):
        before = sum(copy.films.values())
        for operation in step.operations:
            accumulate(copy, operation)
        used[step.kind] = {type(operation) for operation in step.operations}
        if step.kind == "duplicate":
            assert (before - sum(copy.films.values()), copy.films[Movie("Hamlet", "Drama", None)]) == (1, 1)
        if step.kind == "correct":
            assert before == sum(copy.films.values())
            assert "Black Comedy" not in {m.gen for m in copy.films}
        if step.kind == "empty bag":
            assert copy.distributors["USA Films"] == Counter()
    assert list(used) == list(KINDS)
    assert len(KINDS) >= 8
    assert [used[k] for k in KINDS[:-1]] == [
        {Insert}, {Delete}, {Delete, Insert}, {Delete}, {Upsert}, {DeepInsert}, {DeepDelete}, {DeepDelete},
    ]  # fmt: skip
    assert used["several"] == {Insert, Delete, DeepInsert, DeepDelete, Remove}
    assert "Polygram" not in copy.distributors
    assert sum(copy.distributors["USA Films"].values()) == 1


@pytest.mark.parametrize(
    "operation",
    [
        Delete((Movie("Other", None, None),)),
        Delete((Movie("Drive", None, None),) * 2),
        DeepInsert("Other", ()),
        DeepDelete("Known", (Movie("Other", None, None),)),
        Remove("Known", (Movie("Other", None, None),)),
        Remove("Other", ()),
    ],
)
def test_the_copy_refuses_what_is_not_there(operation: Any) -> None:
    copy = Input(Counter([Movie("Drive", None, None)]), {"Known": Counter()})
    with pytest.raises(ValueError, match=r"no distributor|not there"):
        accumulate(copy, operation)


def test_the_views_are_the_interpreters(db: rn.Database, dbs: Databases) -> None:
    """After the batch that does everything; what went wrong before it is still there. The interpreter takes seconds."""
    compared = {"several": {"related", "elsewhere"}}
    it = Runner.of(dbs, few())
    it.load()
    for watched in WATCHED:
        for each in dbs.of(watched):
            each.create(watched.view)
    it.warm_up()
    for seq, step in enumerate(it.steps(), start=1):
        report = apply(db, seq, step)
        for operation in step.operations:
            accumulate(it.copy, operation)
        lists = [{"name": name, "films": list(bag.elements())} for name, bag in it.copy.distributors.items()]
        now = compared.get(step.kind, ())
        assert "related" not in now or db.view("related").rows() == films.related(it.copy.films.elements()), step.kind
        assert "elsewhere" not in now or db.view("elsewhere").rows() == films.elsewhere(lists), step.kind
        assert sum(report.rows_out.values()) > 0


# ---------------------------------------------------------------- recomputation and comparison


def test_recomputation_is_the_interpreters(spark: SparkSession) -> None:
    """On films with NULLs and duplicates, and a distributor without films."""
    some = [Movie(n, g, d) for n in ("a", "b", None) for g in ("x", None) for d in ("p", None)]
    rows = [*some, some[0], some[1]]
    lists = {"one": some, "two": [*some[:3], some[0]], "none": []}
    found = {
        "related": recompute.related(recompute.movies(spark, rows)),
        "elsewhere": recompute.elsewhere(recompute.distributors(spark, lists.items())),
    }
    wanted = {
        "related": films.related(rows),
        "elsewhere": films.elsewhere([{"name": name, "films": bag} for name, bag in lists.items()]),
    }
    for name, df in found.items():
        expected = spark.createDataFrame(wanted[name], df.schema)
        assert recompute.same(df.toArrow(), expected.toArrow()), name
        assert not recompute.same(df.toArrow(), expected.limit(len(wanted[name]) - 1).toArrow()), name


A, B, NULL, EMPTY = ("a", [("x", ["p", "q"]), ("y", [])]), ("a", [("y", []), ("x", ["q", "p"])]), ("n", None), ("n", [])


BAGS = pa.list_(pa.struct([("name", pa.string()), ("bag", pa.list_(pa.string()))]))


def nested(spark: SparkSession, rows: list[Any]) -> DataFrame:
    """Of tuples, at every depth."""
    bags = [bags and [{"name": name, "bag": bag} for name, bag in bags] for _, bags in rows]
    return spark.createDataFrame(
        pa.table({"name": pa.array([name for name, _ in rows], pa.string()), "bags": pa.array(bags, BAGS)})
    )


@pytest.mark.parametrize(
    "left, right, equal",
    [
        ([A], [B], True),  # arrays in another order
        ([A, NULL], [NULL, A], True),
        ([A, A], [A], False),  # once more
        ([A], [], False),
        ([NULL], [EMPTY], False),
        ([A], [("a", [("x", ["p", "p"]), ("y", [])])], False),
        ([A], [("a", [("x", ["p", "q", "q"]), ("y", [])])], False),
        ([A], [("a", [("x", ["p"]), ("y", ["q"])])], False),
    ],
)
def test_same(spark: SparkSession, left: Any, right: Any, equal: bool) -> None:
    tables = [nested(spark, rows).toArrow() for rows in (left, right)]
    assert recompute.same(*tables) is equal
    assert recompute.same(*reversed(tables)) is equal


def test_inner_rows(spark: SparkSession) -> None:
    assert recompute.inner_rows(nested(spark, [A, NULL, EMPTY])) == 4


def test_a_difference_is_found(dbs: Databases, spark: SparkSession) -> None:
    """A recomputation that forgets the directors, in place of a view that does; and each of the databases, where it
    alone has other rows."""
    assert dbs.kept["spark"].spark is spark

    def by_genre(movies: DataFrame) -> DataFrame:
        return recompute.related(movies.withColumn("dir", movies.gen))

    it = Runner.of(dbs, few())
    it.load()
    built = it.build(WATCHED[0])
    assert built.equal and built.inner_rows > built.rows > 0
    assert not it.build(evolve(WATCHED[0], recompute=by_genre)).equal
    for each in dbs.of(WATCHED[0]):
        with each.batch() as b:
            b.insert("M", [Movie("Other", None, None)])
        assert not it._compare(WATCHED[0]).equal
        with each.batch() as b:
            b.delete("M", [Movie("Other", None, None)])
    assert it._compare(WATCHED[0]).equal


# ---------------------------------------------------------------- the command


def test_the_demo_on_few_films(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark
    monkeypatch.setattr(films, "read_films", few)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = CliRunner().invoke(app, ["demo", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert found["views"] == ["related", "elsewhere"]
    assert [list(batch) for batch in found["batches"]] == [BATCH_KEYS] * len(KINDS)
    assert [batch["seq"] for batch in found["batches"]] == list(range(1, len(KINDS) + 1))
    assert all(batch["equal"] and batch["rows_in"] and batch["rows_out"] for batch in found["batches"])
    assert "Starting Spark" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "built, outcome", [(BUILT, evolve(OUTCOME, equal=False)), (evolve(BUILT, equal=False), OUTCOME)]
)
def test_a_difference_is_exit_code_1(built: Built, outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "run", lambda *_: main.Result((built,), (outcome,)))
    done = CliRunner().invoke(app, ["demo", "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["batches"][0]["equal"] is outcome.equal


def test_an_old_state_is_not_used(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--state", str(tmp_path)])
    assert (done.exit_code, done.stdout) == (2, "")


@pytest.mark.parametrize("width", [80, 120])
def test_what_the_screen_says(width: int) -> None:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    for watched in WATCHED:
        for part in screen.view(console, watched.view, full=False):
            console.print(part)
    console.print(screen.batches([evolve(OUTCOME, what="a film"), evolve(OUTCOME, seq=2, equal=False)]))
    console.print(screen.summary([OUTCOME, evolve(OUTCOME, equal=False)]))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    compiled = ("related^F", "δ(related^F)", "δ(elsewhere^Γ)", "3 maps", "4 statements", "D.films")
    assert [part for part in (*compiled, "insert: a film", "NO", "1 of 2 batches") if part not in text] == []


def test_the_whole_explanation() -> None:
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    for part in screen.view(console, films.related, full=True):
        console.print(part)
    assert str(rn.explain(films.related)).strip() in "\n".join(
        line.rstrip() for line in console.export_text().splitlines()
    )
