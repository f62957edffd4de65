"""Damage and failing disks: a changed bit is named and never believed; a failed commit leaves nothing behind."""

import random
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from support.sizes import many

from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import CorruptState, RipplenestError, StateError
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Disk, Store, TableSpec, commit
from ripplenest.store.database.backend import Sqlite
from ripplenest.store.database.catalogue import Catalogue
from ripplenest.store.database.tables import SEGMENT_INDEXES, SEGMENTS

TYPES = (Base("long"), Base("string", True))
KEYS = ((0,), (1,))


def rows(*pairs):
    return Rows.of_pairs(TYPES, pairs)


def build(folder: Path) -> None:
    with Store.open(folder) as s:
        s.commit(Change(tables=(TableSpec("t", TYPES, KEYS), TableSpec("u", TYPES)), meta={"program": "p" * 50}), 0)
        for i in range(1, 12):
            deltas = {"t": rows(((i, "a"), 1), ((i // 2, None), 1)), "u": rows(((i, "b"), -1))}
            s.commit(Change(deltas, source="shop", seq=i, digest=f"d{i}", note={"i": i}), i)


def everything(folder: Path) -> object:
    """All that a reader can ask, from a process that has nothing cached."""
    with Store.open(folder) as s:
        snapshots = [s.snapshot(n) for n in range(1, s.version + 1)]
        return (
            [[x.scan(t).counts() for t in ("t", "u")] for x in snapshots],
            [x.probe("t", k, [(1,) if k == (0,) else ("a",)]).counts() for x in snapshots for k in KEYS],
            [snapshots[-1].delta(t, n).counts() for t in ("t", "u") for n in range(s.version)],
            [snapshots[-1].note(n) for n in range(s.version + 1)],
            [s.applied("shop", i) for i in range(14)],
            (s.last_seq("shop"), s.meta("program"), s.tables(), s.version),
        )


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "state"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit, "LITTLE", 8)  # merges lie in a file of their own
        build(folder)
    return folder, everything(folder)


FLIPS, FLIP_SEED = 25, 1
OLD = "SELECT id FROM segments WHERE died BETWEEN 4 AND 11"
LAST = "SELECT max(s.id) FROM segments s JOIN segment_indexes i ON i.segment_id = s.id WHERE s.died IS NULL"
PLACE = "file, offset, bytes, sha256"
OTHER = f"SELECT {PLACE} FROM segment_indexes o WHERE o.columns = segment_indexes.columns ORDER BY segment_id LIMIT 1"


def blobs(folder: Path) -> list[tuple[str, int, int]]:
    catalogue = Catalogue(Sqlite(folder))
    with catalogue.transaction() as c:
        queries = [sa.select(t.c.file, t.c.offset, t.c.bytes) for t in (SEGMENTS, SEGMENT_INDEXES)]
        found = [tuple(row) for query in queries for row in c.execute(query)]
    catalogue.close()
    return found


def flip(path: Path, place: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)


def test_a_flipped_bit_in_a_segment_or_index_is_named(good, tmp_path):
    found = blobs(good[0])
    assert len(found) > 40 and {Path(f).suffix for f, _, _ in found} == {".deltas", ".merges"}
    chance = random.Random(1)
    for i, (file, offset, size) in enumerate(chance.sample(found, 24)):
        state = tmp_path / str(i)
        shutil.copytree(good[0], state)
        place = offset + chance.choice([0, size - 1, chance.randrange(size)])
        flip(state / "segments" / file, place, chance.randrange(8))
        with pytest.raises(CorruptState) as caught:
            everything(state)
        assert str(state / "segments" / file) in caught.value.where
        assert len(str(caught.value.wanted)) == len(str(caught.value.got)) == 64


@pytest.mark.parametrize("damage", ["missing", "short", "empty"])
def test_a_missing_or_short_file_is_named(good, tmp_path, damage):
    state = tmp_path / "state"
    shutil.copytree(good[0], state)
    file = sorted((state / "segments").iterdir())[0]
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-100] if damage == "short" else b"")
    with pytest.raises(CorruptState) as caught:
        everything(state)
    assert caught.value.where == str(file)


@pytest.mark.parametrize("damage", ["missing", "empty"])
def test_segments_without_a_catalogue_are_not_taken_for_a_new_state(good, tmp_path, damage):
    state = tmp_path / "state"
    shutil.copytree(good[0], state)
    files = sorted((state / "segments").iterdir())
    (state / "catalogue.sqlite").write_bytes(b"") if damage == "empty" else (state / "catalogue.sqlite").unlink()
    for _ in range(2):
        with pytest.raises(CorruptState, match=rf"catalogue\.sqlite: it is {damage}"):
            Store.open(state)
    assert (state / "catalogue.sqlite").exists() == (damage == "empty")
    assert sorted((state / "segments").iterdir()) == files


def test_a_flipped_bit_in_the_catalogue_is_named_or_harmless(good, tmp_path):
    """Harmless is a bit in free space; every other must be noticed, as it decides which segments are read."""
    size = (good[0] / "catalogue.sqlite").stat().st_size
    chance = random.Random(FLIP_SEED)
    named = 0
    for i in range(FLIPS):
        state = tmp_path / str(i)
        shutil.copytree(good[0], state)
        flip(state / "catalogue.sqlite", chance.randrange(size), chance.randrange(8))
        try:
            assert everything(state) == good[1]
        except StateError as e:
            named += 1
            assert e.where == str(state / "catalogue.sqlite") or "/segments/" in e.where
        shutil.rmtree(state)
    assert named > FLIPS // 10


def test_what_becomes_of_a_journal_that_is_of_no_transaction_is_harmless(good, tmp_path):
    """Bits that flip where it begins and elsewhere, other bytes, bytes of another file, a cut, a loss."""
    journal = (good[0] / "catalogue.sqlite-journal").read_bytes()
    assert len(journal) > 512 and not any(journal[:28]) and any(journal)
    chance = random.Random(2)
    places = [*range(0, 28, many(3, 1)), *(chance.randrange(len(journal)) for _ in range(8))]
    flipped = [journal[:i] + bytes([journal[i] ^ 1 << chance.randrange(8)]) + journal[i + 1 :] for i in places]
    others = [chance.randbytes(len(journal)), (good[0] / "catalogue.sqlite").read_bytes(), journal[:100], b"", None]
    for i, data in enumerate([*flipped, *others]):
        state = tmp_path / str(i)
        shutil.copytree(good[0], state)
        if data is None:
            (state / "catalogue.sqlite-journal").unlink()
        else:
            (state / "catalogue.sqlite-journal").write_bytes(data)
        assert everything(state) == good[1]
        shutil.rmtree(state)


def test_a_changed_catalogue_row_is_named(good, tmp_path):
    """What SQLite itself cannot notice: rows changed, lost or swapped by well-formed writes."""
    for i, sql in enumerate(
        [
            "UPDATE segments SET died = NULL WHERE died IS NOT NULL AND table_id = 1",
            "UPDATE segments SET died = 11 WHERE id = 20",
            f"DELETE FROM segment_indexes WHERE segment_id = ({LAST})",
            "UPDATE segments SET is_delta = 0 WHERE id = 3",
            f"UPDATE segment_indexes SET ({PLACE}) = ({OTHER})",
            "UPDATE segments SET file = (SELECT file FROM segments WHERE id = 5) WHERE id = 3",
            "DELETE FROM versions WHERE n = 12",
            "DELETE FROM versions WHERE n = 5",
            "UPDATE versions SET seq = 99 WHERE seq = 4",
            "UPDATE versions SET note = '{}' WHERE n = 4",
            "UPDATE meta SET value = 'q' WHERE key = 'program'",
            "UPDATE meta SET value = '11' WHERE key = 'newest'",
            "UPDATE tables SET columns = replace(columns, 'true', 'false')",
            "DELETE FROM indexes WHERE position = 1",
        ]
    ):
        state = tmp_path / str(i)
        shutil.copytree(good[0], state)
        catalogue = Catalogue(Sqlite(state))
        with catalogue.transaction(write=True) as c:
            assert c.exec_driver_sql(sql).rowcount, sql
        catalogue.close()
        with pytest.raises(StateError):
            everything(state)
            pytest.fail(f"not noticed: {sql}")


@pytest.mark.parametrize(
    "sql",
    [
        f"DELETE FROM segment_indexes WHERE segment_id = ({LAST})",
        "UPDATE segments SET died = died + 1 WHERE died BETWEEN 4 AND 10",
        "UPDATE segments SET died = 3 WHERE died > 3",
        f"DELETE FROM segments WHERE id = (SELECT min(id) FROM segments WHERE id IN ({OLD}))",
        f"UPDATE segments SET bytes = bytes - 1 WHERE id = (SELECT max(id) FROM segments WHERE id IN ({OLD}))",
    ],
)
def test_a_check_of_the_files_names_rows_that_only_old_versions_need(good, tmp_path, sql):
    """Opening reads what the newest version has, and a check of the files what all have."""
    state = tmp_path / "state"
    shutil.copytree(good[0], state)
    with Store.open(state) as store:
        assert store.check_segments() > 0
    catalogue = Catalogue(Sqlite(state))
    with catalogue.transaction(write=True) as c:
        c.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        if "DELETE FROM segments" in sql:
            c.exec_driver_sql(f"DELETE FROM segment_indexes WHERE segment_id IN ({OLD})")
        assert c.exec_driver_sql(sql).rowcount, sql
    catalogue.close()
    with Store.open(state) as store, pytest.raises(CorruptState):
        store.check_segments()


def test_a_batch_that_was_forgotten_and_lost_is_named(tmp_path):
    """It would be applied again."""
    state = tmp_path / "state"
    with Store.open(state, retain=2) as store:
        store.commit(Change(tables=(TableSpec("u", TYPES),)), 0)
        for i in range(1, 9):
            store.commit(Change({"u": rows(((i, "b"), 1))}, source="shop", seq=i, digest=f"d{i}"), i)
        assert store.applied("shop", 3) and store.oldest > 4
    for sql in ("DELETE FROM batches WHERE seq = 3", "UPDATE batches SET seq = 30 WHERE seq = 4"):
        copy = tmp_path / sql[:6]
        shutil.copytree(state, copy)
        catalogue = Catalogue(Sqlite(copy))
        with catalogue.transaction(write=True) as c:
            assert c.exec_driver_sql(sql).rowcount == 1
        catalogue.close()
        with pytest.raises(CorruptState, match="batch"):
            Store.open(copy)


def test_a_version_of_another_history_is_named(tmp_path):
    """Its digest is right, and so are those of all others."""
    for name, digest in (("one", "d5"), ("other", "d 5")):
        with Store.open(tmp_path / name) as store:
            for i in range(1, 9):
                store.commit(Change(source="shop", seq=i, digest=digest if i == 5 else f"d{i}"), i - 1)
    catalogue = Catalogue(Sqlite(tmp_path / "one"))
    with catalogue.transaction(write=True) as c:
        c.exec_driver_sql("DELETE FROM versions WHERE n = 5")
        theirs = Catalogue(Sqlite(tmp_path / "other"))
        with theirs.transaction() as other:
            row = other.exec_driver_sql("SELECT * FROM versions WHERE n = 5").one()
        theirs.close()
        c.exec_driver_sql(f"INSERT INTO versions VALUES ({', '.join('?' * len(row))})", tuple(row))
    catalogue.close()
    with pytest.raises(CorruptState, match="version"):
        Store.open(tmp_path / "one")


def test_a_check_of_the_files_beside_a_vacuum(good, tmp_path):
    """Files that went with their versions while they were read are not missing."""
    state = tmp_path / "state"
    shutil.copytree(good[0], state)

    class Swept(Disk):
        swept = 0

        def map(self, blob):
            if not self.swept:
                with Store.open(state) as other:
                    self.swept = other.vacuum(0).files
            return super().map(blob)

    with Store.open(state, Swept) as store:
        assert store.check_segments() > 0
        assert store._disk.swept > 0


# ---------------------------------------------------------------- failing writes


class FullDisk(Disk):
    """Fails at the operation number ``fail_at``, half way through a write."""

    fail_at = 10**9
    done = 0

    def _step(self) -> None:
        self.done += 1
        if self.done == self.fail_at:
            raise OSError(28, "No space left on device")

    def write_bytes(self, file, chunks, lasts=True):
        chunks = list(chunks)
        super().write_bytes(file, chunks[: len(chunks) // 2] if self.done + 1 == self.fail_at else chunks, lasts)
        self._step()

    def sync_folder(self):
        self._step()
        super().sync_folder()


def test_what_the_file_system_refuses_is_a_state_error(store, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match="a file, and no folder of a state"):
        Store.open(tmp_path / "file")
    shutil.rmtree(tmp_path / "state" / "segments")
    with pytest.raises(StateError, match="segments"):
        store.commit(Change({"pair": rows(((1, "a"), 1))}), 1)
    assert store.version == 1


@pytest.mark.parametrize("fail_at", [1, 2, 3])
def test_a_failed_write_changes_nothing(tmp_path, fail_at):
    build(tmp_path / "state")
    want = everything(tmp_path / "state")
    files = sorted(p.name for p in (tmp_path / "state" / "segments").iterdir())
    change = Change({"t": rows(((1, "x"), 1))}, indexes={"u": ((0,),)}, meta={"program": "other"})
    with Store.open(tmp_path / "state", FullDisk) as s:
        assert isinstance(s._disk, FullDisk)
        s._disk.fail_at = fail_at
        before = s.snapshot().scan("t").counts()
        with pytest.raises(OSError, match="No space left"):
            s.commit(change, s.version)
        assert s.snapshot().scan("t").counts() == before
        assert sorted(p.name for p in (tmp_path / "state" / "segments").iterdir()) == files
        assert everything(tmp_path / "state") == want
        assert s.commit(change, s.version) == 13
        assert s.snapshot().scan("t").counts() == {**before, (1, "x"): 1}


@pytest.mark.parametrize("error", [RipplenestError("no"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_a_failed_catalogue_write_changes_nothing(tmp_path, monkeypatch, error):
    build(tmp_path / "state")
    want = everything(tmp_path / "state")
    files = sorted(p.name for p in (tmp_path / "state" / "segments").iterdir())
    advance = Catalogue.advance

    def failing(*args):
        advance(*args)
        raise error

    with Store.open(tmp_path / "state") as s:
        monkeypatch.setattr(Catalogue, "advance", failing)
        with pytest.raises(type(error)):
            s.commit(Change({"t": rows(((1, "x"), 1))}), s.version)
    assert everything(tmp_path / "state") == want
    assert sorted(p.name for p in (tmp_path / "state" / "segments").iterdir()) == files


def test_files_of_a_commit_that_happened_after_all_are_kept(store, monkeypatch):
    """The commit is durable but reports an error: the files that it names must not be removed."""
    plain = Catalogue.transaction

    @contextmanager
    def transaction(self, write=False):
        with plain(self, write) as c:
            yield c
        if write:
            raise StateError("the answer was lost")

    monkeypatch.setattr(Catalogue, "transaction", transaction)
    with pytest.raises(StateError, match="lost"):
        store.commit(Change({"pair": rows(((1, "a"), 1))}), 1)
    assert store.version == 2 and store.snapshot().scan("pair").counts() == {(1, "a"): 1}


def test_files_of_a_writer_that_died_are_removed(store, tmp_path):
    stray = tmp_path / "state" / "segments" / "0000000009-dead.deltas"
    stray.write_bytes(b"x")
    store.close()
    with Store.open(tmp_path / "state") as s:
        assert stray.exists()
        s.commit(Change({"pair": rows(((1, "a"), 1))}), 1)
        assert not stray.exists() and s.snapshot().scan("pair").counts() == {(1, "a"): 1}
