"""R17: whatever happens to the files of a state is named before an answer is given, or no answer changes.

A state is copied and damaged in one way: bits flipped, bytes overwritten, a page zeroed, a file cut short, lengthened,
removed, swapped with another one, or put back from a copy that was made some batches ago; a value of the catalogue
changed. Then everything is asked.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from random import Random

import pytest
from support.lives import SOURCE, merging_soon
from support.reports import Run, reported
from support.states import MEMORY
from support.store_life import StoreLife

from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.store import Store

FAST, LONG = 60, 500
BATCHES, OLDER = 12, 7
NEWEST, KEPT = 14, 6
Damage = Callable[[Random, Path, Path], object]


@pytest.fixture(scope="module")
def states():
    """A state, and a copy of it from five batches before."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, merging_soon():
        now, older = Path(folder).resolve() / "now", Path(folder).resolve() / "older"
        StoreLife(OLDER, 3, KEPT, KEPT).live(now, lambda _: None)
        shutil.copytree(now, older)
        StoreLife(BATCHES, 3, KEPT, KEPT).live(now, lambda _: None)
        yield now, older


def answers(folder: Path, chance: Random) -> Iterator[tuple[object, object]]:
    """All that a reader can ask, in any order, and what it is told, one by one; nothing was cached before."""
    with Store.open(folder) as store:
        asked = list(questions(store))
        for question, ask in chance.sample(asked, len(asked)):
            yield question, ask()


def questions(store: Store) -> Iterator[tuple[object, Callable[[], object]]]:
    yield "version", lambda: store.version
    yield "tables", store.tables
    yield "identity", lambda: store.identity
    yield "kept", lambda: (store.usage().oldest, store.usage().newest, store.usage().retain)
    yield "history", store.history
    yield "last", lambda: store.last_seq(SOURCE)
    yield "blobs", lambda: store.check_segments() > 0
    for seq in range(1, BATCHES + 2):
        yield ("applied", seq), lambda seq=seq: store.applied(SOURCE, seq)
    keys = [(None,), *((f"row {i}",) for i in range(BATCHES))]
    for n in range(NEWEST - KEPT, NEWEST + 1):
        for table in ("t", "u"):
            yield ("scan", table, n), lambda n=n, table=table: store.snapshot(n).scan(table).counts()
            yield ("delta", table, n), lambda n=n, table=table: store.snapshot().delta(table, n).counts()
        yield ("probe", n), lambda n=n: store.snapshot(n).probe("t", (1,), keys).counts()


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file())


def some(chance: Random, folder: Path, empty: bool = False) -> Path:
    """A file: the catalogue as often as a segment."""
    found = [p for p in files(folder) if empty or p.stat().st_size]
    return chance.choice([found[0], chance.choice(found)])


def flip(chance: Random, now: Path, _: Path) -> None:
    overwrite(some(chance, now), chance, lambda byte: bytes([byte[0] ^ 1 << chance.randrange(8)]))


def scribble(chance: Random, now: Path, _: Path) -> None:
    size = chance.randrange(1, 65)
    overwrite(some(chance, now), chance, lambda _: chance.randbytes(size))


def overwrite(file: Path, chance: Random, change: Callable[[bytes], bytes]) -> None:
    data = file.read_bytes()
    place = chance.randrange(len(data))
    new = change(data[place : place + 1])
    file.write_bytes(data[:place] + new + data[place + len(new) :])


def zero(chance: Random, now: Path, _: Path) -> None:
    file = some(chance, now)
    data = file.read_bytes()
    page = chance.randrange(0, len(data), 4096)
    end = min(len(data), page + 4096)
    file.write_bytes(data[:page] + bytes(end - page) + data[end:])


def shorten(chance: Random, now: Path, _: Path) -> None:
    file = some(chance, now)
    data = file.read_bytes()
    file.write_bytes(data[: chance.randrange(len(data))])


def lengthen(chance: Random, now: Path, _: Path) -> None:
    file = some(chance, now, empty=True)
    file.write_bytes(file.read_bytes() + chance.randbytes(chance.randrange(1, 5000)))


def remove(chance: Random, now: Path, _: Path) -> None:
    some(chance, now, empty=True).unlink()


