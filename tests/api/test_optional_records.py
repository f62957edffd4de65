"""Records that may be NULL as a whole, `Address | None`, at every depth: in and out, in views, deep updates, types."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.nrc.errors import NameTaken, TypeMismatch, UnknownName, Unsupported, WrongColumns, WrongValue
from ripplenest.nrc.types import LONG, Record, join, nullable, optional


@rn.record
class Room:
    n: int
    key: str


@rn.record
class Geo:
    lat: float
    at: str | None


@rn.record
class Address:
    city: str
    zip: int | None
    geo: Geo | None
    place: Geo
    rooms: Bag[Room]


@rn.record
class Loose:
    """One that is there though all that it holds is NULL."""

    a: int | None


@rn.record
class Visit:
    n: int
    to: Address | None
    loose: Loose | None


@rn.record
class User:
    id: int
    home: Address | None
    work: Address | None
    visits: Bag[Visit]
    points: list[Geo | None]


@rn.record
class Two:
    a: Geo | None
    b: Geo
    n: int


@rn.record
class Order:
    id: int
    user: int
    note: str | None


@rn.view
def shown(U: Bag[User]) -> list[Any]:
    return [{"id": u.id, "home": u.home, "geo": u.home.geo, "visits": u.visits, "points": u.points} for u in U]


@rn.view
def asked(U: Bag[User]) -> list[Any]:
    return [
        {
            "id": u.id,
            "none": u.home is None,
            "deep": u.home.geo is not None,
            "city": u.home.city if u.home else "-",
            "zip": u.home and u.home.zip,
            "rooms": len(u.home.rooms),
            "far": len([v for v in u.visits if v.to and v.to.geo and v.to.geo.lat > 1.0]),
            "loose": len([v for v in u.visits if v.loose is not None]),
            "last": max(u.visits, key=lambda v: v.n).to.geo is None,
        }
        for u in U
    ]


@rn.view
def chosen(U: Bag[User]) -> list[Any]:
    return [
        {
            "either": u.home or u.work,
            "first": rn.coalesce(u.work, u.home),
            "some": u.home if u.id % 2 == 0 else None,
            "geo": rn.coalesce(u.home.geo, u.home.place).lat,
            "lats": [v.to.geo for v in u.visits],
        }
        for u in U
    ]


@rn.view
def homes(U: Bag[User]) -> list[Any]:
    """Rows that are None."""
    return [u.home for u in U]


@rn.view
def grouped(U: Bag[User]) -> list[Any]:
    return [
        {"geo": geo, "n": len(users), "last": max(users, key=lambda u: u.id).home.geo}
        for geo, users in rn.group_by(U, lambda u: u.home.geo)
    ]


@rn.view
def by_either(U: Bag[User]) -> list[Any]:
    """By one of several records; how many there are, and whether some or all."""
    return [
        {
            "geo": geo,
            "ids": [u.id for u in users],
            "homes": rn.count(u.home for u in users),
            "some": any(u.home for u in users),
            "all": all(u.work for u in users),
            "far": sum(u.home.city > "a" for u in users),
        }
        for geo, users in rn.group_by(U, lambda u: u.home.geo or (u.work.geo if u.id > 1 else None))
    ]


@rn.view
def joined(U: Bag[User], O: Bag[Order]) -> list[Any]:  # noqa: E741
    return [
        {"id": u.id, "order": o if u.id % 4 else None, "note": o.note, "home": u.home}
        for u, o in rn.left_join(U, O, lambda u, o: u.id == o.user)
    ]


@rn.view
def both(U: Bag[User], O: Bag[Order]) -> list[Any]:  # noqa: E741
    return [
        {"user": u.id, "order": o.id, "home": u.home, "none": u.home is None}
        for u, o in rn.full_join(U, O, lambda u, o: u.id == o.user)
    ]


VIEWS = {view.name: view for view in (shown, asked, chosen, homes, grouped, by_either, joined, both)}
COUNTS: Counter[str] = Counter()


def maybe(c: Choices, made: Any) -> Any:
    return made if not c.one_in(3) else None


def geo(c: Choices) -> dict[str, Any]:
    return {"lat": c.pick((0.5, 1.5)), "at": c.pick(("x", None))}


def address(c: Choices) -> dict[str, Any]:
    rooms = [{"n": c.number(2), "key": "k"} for _ in range(c.number(3))]
    own = {"city": c.pick(("a", "b")), "zip": c.pick((1, None)), "geo": maybe(c, geo(c)), "place": geo(c)}
    return {**own, "rooms": rooms}


def user(c: Choices, key: int) -> dict[str, Any]:
    loose = {"a": c.pick((None, None, 1))}
    visits = [{"n": i, "to": maybe(c, address(c)), "loose": maybe(c, loose)} for i in range(c.number(3))]
    points = [maybe(c, geo(c)) for _ in range(c.number(3))]
    places = {"home": maybe(c, address(c)), "work": maybe(c, address(c))}
    return {"id": key, **places, "visits": visits, "points": points}


def as_given(c: Choices, db: Database, rows: list[dict[str, Any]]) -> Any:
    """Of all the kinds that rows come as."""
    schema = db.relation("U").to_arrow().schema
    return c.pick((lambda: rows, lambda: pa.Table.from_pylist(rows, schema), lambda: rn.json(rows)))()


def opened(folder: Path | str, **options: Any) -> Database:
    db = rn.open(folder, **{"engine": "local", **options})
    db.relation("U", User, key="id")
    db.relation("O", Order, key="id")
    for view in VIEWS.values():
        db.create(view)
    return db


def unordered(value: Any) -> Any:
    """Without the order of bags."""
    if isinstance(value, list):
        return sorted(map(repr, map(unordered, value)))
    return {name: unordered(v) for name, v in value.items()} if isinstance(value, dict) else value


def deep(c: Choices, db: Database, key: int) -> None:
    """Something inside of the home of a user who has one."""
    if (found := db.relation("U").get(id=key)) is None or found["home"] is None:
        return
    with db.batch() as b:
        home = b.at("U", id=key).home
        match c.number(3):
            case 0:
                home.rooms.insert([{"n": 9, "key": "new"}])
            case 1:
                home.set(city="c", zip=c.pick((None, 7)))
            case _:
                b.at_all("U", id=key).home.geo.set(lat=2.5)  # whoever has one
    COUNTS["deep"] += 1


@law(examples=many(6, 400))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        for _ in range(3):
            with db.batch() as b:
                b.upsert("U", as_given(c, db, [user(c, key) for key in range(6) if c.one_in(2)]))
                b.upsert("O", [{"id": k, "user": c.number(7), "note": c.pick(("n", None))} for k in range(4)])
                b.discard_key("U", [{"id": key} for key in range(6) if c.one_in(5)])
            deep(c, db, c.number(6))
            rows = {name: db.relation(name).rows() for name in "UO"}
            recomputed(db, VIEWS, rows)
            COUNTS["none"] += sum(row["home"] is None for row in rows["U"])
            COUNTS["some"] += sum(row["home"] is not None for row in rows["U"])
            for name in VIEWS:
                table = db.view(name).to_arrow()
                own = table.to_pylist() if name != "homes" else table.column("value").to_pylist()
                assert unordered(own) == unordered(db.view(name).rows()), name
        assert db.verify(deep=True).ok


def test_enough_was_met() -> None:
    assert min(COUNTS["none"], COUNTS["some"]) > 20 and COUNTS["deep"] > 2, COUNTS


# ---------------------------------------------------------------- by hand

HERE = {"city": "a", "zip": None, "geo": None, "place": {"lat": 0.5, "at": None}, "rooms": [{"n": 1, "key": "k"}]}
ROWS = [
    {"id": 1, "home": HERE, "work": None, "visits": [], "points": [None, {"lat": 1.5, "at": "x"}]},
    {"id": 2, "home": None, "work": HERE, "visits": [{"n": 0, "to": None, "loose": {"a": None}}], "points": []},
]


@pytest.fixture
def db(tmp_path: Path):
    with opened(tmp_path / "s") as found:
        with found.batch() as b:
            b.insert("U", ROWS)
            b.insert("O", [{"id": 7, "user": 1, "note": None}, {"id": 8, "user": 5, "note": None}])
        yield found


def test_what_they_are(db: Database) -> None:
    assert db.relation("U").rows() == ROWS
    one, other = db.view("asked").rows()
    assert one == {
        "id": 1, "none": False, "deep": False, "city": "a", "zip": None, "rooms": 1, "far": 0,
        "loose": 0, "last": True,
    }  # fmt: skip
    assert other == {**one, "id": 2, "none": True, "city": "-", "rooms": 0, "loose": 1}
    assert [row["either"] for row in db.view("chosen").rows()] == [HERE, HERE]
    assert sorted(map(str, db.view("homes").rows())) == sorted([str(HERE), "None"])
    assert [row["order"] for row in db.view("joined").rows()] == [{"id": 7, "user": 1, "note": None}, None]
    assert sorted(row["none"] for row in db.view("both").rows()) == [False, True, True]


def test_a_record_is_asked_in_python_too() -> None:
    """Called with plain rows, a view is what the same function is in Python."""
    rows = [{"id": 1, "home": None, "work": HERE, "visits": [], "points": []}]
    assert [row["none"] for row in asked(U=rows)] == [True]


def test_it_is_stored_as_it_came(db: Database, tmp_path: Path) -> None:
    pa.parquet.write_table(db.relation("U").to_arrow(), tmp_path / "users.parquet")
    (tmp_path / "users.jsonl").write_text('{"id": 3, "visits": [], "points": [null]}\n')
    with db.batch() as b:
        b.upsert("U", tmp_path / "users.parquet")
        b.insert("U", tmp_path / "users.jsonl")
    assert b.report.rows_in == {"U": 1, "U.points": 1}, "the new user"
    three = {"id": 3, "home": None, "work": None, "visits": [], "points": [None]}
    assert db.relation("U").rows() == [*ROWS, three]
    with db.batch() as b:  # texts of polars are views, of which Arrow takes no part
        b.upsert("U", db.relation("U").to_polars())
        b.at("U", id=3).points.insert(rn.json(['{"lat": 1.0, "at": "x"}']))
    assert b.report.rows_in == {"U.points": 1}
    with pytest.raises(WrongValue, match="not a line of JSON with fields"), db.batch() as b:
        b.at("U", id=3).points.insert(rn.json(["null"]))


@pytest.mark.parametrize(
    ("home", "error", "said"),
    [
        ({**HERE, "city": None}, WrongValue, "rows[0].home.city: NULL where none is allowed"),
        ({**HERE, "place": None}, WrongValue, "rows[0].home.place: not a record"),
        ({**HERE, "rooms": None}, WrongValue, "rows[0].home.rooms: NULL where none is allowed"),
        ({**HERE, "geo": {"lat": None, "at": None}}, WrongValue, "rows[0].home.geo.lat: NULL where none is allowed"),
        ({"city": "a"}, WrongColumns, "rows[0].home: missing fields zip, geo, place, rooms\n  possible city, zip"),
        ({**HERE, "∃": True}, WrongColumns, "extra fields '\\u2203'"),
        (5, WrongValue, "with the fields city, zip, geo, place, rooms"),
    ],
)
def test_what_is_there_is_whole(db: Database, home: Any, error: type[Exception], said: str) -> None:
    before = db.version
    for rows in ([{**ROWS[0], "id": i, "home": home} for i in keys] for keys in ((5,), range(5, 80))):
        with pytest.raises(error) as caught, db.batch() as b:
            b.insert("U", rows)
        assert said in str(caught.value) and db.version == before


@pytest.mark.parametrize("times", [1, 60])
def test_a_row_that_is_null_has_no_fields(db: Database, times: int) -> None:
    """It is none of those whose field is NULL, by rows and by columns."""
    some, other = {"lat": 0.5, "at": None}, {"lat": 1.5, "at": "x"}
    with db.batch() as b:
        b.insert("U", [{**ROWS[0], "id": i, "points": [None, None, some, other]} for i in range(100, 100 + times)])
    with db.batch() as b:
        for i in range(100, 100 + times):
            b.at("U", id=i).points.at_all(at=None).set(lat=2.5)
    with db.batch() as b:
        for i in range(100, 100 + times):
            b.at("U", id=i).points.at(at=None).set(at="y")
    points = [row["points"] for row in db.relation("U").rows() if row["id"] >= 100]
    assert points == [[None, None, other, {"lat": 2.5, "at": "y"}]] * times
    with pytest.raises(Exception, match="no row has this at"), db.batch() as b:
        for i in range(100, 100 + times):
            b.at("U", id=i).points.at(at=None).set(lat=0.5)
    with db.batch() as b:
        b.at("U", id=100).points.delete([None])
    assert db.verify(deep=True).ok


def test_what_comes_in_rows_that_may_be_null(db: Database) -> None:
    """A value would be one of rows that are not there, too; NULL is not, and bags below have rows of their own."""
    relation = db.relation("U")
    for t, default in ((int, 7), (int | None, 7), (int, None)):
        with pytest.raises(TypeMismatch, match="rows that may be NULL get no value") as caught:
            relation.add("points.n", t, default=default)
        assert "add('points.n', ... | None)" in str(caught.value)
    with pytest.raises(TypeMismatch, match="not inside of records"):
        relation.add("home.n", int, default=7)
    for name in ("both", "chosen"):  # what is not there has a bag without rows, of the fields that these had
        db.drop(name)
    relation.add("points.n", int | None)
    relation.add("home.rooms.size", int, default=3)
    one, other = db.relation("U").rows()
    assert one["points"] == [None, {"lat": 1.5, "at": "x", "n": None}] and other["home"] is None
    assert one["home"]["rooms"] == [{"n": 1, "key": "k", "size": 3}]
    with db.batch() as b:
        b.at("U", id=1).points.insert([None])
        b.at("U", id=1).points.delete([None, None])
    assert db.relation("U").rows()[0]["points"] == one["points"][1:] and db.verify(deep=True).ok


def test_nothing_is_set_in_what_is_not_there(db: Database) -> None:
    for times in (1, 40):
        with pytest.raises(Exception, match="this record is NULL") as caught, db.batch() as b:
            for _ in range(times):
                b.at("U", id=2).home.set(city="z")
        assert "row      id 2" in str(caught.value)
    with pytest.raises(Exception, match="this record is NULL"), db.batch() as b:
        b.at("U", id=1).home.geo.set(lat=1.0)
    with pytest.raises(Exception, match="this record is NULL"), db.batch() as b:
        each = rn.each([{"id": 1, "city": "y"}, {"id": 2, "city": "z"}])
        b.at("U", id=each.id).home.set(city=each.city)
    with pytest.raises(WrongValue, match="NULL where none is allowed"), db.batch() as b:
        b.at("U", id=1).home.set(city=None)
    with db.batch() as b:
        b.insert("U", [{**ROWS[0], "id": i} for i in range(10, 90)])
        b.insert("U", [{**ROWS[1], "id": i} for i in range(90, 95)])
    with pytest.raises(Exception, match="this record is NULL") as caught, db.batch() as b:
        each = rn.each([{"id": i, "city": "y"} for i in range(10, 92)])
        b.at("U", id=each.id).home.set(city=each.city)
    assert "row      id 90" in str(caught.value)
    with db.batch() as b:
        each = rn.each([{"id": i, "city": "y"} for i in range(10, 95)])
        b.at_all("U", id=each.id).home.set(city=each.city)
    homes = [u["home"] for u in db.relation("U").rows() if u["id"] >= 10]
    assert homes == [{**HERE, "city": "y"}] * 80 + [None] * 5 and db.verify(deep=True).ok
    with db.batch() as b:
        b.delete_key("U", [{"id": i} for i in range(10, 95)])
    with pytest.raises(UnknownName) as hidden, db.batch() as b:
        b.at("U", id=1).home.set(**{"∃": False})
    assert "possible city, zip" in str(hidden.value)
    with pytest.raises(UnknownName, match="an upsert of the row"), db.batch() as b:
        b.at("U", id=1).set(home=None)
    with pytest.raises(Exception, match="this inner bag is NULL") as null, db.batch() as b:
        b.at("U", id=2).home.rooms.insert([{"n": 1, "key": "k"}])
    assert "b.upsert('U'" in str(null.value) and db.relation("U").rows() == ROWS
    with db.batch() as b:
        for key in (1, 2):
            b.at_all("U", id=key).home.set(city="y")
    assert [u["home"] and u["home"]["city"] for u in db.relation("U").rows()] == ["y", None]


def test_fields_and_types_change(db: Database) -> None:
    db.drop("chosen")  # where an address is one of two, which have the same fields
    db.drop("grouped")  # where the last of users is one of those that agree in all fields
    r = db.relation("U")
    r.add("old", Geo | None)
    r.widen("home.place.lat", float | None)
    r.rename("home.city", "town")
    place = {"lat": None, "at": None}
    moved = {"town": "m", "zip": 1, "geo": {"lat": 1.0, "at": None}, "place": place, "rooms": []}
    row = {"id": 9, "home": moved, "work": None, "visits": [], "points": []}
    with db.batch() as b:
        b.insert("U", [{**row, "old": {"lat": 2.0, "at": None}}])
    with pytest.raises(WrongValue, match=r"home\.town: NULL where none is allowed"), db.batch() as b:
        b.insert("U", [{**row, "id": 10, "home": {**moved, "town": None}, "old": None}])
    assert r.get(id=9)["home"] == moved and r.get(id=1)["old"] is None and r.get(id=2)["home"] is None
    assert db.verify(deep=True).ok


def test_what_may_be_null_inside_is_declared(tmp_path: Path) -> None:
    """A record class in which a field of what is there may be NULL now is another one."""

    @rn.record
    class Loosened:
        lat: float | None
        at: str | None

    @rn.record
    class Point:
        id: int
        geo: Geo | None

    @rn.record
    class LoosenedPoint:
        id: int
        geo: Loosened | None

    with rn.open(tmp_path / "s", engine="local") as db:
        r = db.relation("P", Point, key="id")
        with pytest.raises(rn.errors.RelationChanged, match=r'widen\("geo.lat", float \| None\)'):
            db.relation("P", LoosenedPoint, key="id")
        r.widen("geo.lat", float | None)
        with db.batch() as b:
            b.insert("P", [{"id": 1, "geo": {"lat": None, "at": None}}])
    with rn.open(tmp_path / "s", engine="local") as db:
        assert db.relation("P", LoosenedPoint, key="id").rows() == [{"id": 1, "geo": {"lat": None, "at": None}}]
        with pytest.raises(rn.errors.RelationChanged):
            db.relation("P", Point, key="id")


def test_what_a_view_cannot_ask() -> None:
    with pytest.raises(UnknownName) as hidden:

        @rn.view
        def unknown(U: Bag[User]) -> list[Any]:
            return [u.home.town for u in U]

        unknown.query  # noqa: B018
    assert "possible city, zip, geo, place, rooms" in str(hidden.value)


def test_what_may_be_null_is_known() -> None:
    """A record beside one that is always there is always there."""

    @rn.view
    def sure(T: Bag[Two]) -> list[Any]:
        return [{"a": t.a or t.b, "b": rn.coalesce(t.a, t.b), "c": t.b if t.n else None} for t in T]

    geo = "⟨lat: double?, at: string?⟩"
    assert str(sure.row) == f"⟨a: {geo}, b: {geo}, c: {geo}?⟩"
    one, other = (optional(Record((("n", LONG), ("m", m)))) for m in (LONG, nullable(LONG)))
    assert isinstance(one, Record) and isinstance(other, Record)
    assert one.firm == ("n", "m") and other.firm == ("n",)
    assert [str(join(a, b)) for a, b in ((one, other), (other, one))] == ["⟨n: long, m: long?⟩?"] * 2


def test_its_name_is_ours(db: Database) -> None:
    with pytest.raises(Unsupported, match="a name that is ours"):

        @rn.view
        def own(T: Bag[Two]) -> list[Any]:
            return [{"∃": t.n > 1, "n": t.n} for t in T]

        own.query  # noqa: B018
    for change in (lambda r: r.add("∃", bool | None), lambda r: r.rename("note", "∃")):
        with pytest.raises(NameTaken):
            change(db.relation("O"))


def test_in_text(tmp_path: Path) -> None:
    """The same in the text language."""
    (tmp_path / "v.nrc").write_text(
        "record Geo = ⟨lat: double⟩\n"
        "relation U: Bag(⟨id: long, home: ⟨city: string, geo: Geo?⟩?⟩) key id\n"
        "view none = [⟨id: u.id, no: u.home is null, lat: u.home.geo.lat, geo: u.home.geo⟩\n"
        "             | u in U, u.home is not null]\n"
    )
    found = rn.read(tmp_path / "v.nrc")
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation(found.relation("U"))
        db.create(found.view("none"))
        with db.batch() as b:
            b.insert("U", [{"id": 1, "home": None}, {"id": 2, "home": {"city": "a", "geo": None}},
                           {"id": 3, "home": {"city": "a", "geo": {"lat": 1.0}}}])  # fmt: skip
        rows = db.view("none").rows()
    assert rows == [
        {"id": 2, "no": False, "lat": None, "geo": None},
        {"id": 3, "no": False, "lat": 1.0, "geo": {"lat": 1.0}},
    ]


def test_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    """Views, and rows that come as a DataFrame, on Spark as here."""
    with opened(tmp_path / "here") as here, opened(tmp_path / "there", spark=spark, engine="spark") as there:
        schema = here.relation("U").to_arrow().schema
        frame = spark.createDataFrame(pa.Table.from_pylist(ROWS, schema))
        orders = [{"id": 7, "user": 1, "note": None}]
        for db, rows in ((here, ROWS), (there, frame)):
            with db.batch() as b:
                b.insert("U", rows)
                b.insert("O", orders)
        for name in VIEWS:
            assert there.view(name).rows() == here.view(name).rows(), name
            nested = [row.asDict(recursive=True) for row in there.view(name).nested().collect()]
            own = [row if name != "homes" else {"value": row} for row in here.view(name).rows()]
            assert unordered(nested) == unordered(own), name
            assert unordered(there.view(name).nested().toArrow().to_pylist()) == unordered(own), name
            flat = there.view(name).flat().toArrow()  # inside of what is NULL nothing is never NULL
            assert unordered(flat.to_pylist()) == unordered(there.view(name).flat_to_arrow().to_pylist()), name
