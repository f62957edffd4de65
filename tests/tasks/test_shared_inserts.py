"""An insert that tasks share does to a relation what one in this process does, whatever becomes of attempts, and is
refused with the same words: on top of rows, beside operations on other relations, and once for each name. The jobs are
played here (``support/sharing.py``); ``test_spark_inserts.py`` has Spark's."""

import contextlib
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from support.choices import Choices, seeded
from support.laws import law
from support.relations import opened, outcome, relation, rows_of, shown, stored
from support.sharing import Partitions, shared_from_the_first, shared_inserts
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.errors import BatchConflict, BatchGap, CorruptState, DuplicateKey, WrongColumns
from ripplenest.intake.spread import Spread
from ripplenest.schema.relation import Relation
from ripplenest.state import recomputing
from ripplenest.state.stored import relation_text

COUNTS: Counter[str] = Counter()
LITTLE = 1 << 13


@pytest.fixture(autouse=True)
def _all_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    shared_from_the_first(monkeypatch)


def show(c: Choices) -> str:
    r = relation(c)
    return f"{r.name} {r.row} {relation_text(r)}\n{rows_of(c, r).to_pylist()}\n{rows_of(c, r).to_pylist()}"


def inserted(db: Database, rows: Any, seq: int) -> str:
    """What becomes of it, and what the report says."""

    def insert() -> int:
        with db.batch("s", seq) as b:
            b.insert("R", rows)
        return b.report.version

    said = outcome(insert)
    report = db.report
    if said.startswith("loaded") and report is not None:
        said += f" {dict(sorted((part, n) for part, n in report.rows_in.items() if n))}"
    return said


@law(examples=many(60, 300), shown=show)
def test_an_insert_by_tasks_is_the_insert(c: Choices) -> None:
    """Version, report, digest, changes, rows, every part of rows with keys; or the same error, and nothing changed."""
    r = relation(c)
    batches, lost = [rows_of(c, r) for _ in range(1 + c.number(3))], list[str]()
    if c.one_in(6):
        batches.append(batches[0])
    with tempfile.TemporaryDirectory(dir=MEMORY) as parent:
        folder, seq = Path(parent), 1
        with opened(folder / "whole", r) as whole, opened(folder / "parts", r) as parts:
            shared_inserts(parts, c, c.pick((LITTLE, 1 << 24)), lost)
            for rows in batches:
                given, size = Partitions.of(rows, c), parts._state.snapshot().size("R")
                wanted = inserted(whole, rows, seq)
                assert inserted(parts, given, seq) == wanted
                alike(parts, whole, r)
                count(r, len(rows), size, wanted)
                if wanted.startswith("loaded"):
                    again(parts, given, rows, seq)
                    seq += 1
            assert not (folder / "parts" / "staging").exists() and not parts.usage.orphans
    COUNTS.update(lost)


def alike(parts: Database, whole: Database, r: Relation) -> None:
    assert parts.version == whole.version and shown(parts) == shown(whole)
    assert parts._store.batches() == whole._store.batches() and parts.verify().ok
    if all(place.key for place in r.places.values()) and not r.arrays:  # labels have no numbers
        assert stored(parts) == stored(whole)
        for version in range(1, whole.version):
            now = [db._store.snapshot() for db in (parts, whole)]
            mine, theirs = ({t: s.delta(t, version).consolidated().counts() for t in s.tables} for s in now)
            assert mine == theirs
        COUNTS["the same labels"] += len(r.parts) > 1 and whole.version > 1


def again(db: Database, given: Partitions, rows: pa.Table, seq: int) -> None:
    """The batch again changes nothing, whatever it comes as; another one of its name is refused."""
    version = db.version
    for same in (given, rows, rows.take(pa.array(range(len(rows))[::-1], pa.int64()))):
        with db.batch("s", seq) as b:
            b.insert("R", same)
        assert not b.report.applied and db.version == version
    if len(rows):
        for other in (rows.slice(1), Partitions(rows.schema, [rows.slice(1).to_batches()])):
            with pytest.raises(BatchConflict), db.batch("s", seq) as b:
                b.insert("R", other)
        with pytest.raises(BatchGap), db.batch("s", seq + 2) as b:
            b.insert("R", given)


