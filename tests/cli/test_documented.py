"""What the documents say of commands is there: every option that follows the name of one."""

import re
from pathlib import Path

import typer

from ripplenest.cli import app

ROOT = Path(__file__).parents[2]
OPTION = re.compile(r"`(?:ripplenest )?(\w+)([^`]*)`")


def test_options_in_the_documents_are_options() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    known = {name: {o for p in c.params for o in p.opts} for name, c in commands.items()}
    told = [
        (document.name, command, option)
        for document in sorted(ROOT.glob("*.md"))
        for command, rest in OPTION.findall(document.read_text("utf-8"))
        for option in re.findall(r"(?<!\S)--[a-z-]+", rest)
        if command in known
    ]
    assert ("OPERATIONS.md", "vacuum", "--keep") in told
    assert [t for t in told if t[2] not in known[t[1]]] == []
