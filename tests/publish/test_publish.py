"""When a publication does what: replay, catching up, races, tables of others, and what others changed."""

import shutil
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from publish.tables import APP, by_deltalake, check, folders, published, shape_in, target
from support.shop import ANN, BOB, FILMS, Movie, customer, customers, item, movie, opened, order, related
from support.states import state

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import EnvironmentProblem, NotPublished
from ripplenest.nrc.errors import StateError
from ripplenest.publish import library
from ripplenest.publish.source import Nested, Shredded
from ripplenest.publish.tables import ATTEMPTS, HARMLESS, Publisher

VIEWS = {"nested": "customers", "shredded": "related"}  # of two tables


@pytest.fixture(params=VIEWS)
def to(request, folder):
    return target(VIEWS[request.param], folder / "table", request.param)


def change(db, key=7):
    """A change deep inside a customer, a new customer, and a new film."""
    with db.batch() as b:
        b.at("C", custkey=key).orders.at(orderkey=11).items.insert([item(db.version, 9, ("q",))])
        b.insert("C", [customer(1000 + db.version, "Eve", [order(1, item(1))])])
        b.insert("M", [movie(f"film {db.version}", "Action")])


def commits(to, db):
    """By table of the target, how often it was committed to."""
    paths = [to.path] if to.layout == "nested" else list(folders(to, shape_in(db, to.view)).values())
    return {path: DeltaTable(path).version() + 1 for path in paths}


def how(done):
    return {table.how for table in done.tables}


def test_a_version_is_published_once(db, to):
    assert how(published(db, to)) == {"whole"}
    change(db)
    for expected in ("changes", "nothing", "nothing"):
        done = published(db, to)
        assert how(done) == {expected} and done.version == db.version and done.changed == (expected != "nothing")
        assert set(commits(to, db).values()) == {2}
        check(db, to)


def test_changes_between_versions_from_before_the_publication(folder):
    """The access keys that publishing wants come with it, after segments that old versions have were merged away."""
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        handle = db.create(customers)
        seen = {db.version: handle.rows()}
        for _ in range(3):
            change(db)
            seen[db.version] = handle.rows()
        db.compact(everything=True)
        db.publish("customers", folder / "table")
        assert all(handle.as_of(version).rows() == rows for version, rows in seen.items())
        for since, upto in combinations(seen, 2):
            went, came = handle.as_of(upto).changed_rows(since)
            assert [r for r in seen[since] if r not in seen[upto]] == went and went
            assert [r for r in seen[upto] if r not in seen[since]] == came


def test_an_older_version_changes_nothing(db, to):
    published(db, to)
    old = db._state.snapshot()
    change(db)
    published(db, to)
    done = published(db, to, snapshot=old)
    assert how(done) == {"nothing"} and done.version == db.version
    check(db, to)


def test_versions_that_were_missed_are_made_good_in_one_commit(db, to):
    published(db, to)
    for _ in range(4):
        change(db)
    done = published(db, to)
    assert how(done) == {"changes"} and set(commits(to, db).values()) == {2}
    check(db, to)
    if to.layout == "nested":
        assert done.written == 5 and done.removed == 0  # Ann, four times changed, and four customers
        assert str(done).startswith("customers, version") and "5 rows written, 0 removed (changes)" in str(done)


def test_a_change_that_comes_back_is_none(db, to):
    """Over several versions, too; the table says the newest all the same."""
    published(db, to)
    for verb in ("insert", "delete"):
        with db.batch() as b:
            getattr(b, verb)("C", [customer(99, "Eve")])
            getattr(b, verb)("M", [movie("there and back", "Action")])
    done = published(db, to)
    assert how(done) == {"changes"} and (done.written, done.removed) == (0, 0)
    check(db, to)


def test_without_the_changes_since_the_whole_is_written(db, to):
    published(db, to)
    change(db)
    change(db)
    done = published(db, to, oldest=db.version - 1)
    assert done.full and {t.why for t in done.tables} == {
        f"the changes since version {db.version - 2} are no longer kept"
    }
    assert done.removed and done.written
    check(db, to)
    change(db)
    assert not published(db, to, oldest=db.version - 1).full
    check(db, to)


def test_the_whole_is_written_when_asked_for(db, to):
    published(db, to)
    assert {t.why for t in published(db, to, rebuild=True).tables} == {"asked for"}
    check(db, to)


def test_the_versions_are_in_the_delta_commits(db, to):
    published(db, to)
    change(db)
    done = published(db, to)
    for table in done.tables:
        newest = DeltaTable(table.uri).history(1)[0]
        assert (newest["version"], newest["ripplenest.version"]) == (table.delta_version, db.version)
    assert done.delta_version == 1


