"""Modules whose text a test writes: views are read from the file that they stand in."""

import importlib.util
from pathlib import Path
from typing import Any


def module(path: Path, text: str) -> Any:
    """What the ``text`` defines, in a file at ``path``."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
