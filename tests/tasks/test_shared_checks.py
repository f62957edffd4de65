"""Tasks find something wrong with the rows of a relation exactly where ``verify`` does, whatever becomes of attempts.
The jobs are played here (``support/sharing.py``)."""

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import define, evolve
from support.choices import Choices, seeded
from support.laws import law
from support.relations import Order, keyed, opened, outcome, relation, rows_of
from support.sharing import Attempts, Partitions
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data.rows import Row, Rows
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
        return builds.check(db._store.snapshot(), r, staging)


@law(examples=many(19, 500), shown=lambda c: str(relation(c)))
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


@rn.record
class Named:
    name: str | None
    codes: Bag[int]


@rn.record
class Line:
    name: str
    code: int


WRONG: list[tuple[type, dict[str, Any], str, str, Callable[[Row], list[tuple[Row, int]]]]] = [
    (Order, {"key": "order", "keys": {"items": "line"}}, "R", "rows under a label", lambda row: [(row, -1)]),
    (Line, {"key": "name"}, "R", "keys of more", lambda row: [((row[0], 77), 1)]),
    (Order, {"key": "order"}, "R.items", "rows that share a label", lambda row: [((row[0], 99, *row[2:]), 1)]),
    (Order, {"key": "order"}, "R", "NULL in order", lambda row: [(row, -1), ((None, *row[1:]), 1)]),
    (Named, {"key": "name"}, "R", "keys of more", lambda row: [((row[0], 77), 1)]),
]


@pytest.mark.parametrize("row, keys, part, said, change", WRONG, ids=[f"{w[0].__name__}, {w[3]}" for w in WRONG])
def test_what_is_wrong(
    tmp_path: Path, row: type, keys: Any, part: str, said: str, change: Callable[[Row], list[tuple[Row, int]]]
) -> None:
    """Which tasks do not find in the rows of one range alone."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", row, **keys)
        items = [{"line": n, "qty": 1.0, "tags": ["t"]} for n in range(3)]
        orders = [{"order": n, "note": None, "items": items} for n in range(30)]
        named = [{"name": f"n{n}", **({"code": n} if row is Line else {"codes": [n]})} for n in range(30)]
        db.load("R", orders if row is Order else named)
        r = db._declared.relations["R"]
        assert sizes(db, r, seeded(1)) == {t.name: t.rows for t in db.verify().tables}
        rows = db._store.snapshot().scan(part)
        one = min(rows.counts(), key=repr)
        db._store.commit(Change({part: Rows.of_pairs(rows.types, change(one))}), db.version)
        assert said in " ".join(d.what for d in db.verify().differences)
        assert sizes(db, r, seeded(1)) is None


def test_coverage() -> None:
    assert COUNTS["right"] > 0 and len(COUNTS) > 3, COUNTS
