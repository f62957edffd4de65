"""A published table belongs to one state: a copy of its folder has the same identity, versions and targets."""

import os
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable
from publish.tables import by_deltalake
from support.shop import FILMS, movie, movies, opened, related

from ripplenest import Database
from ripplenest.errors import NotPublished
from ripplenest.nrc.errors import StateError
from ripplenest.store.place import HOST, Place, place_of_folder

BELONGS = "belongs to a copy of this state"
LAYOUTS = ("nested", "shredded")


def made(folder: Path, layout: str) -> Path:
    """A state with a published view."""
    with opened(folder / "state") as db:
        db.load("M", FILMS)
        db.create(movies)
        db.publish("movies", folder / "t", layout)
    return folder / "state"


def put(db: Database, name: str) -> None:
    with db.batch() as b:
        b.insert("M", [movie(name, "Drama")])


def tables(folder: Path, layout: str) -> list[str]:
    if layout == "nested":
        return [str(folder / "t")]
    return [str(path) for path in sorted((folder / "t").iterdir())]


def deltas(folder: Path, layout: str) -> list[int]:
    return [DeltaTable(path).version() for path in tables(folder, layout)]


def shown(folder: Path, layout: str) -> set[str]:
    path = folder / "t" if layout == "nested" else folder / "t" / "flat"
    return {row["name"] for row in by_deltalake(str(path))}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_publishes_nothing_into_the_table_of_the_first(folder: Path, layout: str) -> None:
    """Numbers and digests of versions agree until one of both goes on: the place tells them apart."""
    state = made(folder, layout)
    copy = Path(shutil.copytree(state, folder / "copy"))
    before = deltas(folder, layout)
    with opened(copy) as db:
        with pytest.raises(NotPublished, match=BELONGS) as caught:
            put(db, "of the copy")
        assert all(way in str(caught.value) for way in ("unpublish(view, path)", "adopt=True", "another path"))
        for rebuild in (False, True):
            with pytest.raises(StateError, match=BELONGS):
                db.publish("movies", folder / "t", layout, rebuild)
        with pytest.raises(NotPublished, match=BELONGS):
            db.catch_up()
        db.unpublish("movies", folder / "t")
        put(db, "unpublished")
        with pytest.raises(StateError, match=BELONGS):
            db.publish("movies", folder / "t", layout)
        assert db.publications == ()
        db.publish("movies", folder / "elsewhere", layout)
    assert deltas(folder, layout) == before
    with opened(state) as db:
        put(db, "of the first")
    assert shown(folder, layout) >= {"of the first"} and "of the copy" not in shown(folder, layout)


def test_a_copy_of_several_tables_says_it_once(folder: Path) -> None:
    state = made(folder, "nested")
    with opened(state) as db:
        db.create(related)
        db.publish("related", folder / "r", "shredded")
    copy = Path(shutil.copytree(state, folder / "copy"))
    with opened(copy) as db:
        with pytest.raises(NotPublished, match=BELONGS) as caught:
            put(db, "of the copy")
        said, names = str(caught.value), [f"movies at {folder}/t", f"related at {folder}/r"]
        (behind,) = db.behind()
    assert behind.startswith(f"{', '.join(names)}: version") and behind.count(BELONGS) == said.count(BELONGS) == 1
    assert caught.value.where == names[0] and caught.value.got == f"the same of {names[1]}"


def test_nothing_is_adopted_where_there_is_no_table(folder: Path) -> None:
    with opened(made(folder, "nested")) as db:
        before = db.version
        with pytest.raises(StateError, match="there is no table to adopt"):
            db.publish("movies", folder / "mistyped", adopt=True)
        assert db.version == before and not (folder / "mistyped").exists()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("gone_on", [False, True])
def test_a_copy_adopts_the_table(folder: Path, layout: str, gone_on: bool) -> None:
    """From then on it is the first state that is refused, whether or not the copy had a version to publish."""
    state = made(folder, layout)
    copy = Path(shutil.copytree(state, folder / "copy"))
    with opened(copy) as db:
        if gone_on:
            with pytest.raises(NotPublished, match=BELONGS):
                put(db, "of the copy")
        done = db.publish("movies", folder / "t", layout, adopt=True)
        assert done.version == db.version and not done.full
        before = deltas(folder, layout)
        db.publish("movies", folder / "t", layout, adopt=True)
        assert deltas(folder, layout) == before  # it is ours: there is nothing to adopt
        put(db, "later")
    before = deltas(folder, layout)
    with pytest.warns(UserWarning, match=BELONGS), opened(state) as db, pytest.raises(NotPublished, match=BELONGS):
        put(db, "of the first")
    assert deltas(folder, layout) == before
    assert "later" in shown(folder, layout) and "of the first" not in shown(folder, layout)


