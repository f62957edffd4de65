"""The documents that have programs: their blocks, and how one is run."""

import re
import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
README, GUIDE, OPERATIONS = (ROOT / f"{name}.md" for name in ("README", "GUIDE", "OPERATIONS"))


def block(file: Path, has: str) -> str:
    """The one program of a document that has a text."""
    (found,) = (code for code in blocks(file) if has in code)
    return found


def blocks(file: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", file.read_text(encoding="utf-8"), re.DOTALL)


def program(text: str, folder: Path, names: dict[str, Any]) -> dict[str, Any]:
    file = folder / "program.py"
    file.write_text(text, encoding="utf-8")
    return runpy.run_path(str(file), names)


def chapter() -> str:
    """The program of the guide's recipes: the blocks of a chapter, one after the other."""
    text = GUIDE.read_text(encoding="utf-8").split("\n## 7 ")[1].split("\n## 8 ")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
