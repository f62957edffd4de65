"""Rows from Parquet and JSON lines are the rows that were written; what is wrong with a file is said with its line."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from support.states import refused

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest import Decimal as Dec
from ripplenest.intake import files
from ripplenest.nrc.surface.records import annotation_type


@rn.record
class Item:
    line: int
    price: Dec[10, 2] | None
    sent: date | None
    tags: Bag[str]


@rn.record
class Order:
    orderkey: int
    at: datetime | None
    open: bool
    weight: float | None
    note: str | None
    items: Bag[Item] | None


def order(key: int) -> dict[str, Any]:
    item = {"line": 1, "price": Decimal("1.50"), "sent": date(2024, 2, 29), "tags": ["a", "a", "é"]}
    other = {"line": 2, "price": None, "sent": None, "tags": []}
    at = datetime(2024, 1, 1, 12, 30, 0, 5, UTC)
    some = {"orderkey": key, "at": at, "open": True, "weight": 0.5, "note": "n\nm", "items": [item, other]}
    return some if key % 2 else {**some, "at": None, "weight": None, "note": None, "items": None}


ROWS = [order(key) for key in range(50)]


def as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else float(value)


def parquet(folder: Path) -> Path:
    (folder / "rows.parquet").mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS[1:26]), folder / "rows.parquet" / "one.parquet")
    pq.write_table(pa.Table.from_pylist([ROWS[0], *ROWS[26:]][::-1]), folder / "rows.parquet" / "two.parquet")
    return folder / "rows.parquet"


def json_lines(folder: Path, suffix: str = "jsonl") -> Path:
    path = folder / f"rows.{suffix}"
    path.write_text("\n".join(json.dumps(row, default=as_json) for row in ROWS) + "\n\n")
    return path


def compressed(folder: Path, suffix: str) -> Path:
    path = json_lines(folder, suffix)
    text = path.read_bytes()
    with pa.output_stream(
        str(path), compression={"gz": "gzip", "bz2": "bz2", "zst": "zstd"}[suffix[-3:].strip(".")]
    ) as out:
        out.write(text)
    return path


def as_spark_writes(folder: Path) -> Path:
    """With marks and sums beside the files, which are no rows."""
    path = parquet(folder).rename(folder / "rows")
    (path / "_SUCCESS").write_text("")
    (path / ".one.parquet.crc").write_text("crc")
    (path / "_temporary").mkdir()
    (path / "_temporary" / "three.parquet").write_text("no")
    return path


def of_lines(folder: Path) -> Path:
    """Files of several kinds, one of them in a folder inside."""
    (folder / "rows" / "inner").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(ROWS[1:20]), folder / "rows" / "inner" / "one.parquet")
    for name, some in (("a.jsonl", [ROWS[0]]), ("b.json", ROWS[20:30]), ("c.ndjson", ROWS[30:]), ("d.jsonl", [])):
        (folder / "rows" / name).write_text("".join(json.dumps(row, default=as_json) + "\n" for row in some))
    return folder / "rows"


def by_values(folder: Path) -> Path:
    """Of which folders say what is open, and its weight."""
    for i, row in enumerate(ROWS):
        weight = "__HIVE_DEFAULT_PARTITION__" if row["weight"] is None else row["weight"]
        inner = folder / "rows" / f"open={str(row['open']).lower()}" / f"weight={weight}"
        inner.mkdir(parents=True, exist_ok=True)
        said = [{name: value for name, value in row.items() if name not in ("open", "weight")}]
        if i % 3:
            table = pa.Table.from_pylist(said)
            pq.write_table(table, inner / f"part-{i}.parquet")
        else:
            (inner / f"part-{i}.jsonl").write_text(json.dumps(said[0], default=as_json))
    return folder / "rows"


WRITERS = {
    "parquet": parquet,
    **{suffix: partial(json_lines, suffix=suffix) for suffix in ("jsonl", "ndjson", "json")},
    **{suffix: partial(compressed, suffix=suffix) for suffix in ("jsonl.gz", "ndjson.bz2", "json.zst")},
    "spark": as_spark_writes,
    "lines": of_lines,
    "values": by_values,
}


@pytest.fixture
def db(tmp_path: Path) -> rn.Database:
    db = rn.open(tmp_path / "s", engine="local")
    db.relation("O", Order, key="orderkey", keys={"items": "line"})
    return db


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("kind", [str, Path])
def test_files_are_the_rows_that_were_written(
    db: rn.Database, tmp_path: Path, write: Callable[[Path], Path], kind: Callable[[Path], Any]
) -> None:
    path = write(tmp_path)
    db.load("O", ROWS)
    with db.batch() as b:
        b.upsert("O", kind(path))
    assert b.report.rows_in == {}
    with db.batch() as b:
        b.delete("O", kind(path))
    assert db.relation("O").rows() == []
    with db.batch("files", 1) as b:
        b.insert("O", kind(path))
    with db.batch("files", 1) as b:
        b.insert("O", ROWS)
    assert not b.report.applied and len(db.relation("O").rows()) == len(ROWS)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_pieces_are_the_same_rows(
    tmp_path: Path, write: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a load, whose digest is that of rows which came otherwise; no file is opened before those that it comes after
    are read."""
    monkeypatch.setattr(files, "BLOCK", 2_000)
    path = write(tmp_path)
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("O", Order, key="orderkey")
        version = db.load("O", path)
        assert db.load("O", ROWS) == version and db.relation("O").count() == len(ROWS)
    row = annotation_type(Order, "O")
    opened: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_parquet_pieces", "_json_pieces"):
            read = getattr(files, name)
            counted = lambda file, *rest, read=read: (opened.append(file), read(file, *rest))[1]  # noqa: E731
            patch.setattr(files, "PIECES", {k: counted if v is read else v for k, v in files.PIECES.items()})
        pieces, seen = files.file_pieces(path, row, "rows", 7), 0
        for piece in pieces:
            assert len(opened) <= seen + 1 and (piece.num_rows <= 7 or ".parquet" not in str(opened[-1]))
            seen = len(opened)


