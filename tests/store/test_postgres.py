"""The catalogue on PostgreSQL: the contract of the store, and what only a server can do to it.

The tests of the other modules that are named below run here again: ``Store.open`` without a catalogue means a state in
the database ``states``, one of many in there.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event
from store import test_damage, test_model, test_store
from store.test_damage import (
    everything,
    test_files_of_a_commit_that_happened_after_all_are_kept,
    test_files_of_a_writer_that_died_are_removed,
    test_what_the_file_system_refuses_is_a_state_error,
)
from store.test_store import (
    test_a_scanned_table_outlives_the_store,
    test_an_empty_delta_writes_nothing,
    test_batches_are_found_again,
    test_concurrent_writers_never_fork,
    test_everything_cancelled_leaves_no_segment,
    test_meta_and_tables_survive,
    test_one_commit_costs_few_fsyncs,
    test_only_the_owner_may_read,
    test_other_folders_and_formats_are_refused,
    test_the_loser_of_a_race_changes_nothing,
    test_wrong_questions_are_named,
)
from support.postgres import Server, Wire, psycopg, running
from support.shop import ANN, BOB, FILMS, movie, opened, related
from support.states import MEMORY, recomputed, state
from support.strategies import EXPLORE

import ripplenest as rn
from ripplenest.nrc.errors import BatchConflict, BatchGap, CorruptState, EnvironmentProblem, Stale, StateError
from ripplenest.nrc.types import Base
from ripplenest.rows import Rows
from ripplenest.store import Change, Disk, Store, TableSpec, backend, merging
from ripplenest.store.folder import MARKER
from ripplenest.store.tables import ALL

CONTRACT = (
    test_files_of_a_commit_that_happened_after_all_are_kept,
    test_files_of_a_writer_that_died_are_removed,
    test_what_the_file_system_refuses_is_a_state_error,
    test_a_scanned_table_outlives_the_store,
    test_an_empty_delta_writes_nothing,
    test_batches_are_found_again,
    test_concurrent_writers_never_fork,
    test_everything_cancelled_leaves_no_segment,
    test_meta_and_tables_survive,
    test_one_commit_costs_few_fsyncs,
    test_only_the_owner_may_read,
    test_other_folders_and_formats_are_refused,
    test_the_loser_of_a_race_changes_nothing,
    test_wrong_questions_are_named,
)

pytestmark = pytest.mark.xdist_group("postgres")  # one server

TYPES = (Base("long"), Base("string", True))
PAIR = TableSpec("pair", TYPES, ((1,), (1, 0)))
USUAL = {"url": ""}  # the catalogue of Store.open without one


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def url(server: Server) -> str:
    return server.create("states")


@pytest.fixture(scope="module", autouse=True)
def on_postgres(url: str) -> Iterator[None]:
    plain = Store.open

    def opened(*args, **options):
        return plain(*args, **{"catalogue": USUAL["url"], **options})

    USUAL["url"] = url
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "open", staticmethod(opened))
        patch.setattr(tempfile, "tempdir", MEMORY)
        yield


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Where no commit waits for a disk; the server's own files are elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for another writer gives up after half a second."""
    monkeypatch.setattr(backend, "_WRITE", backend._WRITE.replace("'30s'", "'500ms'"))


def rows(*pairs):
    return Rows.of_pairs(TYPES, pairs)


def one(i: int, source: str = "shop", **more) -> Change:
    """Batch ``i`` of ``source``: the row (i, source)."""
    return Change({"pair": rows(((i, source), 1))}, source=source, seq=i, digest=f"d{i}", **more)


def schema_of(state: Path) -> str:
    return "ripplenest_" + json.loads((state / MARKER).read_text())["id"]


def schemas(server: Server, database: str) -> set[str]:
    with server.connect(database) as c:
        found = c.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'ripplenest%'").fetchall()
    return {name for (name,) in found}


def files(state: Path) -> list[str]:
    return sorted(p.name for p in (state / "segments").iterdir())


def named(store: Store) -> list[str]:
    with store._catalogue.transaction() as c:
        return sorted(store._catalogue.files(c))


