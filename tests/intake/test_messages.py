"""Rows that came as JSON: dicts of ``json.loads``, texts and bytes mean what they mean as lines of a file."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sizes import many
from support.states import refused

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest import Decimal as Dec
from ripplenest.data.room import Room
from ripplenest.intake.ingest import read_pieces, read_rows
from ripplenest.intake.operations import Write, content
from ripplenest.nrc.surface.records import annotation_type


@rn.record
class Place:
    town: str
    since: date | None


@rn.record
class Item:
    line: int
    price: Dec[30, 20] | None  # type: ignore[valid-type]
    sent: date | None
    tags: Bag[str]


@rn.record
class Order:
    orderkey: int
    at: datetime | None
    open: bool
    weight: float | None
    raw: bytes | None
    place: Place
    items: Bag[Item] | None


ROW = annotation_type(Order, "Order")


def document(key: int) -> dict[str, Any]:
    items = [{"line": 1, "price": "1.50", "sent": "2024-02-29", "tags": ["a\n", "é", ""]},
             {"line": 2, "price": 2.25, "sent": None, "tags": []}]  # fmt: skip
    return {"orderkey": key, "at": "2024-01-01T12:30:00.000005+00:00", "open": key % 2 == 0, "weight": key / 8,
            "raw": "bytes", "place": {"town": '"\\', "since": "2020-01-01"}, "items": items}  # fmt: skip


TEXTS = ("", "1.5", "1.5e3", "x", "2024-02-29", "2023-02-29", "2024-01-01T10:00:00", "2024-01-01 10:00:00+02:00")
NUMBERS = (0, -1, 2**31, 2**63, 1.0, 1.5, -0.0, 1e300, float("nan"))
BAGS = ([], [1], [{}], {}, {"town": "t"}, {"town": "t", "since": None})
STRANGE = st.sampled_from([None, True, *NUMBERS, *TEXTS, *BAGS])
PATHS = (
    *((name,) for name in ("orderkey", "at", "open", "weight", "raw", "place", "items", "other")),
    *(("place", "since"), ("items", 0, "line"), ("items", 1, "price"), ("items", 0, "sent"), ("items", 1, "tags")),
)


@st.composite
def documents(draw: Any) -> list[dict[str, Any]]:
    """Some documents, of which some fields are missing, other ones, or of other types."""
    found = [document(key) for key in range(draw(st.integers(0, 6)))]
    for value in found:
        for path in draw(st.lists(st.sampled_from(PATHS), max_size=2)) if draw(st.booleans()) else ():
            changed(draw, value, path)
    return found


def changed(draw: Any, value: Any, path: tuple[str | int, ...]) -> None:
    *above, last = path
    for name in above:
        value = value[name] if not isinstance(value, dict) or name in value else None
        if not isinstance(value, dict | list) or (isinstance(name, int) and not value):
            return
    if isinstance(value, dict) and draw(st.booleans()):
        value.pop(last, None)
    elif isinstance(value, dict):
        value[last] = deepcopy(draw(STRANGE))


def outcome(rows: object, whole: bool, path: Path) -> tuple[Any, ...]:
    """What rows are and are known as, or what is wrong with them, wherever they stand."""
    try:
        read = read_rows(rows, ROW, "rows", ("orderkey",), whole=whole)
        return content([Write("upsert", "O", read)]), repr(read.values)
    except rn.RipplenestError as error:
        said = str(error).replace(f": {path}: line ", " line ").replace(f": {path}", "")
        return type(error), re.sub(r" line (\d+)", lambda found: f"[{int(found[1]) - 1}]", said)


@settings(max_examples=many(20, 1500), deadline=None)
@given(documents(), st.booleans())
def test_documents_are_lines_of_a_file(found: list[dict[str, Any]], whole: bool) -> None:
    """Law: the same rows, digests and errors, whichever of the forms they have."""
    texts = [json.dumps(value) for value in found]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("\n".join(texts))
        wanted = outcome(path, whole, path)
    pretty = [json.dumps(value, indent=1, ensure_ascii=False).encode() for value in found]
    exact = [json.loads(text, parse_float=Decimal) for text in texts]
    for same in (found, texts, [text.encode() for text in texts], pretty, exact, pa.array(texts), iter(found)):
        assert outcome(rn.json(same), whole, path) == wanted


@settings(max_examples=many(12, 300), deadline=None)
@given(documents(), st.integers(1, 3))
def test_documents_in_pieces(found: list[dict[str, Any]], at_once: int) -> None:
    """Law: their rows are those of all at once, and what is wrong has the same number."""

    def read() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ripplenest.intake.ingest.FEWEST", at_once)
            patch.setattr("ripplenest.intake.ingest.PYTHON", 1 << 60)
            yield from read_pieces(rn.json(iter(found)), ROW, "rows", ("orderkey",), Room())

    whole = outcome(rn.json(found), False, Path("none"))
    try:
        pieces = [piece for piece in read() if len(piece)]
        assert sum(map(len, pieces)) == len(found) and max(map(len, pieces), default=0) <= at_once
        assert repr(tuple(value for piece in pieces for value in piece.values)) == whole[1]
    except rn.RipplenestError as error:
        assert type(error) is whole[0] and str(error).splitlines()[0] in whole[1]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[rn.Database]:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("O", Order, key="orderkey", keys={"items": "line"})
        yield db


def test_every_verb_takes_them(db: rn.Database, tmp_path: Path) -> None:
    found = [document(key) for key in range(4)]
    db.load("O", rn.json(document(key) for key in range(4)))
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, found)))
    version, rows = db.version, db.relation("O").rows()
    assert db.load("O", path) == version
    assert rows[2]["at"] == datetime(2024, 1, 1, 12, 30, 0, 5, UTC) and rows[2]["items"][0]["price"] == Decimal("1.5")
    with db.batch() as b:
        b.delete_key("O", rn.json(['{"orderkey": 0}']))
        b.discard_key("O", rn.json([{"orderkey": 0}]))
        b.delete("O", rn.json([found[1]]))
        b.insert("O", rn.json([json.dumps(document(7)).encode()]))
        b.upsert("O", rn.json([{**found[2], "raw": "other"}]))
        inner = b.at("O", orderkey=3).items
        inner.insert(rn.json([{"line": 3, "price": "0.1", "tags": ["x"]}]))
        inner.delete(rn.json(found[3]["items"][:1]))
        inner.upsert(rn.json([json.dumps({**found[3]["items"][1], "sent": "2025-01-01"})]))
    rows = {row["orderkey"]: row for row in db.relation("O").rows()}
    assert rows.keys() == {2, 3, 7} and rows[2]["raw"] == b"other"
    assert [(i["line"], i["sent"], i["price"]) for i in rows[3]["items"]] == [
        (2, date(2025, 1, 1), Decimal("2.25")), (3, None, Decimal("0.1"))]  # fmt: skip
    short = {name: value for name, value in found[2].items() if name != "raw"}
    with refused(db, errors.WrongColumns, "upsert O: rows[1]", "a field is missing", "raw"), db.batch() as b:
        b.upsert("O", rn.json([found[3], short]))
    with refused(db, errors.WrongColumns, "upsert O.items: rows[0]", "sent", "null"), db.batch() as b:
        b.at("O", orderkey=3).items.upsert(rn.json([{"line": 3, "price": None, "tags": []}]))
    for said, whole in (("[]", {"sent": None}), ("its value", {"sent": None, "tags": []})):
        short = rn.json([{"price": None, **whole, **({"line": 3} if said == "[]" else {})}])
        with refused(db, errors.WrongColumns, "items: rows[0]", said), db.batch() as b:
            b.at("O", orderkey=3).items.upsert(short)
    with refused(db, errors.WrongValue, "rows with fields"), db.batch() as b:
        b.at("O", orderkey=3).items.at(line=2).tags.insert(rn.json(["x"]))


def test_for_each_document(db: rn.Database) -> None:
    """Columns of documents are what they say of a field; a field that one does not say is missing there."""
    db.load("O", rn.json([document(1), document(2)]))
    texts = ['{"key": 1, "line": 3, "price": 0.12345678901234567891, "sent": "2025-01-02", "tags": ["q"]}',
             '{"key": 2, "line": 4, "price": "2", "tags": []}']  # fmt: skip
    for some in (texts, [text.encode() for text in texts], [json.loads(t, parse_float=Decimal) for t in texts]):
        each = rn.each(rn.json(some))
        with db.batch() as b:
            b.at("O", orderkey=each.key).items.insert(each)
        items = {row["orderkey"]: row["items"][2] for row in db.relation("O").rows()}
        assert items[1] == {
            "line": 3,
            "price": Decimal("0.12345678901234567891"),
            "sent": date(2025, 1, 2),
            "tags": ["q"],
        }
        assert items[2] == {"line": 4, "price": Decimal(2), "sent": None, "tags": []}
        with refused(db, errors.WrongColumns, "each[1]: a field is missing", "sent"), db.batch() as b:
            b.at("O", orderkey=each.key).items.upsert(each)
        with db.batch() as b:
            b.at("O", orderkey=each.key).items.at(line=each.line).set(sent=each.sent)
        with db.batch() as b:
            b.at("O", orderkey=each.key).items.delete_key(line=each.line)
    each = rn.each(rn.json([{"key": 1, "day": "2024-02-29", "tag": "t"}]))
    with db.batch() as b:
        b.at("O", orderkey=each.key).items.at(sent=each.day).tags.insert(each)
    tags = next(i["tags"] for row in db.relation("O").rows() if row["orderkey"] == 1 for i in row["items"] if i["sent"])
    assert "t" in tags
    with refused(db, errors.WrongValue, "each[0].day", "a value that is not of its type"), db.batch() as b:
        wrong = rn.each(rn.json([{"key": 1, "day": "2023-02-29"}]))
        b.at("O", orderkey=wrong.key).set(at=wrong.day)
    assert len(rn.each(rn.json([]))) == 0


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        (b"", "rows[1]: not a line of JSON with fields"),
        (" \n", "rows[1]: not a line of JSON"),
        (None, "rows[1]: not a line of JSON"),
        (7, "got      7"),
        ("[1]", "rows[1]: not a line"),
        (b"\xff\xfe", "rows[1]: not a line"),
        ("\ud800", "rows[1]: not a line"),
        (json.dumps(document(5)) * 2, "rows[1]: not a line"),
        (json.dumps(document(5)).replace('bytes"', 'by\ntes"'), "rows[1]: not a line"),
        ({**document(5), "at": datetime(2024, 1, 1)}, "rows[1].at: a value that JSON does not have"),
        ({**document(5), "items": [{"line": {1, 2}}]}, "rows[1].items[0].line: a value that JSON does not have"),
        ({**document(5), "at": pa.scalar(1)}, "Int64Scalar"),
    ],
    ids=map(str, range(12)),
)
def test_what_is_no_document(db: rn.Database, wrong: object, shown: str) -> None:
    for each in (False, True):
        if each and isinstance(wrong, dict):
            continue
        with refused(db, errors.WrongValue, shown), db.batch() as b:
            rows = rn.json([document(1), wrong, document(2)])
            b.insert("O", rn.each(rows) if each else rows)


def test_what_is_deep_or_twice_or_no_documents(db: rn.Database) -> None:
    circle = document(1)
    circle["items"].append(circle)
    with refused(db, errors.WrongValue, "rows[0]: not a line of JSON"), db.batch() as b:
        b.insert("O", rn.json([circle]))
    twice = json.dumps(document(1)).replace('"open"', '"orderkey": 9, "open"')
    for make, shown in ((lambda: rn.json([twice]), "['orderkey']"), (lambda: rn.each(rn.json([twice])), "rows[0]")):
        with refused(db, errors.WrongValue, shown), db.batch() as b:
            b.insert("O", make())
    with refused(db, errors.WrongValue, "rows[0]: not a line of JSON", "double quotes, at column 12"), db.batch() as b:
        b.insert("O", rn.json(['{"a": "x", b}']))
    what = "rows[0].at: a value that is not of its type"
    for text in ("2020-13-02T00:00:00Z", "01/02/2025"):
        with refused(db, errors.WrongValue, what, "a text such as 2024-12-31T23:59:59Z"), db.batch() as b:
            b.insert("O", rn.json([{**document(1), "at": text}]))
    with db.batch() as b:
        b.insert("O", rn.json([{**document(77), "at": "2024-12-31T23:59:59Z"}]))
    for rows in ("{}", b"{}", {}, Path("rows.jsonl"), 7, None):
        with pytest.raises(errors.WrongValue, match="json: messages: not a collection of documents"):
            rn.json(rows)


@rn.record
class Priced:
    id: int
    price: rn.Decimal[10, 2]
    points: rn.Decimal[3, 0]


@pytest.mark.parametrize(
    ("field", "text", "shown"),
    [
        ("price", "1.505", "decimal(10,2): a text or number of at most 8 digits before the point, and 2 behind it"),
        ("points", "1234", "decimal(3,0): a text or number of at most 3 digits\n"),
    ],
)
def test_what_is_no_decimal_says_which_digits_there_may_be(tmp_path: Path, field: str, text: str, shown: str) -> None:
    row = {"id": 1, "price": "12345678.25", "points": "999"}
    with rn.open(tmp_path / "priced", engine="local") as db:
        db.relation("P", Priced, key="id")
        with refused(db, errors.WrongValue, f"rows[0].{field}", shown), db.batch() as b:
            b.insert("P", rn.json([{**row, field: text}]))
        with db.batch() as b:
            b.insert("P", rn.json([row]))
