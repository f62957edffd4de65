"""Tasks find something wrong with the rows of a relation exactly where ``verify`` does, whatever becomes of attempts.
The jobs are played here (``support/sharing.py``)."""

import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import define, evolve
from support.choices import Choices
from support.laws import law
from support.relations import keyed, opened, outcome, relation, rows_of
from support.sharing import Attempts, Partitions
from support.sizes import many
from support.states import MEMORY

from ripplenest import Database
from ripplenest.data.rows import Rows
from ripplenest.schema.relation import Relation
from ripplenest.store import ranges
from ripplenest.store.specs import Change
from ripplenest.store.staging import Staging
from ripplenest.tasks.builds import TaskBuilds

COUNTS: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "LEAST", 1 << 9)


@define
class Played(TaskBuilds):
    """Tasks that are played, as ``c`` says."""

    c: Choices

    @property
    def jobs(self) -> Attempts:
        return Attempts(Partitions(pa.schema([]), []), self.c)


def sizes(db: Database, r: Relation, c: Choices) -> dict[str, int] | None:
    with Staging.begin(db._store.path) as staging:
        builds = Played(None, c.pick((1 << 13, 1 << 24)), c)  # type: ignore[arg-type]
        return builds.check(db._store.snapshot(), r, staging, db._store.reserved())


@law(examples=many(40, 500), shown=lambda c: str(relation(c)))
def test_tasks_find_what_is_found_here(c: Choices) -> None:
    r = evolve(keyed(c) if c.one_in(2) else relation(c), arrays=())
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, opened(Path(folder) / "s", r) as db:
        for seq in range(2 + c.number(3)):
            outcome(lambda seq=seq: insert(db, c, r, seq))
        parts = [part for part in r.parts if db._store.tables()[part].indexes]
        if len(parts) < len(r.parts):
            return
        if not c.one_in(4):
            spoil(db, c, c.pick(parts))
        here, found = db.verify(), sizes(db, r, c)
        assert (found is not None) == here.ok, here.differences
        assert found is None or found == {t.name: t.rows for t in here.tables}
        COUNTS["right"] += here.ok and len(db.relation("R").rows()) > 5
        for difference in here.differences:
            COUNTS[" ".join(difference.what.split()[:3])] += 1


def insert(db: Database, c: Choices, r: Relation, seq: int) -> int:
    with db.batch("s", seq) as b:
        b.insert("R", rows_of(c, r))
    return b.report.version


def spoil(db: Database, c: Choices, part: str) -> None:
    """A row goes, or comes again, or with one value of another."""
    rows = db._store.snapshot().scan(part)
    held = list(rows.counts())
    if held:
        one, other = c.pick(held), c.pick(held)
        at = c.number(len(one))
        mixed = (*one[:at], other[at], *one[at + 1 :])
        change = c.pick([[(one, -1)], [(one, 1)], [(one, -2)], [(one, -1), (mixed, 1)], [(mixed, 1)]])
        db._store.commit(Change({part: Rows.of_pairs(rows.types, change).consolidated()}), db.version)


def test_coverage() -> None:
    names = ("right", "rows that share", "rows under a", "keys of more", "rows with a")
    assert all(COUNTS[name] > 0 for name in names), COUNTS
