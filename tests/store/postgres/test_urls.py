"""URLs: wrong ones, what the user of one may not do, and what it sets; no error shows a password."""

import os
import socket
import sys

import pytest
import sqlalchemy as sa
from support.postgres_states import PAIR, all_said, one, schema_of, sessions

from ripplenest.errors import EnvironmentProblem
from ripplenest.nrc.errors import StateError
from ripplenest.store import Change, Store

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server


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