class Steps(Disk):
    """Calls ``hook`` before each change of the disk, with what it is: "sync" of segments, "root sync" of the marker."""

    hook: Callable[[str], object] = staticmethod(lambda _: None)

    def step(self, what, name):  # noqa: ARG002 - the name is random
        type(self).hook(what if self.folder.name == "segments" else f"root {what}")


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], object]], None]:
    return lambda f: monkeypatch.setattr(Steps, "hook", staticmethod(f))


def forked(work: Callable[[], object]) -> int:
    """The process id of a child that does ``work`` and ends with status 0, or 1 when it raises."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def ended(pid: int) -> int:
    """The status of a child, negative when a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# ---------------------------------------------------------------- the contract of the store


def test_the_contract_is_tested_here(store):
    assert len(CONTRACT) == 14 and store.where.startswith("postgresql")


def test_a_failed_commit_changes_nothing(tmp_path, monkeypatch):
    test_damage.test_a_failed_catalogue_write_changes_nothing(tmp_path, monkeypatch, KeyboardInterrupt())


@pytest.mark.long
@pytest.mark.parametrize("fail_at", [1, 2, 3])
def test_a_failed_write_changes_nothing_long(tmp_path, fail_at):
    test_damage.test_a_failed_write_changes_nothing(tmp_path, fail_at)


@pytest.mark.long
def test_many_commits_long(store, monkeypatch):
    test_store.test_merging_bounds_segments_and_keeps_answers(store, monkeypatch)


@pytest.mark.long
def test_handles_are_bounded_long(store):
    test_store.test_handles_are_bounded(store)


law = test_model.test_store_is_its_changes.hypothesis.inner_test
drawn = given(changes=st.lists(test_model.deltas(), min_size=1, max_size=12), indexed_at=st.integers(0, 11))


@settings(max_examples=2)
@drawn
def test_store_is_its_changes(changes, indexed_at):
    law(False, changes, indexed_at)


@pytest.mark.long
@settings(EXPLORE, max_examples=60)
@drawn
def test_store_is_its_changes_long(changes, indexed_at):
    law(False, changes, indexed_at)


# ---------------------------------------------------------------- several states, several processes


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


def sessions(server: Server, name: str) -> int:
    with server.connect("postgres") as c:
        return c.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [name]).fetchone()[0]


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


# ---------------------------------------------------------------- a server that goes, and a wire that breaks


def test_a_restart_between_commits_is_not_noticed(store, server):
    store.commit(one(1), 1)
    server.restart()
    assert store.commit(one(2), 2) == 3
    server.restart(signal.SIGQUIT)
    assert store.version == 3 and store.commit(one(3), 3) == 4


@pytest.mark.parametrize("how", ["restart", "crash", "down"])
@pytest.mark.parametrize("at", ["create", "names"])
def test_a_server_that_goes_in_the_middle_of_a_commit_changes_nothing(tmp_path, server, hook, how, at):
    gone = []

    def go(what):
        if what == at and not gone:
            gone.append(what)
            server.stop(signal.SIGQUIT if how == "crash" else signal.SIGINT)
            if how != "down":
                server.start()

    state = tmp_path / "state"
    with Store.open(state, Steps) as s:
        s.commit(Change(tables=(PAIR,)), 0)
        s.commit(one(1), 1)
        before = files(state)
        hook(go)
        try:
            with pytest.raises(StateError, match="the catalogue cannot be used now"):
                s.commit(one(2), 2)
            assert gone == [at] and len(files(state)) == len(before) + (how == "down")
        finally:
            if how == "down":
                server.start()
        assert s.version == 2 and s.applied("shop", 2) is None
        assert s.commit(one(2), 2) == 3
        assert files(state) == named(s)
        assert s.snapshot().scan("pair").counts() == {(1, "shop"): 1, (2, "shop"): 1}


SLOW = """
    CREATE FUNCTION {0}.slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.7); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON {0}.versions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION {0}.slow()
"""


