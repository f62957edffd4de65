"""Views that tasks of Spark compute anew for a batch, a load, a rollback: the same signed rows as here, and the same
report; nothing of them passes the driver."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from support.shapes import JARHEAD, SHAPES, both, the_same_everywhere
from support.shop import ANN, BOB, FILMS, VIEWS, Customer, Movie, customer, item, movie, movies, order, parts

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data.rows import Rows
from ripplenest.errors import EvaluationError
from ripplenest.plan.planned import Plan
from ripplenest.reading.verification import Verification
from ripplenest.run import build
from ripplenest.state import recomputing, tasks
from ripplenest.store import ranges
from ripplenest.store.specs import Change
from ripplenest.tasks import builds, jobs

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
    """One state that is worked on here, and one by tasks; both are ``prepared`` here."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        *views: rn.View,
        immutable: tuple[str, ...] = (),
        prepared: Callable[[Database], object] = lambda _: None,
    ) -> None:
        self.folder = folder / "there"
        for own in (folder / "here", self.folder):
            with declared(own, immutable, engine="local") as db:
                for view in views:
                    db.create(view)
                prepared(db)
        self.here = rn.open(folder / "here", engine="local")
        self.there = rn.open(self.folder, engine="spark", spark=spark)

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


def films_edited(db: Database) -> None:
    with db.batch(policy="full") as b:
        b.insert("M", [movie("Heat", "Ann"), JARHEAD, JARHEAD])
        b.delete("M", FILMS[:1])


def edited(db: Database) -> None:
    with db.batch(policy="full") as b:
        b.insert("M", [movie("Heat", "Ann"), JARHEAD, JARHEAD])
        b.delete("M", FILMS[:1])
        b.at("C", custkey=7).orders.insert([order(20, item(1, 5, ("z",)))])


def filled(db: Database) -> None:
    db.load("C", [ANN, BOB])
    db.load("M", MORE)


def test_a_batch_is_recomputed_as_here(spark: SparkSession, tmp_path: Path) -> None:
    """Of two levels: a domain whose labels come and go, of which the next level sees each label once."""
    pair = Pair(spark, tmp_path, both, prepared=lambda db: db.load("M", MORE))
    pair.both(films_edited)
    pair.alike()


