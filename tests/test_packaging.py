"""The layout holds: one import name, packages listed, links relative, imports in one direction, no dangerous calls.

The rules about imports and calls read the sources; they run on every module that exists, and need no list of them.
"""

import ast
import os
import pkgutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest

import ripplenest

ROOT = Path(__file__).resolve().parent.parent
COMPILER = ("nrc", "shred", "delta", "cost")

# What a package may import of ours, beside itself. ``ripplenest`` (the product) may import all.
MAY_IMPORT = {"nrc": set(), "shred": {"nrc"}, "cost": {"nrc"}, "delta": {"nrc", "shred", "cost"}}
# The command line tool is written as a user would write it, out of modules that only it has.
TOOL = ("ripplenest.cli", "ripplenest.demo", "ripplenest.examples")
LINKED = (*COMPILER, "examples")
# Module -> what it may use although nothing else does, each with a reason beside it.
ALLOWED: dict[str, set[str]] = {}

# Text as code and bytes as objects, nowhere; text as SQL and what Spark Connect lacks, nowhere that Spark can be.
CALLS = {"eval", "exec", "__import__"}
MODULES = {"pickle", "cloudpickle", "marshal", "shelve", "dill"}
METHODS = {"expr", "selectExpr", "sql"}
ATTRIBUTES = {"_jvm", "_jsc", "_jdf", "_jsparkSession", "_sc", "sparkContext", "rdd"}


def sources() -> dict[str, Path]:
    """Every module of ours by its dotted name."""
    found = {}
    for path in [*ROOT.glob("ripplenest/**/*.py"), *(p for top in LINKED for p in ROOT.glob(f"{top}/**/*.py"))]:
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts if parts[0] == "ripplenest" else ("ripplenest", *parts))
        found[name.removesuffix(".__init__")] = path
    return found


SOURCES = sources()


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(name: str, path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a module imports: (module, names), relative ones resolved; what only a type checker sees is left out."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    tree = parse(path)
    blocks = [node.body for node in ast.walk(tree) if isinstance(node, ast.If) and is_type_checking(node.test)]
    unseen = {node for block in blocks for statement in block for node in ast.walk(statement)}
    for node in ast.walk(tree):
        if node in unseen:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ()
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module or ""
            yield module, tuple(alias.name for alias in node.names)


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def ours(name: str, path: Path) -> Iterator[str]:
    """The modules of ours that a module imports; ``from ripplenest import nrc`` imports ``ripplenest.nrc``."""
    for module, names in imports(name, path):
        if module.split(".")[0] != "ripplenest":
            continue
        deeper = [f"{module}.{n}" for n in names if f"{module}.{n}" in SOURCES]
        yield from deeper
        if len(deeper) < len(names) or not names:
            yield module


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


# ---------------------------------------------------------------- packages


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


# ---------------------------------------------------------------- the direction of imports


@pytest.mark.parametrize("top", COMPILER)
def test_the_compiler_imports_downwards_only(top: str) -> None:
    allowed = [f"ripplenest.{t}" for t in {top, *MAY_IMPORT[top]}]
    wrong = [
        (name, module)
        for name, path in SOURCES.items()
        if within(name, f"ripplenest.{top}")
        for module in ours(name, path)
        if not any(within(module, package) for package in allowed)
    ]
    assert wrong == []


def test_only_spark_imports_pyspark() -> None:
    wrong = [
        (name, module)
        for name, path in SOURCES.items()
        if not within(name, "ripplenest.spark") and not within(name, "ripplenest.examples")
        for module, _ in imports(name, path)
        if module.split(".")[0] in {"pyspark", "py4j"}
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["ripplenest.store", "ripplenest.plan"])
def test_the_store_and_the_plans_do_not_know_spark(package: str) -> None:
    wrong = [
        (name, module)
        for name, path in SOURCES.items()
        if within(name, package)
        for module in ours(name, path)
        if within(module, "ripplenest.spark")
    ]
    assert wrong == []


def beyond_the_public_api(name: str, path: Path) -> Iterator[str]:
    """What a program uses of ours that is not a public name of ``ripplenest``."""
    public = set(getattr(ripplenest, "__all__", ()))
    aliases = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name for alias in node.names if alias.name == "ripplenest"}
    for module, names in imports(name, path):
        if module == "ripplenest":
            yield from (n for n in names if n not in public and not is_tool(f"ripplenest.{n}"))
        elif within(module, "ripplenest") and not is_tool(module):
            yield module
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield from () if node.attr in public else (f"{node.value.id}.{node.attr}",)


