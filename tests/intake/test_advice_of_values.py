"""What is told of values that come in another form than their columns have: what is wrong, and what would do."""

import datetime
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag, Int
from ripplenest.nrc.errors import RipplenestError


@rn.record
class Row:
    id: int
    price: rn.Decimal[10, 2] | None
    at: datetime.datetime | None
    n: Int | None
    open: bool | None
    x: float | None
    tags: Bag[str]


ROW = {"id": 1, "price": None, "at": None, "n": None, "open": None, "x": None, "tags": []}
JSON: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"price": 2.567}, ("price: more than 2 digits after the point", "got      float")),
    ({"price": 123456789.5}, ("price: more than 8 digits before the point",)),
    ({"n": 99999999999}, ("n: an integer beyond 32 bits", "wanted   int?")),
    ({"id": 2**70}, ("id: an integer beyond 64 bits",)),
    ({"id": 1.5}, ("id: a value that is not of its type", "wanted   long", "got      float")),
    ({"at": 1700000000}, ("wanted   timestamp?: a text such as 2024-12-31T23:59:59Z", "got      int")),
    ({"at": "today"}, ("a text such as 2024-12-31T23:59:59Z", "got      another text")),
    ({"open": "true"}, ("possible true or false, without quotes",)),
    ({"n": "3"}, ("the number, without quotes",)),
    ({"x": "0.5"}, ("float(x), the number, without quotes",)),
    ({"open": 1}, ("possible bool(x)",)),
]


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Row, key="id")
        yield db


@pytest.mark.parametrize(("fields", "said"), JSON, ids=[str(fields) for fields, _ in JSON])
def test_of_json(db: rn.Database, fields: dict[str, Any], said: tuple[str, ...]) -> None:
    told = refused(lambda: db.load("R", rn.json([ROW | fields])))
    assert all(part in told for part in said), told


class NaTType:
    """As pandas has it, which need not be there."""


class Nanoseconds(datetime.datetime):
    nanosecond = 1


def test_of_rows(db: rn.Database, tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    row = connection.execute("select 1 id").fetchone()
    connection.close()
    assert "possible None" in refused(lambda: db.load("R", [ROW | {"at": NaTType()}]))
    fine = ROW | {"at": Nanoseconds.now()}
    assert 'x.floor("us"), of a column `.dt.floor("us")`' in refused(lambda: db.load("R", [fine]))
    assert "possible dict(row)" in refused(lambda: db.load("R", [row]))
    assert "possible one call for each file" in refused(lambda: db.load("R", [str(tmp_path / "a.parquet")]))
    assert "the folder, of which all files" in refused(lambda: db.load("R", tmp_path / "*.parquet"))
    lines = b'{"id": 1, "price": null, "at": null, "n": null, "open": null, "x": null, "tags": ["caf\xe9"]}'
    (tmp_path / "latin.jsonl").write_bytes(lines)
    assert "tags[0]: a text that is not UTF-8" in refused(lambda: db.load("R", tmp_path / "latin.jsonl"))


def test_of_a_relation_without_its_key(db: rn.Database) -> None:
    told = refused(lambda: db.relation("R", Row))
    assert 'possible key="id", ' in told
    assert db.relation("R", Row, key="id").count() == 0


def refused(call: Any) -> str:
    with pytest.raises(RipplenestError) as caught:
        call()
    return str(caught.value)