# ---------------------------------------------------------------- publishers that race


def rival(patch, db, to, act, times=1):
    """While a publication reads what it writes, its handle open and checked, ``act`` happens, ``times`` times."""
    left = [times]

    def meanwhile(real):
        def read(*args):
            if left[0]:
                left[0] -= 1
                act()
            return real(*args)

        return read

    for source in (Nested, Shredded):
        for name in ("edits", "whole"):
            patch.setattr(source, name, meanwhile(getattr(source, name)))
    return published(db, to)


def test_two_publishers_of_one_version_publish_it_once(db, to, monkeypatch):
    """Both handles are open, and both have seen the version before, when the first of them commits."""
    published(db, to)
    change(db)
    done = rival(monkeypatch, db, to, lambda: published(db, to))
    assert "nothing" in how(done) and set(commits(to, db).values()) == {2}
    check(db, to)


def test_two_publishers_make_one_table(db, to, monkeypatch):
    done = rival(monkeypatch, db, to, lambda: published(db, to))
    assert "nothing" in how(done) and set(commits(to, db).values()) == {1}
    check(db, to)


def test_a_publisher_of_an_older_version_loses(db, to, monkeypatch):
    """The newer one was there first: the change that the older one has computed must not be added to it."""
    published(db, to)
    change(db)

    def newer():
        change(db)
        published(db, to)

    done = rival(monkeypatch, db, to, newer)
    assert done.version <= db.version and set(commits(to, db).values()) == {2}
    check(db, to)


def test_whoever_only_compacts_is_no_rival(db, to, monkeypatch):
    published(db, to)
    change(db)

    def compact():
        for path in commits(to, db):
            DeltaTable(path).alter.set_table_properties({"delta.logRetentionDuration": "interval 7 days"})

    assert how(rival(monkeypatch, db, to, compact)) == {"changes"}
    check(db, to)


def test_it_gives_up_when_others_never_stop(db, to, monkeypatch):
    published(db, to)
    before = {path: by_deltalake(path) for path in commits(to, db)}
    change(db)

    def touch():
        for path in commits(to, db):
            DeltaTable(path).alter.set_table_properties({"delta.logRetentionDuration": "interval 7 days"})

    with pytest.raises(StateError, match="keep committing"):
        rival(monkeypatch, db, to, touch, ATTEMPTS)
    assert {path: by_deltalake(path) for path in before} == before
    published(db, to)
    check(db, to)


def test_rows_that_others_add_meanwhile_are_noticed(db, folder, monkeypatch):
    """Nothing of ours is committed on top of them, where nobody would look for them later."""
    to = films_table(db, folder)
    with db.batch() as b:
        b.insert("M", [{"name": "new", "gen": None, "dir": None}])
    with pytest.raises(StateError, match="others changed"):
        rival(monkeypatch, db, to, lambda: append(to.path))
    assert DeltaTable(to.path).history(1)[0].get("ripplenest.version") is None


# ---------------------------------------------------------------- tables and folders of others


def refused(db, to, what, **more):
    before = sorted(str(p) for p in to_path(to).rglob("*"))
    with pytest.raises(StateError, match=what) as caught:
        published(db, to, **more)
    assert f"view {to.view}" in str(caught.value)
    assert sorted(str(p) for p in to_path(to).rglob("*")) == before


def to_path(to):
    return Path(to.path)


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_table_of_others_is_left_alone(db, folder, rebuild):
    """Also one with a transaction of another state, and an empty one."""
    for i, rows in enumerate(([1, 2], [])):
        to = target("movies", folder / f"other{i}")
        properties = CommitProperties(app_transactions=[Transaction(f"{APP}/other", 1)])
        write_deltalake(to.path, pa.table({"x": pa.array(rows, pa.int64())}), commit_properties=properties)
        refused(db, to, "not ours", rebuild=rebuild)
        refused(db, target("movies", to.path, "shredded"), "where the folder of several", rebuild=rebuild)


def test_a_folder_with_anything_in_it_is_left_alone(db, folder, to):
    (folder / "table").mkdir()
    (folder / "table" / "thesis.txt").write_text("")
    refused(db, to, "not empty")


def test_a_folder_that_cannot_be_made(db, folder):
    (folder / "file").write_text("")
    for path in (folder / "file", folder / "file" / "table"):
        for layout in ("nested", "shredded"):
            with pytest.raises(StateError, match="cannot be") as caught:
                published(db, target("customers", path, layout))
            assert "view customers" in str(caught.value) and "\x1b" not in str(caught.value)


