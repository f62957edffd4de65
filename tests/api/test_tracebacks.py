"""What a user's program prints when it ends with an error: its own lines, one of ours, and the message."""

import inspect
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import AlreadyLoaded, OutOfMemory
from ripplenest.nrc.border import VARIABLE, Border, bordered, public
from ripplenest.nrc.errors import LawBroken, RipplenestError, WrongColumns

HEAD = """
import ripplenest as rn
from ripplenest import Bag

@rn.record
class Item:
    part: str

@rn.record
class Order:
    id: int
    items: Bag[Item]

@rn.view
def parts(Orders: Bag[Order]):
    return [i.part for o in Orders for i in o.items]

def fill(db):
    db.relation("Orders", Order, key="id")
    db.load("Orders", [{"id": 1, "items": []}])
    return db

db = fill(rn.open("state", engine="local"))
"""

# What is wrong: the line of the program, the public name, and the error.
PROGRAMS = [
    ('db.load("Orders", [{"id": 2}])', "load", "WrongColumns"),
    ('db.load("Orders", [{"id": 2, "items": []}])', "load", "AlreadyLoaded"),
    ('db.relation("Nothing")', "relation", "UnknownRelation"),
    ('db.view("nothing")', "view", "UnknownView"),
    ("db.rollback(77)", "rollback", "StateError"),
    ('db.batch().insert("Nothing", [])', "insert", "UnknownRelation"),
    ('db.batch().at("Orders", id=1).nothing', "__getattr__", "UnknownName"),
    ('db.batch().at("Orders", id=1).items["x"]', "__getitem__", "UnknownName"),
    ('db.batch().at("Orders", id=1).items.insert([1])', "insert", "WrongValue"),
    ("db.batch().report", "report", "BatchMisuse"),
    ('with db.batch() as b: b.delete("Orders", [{"id": 9, "items": []}])', "__exit__", "RowNotThere"),
    ('db.relation("Orders").as_of(77)', "as_of", "StateError"),
    ("db.create(parts).changed_rows(since=77)", "changed_rows", "StateError"),
    ("parts(Nothing=[])", "__call__", "UnknownRelation"),
    ('rn.open("state", retain=0)', "open_database", "StateError"),
    ('rn.explain(parts, sizes={"x": 1})', "explain", "UnknownName"),
    ('rn.parse("relation")', "parse_file", "ParseError"),
    ('rn.parse("relation R : Bag(int) view v = R").view("w")', "view", "UnknownView"),
    ("rn.view(lambda R: R)", "view", "Unsupported"),
    ("rn.record(type('A', (), {'__annotations__': {'x': complex}}))", "record", "Unsupported"),
]


def printed(folder: Path, program: str, **environ: str) -> list[str]:
    """What a program writes to stderr before it ends with an error."""
    (folder / "shop.py").write_text(HEAD + program + "\n")
    known = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-P", "shop.py"]
    done = subprocess.run(
        command, cwd=folder, env={**known, **environ}, capture_output=True, text=True, check=False, stdin=None
    )
    assert done.returncode == 1 and not done.stdout
    return done.stderr.splitlines()


def frames(lines: list[str]) -> list[str]:
    """The functions of a printed traceback, those of the program with their file."""
    found = [re.match(r'  File "(.*)", line \d+, in (.*)', line) for line in lines]
    return [f"shop.py {m[2]}" if m[1].endswith("shop.py") else m[2] for m in found if m]


@pytest.mark.parametrize(("program", "name", "error"), PROGRAMS, ids=[name for _, name, _ in PROGRAMS])
def test_each_public_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, name: str, error: str) -> None:
    """Within one process, as programs are many: the frames of the error, from the program's on."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(HEAD + program + "\n")
    with pytest.raises(RipplenestError) as caught:
        run(tmp_path / "shop.py")
    told = [(Path(f.filename).name, f.name) for f in traceback.extract_tb(caught.value.__traceback__)]
    mine = [i for i, (file, _) in enumerate(told) if file == "shop.py"]
    assert type(caught.value).__name__ == error
    assert [function for _, function in told[mine[-1] :]] == ["<module>", name]
    assert len(mine) == 1 and "Traceback" in "".join(traceback.format_exception(caught.value))
    assert "direct cause" not in "".join(traceback.format_exception(caught.value))


def run(path: Path) -> None:
    code = compile(path.read_text(), str(path), "exec")
    namespace: dict[str, object] = {"__name__": "shop"}
    exec(code, namespace)


def test_what_a_program_prints(tmp_path: Path) -> None:
    lines = printed(tmp_path, 'def main():\n    db.load("Orders", [{"id": 2}])\n\nmain()')
    assert frames(lines) == ["shop.py <module>", "shop.py main", "load"]
    assert any("RIPPLENEST_TRACEBACK=full" in line for line in lines)
    assert lines[-3:] != [] and any(line.startswith("ripplenest.nrc.errors.WrongColumns: ") for line in lines)
    assert len(lines) <= 14
    full = printed(tmp_path, 'db.relation("Orders"); db.load("Orders", [{"id": 2}])', RIPPLENEST_TRACEBACK="full")
    assert len(frames(full)) > 5


# ---------------------------------------------------------------- the law, by the piece


def deep(error: BaseException) -> None:
    try:
        raise KeyError("below")
    except KeyError as below:
        raise error from below


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)


def names(error: BaseException) -> list[str]:
    return [f.name for f in traceback.extract_tb(error.__traceback__)]


def called(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> BaseException:
    """What leaves when code of ours raises ``error`` below a border."""
    monkeypatch.setitem(deep.__globals__, "__name__", "ripplenest.somewhere")
    with pytest.raises(type(error)) as caught:
        bordered(deep)(error)
    assert caught.value is error
    return error


@pytest.mark.usefixtures("short")
def test_errors_of_the_program_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    error = called(WrongColumns("x"), monkeypatch)
    assert names(error) == ["called", "deep"]  # the border, under the name of what it is around
    assert error.__cause__ is None and isinstance(error.__context__, KeyError) and error.__suppress_context__


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("error", [LawBroken("x"), AssertionError(), KeyboardInterrupt(), ValueError()])
def test_defects_keep_all(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    assert names(called(error, monkeypatch)) == ["called", "deep", "deep"]
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.usefixtures("short")
def test_too_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a library below us; what the program's own code asks for is its own."""
    with monkeypatch.context() as m, pytest.raises(OutOfMemory, match="Unable to allocate 8 EiB") as told:
        m.setitem(deep.__globals__, "__name__", "ripplenest.somewhere")
        bordered(deep)(MemoryError("Unable to allocate 8 EiB"))
    assert told.value.__cause__ is None and "what is stored is as it was" in str(told.value)
    own = MemoryError()
    with pytest.raises(MemoryError) as caught, Border():
        raise own
    assert caught.value is own


