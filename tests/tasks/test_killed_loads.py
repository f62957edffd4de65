"""A load by tasks that is killed, or that others come in the way of: version n or n + 1, nothing lost, nothing twice,
and no file stays."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve
from support.choices import seeded
from support.crashes import Full, frozen_at, stepping
from support.sharing import Attempts, Partitions, shared
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.errors import AlreadyLoaded, Stale
from ripplenest.nrc.errors import StateError
from ripplenest.store import ranges, staging
from ripplenest.store.database.backend import FILE
from ripplenest.store.staging import Staging

SEED = 5
MEMORY_OF_A_TASK = 1 << 13


@rn.record
class Order:
    order: int
    codes: Bag[str]


def rows(many: int = 60) -> pa.Table:
    codes = [[f"c{k % 5}"] * (k % 3) for k in range(many)]
    schema = pa.schema([("order", pa.int64()), ("codes", pa.list_(pa.string()))])
    return pa.Table.from_pydict({"order": list(range(many)), "codes": codes}, schema)


def declared(folder: Path, key: str | None = None) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("R", Order, key=key)
    shared(db, seeded(SEED), MEMORY_OF_A_TASK, [])
    return db


def given() -> Partitions:
    return Partitions.of(rows(), seeded(SEED))


def is_whole(db: Database, folder: Path) -> bool:
    """Whether the rows are there, all of them; and nothing else is."""
    found = db.relation("R").rows()
    assert len(found) in (0, 60) and db.verify().ok and db.check_files() >= 0
    assert not db.usage.orphans and not [*folder.glob("staging/*")]
    return len(found) == 60


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "LEAST", 1 << 12)


@pytest.mark.parametrize("key", [pytest.param(None, marks=pytest.mark.long), "order"])
def test_a_load_that_is_killed_at_any_step(tmp_path: Path, key: str | None) -> None:
    folder = tmp_path / "state"

    def body(_tell: Any) -> None:
        with declared(folder, key) as db:
            db.load("R", given())

    images = [image for image, _ in frozen_at(body, folder, tmp_path / "copies")][:: many(2, 1)]
    before = after = staged = 0
    for image in images:
        if not (image / FILE).exists() or not (image / staging.FOLDER).exists():
            continue  # it was killed before there was anything to load into
        staged += any((image / staging.FOLDER).iterdir())
        with declared(image, key) as db:
            loaded = db.version == 2
            before, after = before + (not loaded), after + loaded
            with db.batch() as b:  # the next writer
                b.insert("R", [])
            assert is_whole(db, image) == loaded
            assert db.load("R", given()) == db.load("R", rows()) == (2 if loaded else 3) and is_whole(db, image)
    assert before > many(12, 24) and staged > many(12, 24) and after > 0


class Meanwhile:
    """Jobs in the middle of which something else happens."""

    def __init__(self, jobs: Attempts, happens: Any) -> None:
        self.jobs, self.happens = jobs, happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self.jobs, name)

    def on_work(self, *args: Any) -> Any:
        self.happens()
        return self.jobs.on_work(*args)


def meanwhile(db: Database, happens: Any) -> None:
    """From now on ``happens`` in the middle of each load."""
    tasks = db._commits.tasks()
    jobs = lambda rows: Meanwhile(tasks.jobs(rows), happens)  # noqa: E731
    made = evolve(tasks, jobs=jobs)
    object.__setattr__(db._commits, "tasks", lambda: made)


def test_others_do_not_sweep_what_is_at_work(tmp_path: Path) -> None:
    with declared(tmp_path / "s", "order") as db, rn.open(tmp_path / "s", engine="local") as other:
        meanwhile(db, other.vacuum)
        assert db.load("R", given()) == db.version == 2 and is_whole(db, tmp_path / "s")


def after_another(folder: Path, key: str | None, happens: Any) -> Database:
    """A database that another commits to in the middle of a load."""
    db = declared(folder, key)

    done: list[bool] = []

    def once() -> None:
        if not done:
            with rn.open(folder, engine="local") as other:
                happens(other)
        done.append(True)

    meanwhile(db, once)
    return db


def declares(other: Database) -> None:
    other.relation("S", Order)


def test_another_commit_comes_first(tmp_path: Path) -> None:
    """What has no numbers of a version is named by the next one; what has them is refused, and comes again."""
    with after_another(tmp_path / "s", "order", declares) as db:
        assert db.load("R", given()) == 3 and is_whole(db, tmp_path / "s")
    with after_another(tmp_path / "t", None, declares) as db:
        with pytest.raises(Stale):
            db.load("R", given())
        assert db.version == 2 and not is_whole(db, tmp_path / "t")
        assert db.load("R", given()) == 3 and is_whole(db, tmp_path / "t")


def loads(other: Database) -> None:
    other.load("R", rows(7))


def inserts(other: Database) -> None:
    with other.batch() as b:
        b.insert("R", rows(7))


def tracks(other: Database) -> None:
    other._state.index({"R": ((0, 1),)}, {"kind": "track", "name": "R"})


def makes_another(other: Database) -> None:
    other.drop("R")
    other.relation("R", Order)


def makes_anew(other: Database) -> None:
    other.drop("R")
    other.relation("R", Order, key="order")


@pytest.mark.parametrize("happens", [loads, inserts, tracks, makes_another, makes_anew])
def test_another_commit_that_the_load_does_not_fit(tmp_path: Path, happens: Any) -> None:
    """The relation has rows by then, or other tables: the load is refused."""
    with after_another(tmp_path / "s", "order", happens) as db:
        with pytest.raises((Stale, AlreadyLoaded)):
            db.load("R", given())
        assert db.verify().ok and not db.usage.orphans and not [*(tmp_path / "s").glob("staging/*")]
        assert db.relation("R").count() in (0, 7)


@rn.view
def coded(R: Bag[Order]):
    return [{"o": r.order, "n": [c for c in r.codes if c > "c1"]} for r in R]


def views(other: Database) -> None:
    other.create(coded)


def test_a_view_that_comes_meanwhile_is_kept_fresh(tmp_path: Path) -> None:
    with after_another(tmp_path / "s", "order", views) as db:
        db.load("R", given())
        assert db.verify().ok and len(db.view("coded").rows()) == 60


def test_what_the_dead_have_left_goes(tmp_path: Path) -> None:
    """With its lock or without it; what somebody holds stays until he is done."""
    with declared(tmp_path / "s", "order") as db:
        with Staging.begin(tmp_path / "s") as mine:
            (mine.folder / "run").write_bytes(b"x")
            for token in ("a" * 16, "b" * 16):
                (mine.disk.folder / token).mkdir()
                (mine.disk.folder / token / "run").write_bytes(b"x")
            (mine.disk.folder / f"{'a' * 16}.lock").touch()
            db.vacuum()
            assert sorted(p.name for p in mine.disk.folder.iterdir()) == sorted([mine.token, f"{mine.token}.lock"])
            assert (mine.folder / "run").exists()
        assert not [*(tmp_path / "s").glob("staging/*")]


def test_only_what_is_named_is_made_durable(tmp_path: Path) -> None:
    """Runs are read by tasks of the same load, and by nobody after it."""
    steps: list[tuple[str, str]] = []
    with declared(tmp_path / "s", "order") as db, stepping(lambda step, name: steps.append((step, name))):
        db.load("R", given())
    files = {name for step, name in steps if step == "create" and len(name) == len(staging.file_name())}
    synced = [name for step, name in steps if step == "sync" and name in files]
    named = [name for step, name in steps if step == "link"]
    assert len(named) == len(synced) == len(set(synced)) > 1 and len(files) > len(synced)


@pytest.mark.parametrize("what", ["create", "write", "sync", "link", "names"])
def test_a_file_system_that_refuses(tmp_path: Path, what: str) -> None:
    """Whatever it refuses and whenever: a clear error, nothing has changed, and the same handle goes on."""
    refused = 0
    for at in range(1, 200, 7):
        folder = tmp_path / f"{what}-{at}"
        with declared(folder, "order") as db:
            full = Full(what, at)
            with stepping(full):
                try:
                    db.load("R", given())
                except StateError as error:
                    assert "the file system refuses" in str(error)
                    refused += 1
            if full.left > 0:
                break
            assert db.load("R", given()) == db.version and is_whole(db, folder)
    assert refused > 0
