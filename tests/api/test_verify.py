"""``verify``: a sound state is well, every kind of damage is named, and batches refuse to do any (definitions 1, 2)."""

import json
import tempfile

import pytest
from support.shop import ANN, BOB, FILMS, Customer, customer, item, movie, opened, order, related
from support.states import MEMORY, refused, unchanged

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data.columns import columns
from ripplenest.data.naming import Numbers
from ripplenest.data.rows import Rows
from ripplenest.intake.documents import Documents
from ripplenest.intake.session import Session
from ripplenest.nrc.errors import LawBroken, UnknownView, WrongValue
from ripplenest.reading import verify as verifying
from ripplenest.reading.verification import SHOWN
from ripplenest.state import recomputing
from ripplenest.store.specs import Change
from ripplenest.version.folding import Fold

PAIRS = [{"key": 1, "some": ["a", "b", "c"], "more": []}, {"key": 2, "some": [], "more": ["b"]}]
GIVES = "not what its definition gives on the relations"
NESTED = "not what the reference interpreter gives on the nested relations"


@rn.record
class Pair:
    key: int
    some: Bag[str]
    more: Bag[str]


@rn.view
def either(P: Bag[Pair]):
    """Labels of three sites in one column; those of one of them are in a domain, because it divides."""
    return (
        [{"key": p.key, "bag": [t for t in p.some if 1.0 / p.key > 0.1]} for p in P]
        + [{"key": p.key, "bag": p.some} for p in P]
        + [{"key": p.key, "bag": p.more} for p in P]
    )


@rn.view
def somes(P: Bag[Pair]):
    """A join, for which maps are kept."""
    return [{"key": p.key, "t": t} for p in P for t in p.some]