def test_what_deltalake_cannot_read_is_said(db, to):
    """Here a log that somebody has cut short; nothing is written on top of it."""
    published(db, to)
    change(db)
    for path in commits(to, db):
        (Path(path) / "_delta_log" / f"{0:020}.json").write_text("{")
    refused(db, to, "cannot be read or written")


def test_one_layout_is_not_written_over_the_other(db, folder):
    nested, shredded = target("customers", folder / "n"), target("customers", folder / "s", "shredded")
    published(db, nested)
    published(db, shredded)
    refused(db, target("customers", shredded.path), "not empty")
    refused(db, target("customers", nested.path, "shredded"), "where the folder of several")


def test_a_first_publication_that_was_interrupted_is_no_obstacle(db, folder):
    to = target("movies", folder / "table")
    for part in ("id_bucket=64", "_delta_log", "_change_data"):
        (folder / "table" / part).mkdir(parents=True)
    (folder / "table" / "id_bucket=64" / "part-0.parquet").write_bytes(b"half")
    published(db, to)
    check(db, to)


# ---------------------------------------------------------------- what others do to our table


def films_table(db, folder):
    to = target("movies", folder / "table")
    published(db, to)
    return to


def append(path, **more):
    one = pa.table(DeltaTable(path).scan()).slice(0, 1)
    write_deltalake(path, one, mode="append", **more)


FOREIGN = {
    "WRITE": append,
    "DELETE": lambda path: DeltaTable(path).delete("true"),
    "UPDATE": lambda path: DeltaTable(path).update({"name": "'x'"}),
    "RESTORE": lambda path: (append(path), DeltaTable(path).restore(0)),
}


@pytest.mark.parametrize("operation", FOREIGN)
def test_rows_that_others_changed_are_noticed(db, folder, operation):
    """Whether there is something to publish or not; ``rebuild`` replaces them."""
    to = films_table(db, folder)
    FOREIGN[operation](to.path)
    version = DeltaTable(to.path).version()
    for _ in range(2):
        with pytest.raises(StateError, match="others changed") as caught:
            published(db, to)
        assert "rebuild=True" in str(caught.value) and "Delta version 1" in str(caught.value)
        assert DeltaTable(to.path).version() == version
        change(db)
    assert published(db, to, rebuild=True).full
    check(db, to)
    change(db)
    published(db, to)
    check(db, to)


