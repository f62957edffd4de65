"""Views that tasks of Spark compute anew for a batch, a load, a rollback: the same signed rows as here, and the same
report; nothing of them passes the driver."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.shapes import JARHEAD, SHAPES, both, the_same_everywhere
from support.shop import ANN, BOB, FILMS, VIEWS, Customer, Movie, customer, item, movie, order, parts

import ripplenest as rn
from ripplenest import Database
from ripplenest.data.rows import Rows
from ripplenest.plan.planned import Plan
from ripplenest.reading.verification import Verification
from ripplenest.run import build
from ripplenest.state import recomputing, tasks
from ripplenest.store.specs import Change

MORE = [*FILMS, *FILMS[:1], movie("Up", None)]


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "ALONE", 0)


def nothing_here(plan: Plan, *args: Any) -> Any:
    assert not plan.maps, "a map is computed in the driver"
    return build.recomputed(plan, *args)


def declared(folder: Path, immutable: tuple[str, ...], **options: Any) -> Database:
    db = rn.open(folder, **options)
    db.relation("C", Customer, key="custkey", immutable=immutable)
    db.relation("M", Movie)
    return db


class Pair:
    """One state that is worked on here, and one by tasks."""

    def __init__(self, spark: SparkSession, folder: Path, *views: rn.View, immutable: tuple[str, ...] = ()) -> None:
        self.here = declared(folder / "here", immutable, engine="local")
        self.there = declared(folder / "there", immutable, engine="spark", spark=spark)
        self.folder = folder / "there"
        for db in (self.here, self.there):
            for view in views:
                db.create(view)

    def both(self, do: Any) -> None:
        """``do`` to each, and compare what it did."""
        since = [db.version for db in (self.here, self.there)]
        do(self.here)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recomputing, "recomputed", nothing_here)
            do(self.there)
        assert self.changed(self.there, since[1]) == self.changed(self.here, since[0])
        with rn.open(self.folder, engine="local") as db:
            assert db.verify().ok
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


def test_what_a_batch_changed_goes_back(spark: SparkSession, tmp_path: Path) -> None:
    """To before a batch, to before loads, and to nothing; a view that was made since is right, too."""
    pair = Pair(spark, tmp_path, both)
    empty = pair.here.version
    assert pair.there.version == empty
    pair.both(filled)
    full = pair.here.version
    pair.both(edited)
    pair.both(lambda db: db.create(the_same_everywhere))
    for to in (full, full + 1, empty):
        pair.both(lambda db, to=to: db.rollback(to))
    pair.both(lambda db: db.load("M", FILMS))


IMMUTABLE = ("orders", "orders.items")


def test_arrays_go_back(spark: SparkSession, tmp_path: Path) -> None:
    """As arrays, as long as they are; as rows, where a view has been made that reads them."""
    pair = Pair(spark, tmp_path, the_same_everywhere, immutable=IMMUTABLE)
    pair.both(lambda db: db.load("C", [ANN, BOB]))
    loaded = pair.here.version
    pair.both(replaced)
    assert pair.there._store.snapshot().size("C.orders/arrays") and not pair.there._store.snapshot().size("C.orders")
    pair.both(lambda db: db.rollback(loaded))
    assert pair.there.relation("C").rows() == pair.here.relation("C").rows()
    pair.both(replaced)
    pair.both(lambda db: db.create(parts))
    assert pair.there._store.snapshot().size("C.orders") and not pair.there._store.snapshot().size("C.orders/arrays")
    pair.both(lambda db: db.rollback(loaded))
    assert pair.there.relation("C").rows() == pair.here.relation("C").rows()
    assert pair.there.view("parts").rows() == pair.here.view("parts").rows()


def replaced(db: Database) -> None:
    """Ann has other orders, Bob none, and there is another customer."""
    with db.batch() as b:
        b.delete("C", [ANN, BOB])
        b.insert("C", [{**ANN, "orders": [order(11, item(9, 1))]}, {**BOB, "orders": None}, customer(10, "Up", [])])


def test_verify_finds_what_it_finds_here(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that a map has too often, and rows that it lacks, and what the next level makes of it."""
    with declared(tmp_path / "s", (), engine="local") as db:
        db.load("M", MORE)
        db.create(both)
        assert by_tasks(db, spark).ok
        store = db._store
        maps = [m.name for m in db._declared.views["both"].plan.maps]
        for name in maps:
            held = store.snapshot().scan(name).consolidated()
            row, n = held.pairs()[0]
            spoilt = Rows.of_pairs(held.types, [(row, 1 - 2 * n)])
            store.commit(Change({name: spoilt}), store.version)
            here, there = db.verify(), by_tasks(db, spark)
            assert there.to_dict() == here.to_dict() and not there.ok
            assert [d.table for d in here.differences if "not what" in d.what].count(name) == 1


def by_tasks(db: Database, spark: SparkSession) -> Verification:
    def nothing_here(*_: Any) -> Any:
        raise AssertionError("a map is computed in the driver")

    with rn.open(db._store.path, engine="spark", spark=spark) as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr(recomputing, "build", nothing_here)
        return other.verify()
