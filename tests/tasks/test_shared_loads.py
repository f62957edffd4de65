"""A load that tasks share stores what a load of the same rows in one process does, whatever becomes of attempts, and is
refused with the same words. The jobs are played here (``support/sharing.py``); ``test_spark_loads.py`` has Spark's."""

import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from support.choices import Choices
from support.laws import law
from support.relations import opened, outcome, relation, rows_of, shown, stored
from support.sharing import Partitions, shared
from support.sizes import many
from support.states import MEMORY

from ripplenest import Database
from ripplenest.errors import AlreadyLoaded
from ripplenest.schema.relation import Relation
from ripplenest.state.stored import relation_text
from ripplenest.store import ranges

COUNTS: Counter[str] = Counter()
LITTLE = 1 << 13


def show(c: Choices) -> str:
    r = relation(c)
    return f"{r.name} {r.row} {relation_text(r)}\n{rows_of(c, r).to_pylist()}"


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "LEAST", 1 << 9)


@pytest.mark.usefixtures("narrow")
@law(examples=many(40, 200), shown=show)
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
