"""A view that tasks of Spark build, and an insert whose joins are theirs, killed at any step of the driver, before and
after each job and in the middle of it: version n or n + 1, and no file stays."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.by_tasks import all_by_tasks
from support.crashes import frozen_at
from support.shapes import both
from support.shop import FILMS, Movie, movie, movies
from support.sizes import many

import ripplenest as rn
from ripplenest import Database
from ripplenest.store.disk import Disk
from ripplenest.store.staging import FOLDER
from ripplenest.tasks import jobs

MORE = [*FILMS, *FILMS[:1], movie("Up", None)]
CAME = [movie("Heat", "Ann", "Scott"), movie("Heat", "Ann", "Scott"), movie("Bob"), *FILMS[:2]]


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    all_by_tasks(monkeypatch)


@contextmanager
def jobs_are_steps(folder: Path) -> Iterator[None]:
    """What tasks write stands there after the step at the end of their job."""

    def stepped(done: Callable[..., Any]) -> Callable[..., Any]:
        def job(*args: Any) -> Any:
            Disk(folder).step("job", "before")
            try:
                return done(*args)
            finally:
                Disk(folder).step("job", "after")

        return job

    with pytest.MonkeyPatch.context() as patch:
        for name in ("on_rows", "on_work"):
            patch.setattr(jobs.SparkJobs, name, stepped(getattr(jobs.SparkJobs, name)))
        yield


def declared(folder: Path, **options: Any) -> Database:
    db = rn.open(folder, **options)
    db.relation("M", Movie)
    return db


def images(does: Callable[[Database], object], spark: SparkSession, folder: Path, parent: Path) -> list[Path]:
    """What a kill at each step leaves; and, where tasks had written files, one that had written some of them, the last
    of these in part."""

    def body(_tell: Any) -> None:
        with declared(folder, engine="spark", spark=spark) as db, jobs_are_steps(folder):
            does(db)

    found = [image for image, _ in frozen_at(body, folder, parent / "copies")]
    return found + [less for image in found for less in _less(image, parent / "less" / image.name)]


def _less(image: Path, place: Path) -> Iterator[Path]:
    files = sorted(p.relative_to(image) for p in image.glob(f"{FOLDER}/*/*") if p.is_file())
    if not files:
        return
    shutil.copytree(image, place)
    gone = Random(place.name).sample(files, (len(files) + 1) // 2)
    for file in gone[1:]:
        (place / file).unlink()
    data = (place / gone[0]).read_bytes()
    (place / gone[0]).write_bytes(data[: len(data) // 2])
    yield place


def survives(
    image: Path, before: int, is_done: Callable[[Database], bool], again: Callable[[Database], object]
) -> bool:
    """Whether it was done; nothing else is left, and it can be done again."""
    with declared(image, engine="local") as db:
        done = db.version == before + 1
        assert db.version in (before, before + 1) and is_done(db) == done
        with db.batch() as b:  # the next writer
            b.insert("M", [])
        assert db.verify().ok and db.check_files() >= 0
        assert not db.usage.orphans and not [*image.glob("staging/*")]
        again(db)
        assert is_done(db) and db.verify().ok
    return done


TWO_LEVELS = pytest.param(both, marks=pytest.mark.long)


@pytest.mark.parametrize("view", [movies, TWO_LEVELS], ids=lambda v: v.name)
def test_a_build_that_is_killed_at_any_step(view: rn.View, spark: SparkSession, tmp_path: Path) -> None:
    """Also where tasks read what others wrote for the level before."""
    with declared(tmp_path / "s", engine="local") as db:
        db.load("M", MORE)
        before = db.version

    def is_done(db: Database) -> bool:
        return view.name in db.views and db.view(view.name).size > 0

    found = images(lambda db: db.create(view), spark, tmp_path / "s", tmp_path)
    done = [survives(image, before, is_done, lambda db: db.create(view)) for image in found[:: many(5, 1)]]
    assert done.count(False) > many(2, 14) and done.count(True) > 0


def test_an_insert_that_is_killed_at_any_step(spark: SparkSession, tmp_path: Path) -> None:
    with declared(tmp_path / "s", engine="local") as db:
        db.load("M", MORE)
        db.create(movies)
        before = db.version
    rows = spark.createDataFrame(CAME, "name string, gen string, dir string").repartition(2)

    def insert(db: Database, given: Any = CAME) -> None:
        with db.batch("s", 1, policy="incremental") as b:
            b.insert("M", given)

    def is_done(db: Database) -> bool:
        assert len(db.view("movies").rows()) == db.relation("M").count()
        return db.relation("M").count() == len(MORE) + len(CAME)

    found = images(lambda db: insert(db, rows), spark, tmp_path / "s", tmp_path)
    done = [survives(image, before, is_done, insert) for image in found[:: many(5, 1)]]
    assert done.count(False) > many(2, 14) and done.count(True) > 0