def count(r: Relation, many: int, size: int, wanted: str) -> None:
    done = wanted.startswith("loaded") and many > 0
    COUNTS["on top, with a key"] += done and size > 0 and bool(r.key)
    COUNTS["on top, without one"] += done and size > 0 and not r.key
    COUNTS["nested"] += done and len(r.parts) > 1
    COUNTS["arrays"] += done and bool(r.arrays)
    COUNTS["a key again"] += "two rows with this key" in wanted
    COUNTS["a key that is there"] += "there is a row with this key" in wanted
    COUNTS["a wrong type"] += "NULL where none" in wanted


@rn.record
class Order:
    order: int
    codes: Bag[str]


def orders(first: int, many: int) -> pa.Table:
    codes = [[f"c{k % 5}"] * (k % 3) for k in range(many)]
    schema = pa.schema([("order", pa.int64()), ("codes", pa.list_(pa.string()))])
    return pa.Table.from_pydict({"order": list(range(first, first + many)), "codes": codes}, schema)


def spread(table: pa.Table) -> Partitions:
    return Partitions.of(table, seeded(3))


def declared(folder: Path, **keys: Any) -> Database:
    db = rn.open(folder, engine="local")
    for name in ("R", "S", "T"):
        db.relation(name, Order, **keys)
    shared_inserts(db, seeded(5), 1 << 20, [])
    return db


