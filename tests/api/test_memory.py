"""A load in little room stores what one at once does, byte for byte of its rows, and fails with the same words."""

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
import pytest
from support.choices import Choices
from support.crashes import Tell, killed_at, stepping
from support.laws import law
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data import room
from ripplenest.errors import DuplicateKey
from ripplenest.intake import apply, files, spilled
from ripplenest.intake.loading import load
from ripplenest.nrc.errors import CorruptState, OutOfMemory, RipplenestError, StateError
from ripplenest.nrc.types import LONG, STRING, Record, nullable
from ripplenest.state import commits

COUNTS: Counter[str] = Counter()
TINY = 1 << 13


class Refusing(pyarrow.fs.SubTreeFileSystem):  # type: ignore[misc]
    """No file is mapped into memory, for the reason that Arrow gives."""

    def open_input_file(self, _: str) -> pa.NativeFile:
        raise OSError(f"Memory mapping file failed: {os.strerror(errno.ENOMEM)}")


@rn.record
class Tag:
    name: str | None
    weight: float


@rn.record
class Item:
    line: int
    tags: Bag[Tag]


@rn.record
class Order:
    order: int
    note: str | None
    day: bool | None
    items: Bag[Item]
    codes: Bag[str] | None


@rn.record
class Flat:
    order: int
    note: str | None


@rn.view
def looked_into(R: Bag[Order]):
    return [{"o": r.order, "names": [t.name for i in r.items for t in i.tags if t.weight > 0.5]} for r in R]


@rn.view
def paired(R: Bag[Flat]):
    return [{"o": r.order, "same": [s.order for s in R if s.note == r.note]} for r in R]


def order(c: Choices, key: int) -> dict[str, Any]:
    def item(line: int) -> dict[str, Any]:
        return {"line": line, "tags": [{"name": c.pick(("a", None, "é")), "weight": 0.5} for _ in range(c.number(3))]}

    lines = [*range(c.number(3))] if not c.one_in(40) else [1, 1]
    codes = c.pick((None, [], ["x"], ["x", "x", ""]))
    note, day = c.pick(("", "n", None)), c.pick((True, None))
    return {"order": key, "note": note, "day": day, "items": [item(n) for n in lines], "codes": codes}


def rows_of(c: Choices, flat: bool) -> list[dict[str, Any]]:
    many, below = c.pick((0, 3, 40, 60)), c.pick((2, 10**6, 10**6, 10**6))
    keys = [c.number(below) for _ in range(many)]
    made = [{"order": k, "note": c.pick(("", "n", None))} if flat else order(c, k) for k in keys]
    if many and c.one_in(4):
        made[c.number(many)]["order"] = made[c.number(many)]["order"]  # that of another
    if many and c.one_in(8):
        made[c.number(many)]["order"] = c.pick(("x", None, 1.5))  # which is wrong
    return made


def as_arrow(rows: list[dict[str, Any]], flat: bool) -> pa.Table:
    tags = pa.list_(pa.struct([("name", pa.string()), ("weight", pa.float64())]))
    items = pa.list_(pa.struct([("line", pa.int64()), ("tags", tags)]))
    fields = [("order", pa.int64()), ("note", pa.string())]
    more = [("day", pa.bool_()), ("items", items), ("codes", pa.list_(pa.string()))]
    return pa.Table.from_pylist(rows, pa.schema(fields if flat else [*fields, *more]))


