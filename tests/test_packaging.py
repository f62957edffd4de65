"""The layout holds: one import name, packages listed, links relative, no module loaded twice."""

import os
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import ripplenest

ROOT = Path(__file__).resolve().parent.parent
COMPILER = ("nrc", "shred", "delta", "cost")
LINKED = (*COMPILER, "examples")


def sources() -> dict[str, Path]:
    """Every module of ours by its dotted name."""
    found = {}
    for path in [*ROOT.glob("ripplenest/**/*.py"), *(p for top in LINKED for p in ROOT.glob(f"{top}/**/*.py"))]:
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts if parts[0] == "ripplenest" else ("ripplenest", *parts))
        found[name.removesuffix(".__init__")] = path
    return found


SOURCES = sources()


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def test_the_sources_are_found() -> None:
    assert {"ripplenest", "ripplenest.spark.java", *(f"ripplenest.{top}" for top in COMPILER)} <= set(SOURCES)


def test_every_package_on_disk_is_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = {name for name, path in SOURCES.items() if path.name == "__init__.py"}
    assert set(listed["packages"]) == packages
    folders = {path.parent for path in SOURCES.values()}
    assert folders == {SOURCES[name].parent for name in packages}, "a folder with modules lacks its __init__.py"
    assert {"ripplenest", *(f"ripplenest.{top}" for top in COMPILER)} <= set(listed["package-dir"])
    for name, folder in listed["package-dir"].items():
        assert ROOT / folder == SOURCES[name].parent, name


def test_the_links_are_relative() -> None:
    links = {p.name: os.readlink(p) for p in (ROOT / "ripplenest").iterdir() if p.is_symlink()}
    assert links == {top: f"../{top}" for top in LINKED}


IMPORT_ALL = """
import importlib, os, pkgutil, sys
import ripplenest
for module in pkgutil.walk_packages(ripplenest.__path__, "ripplenest."):
    if not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
for name, module in sorted(sys.modules.items()):
    if getattr(module, "__file__", None):
        print(name, os.path.realpath(module.__file__), sep="\\t")
"""


def test_no_module_is_loaded_twice() -> None:
    """Neither in a program that imports all of it, nor in this process, where pytest imports the tests too."""
    done = subprocess.run([sys.executable, "-P", "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    there = [(name, Path(file)) for name, _, file in (line.partition("\t") for line in done.stdout.splitlines())]
    modules = [(name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    here = [(name, Path(file).resolve()) for name, file in modules if file]
    for loaded in (there, here):
        names: dict[Path, set[str]] = {}
        for name, file in loaded:
            if ROOT in file.parents and not within(name, "tests") and ".venv" not in file.parts:
                names.setdefault(file, set()).add(name)
        assert {file: n for file, n in names.items() if len(n) > 1} == {}
        assert [n for ns in names.values() for n in ns if n.split(".")[0] in COMPILER] == []
    assert {name for name, _ in there} >= {n for n in SOURCES if not n.endswith(".__main__")}


def test_packages_are_found_by_their_import_name() -> None:
    found = {m.name for m in pkgutil.iter_modules(ripplenest.__path__)}
    assert set(COMPILER) <= found
