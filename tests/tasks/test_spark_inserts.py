"""Writes of DataFrames by tasks of Spark: the same version, report, digest, rows and changes as here, and neither what
comes nor what it does to views passes the driver."""

from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from support.by_tasks import all_by_tasks
from support.edges import EDGES
from support.shapes import JARHEAD, SHAPES
from support.shop import ANN, BOB, FILMS, VIEWS, Customer, Movie, customer, item, movie, movies, order
from support.totals import TOTALS

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data.level_values import nested_type
from ripplenest.data.room import Room
from ripplenest.errors import BatchConflict, DuplicateKey, WrongValue
from ripplenest.intake.operations import Verb
from ripplenest.intake.spread import Spread
from ripplenest.nrc.types import Base, Record
from ripplenest.run import handing, inputs, probes, propagate
from ripplenest.store.files import Filed
from ripplenest.tasks import jobs, joins

MORE = [*FILMS, *FILMS[:1], movie("Up", None)]
CAME = [movie("Heat", "Ann", "Scott"), movie("Heat", "Ann", "Scott"), JARHEAD, movie("Bob", "Drama"), *FILMS[:2]]
CUSTOMERS = [customer(k, f"n{k % 3}", [order(k, item(k % 4, k, ("a", "b", "b")[: k % 4]))]) for k in range(20, 30)]
OTHERS = [*CUSTOMERS[:3], {**ANN, "orders": BOB["orders"]}, BOB, *(customer(k, "x", []) for k in range(26, 33))]


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    all_by_tasks(monkeypatch)
    monkeypatch.setattr(propagate, "HERE", 0)
    monkeypatch.setattr(Room, "rows", lambda *_: 1)  # groups are folded some at a time


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver sees no row that comes, or that a join makes."""
    monkeypatch.setattr(Spread, "_here", lambda _: pytest.fail("the driver reads what comes"))
    monkeypatch.setattr(Filed, "arrow", lambda _: pytest.fail("the driver reads what tasks wrote"))
    monkeypatch.setattr(joins, "written", lambda *_, **__: pytest.fail("the driver writes what tasks read"))


def declared(folder: Path, **options: Any) -> Database:
    db = rn.open(folder, **options)
    db.relation("C", Customer, key="custkey", keys={"orders": "orderkey", "orders.items": "part"})
    db.relation("M", Movie)
    return db


def arrow(db: Database, name: str, rows: list[Any]) -> pa.Table:
    row = db._declared.relations[name].row
    assert isinstance(row, Record)
    return pa.Table.from_pylist(rows, pa.schema([(field, nested_type(t)) for field, t in row.fields]))


def frame(spark: SparkSession, db: Database, name: str, rows: list[Any]) -> DataFrame:
    """Rows that are with several tasks."""
    found = spark.createDataFrame(arrow(db, name, rows)).repartition(3)
    assert not found.isLocal()
    return found


class Pair:
    """One state that is worked on here, and one by tasks; both are filled here."""

    def __init__(self, spark: SparkSession, folder: Path, *views: rn.View) -> None:
        self.spark, self.folder = spark, folder / "there"
        for own in (folder / "here", self.folder):
            with declared(own, engine="local") as db:
                for view in views:
                    db.create(view)
                db.load("C", [ANN, BOB])
                db.load("M", MORE)
        self.here = rn.open(folder / "here", engine="local")
        self.there = rn.open(self.folder, engine="spark", spark=spark)

    def write(self, verb: Verb, name: str, rows: list[Any], policy: Any = "incremental") -> None:
        before = self.here.version
        table = arrow(self.here, name, rows)
        given = frame(self.spark, self.there, name, rows)
        if verb == "delete_key":
            table, given = table.select(["custkey"]), given.select("custkey")
        with self.here.batch("s", before, policy=policy) as b:
            getattr(b, verb)(name, table)
        with self.there.batch("s", before, policy=policy) as b:
            getattr(b, verb)(name, given)
        self.alike(before)
        with self.there.batch("s", before) as again:
            getattr(again, verb)(name, given)
        assert not again.report.applied and self.there.version == before + 1

    def alike(self, since: int) -> None:
        """Every table, how it changed, and what is said of it."""
        here, there = self.here.report, self.there.report
        assert here is not None and there is not None
        for name in ("rows_in", "rows_out", "verdict", "version"):
            assert getattr(there, name) == getattr(here, name), name
        assert there.engine == "spark" and (there.jobs > 0 or not there.rows_out)
        assert self.there._store.batches() == self.here._store.batches()
        assert self.changed(self.there, since) == self.changed(self.here, since)
        with rn.open(self.folder, engine="local") as db:
            assert db.verify().ok and db.check_files() >= 0
        assert not list(self.folder.glob("staging/*")) and not self.there.usage.orphans

    def changed(self, db: Database, since: int) -> dict[str, Any]:
        now = db._store.snapshot()
        return {t: (now.delta(t, since).consolidated().counts(), now.scan(t).counts()) for t in now.tables}


@pytest.mark.usefixtures("nobody")
def test_rows_do_not_pass_the_driver(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those that come nor those that are made of them, whose files are what is stored."""
    with declared(tmp_path / "s", engine="spark", spark=spark) as db:
        db.create(movies)
        with db.batch() as b:
            b.insert("M", frame(spark, db, "M", CAME))
        assert b.report.rows_in == {"M": 5} and b.report.rows_out == {"movies": 5} and b.report.jobs == 2
        monkeypatch.undo()
        assert db.verify().ok and Counter(m["name"] for m in db.view("movies").rows())["Heat"] == 2
        with db.batch() as b:
            b.delete("M", CAME)
        assert not db.view("movies").rows() and db.verify().ok


