"""A state survives its compiler, and its views and relations may go or be defined anew.

The compiler is changed on purpose: with ``force_domain`` it makes another program of each view with inner bags, as any
change of a simplification or of a map's name would.
"""

import json

import pytest
from attrs import evolve
from support.shop import (
    ANN,
    BOB,
    FILMS,
    VIEWS,
    Customer,
    Movie,
    customer,
    item,
    movie,
    movies,
    opened,
    order,
    parts,
    tags,
)

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.api import database
from ripplenest.delta.compile import compile_view
from ripplenest.nrc import types
from ripplenest.nrc.values import to_value
from ripplenest.publish.target import folder_name
from ripplenest.run.joiner import PythonJoiner
from ripplenest.state import views
from ripplenest.store.specs import Change

REBUILT = {"parts", "liked"}  # the views whose inner bags have no domain already


@pytest.fixture
def changed(monkeypatch):
    """Another compiler from now on, which rebuilds nothing by itself when ``lazy``."""

    def change(lazy=True, fails=()):
        def other(query, options):
            if query.name in fails:
                raise errors.QueryError("no longer supported", where=f"view {query.name}")
            return compile_view(query, evolve(options, force_domain=True))

        monkeypatch.setattr(views, "compile_view", other)
        if lazy:
            monkeypatch.setattr(database, "SMALL", -1)

    yield change
    monkeypatch.undo()


def shop(folder, *kept):
    with opened(folder) as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in kept:
            db.create(view)
    return folder


def rows(db, *names):
    return {name: db.view(name).rows() for name in (names or db.views)}


def wanted(db):
    """What each view gives on the relations, by the reference interpreter."""
    data = {name: db.relation(name).rows() for name in ("C", "M")}
    found = {}
    for view in VIEWS:
        if view.name in db.views:
            found[view.name] = view(**{name: data[name] for name, _ in view.query.relations})
    return found


def a_batch(db, n=1):
    with db.batch("s", n) as b:
        b.insert("M", [movie(f"new{n}", "Drama", "d")])
        b.insert("C", [customer(100 + n, "new", [order(500 + n, item(1, 3, ("x",)))])])
    return b.report


# ---------------------------------------------------------------- another compiler


def test_a_state_always_opens_and_its_views_wait(tmp_path, changed):
    """Relations, history and the views themselves are readable as they are; who waits is said, and why."""
    state = shop(tmp_path / "state", *VIEWS)
    with opened(state) as db:
        before = rows(db)
    changed()
    with rn.open(state, engine="local") as db:
        assert set(db.waiting) == REBUILT and all("another program" in why for why in db.waiting.values())
        assert rows(db) == before
        assert len(db.history()) == db.version + 1 and db.relation("M").count() == len(FILMS)
        assert set(db.views) == {view.name for view in VIEWS}
        assert db.view("parts").waits and not db.view("movies").waits


def test_batches_keep_relations_fresh_and_say_which_views_wait(tmp_path, changed):
    """A waiting view shows the last version that its maps are right for, whatever batches do to relations whose bags it
    passes on; the others are kept fresh."""
    state = shop(tmp_path / "state", *VIEWS)
    changed()
    with rn.open(state, engine="local") as db:
        before, version = rows(db, *REBUILT), db.version
        report = a_batch(db)
        assert set(report.waiting) == REBUILT and "wait" in str(report)
        with pytest.warns(UserWarning, match=f"waits to be rebuilt, and shows the rows of version {version}: "):
            assert rows(db, *REBUILT) == before
        fresh = set(db.views) - REBUILT
        assert rows(db, *fresh) == {name: wanted(db)[name] for name in fresh}
        with pytest.raises(errors.StateError, match="waits to be rebuilt") as caught:
            db.view("parts").as_of(db.version)
        assert f"as_of({version})" in str(caught.value) and "rebuild" in str(caught.value)
        with db.batch("s", 2) as b:
            b.insert("M", [movie("only M")])
        assert set(b.report.waiting) == {"liked"}


