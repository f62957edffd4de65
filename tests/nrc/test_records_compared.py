"""Records are compared by their fields, as if these had been written."""

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.walk import canonical


@rn.record
class Geo:
    lat: int
    lon: int | None


@rn.record
class Address:
    street: str
    geo: Geo


@rn.record
class Place:
    street: str
    zip: int


@rn.record
class Tagged:
    street: str
    tags: Bag[str]


@rn.record
class Person:
    id: int
    home: Address
    work: Address | None
    place: Place
    tagged: Tagged


@rn.view
def neighbours(P: Bag[Person]):
    return [{"a": a.id, "b": b.id} for a in P for b in P if a.home == b.home]


@rn.view
def neighbours_by_fields(P: Bag[Person]):
    return [
        {"a": a.id, "b": b.id}
        for a in P
        for b in P
        if a.home.street == b.home.street and (a.home.geo.lat == b.home.geo.lat and a.home.geo.lon == b.home.geo.lon)
    ]


@rn.view
def elsewhere(P: Bag[Person]):
    return [p.id for p in P if p.home != p.work]


@rn.view
def elsewhere_by_fields(P: Bag[Person]):
    return [
        p.id
        for p in P
        if p.home.street != p.work.street or (p.home.geo.lat != p.work.geo.lat or p.home.geo.lon != p.work.geo.lon)
    ]


@rn.view
def at_home(P: Bag[Person]):
    """As a value, of a record that a view makes, and of a group's key."""
    return [
        {"home": h.geo, "n": len([p for p in ps if p.work == h]), "here": h.geo == {"lat": 1, "lon": 2}}
        for h, ps in rn.group_by(P, lambda p: p.home)
    ]


def geo(lat: int, lon: int | None) -> Geo:
    return Geo(lat, lon)


def person(key: int, home: Address, work: Address | None) -> Person:
    return Person(key, home, work, Place("s", 1), Tagged("s", []))


A, B, UNKNOWN = Address("a", Geo(1, 2)), Address("b", Geo(1, 2)), Address("a", Geo(1, None))
PEOPLE = [person(1, A, A), person(2, A, B), person(3, A, None), person(4, UNKNOWN, UNKNOWN), person(5, B, UNKNOWN)]


@pytest.mark.parametrize(
    ("one", "other"), [(neighbours, neighbours_by_fields), (elsewhere, elsewhere_by_fields)], ids=lambda v: v.name
)
def test_their_fields_are(one: rn.View, other: rn.View) -> None:
    assert canonical(one.query.body) == canonical(other.query.body)


def test_what_is_null_equals_nothing() -> None:
    """A field, and a record, which is neither the same nor another."""
    pairs = sorted((r["a"], r["b"]) for r in neighbours(PEOPLE))
    assert pairs == [*((a, b) for a in (1, 2, 3) for b in (1, 2, 3)), (5, 5)]
    assert sorted(elsewhere(PEOPLE)) == [2, 5]
    found = {(r["home"]["lon"], r["n"], r["here"]) for r in at_home(PEOPLE)}
    assert found == {(2, 1, True), (2, 0, True), (None, 0, None)}


def test_views_of_them_are_kept_fresh(tmp_path) -> None:
    with rn.open(tmp_path / "s", engine="local", policy="strict") as db:
        db.relation("P", Person, key="id")
        for view in (neighbours, elsewhere, at_home, known):
            db.create(view)
        for more in (PEOPLE[:2], PEOPLE[2:], [person(2, B, B)]):
            with db.batch() as b:
                b.upsert("P", more)
            people = db.relation("P").rows()
            for view in (neighbours, elsewhere, at_home, known):
                assert sorted(map(str, db.view(view.name).rows())) == sorted(map(str, view(people)))
        assert db.verify().ok


def test_records_of_other_fields_are_refused() -> None:
    with pytest.raises(TypeMismatch, match=r"(?s)records of different fields.*as in `x.street == y.street`"):

        @rn.view
        def mixed(P: Bag[Person]):
            return [p.id for p in P if p.home == p.place]


@pytest.mark.parametrize("negated", [False, True])
def test_whether_one_is_among_others_is_asked_so(negated: bool) -> None:
    with pytest.raises(TypeMismatch, match="`not any" if negated else "`any") as caught:
        rn.view(homes_not_in if negated else homes_in)
    assert "any(y == x for y in ys)`, as records are compared" in str(caught.value)


def homes_in(P: Bag[Person]):
    return [p.id for p in P if p.work in [q.home for q in P]]


def homes_not_in(P: Bag[Person]):
    return [p.id for p in P if p.work not in [q.home for q in P]]


@rn.view
def known(P: Bag[Person]):
    return [p.id for p in P if any(q.home == p.work for q in P) and not any(q.home == p.home for q in P if q.id < p.id)]


def test_bags_in_them_are_no_values() -> None:
    with pytest.raises(TypeMismatch, match="this is a bag"):

        @rn.view
        def tagged(P: Bag[Person]):
            return [p.id for p in P for q in P if p.tagged == q.tagged]


def test_they_have_no_order() -> None:
    with pytest.raises(TypeMismatch, match="base values only"):

        @rn.view
        def less(P: Bag[Person]):
            return [p.id for p in P if p.home < p.work]