class Stream:
    """What hands out Arrow data and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.RecordBatchReader.from_batches(self._table.schema, self._table.to_batches(7)).__arrow_c_stream__()


def given(rows: list[dict[str, Any]], flat: bool, how: str, folder: Path) -> object:
    """The same rows in one of the ways in which they can come."""
    match how:
        case "list":
            return rows
        case "generator":
            return iter(rows)
        case "table":
            return as_arrow(rows, flat)
        case "reader":
            return Stream(as_arrow(rows, flat))
        case _:
            pyarrow.parquet.write_table(as_arrow(rows, flat), folder / "rows.parquet", row_group_size=9)
            return folder / "rows.parquet"


def outcome(db: Database, rows: object) -> str:
    try:
        db.load("R", rows)
    except RipplenestError as error:
        return f"{error!r} {error}"
    return "loaded"


def opened(folder: Path, declare: Callable[[Database], None]) -> Database:
    db = rn.open(folder, engine="local")
    declare(db)
    return db


def declaration(c: Choices, flat: bool) -> Callable[[Database], None]:
    key = c.pick((None, "order"))
    keys = None if flat or c.one_in(2) else {"items": "line"}
    immutable = () if flat else c.pick(((), ("items",), ("codes", "items", "items.tags")))
    views = c.one_in(2)

    def declare(db: Database) -> None:
        db.relation("R", Flat if flat else Order, key=key, keys=keys, immutable=immutable)
        if views:
            db.create(paired if flat else looked_into)

    return declare


def stored(db: Database) -> dict[str, object]:
    """Every stored table, labels and all but the numbers that rows below arrays are given when they are read."""
    snapshot = db._store.snapshot()
    found = {table: snapshot.scan(table).counts().items() for table in snapshot.tables}
    own = {table: [(row[:-1] if table.endswith("/arrays") else row, n) for row, n in f] for table, f in found.items()}
    return {table: sorted(rows, key=repr) for table, rows in own.items()}


def counted(*args: Any) -> Any:
    """A load of rows in files."""
    COUNTS["in pieces"] += sum(1 for _ in args[3].pieces()) > 1
    return load(*args)


@pytest.mark.parametrize("flat", [False, True])
@law(examples=14)
def test_a_load_in_little_room_is_the_load(flat: bool, c: Choices) -> None:
    """The same tables, labels and digest, or the same error, whatever the rows came as; and a state that is right."""
    rows, declare = rows_of(c, flat), declaration(c, flat)
    ways = ("list", "generator", "table", "reader", "file")
    wrong = any(type(row["order"]) is not int for row in rows)
    how = c.pick(ways[:2] if wrong else ways)
    with tempfile.TemporaryDirectory(dir=MEMORY) as parent:
        folder = Path(parent)
        with opened(folder / "whole", declare) as whole, pytest.MonkeyPatch.context() as patch:
            patch.setattr(apply, "FEW", 0)
            at_once = outcome(whole, rows)
            patch.setattr(room, "DEFAULT", TINY)
            patch.setattr("ripplenest.intake.ingest.PYTHON", TINY)
            patch.setattr("ripplenest.intake.ingest.FEWEST", 5)
            patch.setattr(spilled, "FEW", 0)
            patch.setattr(commits, "load", counted)
            with opened(folder / "little", declare) as little:
                assert outcome(little, given(rows, flat, how, folder)) == at_once
                assert stored(little) == stored(whole)
                assert little._store.batches() == whole._store.batches()  # with their digests
                if at_once == "loaded":
                    assert little.verify().ok
                    COUNTS["again"] += 1
                    version = little.version
                    assert little.load("R", list(reversed(rows))) == version  # by a digest that is the same
                assert not [f for f in (folder / "little" / "segments").iterdir() if f.suffix not in SUFFIXES]
    COUNTS[how] += 1
    COUNTS["refused"] += at_once != "loaded"
    COUNTS["two keys"] += "two rows with this key" in at_once
    COUNTS["loaded"] += at_once == "loaded" and len(rows) > 30


SUFFIXES = (".deltas", ".merges")


# ---------------------------------------------------------------- what else is done in little room


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rooms of a few rows."""
    monkeypatch.setattr(room, "DEFAULT", 1 << 16)
    monkeypatch.setattr("ripplenest.intake.ingest.PYTHON", 1 << 7)


def many(start: int = 0, step: int = 1) -> pa.Table:
    keys = range(start, start + 3000 * step, step)
    return pa.table({"order": keys, "note": [f"n{k % 700}" if k % 5 else None for k in keys]})


