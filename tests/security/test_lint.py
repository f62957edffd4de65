"""R28, R29: no text of a user becomes SQL, code, a command or an object.

What can be told by where a name comes from is ruff's: the rules S and TID251, with the list in pyproject.toml. An
exception is a ``noqa`` with its reason beside what it allows, and an old one is an error as well. What ruff cannot tell
is here, by the syntax trees of the package: methods and attributes of objects, such as ``spark.sql``, and what their
arguments are made of. What must pass is allowed by name with its reason, and every allowance is used. Each rule is
tried on code that breaks it and on code that does not.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("ripplenest", "nrc", "shred", "delta", "cost", "examples")
RULES = re.compile(r"S\d+|TID251|RUF100|syntax")

# (module, what it does) ↦ why it may.
ALLOWED = {
    ("ripplenest/cli/program.py", "exec_module"): "check and explain run the user's own file, as python FILE does",
    ("ripplenest/cli/definitions.py", "drop of a user's name"): "a database's drop, of a view or relation of that name",
    ("ripplenest/store/database/backend.py", "execute of a text that is put together"): "PRAGMAs of its own list",
    ("ripplenest/store/database/backend.py", "SQL that is no constant"): "a schema called by hex digits of ours",
    ("ripplenest/spark/session.py", "sparkContext"): "of a session that is none of Connect: whether it was stopped",
    ("ripplenest/bench/rivals/duck.py", "sql"): "DuckDB's, of queries that are constants of the module",
    ("examples/recompute.py", "col of a user's name"): "a user's own program, with names of its own",
    ("examples/recompute.py", "groupBy of a user's name"): "a user's own program, with names of its own",
}

# What Spark parses: whole queries, expressions, types in DDL, names of tables and functions.
SQL = {
    *("sql", "expr", "selectExpr", "createTempView", "createOrReplaceTempView", "createGlobalTempView"),
    *("createOrReplaceGlobalTempView", "registerTempTable", "registerFunction", "registerJavaFunction"),
    *("saveAsTable", "insertInto", "cacheTable", "executeCommand", "colRegex", "fromDDL"),
}
EVALUATE = {"eval", "exec"}  # ruff finds calls
CODE = {"compile", "__import__"}
METHODS_OF_LOADERS = {"exec_module", "load_module"}
INSIDES = {"_jvm", "_jsc", "_jdf", "_jc", "_jsparkSession", "_sc", "sparkContext", "SparkContext"}
RDDS = {"rdd", "RDD", "parallelize", "textFile", "wholeTextFiles", "mapPartitions", "foreachPartition"}
CONDITIONS = {"filter", "where"}
# Where Spark reads dots, backticks and stars in a name: only names of ours, whatever a user calls something.
NAMED = {"col", "withColumn", "withColumnRenamed", "drop", "groupBy", "orderBy", "sort", "partitionBy"}
OURS = re.compile(r"[a-z0-9_]{1,12}(\.[a-z0-9]{1,6})?", re.ASCII)
USERS = {"name", "names", "field", "fields", "path", "relation", "view", "site", "text", "label", "title"}


@cache
def modules() -> dict[str, ast.Module]:
    found = {p.relative_to(ROOT).as_posix(): p for top in TOPS for p in sorted((ROOT / top).glob("**/*.py"))}
    return {name: ast.parse(p.read_text("utf-8"), name) for name, p in found.items() if not _linked(p)}


def _linked(path: Path) -> bool:
    return any(p.is_symlink() for p in path.parents)


def faults(tree: ast.AST, spark: bool = True) -> Iterator[str]:
    """What a module does that may turn text into something that runs, one entry for each place. ``spark``: whether
    what it has in hands can be Spark's."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if spark and name in INSIDES | RDDS:
                yield name
            case ast.Call():
                yield from _calls(node, spark)


def _calls(call: ast.Call, spark: bool) -> Iterator[str]:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in CODE:
            yield name
        case ast.Attribute(attr=name) if name in METHODS_OF_LOADERS or (spark and name in SQL):
            yield name
        case ast.Attribute(attr=name) if name in CONDITIONS and spark and any(map(_is_text, call.args)):
            yield f"{name} of a text"
        case ast.Attribute(attr="exec_driver_sql") if not all(map(_is_fixed, call.args)):
            yield "SQL that is no constant"
        case ast.Attribute(attr="execute" | "text" as name) if any(map(_is_built, call.args)):
            yield f"{name} of a text that is put together"
        case ast.Name(id="getattr") if any(_constant(a) in SQL | CODE | EVALUATE | INSIDES for a in call.args):
            yield "getattr of a door"
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMED and spark and any(map(_of_user, call.args)):
            yield f"{name} of a user's name"
    for keyword in call.keywords:
        if keyword.arg == "allow_pickle" and _constant(keyword.value) is not False:
            yield "allow_pickle"


