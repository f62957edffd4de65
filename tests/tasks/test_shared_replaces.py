"""Upserts and deletes that tasks share do to a relation what those in this process do, whatever becomes of attempts,
and are refused with the same words. The jobs are played here (``support/sharing.py``)."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.choices import Choices, seeded
from support.laws import law
from support.relations import Order, keyed, opened, outcome, rows_of, shown, stored
from support.sharing import Partitions, shared_from_the_first, shared_inserts
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Database
from ripplenest.data.level_values import nested_type
from ripplenest.errors import BatchConflict, DataError
from ripplenest.intake import replacing
from ripplenest.intake.operations import KEYED, Verb
from ripplenest.intake.replacing import is_replaced
from ripplenest.intake.spread import Spread
from ripplenest.nrc.surface.records import annotation_type
from ripplenest.nrc.types import has_columns
from ripplenest.schema.relation import Relation
from ripplenest.state.stored import relation_text
from ripplenest.store.files import Filed

COUNTS: Counter[str] = Counter()
LITTLE = 1 << 13


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    shared_from_the_first(monkeypatch)
    monkeypatch.setattr(replacing, "FEWEST", 2)


def show(c: Choices) -> str:
    r = keyed(c)
    return f"{r.name} {r.row} {relation_text(r)}\n{rows_of(c, r).to_pylist()}"


@law(examples=many(20, 500), shown=show)
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
                verb: Verb = c.pick(
                    ("upsert", "delete_key", "discard_key", "delete", "delete") if r.key else ("delete",)
                )
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
    is_record = has_columns(r.row)
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
    return table.select(list(r.key)) if verb in KEYED else table


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


def order(k: int, note: str | None = None, lines: int | None = None) -> dict[str, Any]:
    many = k % 3 if lines is None else lines
    return {"order": k, "note": note, "items": [{"line": n, "qty": k / 2, "tags": ["t"] * n} for n in range(many)]}


def customers(many: int) -> pa.Table:
    return pa.Table.from_pylist([order(k) for k in range(many)], SCHEMA)


SCHEMA = pa.schema([(name, nested_type(t)) for name, t in annotation_type(Order, "O").fields])  # type: ignore[union-attr]


def declared(folder: Path, **keys: Any) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("R", Order, **keys)
    db.load("R", customers(40))
    shared_inserts(db, seeded(5), 1 << 20, [])
    return db


BY_KEY: dict[str, Any] = {"key": "order", "keys": {"items": "line"}}
CHANGED = [order(3, "é"), order(4), order(5, None, 9), order(80), order(6, None, 0)]
WRONG: list[tuple[Verb, list[dict[str, Any]]]] = [
    ("upsert", [order(1), order(7), order(7, "x"), order(1), order(7)]),
    ("delete_key", [{"order": k} for k in (5, 7, 5, 99, 8, 5, 7, 99)]),
    ("delete", [order(1), order(2, None, 1), order(99), order(7), order(7), order(8, "x")]),
    ("delete", [order(1), order(2, None, 1), order(5)]),
]


def test_rows_stay_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither they come here, nor those that they replace; and only what differs is written."""
    monkeypatch.setattr(Spread, "_here", lambda _: pytest.fail("the driver reads what comes"))
    monkeypatch.setattr(Filed, "arrow", lambda _: pytest.fail("the driver reads what tasks wrote"))
    with declared(tmp_path / "s", **BY_KEY) as db:
        with db.batch() as b:
            b.upsert("R", played([order(k) for k in range(40)]))
        assert not b.report.rows_in and db.version == b.report.version
        with db.batch() as b:
            b.upsert("R", played(CHANGED))
        assert b.report.rows_in == {"R": 3, "R.items": 9, "R.items.tags": 8}
        with db.batch() as b:
            b.delete_key("R", played([{"order": k} for k in (4, 80, 0)]))
        assert b.report.rows_in == {"R": 3, "R.items": 3, "R.items.tags": 1}
        with db.batch() as b:
            b.delete("R", played([order(7), CHANGED[2]]))
        monkeypatch.undo()
        assert b.report.rows_in == {"R": 2, "R.items": 10, "R.items.tags": 8}
        found = {row["order"]: row for row in db.relation("R").rows()}
        wanted = {
            row["order"]: row for row in [*map(order, range(40)), *CHANGED] if row["order"] not in (0, 4, 5, 7, 80)
        }
        assert found == wanted and db.verify().ok


def played(rows: list[dict[str, Any]]) -> Partitions:
    schema = SCHEMA if len(rows[0]) > 1 else pa.schema([SCHEMA.field("order")])
    return Partitions.of(pa.Table.from_pylist(rows, schema), seeded(3))


@pytest.mark.parametrize("verb, rows", WRONG, ids=["upsert", "keys", "rows", "bags"])
def test_what_is_wrong_is_said_as_here(tmp_path: Path, verb: Verb, rows: list[dict[str, Any]]) -> None:
    """Of the rows by their numbers, in their order."""
    with declared(tmp_path / "s", **BY_KEY) as db:
        said = []
        for given in (rows, played(rows)):
            with pytest.raises(DataError) as found, db.batch() as b:
                getattr(b, verb)("R", given)
            said.append(str(found.value))
        assert said[0] == said[1] and db.version == 2 and not [*(tmp_path / "s").glob("staging/*")]


@pytest.mark.parametrize("immutable", [(), ("items",)], ids=["numbers", "arrays"])
def test_rows_that_are_known_by_numbers_come_here(tmp_path: Path, immutable: tuple[str, ...]) -> None:
    """So do arrays, and documents that are to go."""
    with declared(tmp_path / "s", key="order", immutable=immutable) as db:
        with db.batch() as b:
            b.upsert("R", played(CHANGED))
        with db.batch() as b:
            b.delete_key("R", played([{"order": k} for k in range(3)]))
        with db.batch() as b:
            b.delete("R", played([order(9), order(11)]))
        assert db.relation("R").count() == 36 and db.verify().ok


def test_coverage() -> None:
    names = (
        "upsert",
        "delete_key",
        "discard_key",
        "delete",
        "upsert nested",
        "delete nested",
        "delete_key nested",
        "lost",
        "twice",
    )
    assert all(COUNTS[name] > 0 for name in names), COUNTS