def test_rebuild_is_one_commit_and_what_comes_after_is_fresh(tmp_path, changed):
    state = shop(tmp_path / "state", *VIEWS)
    changed()
    with rn.open(state, engine="local") as db:
        a_batch(db)
        version = db.version
        assert set(db.rebuild("parts")) == {"parts"} and db.version == version + 1
        assert db.history(1)[0].note["kind"] == "rebuild"
        assert set(db.rebuild()) == REBUILT - {"parts"} and db.waiting == {}
        assert db.rebuild() == ()
        assert rows(db) == wanted(db)
        assert a_batch(db, 2).waiting == ()
        assert rows(db) == wanted(db) and db.verify(deep=True).ok and db.check_files()


def test_small_states_are_rebuilt_when_they_are_opened(tmp_path, changed):
    state = shop(tmp_path / "state", *VIEWS)
    changed(lazy=False)
    with rn.open(state, engine="local") as db:
        assert db.waiting == {} and rows(db) == wanted(db) and db.verify(deep=True).ok
        version = db.version
    with rn.open(state, engine="local") as db:
        assert db.version == version


def test_the_older_compiler_knows_that_it_was_left_behind(tmp_path, changed, monkeypatch):
    """Its own program is that of the maps, but batches were applied without it."""
    state = shop(tmp_path / "state", *VIEWS)
    changed()
    with rn.open(state, engine="local") as db:
        a_batch(db)
    monkeypatch.setattr(views, "compile_view", compile_view)
    with rn.open(state, engine="local") as db:
        assert set(db.waiting) == REBUILT and "applied batches" in db.waiting["parts"]
        db.rebuild()
        assert rows(db) == wanted(db) and db.verify(deep=True).ok


def test_a_view_that_is_compiled_no_longer_is_readable_and_can_be_dropped(tmp_path, changed):
    state = shop(tmp_path / "state", *VIEWS)
    with opened(state) as db:
        before = rows(db, "parts")
    changed(lazy=False, fails={"parts"})
    with rn.open(state, engine="local") as db:
        assert set(db.waiting) == {"parts"} and "no longer supported" in db.waiting["parts"]
        a_batch(db)
        assert rows(db, "parts") == before
        with pytest.raises(errors.QueryError, match="no longer supported"):
            db.rebuild()
        db.drop("parts")
        assert db.waiting == {} and "parts" not in db.views


def test_a_state_that_does_not_say_what_its_maps_are(tmp_path, changed):
    """As those of the first release: read by this compiler's shape where the stored tables have it, and rebuilt."""
    state = shop(tmp_path / "state", *VIEWS)
    with opened(state) as db:
        before = rows(db)
        stored = {k: json.loads(v) for k, v in db._store.all_meta().items() if k.startswith("view:")}
        told = {k: json.dumps({n: v[n] for n in ("query", "program", "options")}) for k, v in stored.items()}
        db._store.commit(Change(meta=told), db.version)
    changed()
    with rn.open(state, engine="local") as db:
        assert set(db.waiting) == REBUILT and rows(db) == before
        a_batch(db)
        assert rows(db, *REBUILT) == {name: before[name] for name in REBUILT}
        db.rebuild()
        assert rows(db) == wanted(db) and db.verify(deep=True).ok


def test_rollbacks_and_loads_leave_waiting_views_behind(tmp_path, changed):
    state = shop(tmp_path / "state", *VIEWS)
    with opened(state) as db:
        a_batch(db)
        before = rows(db, *REBUILT)
    changed()
    with rn.open(state, engine="local") as db:
        db.rollback(db.version - 1)
        assert rows(db, *REBUILT) == before
        db.rebuild()
        assert rows(db) == wanted(db) and db.verify(deep=True).ok