def _constant(e: ast.expr) -> object:
    return e.value if isinstance(e, ast.Constant) else None


def _is_fixed(e: ast.expr) -> bool:
    return _is_fixed(e.body) and _is_fixed(e.orelse) if isinstance(e, ast.IfExp) else isinstance(e, ast.Constant)


def _is_text(e: ast.expr) -> bool:
    return isinstance(_constant(e), str) or _is_built(e)


def _is_built(e: ast.expr) -> bool:
    """An f-string, or texts added, multiplied, formatted or joined."""
    match e:
        case ast.JoinedStr():
            return True
        case ast.BinOp(left=left, right=right):
            return _is_text(left) or _is_text(right)
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "join" | "replace" | "format_map")):
            return _is_text(value)
    return False


def _of_user(e: ast.expr) -> bool:
    """A name of a column that is not plainly one of ours: ``c0``, ``f"s{i}.c{j}"``, a constant of a module."""
    match e:
        case ast.Constant(value=str(text)):
            return OURS.fullmatch(text) is None
        case ast.JoinedStr(values=values):
            shape = "".join(str(v.value) if isinstance(v, ast.Constant) else "0" for v in values)
            filled = (v.value for v in values if isinstance(v, ast.FormattedValue))
            return OURS.fullmatch(shape) is None or any(map(_users, filled))
        case ast.BinOp() | ast.Call(func=ast.Attribute(attr="format" | "join")):
            return True
        case ast.Starred(value=value):
            return _of_user(value)
    return _users(e)


def _users(e: ast.expr) -> bool:
    match e:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in USERS
        case ast.Subscript(value=value):
            return _users(value)
    return False


def test_no_text_becomes_code_or_sql() -> None:
    """R28, R29: every use of a door is allowed by name, and every allowance is used: an old one hides the next
    mistake."""
    # The compiler imports neither pyspark nor the product (tests/test_imports.py): its own expr is not Spark's.
    product = ("ripplenest/", "examples/")
    found = {(name, what) for name, tree in modules().items() for what in faults(tree, name.startswith(product))}
    assert found == set(ALLOWED)
    assert all(reason.strip() for reason in ALLOWED.values())


def test_the_rules_look_at_everything() -> None:
    """R28: every package, those of the compiler under their own folders, and none of them twice through a link."""
    names = set(modules())
    assert {"ripplenest/spark/nest.py", "nrc/serial.py", "delta/rules.py", "cost/sizes.py", "shred/terms.py"} <= names
    assert {"examples/films.py", "ripplenest/store/database/seal.py"} <= names
    assert not any(name.startswith(("ripplenest/nrc", "ripplenest/delta")) for name in names)


