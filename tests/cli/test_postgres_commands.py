"""Commands on a state with its catalogue in PostgreSQL, on a real server."""

import json

import pytest
from cli.conftest import build
from support.postgres import running

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("postgres")]


def test_commands(tmp_path, run, monkeypatch):
    monkeypatch.setattr("ripplenest.cli.checking.of_machine", lambda _: [])
    with running() as server:
        url, state = server.create("commands"), tmp_path / "state"
        build(state, url)
        assert run("status", state).exit_code == 2
        monkeypatch.setenv("RIPPLENEST_CATALOGUE", url)
        done = run("status", state, "--json")
        assert (done.exit_code, json.loads(done.stdout)["version"]) == (0, 9)
        assert json.loads(done.stdout)["catalogue"] == url.replace(server.password, "***")
        for command in ("history", "show big", "changes big --since shop:1 --nested", "compact --all", "verify",
                        "rollback shop:1 --yes", "vacuum --keep 1", "explain", "doctor"):  # fmt: skip
            name, *rest = command.split()
            done = run(name, state, *rest)
            assert (done.exit_code, done.stderr, done.stdout != "") == (0, "", True), command
            assert server.password not in done.stdout
        assert run("status", state, "--catalogue", server.url("other")).exit_code == 2
        server.stop()
        done = run("doctor", state)
        assert done.exit_code == 1 and "the catalogue cannot be used now" in done.stdout
        assert server.password not in done.stdout
