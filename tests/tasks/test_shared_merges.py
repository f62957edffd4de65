"""Segments that tasks merge hold what those held whose place they take, whatever becomes of attempts, whatever is
committed meanwhile, and wherever a process is killed. The jobs are played here (``support/sharing.py``)."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import define
from support.choices import Choices, seeded
from support.crashes import frozen_at
from support.laws import law
from support.relations import opened, outcome, relation, rows_of
from support.sharing import Attempts, Partitions
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Database
from ripplenest.run.engines import Engines
from ripplenest.run.local import LocalJoiner
from ripplenest.state import compacting
from ripplenest.state.compacting import Compacting
from ripplenest.store import ranges
from ripplenest.store.database.backend import FILE
from ripplenest.store.ref import sorted_runs
from ripplenest.tasks.builds import TaskBuilds

COUNTS: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "LARGE", 0)
    monkeypatch.setattr(ranges, "LEAST", 1 << 9)


@define
class Played(TaskBuilds):
    """Tasks that are played, as ``c`` says; ``meanwhile`` something happens."""

    c: Choices
    meanwhile: Any

    @property
    def jobs(self) -> Attempts:
        return Attempts(Partitions(pa.schema([]), []), self.c)

    def merge(self, *args: Any) -> Any:
        found = super().merge(*args)
        if self.meanwhile is not None:
            self.meanwhile()
        return found


def compact(db: Database, builds: Played, everything: bool = False) -> int:
    return Compacting(db._state, Engines("spark", LocalJoiner), lambda: builds).compact(everything)


def played(c: Choices | None = None, meanwhile: Any = None) -> Played:
    return Played(None, 1 << 20, seeded(3) if c is None else c, meanwhile)  # type: ignore[arg-type]


@law(examples=many(15, 200), shown=lambda c: str(relation(c)))
def test_merges_hold_the_same(c: Choices) -> None:
    """Every table at every version, and its changes; then there is one sorted run of each, or few."""
    r = relation(c)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, opened(Path(folder) / "s", r) as db:
        for seq in range(1, 4 + c.number(12)):
            outcome(lambda seq=seq: write(db, c, r, seq))
        everything, before = c.one_in(2), versions(db)
        rewritten = compact(db, played(c), everything)
        assert {n: found for n, found in versions(db).items() if n in before} == before
        assert db.verify().ok and db.check_files() >= 0 and not db.usage.orphans
        for table in db._store.tables():
            runs = sorted_runs(db._store.snapshot().table(table).segments)
            assert len(runs) <= 1 or not everything
            COUNTS["several of one run"] += any(len(run) > 1 and not run[0].is_delta for run in runs)
        COUNTS["merged"] += rewritten > 0
        version = db.version
        assert compact(db, played(c), everything) == 0 and db._store.compact(everything) == 0 and db.version == version
        outcome(lambda: write(db, c, r, 100))
        assert db.verify().ok and db.check_files() >= 0


def write(db: Database, c: Choices, r: Any, seq: int) -> int:
    rows = rows_of(c, r)
    with db.batch("s", seq) as b:
        if c.one_in(3) and len(held := db.relation("R").rows()):
            b.delete("R", held[: 1 + c.number(len(held))])
        else:
            b.insert("R", rows)
    return b.report.version


def versions(db: Database) -> dict[int, Any]:
    found = {}
    for n in range(1, db.version + 1):
        snapshot = db._store.snapshot(n)
        found[n] = {t: snapshot.scan(t).consolidated().counts() for t in snapshot.tables}
    return found


@rn.record
class Price:
    part: int
    price: float


def prices(first: int, many: int) -> list[dict[str, Any]]:
    return [{"part": first + n, "price": float(n)} for n in range(many)]


def filled(folder: Path) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("R", Price, key="part")
    for n in range(9):
        with db.batch() as b:
            b.insert("R", prices(100 * n, 60))
    return db


def runs(db: Database) -> int:
    return len(sorted_runs(db._store.snapshot().table("R").segments))


def test_what_is_committed_meanwhile_stays(tmp_path: Path) -> None:
    """And what is merged is named on top of it."""
    with filled(tmp_path / "s") as db:
        done: list[int] = []

        def insert() -> None:
            if not done:
                with db.batch() as b:
                    b.insert("R", prices(5000, 7))
            done.append(db.version)

        assert compact(db, played(meanwhile=insert), True) == 540 + 547 and len(done) == 2
        assert db.relation("R").count() == 547 and db.verify().ok and runs(db) == 1
        assert not [*(tmp_path / "s").glob("staging/*")] and not db.usage.orphans


def test_who_merges_the_same_meanwhile(tmp_path: Path) -> None:
    with filled(tmp_path / "s") as db:
        assert compact(db, played(meanwhile=lambda: db._store.compact(True)), True) == 540  # by the other
        assert db.relation("R").count() == 540 and db.verify().ok and runs(db) == 1
        assert not [*(tmp_path / "s").glob("staging/*")] and not db.usage.orphans


def test_merges_that_are_killed_at_any_step(tmp_path: Path) -> None:
    """The rows are there at each, and the next one merges what is left."""
    folder = tmp_path / "s"
    filled(folder).close()

    def body(_tell: Any) -> None:
        with rn.open(folder, engine="local") as db:
            compact(db, played(), True)

    before = after = 0
    for image in [image for image, _ in frozen_at(body, folder, tmp_path / "copies")][:: many(4, 1)]:
        assert (image / FILE).exists()
        with rn.open(image, engine="local") as db:
            before, after = before + (runs(db) > 1), after + (runs(db) == 1)
            assert db.relation("R").count() == 540 and db.verify().ok
            compact(db, played(), True)
            with db.batch() as b:  # the next writer
                b.insert("R", prices(9000, 1))
            assert db.relation("R").count() == 541 and db.verify().ok and db.check_files() > 0
            assert not db.usage.orphans and not [*image.glob("staging/*")]
    assert before > many(3, 12) and after > 0


def test_coverage() -> None:
    assert COUNTS["merged"] > 0 and COUNTS["several of one run"] > 0, COUNTS
