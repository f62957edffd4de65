"""``status``, ``history``, ``rollback``, ``compact`` and ``vacuum``: what they print, and what they do."""

import io
import json
import re
import sys
import warnings

import pytest
from cli.conftest import HOSTILE

import ripplenest as rn
from ripplenest.cli import app, overview

ESCAPED = "ware\\u001b[31m\\n\\u202ehouse"


def data(done):
    assert done.exit_code == 0, done.stderr
    assert done.stdout.removesuffix("\n").isprintable()
    return json.loads(done.stdout)


# ---------------------------------------------------------------- status and history


def test_status(state, run):
    found = data(run("status", state, "--json"))
    with rn.open(state, engine="local") as db:
        usage = db.usage
    assert (found["catalogue"], found["version"]) == (str(state / "catalogue.sqlite"), 9)
    assert {k: found[k] for k in ("oldest", "newest", "retain", "files", "bytes", "segments", "orphans")} == {
        "oldest": 0, "newest": 9, "retain": 50, "files": usage.files, "bytes": usage.bytes,
        "segments": usage.segments, "orphans": [],
    }  # fmt: skip
    assert found["relations"] == [{"name": "Orders", "rows": 4, "exact": True}]
    assert found["views"] == [{"name": "big", "rows": 4, "exact": True}, {"name": "skus", "rows": 11, "exact": True}]
    assert [(s["source"], s["seq"], s["version"]) for s in found["sources"]] == [(HOSTILE, 7, 8), ("shop", 3, 7)]
    assert (found["last"]["what"], found["publications"]) == ("rollback to 7", [])


def test_status_in_words(state, run):
    (state / "segments" / "0000000010-00000000000000ff.deltas").write_bytes(b"left by a writer that died")
    done = run("status", state)
    lines = [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "<time>", line) for line in done.stdout.splitlines()]
    files = lines.pop(-2)
    assert re.fullmatch(r"stored +\d+ files, [\d.]+ kB, \d+ live segments", files)
    assert lines == [
        f"catalogue  {state}/catalogue.sqlite",
        "version    9, 0 to 9 are kept (retains 50 versions besides the newest)",
        "last       <time>, rollback to 7",
        "relation   Orders, 4 rows",
        "view       big, 4 rows",
        "view       skus, 11 rows",
        f"source     {ESCAPED}, seq 7 as version 8, <time>",
        "source     shop, seq 3 as version 7, <time>",
        "orphans    1 file that nothing names; the next batch or vacuum removes them",
    ]


def test_sources_of_versions_that_are_gone(state, run):
    """What a source goes on after is known as long as its batches are, and that is for ever."""
    data(run("vacuum", state, "--keep", 1, "--json"))
    kept, gone = data(run("status", state, "--json"))["sources"]
    assert (kept["source"], kept["seq"], kept["version"]) == (HOSTILE, 7, 8)
    assert gone == {"source": "shop", "seq": 3, "version": None, "time": None}
    assert re.search(r"source +shop, seq 3, of a version no longer kept\n", run("status", state).stdout)
    with rn.open(state, engine="local") as db:
        assert db.sources == {"shop": 3, HOSTILE: 7}


def test_large_tables_are_not_counted(state, run, monkeypatch):
    monkeypatch.setattr(overview, "EXACT", 3)
    found = data(run("status", state, "--json"))
    assert [(v["exact"], v["rows"] >= 4) for v in found["views"]] == [(False, True)] * 2
    assert re.search(r"view +big, about \d+ rows\n", run("status", state).stdout)


def test_status_of_publications(state, run, tmp_path):
    pytest.importorskip("deltalake")
    with rn.open(state, engine="local") as db:
        db.publish("big", tmp_path / "published")
    published = {"view": "big", "path": str(tmp_path / "published"), "layout": "nested"}
    assert data(run("status", state, "--json"))["publications"] == [published]
    assert f"published  big, nested, at {tmp_path}/published\n" in run("status", state).stdout


def test_a_publication_that_is_behind_is_a_warning(state, run, tmp_path):
    """To read is not to publish; that a table cannot be read keeps nobody from reading the state."""
    pytest.importorskip("deltalake")
    with rn.open(state, engine="local") as db:
        db.publish("big", tmp_path / "published")
    for file in (tmp_path / "published" / "_delta_log").iterdir():
        file.write_text("{")
    warnings.simplefilter("ignore")  # as PYTHONWARNINGS may say
    done = run("show", state, "skus")
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 11)
    assert done.stderr.startswith("warning: ") and "could not be published" in done.stderr


def test_history(state, run):
    head, *lines = run("history", state).stdout.splitlines()
    assert head == "version  time (UTC)           rows in  rows out  what"
    shown = [re.split(r" {2,}", re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "<time>", line.strip())) for line in lines]
    assert shown == [
        ["9", "<time>", "rollback to 7"],
        ["8", "<time>", "3", "4", f"batch {ESCAPED}:7, recomputed"],
        *(["7", "<time>", "1", "2", "batch shop:3"], ["6", "<time>", "1", "2", "batch shop:2"]),
        ["5", "<time>", "1", "2", "batch shop:1"],
        *(["4", "<time>", "create skus"], ["3", "<time>", "create big"]),
        *(["2", "<time>", "load Orders"], ["1", "<time>", "relation Orders"], ["0", "<time>", "new state"]),
    ]