def is_tool(module: str) -> bool:
    return any(within(module, tool) for tool in TOOL)


def test_the_tool_and_the_examples_use_the_public_api_only() -> None:
    programs = {name: path for name, path in SOURCES.items() if is_tool(name)}
    wrong = {name: used for name, path in programs.items() if (used := list(beyond_the_public_api(name, path)))}
    assert wrong == {}


# ---------------------------------------------------------------- what is never called


def dangers(path: Path, spark: bool) -> Iterator[str]:
    """The names that a module uses of the lists above; ``spark``: also of those that concern Spark."""
    methods, attributes = (METHODS, ATTRIBUTES) if spark else (set(), set())
    for node in ast.walk(parse(path)):
        match node:
            case ast.Call(func=ast.Name(id=called)) if called in CALLS:
                yield called
            case ast.Call(func=ast.Attribute(attr=called)) if called in methods:
                yield called
            case ast.Attribute(attr=name) if name in attributes:
                yield name
            case ast.Import(names=aliases):
                yield from (a.name for a in aliases if a.name.split(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in MODULES:
                yield module
            case ast.ImportFrom(module=str(module), names=aliases) if module.startswith("pyspark"):
                yield from (a.name for a in aliases if a.name in methods)


def test_nothing_dangerous_is_called() -> None:
    """Every use is allowed by name, and every allowance is used: an old one would hide the next mistake.

    The compiler imports neither pyspark nor the product (tested above), so that its own ``expr`` is not Spark's.
    """
    compiler = [f"ripplenest.{top}" for top in COMPILER]
    used = {
        name: found
        for name, path in SOURCES.items()
        if (found := set(dangers(path, spark=not any(within(name, top) for top in compiler))))
    }
    assert used == ALLOWED


DANGERS = """
eval('1')
exec('1')
import pickle
from pickle import loads
from pyspark.sql.functions import expr
f.expr('a')
spark.sql('a')
df.selectExpr('a')
df.rdd.map(f)
spark._jvm.x
spark.sparkContext.setLogLevel('x')
"""


@pytest.mark.parametrize("text", DANGERS.split("\n")[1:-1])
def test_each_danger_is_noticed(tmp_path: Path, text: str) -> None:
    (tmp_path / "module.py").write_text(text)
    assert len(list(dangers(tmp_path / "module.py", spark=True))) == 1


@pytest.mark.parametrize(
    "text, seen",
    [
        ("from ripplenest import spark", ["ripplenest.spark"]),
        ("from ripplenest.nrc import types, syntax", ["ripplenest.nrc.types", "ripplenest.nrc.syntax"]),
        ("from . import syntax", ["ripplenest.nrc.syntax"]),
        ("from ..spark.java import Java", ["ripplenest.spark.java"]),
        ("def f():\n    import ripplenest.spark.java", ["ripplenest.spark.java"]),
        ("import ripplenest", ["ripplenest"]),
        ("if TYPE_CHECKING:\n    import ripplenest.spark", []),
    ],
)
def test_each_import_is_noticed(tmp_path: Path, text: str, seen: list[str]) -> None:
    (tmp_path / "module.py").write_text(text)
    assert list(ours("ripplenest.nrc.module", tmp_path / "module.py")) == seen