@pytest.mark.usefixtures("little")
def test_merges_and_indexes_in_little_room(tmp_path: Path) -> None:
    """What compaction makes of many segments has their sum, is found by every key, and needs no repair."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Flat, key="order")
        db.load("R", Stream(many(step=2)))
        with db.batch() as b:
            b.delete("R", many(step=2).slice(0, 1000))
        with db.batch() as b:
            b.insert("R", many(1, 2))
        every = (row for table in (many(1, 2), many(step=2)[1000:]) for row in table.to_pylist())
        wanted = Counter((row["order"], row["note"]) for row in every)
        assert db.compact(everything=True) == len(wanted) == 5000
        snapshot = db._store.snapshot()
        assert snapshot.scan("R").counts() == wanted and len(snapshot.segments("R")) == 1
        assert db.create(paired) is not None and db.verify().ok and db.check_files() > 0
        assert db.relation("R").get(order=4001) == {"order": 4001, "note": f"n{4001 % 700}"}
        assert len(db.view("paired").get(o=4001)["same"]) == sum(note == f"n{4001 % 700}" for _, note in wanted)
        assert db._store.room._maps


def kills(folder: Path, at: int, counted: Callable[[str, str], bool]) -> bool:
    """Whether a load is killed at its step number ``at`` of those that are ``counted``."""

    def body(_tell: Tell) -> None:
        with rn.open(folder, engine="local") as db:
            db.relation("R", Flat, key="order")
            db.load("R", Stream(many()))

    return killed_at(at, body, counted).killed


def of_scratch(_what: str, name: str) -> bool:
    return name == "scratch"


@pytest.mark.usefixtures("little")
def test_a_load_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """At steps all over: no version, no file that the next load does not remove, and that one is the load."""
    for n, at in enumerate((1, 90)):
        folder = tmp_path / str(n)
        assert kills(folder, at, of_scratch)
        with rn.open(folder, engine="local") as db:
            assert db.version == 1 and not list((folder / "segments").iterdir())
            db.load("R", Stream(many()))
            assert db.relation("R").count() == 3000 and db.verify().ok
            assert not db.usage.orphans
    assert not kills(tmp_path / "whole", 10**6, of_scratch)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("at", [1, 60])
def test_a_disk_that_is_full_refuses_a_load(tmp_path: Path, at: int) -> None:
    """A clear error, nothing changed, and the same handle goes on."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Flat, key="order")
        left = at

        def full(_what: str, name: str) -> None:
            nonlocal left
            left -= name == "scratch"
            if left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with stepping(full), pytest.raises(StateError, match="the file system refuses"):
            db.load("R", Stream(many()))
        assert db.version == 1 and not list((tmp_path / "s" / "segments").iterdir())
        db.load("R", Stream(many()))
        assert db.relation("R").count() == 3000 and db.verify().ok


@pytest.mark.usefixtures("little")
def test_a_load_that_is_refused_in_a_later_piece_names_its_row(tmp_path: Path) -> None:
    """Also where two rows of one key are in no piece together, as most of these are."""

    def rows(*wrong: tuple[object, str]) -> Any:
        yield from ({"order": i, "note": None} for i in range(2000))
        yield from ({"order": order, "note": note} for order, note in wrong)

    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Flat, key="order")
        with pytest.raises(RipplenestError, match=re.escape("load R: rows[2000].order")):
            db.load("R", rows(("x", "")))
        for i in range(6):
            with pytest.raises(DuplicateKey, match=re.escape("load R: rows[2000]")):
                db.load("R", rows((i, f"another {i}")))
        with pytest.raises(DuplicateKey, match=re.escape("load R: rows[2000]")) as caught:
            db.load("R", rows((0, "a"), (5000, "b"), (1, "c"), (5000, "d")))
        assert [error.where for error in caught.value.others] == [f"load R: rows[{i}]" for i in (2002, 2003)]
        assert db.version == 1


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet", "folder.parquet"])
@pytest.mark.usefixtures("little")
def test_files_are_loaded_in_pieces(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 1 << 12)
    table, file = many(), tmp_path / name
    if name == "rows.jsonl":
        file.write_text("\n\n".join(json.dumps(row) for row in table.to_pylist()))
    elif name == "rows.parquet":
        pyarrow.parquet.write_table(table, file)
    else:
        file.mkdir()
        for i in range(3):
            pyarrow.parquet.write_table(table.slice(1000 * i, 1000), file / f"{i}.parquet")
    pieces = [len(p) for p in files.file_pieces(file, Record((("order", LONG), ("note", nullable(STRING)))), "x", 512)]
    assert sum(pieces) == 3000 and len(pieces) > 3 and max(pieces) < 1100
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Flat, key="order")
        db.load("R", file)
        assert db._store.room._maps
        assert db.load("R", table) == db.version == 2  # the same load
        assert sorted(db.relation("R").rows(), key=itemgetter("order")) == table.to_pylist()


