"""OPERATIONS.md says what is stored, and it is so: names, columns, digests, and what is checked when."""

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pytest
from support.shop import ANN, BOB, FILMS, VIEWS, item, movie, opened

from ripplenest.bench import subject as bench
from ripplenest.bench.data import Data
from ripplenest.bench.workloads import F2
from ripplenest.data.order import By, Ordering, prefixes
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import CorruptState
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec, blocks
from ripplenest.store.database.catalogue import FORMAT, ORDERED, REACHING
from ripplenest.store.database.records import RESERVED
from ripplenest.store.disk import PACK
from ripplenest.store.index import indexes

PAGE = Path(__file__).resolve().parents[2] / "OPERATIONS.md"
NAME = re.compile(r"`([^`]+)`")


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8").partition("## The stored format\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state") / "state"
    with opened(folder, retain=3) as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS * 60)
        for view in VIEWS:
            db.create(view)
        for seq in range(1, 10):
            with db.batch("s", seq) as b:
                b.insert("M", [movie(f"m{seq}")] * 2)
                b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(seq, seq, ("x",))])
        with db.batch("s", 10) as b:
            b.delete("M", [movie("m1")])
    return folder


def rows(page: str, head: str) -> dict[str, list[str]]:
    """A table of the page: by its first cell, the names in the others."""
    (part,) = re.findall(rf"^\| {head} \|.*\n\| ---.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = [line.strip("| \n").split(" | ") for line in part.splitlines()]
    return {first.strip("`"): [NAME.findall(cell) for cell in rest] for first, *rest in cells}


def asked(state: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(state / "catalogue.sqlite")) as c:
        return c.execute(sql).fetchall()


def test_files_are_those_of_the_page(page, state):
    named = rows(page, "path")
    patterns = [re.escape(p).replace("<version>", r"\d{10,}").replace("<16\\ hex>", "[0-9a-f]{16}") for p in named]
    found = {p.relative_to(state).as_posix() for p in state.rglob("*") if p.is_file()}
    assert {Path(f).suffix for f in found} >= {".sqlite", ".deltas", ".merges"}
    for file in found:
        assert [p for p in patterns if re.fullmatch(p, file)], file
    packs = [p.partition("/")[2] for p in named if p.startswith("segments/")]
    assert all(PACK.fullmatch(p.replace("<version>", "0" * 10).replace("<16 hex>", "a" * 16)) for p in packs)


def test_tables_and_columns_of_the_catalogue_are_those_of_the_page(page, state):
    named = rows(page, "table")
    there = {name for (name,) in asked(state, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert there == set(named) and len(named) == 7
    for table, (columns, *_) in named.items():
        assert [row[1] for row in asked(state, f"PRAGMA table_info({table})")] == columns
    assert set(named["meta"][1]) == set(RESERVED)
    assert set(RESERVED) <= {key for (key,) in asked(state, "SELECT key FROM meta")}
    assert all(count for table in named for (count,) in asked(state, f"SELECT count(*) FROM {table}"))
    assert [(str(FORMAT),)] == asked(state, "SELECT value FROM meta WHERE key = 'format'")
    assert f"of format {FORMAT}, for whoever" in page


def read(state: Path, row: tuple) -> pa.Table:
    """A blob, by the rules of the page alone."""
    file, offset, size, sha256 = row
    data = (state / "segments" / file).read_bytes()[offset : offset + size]
    digest, block = sha256.split("/")
    many = -(-size // (int(block) + 32))
    body, trailer = data[: size - 32 * many], data[size - 32 * many :]
    assert hashlib.sha256(trailer).hexdigest() == digest
    parts = [body[i : i + int(block)] for i in range(0, len(body), int(block))]
    assert b"".join(hashlib.sha256(part).digest() for part in parts) == trailer
    assert offset % 64 == 0
    return pa.ipc.open_stream(body).read_all()


def test_blobs_are_what_the_page_says(page, state):
    named = rows(page, "blob")
    assert f"block of {blocks.BLOCK:,} bytes" in page and f"every {indexes.STEP:,}th `h`" in page
    blob = "file, offset, bytes, sha256"
    kinds = set()
    for count, columns, *row in asked(
        state, f"SELECT s.rows, t.columns, {blob} FROM segments s JOIN tables t ON t.id = table_id"
    ):
        table = read(state, tuple(row))
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        weighed = "w" in table.column_names
        assert set(metadata) == (set() if weighed else set(named["a segment"][1])) and table.num_rows == count
        width = columns.count("[") - 1
        assert table.column_names == [f"c{i}" for i in range(width)] + ["w"] * weighed
        kinds.add("weights" if weighed else f"weight {metadata['w']}")
    assert kinds >= {"weights", "weight 1", "weight 2", "weight -1"}
    for segment, columns, *row in asked(state, f"SELECT segment_id, columns, {blob} FROM segment_indexes"):
        table = read(state, tuple(row))
        metadata = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        assert [list(metadata)] == [named["an index"][1]] and metadata["hash"] == "words"
        assert metadata["segment"] == str(segment)
        assert [int(c) for c in metadata["columns"].split(",")] == [int(c) for c in re.findall(r"\d+", columns)]
        assert table.column_names == named["an index"][0][: table.num_columns] and table.column("h").type == pa.uint32()
        hashes = table.column("h").to_pylist()
        fences = metadata["fences"]
        assert [int(fences[i : i + 8], 16) for i in range(0, len(fences), 8)] == hashes[:: indexes.STEP]
        assert hashes == sorted(hashes)
        kinds.add("in order" if table.num_columns == 1 else f"rows of {table.column('r').type}")
    assert kinds >= {"in order", "rows of uint32"}


@pytest.mark.parametrize(("until", "own"), [(None, ORDERED), (0, REACHING), (1, REACHING)])
def test_orders_are_what_the_page_says(page, tmp_path, until, own):
    """And make a state of a format of its own, which releases refuse that do not know it."""
    types, o = (Base("long"), Base("double", True)), Ordering((0,), (By(1, descending=True),), until)
    pairs = [((n % 3, None if n % 7 == 0 else float(n % 5)), n + 1) for n in range(200)]
    with Store.open(tmp_path / "state") as store:
        store.commit(Change({"t": Rows.of_pairs(types, pairs)}, (TableSpec("t", types, (), (o,)),)), 0)
    assert [(str(own),)] == asked(tmp_path / "state", "SELECT value FROM meta WHERE key = 'format'")
    assert f"is of format {ORDERED}, which is format {FORMAT} in all else" in page
    assert f"is of format {REACHING}" in page
    columns, metadata = rows(page, "blob")["an order" + " that says how far rows reach" * (until is not None)]
    (blob,) = asked(tmp_path / "state", "SELECT columns, file, offset, bytes, sha256 FROM segment_indexes")
    table = read(tmp_path / "state", blob[1:])
    said = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert (table.column_names, list(said)) == (columns, metadata)
    plain = {"key": [0], "by": [[1, True, False]]} | ({} if until is None else {"until": until})
    assert said["columns"] == blob[0] == json.dumps(plain)
    (segment,) = asked(tmp_path / "state", "SELECT file, offset, bytes, sha256 FROM segments")
    stored = read(tmp_path / "state", segment)
    entries = list(zip(*(table.column(c).to_pylist() for c in "ho"), strict=True))
    values = stored.column("c1").take(table.column("r")).to_pylist()
    placed = [(h, v is None, -(v or 0.0)) for (h, _), v in zip(entries, values, strict=True)]
    assert entries == sorted(entries) and placed == sorted(placed) and len({h for h, _ in entries}) == 3
    if until is not None:
        reached = prefixes(stored.column(f"c{until}").take(table.column("r")).combine_chunks(), By(0, nulls_first=True))
        of = {h: [n for g, n in zip(table.column("h").to_pylist(), reached.tolist(), strict=True) if g == h]
              for h in dict.fromkeys(table.column("h").to_pylist())}  # fmt: skip
        assert table.column("e").to_pylist() == [n for own in of.values() for n in accumulate(own, max)]


def test_what_was_checked_once_is_believed_but_by_a_check_of_the_files(tmp_path):
    with opened(tmp_path / "copy") as db:
        db.load("M", FILMS)
        (pack,) = (tmp_path / "copy" / "segments").iterdir()
        rows = db.relation("M").rows()
        data = bytearray(pack.read_bytes())
        data[len(data) // 2] ^= 1
        pack.write_bytes(data)
        assert db.relation("M").count() == len(rows)
        with pytest.raises(CorruptState) as caught:
            db.check_files()
        assert str(pack) in caught.value.where and caught.value.wanted != caught.value.got


def test_a_state_takes_at_most_twice_its_input(tmp_path):
    """As uncompressed Arrow: three flat relations with their keys, and a view that nests them."""
    data = Data(0.01, 1)
    tables = F2.tables(data)
    with bench.opened(tmp_path / "state") as db:
        bench.load(db, F2, tables)
        db.create(F2.view)
        taken = db.usage.bytes
    assert taken <= 2 * sum(table.nbytes for table in tables.values())
