"""The command line tool: what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import ripplenest as rn
from ripplenest import Bag
from ripplenest.cli import app

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
    with rn.open(folder, engine="python") as db:
        db.relation("R", Row, key="key")
        db.load("R", [{"key": 1, "tags": ["a", "no"]}])
        db.create(tagged)
        with db.batch() as b:
            b.at("R", key=1).tags.insert(["b"])
    return folder


def test_version() -> None:
    assert ripplenest("--version").stdout == "0.1.0\n"


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
    views.write_text(VIEWS.replace("m.gen ==", "m.genre =="))
    done = ripplenest("check", views)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"{views}:12" in done.stderr
    assert "genre" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("target", ["nothing.py", "{views}:nothing", "{empty}"])
def test_views_that_are_not_there(target: str, views: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.py"
    empty.write_text("")
    done = ripplenest("explain", target.format(views=views, empty=empty))
    assert (done.exit_code, done.stdout) == (2, "")


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
    assert "1 changed rows" in ripplenest("changes", state, "tagged", "--since", 3).stdout