def test_folders_that_are_no_rows(db: rn.Database, tmp_path: Path) -> None:
    """A table of a lake has files of older versions; a file has the columns that it would have alone."""
    folder = as_spark_writes(tmp_path)
    for name, said in (("_delta_log", "deltalake.DeltaTable(path)"), (".hoodie", "hudi")):
        (folder / name).mkdir()
        with refused(db, errors.WrongValue, "of older versions", said), db.batch() as b:
            b.insert("O", folder)
        (folder / name).rmdir()
    (folder / "notes.txt").write_text("x")
    with refused(db, errors.WrongValue, "notes.txt: not a file of rows", "got      .txt"), db.batch() as b:
        b.insert("O", folder)
    (folder / "notes.txt").unlink()
    less = [{name: value for name, value in row.items() if name != "note"} for row in ROWS[:3]]
    pq.write_table(pa.Table.from_pylist(less), folder / "zero.parquet")
    for more in (lambda b: b.insert("O", folder), lambda _: db.load("O", folder)):
        with refused(db, errors.WrongColumns, "zero.parquet: other columns"), db.batch() as b:
            more(b)
    (folder / "zero.parquet").unlink()
    (folder / "z.jsonl").write_text("{")
    with refused(db, errors.WrongValue, "z.jsonl: line 1: not a line of JSON"), db.batch() as b:
        b.insert("O", folder)
    (tmp_path / "none" / "_x").mkdir(parents=True)
    with refused(db, errors.WrongValue, "a folder without files of rows"), db.batch() as b:
        b.insert("O", str(tmp_path / "none"))
    for said, shown in (
        ("open=yes", "open: a value that is not of its type"),
        ("at=2024-01-01", "a type that names of folders do not say"),
        ("year=2024", "folders that name other columns"),
        ("orderkey=1", "a column that the folder names, too"),
    ):
        table = pa.Table.from_pylist(ROWS[1:2])
        drop = [name for name in ("open", "at") if said.startswith(name)]
        (tmp_path / "p" / said).mkdir(parents=True)
        pq.write_table(table.drop_columns(drop), tmp_path / "p" / said / "x.parquet")
        with pytest.raises(rn.RipplenestError, match=shown), db.batch() as b:
            b.insert("O", tmp_path / "p")
        shutil.rmtree(tmp_path / "p")


