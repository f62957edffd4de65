"""Paths: what is on this machine, what is elsewhere, and what no file system can hold."""

from pathlib import Path
from typing import Any

import pytest
from support.shop import movie, movies, opened
from support.states import refused

import ripplenest as rn
from ripplenest import errors
from ripplenest.nrc.arguments import is_elsewhere, local_path

URLS = (
    *("s3://bucket/state", "s3a://b/s", "S3://b/s", "hdfs://host:1/state", "dbfs:/state", "gs://b/s", "s3:b"),
    *(
        "s3:/b/s",
        "abfss://c@a.dfs.core.windows.net/s",
        "http://host/s",
        "postgresql://user@host/db",
        "x+y-z.1://a",
        "dbfs:state",
    ),
)
NOT_FILES = ("file://host/state", "file:state", "file:", "file:///a%00b", "file:///")
NEVER = ("\0", "a\0b", "/tmp/\0", "\ud800", "a/\udfff")


@pytest.mark.parametrize("url", URLS)
def test_a_state_is_not_made_for_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """It would be a folder with the name of the scheme."""
    monkeypatch.chdir(tmp_path)
    for use in (lambda: rn.open(url, engine="local"), lambda: rn.read(url)):
        with pytest.raises(errors.WrongValue, match="a URL, and not a folder") as caught:
            use()
        assert caught.value.possible and caught.value.wanted == "a local path" and url in str(caught.value)
    with pytest.raises(errors.WrongValue, match="a URL"):
        rn.open(Path(url if "/" in url else "s3:/x"), engine="local")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [*NOT_FILES[:4], *NEVER])
def test_paths_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A NUL ended the process: SQLite was given the part before it."""
    monkeypatch.chdir(tmp_path)
    for use in (lambda: rn.open(path, engine="local"), lambda: rn.read(path)):
        with pytest.raises(errors.WrongValue, match=r"open: path|read: path") as caught:
            use()
        assert all(line.isprintable() for line in str(caught.value).split("\n"))
    with opened(tmp_path / "shop") as db:
        db.create(movies)
        for call in (db.publish, db.unpublish):
            with refused(db, errors.WrongValue, "publish movies"):
                call("movies", path)
        with pytest.raises(errors.StateError):
            rn.open(tmp_path / "elsewhere", catalogue=path)
    assert {entry.name for entry in tmp_path.iterdir()} <= {"shop", "elsewhere"}


def test_the_url_of_a_file_is_its_path(tmp_path: Path) -> None:
    with rn.open(f"file://{tmp_path}/a%20state", engine="local") as db:
        assert db.version == 0
    with rn.open(f"file://localhost{tmp_path}/a%20state", engine="local"), rn.open(tmp_path / "a state") as db:
        assert db.version == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["a state"]
    (tmp_path / "v.nrc").write_text("relation R : Bag(⟨k: long⟩)\nview v = [x.k | x in R]", encoding="utf-8")
    assert rn.read(f"file://{tmp_path}/v.nrc").views[0].name == "v"


@pytest.mark.parametrize("name", ["a:b", "2026-01-01T10:00", "x:", "v1:state", "a.b:c", ":", "~", "s3", "C:state"])
def test_names_of_folders_with_a_colon_are_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert not is_elsewhere(name) and local_path(name, "x") == Path(name)
    rn.open(name, engine="local").close()
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    rn.open(f"./s3:{name}", engine="local").close()
    assert (tmp_path / f"s3:{name}").is_dir()


@pytest.mark.parametrize("url", ["dbfs:/t", "s3n://b/t", "http://h/t", "memory://t", "unknown://x/t", "s3:t"])
def test_tables_are_not_published_to_what_deltalake_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path / "shop") as db:
        db.load("M", [movie("Drive", "Drama")])
        db.create(movies)
        with refused(db, errors.WrongValue, "publish movies", "deltalake knows no such URL", "possible", "s3"):
            db.publish("movies", url)
        assert db.publications == ()
    assert [entry.name for entry in tmp_path.iterdir()] == ["shop"]


def test_a_file_that_cannot_be_read_is_an_error_of_ours(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.nrc", tmp_path / ("x" * 300)):
        with pytest.raises(errors.QueryError, match="the file cannot be read") as caught:
            rn.read(path)
        assert caught.value.got


def engines() -> list[Any]:
    return ["pyhton", "Spark", "", "PYTHON", "python ", None, 1]


@pytest.mark.parametrize("engine", engines())
def test_engines_that_are_not(tmp_path: Path, engine: Any) -> None:
    """The engine is asked before anything is made: another word would be Spark."""
    with pytest.raises(errors.WrongValue, match="there is no such engine") as caught:
        rn.open(tmp_path / "state", engine=engine)
    assert caught.value.possible == ("auto", "local", "spark") and not list(tmp_path.iterdir())
