"""R18, R19: a state of every format that there was opens or is refused, and is never misread; stray files are harmless.

``tests/data/states`` holds a state of each release with what it answered when it was made. That of the release in the
making is written by ``pytest --golden-update tests/store/test_old_states.py``; those of earlier ones never again. When
it does not open any longer, states that people have do not, either: the change log must say so.
"""

import importlib.metadata
import json
import os
import tarfile

import pytest
from support.archived import RELEASES, STATES, unpacked
from support.shop import ANN, BOB, FILMS, VIEWS, customer, item, movie, opened, order

import ripplenest as rn
from ripplenest import errors
from ripplenest.store.database.catalogue import FORMAT, ORDERED, REACHING

CURRENT = importlib.metadata.version("ripplenest")


def build(folder):
    """A state with everything in it: relations, loads, views, batches, deep updates, a rollback, old versions gone."""
    with opened(folder, retain=12) as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in VIEWS:
            db.create(view)
        for seq in range(1, 12):
            with db.batch("s", seq) as b:
                b.insert("M", [movie(f"m{seq}", ["Drama", None][seq % 2], "d")])
                b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(seq, seq, ("x",))])
        with db.batch("other", 5) as b:
            b.upsert("C", [customer(9, "é\0", [order(31)])])
        db.rollback(db.version - 2)
        db.compact(everything=True)
        return answers(db)


def answers(db):
    handles = [db.view(n) for n in sorted(db.views)] + [db.relation(n) for n in sorted(db.relations)]
    rows = {h.name: h.rows() for h in handles}
    old = {h.name: h.as_of(db.version - 5).rows() for h in handles}
    return json.loads(json.dumps({"version": db.version, "rows": rows, "old": old}))


def test_there_is_a_state_of_this_release(tmp_path, golden_update):
    archive = STATES / f"{CURRENT}.tar.gz"
    if golden_update:
        found = build(tmp_path / "state")
        (STATES / f"{CURRENT}.json").write_text(json.dumps(found, ensure_ascii=True), encoding="ascii")
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(tmp_path / "state", "state")
    assert archive.exists()


# A state of another format is refused; that of this release must open.
@pytest.mark.parametrize("name", RELEASES)
def test_a_state_of_another_time_opens_or_is_refused(tmp_path, name):
    state = unpacked(name, tmp_path)
    try:
        db = rn.open(state, engine="local")
    except (errors.StateError, errors.ViewChanged) as refusal:
        assert name != CURRENT and not isinstance(refusal, errors.CorruptState)
        assert str(state) in refusal.where and refusal.possible[0].startswith("`ripplenest migrate OLD NEW`")
        return
    with pytest.raises(errors.StateError, match="which this release opens as it is") as caught:
        rn.migrate(state, tmp_path / "new")
    assert "possible rn.open: there is nothing to migrate" in str(caught.value) and not (tmp_path / "new").exists()
    with db:
        assert answers(db) == json.loads((STATES / f"{name}.json").read_text())
        assert db.verify(deep=True).ok and db.check_files() > 0
        with db.batch("s", 3) as b:
            b.insert("M", [movie("m3", None, "d")])
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(3, 3, ("x",))])
        assert not b.report.applied
        with db.batch("s", 12) as b:
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(77)])
        assert db.verify(deep=True).ok


def test_the_state_of_the_first_release_is_migrated(tmp_path):
    """Relations and views are what they were, batches that were applied stay so, and the old state is untouched."""
    state, wanted = unpacked("0.1.0", tmp_path), json.loads((STATES / "0.1.0.json").read_text())
    before = {p.name: p.read_bytes() for p in (state / "segments").iterdir()}
    with pytest.raises(errors.StateError, match="another format") as caught:
        rn.open(state, engine="local")
    assert caught.value.got == "format 2" and "possible `ripplenest migrate OLD NEW`, which copies" in str(caught.value)
    (tmp_path / "new.migrating").mkdir()  # of a migration that died
    done = rn.migrate(state, tmp_path / "new")
    assert {p.name: p.read_bytes() for p in (state / "segments").iterdir()} == before
    assert (len(done.views), done.left_out, done.publications) == (len(VIEWS), {}, {}) and done.batches > 12
    with rn.open(tmp_path / "new", engine="local") as db:
        found = {**{n: db.view(n).rows() for n in db.views}, **{n: db.relation(n).rows() for n in db.relations}}
        assert json.loads(json.dumps(found)) == wanted["rows"]
        assert done.relations == {name: len(wanted["rows"][name]) for name in db.relations}
        assert db.verify(deep=True).ok and db.check_files() > 0
        with db.batch("s", 3) as b:
            b.insert("M", [movie("m3", None, "d")])
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(3, 3, ("x",))])
        assert not b.report.applied
        with pytest.raises(errors.BatchConflict), db.batch("s", 3) as b:
            b.insert("M", [movie("other")])
        with db.batch("s", 12) as b:
            b.upsert("C", [customer(9, "new", [order(31)])])
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(77)])
        assert b.report.applied and db.verify(deep=True).ok


