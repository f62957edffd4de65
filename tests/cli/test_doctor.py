"""``doctor``: what it says of machines and states, that it never crashes, and that it leaves everything as it is."""

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
from collections import Counter

import pytest

import ripplenest as rn
from ripplenest.cli import checking, folder, machine


@pytest.fixture
def examined(monkeypatch, run):
    """What doctor says of a state alone: exit code, and by what was looked at, the finding."""
    monkeypatch.setattr(checking, "of_machine", lambda _: [])

    def examine(state, *more):
        done = run("doctor", state, "--json", *more)
        found = json.loads(done.stdout)
        assert (done.exit_code, done.stderr) == (0 if found["ok"] else 1, "")
        assert found["ok"] is all(f["state"] != "wrong" for f in found["findings"])
        assert all(bool(f["advice"]) is (f["state"] != "ok") for f in found["findings"])
        return done.exit_code, {f["what"]: f for f in found["findings"]}

    return examine


def image(folder):
    """Names, modes, times and bytes of all that is in a folder."""
    paths = [folder, *sorted(folder.rglob("*"))]
    return {p: (p.lstat().st_mode, p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in paths}


# ---------------------------------------------------------------- states


def test_a_healthy_state(state, examined):
    before = image(state)
    code, found = examined(state)
    assert (code, {what: f["state"] for what, f in found.items()}) == (
        0,
        dict.fromkeys(["rights", "modes", "space", "catalogue", "orphans", "segments"], "ok"),
    )
    with rn.open(state, engine="local") as db:
        assert found["segments"]["found"].startswith(f"{db.check_files()} segments and indexes, ")
    assert image(state) == before


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "is empty"),
        (["notes.txt"], "is no state directory: it has no catalogue.sqlite and no catalogue.json"),
        (["segments/"], "has segments, but no catalogue"),
        (["segments/", "notes.txt"], "has segments, but no catalogue"),
        (["catalogue.sqlite"], "has a catalogue, but no segments"),
        (["catalogue.json"], "has a catalogue, but no segments"),
        (["catalogue.sqlite", "segments"], "has a catalogue, but no segments"),
    ],
)
def test_a_folder_that_is_no_state_stays_as_it_is(tmp_path, examined, run, names, said):
    """For doctor and for every command that opens a state."""
    place = tmp_path / "folder"
    place.mkdir()
    for name in names:
        (place / name).mkdir() if name.endswith("/") else (place / name).touch()
    before = image(place)
    code, found = examined(place)
    assert (code, list(found)) == (1, ["state"])
    assert said in found["state"]["found"]
    assert image(place) == before
    if names != ["segments/", "notes.txt"]:  # for one of them will do
        return
    commands = ["status", "history", "compact", "vacuum", "verify", "show v", "changes v --since 1", "rollback 1 --yes"]
    for name, *rest in map(str.split, commands):
        done = run(name, place, *rest)
        assert (done.exit_code, done.stdout) == (2, "")
        assert said.split(":")[0].split(",")[0] in " ".join(line.strip("│ ") for line in done.stderr.splitlines())
    assert run("explain", place).exit_code == 2
    assert image(place) == before


def test_what_could_be_better(state, examined, monkeypatch):
    """Warnings: others may read, files of others, little room, a writer that died. The state works."""
    (state / "segments").chmod(0o750)
    (state / "catalogue.sqlite").chmod(0o604)
    (state / "no\x1b[1mtes").touch()
    (state / "segments" / "link").symlink_to("/etc/passwd")
    (state / "segments" / "0000000010-00000000000000ff.deltas").touch()
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 1))
    code, found = examined(state)
    warned = {what: f["found"] for what, f in found.items() if f["state"] == "warning"}
    assert (code, sorted(warned)) == (0, ["contents", "modes", "orphans", "space"])
    shared = ", ".join(str(state / name) for name in ("catalogue.sqlite", "no\\u001b[1mtes", "segments"))
    assert warned["modes"] == f"open to others: {shared} and 1 more"
    assert warned["contents"] == f"not of the state: {state}/no\\u001b[1mtes, {state}/segments/link"
    assert warned["orphans"].startswith("2 files that nothing names")
    assert warned["space"].startswith("1 byte free")


def test_names_are_listed_in_part(state, examined):
    for i in range(9):
        (state / f"other{i}").touch()
    _, found = examined(state)
    assert found["contents"]["found"].endswith("other2 and 6 more")