def test_the_last_version_that_a_waiting_view_shows_may_go(tmp_path, changed):
    state = shop(tmp_path / "state", parts)
    changed()
    with rn.open(state, engine="local") as db:
        a_batch(db)
        db.vacuum(keep=0)
        with pytest.raises(errors.StateError, match="no longer kept") as caught:
            db.view("parts").rows()
        assert "rebuild" in str(caught.value)
        db.rebuild()
        assert rows(db) == wanted(db)


class Meanwhile(PythonJoiner):
    """Before it joins for the first time, somebody else does something."""

    def __init__(self, do):
        self.todo = [do]

    def join(self, tasks, targets):
        while self.todo:
            self.todo.pop()()
        return super().join(tasks, targets)


@pytest.mark.parametrize("how", ["all", "one", "small", "opened"])
def test_a_rebuild_is_done_again_when_another_commit_came_first(tmp_path, changed, monkeypatch, how):
    """As other definitions are: beside steady writers no view would be kept fresh again."""
    state = shop(tmp_path / "state", *VIEWS)
    changed()
    with rn.open(state, engine="local") as db, rn.open(state, engine="local") as other:
        db._engines._made["local"] = Meanwhile(lambda: a_batch(other))
        monkeypatch.setattr(database, "SMALL", 100_000)
        rebuild = {"all": db.rebuild, "one": lambda: db.rebuild("parts"), "small": db.rebuild_small}
        if how == "opened":
            monkeypatch.setattr(rn.Database, "__init__", opened_beside(rn.Database.__init__, lambda: a_batch(other)))
            rn.open(state, engine="local").close()
        else:
            assert set(rebuild[how]()) == ({"parts"} if how == "one" else REBUILT)
        assert set(db.waiting) == (REBUILT - {"parts"} if how == "one" else set())
        assert db.rebuild() == tuple(REBUILT - {"parts"} if how == "one" else ())
        assert rows(db) == wanted(db) and db.verify(deep=True).ok


def opened_beside(made, do):
    """What makes a database, beside which somebody else does something."""

    def init(db, *args):
        made(db, *args)
        db._engines._made["local"] = Meanwhile(do)

    return init


def test_a_view_that_another_one_has_rebuilt_meanwhile_is_fresh(tmp_path, changed):
    state = shop(tmp_path / "state", *VIEWS)
    changed()
    with rn.open(state, engine="local") as db, rn.open(state, engine="local") as other:
        db._engines._made["local"] = Meanwhile(other.rebuild)
        assert db.rebuild() == () and db.waiting == {} and db.version == other.version
        assert rows(db) == wanted(db)


def test_creating_a_waiting_view_again_rebuilds_it(tmp_path, changed):
    state = shop(tmp_path / "state", parts, movies)
    changed()
    with rn.open(state, engine="local") as db:
        a_batch(db)
        db.create(parts)
        assert db.waiting == {} and rows(db) == wanted(db)


def test_changes_go_across_a_rebuild(tmp_path, changed):
    state = shop(tmp_path / "state", *VIEWS)
    with opened(state) as db:
        before, version = {name: db.view(name).bag() for name in db.views}, db.version
    changed()
    with rn.open(state, engine="local") as db:
        a_batch(db)
        db.rebuild()
        a_batch(db, 2)
        for name in db.views:
            assert difference(db, name, version) == (db.view(name).bag() - before[name]), name


def difference(db, name, since):
    """What the changes of a view say, as a bag."""
    handle = db.view(name)
    went, came = handle.changed_rows(since)
    gone, new = (to_value(rows, types.Bag(handle.shape.row), "") for rows in (went, came))
    return new - gone


# ---------------------------------------------------------------- dropping