def test_a_line_that_is_wrong_is_named_in_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 1 << 8)
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f'{{"order": {i}, "note": null}}\n' for i in range(99)) + '{"order": "x", "note": null}\n')
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Flat)
        with pytest.raises(RipplenestError, match=re.escape("line 100.order")):
            db.load("R", file)


def test_an_amount_that_is_none_opens_nothing(tmp_path: Path) -> None:
    with pytest.raises(RipplenestError, match="open: memory: not an amount of memory"):
        rn.open(tmp_path / "s", memory="lots")
    assert not (tmp_path / "s").exists()
    with rn.open(tmp_path / "s", memory="64MB") as db:
        assert db._store.room.memory == 64 * 10**6


CHILD = """
import sys, threading, time
import numpy as np
import pyarrow as pa
import ripplenest as rn

@rn.record
class Line:
    order: int
    line: int
    price: float
    comment: str

@rn.view
def cheap(R: rn.Bag[Line]):
    return [{"o": r.order, "p": r.price * 2.0} for r in R if r.line < 5]

def batches(n):
    for start in range(0, n, 1 << 16):
        k = np.arange(start, min(n, start + (1 << 16)))
        words = np.char.add("some words of ", k.astype(str))
        yield pa.record_batch([k // 7, k % 7, k * 0.5, words], names=["order", "line", "price", "comment"])

class Stream:
    def __arrow_c_stream__(self, requested_schema=None):
        n = int(sys.argv[3])
        return pa.RecordBatchReader.from_batches(next(batches(1)).schema, batches(n)).__arrow_c_stream__()

def status(what):
    return int(next(line for line in open("/proc/self/status") if line.startswith(what)).split()[1])

own, ended = 0, threading.Event()

def watch():
    global own
    while not ended.wait(0.01):
        own = max(own, status("RssAnon"))

with rn.open(sys.argv[1], engine="local", memory=sys.argv[2]) as db:
    db.relation("R", Line, key=("order", "line"))
    db.load("R", Stream())
    most = status("VmHWM")
    threading.Thread(target=watch).start()
    db.create(cheap)
    assert db.verify().ok
    with db.batch() as b:
        b.insert("R", [{"order": -1, "line": 0, "price": 1.0, "comment": ""}])
    db.compact(everything=True)
    ended.set()
print(most, own)
"""


def peaks(folder: Path, memory: str, rows: int) -> tuple[int, int]:
    """KiB of a process that loads ``rows``, mapped files too, and its own that it takes to keep a view of them, to
    verify both, and to merge them with another segment."""
    file = folder / "child.py"
    file.write_text(CHILD)
    command = [sys.executable, "-P", str(file), str(folder / f"s{rows}"), memory, str(rows)]
    most, own = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    return most, own


@pytest.mark.long
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Four times as many rows take no more memory."""
    few, more = (peaks(tmp_path, "64MB", rows) for rows in (1_000_000, 4_000_000))
    print(few, more)
    assert all(b < 1.25 * a and b < 500_000 for a, b in zip(few, more, strict=True)), (few, more)


def test_coverage() -> None:
    if COUNTS:
        assert min(COUNTS.values()) >= 2 and len(COUNTS) == 10, COUNTS


def test_too_little_memory_is_no_damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that cannot be mapped, and of one to read rows from; the state is as it was."""
    pyarrow.parquet.write_table(pa.table({"n": [1]}), folder / "rows.parquet")
    with rn.open(folder / "state", engine="local") as db:
        db.relation("N", int)
        db.load("N", [1, 2])
    with monkeypatch.context() as m:
        m.setattr(pyarrow.fs, "SubTreeFileSystem", Refusing)
        with rn.open(folder / "state", engine="local") as db, pytest.raises(OutOfMemory, match="as it was") as caught:
            db.relation("N").rows()
    assert not isinstance(caught.value, CorruptState) and "segments" in caught.value.where

    def refuse(*_: object, **__: object) -> pa.Table:
        raise pa.ArrowMemoryError("malloc of size 8 failed")

    with rn.open(folder / "state", engine="local") as db:
        assert sorted(db.relation("N").rows()) == [1, 2] and db.version == 2
        monkeypatch.setattr(pyarrow.parquet, "ParquetFile", refuse)
        monkeypatch.setattr(pyarrow.parquet, "read_table", refuse)
        with pytest.raises(OutOfMemory, match="as it was"), db.batch() as b:
            b.insert("N", folder / "rows.parquet")
        assert db.version == 2