def test_both_have_gone_on(folder: Path) -> None:
    """To adopt a table that shows another history takes a rebuild as well."""
    state = made(folder, "nested")
    copy = Path(shutil.copytree(state, folder / "copy"))
    with opened(state) as db:
        put(db, "of the first")
    with pytest.warns(UserWarning, match=BELONGS), opened(copy) as db:
        with pytest.raises(NotPublished):
            put(db, "of the copy")
        with pytest.raises(StateError, match="another history"):
            db.publish("movies", folder / "t", adopt=True)
        assert db.publish("movies", folder / "t", rebuild=True, adopt=True).full
        put(db, "later")
    assert shown(folder, "nested") >= {"of the copy", "later"} and "of the first" not in shown(folder, "nested")


def test_a_state_that_was_moved_goes_on(folder: Path) -> None:
    state = made(folder, "nested")
    state.rename(folder / "moved")
    with opened(folder / "moved") as db:
        put(db, "after")
    (folder / "moved").rename(folder / "again")  # the path of the first commit is not asked for any longer
    with opened(folder / "again") as db:
        put(db, "again")
    assert shown(folder, "nested") >= {"after", "again"}


def test_a_state_that_was_restored_where_it_was_goes_on(folder: Path) -> None:
    state = made(folder, "nested")
    shutil.copytree(state, folder / "backup")
    shutil.rmtree(state)
    shutil.copytree(folder / "backup", state)
    with opened(state) as db:
        put(db, "after")
    assert "after" in shown(folder, "nested")


@pytest.mark.parametrize("first", ["moved", "state"])
def test_of_two_that_could_be_the_first_one_goes_on(folder: Path, first: str) -> None:
    """Moved away, and a copy put in its place: the inode of one, the path of the other."""
    state = made(folder, "nested")
    shutil.copytree(state, folder / "backup")
    state.rename(folder / "moved")
    shutil.copytree(folder / "backup", state)
    (second,) = {"moved", "state"} - {first}
    with opened(folder / first) as db:
        put(db, "of one")
    with pytest.warns(UserWarning), opened(folder / second) as db, pytest.raises(NotPublished, match=BELONGS):
        put(db, "of the other")
    assert "of one" in shown(folder, "nested") and "of the other" not in shown(folder, "nested")


def test_another_host_is_another_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal paths and equal inodes are common on hosts that were set up alike."""
    state = made(folder, "nested")
    monkeypatch.setenv(HOST, "another")
    with opened(state) as db, pytest.raises(NotPublished, match=BELONGS):
        put(db, "elsewhere")
    with opened(state) as db:
        db.publish("movies", folder / "t", adopt=True)
    monkeypatch.setattr(os, "uname", lambda: pytest.fail("the variable names the host"))
    with opened(state) as db:
        put(db, "after")
    assert "after" in shown(folder, "nested")


def test_a_table_that_says_nothing_of_a_place_is_ours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was published before commits said it. The next commit says it."""
    with monkeypatch.context() as old:
        old.setattr(Place, "__str__", lambda _: "unsaid")
        state = made(folder, "nested")
    with opened(state) as db:
        put(db, "after")
    (commit,) = DeltaTable(str(folder / "t")).history(1)
    assert Place.read(commit["ripplenest.place"]) == place_of_folder(state)


def test_a_place_is_read_back(folder: Path) -> None:
    """Law: read(str(p)) = p."""
    place = place_of_folder(folder)
    assert Place.read(str(place)) == place
    assert [Place.read(text) for text in ("", "a", "a b c", None, 7)] == [None] * 5


def test_no_path_and_no_host_is_in_the_table(folder: Path) -> None:
    made(folder, "nested")
    log = "".join(path.read_text() for path in (folder / "t" / "_delta_log").glob("*.json"))
    assert "ripplenest.place" in log and str(folder) not in log
