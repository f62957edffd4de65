"""Commits, merging, pinned versions, batches by (source, seq), and who may read the files."""

import os
import stat
import threading
from pathlib import Path

import pytest

from ripplenest.data.rows import Rows
from ripplenest.errors import BatchConflict
from ripplenest.nrc.errors import StateError, WrongColumns, WrongValue
from ripplenest.nrc.types import Base
from ripplenest.store import Change, Store, TableSpec, merging
from ripplenest.store.database.backend import COMPILED, JOURNAL
from ripplenest.store.disk import Disk
from ripplenest.store.segments import VERIFIED, Reader

TYPES = (Base("long"), Base("string", True))


def rows(*pairs):
    return Rows.of_pairs(TYPES, pairs)


def test_merging_bounds_segments_and_keeps_answers(store, monkeypatch):
    monkeypatch.setattr(merging, "TIER_ROWS", 8)
    total, pinned = {}, []
    for i in range(1, 301):
        delta = {(i, f"k{i % 7}"): 1, (i - 5, f"k{(i - 5) % 7}"): -1 if i > 5 and i % 2 else 1}
        store.commit(Change({"pair": rows(*delta.items())}), i)
        total = Rows.of_counts(TYPES, total).plus(rows(*delta.items())).counts()
        bound = 7 * (2 + merging.tier(len(total) + 1))
        assert len(store.snapshot().segments("pair")) <= bound <= 35
        if i % 60 == 0:
            pinned.append((store.snapshot(), total))
    for snapshot, want in pinned:
        assert snapshot.scan("pair").counts() == want
        mine = {r: n for r, n in want.items() if r[1] in ("k1", "k3")}
        assert snapshot.probe("pair", (1,), [("k1",), ("k3",), ("none",)]).counts() == mine
    assert store.snapshot().delta("pair", 1).counts() == total
    assert max(merging.tier(s.rows) for s in store.snapshot().segments("pair")) > 1


def test_everything_cancelled_leaves_no_segment(store):
    for i in range(1, 17):
        store.commit(Change({"pair": rows(((1, "a"), 1 if i % 2 else -1))}), i)
    assert store.snapshot().segments("pair") == ()
    assert store.snapshot().delta("pair", 16).counts() == {(1, "a"): -1}


def test_an_empty_delta_writes_nothing(store, tmp_path):
    store.commit(Change({"pair": rows(((1, "a"), 1), ((1, "a"), -1))}, note={"rows": 0}), 1)
    assert os.listdir(tmp_path / "state" / "segments") == []
    assert store.version == 2 and store.snapshot().note(2) == {"rows": 0}


def test_one_commit_costs_few_fsyncs(store, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    tables = tuple(TableSpec(f"t{i}", TYPES, ((0,), (1,))) for i in range(20))
    store.commit(Change({t.name: rows(((1, "a"), 1)) for t in tables}, tables), 1)
    assert len(synced) == 2


def test_the_journal_stays_and_its_length_does_not_change(store, tmp_path):
    """So that a commit syncs bytes and no lengths. It is of no transaction then, and what a large one left goes."""
    journal = tmp_path / "state" / "catalogue.sqlite-journal"
    sizes = set()
    for i in range(6):
        store.commit(Change({"pair": rows(((i, "x"), 1))}), store.version)
        sizes.add(journal.stat().st_size)
        assert not any(journal.read_bytes()[:28])
    assert 0 not in sizes and len(sizes) < 6
    large = 3 * JOURNAL
    for text in "ab":
        store.commit(Change(meta={"program": text * large}), store.version)
        assert 0 < journal.stat().st_size <= JOURNAL and not any(journal.read_bytes()[:28])
    assert store.meta("program") == "b" * large


def test_batches_are_found_again(store, tmp_path):
    change = Change({"pair": rows(((1, "a"), 1))}, source="shop", seq=7, digest="d", note={"n": [1, None]})
    assert store.last_seq("shop") is None and store.applied("shop", 7) is None
    store.commit(change, 1)
    with pytest.raises(BatchConflict):
        store.commit(change, 2)
    with Store.open(tmp_path / "state") as again:
        applied = again.applied("shop", 7)
        assert applied is not None and (applied.version, applied.digest, applied.note) == (2, "d", {"n": [1, None]})
        assert again.last_seq("shop") == 7 and again.applied("shop", 8) is None and again.version == 2


def test_meta_and_tables_survive(store, tmp_path, pair):
    store.commit(Change(meta={"a": "1", "b": "\0é"}), 1)
    store.commit(Change(meta={"a": "2"}, indexes={"pair": ((0,), (1,))}), 2)
    with Store.open(tmp_path / "state") as again:
        for s in (store, again):
            assert (s.meta("a"), s.meta("b"), s.meta("c")) == ("2", "\0é", None)
            assert s.tables() == {"pair": TableSpec("pair", pair.types, (*pair.indexes, (0,)))}


def test_what_was_dropped_is_sealed_the_same_when_it_is_read_again(store, tmp_path):
    """A commit of another process seals the order in which tables were dropped, and not that of their numbers."""
    store.commit(Change(tables=(TableSpec("b", TYPES), TableSpec("a", TYPES))), 1)
    store.commit(Change(dropped=("a", "b")), 2)
    with Store.open(tmp_path / "state") as again:
        again.commit(Change(meta={"x": "1"}), 3)
    with Store.open(tmp_path / "state") as again:
        assert again.meta("x") == "1" and set(again.snapshot(2).tables) == {"pair", "a", "b"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (Change({"other": rows(((1, "a"), 1))}), StateError),
        (Change({"pair": Rows.of_counts((Base("long"),), {(1,): 1})}), WrongColumns),
        (Change({"pair": rows((("x", "a"), 1))}), WrongValue),
        (Change(tables=(TableSpec("pair", TYPES),)), StateError),
        (Change(tables=(TableSpec("new", TYPES, ((2,),)),)), StateError),
        (Change(indexes={"other": ((0,),)}), StateError),
        (Change(meta={"newest": "9"}), StateError),
        (Change(note={"x": object()}), StateError),
        (Change(source="shop"), StateError),
    ],
)
def test_a_change_that_does_not_fit_changes_nothing(store, tmp_path, change, error):
    before = store.tables()
    with pytest.raises(error):
        store.commit(change, 1)
    assert store.version == 1 and store.tables() == before and os.listdir(tmp_path / "state" / "segments") == []
    assert store.commit(Change({"pair": rows(((1, "a"), 1))}), 1) == 2


