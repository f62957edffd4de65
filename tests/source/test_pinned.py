"""What is pinned is read piece by piece, in another process: its rows are those that a handle has."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.shapes import SHAPES, changes
from support.shop import ANN, BOB, FILMS, Customer, customer, opened, order, parts
from support.sizes import many

import ripplenest as rn
from ripplenest import errors
from ripplenest.data.rows import Row, Rows
from ripplenest.nrc.types import Base
from ripplenest.nrc.values import NAN
from ripplenest.reading.nested import nested_bag
from ripplenest.source.handed import handed, taken
from ripplenest.source.pinned import Pinned, pinned
from ripplenest.store import Change, Store, TableSpec, blocks
from ripplenest.store.disk import Disk
from ripplenest.store.index.indexes import RANGE
from ripplenest.store.ref import ranges, ref_of_json, ref_to_json
from ripplenest.store.segments import Reader
from ripplenest.store.snapshot import Snapshot

VIEWS = (*SHAPES, parts)


@pytest.fixture(scope="module", params=["tracked", "not tracked"])
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """Views after batches, whose tables have several segments, and where they are."""
    folder = tmp_path_factory.mktemp("state")
    with opened(folder) as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in VIEWS:
            db.create(view)
            if request.param == "tracked":
                db.track(view.name)
        after = changes(db)
        for _ in range(3):
            next(after)
        yield db, folder


def text(value: Any) -> str:
    match value:
        case dict():
            return str([(k, text(v)) for k, v in value.items()])
        case list():
            return str(sorted(map(text, value)))
    return repr(value)


def read(found: Pinned, task: int, window: int) -> Counter[str]:
    """All rows, of pieces in any order, of what was handed on."""
    found = taken(handed(found))
    rows: Counter[str] = Counter()
    for piece in reversed(found.pieces(task)):
        for batch in found.batches(piece, window):
            assert batch.schema == found.schema
            rows.update(map(text, batch.to_pylist()))
    return rows


@pytest.mark.parametrize("task, window", [(1 << 18, 1 << 16), (3, 2), (1, 1)])
@pytest.mark.parametrize("name", [*(v.name for v in VIEWS), "C", "M"])
def test_every_layout(shop: Any, name: str, task: int, window: int) -> None:
    db, folder = shop
    for version in (db.version, db.version - 1):
        shown = db._state.either(name, version)
        handle = db.relation(name) if name in "CM" else db.view(name)
        rows = handle.as_of(version).to_arrow().to_pylist()
        assert read(pinned(shown, str(folder), "nested"), task, window) == Counter(map(text, rows))
        flat = read(pinned(shown, str(folder), "flat"), task, window)
        assert sum(flat.values()) == len(shown.tables.scan(shown.shape.flat.table).counts())
        for d in shown.shape.dictionaries:
            found = read(pinned(shown, str(folder), "dictionary", d.site.name), task, window)
            assert sum(found.values()) == len(shown.tables.scan(d.table).counts())


@pytest.mark.parametrize("name", [*(v.name for v in VIEWS), "C"])
def test_the_columns_are_known_without_a_row(shop: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for them may have little memory; tasks read."""
    db, folder = shop
    wanted = pinned(db._state.either(name), str(folder), "nested")
    batches = [batch for piece in wanted.pieces() for batch in wanted.batches(piece)]
    for read in ("scan", "part", "between", "probe"):
        monkeypatch.setattr(Reader, read, lambda *_: pytest.fail("rows are read"))
    assert {batch.schema for batch in batches} == {wanted.schema}
    for d in wanted.shape.dictionaries:
        called, *names = pinned(db._state.either(name), str(folder), "dictionary", d.site.name).schema.names
        assert called == ("_label" if "label" in names else "label")


@pytest.mark.parametrize("name", [v.name for v in VIEWS])
def test_changes(shop: Any, name: str) -> None:
    """Nested rows with their multiplicity, and those of the tables; also after several versions."""
    db, folder = shop
    for since in (db.version - 1, db.version - 2):
        then, now = db._state.either(name, since), db._state.either(name)
        change = nested_bag(now.shape, now.tables) - nested_bag(then.shape, then.tables)
        found = pinned(now, str(folder), "nested", since=since)
        (piece,) = found.pieces()
        (batch,) = taken(handed(found)).batches(piece)
        assert dict(Counter(batch["_multiplicity"].to_pylist())) == dict(Counter(n for _, n in change))
        flat = read(pinned(now, str(folder), "flat", since=since), 2, 1)
        assert sum(flat.values()) == len(now.tables.delta(now.shape.flat.table, since).consolidated())