@pytest.mark.parametrize("suffix", ["jsonl.gz", "jsonl.bz2", "jsonl.zst"])
def test_what_was_compressed_is_whole(db: rn.Database, tmp_path: Path, suffix: str) -> None:
    """Bytes that are cut off, or are none, are no fewer rows; several streams one after the other are all of them."""
    path = compressed(tmp_path, suffix)
    whole = path.read_bytes()
    for wrong in (whole[:-3], whole[: len(whole) // 2], b"", b"{}\n"):
        path.write_bytes(wrong)
        with refused(db, errors.WrongValue, "cannot be read"), db.batch() as b:
            b.insert("O", path)
        with refused(db, errors.WrongValue, "cannot be read"):
            db.load("O", path)
    path.write_bytes(whole)
    other = tmp_path / "two"
    other.mkdir()
    second = compressed(other, suffix).read_bytes()
    path.write_bytes(whole + second)
    with refused(db, errors.DuplicateKey, "rows[50]"), db.batch() as b:
        b.insert("O", path)


@rn.record
class Text:
    text: str


LINE = json.dumps(order(1), default=as_json)


@pytest.mark.parametrize(
    ("line", "error", "shown"),
    [
        (
            LINE.replace('"line": 1', '"line": "x"'),
            errors.WrongValue,
            ("line 3.items[0].line: a value that is not of its type", "got      str"),
        ),
        (LINE.replace('"note"', '"what"'), errors.WrongColumns, ("line 3: other columns", "got      ['what']")),
        (
            LINE.replace('"tags": []', '"tags": [], "zz": 1'),
            errors.WrongColumns,
            ("line 3.items[1]: other columns", "got      ['zz']"),
        ),
        ("{", errors.WrongValue, ("line 3: not a line of JSON",)),
        ("[1]", errors.WrongValue, ("line 3: not a line of JSON",)),
        ("null", errors.WrongValue, ("line 3: not a line of JSON",)),
        (f"{LINE} null", errors.WrongValue, ("line 3: not a line of JSON", "Extra data, at column")),
        (
            LINE.replace("2024-02-29", "2024-02-29T10:00:00"),
            errors.WrongValue,
            ("line 3.", ": a value that is not of its type"),
        ),
        (LINE.replace("2024-02-29", "2023-02-29"), errors.WrongValue, ("line 3.", ": a value that is not of its type")),
        (
            LINE.replace('"orderkey": 1', '"orderkey": 1.5'),
            errors.WrongValue,
            ("line 3.", ": a value that is not of its type"),
        ),
        (LINE.replace('"orderkey": 1', '"orderkey": 9223372036854775808'), errors.WrongValue, ("line 3.orderkey",)),
        (
            LINE.replace('"open": true, ', ""),
            errors.WrongValue,
            ("rows[2].open: NULL where none", "row      orderkey 1"),
        ),
    ],
)
def test_a_line_that_is_wrong(
    db: rn.Database, tmp_path: Path, line: str, error: type[rn.RipplenestError], shown: tuple[str, ...]
) -> None:
    path = tmp_path / "rows.jsonl"
    good = json.dumps(order(7), default=as_json)
    path.write_text("\n".join([good, "", line, good] if "rows[" not in shown[0] else [good, good, line]))
    with refused(db, error, *shown), db.batch() as b:
        b.insert("O", path)


def test_a_text_may_look_like_null_behind_a_document(db: rn.Database, tmp_path: Path) -> None:
    db.relation("T", Text)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "} null"}\n\n{"text": "}"}\r\n  {"text": "null"}\n')
    with db.batch() as b:
        b.insert("T", path)
    assert db.relation("T").rows() == [{"text": "null"}, {"text": "}"}, {"text": "} null"}]


def test_lines_that_are_wrong_are_said_at_once(db: rn.Database, tmp_path: Path) -> None:
    """All that is wrong with the first of them, in files and in documents, and what comes after twenty not."""
    rows = [json.loads(json.dumps(order(7), default=as_json)) for _ in range(30)]
    lines = [json.dumps(row | ({"orderkey": "x", "open": 3} if i % 2 else {})) for i, row in enumerate(rows)]
    lines[5], lines[7] = "{", lines[7].replace('"open"', '"closed"')
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(lines))
    parts = ("line 2.orderkey: a value", "the next 19", "line 2.open", "line 6: not a line", "line 8: other columns")
    with refused(db, errors.WrongValue, *parts), db.batch() as b:
        b.insert("O", path)
    with pytest.raises(errors.WrongValue) as caught:
        db.load("O", path)
    assert "line 28" not in str(caught.value) and len(caught.value.others) == 19
    with refused(db, errors.WrongValue, "rows[1].orderkey", "rows[5]: not a line", "rows[7]: other"), db.batch() as b:
        b.insert("O", rn.json(lines))


