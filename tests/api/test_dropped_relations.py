"""A relation that was dropped, and what has its name now: its old versions are read as it was declared, or not at all.

A stored table is found at an older version by its name, which by then may have been another's, with columns of the same
types.
"""

from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.source.asked import Asked
from ripplenest.state.define import Definitions


@rn.record
class Place:
    name: str
    city: str


@rn.record
class Turned:
    city: str
    name: str


@rn.record
class Number:
    name: str
    city: int


@rn.record
class Short:
    name: str


@rn.record
class Long:
    name: str
    city: str
    more: int


@rn.record
class Nested:
    id: int
    places: Bag[Place]


@rn.view
def passed(R: Bag[Nested]) -> list[Any]:
    return [{"id": r.id, "places": r.places} for r in R]


@rn.view
def X(P: Bag[Place]) -> list[Any]:
    return [{"a": p.city, "b": p.name} for p in P]


ANN = {"name": "Ann", "city": "Bern"}
OF_ANN = {"id": 1, "places": [ANN]}
FLAT = [(Place, {}), (Turned, {}), (Number, {}), (Short, {}), (Long, {}), (Place, {"key": "name"})]
DEEP = [{}, {"key": "id"}, {"immutable": "places"}, {"key": "id", "keys": {"places": "name"}}]
SINCE = "the relation was dropped since, and is declared otherwise now"


def refused_everywhere(db: rn.Database, name: str, version: int, what: str) -> None:
    """Read as it was, its changes and a rollback; nothing is changed by asking."""
    relation, before = db.relation(name), (db.version, db.relation(name).rows())
    path = str(db._store.path)
    for ask in (
        lambda: relation.as_of(version).rows(),
        lambda: relation.as_of(version).to_arrow(),
        lambda: relation.changes(since=version).flat_to_arrow(),
        lambda: relation.changed_rows(since=version),
        Asked.of({"path": path, "relation": name, "asOf": str(version)}).pinned,
        Asked.of({"path": path, "relation": name, "layout": "flat", "since": str(version)}).pinned,
        lambda: db.rollback(version),
    ):
        with pytest.raises(errors.StateError, match=what):
            ask()
    assert (db.version, relation.rows()) == before and db.verify(deep=True).ok


@pytest.mark.parametrize(("record", "options"), FLAT[1:], ids=lambda x: getattr(x, "__name__", str(x)))
def test_a_relation_that_is_declared_otherwise_is_not_read_as_what_it_was(
    record: Any, options: Any, tmp_path: Path
) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Place)
        version = db.load("P", [ANN])
        db.drop("P")
        db.relation("P", record, **options)
        refused_everywhere(db, "P", version, SINCE)
        db.drop("P")
        db.relation("P", Place)
        assert db.relation("P").as_of(version).rows() == [ANN]
        db.rollback(version)
        assert db.relation("P").rows() == [ANN] and db.verify(deep=True).ok
    with rn.open(tmp_path / "s", engine="local") as db:
        assert db.relation("P").as_of(version).rows() == [ANN]


@pytest.mark.parametrize("after", DEEP, ids=str)
@pytest.mark.parametrize("before", DEEP, ids=str)
def test_keys_and_immutable_bags_are_of_the_declaration(before: Any, after: Any, tmp_path: Path) -> None:
    """What was dropped since is read with the arrays that it had, by a view that passed them on, too."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Nested, **before)
        db.load("R", [OF_ANN])
        db.create(passed)
        version = db.version
        db.drop("passed")
        db.drop("R")
        assert db.view("passed", as_of=version).rows() == [OF_ANN]
        db.relation("R", Nested, **after)
        assert db.view("passed", as_of=version).rows() == [OF_ANN]
        assert db.view("passed", as_of=version).to_arrow().to_pylist() == [OF_ANN]
        if before == after:
            assert db.relation("R").as_of(version).rows() == [OF_ANN]
        else:
            refused_everywhere(db, "R", version, SINCE)


def test_a_field_that_came_after_it_was_declared_again_is_not_of_before(tmp_path: Path) -> None:
    """What came before it was dropped is."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Short)
        first = db.load("P", [{"name": "Ann"}])
        db.relation("P").add("city", str, default="Bern")
        assert db.relation("P").as_of(first).rows() == [ANN]
        db.drop("P")
        db.relation("P", Place)
        assert db.relation("P").as_of(first).rows() == [ANN]
        db.relation("P").add("more", int, default=1)
        refused_everywhere(db, "P", first, SINCE)


def test_what_an_earlier_release_dropped_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It did not say how that was declared."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Place)
        version = db.load("P", [ANN])
        with monkeypatch.context() as earlier:
            earlier.setattr(Definitions, "_was", lambda *_: {})
            db.drop("P")
        db.relation("P", Place)
        refused_everywhere(db, "P", version, SINCE)


def test_what_nothing_had_the_name_of_is_nothing(tmp_path: Path) -> None:
    """A version between a drop and the next declaration; how it was declared is forgotten with the last version."""
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Place)
        version = db.load("P", [ANN])
        between = db.drop("P")
        db.relation("P", Number)
        db.load("P", [{"name": "Zoe", "city": 1}])
        db.rollback(between)
        assert db.relation("P").rows() == [] and db.verify(deep=True).ok
        assert [w.died for w in db._declared.was.values()] == [between]
        db.vacuum(keep=0)
        with pytest.raises(errors.NotKept):
            db.relation("P").as_of(version)
        gone = db.drop("P")
        assert db.relations == () and [w.died for w in db._declared.was.values()] == [gone]


def test_names_that_pass_from_views_to_relations_and_back(tmp_path: Path) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("P", Place)
        db.load("P", [ANN])
        db.create(X)
        of_view = db.version
        db.drop("X")
        db.relation("X", Turned)
        of_relation = db.load("X", [{"city": "Oslo", "name": "Zoe"}])
        refused_everywhere(db, "X", of_view, "a view had the name of the relation then")
        assert db.view("X", as_of=of_view).rows() == [{"a": "Bern", "b": "Ann"}]
        db.drop("X")
        db.create(X)
        with pytest.raises(errors.StateError, match="a relation had the name of the view then"):
            db.view("X").as_of(of_relation).rows()
        with pytest.raises(errors.StateError, match="a relation had the name of the view then"):
            db.view("X").changes(since=of_relation).flat_to_arrow()
        with pytest.raises(errors.StateError, match="a relation had the name of the view then"):
            Asked.of({"path": str(tmp_path / "s"), "view": "X", "layout": "flat", "since": str(of_relation)}).pinned()
        assert db.view("X", as_of=of_view).rows() == [{"a": "Bern", "b": "Ann"}]