def test_a_migration_that_cannot_be(tmp_path):
    with opened(tmp_path / "state"):
        pass
    for old, new, why in (
        ("state", "new", "another format, which this release opens as it is"),
        ("state", "state", "there already"),
        ("nothing", "new", "there is no state"),
    ):
        with pytest.raises(errors.StateError, match=why):
            rn.migrate(tmp_path / old, tmp_path / new)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["state"]


@pytest.mark.parametrize("told", ["1", str(REACHING + 1), "", "two"])
def test_states_of_other_formats_are_refused(tmp_path, told):
    with opened(tmp_path / "state") as db, db._store._catalogue.transaction(write=True) as c:
        c.exec_driver_sql("UPDATE meta SET value = ? WHERE key = 'format'", (told,))
    with pytest.raises(errors.StateError, match="another format") as caught:
        rn.open(tmp_path / "state", engine="local")
    assert f"format {told}" in str(caught.value) and f"format 4, {FORMAT}, {ORDERED} or {REACHING}" in str(caught.value)
    assert ("the newer release of ripplenest" in str(caught.value)) == (told == str(REACHING + 1))


def test_the_catalogue_of_an_older_time_with_newer_segments(tmp_path):
    """A catalogue that was put back is an older state, and says so to whoever goes on from the newer one."""
    with opened(tmp_path / "state") as db:
        db.load("M", FILMS)
        catalogue = tmp_path / "state" / "catalogue.sqlite"
        old = catalogue.read_bytes()
        with db.batch("s", 1) as b:
            b.insert("M", [movie("late")])
        version = db.version
    catalogue.write_bytes(old)
    with opened(tmp_path / "state") as db:
        assert db.version == version - 1 and db.relation("M").rows() == sorted(FILMS, key=lambda m: m["name"])
        with db.batch("s", 1) as b:
            b.insert("M", [movie("late")])
        assert b.report.applied and db.verify(deep=True).ok and db.usage.orphans == ()


def test_stray_files_and_links(tmp_path):
    """Files that nobody names are removed by the next writer, links are not followed; others' files stay."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    with opened(tmp_path / "state") as db:
        db.load("M", FILMS)
    (tmp_path / "state" / "notes.txt").write_text("mine")
    segments = tmp_path / "state" / "segments"
    os.symlink(outside / "precious", segments / "0000000004-0123456789abcdef.deltas")
    os.symlink(outside / "nowhere", segments / "dangling")
    (segments / "tmp-file").write_text("x")
    (segments / "folder").mkdir()
    with opened(tmp_path / "state") as db:
        assert len(db.usage.orphans) == 2  # a link to nowhere, and a folder, are no files
        with db.batch() as b:
            b.insert("M", [movie("late")])
        assert db.usage.orphans == () and db.verify(deep=True).ok
    assert (outside / "precious").read_text() == "mine" and (tmp_path / "state" / "notes.txt").read_text() == "mine"


def test_a_state_behind_a_link_is_a_state(tmp_path):
    with opened(tmp_path / "state") as db:
        db.load("M", FILMS)
    os.symlink(tmp_path / "state", tmp_path / "link")
    with opened(tmp_path / "link") as db:
        assert len(db.relation("M").rows()) == 3


@pytest.mark.parametrize("entry", ["folder/", "file", "catalogue.sqlite.bak"])
def test_a_folder_of_something_else_is_left_alone(tmp_path, entry):
    path = tmp_path / "other" / entry
    path.parent.mkdir()
    path.mkdir() if entry.endswith("/") else path.write_text("mine")
    with pytest.raises(errors.StateError, match="not a state directory"):
        rn.open(tmp_path / "other", engine="local")
    assert os.listdir(tmp_path / "other") == [entry.rstrip("/")]