def test_all_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "full")
    assert names(called(WrongColumns("x"), monkeypatch)) == ["called", "deep", "deep"]


@pytest.mark.usefixtures("short")
def test_what_the_program_was_handling_stays() -> None:
    def load() -> None:
        with Border():
            deep(WrongColumns("x"))

    with pytest.raises(WrongColumns) as caught:
        try:
            raise OSError("the program's")
        except OSError:
            load()
    error = caught.value
    assert isinstance(error.__context__, OSError) and not error.__suppress_context__ and error.__cause__ is None


@pytest.mark.usefixtures("short")
def test_code_of_the_user_that_we_call_stays(tmp_path: Path) -> None:
    """A generator of rows that fails is a line of the program, wherever we read it."""

    def rows(other: rn.Database) -> Iterator[dict[str, object]]:
        yield {"a": 1}
        other.view("nothing")

    @rn.record
    class Row:
        a: int

    with rn.open(tmp_path, engine="local") as db, pytest.raises(RipplenestError) as caught:
        db.relation("R", Row)
        db.load("R", rows(db))
    assert names(caught.value)[-2:] == ["rows", "view"] and "load" in names(caught.value)


@pytest.mark.usefixtures("short")
def test_borders_keep_what_functions_are() -> None:
    """Documentation and signatures are those of the function; what is private has no border."""
    assert str(inspect.signature(rn.Database.load)) == "(self, name: str, rows: object) -> int"
    assert rn.open.__doc__ and "state directory" in rn.open.__doc__ and rn.open.__name__ == "open_database"

    @public
    class Thing:
        """A thing."""

        def m(self) -> int:
            return self._hidden()

        def _hidden(self) -> int:
            raise AlreadyLoaded("x")

        @property
        def p(self) -> int:
            return self._hidden()

    assert not hasattr(Thing._hidden, "__wrapped__")
    for use in (lambda: Thing().m(), lambda: Thing().p):
        with pytest.raises(AlreadyLoaded):
            use()
    assert Thing.__doc__ == "A thing." and Bag


@pytest.mark.usefixtures("short")
def test_warnings_are_of_the_programs_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The border is one frame more between a program and what warns it."""

    @rn.record
    class Row:
        a: int

    @rn.view
    def pairs(R: Bag[Row]):
        return [{"a": r.a, "more": [x.a for x in R if x.a == r.a]} for r in R]

    monkeypatch.setattr(sys.modules["ripplenest.api.changes"], "SCANNED", 0)
    with rn.open(tmp_path, engine="local") as db:
        db.relation("R", Row)
        db.create(pairs)
        with db.batch() as b:
            b.insert("R", [{"a": 1}])
        with pytest.warns(UserWarning, match="read whole") as found:
            db.view("pairs").changed_rows(since=1)

    def refused(_: rn.Database) -> None:
        raise rn.errors.NotPublished("not there")

    monkeypatch.setattr(rn.Database, "catch_up", refused)
    with pytest.warns(UserWarning, match="not there") as opened:
        rn.open(tmp_path, engine="local").close()
    assert [w.filename for w in (*found, *opened)] == [__file__, __file__]


@pytest.mark.usefixtures("short", "spark")
def test_warnings_of_dataframes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @rn.record
    class Row:
        a: int

    @rn.view
    def pairs(R: Bag[Row]):
        return [{"a": r.a, "more": [x.a for x in R if x.a == r.a]} for r in R]

    monkeypatch.setattr(sys.modules["ripplenest.api.changes"], "SCANNED", 0)
    with rn.open(tmp_path, engine="local") as db:
        db.relation("R", Row)
        db.create(pairs)
        with db.batch() as b:
            b.insert("R", [{"a": 1}])
        changes = db.view("pairs").changes(since=1)
        with pytest.warns(UserWarning, match="read whole") as found:
            _ = changes.nested
    assert [w.filename for w in found] == [__file__]