@pytest.mark.parametrize("refused", [".", "segments", "catalogue.sqlite"])
def test_rights(state, examined, monkeypatch, refused):
    """Asked of the system, which lets root do anything: the answer is made up."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != state / refused and access(path, mode))
    code, found = examined(state)
    assert (code, found["rights"]["state"]) == (1, "wrong")
    assert found["rights"]["found"] == f"no right to read and write {state / refused}"


def test_a_folder_of_somebody_else(state, examined, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: state.stat().st_uid + 1)
    code, found = examined(state)
    assert (code, found["rights"]["state"]) == (0, "warning")


def test_a_folder_that_cannot_be_read(state, examined, run, monkeypatch):
    def listdir(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "listdir", listdir)
    assert examined(state)[1]["state"]["found"] == f"{state}: Permission denied"
    done = run("status", state)
    said = f"StateError: {state}: the folder cannot be read\n  got      Permission denied\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", said)


def test_another_format(state, examined):
    with sqlite3.connect(state / "catalogue.sqlite") as c:
        c.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    code, found = examined(state)
    assert (code, found["catalogue"]["state"]) == (1, "wrong")
    assert "got      format 99" in found["catalogue"]["found"]


def test_an_old_version_that_has_changed(state, examined):
    """Nobody reads it for the newest one."""
    with sqlite3.connect(state / "catalogue.sqlite") as c:
        c.execute("UPDATE versions SET time = '2020-01-01T00:00:00+00:00' WHERE n = 3")
    code, found = examined(state)
    assert (code, found["catalogue"]["state"]) == (1, "wrong")
    assert "version 3: the catalogue has changed" in found["catalogue"]["found"]


def test_a_catalogue_that_is_elsewhere(state, examined, monkeypatch):
    """Without the URL; with one that is none; with one where nobody answers. No password is shown."""
    (state / "catalogue.sqlite").unlink()
    (state / "catalogue.json").write_text(json.dumps({"catalogue": "postgresql", "id": "0" * 32}))
    assert "possible catalogue=URL, --catalogue URL" in examined(state)[1]["catalogue"]["found"]
    pytest.importorskip("psycopg")
    url = "postgresql://me:SECRET@127.0.0.1:1/x?connect_timeout=2"
    monkeypatch.setenv("RIPPLENEST_CATALOGUE", url)
    for more in ((), ("--catalogue", url.replace("me", "you"))):
        code, found = examined(state, *more)
        assert (code, found["catalogue"]["state"]) == (1, "wrong")
        assert ("you" if more else "me") + ":***@127.0.0.1" in found["catalogue"]["found"]
        assert "SECRET" not in str(found)


KINDS, PLACES = ("bit", "short", "empty", "lost"), ("segments", "catalogue")


def damage(file, kind, chance):
    """Flip a bit, cut a file short, empty it or remove it."""
    data = bytearray(file.read_bytes())
    match kind:
        case "bit":
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case "short":
            del data[chance.randrange(len(data)) :]
        case "empty":
            data.clear()
    file.unlink() if kind == "lost" else file.write_bytes(data)


@pytest.mark.parametrize("n", [8, pytest.param(480, marks=pytest.mark.long)])
def test_every_damage_is_reported(state, tmp_path, examined, n):
    """Doctor says where, or all that is stored is still right: a bit can be one that nobody reads."""
    chance, wanted = random.Random(n), everything(state)
    segments = sorted(p for p in (state / "segments").iterdir() if p.stat().st_size)
    said: Counter[tuple[str, str, str]] = Counter()
    for i in range(n):
        kind, place = KINDS[i % 4], PLACES[i // 4 % 2]
        copy = shutil.copytree(state, tmp_path / str(i))
        file = copy / (chance.choice(segments).relative_to(state) if place == "segments" else "catalogue.sqlite")
        damage(file, kind, chance)
        code, found = examined(copy)
        said[kind, place, " ".join(what for what, f in found.items() if f["state"] == "wrong")] += 1
        if code == 0:
            assert kind == "bit" and everything(copy) == wanted
        shutil.rmtree(copy)
    noticed = {(place, wrong) for _, place, wrong in said}
    assert {("segments", "segments"), ("catalogue", "catalogue"), ("catalogue", "state")} <= noticed, said
    assert len({(kind, place) for kind, place, _ in said}) == 8


def everything(state):
    with rn.open(state, engine="local") as db:
        return db.view("big").rows(), db.view("skus").rows(), db.relation("Orders").rows(), len(db.history())


def test_in_words(state, run, monkeypatch):
    monkeypatch.setattr(checking, "of_machine", lambda _: [])
    done = run("doctor", state)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == "ok  rights     the folder can be read and written"
    assert done.stdout.endswith("\n\nall is well\n")
    (state / "other").touch(0o600)
    file = next(p for p in (state / "segments").iterdir() if p.stat().st_size)
    file.write_bytes(b"x" + file.read_bytes()[1:])
    done = run("doctor", state)
    *lines, empty, summary = done.stdout.splitlines()
    assert (done.exit_code, empty, summary) == (1, "", "1 wrong, 1 warning")
    at = next(i for i, line in enumerate(lines) if line.startswith("wrong "))
    assert lines[at].startswith("wrong    segments   CorruptState: ") and str(file) in lines[at]
    assert lines[at + 1].startswith(" " * 22 + "wanted   ")
    assert lines[-1] == " " * 20 + "→ restore the whole folder from a backup; keep a copy of what is left of it"


# ---------------------------------------------------------------- machines


def test_this_machine(run, tmp_path, monkeypatch):
    """Every question is really asked but for the session; this machine runs the tests, so all is well. A file that
    happens to be in the folder is not run."""
    (tmp_path / "pyspark.py").write_text("raise SystemExit('a file of somebody else')")
    monkeypatch.chdir(tmp_path)
    found = json.loads(run("doctor", "--json").stdout)
    states = {f["what"]: f for f in found["findings"]}
    assert found["ok"], found
    assert list(states)[:5] == ["ripplenest", "python", "pyarrow", "java", "pyspark"]
    assert "(Java " in states["java"]["found"]
    assert states["pyspark"]["found"].startswith("4.")


@pytest.mark.long
def test_a_session_of_this_machine(run):
    found = json.loads(run("doctor", "--spark", "--json").stdout)
    (session,) = (f for f in found["findings"] if f["what"] == "session")
    assert session["state"] == "ok" and "started and answered in" in session["found"]


@pytest.fixture
def asked(monkeypatch, run):
    """What doctor says of a machine that answers so."""

    def ask(*more, **answers):
        monkeypatch.setattr(machine, "ASKED", {what: ("-c", text) for what, text in answers.items()})
        done = run("doctor", "--json", *more)
        found = {f["what"]: f for f in json.loads(done.stdout)["findings"]}
        return done.exit_code, {what: (f["state"], f["found"], f["advice"]) for what, f in found.items()}

    return ask


def test_what_does_not_work(asked, monkeypatch):
    """What fails in another process is a line: an error of ours as it is, of a traceback its last line, a signal."""
    monkeypatch.setattr(machine, "ASK_SECONDS", 1.5)
    code, found = asked(
        "--spark",
        java="import sys; sys.exit('no Java\\n  wanted   17')",
        pyspark="import no_such_module",
        psycopg=f"import os; os.kill(os.getpid(), {signal.SIGKILL})",
        session="import time; time.sleep(60)",
    )
    assert code == 1
    assert found["java"] == ("wrong", "no Java\n  wanted   17", machine.ADVICE["java"])
    reinstall = "pip install --force-reinstall 'pyspark<5,>=4.1'"
    assert found["pyspark"] == ("wrong", "ModuleNotFoundError: No module named 'no_such_module'", reinstall)
    assert found["psycopg"][:2] == ("wrong", f"the process ended with status -{signal.SIGKILL}")
    assert found["session"][:2] == ("wrong", "no answer within 1.5 s")


def test_a_session_is_started_when_asked_for(asked):
    assert asked("--spark", session="print('fine')")[1]["session"] == ("ok", "fine", None)
    assert "session" not in asked(session="print('fine')")[1]


@pytest.mark.parametrize(
    ("version", "state"),
    [("4.1", "ok"), ("4.1.0.dev1", "ok"), ("4.99.3", "ok"), ("4.0.9", "wrong"), ("3.5", "wrong"), ("5.0.0", "wrong")],
)
def test_versions(version, state):
    found = machine._judged("pyspark", version)
    assert (found.state, found.found.startswith(version)) == (state, True)
    assert found.advice == (None if state == "ok" else "pip install 'pyspark<5,>=4.1'")


def test_an_extra_that_is_not_there(asked, monkeypatch):
    monkeypatch.setattr(machine, "_missing", lambda package: package == "deltalake")
    _, found = asked(deltalake="print('asked')")
    assert found["deltalake"] == ("ok", "not installed, and needed only to publish Delta tables", None)


@pytest.mark.parametrize(("mask", "state"), [(0o022, "ok"), (0o077, "ok"), (0o277, "wrong")])
def test_umask(asked, mask, state):
    before = os.umask(mask)
    try:
        assert asked()[1]["umask"][0] == state
    finally:
        assert os.umask(before) == mask


def test_python_of_this_process_is_asked(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert machine._answer("java", machine._start("-c", "print(1)")).found == "the process ended with status 1"