def test_a_dropped_view_is_there_in_the_versions_that_have_it(tmp_path):
    state = shop(tmp_path / "state", *VIEWS)
    with opened(state) as db:
        before, version = rows(db, "parts"), db.version
        db.drop("parts")
        assert "parts" not in db.views and not [t for t in db._store.tables() if t.startswith("parts")]
        with pytest.raises(errors.UnknownView, match="no such view"):
            db.view("parts")
        assert db.view("parts", as_of=version).rows() == before["parts"]
        a_batch(db)
        assert rows(db) == wanted(db) and db.verify(deep=True).ok and db.check_files()
        assert db.view("parts", as_of=version).rows() == before["parts"]
    with opened(state) as db:
        assert db.view("parts", as_of=version).rows() == before["parts"]
        db.create(parts)
        assert rows(db) == wanted(db)
        assert db.view("parts").as_of(version).rows() == before["parts"]


def test_a_dropped_view_that_passed_on_bags_is_read_with_the_fields_that_these_have(tmp_path):
    """Older versions show a relation under its newest type, which is not the one that the view was of; not where the
    labels that the view holds are no labels of it any more."""
    state = shop(tmp_path / "state", parts, tags)
    with opened(state) as db:
        version, before = db.version, rows(db, "parts", "tags")
        db.drop("parts")
        db.drop("tags")
        db.relation("C").add("orders.items.note", str, default="")
        assert "'note': ''" in str(db.view("parts", as_of=version).rows())
        assert str(db.view("parts", as_of=version).rows()).replace(", 'note': ''", "") == str(before["parts"])
        assert db.view("tags", as_of=version).rows() == before["tags"]


def test_a_dropped_view_that_passed_on_bags_is_read_with_the_names_that_these_have(tmp_path):
    """Another name changes no column."""
    with opened(shop(tmp_path / "state", parts)) as db:
        version, before = db.version, db.view("parts").rows()
        db.drop("parts")
        db.relation("C").rename("orders.items.qty", "many")
        found = str(db.view("parts", as_of=version).rows())
        assert "'many'" in found and found.replace("'many'", "'qty'") == str(before)


@pytest.mark.parametrize("drops", [True, False], ids=["dropped", "replaced"])
@pytest.mark.parametrize("changes", [("rename", "add"), ("add", "rename")], ids=" ".join)
def test_a_view_of_before_is_read_with_a_key_of_another_name_and_another_field(tmp_path, drops, changes):
    """Its labels have the columns that they had."""
    with opened(shop(tmp_path / "state", parts)) as db:
        version, before = db.version, db.view("parts").rows()
        if drops:
            db.drop("parts")
        else:
            db.replace(other_parts())
        for change in changes:
            if change == "rename":
                db.relation("C").rename("custkey", "number")
            else:
                db.relation("C").add("orders.items.note", str, default="")
        found = str(db.view("parts", as_of=version).rows())
        assert "'note': ''" in found and found.replace(", 'note': ''", "") == str(before)


def test_a_version_before_there_was_a_view(tmp_path):
    """Whatever it was called first, and has been since."""
    with opened(shop(tmp_path / "state")) as db:
        before = db.version
        db.create(parts)
        for again in (False, True):
            if again:
                db.drop("parts")
                db.create(parts)
            with pytest.raises(errors.StateError, match="no such table yet"):
                db.view("parts").as_of(before).rows()
            assert db.view("parts").changed_rows(since=before)[1] == db.view("parts").rows()


@rn.record
class Bin:
    id: rn.Int
    parts: Bag[int]


@rn.view
def bins(B: Bag[Bin]):
    return [{"id": b.id, "parts": b.parts} for b in B]


def test_a_dropped_view_with_labels_of_a_key_that_is_wider_now_is_not_misread(tmp_path):
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("B", Bin, key="id")
        db.load("B", [{"id": 1, "parts": [2]}])
        db.create(bins)
        version = db.version
        db.drop("bins")
        db.relation("B").widen("id", int)
        with pytest.raises(errors.StateError, match="other columns") as caught:
            db.view("bins", as_of=version)
        assert "B.parts" in str(caught.value) and db.relation("B").as_of(version).rows() == [{"id": 1, "parts": [2]}]


