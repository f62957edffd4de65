"""What OPERATIONS.md shows, for the tests that run it."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "OPERATIONS.md"


def programs(heading: str) -> list[str]:
    """The Python of a section."""
    section = PAGE.read_text("utf-8").split(f"\n### {heading}\n")[1].split("\n#")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)