@pytest.mark.parametrize(("cut", "slow"), [("before", False), ("after", False), ("after", True)])
def test_a_commit_with_an_unclear_outcome(tmp_path, server, hook, cut, slow):
    """The wire is cut when COMMIT is sent. Files are kept when it happened, also when it happens later."""
    state = tmp_path / "state"
    with Wire(server.port) as wire, Store.open(state, Steps, catalogue=server.url("states", wire.port)) as s:
        s.commit(Change(tables=(PAIR,)), 0)
        if slow:
            with server.connect("states") as c:
                c.execute(SLOW.format(schema_of(state)))
        hook(lambda what: what == "names" and setattr(wire, "armed", cut))
        cut == "before" and threading.Timer(0.4, wire.drop).start()
        with pytest.raises(StateError, match="the catalogue cannot be used now"):
            s.commit(one(1), 1)
        hook(lambda _: None)
        assert wire.cuts == 1 and len(files(state)) == (cut == "after")
        if cut == "after":
            assert s.version == 2 and s.applied("shop", 1) is not None
            with pytest.raises(BatchConflict):
                s.commit(one(1), 2)
        else:
            assert s.version == 1 and s.commit(one(1), 1) == 2
        assert s.snapshot().scan("pair").counts() == {(1, "shop"): 1} and s.check_segments() == 3
        assert files(state) == named(s)


# ---------------------------------------------------------------- URLs


def all_said(e: BaseException | None) -> str:
    """The texts of an error and of those behind it."""
    return "" if e is None else f"{e!r} {e} {all_said(e.__cause__)} {all_said(e.__context__)}"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("sqlite:///somewhere", "not a URL of a catalogue"),
        ("mysql://tester:SECRET@127.0.0.1/states", "not a URL of a catalogue"),
        ("postgresql+asyncpg://tester:SECRET@127.0.0.1/states", "not a URL of a catalogue"),
        ("tester:SECRET@127.0.0.1", "not a URL of a catalogue"),
        ("postgresql://tester:SECRET@127.0.0.1:port/states", "not a URL of a catalogue"),
        ("", "not a URL of a catalogue"),
        ("postgresql://tester:SECRET@127.0.0.1:{port}/states", "password authentication failed"),
        ("postgresql://127.0.0.1:{port}/states?user=tester&password=SECRET", "password authentication failed"),
        ("postgresql://tester:{password}@127.0.0.1:{port}/nowhere", 'database "nowhere" does not exist'),
        ("postgresql://tester:{password}@127.0.0.1:1/states", "Connection refused"),
        ("postgresql://tester:{password}@/states?host=/nowhere", "No such file"),
        ("postgresql://tester:{password}@127.0.0.1:{port}/states?no_option=SECRET", "no_option"),
    ],
)
def test_a_wrong_url_is_a_clear_error_without_the_password(tmp_path, server, wrong, said):
    with pytest.raises(StateError) as caught:
        Store.open(tmp_path / "state", catalogue=wrong.format(port=server.port, password=server.password))
    assert said in str(caught.value)
    assert server.password not in all_said(caught.value) and "SECRET" not in all_said(caught.value)
    assert not list((tmp_path / "state").glob("*"))  # a right URL, or none, may follow
    Store.open(tmp_path / "state", catalogue=None).close()


def test_a_missing_driver_is_named(tmp_path, url, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(EnvironmentProblem, match=r"pip install 'ripplenest\[postgres\]'"):
        Store.open(tmp_path / "state", catalogue=url)
    assert not list((tmp_path / "state").iterdir())


def test_a_user_who_may_not_make_schemas(tmp_path, server, url):
    with server.connect("states") as c:
        c.execute("CREATE ROLE guest LOGIN PASSWORD 'SECRET'")
        guest = url.replace(f"tester:{server.password}", "guest:SECRET")
        with pytest.raises(StateError, match="permission denied") as caught:
            Store.open(tmp_path / "state", catalogue=guest)
        assert "SECRET" not in all_said(caught.value) and "guest:***@127.0.0.1" in str(caught.value)
        c.execute(f"CREATE SCHEMA {schema_of(tmp_path / 'state')} AUTHORIZATION guest")
    with Store.open(tmp_path / "state", catalogue=guest) as s:
        assert s.commit(Change(tables=(PAIR,)), 0) == 1


OURS = {"lock_timeout": "30s", "tcp_keepalives_idle": "30", "synchronous_commit": "on"}  # while a commit lasts
IDLE = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)