@rn.view
def met(M: Bag[Movie], S: Bag[Movie]):
    return [{"m": m.name, "s": s.dir} for m in M for s in S if s.name == m.name]


@pytest.mark.usefixtures("nobody")
def test_stored_rows_do_not_pass_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    """Where they are not many more than those that come: else they are looked up."""
    with declared(tmp_path / "s", engine="spark", spark=spark) as db:
        db.relation("S", Movie)
        db.load("S", MORE)
        db.create(met)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(probes.Probes, "_seen", lambda *_: pytest.fail("the driver looks rows up"))
            with db.batch() as b:
                b.insert("M", frame(spark, db, "M", CAME))
        assert b.report.rows_read == db._store.snapshot().size("S") and b.report.rows_out == {"met": 2}
        with rn.open(tmp_path / "s", engine="local") as here:
            assert here.verify().ok and len(here.view("met").rows()) == 3


@rn.view
def namesakes(M: Bag[Movie]):
    """Rows that come meet those that come with them, once."""
    return [{"a": m.gen, "b": n.dir} for m in M for n in M if m.name == n.name]


@rn.view
def kinds(M: Bag[Movie]):
    """Groups whose keys come in several pieces."""
    return [{"g": g, "n": len(ms), "first": min(m.name for m in ms)} for g, ms in rn.group_by(M, lambda m: m.gen)]


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize(
    "larger", [pytest.param(handing.LARGER, id="read", marks=pytest.mark.long), pytest.param(0, id="looked up")]
)
def test_groups_do_not_pass_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, larger: int
) -> None:
    """Nor first rows, nor the places of both, whether what they join is read or looked up."""
    monkeypatch.setattr(handing, "LARGER", larger)
    with declared(tmp_path / "s", engine="spark", spark=spark) as db:
        db.load("M", MORE)
        db.create(kinds)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(probes.Probes, "_seen", lambda *_: pytest.fail("the driver looks rows up"))
            patch.setattr(propagate, "stepped", lambda *_: pytest.fail("the driver folds"))
            with db.batch(policy="incremental") as b:
                b.insert("M", frame(spark, db, "M", CAME))
        assert b.report.rows_out["kinds"]
    with rn.open(tmp_path / "s", engine="local") as here:
        assert here.verify().ok and here.check_files() >= 0


@rn.view
def couples(M: Bag[Movie]):
    """The same from both sides: a change is looked up once, and then joined with itself."""
    return [{"n": len([1 for m in M for n in M if m.name == n.name])}]


@pytest.mark.parametrize(
    "larger", [pytest.param(handing.LARGER, id="read", marks=pytest.mark.long), pytest.param(0, id="looked up")]
)
def test_rows_that_meet_themselves_do_not_pass_the_driver(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, larger: int
) -> None:
    """What is in files is joined by products that read it once."""
    task = inputs.Run.task

    def watched(run: Any, target: str, p: Any, part: str, change: Any, sign: Any) -> Any:
        assert not isinstance(run.changes.get(part), Filed), "the driver reads the rows"
        return task(run, target, p, part, change, sign)

    monkeypatch.setattr(handing, "LARGER", larger)
    with declared(tmp_path / "s", engine="spark", spark=spark) as db:
        db.load("M", MORE)
        db.create(couples)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inputs.Run, "task", watched)
            with db.batch(policy="incremental") as b:
                b.insert("M", frame(spark, db, "M", CAME))
        assert b.report.rows_out["couples"]
    with rn.open(tmp_path / "s", engine="local") as here:
        assert here.verify().ok