def test_a_rollback_is_recomputed_as_here_and_what_is_wrong_is_found(spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(spark, tmp_path, movies, prepared=lambda db: db.load("M", MORE))
    before = pair.here.version
    for db in (pair.here, pair.there):
        with db.batch(policy="incremental") as b:
            b.insert("M", [movie("Heat", "Ann")])
            b.delete("M", FILMS[:1])
    pair.both(lambda db: db.rollback(before))
    store = pair.there._store
    (held, n), *_ = store.snapshot().scan("movies").consolidated().pairs()
    store.commit(Change({"movies": Rows.of_pairs(store.tables()["movies"].types, [(held, 1 - 2 * n)])}), store.version)
    with rn.open(pair.folder, engine="local") as db:
        assert db.verify().to_dict() == differing(pair.there, spark).to_dict() and not db.verify().ok


@pytest.mark.long
@pytest.mark.parametrize("view", [*VIEWS, *SHAPES], ids=lambda v: v.name)
def test_other_views_are_recomputed_as_here(view: rn.View, spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(spark, tmp_path, view, the_same_everywhere)
    pair.both(filled)
    pair.both(edited)
    pair.alike()


@rn.record
class Note:
    id: int
    kind: str | None
    tags: Bag[str]


def notes(spark: SparkSession, many: int) -> DataFrame:
    tags = F.array_repeat(F.concat(F.lit("t"), F.col("id") % 7), (F.col("id") % 4).cast("int"))
    kind = F.when(F.col("id") % 5 > 0, F.concat(F.lit("k"), F.col("id") % 3))
    return spark.range(0, many, 1, 3).select("id", kind.alias("kind"), tags.alias("tags"))


@rn.view
def large(R: Bag[Note]):
    """Inner bags of two kinds: that of a row, and those of all rows with a value."""
    return [
        {"id": n.id, "tags": [t for t in n.tags if t != "t1"], "alike": [m.id for m in R if m.kind == n.kind]}
        for n in R
    ]


@pytest.mark.long
@pytest.mark.parametrize("keys", [{}, {"key": "id"}], ids=["none", "keys"])
def test_a_dataframe_is_read_where_it_was_written(keys: Any, spark: SparkSession, tmp_path: Path) -> None:
    """By views that are there before it, or that come later; and it goes as it came."""
    with rn.open(tmp_path / "s", engine="spark", spark=spark) as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(recomputing, "recomputed", nothing_here)
        patch.setattr(recomputing, "mapped", lambda *_: pytest.fail("the driver reads what tasks wrote"))
        db.relation("R", Note, **keys)
        db.create(large)
        before = db.version
        df = notes(spark, 101)
        assert db.load("R", df) == before + 1
        with rn.open(tmp_path / "s", engine="local") as here:
            assert here.verify().ok and len(here.view("large").rows()) == 101
        db.rollback(before)
        assert not db.view("large").rows() and not db.relation("R").rows()
        assert db.load("R", df.limit(50)) == before + 3
        with rn.open(tmp_path / "s", engine="local") as here:
            assert here.verify().ok and len(here.view("large").rows()) == 50


def test_what_has_no_value_in_a_task_has_none(spark: SparkSession, tmp_path: Path) -> None:
    """A sum beyond 64 bits, of what a task reads or of what it makes, is told as here, and nothing has changed."""
    with rn.open(tmp_path / "s", engine="spark", spark=spark) as db:
        db.relation("M", Movie)
        db.create(movies)
        store, before = db._store, db.version
        row = ("Up", "Drama", None)
        for _ in range(2):
            change = Rows.of_pairs(store.tables()["M"].types, [(row, 2**62)])
            store.commit(Change({"M": change}), store.version)
        with pytest.raises(EvaluationError, match="overflow"), db.batch(policy="full") as b:
            b.insert("M", [movie("Heat")])
        assert db.version == before + 2 and not list((tmp_path / "s").glob("staging/*"))


@pytest.mark.long
def test_what_a_batch_changed_goes_back(spark: SparkSession, tmp_path: Path) -> None:
    """To before a batch, to before loads, which tasks have recomputed, and to nothing; a view that was made since is
    right, too."""
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


@pytest.mark.long
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


@pytest.mark.long
def test_verify_finds_what_it_finds_here(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that a map has too often, and rows that it lacks, and what the next level makes of it."""
    with declared(tmp_path / "s", (), engine="local") as db:
        db.load("M", MORE)
        db.create(both)
        assert differing(db, spark).ok
        store = db._store
        maps = [m.name for m in db._declared.views["both"].plan.maps]
        for name in maps:
            held = store.snapshot().scan(name).consolidated()
            row, n = held.pairs()[0]
            spoilt = Rows.of_pairs(held.types, [(row, 1 - 2 * n)])
            store.commit(Change({name: spoilt}), store.version)
            here, there = db.verify(), differing(db, spark)
            assert there.to_dict() == here.to_dict() and not there.ok
            assert [d.table for d in here.differences if "not what" in d.what].count(name) == 1


def differing(db: Database, spark: SparkSession) -> Verification:
    def nothing_here(*_: Any) -> Any:
        raise AssertionError("a map is computed in the driver")

    with rn.open(db._store.path, engine="spark", spark=spark) as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr(recomputing, "build", nothing_here)
        return other.verify()


def test_what_no_view_reads_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """Neither here nor by tasks, by whoever asks."""
    with rn.open(tmp_path / "s", engine="local") as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(recomputing, "mapped", lambda *_: pytest.fail("the driver reads what tasks wrote"))
        db.relation("R", Note)
        db.load("R", notes(spark, 20))
        assert len(db.relation("R").rows()) == 20


@pytest.mark.long
def test_a_task_of_a_build_that_fails_at_first(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are nobody's. (A local session does not try again, so all tasks are done twice here, and of some the
    first attempt counts, of others the second.)"""
    monkeypatch.setattr(jobs.SparkJobs, "on_rows", twice(jobs.SparkJobs.on_rows))
    monkeypatch.setattr(jobs.SparkJobs, "on_work", twice(jobs.SparkJobs.on_work))
    monkeypatch.setattr(ranges, "LEAST", 1 << 10)
    pair = Pair(spark, tmp_path, both, the_same_everywhere, prepared=filled)
    before = pair.here.version
    pair.both(edited)
    pair.alike()
    pair.both(lambda db: db.rollback(before))


def twice(done: Any) -> Any:
    def both_times(*args: Any) -> Any:
        first, second = done(*args), done(*args)
        if isinstance(first, dict):
            return {share: (first if share % 2 else second)[share] for share in second}
        return [pair[i % 2] for i, pair in enumerate(zip(first, second, strict=True))]

    return both_times


@pytest.mark.long
def test_a_version_that_goes_meanwhile_is_worked_on_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where few versions are kept, files go while tasks read: the batch is computed from the newest one then."""
    with rn.open(tmp_path / "s", engine="local") as other:
        other.relation("M", Movie)
        other.load("M", MORE)
        other.create(movies)
        build, met = builds._Build.done, []

        def overtaken(self: Any) -> Any:
            if not met:
                with other.batch() as b:
                    b.insert("M", [movie("Alien")])
                other.compact(everything=True)
                met.append(other.vacuum(keep=0))
            return build(self)

        monkeypatch.setattr(builds._Build, "done", overtaken)
        with rn.open(tmp_path / "s", engine="spark", spark=spark) as db, db.batch(policy="full") as b:
            b.insert("M", [movie("Heat")])
        assert met[0].files > 0 and other.verify().ok
        assert {m["name"] for m in other.view("movies").rows()} >= {"Alien", "Heat"}
        assert not list((tmp_path / "s").glob("staging/*"))


@pytest.mark.long
def test_a_catalogue_in_postgresql_is_asked_by_the_driver_alone(spark: SparkSession, tmp_path: Path) -> None:
    """Workers need no way to it."""
    from support.postgres import running  # noqa: PLC0415 - it skips whoever imports it without a driver of PostgreSQL

    with running() as server:
        url = server.create("recomputed")
        with rn.open(tmp_path / "s", engine="local", catalogue=url) as db:
            db.relation("M", Movie)
            db.load("M", MORE)
            db.create(both)
            before = db.version
        with rn.open(tmp_path / "s", engine="spark", spark=spark, catalogue=url) as db:
            with db.batch(policy="full") as b:
                b.insert("M", [JARHEAD, JARHEAD])
            assert b.report.jobs == 4
            db.rollback(before)
            assert db.verify().ok
        with rn.open(tmp_path / "s", engine="local", catalogue=url) as db:
            assert db.verify().ok and len(db.relation("M").rows()) == len(MORE)