def test_ranges() -> None:
    for n in (1, 2, 3, 7, 1000):
        found = list(ranges(0, RANGE, n))
        assert len(found) == n and (found[0][0], found[-1][1]) == (0, RANGE)
        assert all(a[1] == b[0] for a, b in pairwise(found))


def test_refs_are_what_snapshots_have(shop: Any) -> None:
    """Of every table: what is scanned, and what is between numbers, in one process and handed on."""
    db, _ = shop
    snapshot = db._state.snapshot().tables
    assert isinstance(snapshot, Snapshot)
    several = 0
    for table in snapshot.tables:
        ref = snapshot.table(table)
        assert ref_of_json(json.loads(json.dumps(ref_to_json(ref)))) == ref
        several += len(ref.segments) > 1
        parts = [ref.between(snapshot._reader, *r) for r in ranges(0, RANGE, 5)]
        sums = [rows.counts() for rows in parts]
        assert sum(map(len, sums)) == len({row for own in sums for row in own})  # no row is in two of them
        assert {row: n for own in sums for row, n in own.items()} == snapshot.scan(table).counts()
    assert several > 3


def test_what_cannot_be_read(shop: Any) -> None:
    db, folder = shop
    with pytest.raises(errors.UnknownName, match="no such dictionary"):
        pinned(db._state.either("parts"), str(folder), "dictionary", "nothing")
    with pytest.raises(errors.WrongValue, match="not what was handed on"):
        taken("{}")


def test_changes_that_a_bag_was_unfolded_in(tmp_path: Path) -> None:
    """Arrays go and their rows come: a row that is the same before and after has not changed."""
    with rn.open(tmp_path, engine="local") as db:
        db.relation("C", Customer, key="custkey", immutable="orders")
        db.load("C", [ANN, BOB])
        before = db.version
        db.create(parts)  # which looks into orders
        with db.batch() as b:
            b.insert("C", [customer(9, "Drama", [order(91)])])
        now = db._state.either("C")
        assert now.tables.tables.changed("C.orders/arrays", before).size  # type: ignore[attr-defined]
        found = read(pinned(now, str(tmp_path), "dictionary", "C.orders", before), 1, 1)
        assert list(found.values()) == [1] and "91" in next(iter(found))


# ---------------------------------------------------------------- what is read of files


TYPES = tuple(Base(kind, True) for kind in ("bool", "int", "long", "double", "string", "date", "timestamp", "binary"))
VALUES = (
    (True, 1, 2**40, 0.5, "é" * 20, date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), b"x" * 9),
    (False, -1, -5, NAN, "", date(1, 1, 1), datetime(1970, 1, 1, tzinfo=UTC), b""),
    (None,) * 8,
)


def typed(n: int) -> list[tuple[object, ...]]:
    """Different rows of all types, NULL and NaN among them, none beside its like."""
    chance = Random(n)
    rows = {tuple(chance.choice(column) for column in zip(*VALUES, strict=True)) for _ in range(4 * n)}
    return sorted(rows, key=repr)[:n]


@pytest.mark.parametrize("keys", [(), ((2, 4),), ((0,), (3,))], ids=str)
@pytest.mark.parametrize("segments", [1, 3])
def test_pieces_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: Any, segments: int) -> None:
    """Ranges are the whole; whatever byte is changed, a piece is what it was or its file is named."""
    monkeypatch.setattr(blocks, "BLOCK", 64)
    rows = typed(120)
    with Store.open(tmp_path / "state") as store:
        store.commit(Change(tables=(TableSpec("T", TYPES, keys),)), 0)
        for i in range(segments):
            own = Rows.of_pairs(TYPES, [(row, 1) for row in rows[i::segments]])
            taken = Rows.of_pairs(TYPES, [(rows[0], -1)] if i else [])
            store.commit(Change(deltas={"T": own.plus(taken)}), store.version)
        snapshot = store.snapshot()
        ref, wanted = snapshot.table("T"), snapshot.scan("T").counts()
    spans = list(ranges(0, RANGE, 7))

    def found() -> list[dict[Row, int]]:
        reader = Reader(Disk(tmp_path / "state" / "segments"))
        return [ref.between(reader, *span).counts() for span in spans]

    every = found()
    assert {row: n for own in every for row, n in own.items()} == wanted and sum(map(len, every)) == len(wanted)
    named = 0
    for file in {s.blob.file for s in ref.segments}:
        path, chance = tmp_path / "state" / "segments" / file, Random(1)
        whole = path.read_bytes()
        for at in chance.sample(range(len(whole)), many(30, 60)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
            for span, own in zip(spans, every, strict=True):
                try:
                    assert ref.between(Reader(Disk(path.parent)), *span).counts() == own
                except errors.CorruptState:
                    named += 1
        path.write_bytes(whole)
    assert named > many(20, 40)