def test_nothing_is_left_of_what_was_dropped_when_no_version_has_it(tmp_path):
    state = shop(tmp_path / "state")
    with opened(state) as db:
        db.compact(everything=True)
        files, tables = db.usage.files, set(db._store.tables())
        db.create(parts)
        db.drop("parts")
        for n in range(1, 4):
            with db.batch("s", n) as b:
                b.insert("M", [movie(f"m{n}")])
        db.vacuum(keep=0)
        db.compact(everything=True)
        db.vacuum(keep=0)
        assert set(db._store.tables()) == tables and db._store._head().schema.dropped == ()
        assert db.usage.files <= files + 1
        assert not [key for key in db._store.all_meta() if "parts" in key and not key.startswith("past:")]


def test_maps_that_views_share_stay_for_the_others(tmp_path):
    """``materialize="full"`` shares auxiliary maps between views of one shape."""

    @rn.view
    def twin(C: Bag[Customer]):
        return [{"t": t, "n": c.name, "p": i.part} for c in C for o in c.orders for i in o.items for t in i.tags]

    state = shop(tmp_path / "state")
    with opened(state) as db:
        db.create(tags, materialize="full")
        db.create(twin, materialize="full")
        shared = {m for m in db._store.tables() if m.startswith("M/")}
        assert shared
        db.drop("tags")
        assert {m for m in db._store.tables() if m.startswith("M/")} == shared
        a_batch(db)
        assert db.verify(deep=True).ok
        db.drop("twin")
        assert not {m for m in db._store.tables() if m.startswith("M/")}


def test_what_is_read_or_published_is_not_dropped(tmp_path):
    pytest.importorskip("deltalake")
    state = shop(tmp_path / "state", movies)
    with opened(state) as db:
        version = db.version
        with pytest.raises(errors.StateError, match="views read the relation") as caught:
            db.drop("M")
        assert "movies" in str(caught.value) and "drop('movies')" in str(caught.value)
        db.publish("movies", tmp_path / "lake")
        with pytest.raises(errors.StateError, match="is published") as caught:
            db.drop("movies")
        assert "unpublish('movies'" in str(caught.value)
        db.unpublish("movies", tmp_path / "lake")
        with pytest.raises(errors.UnknownView, match="no such view or relation"):
            db.drop("nothing")
        assert db.version == version + 2
        db.drop("movies")
        db.drop("M")
        assert db.relations == ("C",) and db.views == ()


def test_a_relation_that_comes_again_is_another_one(tmp_path):
    """With other fields, and a load of its own."""

    @rn.record
    class Film:
        title: str
        year: int

    state = shop(tmp_path / "state", movies)
    with opened(state) as db:
        version = db.version
        db.drop("movies")
        db.drop("M")
    with rn.open(state, engine="local") as db:
        db.relation("M", Film, key="title")
        db.load("M", [{"title": "Rush", "year": 2013}])
        assert db.relation("M").rows() == [{"title": "Rush", "year": 2013}]
        with pytest.raises(errors.AlreadyLoaded):
            db.load("M", [{"title": "other", "year": 1}])
        assert db.view("movies", as_of=version).rows() == sorted(FILMS, key=lambda m: m["name"])
        assert db.verify(deep=True).ok


def test_a_batch_that_was_begun_before_the_relation_changed_is_refused(tmp_path):
    state = shop(tmp_path / "state")

    @rn.record
    class Film:
        title: str

    with opened(state) as db:
        version = None
        with pytest.raises(errors.RelationChanged, match="declared anew by another object"), db.batch() as b:
            b.insert("M", [movie("x")])
            with rn.open(state, engine="local") as other:
                other.drop("M")
                other.relation("M", Film)
                version = other.version
        assert db.version == version and db.relation("M").rows() == []


# ---------------------------------------------------------------- replacing


def other_parts():
    @rn.view
    def parts(C: Bag[Customer]):
        return [
            {
                "n": c.name,
                "big": [{"o": o.orderkey, "its": [i for i in o.items if i.qty > 2]} for o in c.orders],
                "all": c.orders,
            }
            for c in C
        ]

    return parts


