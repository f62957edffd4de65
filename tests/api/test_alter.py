"""Relations that get other fields: rows that are stored are read as they are, under the new type."""

from datetime import date
from decimal import Decimal
from random import Random

import pytest
from support.shop import (
    ANN,
    BOB,
    FILMS,
    Customer,
    Movie,
    item,
    movie,
    opened,
    parts,
    tags,
)
from support.sizes import many
from support.states import refused

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.api import database


@rn.view
def names(M: Bag[Movie]):
    return [{"name": m.name, "same": [n.name for n in M if n.gen == m.gen]} for m in M]


@rn.view
def films(M: Bag[Movie]):
    return [m for m in M if m.gen == "Drama"]


@rn.view
def dear(C: Bag[Customer]):
    return [{"n": c.name, "q": [i.qty * 2 + 1 for o in c.orders for i in o.items if i.qty > 1]} for c in C]


@rn.record
class Line:
    no: int
    qty: rn.Int


@rn.record
class Wide:
    id: int
    title: str
    lines: Bag[Line]


@rn.record
class WiderLine:
    no: int
    qty: int
    price: rn.Decimal[8, 2]


@rn.record
class Wider:
    id: int
    name: str
    lines: Bag[WiderLine]
    day: date | None


@rn.view
def wider(W: Bag[Wider]):
    return [{"name": w.name, "dear": [i.no for i in w.lines if i.price > 5]} for w in W]


@rn.record
class Note:
    text: str
    by: Bag[str]


def shop(folder, *views):
    with opened(folder) as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        for view in views:
            db.create(view)
    return folder


def with_field(rows, **more):
    return [{**row, **more} for row in rows]


def by_name(rows):
    return sorted(rows, key=lambda m: m["name"])


def written(db):
    """The tables that the newest version changed."""
    newest = db._store.snapshot()
    return [t for t in newest.tables if not newest.delta(t, newest.version - 1).is_empty]


# ---------------------------------------------------------------- one field more


def test_a_field_more_writes_no_row_and_rebuilds_no_view_that_does_not_read_it(tmp_path):
    state = shop(tmp_path / "state", names)
    with opened(state) as db:
        before, version = db.view("names").rows(), db.version
        assert db.relation("M").add("year", int, default=1900) == version + 1 == db.version
        assert written(db) == [] and db.waiting == {}
        assert db.relation("M").rows() == with_field(by_name(FILMS), year=1900)
        assert db.view("names").rows() == before
        with pytest.raises(errors.WrongColumns, match="year"), db.batch() as b:
            b.insert("M", [movie("x")])
        with db.batch() as b:
            b.insert("M", [{**movie("new"), "year": 2026}])
            b.delete("M", [{**FILMS[0], "year": 1900}])
        data = [{k: v for k, v in m.items() if k != "year"} for m in db.relation("M").rows()]
        assert db.view("names").rows() == names(M=data)
        assert db.verify(deep=True).ok and db.check_files()
        now = db.relation("M").rows()
        assert db.relation("M").as_of(version).rows() == with_field(by_name(FILMS), year=1900)
        db.compact(everything=True)
        assert db.relation("M").rows() == now
    with rn.open(state, engine="local") as db:
        assert db.relation("M").rows() == now and db.verify(deep=True).ok
        went, came = db.relation("M").changed_rows(since=version)
        assert (went, came) == (with_field(FILMS[:1], year=1900), [{**movie("new"), "year": 2026}])
        db.rollback(version)
        assert db.relation("M").rows() == with_field(by_name(FILMS), year=1900)
        assert db.verify(deep=True).ok


def test_a_view_that_shows_whole_rows_shows_the_field(tmp_path):
    state = shop(tmp_path / "state", films)
    with opened(state) as db:
        before = db.view("films").rows()
        db.relation("M").add("year", int | None)
        assert db.waiting == {} and db.view("films").rows() == with_field(before, year=None)
        assert [e.note["kind"] for e in db.history(2)] == ["rebuild", "alter"]
        with db.batch() as b:
            b.insert("M", [{**movie("new"), "year": 3}])
        assert {**movie("new"), "year": 3} in db.view("films").rows() and db.verify(deep=True).ok


def test_views_are_made_again_however_much_they_read(tmp_path, monkeypatch):
    """None waits because of a change that was asked for."""
    monkeypatch.setattr(database, "SMALL", 0)
    state = shop(tmp_path / "state", films, totals)
    with opened(state) as db:
        db.relation("M").add("year", int, default=1)
        db.relation("C").widen("orders.items.qty", int | None)
        assert db.waiting == {}
        with db.batch() as b:
            b.insert("M", [{**movie("new"), "year": 3}])
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([{"part": 5, "qty": 99, "tags": []}])
        assert {**movie("new"), "year": 3} in db.view("films").rows()
        assert db.view("totals").get(n="Ann")["most"] == 99 and db.verify().ok


