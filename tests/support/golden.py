"""Golden files: ``tests/golden/<pass>.txt`` holds blocks of a query and what the pass makes of it.

A block is a name, the query, and what is expected. The text of a block is compared with the file, and the test runs
the same block on random databases, so that a text which is wrong does not pass because it was once written down.
``pytest --golden-update tests/test_golden.py`` writes the files anew; the difference is then reviewed as any other.
"""

import re
from collections.abc import Mapping
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
TITLE = re.compile(r"^== (.+) ==$", re.MULTILINE)


def blocks(stage: str) -> dict[str, str]:
    """name ↦ the text below it, in ``tests/golden/<stage>.txt``."""
    path = GOLDEN / f"{stage}.txt"
    if not path.exists():
        return {}
    _, *found = TITLE.split(path.read_text(encoding="utf-8"))
    return {name: text.strip("\n") for name, text in zip(found[::2], found[1::2], strict=True)}


def write(stage: str, texts: Mapping[str, str]) -> None:
    text = "\n\n".join(f"== {name} ==\n{text}" for name, text in texts.items())
    (GOLDEN / f"{stage}.txt").write_text(f"{text}\n", encoding="utf-8")