def test_what_the_user_and_the_database_set_is_theirs(tmp_path, server):
    url = server.create("settings").replace("+psycopg", "")
    own = "options=-c%20search_path=public%20-c%20default_transaction_isolation=serializable&keepalives_idle=7"
    with server.connect("settings") as c:
        for name, value in (("synchronous_commit", "off"), ("default_transaction_read_only", "on")):
            c.execute(f"ALTER DATABASE settings SET {name} = {value}")
    with Store.open(tmp_path / "state", catalogue=f"{url}?{own}&application_name=mine") as s:
        s.commit(Change(tables=(PAIR,)), 0)
        assert s.commit(one(1), 1) == 2 and s.snapshot().scan("pair").counts() == {(1, "shop"): 1}
        assert sessions(server, "mine") == 1
        with s._catalogue.transaction() as c:
            before = {name: setting(c, name) for name in OURS}
            with socket.socket(fileno=os.dup(c.connection.driver_connection.fileno())) as wire:
                assert [wire.getsockopt(socket.IPPROTO_TCP, option) for option in IDLE] == [7, 10, 3]
        with s._catalogue.transaction(write=True) as c:
            assert {name: setting(c, name) for name in OURS} == OURS
            assert setting(c, "search_path") == schema_of(tmp_path / "state")
        with s._catalogue._backend.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as c:
            after = {name: setting(c, name) for name in OURS}
            assert (setting(c, "search_path"), setting(c, "transaction_isolation")) == ("public", "serializable")
    assert before == after and after["synchronous_commit"] == "off" and after["lock_timeout"] == "0"


def setting(c: sa.Connection, name: str) -> str:
    return str(c.execute(sa.select(sa.func.current_setting(name))).scalar_one())


# ---------------------------------------------------------------- the folder and its marker


def test_a_state_is_opened_as_it_was_made(tmp_path, url):
    Store.open(tmp_path / "here", catalogue=None).close()
    Store.open(tmp_path / "there").close()
    with pytest.raises(StateError, match="in its folder"):
        Store.open(tmp_path / "here", catalogue=url)
    with pytest.raises(StateError, match="elsewhere"):
        Store.open(tmp_path / "there", catalogue=None)
    for folder, names in (("here", {"catalogue.sqlite", "catalogue.sqlite-journal"}), ("there", {MARKER})):
        assert {p.name for p in (tmp_path / folder).iterdir()} == {*names, "segments"}
    (tmp_path / "here" / MARKER).write_bytes((tmp_path / "there" / MARKER).read_bytes())
    for catalogue in (url, None):
        with pytest.raises(StateError, match="two catalogues"):
            Store.open(tmp_path / "here", catalogue=catalogue)


def test_another_database_is_not_taken_for_a_new_one(tmp_path, server):
    other = server.create("other")
    for versions in range(3):  # the last has rows, and so files
        state = tmp_path / str(versions)
        with Store.open(state) as s:
            for n in range(versions):
                s.commit(one(n) if n else Change(tables=(PAIR,)), n)
        with pytest.raises(CorruptState, match="other: it is empty, but there are segments"):
            Store.open(state, catalogue=other)
        assert not schemas(server, "other")
        with Store.open(state) as s:
            assert s.version == versions and len(files(state)) == (versions == 2)


def damaged_markers(marker: bytes) -> Iterator[tuple[bytes, str]]:
    there = "the marker of the state has changed"
    yield from ((bad, there) for bad in (b"", b"{}", b"[]", b"7", b"\xff", b'{"id": 7}', marker[:-3], b"[" * 100_000))
    for bad in ("0" * 31, "A" * 32, "0" * 33, "public; DROP SCHEMA public", "../../etc", "0" * 31 + "\n"):
        yield json.dumps({"id": bad}).encode(), there
    place = marker.index(b'"id": "') + 7
    flipped = b"0" if marker[place : place + 1] != b"0" else b"1"
    yield marker[:place] + flipped + marker[place + 1 :], "it is empty, but there are segments"