def test_a_field_of_the_rows_of_an_inner_bag(tmp_path):
    """Two levels deep; a bag that a view passes on shows it without being built again."""
    state = shop(tmp_path / "state", parts, tags)
    with opened(state) as db:
        before = db.view("tags").rows()
        db.relation("C").add("orders.items.note", str, default="")
        assert db.waiting == {} and db.view("tags").rows() == before
        shown = [i for c in db.relation("C").rows() for o in c["orders"] or [] for i in o["items"]]
        assert shown and all(i["note"] == "" for i in shown)
        assert all("note" in i for p in db.view("parts").rows() for o in p["all"] or [] for i in o["items"])
        with db.batch() as b:
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([{**item(5, 5), "note": "late"}])
        assert db.verify(deep=True).ok
        shown = [i for c in db.relation("C").rows() for o in c["orders"] or [] for i in o["items"]]
        assert [i["note"] for i in shown if i["part"] == 5] == ["late"]


def test_a_bag_more(tmp_path):
    """NULL in the rows that are there; later it holds rows, and deep updates reach them."""
    state = shop(tmp_path / "state", names)
    with opened(state) as db:
        db.relation("M").add("cast", Bag[str] | None)
        assert db.relation("M").rows() == with_field(by_name(FILMS), cast=None)
        with db.batch() as b:
            b.insert("M", [{**movie("new"), "cast": ["a", "b"]}])
            b.delete("M", [{**FILMS[0], "cast": None}])
        with db.batch() as b:
            b.at("M", name="new").cast.insert(["c"])
        assert [m["cast"] for m in db.relation("M").rows() if m["name"] == "new"] == [["a", "b", "c"]]
        assert db.verify(deep=True).ok


@rn.view
def sided(C: Bag[Customer], M: Bag[Movie]):
    """Whole rows with their bags on either side, where there is none."""
    return [
        {"gen": m.gen, "old": [o.orderkey for o in c.orders], "of": [d.orders for d, n in rn.right_join(C, M, same)]}
        for c, m in rn.full_join(C, M, same)
    ]


def same(c, m):
    return c.name == m.dir


def test_fields_of_bags_that_an_outer_join_passes_on(tmp_path):
    """Who has no partner is beside a row with empty bags, of the fields that its rows have now."""
    with opened(shop(tmp_path, sided)) as db:
        db.relation("C").rename("orders.orderkey", "no")
        db.relation("C").add("orders.items.note", str, "")
        db.relation("C").widen("orders.no", int | None)
        db.rebuild()
        with db.batch() as b:
            b.insert("M", [movie("Up", "Comedy", "Ann")])
        wanted = sided(C=[ANN, BOB], M=[*FILMS, movie("Up", "Comedy", "Ann")])
        found = db.view("sided").rows()
        assert sorted((str(r["gen"]), sorted(r["old"]), len(r["of"])) for r in found) == sorted(
            (str(r["gen"]), sorted(r["old"]), len(r["of"])) for r in wanted
        )
        assert any("no" in o and "note" in i for r in found for of in r["of"] for o in of for i in o["items"])
        assert db.verify().ok


@rn.record
class Left:
    k: rn.Int
    price: rn.Decimal[4, 1]
    lines: Bag[Line]


@rn.record
class Right:
    k: rn.Int
    note: rn.Int
    deep: Bag[Left]


def equal(x, y):
    return x.k == y.k


@rn.view
def by_left(L: Bag[Left], R: Bag[Right]):
    return [{"l": x, "r": y, "n": len(y.deep)} for x, y in rn.left_join(L, R, equal)]


@rn.view
def by_right(L: Bag[Left], R: Bag[Right]):
    return [{"l": x, "r": y} for x, y in rn.right_join(L, R, equal)]


@rn.view
def by_both(L: Bag[Left], R: Bag[Right]):
    return [{"l": x, "r": [y]} for x, y in rn.full_join(L, R, equal)]


@rn.view
def chosen(R: Bag[Right]):
    return [{"r": [x.price if x.k > 1 else None for x in y.deep], "k": y.k if y.note > 1 else None} for y in R]