def swap(chance: Random, now: Path, _: Path) -> None:
    one, other = chance.sample(files(now), 2)
    one_data, other_data = one.read_bytes(), other.read_bytes()
    one.write_bytes(other_data)
    other.write_bytes(one_data)


def put_back(chance: Random, now: Path, older: Path) -> None:
    """A file as it was in the older copy, or some file of it under the name of one of today."""
    old = some(chance, older)
    place = now / old.relative_to(older)
    shutil.copy(old, place if chance.randrange(2) else some(chance, now))


def tamper(chance: Random, now: Path, _: Path) -> None:
    """A value of the catalogue, changed by a write that is well formed: by one letter or digit, or to NULL; or a row
    that is gone."""
    with closing(sqlite3.connect(now / "catalogue.sqlite")) as c:
        tables = [name for (name,) in c.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
        table = chance.choice([t for t in tables if _cells(c, t)])
        row, column = chance.choice(_cells(c, table))
        (value,) = c.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)).fetchone()
        with suppress(sqlite3.IntegrityError), c:
            if chance.randrange(5):
                c.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (_other(chance, value), row))
            else:
                c.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (row,))


def _cells(c: sqlite3.Connection, table: str) -> list[tuple[int, str]]:
    columns = [row[1] for row in c.execute(f'PRAGMA table_info("{table}")')]
    return list(product([row for (row,) in c.execute(f'SELECT rowid FROM "{table}"')], columns))


def _other(chance: Random, value: object) -> object:
    if value is None or chance.randrange(8) == 0:
        return 1 if value is None else None
    if isinstance(value, int):
        return value + chance.choice([-1, 1])
    text = str(value)
    place = chance.randrange(len(text)) if text else 0
    return text[:place] + chance.choice("0123456789abcdef{}") + text[place + 1 :]


DAMAGES: tuple[Damage, ...] = (flip, scribble, zero, shorten, lengthen, remove, swap, put_back, tamper)
EXPECTED = [f"{d.__name__} named" for d in DAMAGES if d is not lengthen] + ["lengthen harmless", "flip harmless"]


def damaged(states: tuple[Path, Path], n: int, chance: Random, run: Run) -> None:
    now, older = states
    wanted = dict(answers(now, chance))
    assert wanted["version"] == NEWEST and len(files(now)) > 6
    for i in range(n):
        damage = DAMAGES[i % len(DAMAGES)]
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            state = Path(folder).resolve() / "state"
            shutil.copytree(now, state)
            damage(chance, state, older)
            run.count(f"{damage.__name__} {outcome(state, wanted, chance, (i, damage.__name__))}")
    run.count("damages", n)


def outcome(state: Path, wanted: dict[object, object], chance: Random, what: object) -> str:
    """How it ended, named or harmless; every answer that is given is right."""
    given = 0
    try:
        for question, answer in answers(state, chance):
            assert answer == wanted[question], f"{what}: a wrong answer to {question}: {answer}"
            given += 1
    except StateError as e:
        assert str(state) in e.where, f"{what}: no file is named: {e}"
        return "named"
    assert given == len(wanted)
    return "harmless"


def test_some_damages(states):
    run = Run(17)
    damaged(states, FAST, Random(run.seed), run)
    named = sum(n for what, n in run.counts.items() if what.endswith("named"))
    assert named > FAST / 2, run.counts
    assert all(run.counts[kind] for kind in EXPECTED), run.counts


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE versions SET source = 'sh0p' WHERE seq = 11",
        "UPDATE batches SET source = 'sh0p' WHERE seq = 3",
        "UPDATE batches SET seq = 33 WHERE seq = 3",
        "DELETE FROM versions WHERE n = (SELECT min(n) FROM versions)",
    ],
)
def test_a_batch_that_cannot_be_found_is_not_taken_for_new(states, tmp_path, sql):
    """It would be applied again."""
    shutil.copytree(states[0], tmp_path / "state")
    with closing(sqlite3.connect(tmp_path / "state" / "catalogue.sqlite")) as c, c:
        assert c.execute(sql).rowcount == 1
    with pytest.raises(CorruptState, match=r"catalogue\.sqlite"):
        Store.open(tmp_path / "state")


@pytest.mark.long
def test_many_damages(states):
    with reported("corruption", "a file of a state damaged in one of nine ways", "damages", *EXPECTED) as run:
        damaged(states, LONG, Random(run.seed), run)