def test_a_damaged_marker_is_named(tmp_path, server):
    state = tmp_path / "state"
    Store.open(state).close()
    marker, before = (state / MARKER).read_bytes(), schemas(server, "states")
    for bad, said in damaged_markers(marker):
        (state / MARKER).write_bytes(bad)
        with pytest.raises(CorruptState, match=said):
            Store.open(state)
    (state / MARKER).unlink()
    with pytest.raises(CorruptState, match="the marker of the state is missing"):
        Store.open(state)
    assert schemas(server, "states") == before and not (state / MARKER).exists()
    (state / MARKER).write_bytes(marker)
    Store.open(state).close()


def test_two_who_make_a_state_at_once_make_one(tmp_path, hook):
    """The second comes while the first is about to name its marker; "tidy": it even removes the first one's file."""
    for tidy in (False, True):
        state, found = tmp_path / f"state{tidy:d}", []

        def second(what, state=state, found=found, tidy=tidy):
            if what == "root link" and not found:
                found.append(None)
                for _ in range(1 + tidy):
                    with Store.open(state) as s:
                        found.append(s.identity)

        hook(second)
        with Store.open(state, Steps) as s:
            assert found[1:] == [s.identity] * (1 + tidy)
        assert {p.name for p in state.iterdir()} == {MARKER, "segments"}


def test_processes_that_make_a_state_at_once_make_one(tmp_path, server):
    for i in range(2):
        state, before = tmp_path / str(i), schemas(server, "states")
        pids = [forked(lambda state=state: Store.open(state).close()) for _ in range(4)]
        assert [ended(pid) for pid in pids] == [0] * 4
        assert schemas(server, "states") - before == {schema_of(state)}
        assert {p.name for p in state.iterdir()} == {MARKER, "segments"}


def test_two_kinds_of_catalogue_at_once_are_never_both_in_use(tmp_path, hook):
    """A SQLite state appears while the marker is about to be named: the second is refused, and the first keeps all."""
    state = tmp_path / "state"

    def second(what):
        if what == "root link":
            with Store.open(state, catalogue=None) as s:
                s.commit(Change(tables=(PAIR,)), 0)
                s.commit(one(1), 1)

    hook(second)
    with pytest.raises(StateError, match="two catalogues"):
        Store.open(state, Steps)
    (state / MARKER).unlink()
    with Store.open(state, catalogue=None) as s:
        assert s.snapshot().scan("pair").counts() == {(1, "shop"): 1}


# ---------------------------------------------------------------- what users write


NASTY = (
    "\0",
    "a\0",
    "\x1b",
    "\x1b0000",
    "\ud800",
    "\udfff\ud800",
    "🎬",
    "é",
    "e\u0301",
    "",
    "'; DROP TABLE meta",
    "%s",
)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_any_text_comes_back(tmp_path, url, kind):
    catalogue = url if kind == "postgresql" else None
    tables = tuple(TableSpec(name, TYPES) for name in NASTY)
    meta = {f"k{name}": name for name in NASTY}
    with Store.open(tmp_path / "state", catalogue=catalogue) as s:
        s.commit(Change(tables=tables, meta=meta), 0)
        for i, name in enumerate(NASTY, 1):
            more = {"source": name, "seq": 7, "digest": name, "note": {name: [name]}}
            s.commit(Change({name: rows(((i, "x"), 1))}, **more), i)
            with pytest.raises(BatchConflict):
                s.commit(Change(source=name, seq=7), i + 1)
    with Store.open(tmp_path / "state", catalogue=catalogue) as s:
        assert set(s.tables()) == set(NASTY) and s.all_meta() == meta
        assert [e.source for e in s.history()[:-2]] == list(reversed(NASTY))
        for i, name in enumerate(NASTY, 1):
            found = s.applied(name, 7)
            assert (found.version, found.digest, found.note) == (i + 1, name, {name: [name]})
            assert s.last_seq(name) == 7 and s.snapshot().scan(name).counts() == {(i, "x"): 1}
        s.vacuum(keep=0)
        assert [s.applied(name, 7).digest for name in NASTY] == list(NASTY)
        assert s.applied("\0\0", 7) is None and s.last_seq("\0\0") is None


