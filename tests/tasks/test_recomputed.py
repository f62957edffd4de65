"""Views that tasks of Spark compute anew for a batch, a load, a rollback: the same signed rows as here, and the same
report; nothing of them passes the driver."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.shapes import JARHEAD, SHAPES, both, the_same_everywhere
from support.shop import ANN, BOB, FILMS, VIEWS, item, movie, opened, order

import ripplenest as rn
from ripplenest import Database
from ripplenest.state import recomputing, tasks

MORE = [*FILMS, *FILMS[:1], movie("Up", None)]


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "ALONE", 0)


def not_here(*_: Any) -> Any:
    raise AssertionError("a map is computed in the driver")


class Pair:
    """One state that is worked on here, and one by tasks."""

    def __init__(self, spark: SparkSession, folder: Path, *views: rn.View) -> None:
        self.here = opened(folder / "here", engine="local")
        self.there = opened(folder / "there", engine="spark", spark=spark)
        self.folder = folder / "there"
        for db in (self.here, self.there):
            for view in views:
                db.create(view)

    def both(self, do: Any) -> None:
        """``do`` to each, and compare what it did."""
        since = [db.version for db in (self.here, self.there)]
        do(self.here)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recomputing, "recomputed", not_here)
            do(self.there)
        assert self.changed(self.there, since[1]) == self.changed(self.here, since[0])
        assert self.there.verify().ok
        assert not list(self.folder.glob("staging/*")) and not self.there.usage.orphans

    def changed(self, db: Database, since: int) -> dict[str, Any]:
        """The changes of all tables, and the rows that they have then."""
        now = db._store.snapshot()
        found = {t: (now.delta(t, since).consolidated().counts(), now.scan(t).counts()) for t in now.tables}
        return {"version": now.version - since, **found}

    def alike(self) -> None:
        """The reports of the last batch."""
        for name in ("rows_in", "rows_out", "rows_read", "verdict", "why"):
            assert getattr(self.there.report, name) == getattr(self.here.report, name), name
        assert self.there.report is not None and self.there.report.engine == "spark" and self.there.report.jobs > 0


def edited(db: Database) -> None:
    with db.batch(policy="full") as b:
        b.insert("M", [movie("Heat", "Ann"), JARHEAD])
        b.delete("M", FILMS[:1])
        b.at("C", custkey=7).orders.insert([order(20, item(1, 5, ("z",)))])


def filled(db: Database) -> None:
    db.load("C", [ANN, BOB])
    db.load("M", MORE)


def recomputed_alike(views: Any, spark: SparkSession, folder: Path) -> None:
    pair = Pair(spark, folder, *views)
    pair.both(filled)
    pair.both(edited)
    pair.alike()


def test_a_batch_recomputes_what_it_does_here(spark: SparkSession, tmp_path: Path) -> None:
    """Of two levels: a domain whose labels come and go, of which the next level sees each label once."""
    recomputed_alike([both, the_same_everywhere], spark, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("view", [*VIEWS, *SHAPES], ids=lambda v: v.name)
def test_a_batch_recomputes_other_views(view: rn.View, spark: SparkSession, tmp_path: Path) -> None:
    recomputed_alike([view], spark, tmp_path)