def test_fields_beside_what_is_nothing(tmp_path):
    """NULL and empty bags, in the place of a row or of a value, follow the types of what they stand for: one change of
    a field after another, in any order."""
    left = {"k": 1, "price": Decimal("1.5"), "lines": [{"no": 1, "qty": 2}]}
    right = {"k": 2, "note": 3, "deep": [left]}
    ways = [
        ("L", lambda r: r.widen("k", int)), ("L", lambda r: r.widen("price", rn.Decimal[6, 1] | None)),
        ("R", lambda r: r.widen("k", int)), ("R", lambda r: r.add("more", Bag[str] | None, None)),
        ("R", lambda r: r.widen("deep.k", int | None)), ("R", lambda r: r.widen("deep.price", rn.Decimal[9, 1])),
        ("L", lambda r: r.widen("lines.qty", int)), ("R", lambda r: r.add("deep.lines.price", int, 1)),
        ("L", lambda r: r.add("day", date | None, None)), ("R", lambda r: r.rename("note", "text")),
        ("R", lambda r: r.rename("deep.lines.qty", "many")), ("R", lambda r: r.widen("deep.lines.no", int | None)),
    ]  # fmt: skip
    for seed in range(many(2, 30)):
        with rn.open(tmp_path / f"s{seed}", engine="local") as db:
            for name, record, rows in (("L", Left, [left, {**left, "k": 3}]), ("R", Right, [right, {**right, "k": 3}])):
                db.relation(name, record, key="k")
                db.load(name, rows)
            for view in (by_left, by_right, by_both, chosen):
                db.create(view)
            for name, change in Random(seed).sample(ways, len(ways)):
                change(db.relation(name))
                db.rebuild()
                assert db.waiting == {}
            assert db.verify(deep=True).ok


@rn.record
class Line:
    no: int
    tags: Bag[Note]


@rn.record
class Bill:
    id: int
    lines: Bag[Line]


def test_older_versions_show_fields_of_bags_that_were_arrays(tmp_path):
    """An array from before lacks them, once and again, at every depth."""
    bill = {"id": 1, "lines": [{"no": 1, "tags": [{"text": "a", "by": []}]}, {"no": 2, "tags": []}]}
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("B", Bill, key="id", immutable="lines")
        db.load("B", [bill])
        versions = [db.version]
        assert db._store.snapshot().size("B.lines/arrays") == 1
        for field, t, value in (
            ("lines.price", rn.Decimal[6, 2] | None, Decimal("1.5")),
            ("lines.tags.n", int, 7),
            ("lines.more", Bag[str] | None, None),
            ("lines.day", date, date(2024, 2, 29)),
        ):
            db.relation("B").add(field, t, value)
            versions.append(db.version)
        added = {"price": Decimal("1.5"), "more": None, "day": date(2024, 2, 29)}
        tags = [{"text": "a", "by": [], "n": 7}]
        wanted = [{"id": 1, "lines": [{"no": 1, "tags": tags, **added}, {"no": 2, "tags": [], **added}]}]
        for version in versions:
            old = db.relation("B").as_of(version).rows()
            assert [{**b, "lines": sorted(b["lines"], key=lambda i: i["no"])} for b in old] == wanted
            assert db.relation("B").changed_rows(since=version) == ([], [])
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("B").rename("lines.no", "number")
        with db.batch() as b:
            b.delete_key("B", id=1)
        db.rollback(versions[0])
        assert [i["number"] for b in db.relation("B").rows() for i in b["lines"]] == [1, 2] and db.verify().ok


@rn.view
def passing(C: Bag[Customer]):
    return [{"n": c.name, "all": [{"k": 1, "orders": c.orders}], "items": [o.items for o in c.orders]} for c in C]


def passed(customers):
    """What ``passing`` shows of them."""
    found = [
        {"n": c["name"], "all": [{"k": 1, "orders": c["orders"]}], "items": [o["items"] for o in c["orders"] or ()]}
        for c in customers
    ]
    return by_n(found)