def test_replacing_is_one_commit_whose_changes_are_the_difference(tmp_path):
    state = shop(tmp_path / "state", *VIEWS)
    with opened(state) as db:
        old, version = db.view("parts").bag(), db.version
        db.replace(other_parts())
        assert db.version == version + 1 and db.history(1)[0].note["kind"] == "replace"
        new = db.view("parts").bag()
        assert new != old and difference(db, "parts", version) == new - old
        assert db.view("parts").as_of(version).bag() == old
        a_batch(db)
        assert db.view("parts").rows() == other_parts()(C=db.relation("C").rows())
        assert difference(db, "parts", version) == db.view("parts").bag() - old
        assert db.verify(deep=True).ok
    with opened(state) as db:
        assert db.view("parts").as_of(version).bag() == old
        with pytest.raises(errors.ViewChanged, match="another definition") as caught:
            db.create(parts)
        assert "replace" in str(caught.value)


def test_maps_that_both_definitions_have_stay(tmp_path):
    """Only what differs is built: the flat part is the same, and so are maps of bags that did not change."""
    state = shop(tmp_path / "state", parts)
    with opened(state) as db:
        db.replace(other_parts())
        note = db.history(1)[0].note
        assert "parts" in note["kept"] and note["built"] and set(note["built"]) < set(db._store.tables())
        version = db.version
        db.replace(other_parts())
        assert db.history(1)[0].note["built"] == [] and db.version == version + 1


def test_a_replaced_view_with_another_type_is_shown_as_it_was(tmp_path):
    @rn.view
    def movies(M: Bag[Movie]):
        return [{"title": m.name, "same": [n.name for n in M if n.gen == m.gen]} for m in M]

    state = shop(tmp_path / "state", *VIEWS)
    with opened(state) as db:
        old, version = db.view("movies").rows(), db.version
        db.replace(movies)
        a_batch(db)
        assert db.view("movies").rows() == movies(M=db.relation("M").rows())
        assert db.view("movies").as_of(version).rows() == old
        with pytest.raises(errors.StateError, match="another type") as caught:
            db.view("movies").changed_rows(since=version)
        assert "as_of" in str(caught.value)
        assert db.view("movies").changed_rows(since=db.version - 1)[1]


def test_what_cannot_be_replaced_stays_as_it_is(tmp_path):
    state = shop(tmp_path / "state", parts)
    with opened(state) as db:
        version = db.version
        with pytest.raises(errors.UnknownView, match="no such view"):
            db.replace(tags)

        @rn.record
        class Film:
            title: str

        @rn.view
        def parts2(M: Bag[Film]):
            return M

        with pytest.raises(errors.TypeMismatch):
            db.replace(parts2)
        assert db.version == version and rows(db) == wanted(db)


