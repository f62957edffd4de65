"""A server that goes, and a wire that breaks."""

import signal
import threading

import pytest
from support.postgres import Wire
from support.postgres_states import PAIR, Steps, files, named, one, schema_of

from ripplenest.errors import BatchConflict
from ripplenest.nrc.errors import StateError
from ripplenest.store import Change, Store

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server


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
