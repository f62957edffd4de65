"""Files that Spark opens, whose rows its tasks read: the same versions, digests and rows as here, and the same words
for what is wrong."""

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.errors import WrongColumns, WrongValue
from ripplenest.intake import operations
from ripplenest.intake.spread import Spread
from ripplenest.state import commits
from ripplenest.tasks import opened

SPLIT = "spark.sql.files.maxPartitionBytes"


pytestmark = pytest.mark.usefixtures("pieces")


@rn.record
class Film:
    film: int
    out: date | None
    tags: Bag[str]


@rn.record
class Timed:
    film: int
    at: datetime | None


def film(n: int) -> dict[str, Any]:
    return {"film": n, "out": f"2024-02-{n % 28 + 1:02}", "tags": ["é"] * (n % 3)}


def lines(path: Path, first: int, many: int, *more: bytes) -> Path:
    """Some of them empty."""
    found = [json.dumps(film(n)).encode() + b"\r\n" for n in range(first, first + many)]
    path.write_bytes(b"\n".join([*found[:50], *more, *found[50:]]))
    return path


@pytest.fixture
def pieces(spark: SparkSession) -> Any:
    """Files come in several."""
    before = spark.conf.get(SPLIT)
    spark.conf.set(SPLIT, "1500")
    yield
    spark.conf.set(SPLIT, before or "")


@pytest.fixture
def both(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Database]:
    """One state whose driver reads files, and one whose tasks do."""
    monkeypatch.setattr(operations, "SPREAD", 60)
    found = [rn.open(tmp_path / "here", engine="local"), rn.open(tmp_path / "there", engine="spark", spark=spark)]
    for db in found:
        db.relation("F", Film, key="film")
    return found


def test_tasks_read_what_the_driver_reads(
    both: list[Database], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = both
    odd, few, table = (
        lines(tmp_path / "a [b], {c}*.jsonl", 0, 90),
        lines(tmp_path / "few.ndjson", 90, 20),
        tmp_path / "t",
    )
    many = [{**film(n), "out": None} for n in range(200, 300)]
    schema = pa.schema([("film", pa.int64()), ("out", pa.date32()), ("tags", pa.list_(pa.string()))])
    pq.write_table(pa.Table.from_pylist(many, schema), table.with_suffix(".parquet"))
    work: list[tuple[str, Any]] = [("s", few), ("s", str(table.with_suffix(".parquet")))]
    here.load("F", odd)
    for seq, (source, path) in enumerate(work):
        with here.batch(source, seq) as b:
            b.insert("F", path)
    monkeypatch.setattr(commits, "read_pieces", lambda *_: pytest.fail("the driver reads"))
    monkeypatch.setattr(Spread, "_here", lambda _: pytest.fail("the driver reads what comes"))
    assert there.load("F", odd) == here.version - 2 == there.load("F", str(odd))
    for seq, (source, path) in enumerate(work):
        with there.batch(source, seq) as b:
            b.insert("F", path if seq else f"file:{path}")
    assert there._store.batches() == here._store.batches() and there.verify().ok
    assert sorted(map(repr, there.relation("F").rows())) == sorted(map(repr, here.relation("F").rows()))


WRONG = [b'{"film": 7, "tags": [], "z": 1}', b'{"film": "x"}', b"[", b'{"film": null, "tags": []}']


@pytest.mark.parametrize("line", [WRONG[0], *(pytest.param(line, marks=pytest.mark.long) for line in WRONG[1:])])
def test_what_is_wrong_is_said_as_here(both: list[Database], tmp_path: Path, line: bytes) -> None:
    """Of the line in its file."""
    path, said = lines(tmp_path / "a.jsonl", 0, 90, line, line), list[str]()
    for db in both:
        with pytest.raises((WrongValue, WrongColumns)) as found:
            db.load("F", path)
        said.append(str(found.value))
    assert said[0] == said[1] and both[1].version == 1


@pytest.mark.long
def test_what_is_wrong_with_few_lines(both: list[Database], tmp_path: Path) -> None:
    """Which the driver reads."""
    path, said = lines(tmp_path / "a.jsonl", 0, 20, WRONG[0]), list[str]()
    for db, given in zip(both, (str(path), f"file:{path}"), strict=True):
        with pytest.raises(WrongColumns) as found, db.batch() as b:
            b.insert("F", given)
        said.append(str(found.value).replace(given, "it"))
    assert said[0] == said[1]


@pytest.mark.long
def test_a_folder_of_lines(both: list[Database], tmp_path: Path) -> None:
    """Each file has lines of its own."""
    folder, (_, db) = tmp_path / "all.jsonl", both
    folder.mkdir()
    lines(folder / "one.json", 0, 90)
    lines(folder / "two.json", 90, 70)
    assert db.load("F", folder) == 2 and db.relation("F").count() == 160
    lines(folder / "two.json", 90, 75)
    with db.batch() as b:
        b.upsert("F", str(folder))
    assert b.report.rows_in == {"F": 5, "F.tags": 4} and db.verify().ok
    lines(folder / "two.json", 90, 70, WRONG[0])
    with pytest.raises(WrongColumns, match=r"rows: .*all.jsonl: file:.*two.json: line 101"), db.batch() as b:
        b.insert("F", folder)


def test_what_spark_does_not_open(both: list[Database], tmp_path: Path) -> None:
    here, there = both
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    for path, said in (
        (tmp_path / "bad.parquet", "cannot be read"),
        (tmp_path / "no.jsonl", "no such file"),
        (f"file:{tmp_path}/no.jsonl", "no such file"),
        ("zz://a/b.jsonl", "cannot be read"),
        ("zz://a/b", "not a file of rows"),
    ):
        with pytest.raises(WrongValue, match=said):
            there.load("F", path)
    with pytest.raises(WrongValue, match="opened by Spark alone"):
        here.load("F", "zz://a/b.jsonl")


def test_small_files_are_read_here(both: list[Database], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what Spark does not read, such as nanoseconds."""
    monkeypatch.setattr(opened.Opened, "of", lambda *_: pytest.fail("Spark is asked"))
    out = pa.array([0, 86_400_000_000_000], pa.timestamp("ns"))
    pq.write_table(pa.table({"film": [1, 2], "at": out}), tmp_path / "few.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    (tmp_path / "one.jsonl").write_text('{"film": 3}\n')
    (_, there) = both
    there.relation("T", Timed, key="film")
    there.load("T", tmp_path / "few.parquet")
    with there.batch() as b:
        b.insert("T", tmp_path / "one.jsonl")
    assert there.relation("T").count() == 3
    with pytest.raises(WrongValue, match="cannot be read"), there.batch() as b:
        b.insert("T", tmp_path / "bad.parquet")
