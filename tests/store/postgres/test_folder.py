"""The folder of a state whose catalogue is on PostgreSQL, and its marker."""

import json
from collections.abc import Iterator

import pytest
from support.postgres_states import PAIR, Steps, ended, files, forked, one, schema_of, schemas

from ripplenest.nrc.errors import CorruptState, StateError
from ripplenest.store import Change, Store
from ripplenest.store.folder import MARKER

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server


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
