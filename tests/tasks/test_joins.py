"""Joins of many rows, by files: what the other engines find, and nothing of it in Java's heap."""

import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.products import product
from support.shop import ANN, BOB, FILMS, VIEWS, customer, item, movie, opened, order
from support.states import MEMORY, recomputed

from ripplenest.data.rows import Rows
from ripplenest.errors import EnvironmentProblem
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, DOUBLE, LONG, STRING, Base
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Col, Const, Op, Product, Source
from ripplenest.run.joiner import PythonJoiner, Task
from ripplenest.spark import frames
from ripplenest.spark import joiner as joiner_module
from ripplenest.spark.joiner import SparkJoiner
from ripplenest.tasks import jobs, joins
from ripplenest.tasks.joins import TaskJoins

BOTH = (LONG, STRING)


@pytest.fixture
def all_by_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)


def made(name: str, types: tuple[Base, ...]) -> Target:
    return Target(name, types, name)


def joiner(spark: SparkSession, folder: Path) -> SparkJoiner:
    return SparkJoiner(spark, TaskJoins(spark, folder, 1 << 24))


def pairs(types: tuple[Base, ...] = BOTH) -> tuple[Source, Source]:
    return Source("T", At.DELTA, types), Source("U", At.OLD, types)


def joined() -> Product:
    """Rows with the same number: that, and the text of the right one."""
    same = Op("eq", (Col(0, 0, LONG), Col(1, 0, LONG)), BOOL)
    return product(pairs(), (same,), (Col(0, 0, LONG), Col(1, 1, STRING)))


def rows_of(n: int, start: int = 0) -> Rows:
    numbers = range(start, start + n)
    columns = {"c0": numbers, "c1": [f"text {i}" for i in numbers], "w": [1] * n}
    return Rows.of_arrow(BOTH, pa.table(columns))


@pytest.mark.usefixtures("all_by_files")
def test_targets_of_several_kinds(spark: SparkSession, tmp_path: Path) -> None:
    """Several columns, none, products without sources, a target that nothing changes, one product twice; rows that
    come twice in an input, and such that cancel out."""
    left = Rows.of_pairs(BOTH, [((1, "a"), 2), ((2, "b"), 1), ((1, "a"), 3), ((3, "c"), 1), ((3, "c"), -1)])
    right = Rows.of_counts(BOTH, {(1, "x"): 1, (1, "é\x00"): -2, (2, None): 5})
    unit = product(pairs()[:1], (), ())
    alone = product((), (Op("eq", (Const(True, BOOL), Const(True, BOOL)), BOOL),), (Const(7, LONG),), -3)
    tasks = [
        Task("m", joined(), (left, right)),
        Task("m", joined(), (right, left)),
        Task("unit", unit, (left,)),
        Task("one", alone, ()),
    ]
    targets = [made("m", BOTH), made("unit", ()), made("one", (LONG,)), made("idle", (DOUBLE,))]
    wanted = {name: rows.counts() for name, rows in PythonJoiner().join(tasks, targets).items()}
    found = joiner(spark, tmp_path).join(tasks, targets)
    assert {name: rows.counts() for name, rows in found.items()} == wanted
    assert found.jobs == 1 and wanted["m"] and wanted["unit"] == {(): 6} and not wanted["idle"]
    assert not list(tmp_path.glob("staging/*"))


@pytest.mark.usefixtures("all_by_files")
def test_what_has_no_value_is_said_as_here(spark: SparkSession, tmp_path: Path) -> None:
    """Of Spark's arithmetic, and of sums of tasks."""
    rows, large = (Rows.of_counts((LONG,), counts) for counts in ({(0,): 1}, {(0,): 2**62}))
    of = Op("div_double", (Const(1.0, DOUBLE), Op("to_double", (Col(0, 0, LONG),), DOUBLE)), DOUBLE)
    divided = Task("m", product(pairs((LONG,))[:1], (), (of,)), (rows,))
    square = Task("m", product(pairs((LONG,)), (), (Op("to_double", (Col(0, 0, LONG),), DOUBLE),)), (large, large))
    for task in (divided, square):
        with pytest.raises(EvaluationError):
            joiner(spark, tmp_path).join([task], [made("m", (DOUBLE,))])
        assert not list(tmp_path.glob("staging/*"))


