"""R33: the bounds of the dependencies are true: what is installed keeps them, the code needs all of them and no other.

Whether a version has a known hole is asked of an index, which tests do not reach: ``pip-audit`` in CI.
"""

import ast
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from ripplenest.spark import java, session

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("ripplenest", "nrc", "shred", "delta", "cost", "examples")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
NEEDED = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = [Requirement(text) for texts in PROJECT["optional-dependencies"].values() for text in texts]
COMES_WITH = {"py4j": "pyspark"}  # what is imported and belongs to a dependency that pins it


def name(text: str) -> str:
    return text.lower().replace("_", "-")


@cache
def imported() -> frozenset[str]:
    """The packages of others that the product imports, by the top of their import name."""
    files = [p for top in TOPS for p in (ROOT / top).glob("**/*.py")]
    trees = [ast.parse(p.read_text("utf-8")) for p in files]
    found = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return frozenset(found - {*sys.stdlib_module_names, *TOPS})


def distributions(module: str) -> set[str]:
    return {name(d) for d in metadata.packages_distributions().get(module, [module])}


@pytest.mark.parametrize("needed", [*NEEDED, *EXTRAS], ids=lambda r: r.name)
def test_what_is_installed_keeps_the_bounds(needed: Requirement) -> None:
    """R33: an extra may be missing; what is there is of a version that the bounds allow."""
    try:
        found = metadata.version(needed.name)
    except metadata.PackageNotFoundError:
        assert needed not in NEEDED
        pytest.skip("an extra that is not installed")
    assert needed.specifier.contains(found, prereleases=True), found


def test_every_bound_has_a_lower_end() -> None:
    """R33: without one, an installer may take the oldest release there is. Spark has an upper one: its next major
    version may give a query another meaning."""
    for needed in NEEDED:
        assert any(s.operator in (">=", "==", "~=") for s in needed.specifier), needed
    (spark,) = (needed for needed in NEEDED if needed.name == "pyspark")
    assert not spark.specifier.contains(f"{session.OLDEST[0] + 1}.0.0")


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    """R33: nothing works by the accident that somebody else needs it, and nothing is asked for that nobody uses."""
    declared = {name(r.name) for r in NEEDED} | {name(r.name) for r in EXTRAS}
    known = {m: {name(COMES_WITH.get(m, d)) for d in distributions(m)} for m in imported()}
    assert {m: ds for m, ds in known.items() if not ds & declared} == {}
    used = set().union(*known.values())
    assert {name(r.name) for r in NEEDED} <= used


def lowest(package: str) -> Version:
    (needed,) = (r for r in [*NEEDED, *EXTRAS] if r.name == package)
    return min(Version(s.version) for s in needed.specifier if s.operator in (">=", "==", "~="))


def test_spark_s_bound_is_the_one_that_sessions_are_held_to() -> None:
    """R33: a session of an older Spark is refused; the package must not be allowed to be one."""
    assert lowest("pyspark").release[:2] == session.OLDEST
    assert java.MINIMUM == 17  # Spark 4's own


def test_bounds_are_those_that_spark_asks_for() -> None:
    """R33: what Spark needs for DataFrames are packages that it does not install: older ones are refused when a session
    is used, and not when the project is installed."""
    wanted = [Requirement(text) for text in metadata.requires("pyspark") or ()]
    of_sql = [r for r in wanted if r.marker is not None and r.marker.evaluate({"extra": "sql"})]
    own = {name(r.name) for r in NEEDED}
    shared = [r for r in of_sql if name(r.name) in own]
    assert {"pyarrow", "numpy"} <= {name(r.name) for r in shared}
    assert [str(r) for r in shared if not r.specifier.contains(lowest(name(r.name)))] == []


def test_arrow_does_not_unpickle_what_it_reads() -> None:
    """R33, R29: before 14.0.1, pyarrow ran code that a file named as the type of a column (CVE-2023-47248)."""
    assert lowest("pyarrow") >= Version("14.0.1")


def test_the_oldest_python_is_one_everywhere() -> None:
    """R33: for installers, the linter, the type checker, make, and the sources, which it can read."""
    oldest = SpecifierSet(PROJECT["requires-python"])
    (bound,) = oldest
    major, minor = map(int, bound.version.split("."))
    assert bound.operator == ">=" and Version(sys.version.split()[0].rstrip("+")) in oldest
    assert SETTINGS["tool"]["ruff"]["target-version"] == f"py{major}{minor}"
    assert SETTINGS["tool"]["mypy"]["python_version"] == f"{major}.{minor}"
    assert f"sys.version_info < ({major}, {minor})" in (ROOT / "Makefile").read_text()
    for path in (p for top in TOPS for p in (ROOT / top).glob("**/*.py")):
        ast.parse(path.read_text("utf-8"), str(path), feature_version=(major, minor))
