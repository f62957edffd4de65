"""The demo's batches in a session that a user made: what tests of clusters and of Spark Connect run, in a process of
its own.

    python -P tests/support/away.py FOLDER CATALOGUE < PROGRAM

PROGRAM makes ``spark``. CATALOGUE may be empty. Each batch is told as a line before it begins; the last line is what
was found, as JSON.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import ripplenest as rn
from ripplenest.demo.batches import split, steps
from ripplenest.demo.operations import Input, Operation, accumulate, record
from ripplenest.examples import recompute
from ripplenest.examples.films import Distributor, Movie, by_distributor, elsewhere, movie, read_films, related
from ripplenest.examples.same import differing
from ripplenest.source import frames
from ripplenest.state import tasks

VIEWS = (related, elsewhere)


def main(folder: Path, catalogue: str | None, program: str) -> None:
    made: dict[str, Any] = {}
    exec(program, made)
    spark: SparkSession = made["spark"]
    with ExitStack() as stack:
        here = stack.enter_context(rn.open(folder / "here", engine="local"))
        there = stack.enter_context(rn.open(folder / "there", engine="spark", spark=spark, catalogue=catalogue))
        loaded, arrivals = split(read_films())
        copy = fill((here, there), loaded)
        jobs, engines = [], set()
        for seq, step in enumerate(steps(copy, arrivals), start=1):
            say(seq)
            for db in (here, there):
                report = applied(db, seq, step.operations)
            jobs.append(report.jobs)
            engines.add(report.engine)
            for operation in step.operations:
                accumulate(copy, operation)
            check(here, there)
        found = {"batches": len(jobs), "jobs": jobs, "engines": sorted(engines)}
        differ = {
            "recomputed": [v.name for v in VIEWS if not same(there, recomputed(spark, copy, v.name), v.name)],
            "format": [v.name for v in VIEWS if not same(there, by_tasks(spark, folder, catalogue, v.name), v.name)],
        }
        with read_by_tasks():
            differ["nested"] = [v.name for v in VIEWS if not same(there, there.view(v.name).nested(), v.name)]
        with worked_by_tasks():
            differ["frames"] = of_frames(spark, folder / "frames", here)
        say(json.dumps({**found, "differ": differ}))


def say(what: object) -> None:
    print(what, flush=True)


def fill(dbs: tuple[rn.Database, ...], films: Any) -> Input:
    """The relations of the demo, its films, and its views."""
    lists = by_distributor(films)
    for db in dbs:
        db.relation("M", Movie)
        db.relation("D", Distributor, key="name")
        db.load("M", [*map(movie, films)])
        db.load("D", [{"name": name, "films": bag} for name, bag in lists.items()])
        for view in VIEWS:
            db.create(view)
    return Input(Counter(map(movie, films)), {name: Counter(bag) for name, bag in lists.items()})


def applied(db: rn.Database, seq: int, operations: tuple[Operation, ...]) -> rn.Report:
    with db.batch("demo", seq) as b:
        for operation in operations:
            record(b, operation)
    return b.report


def check(here: rn.Database, there: rn.Database) -> None:
    for view in VIEWS:
        assert differing(*(db.view(view.name).to_arrow() for db in (here, there))) == 0, view.name


def same(db: rn.Database, found: DataFrame, view: str) -> bool:
    table: pa.Table = found.toArrow()
    return differing(table, db.view(view).to_arrow()) == 0 < table.num_rows


def recomputed(spark: SparkSession, copy: Input, view: str) -> DataFrame:
    """By plain Spark."""
    if view == related.name:
        return recompute.related(recompute.movies(spark, copy.films.elements()))
    lists = ((name, bag.elements()) for name, bag in copy.distributors.items())
    return recompute.elsewhere(recompute.distributors(spark, lists))


def by_tasks(spark: SparkSession, folder: Path, catalogue: str | None, view: str) -> DataFrame:
    """As any job of Spark reads it."""
    rn.register(spark)
    reader = spark.read.format("ripplenest").option("view", view)
    return (reader.option("catalogue", catalogue) if catalogue else reader).load(str(folder / "there"))


def of_frames(spark: SparkSession, folder: Path, here: rn.Database) -> list[str]:
    """The views that differ where relations come as DataFrames: tasks load them, build the views, and keep them fresh
    when the rest of the films comes."""
    films, lists = (here.relation(name).to_arrow() for name in ("M", "D"))
    few = films.num_rows // 3
    with rn.open(folder, engine="spark", spark=spark) as db:
        db.relation("M", Movie)
        db.relation("D", Distributor, key="name")
        db.load("M", spark.createDataFrame(films.slice(few)).repartition(2))
        db.load("D", spark.createDataFrame(lists).repartition(2))
        for view in VIEWS:
            db.create(view)
        with db.batch(policy="incremental") as b:
            b.insert("M", spark.createDataFrame(films.slice(0, few)).repartition(2))
        assert b.report.engine == "spark"
        assert db.verify().ok
        return [v.name for v in VIEWS if differing(*(own.view(v.name).to_arrow() for own in (here, db)))]


@contextmanager
def worked_by_tasks() -> Iterator[None]:
    """As if all that Spark works on were large."""
    before, tasks.ALONE = tasks.ALONE, 0
    yield
    tasks.ALONE = before


@contextmanager
def read_by_tasks() -> Iterator[None]:
    """As if all views were large."""
    before, frames.SMALL_ROWS = frames.SMALL_ROWS, 0
    yield
    frames.SMALL_ROWS = before


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] or None, sys.stdin.read())