def test_views_are_those_of_an_insert_here(spark: SparkSession, tmp_path: Path) -> None:
    """Of relations with bags and without, with keys and without."""
    pair = Pair(spark, tmp_path, VIEWS[5], namesakes, kinds)
    pair.write("insert", "M", CAME)
    pair.write("insert", "C", CUSTOMERS)


def test_views_are_those_of_what_is_replaced_here(spark: SparkSession, tmp_path: Path) -> None:
    Pair(spark, tmp_path, VIEWS[5]).write("upsert", "C", OTHERS)


@pytest.mark.long
@pytest.mark.parametrize("view", [*VIEWS, *SHAPES, *TOTALS], ids=lambda v: v.name)
@pytest.mark.parametrize("policy", ["incremental", "full"])
def test_other_views(view: rn.View, policy: Any, spark: SparkSession, tmp_path: Path) -> None:
    pair = Pair(spark, tmp_path, view)
    pair.write("insert", "M", CAME, policy)
    pair.write("insert", "C", CUSTOMERS, policy)
    pair.write("upsert", "C", OTHERS, policy)
    pair.write("delete_key", "C", OTHERS[3:], policy)
    pair.write("delete", "C", OTHERS[:2], policy)
    pair.write("delete", "M", CAME[1:], policy)


def test_what_is_wrong_is_said_as_here(spark: SparkSession, tmp_path: Path) -> None:
    """Rows have the numbers that they have in the DataFrame; nothing has changed."""
    with (
        declared(tmp_path / "here", engine="local") as here,
        declared(tmp_path / "there", engine="spark", spark=spark) as there,
    ):
        nulls = [{**movie("a"), "name": None if k == 5 else "a"} for k in range(9)]
        twice = [customer(k % 7, "n", [order(k)]) for k in range(10)]
        for db in (here, there):
            db.load("C", [ANN, BOB])
        held = [customer(k, "n", []) for k in range(10)]
        for name, rows, error in (("M", nulls, WrongValue), ("C", twice, DuplicateKey), ("C", held, DuplicateKey)):
            given = frame(spark, there, name, rows)
            with pytest.raises(error) as wanted, here.batch() as b:
                b.insert(name, given.toArrow())
            with pytest.raises(error) as found, there.batch() as b:
                b.insert(name, given)
            assert str(found.value) == str(wanted.value) and there.version == here.version
        assert not list((tmp_path / "there").glob("staging/*"))


def test_workers_that_do_not_see_the_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come to the driver then."""
    monkeypatch.setattr(jobs.SparkJobs, "on_work", lambda *_: [jobs.UNSEEN])
    monkeypatch.setattr(jobs.SparkJobs, "on_rows", lambda *_: pytest.fail("a job"))
    with declared(tmp_path / "s", engine="spark", spark=spark) as db:
        with db.batch("s", 1) as b:
            b.insert("M", frame(spark, db, "M", CAME))
        assert db.relation("M").count() == len(CAME)
        with pytest.raises(BatchConflict), db.batch("s", 1) as b:
            b.insert("M", arrow(db, "M", CAME[1:]))


@rn.record
class Moment:
    at: datetime | None


@rn.record
class Edge:
    k: int
    at: datetime
    day: date | None
    raw: bytes
    part: rn.Decimal[38, 3]
    moments: Bag[Moment]


def test_fields_of_every_type(spark: SparkSession, tmp_path: Path) -> None:
    """At the edges of what they may be, also inside of bags."""
    kinds = [EDGES[Base(kind, True)] for kind in ("timestamp", "date", "binary")]
    days: list[Any] = [dict(zip(("at", "day", "raw"), values, strict=True)) for values in zip(*kinds, strict=True)]
    own = [{"at": day["at"]} for day in days]
    parts = EDGES[Base("decimal", True, 38, 3)]
    rows = [{"k": i, **day, "part": parts[-i], "moments": [*own[i:], {"at": None}]} for i, day in enumerate(days)]
    with rn.open(tmp_path, engine="spark", spark=spark) as db:
        for name in ("L", "B"):
            db.relation(name, Edge, key="k")
        df = frame(spark, db, "L", rows)
        db.load("L", df)
        with db.batch() as b:
            b.insert("B", df)
        with db.batch() as b:
            b.upsert("B", df)
        assert b.report.rows_in == {}
        for name in ("L", "B"):
            found = [{**row, "moments": sorted(row["moments"], key=repr)} for row in db.relation(name).rows()]
            assert found == [{**row, "moments": sorted(row["moments"], key=repr)} for row in rows]