@pytest.mark.parametrize("immutable", [(), "orders"])
def test_older_versions_of_views_show_what_came_inside_of_bags_that_they_pass_on(tmp_path, immutable):
    """As relations do, at every depth, also when the view is dropped; and what changed since is what changed."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey", keys={"orders": "orderkey"}, immutable=immutable)
        db.load("C", [ANN])
        db.create(passing)
        versions = [db.version]
        for change in (
            lambda c: c.add("orders.items.note", str, default="old"),
            lambda c: c.add("orders.more", Bag[Note] | None),
            lambda c: c.widen("orders.items.qty", int | None),
            lambda c: c.rename("orders.items.part", "piece"),
            lambda c: c.add("orders.more.n", int, default=3),
        ):
            change(db.relation("C"))
            with db.batch() as b:
                b.upsert("C", [{**db.relation("C").get(custkey=7), "custkey": 100 + len(versions)}])
            versions.append(db.version)
        now = passed(db.relation("C").rows())
        assert by_n(db.view("passing").rows()) == now and "'piece'" in str(now) and "'note': 'old'" in str(now)
        for n, version in enumerate(versions):
            then = db.view("passing").as_of(version)
            assert by_n(then.rows()) == passed(db.relation("C").as_of(version).rows()) == now[: n + 1]
            assert then.to_arrow().schema == db.view("passing").to_arrow().schema and then.to_arrow().num_rows == n + 1
            went, came = db.view("passing").changed_rows(since=version)
            assert went == [] and by_n(came) == now[n + 1 :]
        db.drop("passing")
        assert [by_n(db.view("passing", as_of=v).rows()) for v in versions] == [now[:n] for n in range(1, 7)]


@rn.record
class Group:
    grp: int


@rn.view
def grouped(C: Bag[Customer], G: Bag[Group]):
    return [{"g": g.grp, "os": c.orders} for c, g in rn.full_join(C, G, lambda c, g: c.custkey == g.grp)]


@pytest.mark.parametrize(("change", "refused"), [
    (lambda c: c.add("orders.note", str, default="x"), True),
    (lambda c: c.add("orders.items.note", str, default="x"), False),
    (lambda c: c.widen("orders.items.qty", int | None), False),
    (lambda c: c.rename("orders.items.part", "piece"), False),
], ids=["add", "add below", "widen below", "rename"])  # fmt: skip
def test_older_versions_of_bags_that_may_be_of_nobody_are_right_or_refused(tmp_path, change, refused):
    """A bag of the optional side of a join is of the relation, or one of the view that has no rows: the columns of the
    latter are those that it had."""
    with opened(shop(tmp_path / "s")) as db:
        db.relation("G", Group, key="grp")
        db.load("G", [{"grp": 7}, {"grp": 1}])
        db.create(grouped)
        version, before = db.version, db.view("grouped").rows()
        change(db.relation("C"))
        now = db.view("grouped")
        assert sorted(str(row["g"]) for row in now.rows()) == sorted(str(row["g"]) for row in before)
        if not refused:
            assert now.as_of(version).rows() == now.rows() and now.changed_rows(since=version) == ([], [])
            return
        for ask in (lambda: now.as_of(version).rows(), lambda: now.changed_rows(since=version)):
            with pytest.raises(errors.StateError, match="other columns"):
                ask()


def by_n(rows):
    return sorted(({**c, "items": sorted(c["items"], key=str)} for c in rows), key=lambda c: c["n"])


def test_what_changed_while_types_became_wider(tmp_path):
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("S", Small, key="id")
        db.load("S", SMALL)
        db.create(prices)
        version = db.version
        db.relation("S").widen("id", int)
        db.relation("S").widen("price", rn.Decimal[12, 2] | None)
        assert db.view("prices").changed_rows(since=version) == ([], [])
        with db.batch() as b:
            b.upsert("S", [{"id": 2, "price": None, "note": "x"}])
        went, came = db.view("prices").changed_rows(since=version)
        assert [row["same"] for row in went] == [[Decimal(2)]] and [row["same"] for row in came] == [[None]]
        changes = db.view("prices").changes(version).to_arrow()
        assert sorted(changes.column("_multiplicity").to_pylist()) == [-1, 1]


def test_older_versions_show_a_bag_that_came_as_null(tmp_path):
    state = shop(tmp_path / "state")
    with opened(state) as db:
        version = db.version
        db.relation("M").add("cast", Bag[str] | None)
        db.relation("C").add("orders.notes", Bag[Note] | None)
        for name in ("M", "C"):
            now = db.relation(name)
            assert now.as_of(version).rows() == now.rows() and now.changed_rows(since=version) == ([], [])
            assert now.as_of(version).to_arrow().sort_by(now.shape.row.names[0]) == now.to_arrow().sort_by(
                now.shape.row.names[0]
            )
        with db.batch() as b:
            b.upsert("C", [{**ANN, "orders": [{**o, "notes": [{"text": "x", "by": []}]} for o in ANN["orders"]]}])
        went, came = db.relation("C").changed_rows(since=version)
        assert [o["notes"] for c in went for o in c["orders"]] == [None] * len(ANN["orders"])
        assert [o["notes"] for c in came for o in c["orders"]] == [[{"text": "x", "by": []}]] * len(ANN["orders"])
        db.rollback(version)
        assert db.relation("C").rows() == db.relation("C").as_of(version).rows() and db.verify(deep=True).ok


def test_fields_inside_of_bags_that_are_stored_as_arrays(tmp_path):
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Customer, key="custkey", immutable="orders")
        db.load("C", [ANN, BOB])
        db.relation("C").add("orders.items.note", str, default="old")
        rows = db.relation("C").rows()
        assert all(i["note"] == "old" for c in rows for o in c["orders"] or [] for i in o["items"])
        assert db.verify(deep=True).ok
    with rn.open(tmp_path / "state", engine="local") as db:
        assert db.relation("C").rows() == rows


# ---------------------------------------------------------------- wider


def test_wider_fields_at_every_depth(tmp_path):
    """Keys are found as before; views that read the field are rebuilt, and mean the same."""
    state = shop(tmp_path / "state", dear, tags)
    with opened(state) as db:
        before = {name: db.view(name).rows() for name in db.views}
        db.relation("C").widen("orders.items.qty", int | None)
        assert {e.note.get("name") for e in db.history(2)} == {"C", "dear"}
        with db.batch() as b:
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(5, None)])
        assert db.verify(deep=True).ok
        with db.batch() as b:
            b.at("C", custkey=7).orders.at(orderkey=11).items.delete([item(5, None)])
    with rn.open(state, engine="local") as db:
        assert {name: db.view(name).rows() for name in db.views} == before


@rn.record
class Small:
    id: rn.Int
    price: rn.Decimal[6, 2]
    note: str


@rn.view
def prices(S: Bag[Small]):
    return [{"id": s.id, "next": s.id + 1, "same": [t.price for t in S if t.id == s.id]} for s in S]


SMALL = [{"id": i, "price": Decimal(i), "note": str(i)} for i in range(5)]


def test_wider_keys_and_decimals(tmp_path):
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("S", Small, key="id")
        db.load("S", SMALL)
        db.create(prices)
        before, version = db.view("prices").rows(), db.version
        db.relation("S").widen("id", int)
        db.relation("S").widen("price", rn.Decimal[12, 2])
        db.relation("S").widen("note", str | None)
        assert db.relation("S").rows() == SMALL and db.view("prices").rows() == before and db.waiting == {}
        with db.batch() as b:
            b.upsert("S", [{"id": 2, "price": Decimal("9999999.5"), "note": None}])
            b.insert("S", [{"id": 2**40, "price": Decimal(1), "note": "big"}])
            b.delete("S", [SMALL[0]])
        found = {row["id"]: row for row in db.relation("S").rows()}
        assert found[2]["price"] == Decimal("9999999.5") and 2**40 in found and 0 not in found
        assert {row["next"] for row in db.view("prices").rows()} == {i + 1 for i in found}
        assert db.verify(deep=True).ok
        assert db.relation("S").as_of(version).rows() == SMALL
        with pytest.raises(errors.DuplicateKey), db.batch() as b:
            b.insert("S", [SMALL[3]])
        db.compact(everything=True)
        assert {row["id"] for row in db.relation("S").rows()} == set(found)


def comparing(record: type) -> rn.View:
    """A view that compares an integer with a wider one, in a source that knows of ``record`` as it is."""

    @rn.view
    def compared(S: Bag[record]):
        return [{"id": s.id} for s in S for t in S if s.n == t.id or s.n + 1 == t.id]

    return compared


@rn.record
class Narrow:
    id: int
    n: rn.Int


@rn.record
class AsWide:
    id: int
    n: int


def test_a_source_that_says_the_same_of_wider_fields_is_no_other_view(tmp_path):
    """What was made a wider number is one by itself then."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("S", Narrow)
        db.load("S", [{"id": 1, "n": 2}, {"id": 2, "n": 7}])
        db.create(comparing(Narrow))
        db.relation("S").widen("n", int)
        db.relation("S", AsWide)
        before = db.version
        db.create(comparing(AsWide))
        assert db.version == before
        assert db.view("compared").rows() == [{"id": 1}]


