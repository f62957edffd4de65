"""``rebuild`` and ``drop``: what they print, and what they do."""

import json

import pytest
from attrs import evolve
from cli.conftest import Order

import ripplenest as rn
from ripplenest.api import database
from ripplenest.delta.compile import compile_view
from ripplenest.state import views


@pytest.fixture
def changed(monkeypatch):
    """Another compiler, which makes other programs of views with inner bags; nothing is rebuilt on the way."""
    monkeypatch.setattr(database, "SMALL", -1)
    other = lambda query, options: compile_view(query, evolve(options, force_domain=True))  # noqa: E731
    monkeypatch.setattr(views, "compile_view", other)


@pytest.mark.usefixtures("changed")
def test_rebuild(state, run):
    found = json.loads(run("status", state, "--json").stdout)
    assert [("waits" in v, v["rows"]) for v in found["views"]] == [(False, 11), (True, 4)]
    assert "big, 4 rows, waits for rebuild: this release makes" in run("status", state).stdout
    done = run("rebuild", state)
    assert done.exit_code == 0 and "big" in done.stdout and "another program" in done.stdout
    assert run("rebuild", state).stdout == "no view waits\n"
    assert json.loads(run("rebuild", state, "--json").stdout) == {"version": 10, "rebuilt": []}
    assert "waits" not in run("status", state).stdout
    assert "rebuild big" in run("history", state).stdout


@pytest.mark.usefixtures("changed")
def test_rebuild_of_what_is_no_view(state, run):
    done = run("rebuild", state, "nothing")
    assert done.exit_code == 2 and "no such view" in done.stderr and "big" in done.stderr


@pytest.mark.usefixtures("changed")
def test_verify_says_what_it_could_not_compare(state, run):
    done = run("verify", state)
    assert done.exit_code == 0 and "not compared: view big: it waits to be rebuilt" in done.stdout


def test_drop(state, run):
    done = run("drop", state, "big")
    assert done.exit_code == 2 and "--yes" in done.stderr
    done = run("drop", state, "Orders", "--yes")
    assert done.exit_code == 2 and "views read the relation" in done.stderr
    done = run("drop", state, "big", "--yes")
    assert (done.exit_code, done.stdout) == (0, "version 10: big is dropped; version 9 has it, show --as-of 9\n")
    with rn.open(state, engine="local") as db:
        assert db.views == ("skus",) and db.view("big", as_of=9).count() == 4
    assert json.loads(run("drop", state, "skus", "--yes", "--json").stdout) == {"version": 11, "dropped": "skus"}
    done = run("drop", state, "Orders", "--yes")
    assert done.stdout.endswith("version 11 has it, for programs that declare it again as it was\n")
    with rn.open(state, engine="local") as db:
        assert len(db.relation("Orders", Order, key="id").as_of(11).rows()) == 4
