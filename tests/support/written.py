"""Modules whose text a test writes: views are read from the file that they stand in."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ripplenest.nrc.errors import RipplenestError


def module(path: Path, text: str) -> Any:
    """What the ``text`` defines, in a file at ``path``."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def functions(path: Path, head: str, returned: Iterable[str], says: str = "") -> Any:
    """A module with the functions f0, f1, … of M: Bag[R], each of which returns an expression; ``says``: what the first
    of them are annotated with, one a line."""
    types = says.splitlines()
    text = head
    for n, expression in enumerate(returned):
        said = f" -> {types[n]}" if n < len(types) else ""
        text += f"\ndef f{n}(M: Bag[R]){said}:\n    return {expression}\n"
    return module(path, text)


def is_refused(made: Any, n: int, place: str, kind: type[RipplenestError], part: str) -> None:
    """Asserts that the function f``n`` is no view, with a message that has ``part`` and shows what begins as ``place``.
    """
    with pytest.raises(kind) as caught:
        made.rn.view(getattr(made, f"f{n}"))
    assert part in str(caught.value)
    _, shown, under, *_ = str(caught.value).splitlines()
    assert shown[under.index("^") :].startswith(place)