def test_few_rows_that_make_many(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are joined once more, into files."""
    monkeypatch.setattr(frames, "SMALL_ROWS", 5)
    monkeypatch.setattr(joiner_module, "SMALL_ROWS", 5)
    two, three = (Rows.of_counts((LONG,), {(i,): 2 for i in range(n)}) for n in (2, 3))
    every = product(pairs((LONG,)), (), (Col(0, 0, LONG), Col(1, 0, LONG)))
    for right, many in ((two, 1), (three, 2)):
        found = joiner(spark, tmp_path).join([Task("m", every, (two, right))], [made("m", (LONG, LONG))])
        assert found.jobs == many and len(found["m"]) == 2 * len(right)


@pytest.mark.usefixtures("all_by_files")
def test_workers_that_do_not_see_the_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or do not have this package: rows pass Java's heap then. They are asked once."""
    task, targets = Task("m", joined(), (rows_of(5), rows_of(5))), [made("m", BOTH)]
    asked: list[str] = []

    def unseen(*_: object) -> list[str]:
        asked.append("folder")
        return ["", jobs.UNSEEN]

    def without(*_: object) -> list[str]:
        asked.append("package")
        raise EnvironmentProblem("the workers of Spark do not have this package")

    monkeypatch.setattr(joins, "runs_of", lambda *_: pytest.fail("files that nobody sees"))
    for said in (unseen, without):
        monkeypatch.setattr(jobs.SparkJobs, "on_work", said)
        own = joiner(spark, tmp_path)
        for _ in range(2):
            assert own.join([task], targets)["m"].counts() == rows_of(5).counts()
    assert asked == ["folder", "package"]


@pytest.mark.long
def test_java_holds_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Neither while they are joined nor afterwards: the plans of these would have 80 MB each, and more while they are
    made."""
    left, right = rows_of(250_000), rows_of(250_000, 125_000)
    task, targets = Task("m", joined(), (left, right)), [made("m", BOTH)]
    own = joiner(spark, tmp_path)
    gc.collect()
    gc.disable()
    try:
        before = used(spark)
        for _ in range(2):
            assert len(own.join([task], targets)["m"]) == 125_000
        assert used(spark) - before < 30
    finally:
        gc.enable()


def used(spark: SparkSession) -> int:
    runtime = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
    runtime.gc()
    return int(runtime.totalMemory() - runtime.freeMemory()) >> 20


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as found:
        yield Path(found)


@pytest.mark.usefixtures("all_by_files")
@pytest.mark.long
def test_batches(spark: SparkSession, folder: Path) -> None:
    """As users have them: views are what their definitions say, and nothing is left."""
    with opened(folder / "state", spark=spark, engine="spark") as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in VIEWS[:3]:
            db.create(view)
        with db.batch(policy="incremental") as b:
            b.insert("M", [movie("Jarhead", "Drama", "Mendes"), movie("Alien", "Ann", "Scott")])
            b.delete("M", FILMS[:1])
            b.upsert("C", [customer(9, "Cy", [order(31, item(4, 7, ("z", "z")))])])
        assert b.report.verdict == "incremental" and b.report.jobs
        films = [*FILMS[1:], movie("Jarhead", "Drama", "Mendes"), movie("Alien", "Ann", "Scott")]
        customers = [ANN, BOB, customer(9, "Cy", [order(31, item(4, 7, ("z", "z")))])]
        recomputed(db, {view.name: view for view in VIEWS[:3]}, {"M": films, "C": customers})
        assert not list((folder / "state").glob("staging/*"))
