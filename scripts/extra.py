"""What an extra of pyproject.toml asks for, a line for each package.

    python scripts/extra.py connect
"""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"

if __name__ == "__main__":
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    print("\n".join(extras[sys.argv[1]]))