@pytest.mark.parametrize(
    ("path", "t", "what"),
    [
        ("id", bool, "not a wider type"),
        ("id", float, "not a wider type"),
        ("price", rn.Decimal[12, 3], "not a wider type"),
        ("price", rn.Decimal[5, 2], "not a wider type"),
        ("note", str, "not a wider type"),
        ("id", int | None, "a key stays without NULL"),
        ("nothing", int, "no such field"),
        ("note.x", int, "there are no fields"),
    ],
)
def test_types_that_are_not_wider(tmp_path, path, t, what):
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("S", Small, key="id")
        with pytest.raises(errors.RipplenestError, match=what) as caught:
            db.relation("S").widen(path, t)
        assert f"widen {path}" in caught.value.where and db.version == 1


def test_null_that_was_forgotten_is_named(tmp_path):
    """Of a type that is wide enough, that is the only thing wrong with it."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("S", Small, key="id")
        db.relation("S").widen("price", rn.Decimal[6, 2] | None)
        with pytest.raises(errors.TypeMismatch, match="the field may be NULL") as caught:
            db.relation("S").widen("price", rn.Decimal[14, 2])
        assert caught.value.possible == ("rn.Decimal[14, 2] | None",)
        db.relation("S").widen("price", rn.Decimal[14, 2] | None)


def test_a_record_is_always_there_or_not(tmp_path):
    holding = rn.record(type("Holding", (), {"__annotations__": {"id": int, "home": Small}}))
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("F", holding, key="id")
        with pytest.raises(errors.TypeMismatch, match="cannot become one that may be NULL") as caught:
            db.relation("F").widen("home", Small | None)
        assert caught.value.possible == ("add(name, X | None) beside it",)
        db.relation("F").add("other", Small | None)


def test_a_field_that_came_is_the_last_of_the_class(tmp_path):
    first = rn.record(type("First", (), {"__annotations__": {"id": int, "tags": Bag[str]}}))
    moved = rn.record(type("Moved", (), {"__annotations__": {"id": int, "year": int, "tags": Bag[str]}}))
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("F", first, key="id").add("year", int, default=1)
        with pytest.raises(errors.RelationChanged) as caught:
            db.relation("F", moved, key="id")
        assert caught.value.possible[0] == "a class that has what the state does: fields in the order id, tags, year"


def test_a_relation_declared_otherwise_says_what_differs(tmp_path):
    """The fields that differ and no others, and what makes one of the other: done, the declaration is right."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("W", Wide, key="id", keys={"lines": "no"})
        with pytest.raises(errors.RelationChanged) as caught:
            db.relation("W", Wider, key="id", keys={"lines": "no"})
        said = caught.value
        assert said.wanted == "title: string, no day, no lines.price, lines.qty: int"
        assert said.got == "name: string, day: date?, lines.price: decimal(8,2), lines.qty: long"
        assert said.possible[0] == "a class that has what the state does: title: str, lines.qty: Int"
        calls = [way for way in said.possible if way.startswith("db.relation(")]
        assert calls == [
            'db.relation("W").rename("title", "name")', 'db.relation("W").add("day", date | None)',
            'db.relation("W").add("lines.price", rn.Decimal[8, 2], default=...)',
            'db.relation("W").widen("lines.qty", int)',
        ]  # fmt: skip
        with pytest.raises(errors.TypeMismatch, match="with other fields") as caught:
            db.create(wider)
        assert (caught.value.wanted, caught.value.got) == (said.wanted, said.got)
        db.relation("W").rename("title", "name")
        db.relation("W").add("day", date | None)
        db.relation("W").widen("lines.qty", int)
        db.relation("W").add("lines.price", rn.Decimal[8, 2], default=0)
        db.relation("W", Wider, key="id", keys={"lines": "no"})
        for more, wanted, got in (
            ({"key": None}, "key id", "no key"), ({"keys": {}}, "key of W.lines no", "no key of W.lines"),
        ):  # fmt: skip
            with pytest.raises(errors.RelationChanged) as caught:
                db.relation("W", Wider, **{"key": "id", "keys": {"lines": "no"}, **more})
            assert (caught.value.wanted, caught.value.got) == (wanted, got)


