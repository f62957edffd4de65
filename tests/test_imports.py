"""Who may import whom: the contracts in pyproject.toml are kept, and each notices what breaks it.

import-linter reads the sources, so that an import inside of a function is seen like any other, and chains of imports.
That examples and the tool use no name of ``ripplenest`` but its public ones is mypy's to say.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("ripplenest", "nrc", "shred", "delta", "cost", "examples")

# Contract ↦ (file, lines that are added to it, what it must not import).
BREACHES = {
    "layers": [
        ("nrc/types.py", "import ripplenest.shred.terms", "ripplenest.shred.terms"),
        ("nrc/paths.py", "from ripplenest import spark", "ripplenest.spark"),
        ("shred/terms.py", "from ripplenest.cost import sizes", "ripplenest.cost.sizes"),
        ("cost/sizes.py", "from ..shred import terms", "ripplenest.shred.terms"),
        ("delta/rules.py", "import ripplenest.errors", "ripplenest.errors"),
        ("ripplenest/store/database/seal.py", "def f():\n    from ...spark.java import Java", "ripplenest.spark.java"),
        ("ripplenest/plan/lower.py", "import ripplenest.spark", "ripplenest.spark"),
        ("ripplenest/run/policy.py", "from ripplenest.api import batch", "ripplenest.api.batch"),
        ("ripplenest/state/commits.py", "def f():\n    import ripplenest.tasks.loads", "ripplenest.tasks.loads"),
    ],
    "compiler": [
        ("nrc/values.py", "from ripplenest import record", "ripplenest"),
        ("delta/degree.py", "import ripplenest as rn", "ripplenest"),
    ],
    "spark": [
        ("ripplenest/run/policy.py", "import pyspark.sql.types", "pyspark"),
        ("ripplenest/api/opening.py", "def f():\n    from py4j import java_gateway", "py4j"),
        ("ripplenest/bench/subject.py", "import pyspark", "pyspark"),
    ],
    "public": [
        ("examples/films.py", "from ripplenest import nrc", "ripplenest.nrc"),
        ("ripplenest/demo/main.py", "import ripplenest.api.database", "ripplenest.api.database"),
        ("ripplenest/cli/views.py", "from ripplenest.state.report import Report", "ripplenest.state.report"),
        ("ripplenest/bench/goals.py", "import ripplenest.run.policy", "ripplenest.run.policy"),
    ],
}
SOUND = [
    ("nrc/printing/text.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import ripplenest.spark"),
    ("examples/shop.py", "import pyspark\nfrom ripplenest import errors, record"),
    ("delta/judge.py", "from ripplenest.cost import sizes\nfrom ripplenest.shred import terms"),
]


def lint(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo", *options]
    wide = {**os.environ, "COLUMNS": "1000"}
    return subprocess.run(command, cwd=folder, env=wide, capture_output=True, text=True, check=False)


def test_the_contracts_are_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(path: Path, lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n{lines}\n")


def module(file: str) -> str:
    return "ripplenest." + file.removeprefix("ripplenest/").removesuffix(".py").replace("/", ".")


@pytest.mark.parametrize("contract", BREACHES)
def test_each_contract_notices_what_breaks_it(copy: Path, contract: str) -> None:
    for file, lines, _ in BREACHES[contract]:
        add(copy / file, lines)
    done = lint(copy, "--contract", contract)
    assert done.returncode == 1, done.stdout + done.stderr
    wanted = [f"{module(file)} -> {target} (" for file, _, target in BREACHES[contract]]
    assert [line for line in wanted if line not in done.stdout] == []


def test_each_package_has_its_place(copy: Path) -> None:
    """One that the order of layers does not name is refused, and so is a name that there is no package for."""
    add(copy / "ripplenest/further/__init__.py", "")
    assert "further" in lint(copy, "--contract", "layers").stdout
    shutil.rmtree(copy / "ripplenest/further")
    shutil.rmtree(copy / "ripplenest/demo")
    assert lint(copy, "--contract", "layers").returncode == 1


def test_every_contract_is_broken_above() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert {contract["id"] for contract in settings["contracts"]} == set(BREACHES)


def test_what_is_sound_is_not_minded(copy: Path) -> None:
    for file, lines in SOUND:
        add(copy / file, lines)
    done = lint(copy)
    assert done.returncode == 0, done.stdout