def test_a_name_that_is_too_long_is_refused_without_showing_it(store, tmp_path):
    """PostgreSQL's indexes hold about 2,700 bytes."""
    long = secrets.token_hex(20_000)
    tables = (TableSpec(f"t{long}", TYPES),)
    for change in (one(1, f"s{long}"), Change(tables=tables), Change(meta={f"k{long}": ""})):
        with pytest.raises(StateError, match="index row") as caught:
            store.commit(change, 1)
        assert long[:50] not in all_said(caught.value)
    assert store.version == 1 and not files(tmp_path / "state")
    assert store.commit(one(1, note={"n": long}, meta={"k": long}), 1) == 2  # where there is no index


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_largest_numbers(tmp_path, url, kind):
    with Store.open(tmp_path / "state", catalogue=url if kind == "postgresql" else None) as s:
        for n, seq in enumerate((2**63 - 1, 0, -(2**63))):
            s.commit(Change(source="s", seq=seq, digest="d"), n)
            assert s.applied("s", seq).version == n + 1
        assert s.last_seq("s") == 2**63 - 1
        for source, seq in (("s", 2**63), ("s", -(2**63) - 1), ("s", True), ("s", 1.0), ("s", "1"), (7, 1)):
            for ask in (lambda: s.applied(source, seq), lambda: s.commit(Change(source=source, seq=seq), 3)):  # noqa: B023
                with pytest.raises(StateError, match="not the name of a batch"):
                    ask()
        assert s.version == 3


# ---------------------------------------------------------------- damage

DAMAGE = (
    "UPDATE segments SET died = NULL WHERE died IS NOT NULL AND table_id = 1",
    "UPDATE segments SET died = 11 WHERE id = 20",
    "DELETE FROM segment_indexes WHERE segment_id = 3",
    "UPDATE segments SET is_delta = 0 WHERE id = 3",
    "UPDATE segments SET file = (SELECT file FROM segments WHERE id = 5) WHERE id = 3",
    "UPDATE segments SET file = '/etc/passwd' WHERE id = 3",
    "DELETE FROM versions WHERE n = 12",
    "DELETE FROM versions WHERE n = 5",
    "UPDATE versions SET seq = 99 WHERE seq = 4",
    "UPDATE versions SET note = '{}' WHERE n = 4",
    "UPDATE versions SET source = source || chr(27) || '0000' WHERE n = 4",
    "UPDATE meta SET value = 'q' WHERE key = 'program'",
    "UPDATE meta SET value = '11' WHERE key = 'newest'",
    "DELETE FROM meta WHERE key = 'newest'",
    "UPDATE meta SET value = '5 x' WHERE key = 'retain'",
    "UPDATE meta SET value = '1' WHERE key = 'forgotten'",
    "UPDATE tables SET columns = replace(columns, 'true', 'false')",
    "DELETE FROM indexes WHERE position = 1",
    "DROP TABLE segment_indexes",
    "DROP TABLE batches",
    "ALTER TABLE versions DROP COLUMN note",
    "ALTER TABLE segments ALTER COLUMN rows TYPE text",
)


def all_asked(folder: Path) -> object:
    with Store.open(folder) as s:
        return everything(folder), s.usage()


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
def test_a_changed_catalogue_row_is_named(tmp_path, server, step):
    """By well-formed writes, each in a copy of the state: what PostgreSQL itself cannot notice."""
    test_damage.build(tmp_path / "whole")
    whole = all_asked(tmp_path / "whole")
    for i, text in enumerate(("SELECT", *DAMAGE[::step])):
        state = tmp_path / str(i)
        with server.connect("states") as c:
            copy_state(c, tmp_path / "whole", state)
            assert c.execute(text).rowcount, text
        if i == 0:
            assert all_asked(state) == whole
            continue
        unindexed = "DELETE FROM segment_indexes" in text  # no index is no answer, and no wrong one
        with pytest.raises(StateError if unindexed else CorruptState) as caught:
            all_asked(state)
            pytest.fail(f"not noticed: {text}")
        assert caught.value.where.endswith(("/states", ".deltas")), text


def copy_state(c: psycopg.Connection, state: Path, copy: Path) -> None:
    """A copy of a state with everything that it has in the database, where ``c`` then is."""
    shutil.copytree(state, copy)
    marker = json.loads((state / MARKER).read_text()) | {"id": secrets.token_hex(16)}
    (copy / MARKER).write_text(json.dumps(marker))
    old, new = schema_of(state), schema_of(copy)
    c.execute(f"CREATE SCHEMA {new}")
    for table in ALL.tables:
        c.execute(f"CREATE TABLE {new}.{table} (LIKE {old}.{table} INCLUDING ALL)")
        c.execute(f"INSERT INTO {new}.{table} SELECT * FROM {old}.{table}")
    c.execute(f"SET search_path = {new}")


