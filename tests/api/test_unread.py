"""Who only reads compiles no view: the state says what it shows."""

from collections import Counter

import pytest
from attrs import evolve
from support.choices import Choices
from support.laws import law
from support.programs import query_of
from support.queries import grouped_query, weighed_query
from support.schemas import random_schema
from support.shop import ANN, BOB, FILMS, VIEWS, Customer, Movie, item, movie, opened
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.delta.compile import Options
from ripplenest.schema.relation import Relation
from ripplenest.state import views
from ripplenest.state.notes import note
from ripplenest.state.stored import StoredView, read, write
from ripplenest.state.unread import Unread
from ripplenest.state.views import compiled
from ripplenest.store.specs import Change

COUNTS: Counter[str] = Counter()


@rn.view
def by_title(M: Bag[Movie]):
    return rn.sorted(M, key=lambda m: m.name, desc=True)


@rn.view
def lost(M: Bag[Movie], C: Bag[Customer]):
    return rn.difference([m.name for m in M], [c.name for c in C])


@pytest.fixture
def state(tmp_path):
    with opened(tmp_path / "state") as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in (*VIEWS, by_title, lost):
            db.create(view)
        with db.batch("s", 1) as b:
            b.insert("M", [movie("new", "Drama", "d")])
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(3)])
    return tmp_path / "state"


def seen(db, name):
    view = db.view(name)
    few = sorted(map(repr, view.limit(1))) if name == "by_title" else len(view.limit(1))
    changed = [sorted(map(repr, rows)) for rows in view.changed_rows(db.version - 1)]
    return sorted(map(repr, view.rows())), few, changed, view.as_of(db.version - 1).rows(), view.shape, repr(view)


def test_reading_compiles_nothing(state, monkeypatch):
    names = [view.name for view in (*VIEWS, by_title, lost)]
    with rn.open(state, engine="local") as db:
        assert set(db.views) == {*names}  # asked for first: all are compiled
        wanted = {name: seen(db, name) for name in names}
    monkeypatch.setattr(views, "compile_view", _never)
    with rn.open(state, engine="local", catch_up=False) as db:
        assert {name: seen(db, name) for name in names} == wanted
        with pytest.raises(AssertionError, match="compiled"):
            db.view("parts").explain()


def _never(*_: object) -> None:
    raise AssertionError("compiled")


def test_what_is_not_said_is_compiled(state):
    """A state of a release that did not say whether rows are signed; and one without shapes."""
    with rn.open(state, engine="local") as db:
        wanted = seen(db, "lost")
        text = db._store.all_meta()["view:lost"]
    stored = read("view:lost", text, StoredView)
    assert Unread("lost", text, None).shape([]) is not None
    for left in ({"signed": None}, None):
        shape = None if left is None else evolve(stored.shape, **left)
        older = write(evolve(stored, shape=shape))
        assert Unread("lost", older, None).shape([]) is None
    with rn.open(state, engine="local", catch_up=False) as db:
        db._declared._pending["lost"] = Unread("lost", older, None)
        assert seen(db, "lost") == wanted


def test_views_that_were_left_behind_say_so(state):
    """Also when nothing has been compiled so far."""
    with rn.open(state, engine="local") as db:
        version = db.version
        db._state.note(Change(meta={"behind:parts": str(version)}, note=note("left")))
        with db.batch("s", 2) as b:
            b.insert("M", [movie("later", "Drama", "d")])
    with rn.open(state, engine="local", catch_up=False) as db:
        with pytest.warns(UserWarning, match=f"shows the rows of version {version}"):
            found = db.view("parts")
        assert found.rows()
        with pytest.raises(errors.StateError, match="waits to be rebuilt"):
            found.as_of(db.version)


@law(examples=many(40, 4000))
def test_the_shape_that_is_stored(c: Choices) -> None:
    """Law: what the state says of a view is what its program shows, and how: sorted, signed, and found by."""
    schema = random_schema(c)
    query = query_of(schema, (weighed_query if c.one_in(3) else grouped_query)(c, schema))
    kept = compiled(query, Options(c.pick(("none", "cost"))))
    keys = dict(schema.keys)
    relations = [Relation(name, row, keys.get(name, ()), keys=schema.keys) for name, row in query.relations]
    found, wanted = Unread(kept.name, kept.text, None).shape(relations), kept.shape
    assert found == wanted
    assert (found.shown, found.is_signed, found.found_by) == (wanted.shown, wanted.is_signed, wanted.found_by)
    COUNTS["signed" if found.is_signed else "unsigned"] += 1
    COUNTS["signed and nested"] += found.is_signed and bool(found.dictionaries)
    COUNTS["passed"] += any(d.of_input for d in found.dictionaries)


def test_coverage() -> None:
    """What was drawn, where the law above was asked."""
    if COUNTS:
        wanted = ("signed", "unsigned", "signed and nested", "passed")
        assert min(COUNTS[what] for what in wanted) >= 1, COUNTS