def test_what_changes_no_rows_is_no_offence(db, folder):
    """Maintenance is the business of whoever has the table."""
    to = films_table(db, folder)
    for name in ("a", "b"):
        with db.batch() as b:
            b.insert("M", [{"name": f"{name}{i}", "gen": None, "dir": None} for i in range(40)])
        published(db, to)
    DeltaTable(to.path).optimize.compact()
    DeltaTable(to.path).alter.set_table_properties({"delta.logRetentionDuration": "interval 7 days"})
    assert DeltaTable(to.path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert {c["operation"] for c in DeltaTable(to.path).history(4)} == set(HARMLESS)
    DeltaTable(to.path).create_checkpoint()
    with db.batch() as b:
        b.delete("M", [{"name": "a1", "gen": None, "dir": None}])
    assert how(published(db, to)) == {"changes"}
    check(db, to)


def test_a_merge_that_does_not_find_its_rows_makes_the_next_publication_whole(db, folder):
    """Here rows were deleted in our name. What the merge has found is in its own commit, so that a crash right after
    it loses nothing."""
    to = films_table(db, folder)
    properties = CommitProperties(custom_metadata={"ripplenest.app": f"{APP}/movies"})
    DeltaTable(to.path).delete("name = 'Drive'", commit_properties=properties)
    with db.batch() as b:
        b.delete("M", FILMS[:2])
    assert how(published(db, to)) == {"changes"}
    done = published(db, to)
    assert [t.why for t in done.tables] == ["of 2 rows that were to change, 1 did"]
    check(db, to)
    assert how(published(db, to)) == {"nothing"}


def test_a_view_of_another_definition_is_written_whole(db, folder):
    """The name was used before for another view of the same application."""
    to = films_table(db, folder)
    program = shape_in(db, "related")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("publish.tables.shape_in", lambda *_: program)
        done = published(db, to)
    assert [t.why for t in done.tables] == ["the view had another definition"]
    assert {"name", "related"} <= set(by_deltalake(to.path)[0]) and "gen" not in by_deltalake(to.path)[0]


def films_after(kept):
    """As ``related``, of some films alone."""

    @rn.view
    def related(M: Bag[Movie]):
        return [{"name": m.name, "related": [w.name for w in M if w.gen == m.gen and w.name > kept]} for m in M]

    return related


def films_in_order(kept):
    """The same films, in another order than the canonical one."""

    @rn.view
    def related(M: Bag[Movie]):
        found = [
            {
                "name": m.name,
                "related": rn.sorted(
                    (w.name for w in M if w.gen == m.gen and w.name > kept), key=lambda n: n, desc=True
                ),
            }
            for m in M
        ]
        return found

    return related


@pytest.mark.parametrize("layout", ["nested", "shredded"])
def test_another_program_of_the_same_tables_is_followed_by_changes(folder, layout):
    """A relation that gets a field, and a view that is replaced by one of the same tables: no row that is the same is
    written. One that shows its bags in another order is written whole."""
    to = target("related", folder / "table", layout)
    with opened(folder / "state") as db:
        db.load("M", FILMS)
        db.create(films_after("D"))
        published(db, to)
        for alter, rows, expected in (
            (lambda: db.replace(films_after("M")), True, {"changes"}),
            (lambda: db.replace(films_in_order("M")), True, {"whole"}),
            (lambda: db.relation("M").add("year", int, default=1), False, {"changes"}),
            (lambda: db.relation("M").add("month", int, default=1), False, {"changes"}),
        ):
            alter()
            done = published(db, to)
            assert how(done) == expected and (done.written + done.removed > 0) == rows
            check(db, to)
            more = {name: 2 for name, _ in db.relation("M").shape.row.fields if name in ("year", "month")}
            with db.batch() as b:
                b.insert("M", [{**movie(f"film {db.version}", "Drama"), **more}])
            assert how(published(db, to)) == {"changes"}
            check(db, to)


# ---------------------------------------------------------------- the library


def test_without_deltalake_nothing_happens(db, to, monkeypatch, folder):
    monkeypatch.setattr(library, "import_module", lambda name: (_ for _ in ()).throw(ModuleNotFoundError(name)))
    with pytest.raises(EnvironmentProblem, match="publishing needs deltalake") as caught:
        published(db, to)
    assert "ripplenest[delta]" in str(caught.value) and not (folder / "table").exists()


@pytest.mark.parametrize(
    ("version", "old"), [("1.6.3", True), ("1.6.4", False), ("1.10.0", False), ("2.0.0rc1", False)]
)
def test_an_old_deltalake_is_refused(monkeypatch, version, old):
    monkeypatch.setattr("deltalake.__version__", version)
    if old:
        with pytest.raises(EnvironmentProblem, match="too old"):
            library.deltalake()
    else:
        library.deltalake()


@pytest.mark.parametrize("layout", ["nested", "shredded"])
def test_a_publication_that_is_refused_was_never_asked_for(folder, layout):
    """The state is as it was: no version, and no target that every later batch would fail for."""
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.create(customers)
        table = folder / "table" if layout == "nested" else folder / "table" / "flat"
        table.mkdir(parents=True)
        (table / "mine").touch()
        (folder / "file").touch()
        write_deltalake(str(folder / "theirs"), pa.table({"a": [1]}))
        before = state(db), sorted(folder.rglob("*"))
        for path in ("table", "file", "theirs"):
            with pytest.raises(StateError, match=path):
                db.publish("customers", folder / path, layout)
            assert (state(db), sorted(folder.rglob("*"))) == before and db.publications == ()
        (table / "mine").unlink()
        assert db.publish("customers", folder / "table", layout).changed
        with db.batch() as b:
            b.delete("C", [BOB])
        assert db.publications and not db.catch_up()[0].changed


def test_a_publication_that_fails_midway_is_not_kept(folder, monkeypatch):
    """But one that was there before stays, and is made good."""
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.create(customers)
        with monkeypatch.context() as patch:
            patch.setattr(Publisher, "publish", failing)
            with pytest.raises(StateError, match="no space"):
                db.publish("customers", folder / "table")
            assert db.publications == ()
        db.publish("customers", folder / "table")
        with monkeypatch.context() as patch:
            patch.setattr(Publisher, "publish", failing)
            with pytest.raises(StateError, match="no space"):
                db.publish("customers", folder / "table", rebuild=True)
            with pytest.raises(NotPublished, match="no space"), db.batch("s", 1) as b:
                b.delete("C", [BOB])
        (made,) = db.catch_up()
        assert made.changed and made.version == db.version


def failing(_: object) -> None:
    raise StateError("no space")


def test_who_publishes_at_the_same_time_is_no_copy(folder, monkeypatch):
    """The log may have a later commit than the table that was opened: it is no version of another history."""
    with opened(folder / "state") as db, opened(folder / "state") as other:
        db.load("C", [ANN])
        db.create(customers)
        db.publish("customers", folder / "table")
        table, races = Publisher._table, [other.catch_up]

        def overtaken(self):
            found = table(self)
            while races:
                races.pop()()
            return found

        monkeypatch.setattr(Publisher, "_table", overtaken)
        with db.batch("s", 1) as b:
            b.insert("C", [BOB])
        assert not races and db.behind() == ()
        races.append(other.catch_up)
        assert db.behind() == ()


def test_a_table_of_another_history_is_refused(folder, to):
    """A state that was restored, or copied, does not go on with what another one published under the same numbers."""
    path, rows = folder / "shop", [movie("lost", "Drama"), movie("found", "Drama")]

    def put(where, row):
        with opened(where) as db, db.batch() as b:
            b.insert("M", [row])
            b.insert("C", [customer(len(row["name"]), row["name"], [])])

    with opened(path) as db:
        db.load("M", FILMS)
        db.create(customers)
        db.create(related)
        db.publish(to.view, to.path, to.layout)
    shutil.copytree(path, folder / "backup")
    put(path, rows[0])
    shutil.rmtree(path)
    shutil.copytree(folder / "backup", path)
    with pytest.warns(UserWarning, match="another history"), opened(path) as db:
        pass
    for row in (rows[1], movie("more", "Drama")):  # the same number, and a later one
        with pytest.warns(UserWarning), pytest.raises(NotPublished, match="another history"):
            put(path, row)
    with pytest.warns(UserWarning), opened(path) as db:
        db.publish(to.view, to.path, to.layout, rebuild=True)
        check(db, to, db._publications._app_id(to.view))
    put(path, movie("at last", "Drama"))
    with opened(path) as db:
        check(db, to, db._publications._app_id(to.view))


def test_parts_of_a_view_are_not_taken_for_each_other(folder):
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.create(customers)
        db.publish("customers", folder / "t", "shredded")
        for path in ("t/flat", "t/more", "."):
            with pytest.raises(StateError, match="something else is published there"):
                db.publish("customers", folder / path)
        db.unpublish("customers", folder / "t")
        for path in ("state", "state/t", "."):
            with pytest.raises(StateError, match="cannot lie in each other"):
                db.publish("customers", folder / path)
        with pytest.raises(StateError, match="another part of the view"):
            db.publish("customers", folder / "t" / "flat", rebuild=True)
        assert db.publications == ()


def test_a_state_keeps_what_publications_read(folder):
    """The version before the newest: a table would be written whole after every batch without it."""
    with opened(folder / "state", retain=1) as db:
        db.load("C", [ANN, BOB])
        db.create(customers)
        db.publish("customers", folder / "t")
        with db.batch() as b:
            b.delete("C", [BOB])
        assert DeltaTable(str(folder / "t")).history(1)[0]["operation"] == "MERGE"
    with pytest.raises(StateError, match="1 or more"):
        rn.open(folder / "new", retain=0)
    assert not (folder / "new").exists()
    with pytest.raises(StateError, match="1 or more"):
        opened(folder / "state", retain=0)


def test_what_not_published_says_is_safe(folder):
    """A batch without a name, sent again, would be another one."""
    with opened(folder / "state") as db:
        db.load("C", [ANN, BOB])
        db.create(customers)
        db.publish("customers", folder / "t")
        shutil.rmtree(folder / "t")
        (folder / "t").touch()
        with pytest.raises(NotPublished) as caught, db.batch() as b:
            b.insert("C", [customer(9, "Cy", [])])
        assert list(caught.value.possible) == ["catch_up()", "the next batch", "opening the state again"]
        (folder / "t").unlink()
        assert db.catch_up()[0].changed and db.relation("C").count() == 3


def test_other_definitions_leave_nothing_behind(folder):
    """Versions that change no row need no publication; one that does is told as before, also behind such ones."""
    with opened(folder / "state") as db:
        db.create(customers)
        db.publish("customers", folder / "table")
        db.relation("N", Movie, key="name")
        db.create(related)
        db.drop("related")
        db.track("customers")
        assert db.behind() == ()
    with rn.open(folder / "state", catch_up=False) as db:
        moved = folder / "away"
        (folder / "table").rename(moved)
        with pytest.raises(NotPublished), db.batch() as b:
            (folder / "table").write_text("no folder")
            b.insert("C", [ANN])
        (folder / "table").unlink()
        moved.rename(folder / "table")
        db.create(related)
        (behind,) = db.behind()
        assert "the table shows version" in behind
        db.catch_up()
        assert db.behind() == ()
