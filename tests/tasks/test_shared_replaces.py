"""Upserts and deletes that tasks share do to a relation what those in this process do, whatever becomes of attempts,
and are refused with the same words. The jobs are played here (``support/sharing.py``)."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.choices import Choices
from support.laws import law
from support.relations import opened, outcome, relation, rows_of, shown, stored
from support.sharing import Partitions, shared_inserts
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.errors import BatchConflict
from ripplenest.intake import operations, replacing
from ripplenest.intake.operations import Verb
from ripplenest.intake.replacing import is_replaced
from ripplenest.nrc.surface.records import annotation_type
from ripplenest.nrc.types import Record
from ripplenest.schema.relation import Relation, declare
from ripplenest.state import tasks
from ripplenest.state.stored import relation_text
from ripplenest.store import ranges

COUNTS: Counter[str] = Counter()
LITTLE = 1 << 13


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "ALONE", 0)
    monkeypatch.setattr(operations, "SPREAD", 0)
    monkeypatch.setattr(ranges, "LEAST", 1 << 9)
    monkeypatch.setattr(replacing, "FEWEST", 2)


@rn.record
class Item:
    line: int
    qty: float | None
    tags: Bag[str]


@rn.record
class Order:
    order: int
    note: str | None
    items: Bag[Item] | None


@rn.record
class Customer:
    name: str
    orders: Bag[Order]
    codes: Bag[int]


@rn.record
class Price:
    part: str | None
    at: int | None
    price: float


KEYED: list[tuple[type, Any, dict[str, str]]] = [
    (Price, "part", {}),
    (Price, ("part", "at"), {}),
    (Price, None, {}),
    (Order, "order", {"items": "line"}),
    (Customer, "name", {"orders": "order", "orders.items": "line"}),
]


def keyed(c: Choices) -> Relation:
    """A relation of any kind, or one of those in which all rows that hold bags have keys."""
    if c.one_in(5):
        return relation(c)
    row, key, keys = c.pick(KEYED)
    return declare("R", annotation_type(row, "R"), key, keys=keys)


def show(c: Choices) -> str:
    r = keyed(c)
    return f"{r.name} {r.row} {relation_text(r)}\n{rows_of(c, r).to_pylist()}"


@law(examples=many(80, 500), shown=show)
def test_what_tasks_replace_is_what_is_replaced_here(c: Choices) -> None:
    """Version, report, digest, changes and rows of every part; or the same error, and nothing changed."""
    r, lost = keyed(c), list[str]()
    first = rows_of(c, r)
    with tempfile.TemporaryDirectory(dir=MEMORY) as parent:
        folder, seq = Path(parent), 1
        with opened(folder / "whole", r) as whole, opened(folder / "parts", r) as parts:
            for db in (whole, parts):
                outcome(lambda db=db: db.load("R", first))
            shared_inserts(parts, c, c.pick((LITTLE, 1 << 24)), lost)
            for _ in range(1 + c.number(3)):
                verb: Verb = c.pick(("upsert", "delete_key", "delete", "delete") if r.key else ("delete",))
                rows = given(c, r, whole, verb)
                wanted = done(whole, verb, rows, seq)
                assert done(parts, verb, Partitions.of(rows, c), seq) == wanted
                alike(parts, whole)
                count(r, verb, wanted)
                if wanted.startswith("loaded"):
                    again(parts, verb, rows, seq)
                    seq += 1
            assert not (folder / "parts" / "staging").exists() and not parts.usage.orphans
    COUNTS.update(lost)


def given(c: Choices, r: Relation, db: Database, verb: Verb) -> pa.Table:
    """Rows that are stored, some of them twice; for an upsert others with the keys of such, and new ones, too."""
    new = rows_of(c, r)
    is_record = isinstance(r.row, Record)
    held = [row if is_record else {"value": row} for row in db.relation("R").rows()]
    known = [row for row in held if not c.one_in(2)]
    rows = known + (known[:1] if known and c.one_in(4) else [])
    others = new.to_pylist()
    if verb == "upsert":
        rows = [{**o, **{k: row[k] for k in r.key}} for o, row in zip(others, known, strict=False)]
        rows += known[len(others) // 2 :] if c.one_in(2) else known[len(rows) :]
        rows += others[len(known) :]
    elif c.one_in(3):
        rows += others[:2]
    rows.sort(key=lambda _: c.number(1 << 20))
    table = pa.Table.from_pylist(rows, new.schema)
    return table.select(list(r.key)) if verb == "delete_key" else table


def done(db: Database, verb: Verb, rows: Any, seq: int) -> str:
    """What becomes of it, and what the report says."""

    def work() -> int:
        with db.batch("s", seq) as b:
            getattr(b, verb)("R", rows)
        return b.report.version

    said, report = outcome(work), db.report
    if said.startswith("loaded") and report is not None:
        said += f" {sorted(report.rows_in.items())}"
    return said


def alike(parts: Database, whole: Database) -> None:
    assert parts.version == whole.version and shown(parts) == shown(whole)
    assert parts._store.batches() == whole._store.batches() and parts.verify().ok
    assert stored(parts) == stored(whole)
    for version in range(1, whole.version):
        mine, theirs = (changes(db, version) for db in (parts, whole))
        assert mine == theirs


def changes(db: Database, since: int) -> dict[str, Any]:
    now = db._store.snapshot()
    return {t: now.delta(t, since).consolidated().counts() for t in now.tables}


def again(db: Database, verb: Verb, rows: pa.Table, seq: int) -> None:
    """The batch again changes nothing, whatever it comes as; another one of its name is refused."""
    version = db.version
    for same in (Partitions(rows.schema, [rows.to_batches(3)]), rows):
        with db.batch("s", seq) as b:
            getattr(b, verb)("R", same)
        assert not b.report.applied and db.version == version
    if len(rows):
        with pytest.raises(BatchConflict), db.batch("s", seq) as b:
            getattr(b, verb)("R", Partitions(rows.schema, [rows.slice(1).to_batches()]))


def count(r: Relation, verb: Verb, wanted: str) -> None:
    by_tasks = is_replaced(r, verb) and not r.arrays
    COUNTS[f"{verb}"] += by_tasks and wanted.startswith("loaded") and not wanted.endswith("[]")
    COUNTS[f"{verb} nested"] += by_tasks and len(r.parts) > 2 and wanted.startswith("loaded")
    for said in ("two rows with this key", "the same key before", "no row", "fewer such rows", "no such row"):
        COUNTS[said] += by_tasks and said in wanted


def test_coverage() -> None:
    print(COUNTS)
    assert all(COUNTS[name] > 0 for name in ("upsert", "delete_key", "delete", "lost", "twice")), COUNTS