def test_a_database_that_lost_commits_is_not_built_upon(tmp_path, server):
    """A standby took over that had not heard of version 3, or a backup: nobody builds upon what they remember of it."""
    state = tmp_path / "state"
    with Store.open(state) as s, server.connect("states") as c:
        s.commit(Change(tables=(PAIR,)), 0)
        s.commit(one(1), 1)
        copy_state(c, state, tmp_path / "backup")
        s.commit(one(2), 2)
        lost, backup = schema_of(state), schema_of(tmp_path / "backup")
        c.execute(f"ALTER SCHEMA {lost} RENAME TO ripplenest_lost")
        c.execute(f"ALTER SCHEMA {backup} RENAME TO {lost}")
        with Store.open(state) as other:
            assert other.commit(one(7), 2) == 3
        assert s.snapshot().scan("pair").counts() == {(1, "shop"): 1, (7, "shop"): 1}
        assert s.commit(one(2), 3) == 4
    with Store.open(state) as s:
        assert s.snapshot().scan("pair").counts() == {(i, "shop"): 1 for i in (1, 2, 7)} and s.check_segments() == 9
        assert files(state) == named(s)


# ---------------------------------------------------------------- killed at any step

SAMPLE = 20
KEEP = 3  # so that each commit forgets a version and removes files


Point = tuple[str, int]  # a kind of step, and which of that kind


class Kill:
    """Ends this process at the step ``at``, or writes the steps that it took to ``pipe``."""

    def __init__(self, at: Point | None, pipe: int) -> None:
        self._at, self._pipe, self.seen = at, pipe, []
        Steps.hook = staticmethod(self.step)
        event.listen(sa.Engine, "before_cursor_execute", lambda *said: self.step(said[2].split()[0]))
        event.listen(sa.Engine, "commit", lambda _: self.step("COMMIT"))

    def step(self, what: str) -> None:
        self.seen.append((what, sum(kind == what for kind, _ in self.seen)))
        if self.seen[-1] == self._at:
            os.kill(os.getpid(), signal.SIGKILL)

    def end(self) -> None:
        self.step("end")
        os.write(self._pipe, json.dumps(self.seen).encode())


def killed_at(at: Point | None, work: Callable[[], object]) -> list[Point] | None:
    """The steps of ``work`` in a process of its own; None when that was killed at the step ``at``."""
    read, write = os.pipe()

    def child():
        kill = Kill(at, write)
        work()
        kill.end()

    status = ended(forked(child))
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    assert status == (0 if said else -signal.SIGKILL)
    return [(what, n) for what, n in json.loads(said)] if said else None


