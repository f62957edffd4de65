"""What is imported when: nothing heavy with the package, little for the help of the tool, and what each name needs."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ripplenest
import ripplenest.store

ROOT = Path(__file__).resolve().parents[1]
DATABASE = ("cattrs", "deltalake", "lark", "networkx", "numpy", "pyarrow", "pyspark", "sqlalchemy")
TASKS = ("attrs", "cattrs", "numpy", "pyarrow", "pyspark", "rich")
HEAVY = (*DATABASE, "attrs", "rich", "typer")


def loaded(program: str) -> set[str]:
    """The heavy packages that are there when ``program`` has run in a process of its own."""
    ask = f"{program}\nimport sys\nprint(*(set(sys.modules) & set({HEAVY})), sep=chr(10))"
    done = subprocess.run([sys.executable, "-P", "-c", ask], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {line for line in done.stdout.splitlines() if line in HEAVY}


def test_the_package_alone_imports_nothing_heavy() -> None:
    assert loaded("import ripplenest as rn; assert dir(rn) and rn.__all__") == set()


def test_errors_are_light() -> None:
    assert loaded("import ripplenest as rn; rn.errors.StateError; rn.RipplenestError") == set()


def test_declaring_views_needs_no_database() -> None:
    program = "from ripplenest import Bag, record, view, flatten, coalesce"
    assert not loaded(program) & {"cattrs", "networkx", "pyarrow", "pyspark", "sqlalchemy", "typer", "rich"}


def test_a_database_needs_no_spark() -> None:
    program = "import tempfile, ripplenest as rn\nwith rn.open(tempfile.mkdtemp(), engine='local') as db: db.version"
    found = loaded(f"{program}\nimport sys; assert 'sqlalchemy.dialects.postgresql' not in sys.modules")
    assert "sqlalchemy" in found and not found & {"pyspark", "deltalake", "typer"}


def test_tasks_that_load_need_no_catalogue_and_no_compiler() -> None:
    """Each of them begins in a process that has imported little: what it imports, each load waits for at first."""
    assert loaded("import ripplenest.tasks.kinds, ripplenest.tasks.loads") == {*TASKS}


def test_tasks_that_build_need_no_catalogue_either() -> None:
    """Those that read stored rows, sum rows of maps, and merge."""
    program = "import ripplenest.tasks.rows, ripplenest.tasks.summing, ripplenest.tasks.merging"
    assert loaded(program) == {*TASKS}


def test_the_help_of_the_tool_needs_no_database() -> None:
    program = """
import sys
sys.argv = ["ripplenest", "--help"]
from ripplenest.cli import app
try:
    app()
except SystemExit as end:
    assert not end.code, end.code
"""
    found = loaded(program)
    assert "typer" in found and not found & {*DATABASE}


# ---------------------------------------------------------------- the names


@pytest.mark.parametrize("collects", [True, False])
def test_whether_garbage_is_looked_for_stays_as_it_was(collects: bool) -> None:
    """Also where an import fails."""
    done = subprocess.run([sys.executable, "-P", "-c", f"""
import gc, sys, ripplenest
(gc.enable if {collects} else gc.disable)()
ripplenest.record
assert gc.isenabled() is {collects}
sys.modules["ripplenest.state.report"] = None
try:
    ripplenest.Report
except ImportError:
    assert gc.isenabled() is {collects}
else:
    raise AssertionError
"""], capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_dir_shows_the_public_names() -> None:
    assert dir(ripplenest) == sorted(ripplenest.__all__)


@pytest.mark.parametrize("package", [ripplenest, ripplenest.store])
def test_what_type_checkers_see_is_what_there_is(package: ModuleType) -> None:
    """The imports under TYPE_CHECKING and the table of homes say the same of each public name."""
    tree = ast.parse(Path(str(package.__file__)).read_text())
    (guarded,) = (n for n in tree.body if isinstance(n, ast.If))
    seen = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    more = {name: f"ripplenest.{name}:" for name in ("errors", "testing")} if package is ripplenest else {}
    assert {**seen, **more} == package._HOMES
    assert {*seen, *more} == {*package.__all__} - {"__version__"}


def test_no_module_has_the_name_of_something_public() -> None:
    """Importing a module puts it into its package under its name, where it would hide what is public. ``errors`` and
    ``testing`` are the modules that it names."""
    modules = {m.name for m in pkgutil.iter_modules(ripplenest.__path__)}
    assert modules & set(ripplenest.__all__) <= {"errors", "testing"}
    assert "reading" in modules


def test_other_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ripplenest.nothing  # noqa: B018
    with pytest.raises(ImportError, match="nothing"):
        from ripplenest import nothing  # noqa: F401, PLC0415