# ---------------------------------------------------------------- another name


def test_another_name_changes_no_row_and_rebuilds_no_view(tmp_path):
    state = shop(tmp_path / "state", names, parts)
    with opened(state) as db:
        before = {name: db.view(name).rows() for name in db.views}
        version = db.version
        db.relation("M").rename("gen", "genre")
        db.relation("C").rename("orders.items.qty", "quantity")
        assert db.version == version + 2 and db.waiting == {} and written(db) == []
        assert db.view("names").rows() == before["names"]
        assert "genre" in db.relation("M").rows()[0] and "gen" not in db.relation("M").rows()[0]
        with db.batch() as b:
            b.insert("M", [{"name": "new", "genre": "Drama", "dir": None}])
        assert any(row["name"] == "new" and len(row["same"]) > 1 for row in db.view("names").rows())
        assert db.verify(deep=True).ok

    @rn.record
    class Film:
        name: str
        genre: str | None
        dir: str | None

    @rn.view
    def names2(M: Bag[Film]):
        return [{"name": m.name, "same": [n.name for n in M if n.genre == m.genre]} for m in M]

    with rn.open(state, engine="local") as db:
        db.relation("M", Film)
        assert db.waiting == {} and db.verify(deep=True).ok


def test_the_key_is_renamed(tmp_path):
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("S", Small, key="id")
        db.load("S", SMALL)
        db.relation("S").rename("id", "number")
        with db.batch() as b:
            b.upsert("S", [{"number": 1, "price": Decimal(7), "note": "x"}])
        assert [r["price"] for r in db.relation("S").rows() if r["number"] == 1] == [Decimal(7)]


# ---------------------------------------------------------------- what is refused


def test_what_cannot_be_changes_nothing(tmp_path):
    @rn.view
    def both(M: Bag[Movie], N: Bag[Movie]):
        return M + N

    state = shop(tmp_path / "state")
    with opened(state) as db:
        db.relation("N", Movie)
        db.create(both)
        version, digest = db.version, db._store.state_of(db.version)
        M = db.relation("M")
        for call, what in (
            (lambda: M.add("year", int, default="x"), "default"),
            (lambda: M.add("year", int), "rows that are there have no value for it"),
            (lambda: M.add("name", str, default=""), "there is a field of this name"),
            (lambda: M.add("cast", Bag[str], default=[]), "cannot get"),
            (lambda: M.add("year", int, default=1), "view both does not fit"),
            (lambda: M.rename("name", "dir"), "there is a field of this name"),
            (lambda: M.rename("name", ""), "needs a name"),
            (lambda: M.rename("name", "dir.name"), "a field keeps its place"),
            (lambda: M.rename("nothing", "x"), "no such field"),
            (lambda: db.relation("C").rename("orders", "x"), "only base fields"),
        ):
            with pytest.raises(errors.RipplenestError, match=what):
                call()
        assert (db.version, db._store.state_of(db.version)) == (version, digest)


