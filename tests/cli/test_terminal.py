"""What reaches a terminal or a pipe: widths, a reader that has gone, the catalogue's URL on its way."""

import os
import re
import sys

import pytest

import ripplenest as rn
from ripplenest.cli import app
from ripplenest.cli.output import escaped, print_table, size

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("width", [60, 80, 160])
def test_tables_fit_a_terminal(width, monkeypatch, capsys):
    """The last column is folded, and nothing is cut off; a pipe gets every row on one line, without colours."""
    long = " ".join(f"word{i}" for i in range(30)) + " word" + "0" * 200
    rows = [("ok", "short", long), ("wrong", "a name", "two\nlines"), ("1", "[red]name", "")]
    print_table(rows, ("state", "what", "found"))
    piped = capsys.readouterr().out
    assert piped.splitlines()[1] == f"ok     short      {long}"
    assert len(piped.splitlines()) == 5 and "\x1b" not in piped and "[red]name\n" in piped
    assert not re.search(r" $", piped, re.MULTILINE)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(rows, ("state", "what", "found"))
    coloured = capsys.readouterr().out
    shown = ANSI.sub("", coloured)
    assert max(map(len, shown.splitlines())) <= width and coloured != shown
    assert re.findall(r"word\d+", shown)[:30] == long.split()[:30]
    assert shown.count("0") == long.count("0")


def test_nothing_commands_a_terminal(capsys, run):
    print_table([("a\x1b[31m", "b\u202e\x07")])
    assert capsys.readouterr().out == "a\\u001b[31m  b\\u202e\\u0007\n"
    for args in (["check", "a\x1b[31m\u202e.py"], ["show", "a\x1b[31m\u202e"], ["check", "a", "a\x1b[31m\u202e"]):
        done = run(*args)
        assert done.exit_code == 2 and not re.search("[\x1b\u202e]", done.stderr) and "202e" in done.stderr
    assert escaped("\x1bx\n\ty\x00") == "\\u001bx\n\ty\\u0000"


@pytest.mark.parametrize(("n", "text"), [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (53_500, "53.5 kB")])
def test_sizes(n, text):
    assert size(n) == text


@pytest.mark.parametrize(
    "args", [["--help"], ["explain", "--help"], ["--version"], ["history", "STATE"], ["check", "F"]]
)
def test_a_reader_that_has_gone(args, state, tmp_path, monkeypatch, capfd):
    """As of a program that SIGPIPE ended, whoever writes: print, rich, typer's help."""
    (tmp_path / "views.nrc").write_text("relation M : Bag(string)\nview v = M\n")
    names = {"STATE": str(state), "F": str(tmp_path / "views.nrc")}
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as pipe, pytest.raises(SystemExit) as end:
        monkeypatch.setattr(sys, "stdout", pipe)
        app([names.get(a, a) for a in args])
    assert (end.value.code, capfd.readouterr().err) == (141, "")


def test_a_closed_stdout(state, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as end:
        app(["show", str(state), "skus"])
    assert end.value.code == 0


# ---------------------------------------------------------------- the catalogue

COMMANDS = [
    "explain", "show big", "changes big --since 1 --nested", "status", "history", "rollback 5 --yes", "rebuild",
    "compact", "vacuum", "publish", "publish big there", "adopt big there", "verify", "doctor",
]  # fmt: skip


@pytest.fixture
def opened(monkeypatch):
    """The URLs that states are opened with; no server is asked."""
    urls, plain = [], rn.open

    def open_state(path, **options):
        urls.append(options.pop("catalogue", None))
        return plain(path, **options)

    monkeypatch.setattr(rn, "open", open_state)
    return urls


def test_all_commands_with_a_state_are_tried():
    states = {c.callback.__name__ for c in app.registered_commands if "catalogue" in c.callback.__annotations__}
    once = {"drop", "unpublish", "migrate"}  # the last one of another format
    assert states == {command.split()[0] for command in COMMANDS} | once
    assert {c.callback.__name__ for c in app.registered_commands} - states == {"bench", "check", "demo"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_url_of_a_catalogue(command, state, run, opened, monkeypatch):
    """That of the option; else that of the variable, for a state with its catalogue elsewhere and for no other."""
    pytest.importorskip("deltalake")
    monkeypatch.chdir(state.parent)  # where "there" is
    if command.startswith("adopt"):
        with rn.open(state, engine="local") as db:
            db.publish("big", "there")
        opened.clear()
    monkeypatch.setattr("ripplenest.cli.checking.of_machine", lambda _: [])
    monkeypatch.setenv("RIPPLENEST_CATALOGUE", "postgresql://variable")
    name, *rest = command.split()
    assert run(name, state, *rest).exit_code == 0
    assert run(name, state, *rest, "--catalogue", "postgresql://option").exit_code == 0
    (state / "catalogue.json").write_text("{}")
    run(name, state, *rest)
    monkeypatch.setenv("RIPPLENEST_CATALOGUE", "")
    run(name, state, *rest)
    assert opened == [None, "postgresql://option", "postgresql://variable", None]


def test_a_url_is_for_a_state(tmp_path, run):
    (tmp_path / "views.nrc").write_text("relation M : Bag(string)\nview v = M\n")
    done = run("explain", tmp_path / "views.nrc", "--catalogue", "postgresql://option")
    framed = " ".join(line.strip("│ ") for line in done.stderr.splitlines())
    assert done.exit_code == 2 and "is no state directory" in framed
