"""What a small batch costs Spark: one job of one task for the whole program, as Spark's own status says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support import shop as films
from support.products import product
from support.shop import ANN, BOB, FILMS, Customer, Movie, customer, item, movie, opened, order
from support.states import recomputed

import ripplenest as rn
from ripplenest import Bag
from ripplenest.data.rows import Rows
from ripplenest.nrc.syntax import At
from ripplenest.nrc.types import BOOL, LONG
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Col, Op, Source
from ripplenest.run import propagate
from ripplenest.run.joiner import Task
from ripplenest.spark.joiner import SparkJoiner

SEVERAL = "spark.sql.shuffle.partitions"


@rn.view
def behind(C: Bag[Customer], M: Bag[Movie]):
    """Nothing to look up by: films behind each customer in the alphabet, beside a film that everybody likes."""
    return [
        {
            "c": c.name,
            "behind": [
                {"film": m.name, "parts": [i.part for o in c.orders for i in o.items]} for m in M if m.name > c.name
            ],
            "all": [m.name for m in M if m.dir == "Refn"],
        }
        for c in C
    ]


VIEWS = (films.parts, films.tags, films.related, films.liked, behind)


class Status:
    """The jobs that began since this was made, by what Spark says of them."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._before = set(self._tracker.getJobIdsForGroup(None))

    @property
    def jobs(self) -> list[list[int]]:
        """For each job, the tasks of each of its stages."""
        new = sorted(set(self._tracker.getJobIdsForGroup(None)) - self._before)
        stages = [self._tracker.getJobInfo(job).stageIds for job in new]  # type: ignore[union-attr]
        return [[info.numTasks for info in map(self._tracker.getStageInfo, of) if info] for of in stages]


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Iterator[rn.Database]:
    with opened(tmp_path / "state", spark=spark, engine="local") as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in VIEWS:
            db.create(view)
    with opened(tmp_path / "state", spark=spark, engine="spark") as db:
        yield db


def change(b: Any) -> None:
    """All relations, and several levels of each of their views."""
    b.insert("M", [movie("Jarhead", "Drama", "Mendes"), movie("Alien", "Ann", "Scott")])
    b.delete("M", FILMS[:1])
    b.upsert("C", [customer(9, "Cy", [order(31, item(4, 7, ("z", "z")))])])
    b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(3, 5, ("b",))])


AFTER = {
    "M": [*FILMS[1:], movie("Jarhead", "Drama", "Mendes"), movie("Alien", "Ann", "Scott")],
    "C": [
        customer(7, "Ann", [order(11, item(1, 2, ("a",)), item(2, 1), item(3, 5, ("b",))), order(12)]),
        BOB,
        customer(9, "Cy", [order(31, item(4, 7, ("z", "z")))]),
    ],
}


@pytest.mark.parametrize("settings", ["ours", "Spark's"])
def test_a_small_batch_is_one_job(spark: SparkSession, shop: rn.Database, settings: str) -> None:
    """Five views over two relations and their inner bags, with and without equalities: one stage of one task, also
    where the session has the settings that Spark comes with."""
    with kept(spark, {} if settings == "ours" else {SEVERAL: "200", "spark.sql.adaptive.enabled": "true"}):
        status = Status(spark)
        with shop.batch() as b:
            change(b)
        assert status.jobs == [[1]], b.report
    assert (b.report.jobs, b.report.engine) == (1, "spark")
    assert "were joined in this process" in b.report.engine_why
    recomputed(shop, {view.name: view for view in VIEWS}, AFTER)


def test_a_chain_of_joins_is_one_task(spark: SparkSession) -> None:
    """Whatever Spark thinks that they make: of a join it takes the product of both sides."""
    columns = (LONG, LONG)
    rows = Rows.of_counts(columns, {(i, i): 1 for i in range(2_000)})
    sources = tuple(Source(f"T{i}", At.OLD if i else At.DELTA, columns) for i in range(4))
    joins = tuple(Op("eq", (Col(i, 1, LONG), Col(i + 1, 0, LONG)), BOOL) for i in range(3))
    status = Status(spark)
    target = Target("m", (LONG,), "m")
    found = SparkJoiner(spark).join([Task("m", product(sources, joins, (Col(3, 1, LONG),)), (rows,) * 4)], [target])
    assert status.jobs == [[1]] and len(found["m"]) == 2_000


def test_what_is_not_small_is_a_job_of_its_own(
    spark: SparkSession, shop: rn.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the little that this process joins before Spark has begun, Spark joins all."""
    monkeypatch.setattr(propagate, "HERE", -1)
    status = Status(spark)
    with shop.batch() as b:
        change(b)
    assert len(status.jobs) == b.report.jobs > 1 and {*map(tuple, status.jobs)} == {(1,)}
    assert b.report.engine_why == "engine spark"
    recomputed(shop, {view.name: view for view in VIEWS}, AFTER)


@contextmanager
def kept(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """The session with other settings for a while."""
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key, was in before.items():
        spark.conf.set(key, str(was))
