"""A load that tasks share stores what a load of the same rows in one process does, whatever becomes of attempts, and is
refused with the same words. The jobs are played here (``support/sharing.py``); ``test_spark_loads.py`` has Spark's."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.choices import Choices
from support.laws import law
from support.schemas import random_bag, row_type
from support.sharing import Partitions, shared
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Database
from ripplenest.data.level_values import nested_type
from ripplenest.errors import AlreadyLoaded
from ripplenest.nrc.errors import RipplenestError
from ripplenest.nrc.types import Bag, Base, Record, Type
from ripplenest.nrc.values import from_value
from ripplenest.schema.relation import Relation, declare
from ripplenest.state.stored import relation_text
from ripplenest.store import ranges

COUNTS: Counter[str] = Counter()
LITTLE = 1 << 13


def relation(c: Choices) -> Relation:
    """A relation with rows of any type, keys, and bags that stay arrays."""
    row = row_type(c, 3)
    own, inner = _able(row, True), list(Relation("R", row).parts.items())[1:]
    rows = {path.removeprefix("R."): part.row for path, part in inner}
    keys = {path: c.pick(able) for path, t in rows.items() if (able := _able(t, False)) and not c.one_in(3)}
    immutable = tuple(path for path in rows if c.one_in(3))
    return declare("R", row, c.pick(own) if own and not c.one_in(3) else None, immutable, c.one_in(2), keys)


def _able(row: Type, may_be_null: bool) -> list[str]:
    """The fields that can be a key."""
    fields = row.fields if isinstance(row, Record) else ()
    return [n for n, t in fields if isinstance(t, Base) and (may_be_null or not t.nullable)]


def distinct(c: Choices, value: Any, t: Type, n: int) -> Any:
    """``value`` with texts and numbers that many rows differ in, so that most keys are there once."""
    match t:
        case Base(kind="long") if value is not None and not c.one_in(30):
            return value + 3 * n + c.number(3)
        case Base(kind="string") if value is not None and not c.one_in(30):
            return f"{value}{n}é"
        case Record(fields) if isinstance(value, dict):
            return {name: distinct(c, value[name], inner, n) for name, inner in fields}
        case Bag(row) if value is not None:
            return [distinct(c, v, row, n + i) for i, v in enumerate(value)]
    return value


def rows_of(c: Choices, r: Relation) -> pa.Table:
    """Rows as a user has them; now and then one has a NULL where none may be."""
    many = c.pick((0, 1, 6, 30))
    bags = [random_bag(c, r.row, 3) for _ in range(many)]
    values = [from_value(v, r.row) for bag in bags for v, n in bag for _ in range(n)][:many]
    found = [distinct(c, value, r.row, 10 * i) for i, value in enumerate(values)]
    if found and c.one_in(6):
        at = c.number(len(found))
        found[at] = spoilt(c, found[at], r.row)
    fields = r.row.fields if isinstance(r.row, Record) else (("value", r.row),)
    schema = pa.schema([(name, nested_type(t)) for name, t in fields])
    return pa.Table.from_pylist([v if isinstance(r.row, Record) else {"value": v} for v in found], schema)


def spoilt(c: Choices, value: Any, t: Type) -> Any:
    match t:
        case Record(fields) if value:
            name, inner = c.pick(fields)
            return {**value, name: spoilt(c, value[name], inner)}
        case Bag(row) if value:
            return [spoilt(c, value[0], row), *value[1:]]
    return None


@contextmanager
def opened(folder: Path, r: Relation) -> Iterator[Database]:
    with rn.open(folder, engine="local") as db:
        db._commits.relation(r)
        yield db


def outcome(load: Callable[[], int]) -> str:
    try:
        return f"loaded {load()}"
    except RipplenestError as error:
        return f"{error!r} {error}"


def stored(db: Database) -> dict[str, Any]:
    snapshot = db._store.snapshot()
    return {table: Counter(snapshot.scan(table).counts()) for table in snapshot.tables}


def shown(db: Database) -> Counter[str]:
    return Counter(map(repr, db.relation("R").rows()))


def show(c: Choices) -> str:
    r = relation(c)
    return f"{r.name} {r.row} {relation_text(r)}\n{rows_of(c, r).to_pylist()}"


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "LEAST", 1 << 9)


@pytest.mark.usefixtures("narrow")
@law(examples=many(60, 200), shown=show)
def test_a_load_by_tasks_is_the_load(c: Choices) -> None:
    """Version, digest, rows, every part of rows with keys; or the same error, and nothing has changed."""
    r = relation(c)
    rows, lost = rows_of(c, r), list[str]()
    with tempfile.TemporaryDirectory(dir=MEMORY) as parent:
        folder = Path(parent)
        with opened(folder / "whole", r) as whole, opened(folder / "parts", r) as parts:
            shared(parts, c, c.pick((LITTLE, 1 << 24)), lost)
            given = Partitions.of(rows, c)
            wanted = outcome(lambda: whole.load("R", rows))
            assert outcome(lambda: parts.load("R", given)) == wanted
            assert parts.version == whole.version and shown(parts) == shown(whole)
            assert parts._store.batches() == whole._store.batches()
            if wanted.startswith("loaded"):
                check_loaded(parts, whole, rows, given)
            assert not (folder / "parts" / "staging").exists() and not parts.usage.orphans
            count(parts, r, given, wanted, lost)


def check_loaded(parts: Database, whole: Database, rows: pa.Table, given: Partitions) -> None:
    assert parts.verify().ok and parts.check_files() is not None
    mine, theirs = stored(parts), stored(whole)
    assert {t: found.total() for t, found in mine.items()} == {t: found.total() for t, found in theirs.items()}
    r = parts._declared.relations["R"]
    if all(place.key for place in r.places.values()) and not r.arrays:  # labels have no numbers
        assert mine == theirs
        COUNTS["the same labels"] += len(r.parts) > 1
    assert parts.load("R", rows) == parts.load("R", given) == parts.version
    if len(rows):
        with pytest.raises(AlreadyLoaded):
            parts.load("R", rows.slice(1))


def count(db: Database, r: Relation, given: Partitions, wanted: str, lost: list[str]) -> None:
    loaded = wanted.startswith("loaded")
    segments = [db._store.snapshot().segments(t) for t in db._store.tables()]
    COUNTS["loaded, nested"] += loaded and len(r.parts) > 1 and sum(map(len, segments)) > 1
    COUNTS["with a key"] += loaded and bool(r.key) and bool(segments[0])
    COUNTS["without keys"] += loaded and not r.key and len(r.parts) > 1
    COUNTS["keys of inner rows"] += loaded and bool(r.keys)
    COUNTS["arrays"] += loaded and any(t.endswith("/arrays") and stored(db)[t] for t in db._store.tables())
    COUNTS["several partitions"] += sum(map(bool, given.parts)) > 1
    COUNTS["several ranges"] += any(len(s) > 1 for s in segments)
    COUNTS["a key again"] += "two rows with this key" in wanted
    COUNTS["a wrong type"] += "NULL where none" in wanted
    COUNTS.update(lost)


def test_coverage() -> None:
    names = ("loaded, nested", "with a key", "without keys", "keys of inner rows", "arrays", "several partitions")
    names = (*names, "the same labels", "several ranges", "a key again", "a wrong type", "lost", "twice")
    assert all(COUNTS[name] >= many(1, 4) for name in names), COUNTS
