"""An insert or an upsert by tasks that is killed at any step: the batch is there, with all that it does to views, or it
is not; nothing is lost, nothing comes twice, and no file stays. The tasks are played here, so their steps are steps,
too."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from support.choices import seeded
from support.crashes import Full, frozen_at, stepping
from support.filing import Played
from support.sharing import Partitions, shared_inserts
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.intake import operations
from ripplenest.nrc.errors import StateError
from ripplenest.run import propagate
from ripplenest.run.engines import Engines
from ripplenest.spark import frames
from ripplenest.state import recomputing, tasks
from ripplenest.store import ranges, staging
from ripplenest.store.database.backend import FILE

MEMORY_OF_A_TASK = 1 << 13
FIRST, MORE = 20, 40


@rn.record
class Order:
    order: int
    codes: Bag[str]


@rn.view
def coded(R: Bag[Order]):
    return [{"o": r.order, "n": [c for c in r.codes if c > "c1"]} for r in R]


def orders(first: int, many: int) -> pa.Table:
    codes = [[f"c{k % 5}"] * (k % 3) for k in range(many)]
    schema = pa.schema([("order", pa.int64()), ("codes", pa.list_(pa.string()))])
    return pa.Table.from_pydict({"order": list(range(first, first + many)), "codes": codes}, schema)


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "ALONE", 0)
    monkeypatch.setattr(operations, "SPREAD", 0)
    monkeypatch.setattr(ranges, "LEAST", 1 << 12)
    monkeypatch.setattr(recomputing, "is_by_tasks", lambda *_: False)  # joins are not played


def declared(folder: Path, key: str | None) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("R", Order, key=key)
    shared_inserts(db, seeded(5), MEMORY_OF_A_TASK, [])
    return db


def insert(db: Database, given: Any = None) -> rn.Report:
    with db.batch("s", 1, policy="incremental") as b:
        b.insert("R", Partitions.of(orders(FIRST, MORE), seeded(5)) if given is None else given)
    return b.report


def upsert(db: Database, given: Any = None) -> rn.Report:
    """Of rows that are all there, and as many as are inserted that are not."""
    with db.batch("s", 1, policy="incremental") as b:
        b.upsert("R", Partitions.of(orders(0, FIRST + MORE), seeded(5)) if given is None else given)
    return b.report


def is_whole(db: Database, folder: Path) -> bool:
    """Whether the batch is there, all of it; and nothing else is."""
    found, seen = db.relation("R").rows(), db.view("coded").rows()
    assert len(found) == len(seen) and len(found) in (FIRST, FIRST + MORE)
    assert db.verify().ok and db.check_files() >= 0
    assert not db.usage.orphans and not [*folder.glob("staging/*")]
    return len(found) > FIRST


@pytest.mark.parametrize(
    "key, write, rows",
    [
        pytest.param(None, insert, orders(FIRST, MORE), marks=pytest.mark.long),
        ("order", insert, orders(FIRST, MORE)),
        ("order", upsert, orders(0, FIRST + MORE)),
    ],
    ids=["insert", "insert with keys", "upsert"],
)
def test_a_batch_that_is_killed_at_any_step(tmp_path: Path, key: str | None, write: Any, rows: pa.Table) -> None:
    folder = tmp_path / "state"
    with declared(folder, key) as db:
        db.load("R", orders(0, FIRST))
        db.create(coded)

    def body(_tell: Any) -> None:
        with declared(folder, key) as db:
            write(db)

    images = [image for image, _ in frozen_at(body, folder, tmp_path / "copies")][:: many(4, 1)]
    before = after = staged = 0
    for image in images:
        assert (image / FILE).exists()
        staged += (image / staging.FOLDER).exists() and any((image / staging.FOLDER).iterdir())
        with declared(image, key) as db:
            done = db.version == 4
            before, after = before + (not done), after + done
            with db.batch() as b:  # the next writer
                b.insert("R", [])
            assert is_whole(db, image) == done
            assert write(db).applied != done and is_whole(db, image)
            assert not write(db, rows).applied and is_whole(db, image)
    assert before > many(6, 24) and staged > many(6, 24) and after > 0


@rn.view
def numbered(R: Bag[Order]):
    """Groups, first rows, and places of both."""
    return [{"k": k, "n": len(rs), "most": max(r.order for r in rs)} for k, rs in rn.group_by(R, lambda r: r.order % 7)]


def stepping_by_tasks(folder: Path, met: Counter[str]) -> Database:
    """Where per-key steps are played, too."""
    db = declared(folder, "order")
    db._commits = evolve(db._commits, engines=Engines("spark", lambda: Played(db._store, seeded(7), met)))
    return db


def test_steps_of_a_batch_that_is_killed_at_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What tasks fold is there with the batch, or is not."""
    monkeypatch.setattr(frames, "SMALL_ROWS", 0)
    monkeypatch.setattr(propagate, "HERE", 0)
    folder, met = tmp_path / "state", Counter[str]()
    with declared(folder, "order") as db:
        db.load("R", orders(0, FIRST))
        db.create(coded)
        db.create(numbered)

    def body(_tell: Any) -> None:
        with stepping_by_tasks(folder, met) as db:
            insert(db)

    images = [image for image, _ in frozen_at(body, folder, tmp_path / "copies")][:: many(12, 1)]
    before = after = 0
    for image in images:
        with stepping_by_tasks(image, met) as db:
            done = db.version == 5
            before, after = before + (not done), after + done
            with db.batch() as b:  # the next writer
                b.insert("R", [])
            assert is_whole(db, image) == done
            assert insert(db).applied != done and is_whole(db, image)
            wanted = Counter(k % 7 for k in range(FIRST + MORE))
            assert {row["k"]: row["n"] for row in db.view("numbered").rows()} == wanted
    assert before > many(6, 24) and after > 0 and met["group"] > after and met["first rows"] > after


@pytest.mark.parametrize("what", ["create", "write", "sync", "link", "names"])
def test_a_file_system_that_refuses(tmp_path: Path, what: str) -> None:
    """Whatever it refuses and whenever: a clear error, nothing has changed, and the same handle goes on."""
    refused = 0
    for at in range(1, 200, 7):
        folder = tmp_path / f"{what}-{at}"
        with declared(folder, "order") as db:
            db.load("R", orders(0, FIRST))
            db.create(coded)
            full = Full(what, at)
            with stepping(full):
                try:
                    insert(db)
                except StateError as error:
                    assert "the file system refuses" in str(error)
                    assert not is_whole(db, folder)
                    refused += 1
            if full.left > 0:
                break
            insert(db)
            assert is_whole(db, folder)
    assert refused > 0