def test_history_as_data(state, run):
    found = data(run("history", state, "--limit", 2, "--json"))["versions"]
    assert [(v["version"], v["what"]) for v in found] == [(9, "rollback to 7"), (8, f"batch {HOSTILE}:7, recomputed")]
    assert found[1]["time"].endswith("+00:00")
    assert (found[1]["source"], found[1]["seq"], found[1]["note"]["kind"]) == (HOSTILE, 7, "batch")
    assert run("history", state, "--limit", 0).exit_code == 2


# ---------------------------------------------------------------- rollback


def rows(state):
    with rn.open(state, engine="local") as db:
        return db.relation("Orders").rows(), db.view("big").rows(), db.view("skus").rows(), db.version


@pytest.mark.parametrize(("to", "version"), [("5", 5), ("shop:2", 6)])
def test_rollback(state, run, to, version):
    with rn.open(state, engine="local") as db:
        wanted = db.relation("Orders").as_of(version).rows(), db.view("big").as_of(version).rows()
    assert run("rollback", state, to, "--yes").stdout == f"version 10: rows are those of version {version}\n"
    assert rows(state)[:2] == wanted
    assert data(run("rollback", state, 9, "--yes", "--json")) == {"version": 11, "to": 9}


def test_rollback_where_nobody_can_be_asked(state, run):
    before = rows(state)
    done = run("rollback", state, 5, input="y\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--yes: needed where nobody can be asked" in done.stderr
    assert run("rollback", state, 99, "--yes").exit_code == 2
    assert rows(state) == before


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("answer", "code", "version"), [("y", 0, 10), ("n", 1, 9), ("", 1, 9)])
def test_rollback_asks_on_a_terminal(state, monkeypatch, capsys, answer, code, version):
    """The question is on stderr, so that stdout has one JSON object or nothing."""
    monkeypatch.setattr(sys, "stdin", Terminal(f"{answer}\n"))
    with pytest.raises(SystemExit) as end:
        app(["rollback", str(state), "shop:1", "--json"])
    out, err = capsys.readouterr()
    assert (end.value.code, rows(state)[-1]) == (code, version)
    assert "Make version 10, with the rows of version 5, out of version 9? [y/n]" in err
    assert out == ('{"version": 10, "to": 5}\n' if code == 0 else "")


# ---------------------------------------------------------------- compact and vacuum


def test_compact_and_vacuum(state, run):
    before = rows(state)
    done = run("compact", state)
    assert re.match(r"\d+ rows? rewritten, \d+ live segments before and \d+ after\n", done.stdout)
    found = data(run("compact", state, "--all", "--json"))
    tables = 4  # Orders and its items, big and its dictionary, skus
    assert found["rows"] > 0 and found["after"]["segments"] <= tables + 1 < found["before"]["segments"]
    assert found["version"] == found["after"]["newest"] > 9
    assert data(run("compact", state, "--all", "--json"))["rows"] == 0
    assert run("compact", state).stdout.startswith("0 rows rewritten, ")
    kept = data(run("vacuum", state, "--keep", 0, "--json"))
    assert (kept["versions"], kept["after"]["oldest"]) == (found["version"], found["version"])
    assert kept["files"] > 0 and kept["bytes"] == found["after"]["bytes"] - kept["after"]["bytes"] > 0
    assert rows(state)[:3] == before[:3]
    assert run("show", state, "big", "--as-of", 9).exit_code == 2


def test_vacuum_in_words(state, run):
    """Without --keep as many as the state retains, which is all there are."""
    said = r"0 versions forgotten: 0 to 9 are kept\n0 files removed, 0 bytes: \d+ files left, [\d.]+ kB\n"
    assert re.fullmatch(said, run("vacuum", state).stdout)
    assert run("vacuum", state, "--keep", 2).stdout.startswith("7 versions forgotten: 7 to 9 are kept\n")
    assert run("compact", state, "--all").exit_code == 0
    said = r"3 versions forgotten: 10 is kept\n[1-9] files removed, [\d.]+ kB: 1 file left, [\d.]+ kB\n"
    assert re.fullmatch(said, run("vacuum", state, "--keep", 0).stdout)
    assert run("vacuum", state, "--keep", "-1").exit_code == 2


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("command", [("compact", "--all"), ("verify",), ("rebuild",), ("rollback", 1, "--yes")])
def test_commands_that_work_on_rows_take_an_amount_of_memory(state, run, command):
    name, *rest = command
    refused = run(name, state, *rest, "--memory", "lots")
    assert refused.exit_code == 2 and "not an amount of memory" in refused.stderr and "'lots'" in refused.stderr
    assert run(name, state, *rest, "--memory", "64MB").exit_code == 0