def test_a_name_that_a_published_table_cannot_have(tmp_path):
    with opened(shop(tmp_path / "s", films)) as db:
        db.publish("films", tmp_path / "lake")
        version = db.version
        for change in (lambda r: r.rename("name", "a b"), lambda r: r.add("a b", int, default=1)):
            with pytest.raises(errors.RipplenestError, match="a name that a Delta table cannot have"):
                change(db.relation("M"))
        assert db.version == version
        with db.batch() as b:
            b.insert("M", [movie("Up", "Drama", "Ann")])


def test_a_field_of_any_name_is_set(tmp_path):
    with opened(shop(tmp_path)) as db:
        db.relation("M").rename("gen", "self")
        with db.batch() as b:
            b.at_all("M", self="Drama").set(self="Comedy")
        assert {row["self"] for row in db.relation("M").rows()} & {"Drama", "Comedy"} == {"Comedy"}


def test_a_batch_that_was_begun_before(tmp_path):
    state = shop(tmp_path / "state")
    with opened(state) as db:
        with pytest.raises(errors.RelationChanged, match="declared anew by another object"), db.batch() as b:
            b.insert("M", [movie("x")])
            with rn.open(state, engine="local") as other:
                other.relation("M").add("year", int, default=1)
        with db.batch() as b:
            b.insert("M", [{**movie("x"), "year": 2}])
        assert db.relation("M").count() == len(FILMS) + 1


@pytest.mark.parametrize("change", [
    lambda b: b.insert("M", [{**movie("x"), "year": 2}]),
    lambda b: b.upsert("M", [{**movie("x"), "year": 2}]),
    lambda b: b.at("M", name="x").set(year=2),
    lambda b: b.at_all("M", year=1),
])  # fmt: skip
def test_rows_that_are_right_since_another_object_changed_what_they_are_rows_of(tmp_path, change):
    """The same batch again is what it takes, and not opening the state again; what is wrong stays what is said."""
    state = shop(tmp_path / "state")
    with opened(state) as db:
        with db.batch() as b:
            b.insert("M", [movie("x")])
        with rn.open(state, engine="local") as other:
            other.relation("M").add("year", int, default=1)
        version = db.version
        anew = "declared anew by another object, and rows were read"
        with pytest.raises(errors.RelationChanged, match=anew) as caught, db.batch() as b:
            change(b)
        assert isinstance(caught.value.__context__, errors.DataError | errors.QueryError) and db.version == version
        with pytest.raises(errors.WrongColumns, match="missing fields year"), db.batch() as b:
            b.insert("M", [movie("y")])
        with pytest.raises(errors.RelationChanged), rn.open(state, engine="local") as other, db.batch() as b:
            other.relation("M").add("month", int, default=1)
            b.at("M", name="x").set(month=2)