def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows do not come here."""
    monkeypatch.setattr(Spread, "_here", lambda _: pytest.fail("the driver reads the rows"))


@pytest.mark.parametrize("keys", [{}, {"key": "order"}], ids=["none", "keys"])
def test_beside_other_operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: Any) -> None:
    """On other relations: no two rows get one number. The rows stay where they are."""
    nobody(monkeypatch)
    with declared(tmp_path / "s", **keys) as db:
        with db.batch() as b:
            b.insert("R", spread(orders(0, 30)))
            b.insert("S", orders(0, 20))
            b.insert("T", spread(orders(0, 10)))
        assert [db.relation(name).count() for name in ("R", "S", "T")] == [30, 20, 10] and db.verify().ok
        assert b.report.rows_in == {
            part: n for name, n in (("R", 30), ("S", 20), ("T", 10)) for part, n in sizes(name, n).items()
        }
        if not keys:
            held = [db._store.snapshot().scan(name).arrow().column(1).to_pylist() for name in ("R", "S", "T")]
            assert len({n for own in held for n in own}) == 60


def sizes(name: str, many: int) -> dict[str, int]:
    return {name: many, f"{name}.codes": sum(k % 3 > 0 for k in range(many))}


def test_several_operations_on_one_relation_see_each_other(tmp_path: Path) -> None:
    """So the rows come to this process."""
    with declared(tmp_path / "s", key="order") as db:
        with db.batch() as b:
            b.insert("R", spread(orders(0, 30)))
            b.delete_key("R", order=7)
            b.insert("R", spread(orders(7, 1)))
        assert db.relation("R").count() == 30 and db.verify().ok
        with pytest.raises(DuplicateKey, match="there is a row with this key"), db.batch() as b:
            b.insert("R", spread(orders(30, 2)))
            b.insert("R", spread(orders(31, 2)))
        assert db.relation("R").count() == 30


def test_columns_are_looked_at_at_once(tmp_path: Path) -> None:
    with declared(tmp_path / "s") as db, pytest.raises(WrongColumns) as found, db.batch() as b:
        try:
            b.insert("R", spread(orders(0, 3).drop_columns("codes")))
        finally:
            b._open = False
    with declared(tmp_path / "t") as db, pytest.raises(WrongColumns) as wanted, db.batch() as b:
        b.insert("R", orders(0, 3).drop_columns("codes"))
    assert str(found.value) == str(wanted.value)


def test_another_commit_comes_first(tmp_path: Path) -> None:
    """The batch is done again on top of it, with numbers of its own version; and is known as what came last."""
    with declared(tmp_path / "s") as db:
        played, done = db._commits.tasks(), list[int]()

        def load(_: object, *args: Any) -> Any:
            if not done:
                with rn.open(tmp_path / "s", engine="local") as other, other.batch() as b:
                    b.insert("R", orders(100, 5))
            done.append(db.version)
            return type(played).load(played, spread(orders(0, 29 + len(done))), *args)

        class Meanwhile:
            def __getattr__(self, name: str) -> Any:
                return load if name == "load" else getattr(played, name)

        object.__setattr__(db._commits, "tasks", Meanwhile)
        before = db.version
        with db.batch("s", 1) as b:
            b.insert("R", spread(orders(0, 30)))
        assert b.report.version == before + 2 and len(done) == 2
        assert db.relation("R").count() == 36 and db.verify().ok and not db.usage.orphans
        assert not [*(tmp_path / "s").glob("staging/*")]
        with db.batch("s", 1) as b:
            b.insert("R", orders(0, 31))
        assert not b.report.applied


@pytest.mark.parametrize("goes", [True, False])
def test_a_version_that_goes_meanwhile_is_worked_on_again(tmp_path: Path, goes: bool) -> None:
    """Where few versions are kept, files go while tasks look keys up; bytes that have changed are told as such."""
    with declared(tmp_path / "s", key="order") as db:
        db.load("R", orders(100, 5))
        played, done = db._commits.tasks(), list[int]()

        def load(_: object, *args: Any) -> Any:
            done.append(db.version)
            if len(done) > 1:
                return played.load(*args)
            if goes:
                with rn.open(tmp_path / "s", engine="local") as other:
                    with other.batch() as b:
                        b.insert("S", orders(0, 5))
                    other.vacuum(keep=0)
            raise CorruptState("a file is gone")

        class Meanwhile:
            def __getattr__(self, name: str) -> Any:
                return partial(load, None) if name == "load" else getattr(played, name)

        object.__setattr__(db._commits, "tasks", Meanwhile)
        expected = contextlib.nullcontext() if goes else pytest.raises(CorruptState, match="a file is gone")
        with expected, db.batch() as b:
            b.insert("R", spread(orders(0, 30)))
        assert db.relation("R").count() == (35 if goes else 5) and len(done) == 1 + goes
        assert not [*(tmp_path / "s").glob("staging/*")]


@rn.view
def coded(R: Bag[Order], S: Bag[Order]):
    return [
        {"o": r.order, "n": [c for c in r.codes if c > "c1"], "s": [s.codes for s in S if s.order == r.order]}
        for r in R
    ]


@pytest.mark.parametrize("policy", ["incremental", "full"])
@pytest.mark.parametrize("immutable", [(), ("codes",)], ids=["", "arrays"])
def test_views_are_kept_fresh(tmp_path: Path, policy: Any, immutable: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And rows go as they came."""
    nobody(monkeypatch)
    monkeypatch.setattr(recomputing, "is_by_tasks", lambda *_: False)  # Spark is not played
    with declared(tmp_path / "s", key="order", immutable=immutable) as db:
        db.load("R", orders(0, 10))
        db.create(coded)
        with db.batch(policy=policy) as b:
            b.insert("S", spread(orders(5, 10)))
            b.delete_key("R", order=9)
        assert b.report.verdict == policy and db.verify().ok
        assert Counter(len(row["s"]) for row in db.view("coded").rows()) == {0: 5, 1: 4}
        with db.batch() as b:
            b.delete("S", orders(5, 10))
        assert db.verify().ok and not db.relation("S").count()
        assert not any(row["s"] for row in db.view("coded").rows())


def test_it_is_published(tmp_path: Path) -> None:
    with declared(tmp_path / "s", key="order") as db:
        db.load("R", orders(0, 10))
        db.create(coded)
        db.publish("coded", tmp_path / "coded")
        with db.batch() as b:
            b.insert("R", spread(orders(10, 20)))
        assert not db.behind()
        found = DeltaTable(str(tmp_path / "coded")).to_pyarrow_table()
        assert sorted(found.column("o").to_pylist()) == list(range(30))
        assert Counter(map(len, found.column("n").to_pylist())) == Counter(
            len(row["n"]) for row in db.view("coded").rows()
        )


def test_coverage() -> None:
    names = ("on top, with a key", "on top, without one", "nested", "arrays", "a key again", "a key that is there")
    names = (*names, "the same labels", "a wrong type", "lost", "twice")
    assert all(COUNTS[name] > 0 for name in names), COUNTS