def test_one_line_that_is_wrong_is_found_among_many(
    db: rn.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By halves: what is right is parsed a few times, and not value by value."""
    lines = [json.dumps(order(n), default=as_json) for n in range(20_000)]
    lines[13_013] = lines[13_013].replace('"open": true', '"open": 3')
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    parsed: list[int] = []
    read = pyarrow.json.read_json

    def counted(*args: Any, **how: Any) -> Any:
        parsed.append(1)
        return read(*args, **how)

    monkeypatch.setattr(pyarrow.json, "read_json", counted)
    with refused(db, errors.WrongValue, "line 13014.open: a value that is not of its type"):
        db.load("O", tmp_path / "rows.jsonl")
    assert len(parsed) < 100


@pytest.mark.parametrize(("first", "shown"), [
    ("null", "line 1: not a line of JSON"), ("1", "line 1: not a line of JSON"),
    pytest.param("[" * 100_000, "one document", id="many lists"),
    pytest.param('{"a":' * 100_000, "line 1: not a line of JSON", id="many objects"),
    (" \n[{}]", "one document"), ("\ufeff[{}]", "one document"),
    ('{"orderkey": 1, "orderkey": 2}', "line 1: a field that comes twice"),
])  # fmt: skip
def test_first_lines_that_are_no_rows(db: rn.Database, tmp_path: Path, first: str, shown: str) -> None:
    """Also one that would end the process, and one that is nested too deeply."""
    good = json.dumps(order(7), default=as_json)
    for name in ("rows.jsonl", "rows.json"):
        (tmp_path / name).write_text(f"{first}\n{good}\n", encoding="utf-8")
        with refused(db, errors.WrongValue, shown), db.batch() as b:
            b.insert("O", tmp_path / name)


def test_what_is_no_file_of_rows(db: rn.Database, tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_text("no")
    (tmp_path / "bad.jsonl").write_bytes(b"\xff")
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "all.json").write_text(" [{}, {}]")
    for path, shown in (
        (tmp_path / "none.jsonl", "there is no such file"),
        (tmp_path / "bad.parquet", "cannot be read"),
        (tmp_path / "bad.jsonl", "line 1: not a line of JSON"),
        (tmp_path / "rows.csv", ".parquet, .jsonl, .ndjson, .json; .jsonl, .ndjson, .json also .gz, .bz2, .zst"),
        (tmp_path / "rows.csv.gz", "possible pyarrow.csv.read_csv(path)"),
        (tmp_path / "rows", "got      no suffix"),
        (tmp_path / "all.json", "possible rn.json(json.load(open(path)))"),
        ("rows.avro", "possible polars.read_avro(path)"),
        ("s3://lake/rows.csv", "opened by Spark alone"),
    ):
        with refused(db, errors.WrongValue, shown), db.batch() as b:
            b.insert("O", path)
    with refused(db, errors.WrongValue, "a path of files of Parquet or JSON lines"), db.batch() as b:
        b.insert("O", "rows")
    with db.batch() as b:
        b.insert("O", tmp_path / "empty.jsonl")
    assert b.report.rows_in == {}


# ---------------------------------------------------------------- the first of many


def test_the_first_twenty_are_said_at_once(db: rn.Database) -> None:
    """With the keys of the rows, be it types or keys that are wrong."""
    db.load("O", ROWS)
    bad = [{**row, "open": "yes" if i % 2 else True} for i, row in enumerate(ROWS)]
    wrong = ("rows[1].open: wrong type", "row      orderkey 1", "the next 19", "rows[3].open", "(orderkey 39)")
    with refused(db, errors.WrongValue, *wrong), db.batch() as b:
        b.insert("O", bad)
    with refused(db, errors.DuplicateKey, "rows[0]: ", "row      orderkey 0", "rows[19]: "), db.batch() as b:
        b.insert("O", ROWS)
    with refused(db, errors.DuplicateKey, "1 more", "rows[5]: two rows with this key"), db.batch() as b:
        b.upsert("O", [*ROWS[:3], ROWS[1], ROWS[7], ROWS[1]])
    missing = ("rows[1]: a delete of a key", "1 more", "rows[3]: ", "(orderkey 99)")
    with refused(db, errors.RowNotThere, *missing), db.batch() as b:
        b.delete_key("O", [{"orderkey": k} for k in (1, 98, 2, 99)])
    with refused(db, errors.RowNotThere, "rows[0]: ", "this key and other contents", "1 more"), db.batch() as b:
        b.delete("O", [{**ROWS[1], "items": []}, ROWS[2], {**ROWS[3], "note": "other"}])
    with refused(db, errors.DuplicateKey, "1 more", "(line 1)"), db.batch() as b:
        b.at("O", orderkey=1).items.insert([{"line": n, "price": None, "sent": None, "tags": []} for n in (2, 1, 3)])


def test_keys_that_are_texts_are_shown_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @rn.record
    class Person:
        name: str
        token: bytes

    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Person, key=("name", "token"))
        db.load("P", [{"name": "Ann", "token": b"\x01"}])
        shows = "RIPPLENEST_KEYS=show shows them"
        for text in (
            f"row      name (3 letters; {shows}), token (1 byte; {shows.replace('them', 'it')})",
            "row      name Ann, token b'\\x01'",
        ):
            with refused(db, errors.DuplicateKey, text), db.batch() as b:
                b.insert("P", [{"name": "Ann", "token": b"\x01"}])
            monkeypatch.setenv("RIPPLENEST_KEYS", "show")


def test_lines_that_take_the_place_of_rows_are_whole(db: rn.Database, tmp_path: Path) -> None:
    """What a line does not say is NULL in a load, and would be lost in an upsert."""
    db.load("O", ROWS[:4])
    whole = {**ROWS[1], "at": None, "items": [{"line": 1, "price": None, "sent": None, "tags": []}]}
    path = tmp_path / "some.jsonl"

    def written(*rows: Any) -> Path:
        path.write_text("".join(json.dumps(row, default=as_json) + "\n" for row in rows))
        return path

    short = {name: value for name, value in whole.items() if name != "note"}
    inner = {**whole, "items": [whole["items"][0], {"line": 2, "price": None, "tags": []}]}
    said = ("upsert O: rows", "line 2: a field is missing", "wanted   note", "1 more", "line 3.items[1]", "wanted sent")
    with refused(db, errors.WrongColumns, *said), db.batch() as b:
        b.upsert("O", written(whole, short, inner))
    with refused(db, errors.WrongColumns, "upsert O.items", "line 1: ", "wanted   price"), db.batch() as b:
        b.at("O", orderkey=1).items.upsert(written({"line": 1, "sent": None, "tags": []}))
    with db.batch() as b:
        b.upsert("O", str(written(whole)))
        b.insert("O", written({"orderkey": 99, "open": True}))
    rows = {row["orderkey"]: row for row in db.relation("O").rows()}
    assert rows[1] == whole and rows[99]["items"] is None and len(rows) == 5