def test_one_change_after_another(tmp_path):
    """Rows of every age, each under the newest type; one segment or many."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("S", Small, key="id")
        wanted = {}
        for n in range(6):
            row = {"id": n, "price": Decimal(n), "note": "x", **{f"f{i}": n for i in range(n)}}
            with db.batch() as b:
                b.insert("S", [row])
            wanted[n] = row
            db.relation("S").add(f"f{n}", int, default=-n)
            for old in wanted.values():
                old[f"f{n}"] = -n
            assert {r["id"]: r for r in db.relation("S").rows()} == wanted
        with db.batch() as b:
            b.delete("S", [wanted.pop(2)])
        db.compact(everything=True)
        assert {r["id"]: r for r in db.relation("S").rows()} == wanted and db.check_files()
    with rn.open(tmp_path / "state", engine="local") as db:
        assert {r["id"]: r for r in db.relation("S").rows()} == wanted


@rn.view
def totals(C: Bag[Customer]):
    return [
        {
            "n": c.name,
            "most": max(i.qty for o in c.orders for i in o.items),
            "sum": sum(i.qty for o in c.orders for i in o.items),
            "first": sorted([i for o in c.orders for i in o.items], key=lambda i: i.qty, reverse=True)[:2],
            "by": [
                {"qty": q, "rows": len(xs)}
                for q, xs in rn.group_by([i for o in c.orders for i in o.items], lambda i: i.qty)
            ],
        }
        for c in C
    ]


def test_what_is_folded_and_kept_in_order_follows(tmp_path):
    """The fields of groups are read under their new names and types, and rows are shown in the same order."""
    with opened(shop(tmp_path / "s", totals)) as db:
        before = db.view("totals").rows()
        db.relation("C").rename("orders.items.qty", "count")
        after = db.view("totals").rows()
        old = [{**row, "first": [{("count" if k == "qty" else k): v for k, v in x.items()} for x in row["first"]]}
               for row in before]  # fmt: skip
        assert after == old and any(len(row["first"]) > 1 for row in after)
        db.relation("C").widen("orders.items.count", int | None)
        db.rebuild()
        assert db.view("totals").rows() == after
        with db.batch() as b:
            b.at("C", custkey=7).orders.at(orderkey=11).items.insert([{"part": 5, "count": 99, "tags": []}])
        assert db.view("totals").get(n="Ann")["most"] == 99 and db.verify().ok


@rn.view
def left(C: Bag[Customer], M: Bag[Movie]):
    pairs = rn.left_join(C, M, lambda c, m: c.name == m.dir)
    return [{"k": c.custkey, "gen": m.gen, "orders": len(c.orders)} for c, m in pairs]


@rn.view
def right(C: Bag[Customer], M: Bag[Movie]):
    pairs = rn.right_join(M, C, lambda m, c: c.name == m.dir)
    return [{"k": c.custkey, "gen": m.gen, "o": [o.orderkey for o in c.orders]} for m, c in pairs]


@rn.view
def full(C: Bag[Customer], M: Bag[Movie]):
    return [{"k": c.custkey, "gen": m.gen} for c, m in rn.full_join(C, M, lambda c, m: c.name == m.dir)]


def test_outer_joins_of_a_relation_with_other_fields(tmp_path):
    """What may be absent has the fields that it had when the view was made, under whatever name."""
    kinds = (left, right, full)
    with opened(shop(tmp_path, *kinds)) as db:
        db.relation("M").add("year", int, 2000)
        db.relation("M").rename("gen", "genre")
        db.relation("C").add("since", int, 1999)
        db.relation("C").rename("custkey", "id")
        with db.batch() as b:
            b.insert("M", [{"name": "Up", "genre": "Comedy", "dir": "Ann", "year": 2009}])
        held = {"C": [ANN, BOB], "M": [*FILMS, movie("Up", "Comedy", "Ann")]}
        for view in kinds:
            assert db.view(view.name).rows() == view(**held)
        assert db.verify().ok


@rn.view
def twice(R: Bag[Right]):
    """Each side is real where the other may be nothing."""
    return [
        {"l": x, "r": y, "n": x.k if x else 0, "ks": [d.k for d in y.deep]}
        for x, y in rn.full_join(R, R, lambda x, y: x.k == y.note)
    ]


def test_a_relation_that_is_joined_with_itself_is_widened(tmp_path):
    """On both sides at once."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("R", Right, key="k")
        rows = [{"k": 1, "note": 2, "deep": []}, {"k": 2, "note": 5, "deep": []}]
        db.load("R", rows)
        db.create(twice)
        for name in ("k", "note", "deep.k"):
            db.relation("R").widen(name, int)
        assert "k: long" in str(db.view("twice").shape) and "k: int" not in str(db.view("twice").shape)
        with db.batch() as b:
            b.insert("R", [{"k": 1 << 40, "note": 1 << 41, "deep": [{"k": 1 << 42, "price": 1, "lines": []}]}])
        assert any(r["r"] and r["r"]["deep"] and r["ks"] == [1 << 42] for r in db.view("twice").rows())
        assert db.verify(deep=True).ok


def test_a_batch_of_before_is_refused_as_one(tmp_path):
    """Nobody can tell whether it is the same, and the message says since when."""
    with rn.open(tmp_path / "state", engine="local") as db:
        for name in ("L", "R"):
            db.relation(name, Right, key="k")
        for source in ("a", "b"):
            with db.batch(source, 1) as b:
                b.insert("L" if source == "a" else "R", [{"k": 1, "note": 2, "deep": []}])
        db.relation("R").rename("note", "text")
        db.relation("R").add("more", int, 7)
        said = ("batch b:1", "version 4", "R: rename note to text, R: add more", "nothing, if it is", "batch, b:2")
        with refused(db, errors.BatchConflict, *said), db.batch("b", 1) as b:
            b.insert("R", [{"k": 1, "text": 2, "deep": [], "more": 7}])
        with refused(db, errors.BatchConflict, "batch a:1", "other content"), db.batch("a", 1) as b:
            b.insert("L", [{"k": 2, "note": 2, "deep": []}])
        with db.batch("a", 1) as b:
            b.insert("L", [{"k": 1, "note": 2, "deep": []}])
        assert not b.report.applied
