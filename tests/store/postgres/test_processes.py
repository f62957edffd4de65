"""Several states in one database, and several processes on one state."""

import contextlib
import os
import signal
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from support.postgres_states import PAIR, Steps, ended, files, forked, named, one, schema_of, schemas, sessions

from ripplenest.errors import Stale
from ripplenest.nrc.errors import StateError
from ripplenest.store import Change, Store

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server


def test_states_in_one_database_know_nothing_of_each_other(tmp_path, server):
    before = schemas(server, "states")
    with Store.open(tmp_path / "a") as a, Store.open(tmp_path / "b") as b:
        assert schemas(server, "states") - before == {schema_of(tmp_path / "a"), schema_of(tmp_path / "b")}
        assert a.identity != b.identity and a.where == b.where
        for store, source in ((a, "a"), (b, "b")):
            store.commit(Change(tables=(PAIR,)), 0)
            store.commit(one(1, source), 1)
        with a._catalogue.transaction(write=True):  # a's lock is not b's
            assert b.commit(one(2, "b"), 2) == 3
        assert a.snapshot().scan("pair").counts() == {(1, "a"): 1} and a.applied("b", 1) is None
        assert b.snapshot().scan("pair").counts() == {(1, "b"): 1, (2, "b"): 1}


def test_close_ends_the_sessions(tmp_path, url, server):
    with Store.open(tmp_path / "s", catalogue=f"{url}?application_name=closing") as s:
        s.commit(Change(tables=(PAIR,)), 0)
        assert sessions(server, "closing") == 1
    end = time.monotonic() + 10
    while sessions(server, "closing"):
        assert time.monotonic() < end
        time.sleep(0.01)


def submit(state: Path, source: str, batches: int) -> None:
    """Commit batches 1, 2, … of ``source``, each again until it is on top of the newest version."""
    with Store.open(state) as s:
        for i in range(1, batches + 1):
            while True:
                with contextlib.suppress(Stale):
                    s.commit(one(i, source), s.version)
                    break


def race(state: Path, writers: int, batches: int) -> int:
    """Writers in processes of their own, read meanwhile; how many versions were seen on the way."""
    with Store.open(state) as s:
        s.commit(Change(tables=(PAIR,)), 0)
        pids = [forked(lambda k=k: submit(state, f"w{k}", batches)) for k in range(writers)]
        seen, end = [], time.monotonic() + 20 * writers * batches
        while s.version < 1 + writers * batches and time.monotonic() < end:
            snapshot = s.snapshot()
            counts = snapshot.scan("pair").counts()
            assert len(counts) == snapshot.version - 1 and set(counts.values()) <= {1}
            for k in range(writers):  # a prefix of each writer's batches
                mine = sorted(i for i, source in counts if source == f"w{k}")
                assert mine == list(range(1, len(mine) + 1))
            seen.append(snapshot.version)
            time.sleep(0.005)
        assert [ended(pid) for pid in pids] == [0] * writers
        assert seen == sorted(seen)
        check_history(s, writers, batches)
        assert files(state) == named(s)
    return len(set(seen))


def check_history(s: Store, writers: int, batches: int) -> None:
    total = writers * batches
    history = s.history()
    assert [e.version for e in history] == list(range(1 + total, -1, -1))
    applied = [(e.source, e.seq) for e in history if e.source]
    assert sorted(applied) == [(f"w{k}", i) for k in range(writers) for i in range(1, batches + 1)]
    assert s.snapshot().scan("pair").counts() == {(seq, source): 1 for source, seq in applied}


def test_writers_in_two_processes_never_fork_and_readers_see_prefixes(tmp_path):
    assert race(tmp_path / "state", 2, 30) > 5


@pytest.mark.long
def test_three_writers_long(tmp_path):
    assert race(tmp_path / "state", 3, 150) > 50


@pytest.mark.usefixtures("impatient")
def test_the_lock_of_a_stopped_writer_holds_and_of_a_dead_one_ends(store, tmp_path, hook):
    store.commit(one(1), 1)
    hook(lambda what: what == "names" and os.kill(os.getpid(), signal.SIGSTOP))

    def work():
        with Store.open(tmp_path / "state", Steps) as mine:
            mine.commit(one(2), 2)

    pid = forked(work)
    try:
        assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
        assert len(files(tmp_path / "state")) == 2
        with Store.open(tmp_path / "state") as other:
            with pytest.raises(StateError, match="another writer is at work"):
                other.commit(one(2), 2)
            assert other.version == 2 and other.snapshot().scan("pair").counts() == {(1, "shop"): 1}
            assert len(files(tmp_path / "state")) == 2  # those of the writer that is alive stay
            os.kill(pid, signal.SIGKILL)
            start = time.monotonic()
            assert ended(pid) == -signal.SIGKILL
            assert other.commit(one(2), 2) == 3
            assert time.monotonic() - start < 5
            assert files(tmp_path / "state") == named(other)
            assert other.snapshot().scan("pair").counts() == {(1, "shop"): 1, (2, "shop"): 1}
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_a_reader_sees_one_version_while_another_commits(store, tmp_path):
    with Store.open(tmp_path / "state") as reader, reader._catalogue.transaction() as c:
        asked = reader._catalogue
        before = (asked.newest(c), asked.last_seq(c, "shop"), asked.files(c))
        store.commit(one(1), 1)
        assert (asked.newest(c), asked.last_seq(c, "shop"), asked.files(c)) == before
        with pytest.raises(sa.exc.DBAPIError, match="read-only"):
            c.execute(sa.text("DELETE FROM versions"))
        c.rollback()
    assert store.version == 2