def test_a_replaced_view_is_published_whole(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    state = shop(tmp_path / "state", parts)
    with opened(state) as db:
        db.publish("parts", tmp_path / "lake")
        db.replace(other_parts())
        table = deltalake.DeltaTable(str(tmp_path / "lake"))
        published = [row["big"] for row in table.to_pyarrow_table().to_pylist()]
        assert sorted(map(str, published)) != []
        assert len(published) == db.view("parts").count()
        a_batch(db)
        table.update_incremental()
        assert len(table.to_pyarrow_table()) == db.view("parts").count()


def binned(which):
    """Views called ``binned`` with an inner bag of their own, with none, and with one that they pass on."""
    if which == "own":

        @rn.view
        def binned(B: Bag[Bin]):
            return [{"id": b.id, "parts": [p for p in b.parts if p > 1]} for b in B]
    elif which == "none":

        @rn.view
        def binned(B: Bag[Bin]):
            return [{"id": b.id} for b in B]
    else:

        @rn.view
        def binned(B: Bag[Bin]):
            return [{"id": b.id, "parts": b.parts} for b in B]

    return binned


def test_a_shredded_publication_follows_views_with_other_inner_bags(tmp_path):
    """Tables of bags that the view has no longer stay as they are, and are written again when it has them again."""
    deltalake = pytest.importorskip("deltalake")

    def read(db):
        folders = ["flat", *(folder_name(site) for site in db.view("binned").shape.sites)]
        tables = [deltalake.DeltaTable(str(tmp_path / "lake" / name)).to_pyarrow_table() for name in folders]
        ids = sorted(tables[0].column("id").to_pylist())
        return ids, *(sorted(t.column("value").to_pylist()) for t in tables[1:])

    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("B", Bin, key="id")
        db.load("B", [{"id": 1, "parts": [1, 2, 3]}])
        db.create(binned("own"))
        db.publish("binned", tmp_path / "lake", layout="shredded")
        wanted, ids = {"own": [2, 3], "passed": [1, 2, 3]}, [1]
        for n, which in enumerate(("none", "own", "passed", "none", "passed", "own"), 2):
            db.replace(binned(which))
            assert read(db) == ((ids,) if which == "none" else (ids, wanted[which])), which
            with db.batch() as b:
                b.insert("B", [{"id": n, "parts": [n]}])
            ids = [*ids, n]
            wanted = {name: sorted([*values, n]) for name, values in wanted.items()}
            assert read(db) == ((ids,) if which == "none" else (ids, wanted[which])), which
        assert db.behind() == ()
        (tmp_path / "lake" / "notes").mkdir()
        with pytest.raises(errors.NotPublished, match="no Delta table"), db.batch() as b:
            b.insert("B", [{"id": 99, "parts": []}])


def test_a_domain_that_stays_is_read_as_each_label_once(tmp_path):
    """A label that two rows hold is one of the domain: what a replaced view makes anew of it is there once."""

    def older(shown):
        if shown == "name":

            @rn.view
            def earlier(M: Bag[Movie]):
                return [{"n": m.name, "xs": [x.name for x in M if x.name < m.gen]} for m in M]
        else:

            @rn.view
            def earlier(M: Bag[Movie]):
                return [{"n": m.name, "xs": [x.dir for x in M if x.name < m.gen]} for m in M]

        return earlier

    with opened(tmp_path / "s") as db:
        db.load("M", [*FILMS, movie("A", "Zzz")])
        db.create(older("name"))
        held = db._store.snapshot().scan("earlier/Dom[earlier.xs]").counts()
        assert max(held.values()) > 1
        db.replace(older("dir"))
        said = db.history()[0].note
        assert said["kept"] == ["earlier", "earlier/Dom[earlier.xs]"] and said["built"] == ["earlier/D[earlier.xs]"]
        assert db.verify(deep=True).ok


# ---------------------------------------------------------------- views that nobody asks for


def test_who_reads_relations_compiles_no_view(tmp_path, monkeypatch):
    """Views are compiled when the first is asked for, in their order; until then another process may change them."""
    state = shop(tmp_path / "state", movies, parts)
    compiled, plain = [], views.compiled

    def noted(query, options):
        compiled.append(query.name)
        return plain(query, options)

    monkeypatch.setattr(views, "compiled", noted)
    with opened(state, catch_up=False) as reader:
        assert len(reader.relation("M").rows()) == len(FILMS) and len(reader.history(1)) == 1 and compiled == []
        with rn.open(state, engine="local") as other:
            other.drop("movies")
            other.replace(other_parts())
            wanted = other.view("parts").rows()
        compiled.clear()
        assert len(reader.relation("C").rows()) == 2 and compiled == []
        assert reader.views == ("parts",) and compiled == ["parts"] and reader.waiting == {}
        assert reader.view("parts").rows() == wanted
        with reader.batch() as b:
            b.insert("C", [customer(77)])
        assert reader.verify().ok and len(reader.view("parts").rows()) == 3
