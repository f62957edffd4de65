"""The command line tool: what it prints, and its exit codes."""

import json
import os
import py_compile
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ripplenest as rn
from ripplenest import Bag
from ripplenest.cli import app
from ripplenest.data.rows import Rows
from ripplenest.store.specs import Change

VIEWS = """
import ripplenest as rn
from ripplenest import Bag

@rn.record
class Movie:
    name: str
    gen: str | None

@rn.view
def dramas(M: Bag[Movie]):
    return [m.name for m in M if m.gen == "Drama"]

@rn.view
def names(M: Bag[Movie]):
    return [{"name": m.name} for m in M]
"""


@rn.record
class Row:
    key: int
    tags: Bag[str]


@rn.view
def tagged(R: Bag[Row]) -> object:
    return [{"key": r.key, "tags": [t for t in r.tags if t != "no"]} for r in R]


def ripplenest(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


@pytest.fixture
def views(tmp_path: Path) -> Path:
    path = tmp_path / "views.py"
    path.write_text(VIEWS)
    return path


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    with rn.open(folder, engine="local") as db:
        db.relation("R", Row, key="key")
        db.load("R", [{"key": 1, "tags": ["a", "no"]}])
        db.create(tagged)
        with db.batch() as b:
            b.at("R", key=1).tags.insert(["b"])
    return folder


def test_the_program_is_a_module() -> None:
    """python -m ripplenest, which is the script of the same name."""
    ask = [sys.executable, "-P", "-m", "ripplenest", "--version"]
    done = subprocess.run(ask, capture_output=True, text=True, check=True)
    assert done.stdout == ripplenest("--version").stdout and not done.stderr


def test_version() -> None:
    assert ripplenest("--version").stdout == f"{rn.__version__}\n" == "0.3.0\n"


def test_explain(views: Path) -> None:
    done = ripplenest("explain", views)
    assert done.exit_code == 0
    assert "dramas^F" in done.stdout
    assert "names^F" in done.stdout
    found = json.loads(ripplenest("explain", f"{views}:names", "--json").stdout)
    assert [view["view"] for view in found["views"]] == ["names"]


def test_check(views: Path) -> None:
    done = ripplenest("check", views)
    assert (done.exit_code, done.stdout) == (0, "dramas: Bag(string)\nnames: Bag(⟨name: string⟩)\n")


def test_check_of_a_wrong_view(views: Path) -> None:
    """Found by the decorator; the file is read on without it. ``explain`` has nothing to print."""
    views.write_text(VIEWS.replace("m.gen ==", "m.genre =="))
    done = ripplenest("check", views)
    assert (done.exit_code, done.stderr) == (1, "")
    assert done.stdout.startswith(f"dramas: UnknownName: {views}:12:")
    assert "possible name, gen" in done.stdout
    found, names = json.loads(ripplenest("check", views, "--json").stdout)["views"]
    right = "names: Bag(⟨name: string⟩)\n"
    assert f"{found['view']}: {found['error']}\n{right}" == done.stdout
    assert names == {"view": "names", "type": "Bag(⟨name: string⟩)"}
    explained = ripplenest("explain", views)
    assert (explained.exit_code, explained.stdout) == (2, "")
    assert explained.stderr == done.stdout.removeprefix("dramas: ").removesuffix(right)
    chosen = ripplenest("check", f"{views}:names")
    assert (chosen.exit_code, chosen.stdout) == (0, right)
    assert ripplenest("check", f"{views}:dramas").exit_code == 1


def test_check_finds_every_wrong_view_of_a_python_file(views: Path) -> None:
    """In the order of the file; one that uses a wrong one is wrong as well. What ends the reading tells nothing new."""
    views.write_text(
        VIEWS.replace("m.gen ==", "m.genre ==")
        + """
@rn.view
def users(M: Bag[Movie]):
    return [{"drama": d} for d in dramas(M)]

@rn.view
def wrong(M: Bag[Movie]):
    return [m.nothing for m in M]

users.query

@rn.view
def unread(M: Bag[Movie]):
    return M
"""
    )
    found = json.loads(ripplenest("check", views, "--json").stdout)["views"]
    assert [view["view"] for view in found] == ["dramas", "names", "users", "wrong"]
    said = [view.get("error", view.get("type")).splitlines() for view in found]
    lines = views.read_text().splitlines()
    for i, of in ((0, "m.genre"), (2, "dramas(M)"), (3, "m.nothing")):
        at = next(n for n, line in enumerate(lines, 1) if of in line)
        assert f"{views}:{at}:" in said[i][0]
        assert said[i][1].strip() == lines[at - 1].strip()
    assert said[2][0].endswith(": it needs dramas, which is wrong") and "possible" not in "".join(said[2])
    chosen = ripplenest("check", f"{views}:names")
    assert (chosen.exit_code, chosen.stdout) == (0, "names: Bag(⟨name: string⟩)\n")


@pytest.mark.parametrize("after", ["dramas.query", "1 / 0", "import nothing_there"])
def test_a_file_that_fails_without_its_wrong_view(after: str, views: Path) -> None:
    """The wrong view is what is said; a file without one fails as before."""
    views.write_text(VIEWS.replace("m.gen ==", "m.genre ==") + after)
    found = json.loads(ripplenest("check", views, "--json").stdout)["views"]
    assert [view["view"] for view in found] == ["dramas", "names"]
    if after != "dramas.query":
        views.write_text(VIEWS + after)
        done = ripplenest("check", views)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(f"{views}:{len(VIEWS.splitlines()) + 1}: the file raised ")


def test_a_file_is_run_once_and_leaves_nothing(views: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As Python runs a script: nothing compiled is kept beside it, least of all what check makes of it."""
    views.write_text(VIEWS.replace("m.gen ==", "m.genre ==") + "import os\nos.write(1, b'ran ')\nprint('said')\n")
    assert "said" not in ripplenest("check", views).stdout
    assert capfd.readouterr().out == "ran "
    views.write_text(VIEWS)
    ripplenest("explain", views)
    assert list(views.parent.iterdir()) == [views]
    compiled = views.parent / "__pycache__" / f"views.{sys.implementation.cache_tag}.pyc"
    py_compile.compile(str(views), str(compiled))
    views.write_text(VIEWS.replace("def names", "def nomes"))
    os.utime(views, (os.stat(compiled).st_mtime,) * 2)
    assert "nomes" in ripplenest("check", views).stdout


def test_check_of_a_view_that_is_wrong_at_its_first_use(views: Path) -> None:
    """It might have used what is defined below, so the views after it are checked, too."""
    views.write_text(VIEWS.replace("M: Bag[Movie]", "M: 'Bag[Film]'", 1))
    done = ripplenest("check", views, "--json")
    wrong, right = json.loads(done.stdout)["views"]
    assert (done.exit_code, wrong["view"], right) == (1, "dramas", {"view": "names", "type": "Bag(⟨name: string⟩)"})
    assert "Film" in wrong["error"]


def test_check_of_a_wrong_view_that_a_function_makes(views: Path) -> None:
    views.write_text(
        VIEWS
        + """
def made():
    @rn.view
    def inner(M: Bag[Movie]):
        return [m.nothing for m in M]
made()
"""
    )
    *right, found = json.loads(ripplenest("check", views, "--json").stdout)["views"]
    assert ([view["view"] for view in right], found["view"]) == (["dramas", "names"], "inner")


def test_check_of_a_wrong_record(views: Path) -> None:
    """An error of no view has no name of one."""
    views.write_text(VIEWS.replace("name: str\n", "name: object\n"))
    (found,) = json.loads(ripplenest("check", views, "--json").stdout)["views"]
    assert (found["view"], found["error"].partition(":")[0]) == (None, "Unsupported")
    assert ripplenest("check", views).stdout == f"{found['error']}\n"


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("x = 1\ny = (2 3)\n", "2:6", "Python cannot read this file: invalid syntax. Perhaps you forgot a comma?"),
        ("if True:\ny = 2\n", "2:1", "Python cannot read this file: expected an indented block"),
        ("import ripplenest as rn\n@rn.veiw\ndef v(): pass\n", "2", "the file raised AttributeError: "),
        ("import pandass\n", "1", "the file raised ModuleNotFoundError: No module named 'pandass'"),
        ("def f():\n    return 1 / 0\nf()\n", "2", "the file raised ZeroDivisionError: division by zero"),
        ("import json\n\njson.loads('x')\n", "3", "the file raised JSONDecodeError: "),
        ("class Odd(Exception): pass\nraise Odd\n", "2", "the file raised Odd\n"),
        ("import broken\n", "1", "the file raised SyntaxError: "),
    ],
)
def test_a_python_file_that_fails(
    source: str, line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place in the file itself, though the error is from elsewhere, and its line; nothing of how it was run."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "broken.py").write_text("1 1")
    file = tmp_path / "failing.py"
    file.write_text(source)
    for command in ("check", "explain"):
        done = ripplenest(command, file)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith(f"{file}:{line}: {message}")
        assert f"\n    {source.splitlines()[int(line.partition(':')[0]) - 1].strip()}\n" in done.stderr
        caret = f"\n{' ' * (3 + int(line.partition(':')[2]))}^" if ":" in line else "\n"
        assert caret in done.stderr
        assert len(done.stderr.splitlines()) <= 3


def test_what_a_python_file_says_cannot_command_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "says.py"
    file.write_text("raise ValueError('\\x1b[31m\\n\\u202e')")
    done = ripplenest("check", file)
    assert done.stderr.startswith(f"{file}:1: the file raised ValueError: \\u001b[31m\n\\u202e\n")


def test_a_file_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "bytes.py").write_bytes(b"x = '\0'")
    done = ripplenest("check", tmp_path / "bytes.py")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{tmp_path}/bytes.py: Python cannot read this file: ")


def test_a_python_file_that_ends_the_program(tmp_path: Path) -> None:
    """It was not read to its end, whatever it says; none of its codes is one of ours."""
    file = tmp_path / "ends.py"
    for ends, said in (("sys.exit(7)", "SystemExit: 7"), ("sys.exit()", "SystemExit")):
        file.write_text(f"import sys\n{ends}")
        done = ripplenest("check", file)
        wanted = f"{file}:2: the file raised {said}; what runs and ends stands under if __name__"
        assert (done.exit_code, done.stdout) == (2, "") and done.stderr.startswith(wanted)


TEXT = """
relation M : Bag(⟨name: string, gen: string?⟩) key name
view dramas = [ m.name | m in M, m.gen = "Drama" ]
view names = for m in M union sng(⟨name: m.name⟩)
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "views.nrc"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_file_in_the_text_language(text: Path, views: Path) -> None:
    done = ripplenest("check", text)
    assert (done.exit_code, done.stdout) == (0, "dramas: Bag(string)\nnames: Bag(⟨name: string⟩)\n")
    assert ripplenest("explain", f"{text}:names").stdout == ripplenest("explain", f"{views}:names").stdout
    found = json.loads(ripplenest("explain", text, "--json").stdout)
    assert [view["view"] for view in found["views"]] == ["dramas", "names"]


@pytest.mark.parametrize(
    ("wrong", "error", "shown"),
    [
        ("m.genre", "UnknownName", ['[ m.name | m in M, m.genre = "Drama" ]', "possible gen, name"]),
        ("m.gen m", "ParseError", ['m.gen m = "Drama" ]', "wanted   an operator, a comma or ]", "got      m"]),
    ],
)
def test_an_error_in_a_text_file(text: Path, wrong: str, error: str, shown: list[str]) -> None:
    """The place, the line with a caret, and what was wanted: of a view for ``check``, on stderr for ``explain``."""
    text.write_text(TEXT.replace("m.gen", wrong), encoding="utf-8")
    done = ripplenest("explain", text)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{error}: {text}:3:")
    assert "^" in done.stderr
    assert [s for s in shown if s not in done.stderr] == []
    checked = ripplenest("check", text)
    others = "" if error == "ParseError" else "names: Bag(⟨name: string⟩)\n"  # what is no text has no next view
    assert (checked.exit_code, checked.stdout, checked.stderr) == (1, f"dramas: {done.stderr}{others}", "")
    found, *_ = json.loads(ripplenest("check", text, "--json").stdout)["views"]
    assert (found["view"], f"{found['error']}\n") == ("dramas", done.stderr)


def test_check_finds_every_wrong_view_of_a_text_file(text: Path) -> None:
    """As of a Python file: in the order of the file; one that uses a wrong one is wrong as well. A wrong relation ends
    the reading."""
    text.write_text(
        TEXT.replace("m.gen", "m.genre")
        + """view users = [ d | d in dramas ]
view wrong = [ m.nothing | m in M ]
view right = names
relation N : Bag(strange)
view never = M
""",
        encoding="utf-8",
    )
    done = ripplenest("check", text)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    begins = ("dramas: Unkn", "names: Bag(", "users: Unkn", "wrong: Unkn", "right: Bag(", "UnknownName: ")
    assert done.exit_code == 1 and len(lines) == len(begins)
    assert all(line.startswith(begin) for line, begin in zip(lines, begins, strict=True)), lines
    assert lines[2].endswith("it needs dramas, which is wrong")
    assert ripplenest("check", f"{text}:right").stdout.startswith("right: Bag(")
    with pytest.raises(rn.errors.UnknownName, match="genre"):
        rn.read(text)


@pytest.mark.parametrize(
    ("old", "wrong", "view"),
    [
        ("gen: string?", "gen: strange", None),
        (" ]\n", "\n", "dramas"),  # found where the next view begins
        ("view names", "view dramas", "dramas"),
        ("m.name⟩)", "m.nam⟩)", "names"),
        ("m.name⟩)", "", "names"),  # found where the file ends
    ],
)
def test_which_view_of_a_text_file_is_wrong(text: Path, old: str, wrong: str, view: str | None) -> None:
    text.write_text(TEXT.replace(old, wrong), encoding="utf-8")
    views = json.loads(ripplenest("check", text, "--json").stdout)["views"]
    assert [found["view"] for found in views if "error" in found] == [view]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nothing.py", "there is no file nothing.py"),
        ("nothing.nrc:shop", "there is no file nothing.nrc"),
        (":shop", "':shop' has no name of a file"),
        ("views.py:nothing", "views.py has no view nothing; it has dramas, names"),
        ("views.nrc:nothing", "views.nrc has no view nothing; it has dramas, names"),
        ("empty.nrc", "empty.nrc has no views"),
        ("empty.nrc:nothing", "empty.nrc has no views"),
        ("folder", "folder is a folder, and not a .nrc or Python file"),
    ],
)
@pytest.mark.usefixtures("views", "text")
def test_views_that_are_not_there(target: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.nrc").write_text("")
    (tmp_path / "folder").mkdir()
    done = ripplenest("check", target)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said(done) == f"Invalid value for FILE[:VIEW]: {message}"


def said(done: Result) -> str:
    """What is in the frame that typer draws, on one line."""
    return " ".join(line.strip("│ ") for line in done.stderr.splitlines() if line.startswith("│"))


def test_options_that_have_choices(text: Path, tmp_path: Path) -> None:
    wrong = said(ripplenest("explain", text, "--materialize", "bogus"))
    assert wrong == "Invalid value for '--materialize': 'bogus' is not one of 'none', 'first', 'full', 'cost'."
    wrong = said(ripplenest("verify", tmp_path, "--engine", "foo"))
    assert wrong == "Invalid value for '--engine': 'foo' is not one of 'auto', 'local', 'spark'."


def test_sizes_of_a_state(state: Path) -> None:
    wrong = said(ripplenest("explain", state, "--sizes", "R=3"))
    assert wrong.endswith("a state has sizes and maps of its own: leave them out; --delta may be given")
    assert ripplenest("explain", state, "--delta", "R=3").exit_code == 0


def test_a_page_of_html(text: Path) -> None:
    """Whole, around the elements that a notebook shows."""
    text.write_text(TEXT.replace("names", "`<b>`"), encoding="utf-8")
    elements = "\n".join(rn.explain(view)._repr_html_() for view in rn.read(text).views)
    head = '<head><meta charset="utf-8"><title>dramas, &lt;b&gt;</title></head>'
    page = f'<!doctype html>\n<html lang="en">\n{head}\n<body>\n{elements}\n</body>\n</html>\n'
    assert ripplenest("explain", text, "--html").stdout == page


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_reader_that_has_gone(
    command: str, text: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As of a program that SIGPIPE ended: quiet, by ``print`` as by rich; and nothing is left to be written."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as pipe, pytest.raises(SystemExit) as end:
        monkeypatch.setattr(sys, "stdout", pipe)
        app([command, str(text)])
    assert end.value.code == 141
    assert capfd.readouterr().err == ""


def test_show(state: Path) -> None:
    assert ripplenest("show", state, "tagged").stdout == '{"key": 1, "tags": ["a", "b"]}\n'
    assert json.loads(ripplenest("show", state, "tagged", "--json").stdout) == {
        "view": "tagged",
        "version": 4,
        "rows": [{"key": 1, "tags": ["a", "b"]}],
    }


def test_show_of_an_unknown_view(state: Path) -> None:
    done = ripplenest("show", state, "other")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("UnknownView: ")
    assert "tagged" in done.stderr


def test_a_folder_without_state_stays_as_it_is(tmp_path: Path) -> None:
    assert ripplenest("show", tmp_path, "tagged").exit_code == 2
    assert ripplenest("show", tmp_path / "none", "tagged").exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("spark")
def test_changes(state: Path) -> None:
    found = json.loads(ripplenest("changes", state, "tagged", "--since", 3, "--json").stdout)
    (rows,) = found.pop("dictionaries").values()
    assert found == {"view": "tagged", "since": 3, "version": 4, "flat": []}
    assert [(row["value"], row["_multiplicity"]) for row in rows] == [("b", 1)]
    printed = ripplenest("changes", state, "tagged", "--since", 3).stdout.splitlines()
    assert printed[0] == "flat: 0 changed rows"
    assert printed[1].endswith(": 1 changed row")


def test_verify(state: Path) -> None:
    """0 when all is well; 1, with the table and the rows, when a stored row is not what it should be."""
    done = ripplenest("verify", state, "--deep")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "version 4: nothing differs")
    assert re.search(r"^R +1  relation R, flat rows$", done.stdout, re.MULTILINE)
    with rn.open(state, engine="local") as db:
        assert done.stdout.startswith(f"{db.check_files()} segments and indexes read, digests are right\n")
    with rn.open(state, engine="local") as db:
        (row, _), *_ = (rows := db._store.snapshot().scan("tagged")).pairs()
        db._store.commit(Change({"tagged": Rows.of_pairs(rows.types, [(row, 1)])}), db.version)
    done = ripplenest("verify", state)
    assert done.exit_code == 1
    assert "tagged: not what its definition gives" in done.stdout
    found = json.loads(ripplenest("verify", state, "--json").stdout)
    (difference,) = found["differences"]
    assert (found["ok"], difference["table"], difference["too_many"]["count"]) == (False, "tagged", 1)