def test_wrong_questions_are_named(store):
    snapshot = store.snapshot()
    for ask in (
        lambda: snapshot.scan("other"),
        lambda: snapshot.probe("pair", (0,), [(1,)]),
        lambda: snapshot.delta("pair", 2),
        lambda: snapshot.note(-1),
        lambda: store.snapshot(2),
    ):
        with pytest.raises(StateError):
            ask()
    with pytest.raises(WrongValue):
        snapshot.probe("pair", (1,), [(1,)])


def test_the_loser_of_a_race_changes_nothing(store, tmp_path):
    with Store.open(tmp_path / "state") as other:
        store.commit(Change({"pair": rows(((1, "a"), 1))}), 1)
        with pytest.raises(StateError, match="another commit came first"):
            other.commit(Change({"pair": rows(((2, "b"), 1))}), 1)
        assert other.version == 2 and other.snapshot().scan("pair").counts() == {(1, "a"): 1}
        assert other.commit(Change({"pair": rows(((2, "b"), 1))}), 2) == 3
    assert store.snapshot().scan("pair").counts() == {(1, "a"): 1, (2, "b"): 1}


def test_concurrent_writers_never_fork(store, tmp_path):
    outcomes = []

    def work(k: int) -> None:
        with Store.open(tmp_path / "state") as mine:
            for i in range(1, 9):
                try:
                    outcomes.append((k, mine.commit(Change({"pair": rows(((k, str(i)), 1))}), i)))
                except StateError:
                    outcomes.append((k, None))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    won = [(k, n) for k, n in outcomes if n is not None]
    assert sorted(n for _, n in won) == list(range(2, store.version + 1)) and len(outcomes) == 24
    assert store.snapshot().scan("pair").counts() == {(k, str(n - 1)): 1 for k, n in won}


def test_only_the_owner_may_read(tmp_path):
    old = os.umask(0)
    try:
        with Store.open(tmp_path / "state") as s:
            s.commit(Change({"t": rows(((1, "a"), 1))}, (TableSpec("t", TYPES, ((0,),)),)), 0)
            for folder, _, files in os.walk(tmp_path / "state"):
                assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
                assert {stat.S_IMODE(os.stat(os.path.join(folder, f)).st_mode) for f in files} == {0o600}
    finally:
        os.umask(old)


def test_handles_are_bounded(store):
    store._reader = Reader(store._disk, handles=3)
    descriptors = len(os.listdir("/proc/self/fd"))
    for i in range(1, 40):
        store.commit(Change({"pair": rows(((i, "a"), 1))}), i)
        store.snapshot().probe("pair", (1,), [("a",)])
    assert len(store.snapshot().delta("pair", 1)) == 39
    assert len(store._reader._open) <= 3
    assert len(store._reader._verified) <= 3 * VERIFIED
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 1


def test_a_scanned_table_outlives_the_store(store):
    store.commit(Change({"pair": rows(((1, "a"), 1))}), 1)
    kept = store.snapshot().scan("pair")
    store.close()
    assert kept.counts() == {(1, "a"): 1}
    with pytest.raises(StateError, match="closed"):
        store.snapshot()


def test_other_folders_and_formats_are_refused(tmp_path, store):
    with store._catalogue.transaction(write=True) as c:
        c.exec_driver_sql("UPDATE meta SET value = '1' WHERE key = 'format'")
    with pytest.raises(StateError, match="format"):
        Store.open(tmp_path / "state")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").touch()
    with pytest.raises(StateError, match=r"letter\.txt"):
        Store.open(tmp_path / "home")


def test_statements_are_compiled_once_for_all_states(tmp_path):
    """Of a process: what the second state is asked is what the first was."""
    compiled = []
    for name in ("a", "b"):
        with Store.open(tmp_path / name) as s:
            s.commit(Change(tables=(TableSpec("t", TYPES),)), 0)
            s.snapshot()
        compiled.append(dict(COMPILED))
    assert compiled[0] and compiled[0] == compiled[1]


def test_names_are_made_durable_up_to_what_was_mounted(tmp_path, monkeypatch):
    """Whoever mounted it had the folder that it is mounted on."""
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path / "mounted")
    monkeypatch.setattr(Disk, "_sync", lambda _, path: synced.append(path))
    synced: list[Path] = []
    Disk(tmp_path / "mounted" / "a" / "b").create()
    assert synced == [tmp_path / "mounted" / "a", tmp_path / "mounted"]
