"""R28, R29: no text of a user becomes SQL, code, a command or an object: rules over the syntax trees of the package.

``tests/test_packaging.py`` has the short list that must stay empty. Here are all doors that Spark, SQLAlchemy and
Python have. What must pass one is allowed by name with its reason, every allowance is used, and each rule is tried on
code that breaks it and on code that does not.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("ripplenest", "nrc", "shred", "delta", "cost", "examples")

# (module, what it does) ↦ why it may.
ALLOWED = {
    (
        "ripplenest/cli/program.py",
        "exec_module",
    ): "check and explain run the user's own Python file, as python FILE does",
    ("ripplenest/cli/definitions.py", "drop of a user's name"): "a database's drop, of a view or relation of that name",
    ("ripplenest/cli/program.py", "spec_from_file_location"): "the path of that file comes from the command line",
    ("ripplenest/spark/java.py", "import_module"): "the name of the extra's package is a constant of the module",
    ("ripplenest/store/backend.py", "execute of a text that is put together"): "PRAGMAs of the module's own list",
    ("ripplenest/store/backend.py", "SQL that is no constant"): "a schema called by hexadecimal digits of ours",
}
# At most one module may hand SQL to Spark, made of physical names with bound parameters; so far none does.
SQL_MODULES: frozenset[str] = frozenset()

# What Spark parses: whole queries, expressions, types in DDL, names of tables and functions.
SQL = {
    *("sql", "expr", "selectExpr", "createTempView", "createOrReplaceTempView", "createGlobalTempView"),
    *("createOrReplaceGlobalTempView", "registerTempTable", "registerFunction", "registerJavaFunction"),
    *("saveAsTable", "insertInto", "cacheTable", "executeCommand", "colRegex", "fromDDL"),
}
FUNCTIONS = {"call_function", "call_udf", "from_json", "from_csv", "from_xml", "schema_of_json", "schema_of_csv"}
CODE = {"eval", "exec", "compile", "__import__"}
OBJECTS = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "jsonpickle", "yaml"}
LOADERS = {"import_module", "exec_module", "spec_from_file_location", "run_path", "run_module", "find_loader"}
COMMANDS = {"system", "popen", "getoutput", "getstatusoutput", "spawnl", "spawnv", "execv", "execve", "execl"}
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
            case ast.Import(names=names):
                yield from (a.name for a in names if a.name.split(".")[0] in OBJECTS)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (module for _ in names[:1] if module.split(".")[0] in OBJECTS)
                doors = (
                    LOADERS - {"import_module"}
                    | COMMANDS
                    | INSIDES
                    | RDDS
                    | (SQL | FUNCTIONS if module.startswith("pyspark") else set())
                )
                yield from (a.name for a in names if a.name in doors)
            case ast.Attribute(attr=name) if spark and name in INSIDES | RDDS:
                yield name
            case ast.Call():
                yield from _calls(node, spark)


def _imports(node: ast.AST, package: str) -> bool:
    match node:
        case ast.Import(names=names):
            return any(a.name.split(".")[0] == package for a in names)
        case ast.ImportFrom(module=str(module)):
            return module.split(".")[0] == package
    return False


def _calls(call: ast.Call, spark: bool) -> Iterator[str]:
    match call.func:
        case ast.Name(id="import_module") | ast.Attribute(attr="import_module") if all(map(_is_fixed, call.args)):
            return
        case ast.Name(id=name) if name in CODE | LOADERS | COMMANDS:
            yield name
        case ast.Attribute(value=ast.Name(id="F" | "functions"), attr=name) if name in FUNCTIONS:
            yield name
        case ast.Attribute(value=ast.Name(id="builtins"), attr=name) if name in CODE:
            yield name
        case ast.Attribute(attr=name) if name in LOADERS | COMMANDS or (spark and name in SQL):
            yield name
        case ast.Attribute(attr=name) if name in CONDITIONS and spark and any(map(_is_text, call.args)):
            yield f"{name} of a text"
        case ast.Attribute(attr="exec_driver_sql") if not all(map(_is_fixed, call.args)):
            yield "SQL that is no constant"
        case ast.Attribute(attr="execute" | "text" as name) if any(map(_is_built, call.args)):
            yield f"{name} of a text that is put together"
        case ast.Name(id="getattr") if any(_constant(a) in SQL | CODE | INSIDES for a in call.args):
            yield "getattr of a door"
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMED and spark and any(map(_of_user, call.args)):
            yield f"{name} of a user's name"
    for keyword in call.keywords:
        if keyword.arg == "shell" and _constant(keyword.value) is not False:
            yield "a shell"
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
    mistake. No more than one module hands SQL to Spark."""
    # The compiler imports neither pyspark nor the product (tests/test_packaging.py): its own expr is not Spark's.
    # Examples are a user's own program.
    found = {(name, what) for name, tree in modules().items() for what in faults(tree, name.startswith("ripplenest/"))}
    sql = {name for name, what in found if what in SQL | FUNCTIONS}
    assert sql == SQL_MODULES and len(SQL_MODULES) <= 1
    assert {f for f in found if f[0] not in SQL_MODULES} == set(ALLOWED)
    assert all(reason.strip() for reason in ALLOWED.values())


def test_the_rules_look_at_everything() -> None:
    """R28: every package, those of the compiler under their own folders, and none of them twice through a link."""
    names = set(modules())
    assert {"ripplenest/spark/nest.py", "nrc/serial.py", "delta/rules.py", "cost/sizes.py", "shred/terms.py"} <= names
    assert {"examples/films.py", "ripplenest/store/seal.py"} <= names
    assert not any(name.startswith(("ripplenest/nrc", "ripplenest/delta")) for name in names)
    assert sum(any(_imports(n, "pyspark") for n in ast.walk(tree)) for tree in modules().values()) >= 7


BROKEN = """
eval(text)
exec(text)
compile(text, "f", "eval")
__import__(name)
builtins.eval(text)
import pickle
import marshal, json
import yaml
from pickle import loads
from shelve import open
import cloudpickle.cloudpickle
np.load(path, allow_pickle=True)
importlib.import_module(name)
from runpy import run_path
import_module(f"x.{name}")
os.system(text)
os.popen(text)
from os import system
subprocess.run(text, shell=True)
subprocess.run(text, shell=flag)
spark.sql(text)
spark.sql("SELECT 1")
F.expr(text)
from pyspark.sql.functions import expr
df.selectExpr("a as b")
df.createOrReplaceTempView(name)
F.from_json(c, "a INT")
StructType.fromDDL(text)
F.call_function(name, c)
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
import_module("deltalake.exceptions")
Publication.from_json(text)
ast.literal_eval(text)
compile_view(query, options)
subprocess.run([java, "-version"])
subprocess.run([java], shell=False)
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