def chosen(points: list[Point], sample: int | None) -> list[Point]:
    """All steps, or ``sample`` of them, evenly spread but for the last three, which come after a commit."""
    if sample is None:
        return points
    return [points[i * (len(points) - 4) // (sample - 4)] for i in range(sample - 3)] + points[-3:]


def commit_next(state: Path) -> None:
    with Store.open(state, Steps) as s:
        s.commit(one(s.version), s.version)


def check_killed_commits(state: Path, sample: int | None) -> int:
    """Commits killed at each step: version n or n + 1, nothing left over, and the batch again gives the exact state."""
    with Store.open(state, retain=KEEP) as s:
        s.commit(Change(tables=(PAIR,)), 0)
        for i in range(1, 2 * KEEP):
            s.commit(one(i), i)
        steps = killed_at(None, lambda: commit_next(state))
        wanted = {"SET", "INSERT", "UPDATE", "DELETE", "COMMIT", "create", "write", "sync", "names", "remove", "end"}
        assert wanted <= {what for what, _ in steps}
        outcomes = []
        for at in chosen(steps, sample):
            n = s.version
            if killed_at(at, lambda: commit_next(state)) is None:
                outcomes.append(s.version - n)
            assert s.applied("shop", n) is None or s.version == n + 1
            check_exact(s)
            if sample is None:
                check_next(state)
        check_next(state)
    assert set(outcomes) == {0, 1}
    return len(outcomes)


def check_exact(s: Store) -> None:
    """Batches 1, 2, … each once, and the last versions of them."""
    n = s.version
    assert s.snapshot().scan("pair").counts() == {(i, "shop"): 1 for i in range(1, n)}
    assert [(e.version, e.seq) for e in s.history()] == [(i, i - 1) for i in range(n, n - KEEP - 1, -1)]


def check_next(state: Path) -> None:
    """The next process commits what was lost, if it was, and removes what was left over."""
    with Store.open(state) as s:
        n = s.version
        assert s.commit(one(n), n) == n + 1
        check_exact(s)
        assert files(state) == named(s) and s.check_segments()


def check_killed_openings(folder: Path, server: Server, sample: int | None) -> int:
    """A new state killed at each step of being made: it opens, once in the database, with nothing left over."""
    steps = killed_at(None, lambda: Store.open(folder / "whole", Steps).close())
    wanted = {"root folder", "root link", "root remove", "CREATE", "INSERT", "COMMIT", "folder", "end"}
    assert wanted <= {what for what, _ in steps}
    killed = 0
    for i, at in enumerate(chosen(steps, sample)):
        state, before = folder / str(i), schemas(server, "states")
        killed += killed_at(at, lambda state=state: Store.open(state, Steps).close()) is None
        with Store.open(state) as s:
            assert s.version == 0 and s.commit(Change(tables=(PAIR,)), 0) == 1 and s.commit(one(1), 1) == 2
        Store.open(state).close()
        assert {p.name for p in state.iterdir()} == {MARKER, "segments"}
        assert schemas(server, "states") - before == {schema_of(state)}
    return killed


@pytest.fixture
def merging_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FANOUT", 2)
    monkeypatch.setattr(merging, "TIER_ROWS", 4)


@pytest.mark.usefixtures("merging_always")
def test_a_commit_killed_at_some_steps(tmp_path):
    assert check_killed_commits(tmp_path / "state", SAMPLE) >= SAMPLE - 2


def test_a_new_state_killed_at_some_steps(tmp_path, server):
    assert check_killed_openings(tmp_path, server, 5) == 5


@pytest.mark.long
@pytest.mark.usefixtures("merging_always")
def test_a_commit_killed_at_every_step(tmp_path):
    assert check_killed_commits(tmp_path / "state", None) > 60


@pytest.mark.long
def test_a_new_state_killed_at_every_step(tmp_path, server):
    assert check_killed_openings(tmp_path, server, None) > 40


# ---------------------------------------------------------------- the whole


def test_a_database_with_its_catalogue_there(tmp_path, url):
    """Two objects, as on two hosts: what one commits the other sees, retries change nothing, and views are right."""
    films, people = list(FILMS), [ANN, BOB]
    with opened(tmp_path / "db", catalogue=url) as here:
        here.load("M", films)
        here.load("C", people)
        here.create(related)
        with opened(tmp_path / "db", catalogue=url) as there:
            for seq, name in enumerate(("Jarhead", "é\0🎬"), 1):
                for db in (here, there):  # the second is a retry
                    with db.batch("imdb", seq) as b:
                        b.insert("M", [movie(name, "Drama", "Mendes")])
                    assert b.report.applied is (db is here)
                films.append(movie(name, "Drama", "Mendes"))
            with pytest.raises(BatchConflict), there.batch("imdb", 2) as b:
                b.insert("M", [movie("Other", "Drama", "Mendes")])
            with pytest.raises(BatchGap), there.batch("imdb", 4) as b:
                b.insert("M", [movie("Other", "Drama", "Mendes")])
            there.rollback(there.version - 1)
            recomputed(here, {"related": related}, {"M": films[:-1], "C": people})
            before = state(there)
    with pytest.raises(StateError, match="elsewhere"):
        rn.open(tmp_path / "db", engine="python", catalogue=None)
    with rn.open(tmp_path / "db", engine="python", catalogue=url) as again:
        assert state(again) == before and again.verify().ok
        assert again.where.startswith("postgresql") and "***" in again.where