def ruff(*options: str) -> list[tuple[Path, str]]:
    """(file, rule) of what ruff finds with the project's settings against the rules here, and of each old ``noqa``."""
    command = [Path(sys.executable).with_name("ruff"), "check", "--no-cache", "--output-format=json", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = ((Path(f["filename"]), f["code"] or "syntax") for f in json.loads(done.stdout))
    return [(file, code) for file, code in found if RULES.fullmatch(code)]


def test_nothing_is_imported_or_called_that_is_banned() -> None:
    """R28, R29: in the package, but for what says why, and no exception is old, for nothing or for everything."""
    assert ruff(*TOPS) == []
    lines = [line for name in modules() for line in (ROOT / name).read_text("utf-8").split("\n") if "# noqa" in line]
    excused = [line.partition("# noqa")[2] for line in lines]
    assert [text for text in excused if not re.match(r": [A-Z]", text)] == []
    ours = [text for text in excused if re.match(r": (S\d|TID)", text)]
    assert len(ours) >= 1 and [text for text in ours if not re.fullmatch(r": \w+ - .+", text)] == []


# What ruff finds: a line, after the imports that it needs.
BANNED = """
eval(text)
exec(text)
import builtins; builtins.eval(text)
import builtins; builtins.exec(text)
import pickle
import marshal, json
import yaml
from pickle import loads
from shelve import open
import cloudpickle.cloudpickle
import importlib; importlib.import_module(name)
from importlib import import_module
from importlib.util import spec_from_file_location
from importlib.machinery import SourceFileLoader
from pkgutil import resolve_name
from runpy import run_path
import os; os.system(text)
import os; os.popen(text)
import os; os.execv(text, texts)
import os; os.spawnl(os.P_WAIT, text)
from os import system
from subprocess import getoutput
import subprocess; subprocess.run(text, shell=True)
import subprocess; subprocess.run(text, shell=flag)
import subprocess; subprocess.Popen(text)
from pyspark import SparkContext
from pyspark.core.context import SparkContext
from pyspark.rdd import RDD
from pyspark.sql.functions import expr
from pyspark.sql import functions as F; F.expr(text)
import pyspark.sql.functions as F; F.from_json(c, "a INT")
from pyspark.sql import functions; functions.call_function(name, c)
from pyspark.sql.types import StructType; StructType.fromDDL(text)
import sqlalchemy as sa; sa.text("x = %s" % value)
c.execute("DELETE FROM " + name)
""".strip().split("\n")
UNBANNED = """
import re; re.compile(text)
import ast; ast.literal_eval(text)
import json; json.loads(text)
from pyspark.sql import functions as F; F.col("a")
from pyspark.sql.types import StructType; StructType([])
import sqlalchemy as sa; sa.select(t.c.name)
import importlib.util; importlib.util.find_spec("deltalake")
def f(x): assert x
""".strip().split("\n")


def test_each_ban_is_noticed(tmp_path: Path) -> None:
    """R28, R29."""
    for i, line in enumerate([*BANNED, *UNBANNED]):
        (tmp_path / f"{i}.py").write_text(line + "\n")
    found = ruff(f"--config={ROOT / 'pyproject.toml'}", str(tmp_path))
    noticed = {int(file.stem) for file, _ in found}
    assert [line for i, line in enumerate(BANNED) if i not in noticed] == []
    assert [line for i, line in enumerate(UNBANNED, len(BANNED)) if i in noticed] == []


BROKEN = """
compile(text, "f", "eval")
__import__(name)
builtins.compile(text)
np.load(path, allow_pickle=True)
loader.exec_module(module)
spark.sql(text)
spark.sql("SELECT 1")
F.expr(text)
df.selectExpr("a as b")
df.createOrReplaceTempView(name)
StructType.fromDDL(text)
df.filter("a > 1")
df.where(f"{name} > 1")
df.filter("%s > 1" % name)
df.filter("{} > 1".format(name))
df.filter("a = '" + value + "'")
F.col(name)
F.col(field.name)
F.col(f"{name}.x")
F.col("a b")
F.col("a" + x)
df.groupBy("`x`")
df.withColumn(name, c)
df.drop(*names)
df.orderBy(t.fields[0])
getattr(spark, "sql")
getattr(spark, "_jvm")
getattr(builtins, "eval")
spark._jvm.x()
spark.sparkContext
df.rdd.map(f)
sc.parallelize(rows)
c.exec_driver_sql(f"DROP TABLE {name}")
c.exec_driver_sql(self.text)
c.exec_driver_sql("BEGIN" if write else text)
c.execute("DELETE FROM " + name)
sa.text("x = %s" % value)
""".strip().split("\n")
SOUND = """
re.compile(text)
Publication.from_json(text)
ast.literal_eval(text)
compile_view(query, options)
json.loads(text)
c.exec_driver_sql("PRAGMA integrity_check(1)")
c.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
c.execute(sa.select(t.c.name))
df.filter(F.col("w") != 0)
df.filter(condition)
F.col(f"s{source}.c{number}")
F.col(f"{mine}k{i}")
F.col(WEIGHT)
F.lit(name)
column.alias(name)
df.groupBy("tag", *slots)
df.drop(*keys)
getattr(rows, "toArrow", None)
found.expr
""".strip().split("\n")


@pytest.mark.parametrize("line", BROKEN)
def test_each_rule_finds_what_breaks_it(line: str) -> None:
    """R28, R29."""
    assert len(list(faults(ast.parse(line)))) >= 1


@pytest.mark.parametrize("line", SOUND)
def test_no_rule_minds_what_is_sound(line: str) -> None:
    """R28, R29."""
    assert list(faults(ast.parse(line))) == []
