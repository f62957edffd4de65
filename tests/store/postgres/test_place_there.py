"""Where a state with its catalogue in PostgreSQL lives: in the catalogue, and not in a folder."""

import json
import shutil
from pathlib import Path

import pytest

from ripplenest.store import Store
from ripplenest.store.folder import MARKER

pytestmark = [pytest.mark.xdist_group("postgres"), pytest.mark.usefixtures("on_postgres")]  # one server


def test_folders_of_one_schema_are_one_place(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a") as s:
        place = s.place
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    with Store.open(tmp_path / "b") as s:
        assert s.place == place
    with Store.open(tmp_path / "c") as s:
        assert not s.place.same(place)


def test_another_url_of_the_same_database_is_the_same_place(tmp_path: Path, url: str) -> None:
    with Store.open(tmp_path / "a") as s:
        place = s.place
    with Store.open(tmp_path / "a", catalogue=url.replace("127.0.0.1", "localhost")) as s:
        assert s.place.same(place)
        assert s.place.thing == place.thing


def test_a_database_made_from_another_is_another_place(tmp_path: Path, server) -> None:
    """Its schema has the same number, and its name is another."""
    first = server.create("first")
    with Store.open(tmp_path / "a", catalogue=first) as s:
        place = s.place
    second = server.create("second", like="first")
    with Store.open(tmp_path / "a", catalogue=second) as s:
        assert not s.place.same(place)
    assert json.loads((tmp_path / "a" / MARKER).read_text())["id"]
