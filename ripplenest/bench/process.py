"""Modules of this package that run in a process of their own, and what they print: one JSON object."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


class ProcessFailed(Exception):
    """It ended without an answer; the last line that it said and that is no place in a trace, or how it ended."""


def why(said: str) -> str:
    """The last line of an error; the places below it are indented, as Python and Java have them."""
    lines = [line for line in said.splitlines() if line[:1].strip()]
    return lines[-1] if lines else ""


def answered(module: str, *arguments: object, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What ``python -m module arguments`` prints, with these variables of the environment instead of ours. Raises
    ProcessFailed."""
    command = [sys.executable, "-P", "-m", module, *map(str, arguments)]
    done = subprocess.run(  # noqa: S603 - a module of this package
        command, capture_output=True, check=False, text=True, env=environ
    )
    if done.returncode:
        raise ProcessFailed(why(done.stderr) or f"it ended with {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
