"""Builds by tasks of Spark: the maps are those that a build here makes, and are kept fresh from there."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.shapes import SHAPES
from support.shop import ANN, BOB, FILMS, VIEWS, Customer, customer, item, movie, opened, order
from support.sizes import RUN
from support.totals import TOTALS, alike

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import EvaluationError
from ripplenest.state import tasks

CUSTOMERS = [ANN, BOB, customer(9, "Drama", [order(13, item(2, 3, ("a", "a", "b")))]), customer(10, "Action", [])]
OTHERS = [v for v in (*VIEWS, *SHAPES, *TOTALS) if v is not alike]


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "ALONE", 0)


def filled(folder: Path, **options: Any) -> rn.Database:
    db = opened(folder, **options)
    db.load("C", CUSTOMERS)
    db.load("M", [*FILMS, *FILMS[:1], movie("Up", None)])
    return db


def tables(db: rn.Database, view: str) -> dict[str, Any]:
    """The rows of its maps."""
    snapshot = db._store.snapshot()
    return {m.name: snapshot.scan(m.name).counts() for m in db._declared.views[view].plan.maps}


def made_alike(view: rn.View, spark: SparkSession, tmp_path: Path) -> None:
    """What ``view`` is built of here and there; in the long run also what batches and ``verify`` make of that."""
    with filled(tmp_path / "here") as here, filled(tmp_path / "there", engine="spark", spark=spark) as there:
        for db in (here, there):
            db.create(view)
        name = view.name
        assert there.history()[0].note["engine"] == "spark"
        assert tables(there, name) == tables(here, name)
        assert not list((tmp_path / "there").glob("staging/*"))
        for db in (here, there) if RUN.long else ():
            with db.batch() as b:
                b.insert("M", [movie("Heat", "Ann")])
                b.delete("M", FILMS[:1])
                b.at("C", custkey=7).orders.insert([order(20, item(1, 5, ("z",)))])
        assert tables(there, name) == tables(here, name)
        assert there.view(name).rows() == here.view(name).rows() and (not RUN.long or there.verify().ok)


def test_maps_are_those_that_are_built_here(spark: SparkSession, tmp_path: Path) -> None:
    """Of several levels: a domain that holds a place twice, of which the next level sees each once, and groups, whose
    rows are folded by Spark and read for places that have none."""
    made_alike(alike, spark, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("view", OTHERS, ids=lambda v: v.name)
def test_maps_of_other_views(view: rn.View, spark: SparkSession, tmp_path: Path) -> None:
    made_alike(view, spark, tmp_path)


@rn.view
def halves(C: Bag[Customer]):
    return [{"n": c.name, "h": [10 % (i.qty - 2) for o in c.orders for i in o.items]} for c in C]


def test_a_view_without_value_is_refused_and_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    with filled(tmp_path / "s", engine="spark", spark=spark) as db:
        before = db.version
        with pytest.raises(EvaluationError, match="view halves: division by zero"):
            db.create(halves)
        assert db.version == before and not db.views
        assert not list((tmp_path / "s").glob("staging/*"))