@pytest.fixture
def db():
    """Relations with and without keys and inner bags, and views with every kind of map."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        db.relation("P", Pair)
        for name, rows in (("C", [ANN, BOB]), ("M", FILMS), ("P", PAIRS)):
            db.load(name, rows)
        db.create(related)
        db.create(either)
        db.create(somes, materialize="full")
        yield db


def rows_of(db: Database, table: str) -> list[tuple[object, ...]]:
    return sorted(db._store.snapshot().scan(table).counts(), key=str)


def damage(db: Database, table: str, *pairs: tuple[tuple[object, ...], int]) -> None:
    """Change stored rows behind the back of batches."""
    types = db._store.tables()[table].types
    db._store.commit(Change({table: Rows.of_pairs(types, pairs)}), db.version)


def found(db: Database, deep: bool = False) -> dict[str, list[str]]:
    """What is wrong, by table."""
    wrong: dict[str, list[str]] = {}
    for d in db.verify(deep).differences:
        wrong.setdefault(d.table, []).append(d.what)
    return wrong


def label(db: Database, table: str, column: int) -> object:
    return next(row[column] for row in rows_of(db, table) if row[column] is not None)


# ---------------------------------------------------------------- well


def test_a_sound_state(db):
    with unchanged(db):
        v = db.verify(deep=True)
    assert v and v.ok and not v.differences and v.version == db.version
    assert {t.name: t.rows for t in v.tables} == {t: len(rows_of(db, t)) for t in db._store.tables()}
    assert v.to_dict()["ok"] is True
    assert str(v).endswith("nothing differs")


def test_after_batches_of_every_kind(db):
    with db.batch() as b:
        b.insert("M", [movie("n", None, None)] * 2)
        b.upsert("C", [customer(7, "Ann", [order(1, item(1, 2, ("a", "a")))]), customer(9, "Eve", [])])
        b.at("C", custkey=9).orders.insert([order(2, item(2)), order(2, item(2))])
        b.insert("P", [PAIRS[0]] * 2)
    with db.batch() as b:
        b.delete("M", FILMS[:2])
        b.delete("C", [BOB])
        b.at("C", custkey=9).orders.delete([order(2, item(2))])
        b.delete("P", PAIRS[:1])
    assert db.verify(deep=True).ok


def test_more_rows_than_are_summed_in_python(tmp_path):
    """Above ``rows.SMALL`` Arrow sums and selects; doubles, NULL and NaN are compared by it, too."""

    @rn.record
    class Number:
        x: float | None
        near: Bag[int]

    @rn.view
    def numbers(N: Bag[Number]):
        return N

    with rn.open(tmp_path, engine="local") as db:
        db.relation("N", Number)
        values = [None, float("nan"), -0.0, *(float(i) for i in range(700))]
        db.load("N", [{"x": x, "near": [1]} for x in values])
        db.create(numbers)
        assert db.verify().ok
        gone = rows_of(db, "numbers")[:600]
        damage(db, "numbers", *((row, -1) for row in gone))
        found = db.verify()
        (d,) = found.differences
        assert not found
        assert (d.too_many.count, d.missing.count, len(d.missing.rows)) == (0, 600, SHOWN)
        assert f"and {600 - SHOWN} more" in str(d)
        orphans = [(-1 - i, i) for i in range(600)]
        damage(db, "N.near", *((row, 1) for row in orphans))
        assert {d.too_many.count for d in db.verify().differences if d.table == "N.near"} == {600}


# ---------------------------------------------------------------- damage to views


@pytest.mark.parametrize(
    "table", ["related", "related/Dom[related.related]", "related/D[related.related]", "either/D[either.bag]", "somes"]
)
def test_a_map_that_differs(db, table):
    """A row that is there once too often, and one that is not there: with their multiplicities."""
    row = rows_of(db, table)[0]
    damage(db, table, (row, 2))
    (d,) = db.verify().differences
    assert (d.table, d.what, d.too_many.rows, d.missing.count) == (table, GIVES, ((row, 2),), 0)
    damage(db, table, (row, -3))
    d = next(d for d in db.verify().differences if d.what == GIVES)
    assert (d.table, d.too_many.count, d.missing.rows) == (table, 0, ((row, 1),))


def test_an_auxiliary_map_that_differs(db):
    """One that two views share is looked at once."""

    @rn.view
    def again(P: Bag[Pair]):
        return [{"t": t, "key": p.key} for p in P for t in p.some]

    (table, *_) = sorted(t for t in db._store.tables() if t.startswith("M/"))
    db.create(again, materialize="full")
    damage(db, table, (rows_of(db, table)[0], 1))
    (d,) = db.verify().differences
    assert (d.table, d.of, d.what) == (table, "view somes, auxiliary map", GIVES)


def test_the_text_and_the_data_of_a_difference(db):
    damage(db, "related", (rows_of(db, "related")[0], -1), (("\u202e\x1b", "Drive", None, None), 1))
    v = db.verify()
    assert str(v.differences[0]).splitlines() == [
        f"related: {GIVES}",
        "  in view related, flat part",
        "  too many: 1 row",
        '    1 × name="\\u202e\\u001b", related.m.name="Drive", related.m.gen=null, related.m.dir=null',
        "  missing: 1 row",
        '    1 × name="Drive", related.m.name="Drive", related.m.gen="Drama", related.m.dir="Refn"',
    ]
    data = json.loads(json.dumps(v.to_dict()))
    assert data["ok"] is False
    assert data["differences"][0]["missing"] == {
        "count": 1,
        "rows": [{"values": ["Drive", "Drive", "Drama", "Refn"], "multiplicity": 1}],
    }


def test_a_count_below_0_in_a_map(db):
    """Only the maps of views that subtract may have one."""

    @rn.view
    def fewer(P: Bag[Pair]):
        return [{"key": p.key} for p in P] - [{"key": p.key} for p in P for s in p.some]

    db.create(fewer)
    assert rows_of(db, "fewer") and db.verify(deep=True).ok
    assert min(db._store.snapshot().scan("fewer").counts().values()) == -2
    damage(db, "related/Dom[related.related]", (("nobody", None, None), -1))
    assert found(db) == {"related/Dom[related.related]": ["rows with a multiplicity below 0", GIVES]}


def test_labels_of_the_output(db):
    """Definition 1 of the output: known sites, and labels that are in use in their domain."""
    row = next(r for r in rows_of(db, "either") if r[1] == "either.bag")
    damage(db, "either", ((row[0], "nowhere", *row[2:]), 1))
    assert found(db)["either"] == [GIVES, "rows with a label of no known site"]
    damage(db, "either", ((9, *row[1:]), -1))  # a label is in use even where rows that hold it cancel out
    damage(db, "either/Dom[either.bag]", (row[-2:], -1))
    assert "labels that either holds are not in use here" in found(db)["either/Dom[either.bag]"]
    (d,) = (d for d in db.verify().differences if "not in use" in d.what)
    assert d.missing.rows == ((row[-2:], 1),)


def test_the_way_round_the_compiler(db, monkeypatch):
    """``deep`` finds what recomputing by the same plans cannot: here, plans that agree with a wrong map."""
    damage(db, "somes", ((7, "x"), 1))
    real = recomputing.build
    monkeypatch.setattr(
        recomputing,
        "build",
        lambda p, s, j, **k: {n: s.scan(n) if n == "somes" else rows for n, rows in real(p, s, j, **k).items()},
    )
    assert db.verify().ok
    (d,) = db.verify(deep=True).differences
    assert (d.table, d.what, d.too_many.count, d.missing.count) == ("somes", NESTED, 1, 0)
    assert d.too_many.rows == ((('[["key",7],["t","x"]]',), 1),)


def test_a_view_that_has_no_value(db):
    """A row that no batch would let in: the view divides by it. The rest is still looked at."""
    damage(db, "P", ((0, -1, -2), 1))
    damage(db, "P.some", ((-1, "t"), 1))
    damage(db, "related", (rows_of(db, "related")[0], 1))
    wrong = found(db, deep=True)
    assert any("cannot be computed" in what for what in wrong["either"])
    verified = db.verify(deep=True)
    (said,) = verified.not_compared
    assert "view either" in said and "no value" in said
    assert f"not compared: {said}" in str(verified) and verified.to_dict()["not_compared"] == [said]
    assert db.verify().not_compared == ()
    assert wrong["related"] == [GIVES, NESTED]


# ---------------------------------------------------------------- damage to relations


def test_rows_under_a_label_that_nobody_holds(db):
    damage(db, "C.orders.items.tags", ((-1, "a"), 1))
    v = [d for d in db.verify().differences if d.table == "C.orders.items.tags"]
    assert [(d.what, d.too_many.rows) for d in v] == [
        ("rows under a label that no row of C.orders.items holds", (((-1, "a"), 1),))
    ]
    (gone,) = (row for row in rows_of(db, "C") if row[0] == 7)
    damage(db, "C", (gone, -2))
    assert "rows under a label that no row of C holds" in found(db)["C.orders"]


@pytest.mark.parametrize("n", [1, 2])
def test_a_label_that_is_held_twice(db, n):
    """By one row that is there twice, or by two rows."""
    some = label(db, "P", 1)
    same = next(row for row in rows_of(db, "P") if row[1] == some)
    damage(db, "P", (same if n == 1 else (9, some, -1), 1))
    d = next(d for d in db.verify().differences if d.what == "rows that share a label of P.some")
    assert (d.table, d.too_many.count) == ("P", n)


def test_a_count_below_0_in_a_relation(db):
    damage(db, "M", (("nobody", None, None), -1))
    assert "rows with a multiplicity below 0" in found(db)["M"]


def test_a_key_that_is_there_twice(db):
    damage(db, "C", ((8, "Bea", None), 1))
    (d,) = (d for d in db.verify().differences if d.table == "C")
    assert (d.what, d.columns, d.too_many.rows) == ("keys of more than one row", ("custkey",), (((8,), 2),))


def test_null_where_there_is_none(db):
    damage(db, "M", ((None, None, None), 1))
    assert found(db)["M"] == ["NULL in name, which has none"]
    damage(db, "C", ((9, None, None), 1))
    assert "C" not in found(db)


@rn.record
class Spot:
    lat: int
    note: str | None


@rn.record
class Home:
    city: str
    spot: Spot | None
    rooms: Bag[str]


@rn.record
class Person:
    id: int
    home: Home | None
    spots: Bag[Spot | None]


PEOPLE = [
    {"id": 1, "home": {"city": "x", "spot": None, "rooms": ["a"]}, "spots": [None, {"lat": 1, "note": None}]},
    {"id": 2, "home": None, "spots": []},
]


@rn.view
def homes(Q: Bag[Person]):
    return [{"id": q.id, "home": q.home} for q in Q]


HIDES = "values in home, which is NULL"


@pytest.mark.parametrize(
    ("table", "column", "value", "n", "says"),
    [
        ("Q", "home.city", "y", 2, {HIDES}),
        ("Q", "home.spot.∃", True, 2, {HIDES, "NULL in home.spot.lat, which has none where home.spot is there"}),
        ("Q", "home.spot.note", "y", 2, {HIDES, "values in home.spot, which is NULL"}),
        ("Q", "home.spot.note", "y", 1, {"values in home.spot, which is NULL"}),
        ("Q", "home.city", None, 1, {"NULL in home.city, which has none where home is there"}),
        ("Q", "home.∃", False, 1, {HIDES}),
        ("Q.spots", "row.lat", 3, None, {"values in row, which is NULL"}),
        ("homes", "home.city", "y", 2, {HIDES, GIVES}),
    ],
)
def test_what_a_record_that_is_null_hides(db, table, column, value, n, says):
    """Rows by the id, or that which is NULL as a whole."""
    db.relation("Q", Person, key="id")
    db.load("Q", PEOPLE)
    db.create(homes)
    assert db.verify().ok
    part = db._declared.relations["Q"].parts.get(table)
    at = [c.path for c in columns(part.stored if part else db._declared.views[table].program.flat.row)].index(column)
    row = next(row for row in rows_of(db, table) if row[0] == n or (n is None and row[-1] is row[-2] is None))
    damage(db, table, (row, -1), ((*row[:at], value, *row[at + 1 :]), 1))
    assert set(found(db)[table]) == says


def test_a_label_that_a_record_that_is_null_hides(db):
    """The bag under it is held, so nothing else says that there are rows too many."""
    db.relation("Q", Person, key="id")
    db.load("Q", PEOPLE)
    one = next(row for row in rows_of(db, "Q") if row[0] == 1)
    shut = tuple(False if v is True else v if isinstance(v, int) and i != 1 else None for i, v in enumerate(one))
    damage(db, "Q", (one, -1), (shut, 1))
    assert set(found(db)["Q"]) == {HIDES}


# ---------------------------------------------------------------- a batch that would do damage


def test_rows_below_a_row_that_goes_must_go(db, monkeypatch):
    def without_what_is_below(self, part, stored, n):
        self.overlay.add(part.name, stored, -n)

    monkeypatch.setattr(Documents, "remove", without_what_is_below)
    with refused(db, LawBroken, "C.orders: ", "has rows, and no row holds it", "definition 2"), db.batch() as b:
        b.delete("C", [ANN])
    with refused(db, LawBroken, "C.orders.items.tags: ", "no row holds it"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.delete([item(1, 2, ("a",))])
    with refused(db, LawBroken, "P.some: "), db.batch() as b:
        b.delete("P", PAIRS[:1])


def test_rows_go_under_a_label_that_is_held(db, monkeypatch):
    real = Documents.shredded

    def elsewhere(self, *given):
        return [(p, (-1, *row[1:]) if p == "C.orders.items" else row, n) for p, row, n in real(self, *given)]

    monkeypatch.setattr(Documents, "shredded", elsewhere)
    with refused(db, LawBroken, "C.orders.items: ", "label -1 has rows"), db.batch() as b:
        b.insert("C", [customer(9, "Eve", [order(1, item(1))])])
    with db.batch() as b:
        b.insert("C", [customer(9, "Eve", [order(1)])])
    with refused(db, LawBroken, "C.orders.items: "), db.batch() as b:
        b.at("C", custkey=9).orders.insert([order(2, item(1))])


def test_a_label_is_held_once(db, monkeypatch):
    """By two rows of a batch, and by one of a batch and one that is stored: that one is found though nobody read it."""
    taken = label(db, "P", 1)
    monkeypatch.setattr(Numbers, "numbers", lambda _self, _place, _outer, rows: [taken] * len(rows))
    with refused(db, LawBroken, "P.some: ", "is held 3 times"), db.batch() as b:
        b.insert("P", PAIRS)
    with refused(db, LawBroken, "P.some: ", "is held 2 times"), db.batch() as b:
        b.insert("P", PAIRS[:1])


def test_rows_do_not_go_more_often_than_they_are_there(db, monkeypatch):
    real = Documents.remove
    monkeypatch.setattr(Documents, "remove", lambda self, part, stored, n: real(self, part, stored, n + 1))
    with refused(db, LawBroken, "M: ", "there -1 times"), db.batch() as b:
        b.delete("M", FILMS[:1])
    with refused(db, LawBroken, "C.orders.items.tags: ", "there -1 times"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.at(part=1).tags.delete(["a"])


def test_rows_that_nobody_looked_for_are_looked_up(db, monkeypatch):
    def blindly(self, _documents, part, _label, rows, _where):
        for value in rows:
            self.overlay.add(part.name, tuple(v for _, v in value), -1)

    monkeypatch.setattr(Session, "_delete", blindly)
    with db.batch() as b:
        b.delete("M", FILMS[:1])
    with refused(db, LawBroken, "M: ", "there -1 times"), db.batch() as b:
        b.delete("M", FILMS[:1])


def test_a_load_is_checked_too(tmp_path, monkeypatch):
    monkeypatch.setattr(Numbers, "numbers", lambda _self, _place, _outer, rows: [1] * len(rows))
    with opened(tmp_path) as db, refused(db, LawBroken, "C.orders.items: ", "is held 2 times"):
        db.load("C", [ANN, customer(9, "Eve", [])])


def test_rows_that_are_nothing_but_bags(tmp_path):
    """No base value tells such rows apart: the check looks them up by their labels."""
    with rn.open(tmp_path, engine="local") as db:
        db.relation("B", Bag[str])
        with db.batch() as b:
            b.insert("B", [["a", "b"], ["a", "b"], []])
        with db.batch() as b:
            b.delete("B", [["a", "b"], []])
        assert db.verify().ok
        assert [len(rows_of(db, t)) for t in ("B", "B.[]")] == [1, 2]


def test_arrays_are_not_searched_for_labels(monkeypatch):
    """An insert beside bags that are kept as arrays takes none of them apart."""
    taken_apart = []
    real = Fold.shredded
    monkeypatch.setattr(Fold, "shredded", lambda fold, *row: taken_apart.append(row) or real(fold, *row))
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("C", Customer, key="custkey", immutable="orders")
        db.load("C", [ANN, customer(9, "Eve", [order(1, item(1))])])
        with db.batch() as b:
            b.insert("C", [customer(10, "Joe", [order(1, item(1))])])
        assert not taken_apart
        assert db.verify(deep=True).ok


def test_a_state_without_views_says_what_was_asked(tmp_path):
    with rn.open(tmp_path, engine="local") as db:
        assert db.verify(deep=True).deep and not db.verify().deep


def test_views_are_evaluated_by_their_names(db: Database) -> None:
    """Alone, as it takes its time; all are compared with what their definitions give."""
    asked: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        deep = verifying._deep
        patch.setattr(verifying, "_deep", lambda run, view, bags: asked.append(view.name) or deep(run, view, bags))
        for names in ("somes", ["somes", "either"], True, False):
            assert db.verify(deep=names).ok and db.verify(deep=names).deep is bool(names)
    assert asked == ["somes"] * 2 + ["either", "somes"] * 2 + ["related", "either", "somes"] * 2
    with pytest.raises(UnknownView, match="there is no such view"):
        db.verify(deep=["somes", "some"])
    with pytest.raises(WrongValue, match="not a yes or no, nor views"):
        db.verify(deep=[])
