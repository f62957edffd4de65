"""A load by tasks that is killed, or that others come in the way of: version n or n + 1, nothing lost, nothing twice,
and no file stays."""

import errno
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.choices import seeded
from support.crashes import frozen_at, stepping
from support.sharing import Attempts, Partitions, shared

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.errors import Stale
from ripplenest.nrc.errors import StateError
from ripplenest.store import ranges, staging
from ripplenest.store.backend import FILE
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


@pytest.mark.parametrize("key", [None, "order"])
def test_a_load_that_is_killed_at_any_step(tmp_path: Path, key: str | None) -> None:
    folder = tmp_path / "state"

    def body(_tell: Any) -> None:
        with declared(folder, key) as db:
            db.load("R", given())

    images = [image for image, _ in frozen_at(body, folder, tmp_path / "copies")]
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
    assert before > 20 and staged > 20 and after > 0


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
    made = type(tasks)(tasks.memory, jobs)
    object.__setattr__(db._commits, "tasks", lambda: made)


def test_others_do_not_sweep_what_is_at_work(tmp_path: Path) -> None:
    with declared(tmp_path / "s", "order") as db, rn.open(tmp_path / "s", engine="local") as other:
        meanwhile(db, other.vacuum)
        assert db.load("R", given()) == db.version == 2 and is_whole(db, tmp_path / "s")


def test_another_commit_comes_first(tmp_path: Path) -> None:
    """The load is refused, as others are, leaves nothing, and may come again."""
    with declared(tmp_path / "s", "order") as db, rn.open(tmp_path / "s", engine="local") as other:
        meanwhile(db, lambda: other.relation("S", Order) if "S" not in other.relations else None)
        with pytest.raises(Stale):
            db.load("R", given())
        assert db.version == 2 and not is_whole(db, tmp_path / "s")
        assert db.load("R", given()) == 3 and is_whole(db, tmp_path / "s")


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


@pytest.mark.parametrize("what", ["create", "write", "sync", "link", "names"])
def test_a_file_system_that_refuses(tmp_path: Path, what: str) -> None:
    """Whatever it refuses and whenever: a clear error, nothing has changed, and the same handle goes on."""
    refused = 0
    for at in range(1, 200, 7):
        folder = tmp_path / f"{what}-{at}"
        with declared(folder, "order") as db:
            left = at

            def full(step: str, _name: str) -> None:
                nonlocal left
                left -= step == what
                if left == 0 and step == what:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            with stepping(full):
                try:
                    db.load("R", given())
                except StateError as error:
                    assert "the file system refuses" in str(error)
                    refused += 1
            if left > 0:
                break
            assert db.load("R", given()) == db.version and is_whole(db, folder)
    assert refused > 0


