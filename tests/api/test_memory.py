"""A load in little room stores what one at once does, byte for byte of its rows, and fails with the same words."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from support.choices import Choices
from support.laws import law
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data import room
from ripplenest.intake import apply, spilled
from ripplenest.nrc.errors import RipplenestError

COUNTS: Counter[str] = Counter()
TINY = 1 << 13


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


def opened(c: Choices, folder: Path, flat: bool, declare: Callable[[Database], None]) -> Database:
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


@pytest.mark.parametrize("flat", [False, True])
@law(examples=25)
def test_a_load_in_little_room_is_the_load(flat: bool, c: Choices) -> None:
    """The same tables, labels and digest, or the same error, whatever the rows came as; and a state that is right."""
    rows, declare = rows_of(c, flat), declaration(c, flat)
    ways = ("list", "generator", "table", "reader", "file")
    wrong = any(type(row["order"]) is not int for row in rows)
    how = c.pick(ways[:2] if wrong else ways)
    with tempfile.TemporaryDirectory(dir=MEMORY) as parent:
        folder = Path(parent)
        with opened(c, folder / "whole", flat, declare) as whole, pytest.MonkeyPatch.context() as patch:
            patch.setattr(apply, "FEW", 0)
            at_once = outcome(whole, rows)
            patch.setattr(room, "DEFAULT", TINY)
            patch.setattr("ripplenest.intake.ingest.PYTHON", TINY)
            patch.setattr("ripplenest.intake.ingest.FEWEST", 5)
            patch.setattr(spilled, "FEW", 0)
            with opened(c, folder / "little", flat, declare) as little:
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


def test_coverage() -> None:
    if COUNTS:
        assert min(COUNTS.values()) >= 5 and len(COUNTS) == 9, COUNTS
