"""Documents by key: labels that last, upserts that write the difference, and operations on inner bags by key.

The same life with keys at every level, at some and at none; a plain dict of documents says what there must be.
"""

import copy
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed, refused

import ripplenest as rn
from ripplenest import Bag, Database, errors


@rn.record
class Item:
    line: int
    part: int | None
    tags: Bag[str]


@rn.record
class Order:
    orderkey: int
    date: str | None
    items: Bag[Item]
    notes: Bag[str] | None


@rn.record
class Info:
    city: str
    seen: Bag[float]


@rn.record
class Customer:
    custkey: int
    name: str | None
    info: Info
    orders: Bag[Order] | None


@rn.view
def big(C: Bag[Customer]):
    return [
        {"n": c.name, "seen": c.info.seen, "all": c.orders,
         "orders": [{"d": o.date, "tags": [t for i in o.items for t in i.tags]} for o in c.orders]}
        for c in C
    ]  # fmt: skip


KEYS: dict[str, dict[str, str]] = {
    "all": {"orders": "orderkey", "orders.items": "line"},
    "outer": {"orders": "orderkey"},
    "inner": {"orders.items": "line"},
    "none": {},
}
COUNTS: Counter[str] = Counter()
Document = dict[str, Any]


def opened(folder: str, keys: dict[str, str]) -> Database:
    db = rn.open(folder, engine="local")
    db.relation("C", Customer, key="custkey", keys=keys)
    db.create(big)
    return db


@pytest.fixture
def db() -> Iterator[Database]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, opened(folder, KEYS["all"]) as found:
        yield found


# ---------------------------------------------------------------- documents


def item(line: int, part: int | None = 1, tags: tuple[str, ...] = ()) -> Document:
    return {"line": line, "part": part, "tags": list(tags)}


def order(orderkey: int, *items: Document, date: str | None = "d", notes: list[str] | None = None) -> Document:
    return {"orderkey": orderkey, "date": date, "items": list(items), "notes": notes}


def customer(custkey: int, *orders: Document, name: str | None = "n") -> Document:
    return {"custkey": custkey, "name": name, "info": {"city": "c", "seen": [1.0, 1.0]}, "orders": list(orders)}


def some(c: Choices, make: Callable[[int], Document]) -> list[Document]:
    """Rows with different keys."""
    return [make(key) for key in range(3) if not c.one_in(3)]


def random_item(c: Choices, line: int) -> Document:
    return item(line, c.pick((None, 1, 2)), tuple(c.pick("ab") for _ in range(c.number(3))))


def random_order(c: Choices, key: int) -> Document:
    notes = c.pick((None, [], ["x"], ["x", "x"]))
    return order(key, *some(c, lambda line: random_item(c, line)), date=c.pick((None, "d")), notes=notes)


def random_customer(c: Choices, key: int) -> Document:
    found = customer(key, *some(c, lambda k: random_order(c, k)), name=c.pick((None, "n")))
    return {**found, "orders": None} if c.one_in(6) else found


def changed(c: Choices, old: Document) -> Document:
    """``old`` with one thing changed, or nothing."""
    new = copy.deepcopy(old)
    orders = new["orders"] or []
    if not orders or c.one_in(3):
        new["name"] = c.pick((None, "n", "m"))
    elif c.one_in(3):
        new["orders"] = orders[1:]
    else:
        o = c.pick(orders)
        o["items"] = some(c, lambda line: random_item(c, line)) if c.one_in(2) else o["items"][::-1]
        o["date"] = c.pick((None, "d"))
    return new


# ---------------------------------------------------------------- laws


def entries(docs: dict[int, Document]) -> Counter[tuple[Any, ...]]:
    """The rows of all parts of documents, under the keys around them, as they are stored where all rows have keys."""
    found: Counter[tuple[Any, ...]] = Counter()
    for k, d in docs.items():
        found["C", k, d["name"], d["info"]["city"], d["orders"] is None] += 1
        found.update(("C.info.seen", k, x) for x in d["info"]["seen"])
        for o in d["orders"] or ():
            found["C.orders", k, o["orderkey"], o["date"], o["notes"] is None] += 1
            found.update(("C.orders.notes", k, o["orderkey"], n) for n in o["notes"] or ())
            for i in o["items"]:
                found["C.orders.items", k, o["orderkey"], i["line"], i["part"]] += 1
                found.update(("C.orders.items.tags", k, o["orderkey"], i["line"], t) for t in i["tags"])
    return found


def minimal(old: dict[int, Document], new: dict[int, Document]) -> dict[str, int]:
    """How many rows of each part differ."""
    before, after = entries(old), entries(new)
    return dict(Counter(e[0] for e in before.keys() | after.keys() if before[e] != after[e]))


@pytest.mark.parametrize("name", KEYS)
@law(examples=many(3, 20))
def test_the_change_of_an_upsert_is_minimal(name: str, c: Choices) -> None:
    """An unchanged document changes nothing. Where all rows have keys, what is written is what differs; elsewhere rows
    with equal contents are not written again. Nothing else than the documents said is there, in relation and view."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, opened(folder, KEYS[name]) as db:
        docs = {key: random_customer(c, key) for key in range(3)}
        db.load("C", list(docs.values()))
        for _ in range(4):
            new = {key: changed(c, d) if key in docs else random_customer(c, key) for key, d in docs.items()}
            with db.batch() as b:
                b.upsert("C", list(copy.deepcopy(new).values()))
            least = minimal(docs, new)
            COUNTS["nothing" if not least else "something"] += 1
            if name == "all":
                assert b.report.rows_in == least
            else:
                assert bool(b.report.rows_in) == bool(least) and least.keys() <= b.report.rows_in.keys()
                assert b.report.rows_in.get("C", 0) == least.get("C", 0)
            docs = new
            recomputed(db, {"big": big}, {"C": list(docs.values())})
        assert db.verify(deep=True).ok


def inner(c: Choices, b: Any, docs: dict[int, Document]) -> None:
    """One operation on an inner bag, or on a document, by key."""
    key = c.pick(sorted(docs))
    d, at = docs[key], lambda: b.at("C", custkey=key)
    orders = {o["orderkey"]: o for o in d["orders"] or ()}
    kind = c.pick(("set", "set inside", "delete_key", "upsert", "set", "delete_key", "upsert"))
    if d["orders"] is None:
        kind = c.pick(("set", "set inside", "delete document"))
    COUNTS[kind] += 1
    match kind:
        case "set":
            d["name"] = c.pick((None, "set"))
            at().set(name=d["name"])
        case "set inside":
            d["info"]["city"] = "there"
            at().info.set(city="there")
        case "delete document":
            b.delete_key("C", custkey=key)
            del docs[key]
        case "upsert" if orders and c.one_in(2):
            o, new = c.pick(list(orders.values())), some(c, lambda line: random_item(c, line))
            at().orders.at(orderkey=o["orderkey"]).items.upsert(copy.deepcopy(new))
            lines = {i["line"]: i for i in [*o["items"], *new]}
            o["items"] = list(lines.values())
        case "upsert":
            new = some(c, lambda k: random_order(c, k))
            at().orders.upsert(copy.deepcopy(new))
            d["orders"] = list({**orders, **{o["orderkey"]: o for o in new}}.values())
        case "delete_key" if orders:
            gone = c.pick(sorted(orders))
            at().orders.delete_key(orderkey=gone)
            del orders[gone]
            d["orders"] = list(orders.values())
        case _:
            at().orders.at_all(orderkey=1).set(date="all") if 1 in orders else at().set(name="n")
            d["name"] = d["name"] if 1 in orders else "n"
            d["orders"] = [{**o, "date": "all"} if o["orderkey"] == 1 else o for o in orders.values()]


@law(examples=many(5, 20))
def test_inner_bags_by_key(c: Choices) -> None:
    """upsert, set and delete_key in bags at every depth, several in one batch: the documents are what they should be,
    and what is written is what differs."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, opened(folder, KEYS["all"]) as db:
        docs = {key: random_customer(c, key) for key in range(4)}
        db.load("C", list(docs.values()))
        for _ in range(4):
            before = copy.deepcopy(docs)
            with db.batch() as b:
                for _ in range(1 + c.number(3)):
                    inner(c, b, docs)
            assert b.report.rows_in == minimal(before, docs)
            recomputed(db, {"big": big}, {"C": list(docs.values())})
        assert db.verify(deep=True).ok


def test_the_laws_covered() -> None:
    wanted = ("nothing", "something", "set", "set inside", "delete document", "upsert", "delete_key")
    assert all(COUNTS[kind] for kind in wanted), COUNTS


# ---------------------------------------------------------------- labels


def test_labels_are_the_keys_around_a_bag(db: Database) -> None:
    """At every depth, as typed columns; ``at`` finds the bag by them, and they stay when all else changes."""
    db.load("C", [customer(7, order(11, item(1, 2, ("a",))))])
    assert [dict(row.counts()) for row in (db._store.snapshot().scan("C.orders.items.tags"),)] == [{(7, 11, 1, "a"): 1}]
    for label in ((7, 11, 1), {"custkey": 7, "orderkey": 11, "line": 1}):
        with db.batch() as b:
            b.at("C", label=label).orders.items.tags.insert(["b"])
    with db.batch() as b:
        b.upsert("C", [customer(7, order(11, item(1, 3, ("c",)), date="later"), name="other")])
        b.at("C", label=(7, 11, 1)).orders.items.tags.insert(["z"])
    assert dict(db._store.snapshot().scan("C.orders.items.tags").counts()) == {(7, 11, 1, "c"): 1, (7, 11, 1, "z"): 1}
    with refused(db, errors.UnknownLabel, "no row holds this label", "got      7, 12, 1"), db.batch() as b:
        b.at("C", label=(7, 12, 1)).orders.items.tags.insert(["b"])


def test_keys_of_one_name() -> None:
    """Labels name each key of the rows around once, whatever the fields are called."""

    @rn.record
    class Leaf:
        key: int
        xs: Bag[int]

    @rn.record
    class Middle:
        key: int
        leaves: Bag[Leaf]

    @rn.record
    class Top:
        key: int
        middles: Bag[Middle]

    @rn.view
    def v(T: Bag[Top]):
        return [
            {"k": t.key, "m": [{"k": m.key, "xs": [x for f in m.leaves for x in f.xs]} for m in t.middles]} for t in T
        ]

    rows = [{"key": 1, "middles": [{"key": 1, "leaves": [{"key": 1, "xs": [1, 1]}, {"key": 2, "xs": [3]}]}]}]
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("T", Top, key="key", keys={"middles": "key", "middles.leaves": "key"})
        db.create(v)
        db.load("T", rows)
        with db.batch() as b:
            b.at("T", label=(1, 1, 2)).middles.leaves.xs.insert([4])
        rows[0]["middles"][0]["leaves"][1]["xs"] += [4]
        recomputed(db, {"v": v}, {"T": rows})


def test_a_key_that_may_be_null_is_no_label() -> None:
    """Rows are found by it, and their bags have numbers, which an upsert keeps."""

    @rn.record
    class Loose:
        key: int | None
        x: int
        inner: Bag[int]

    @rn.view
    def v(R: Bag[Loose]):
        return R

    rows: list[dict[str, Any]] = [{"key": None, "x": 1, "inner": [1]}, {"key": 2, "x": 1, "inner": [1]}]
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("R", Loose, key="key")
        db.create(v)
        db.load("R", rows)
        labels = {row[2] for row in db._store.snapshot().scan("R").counts()}
        rows[0]["x"] = 5
        with db.batch() as b:
            b.upsert("R", rows)
        assert b.report.rows_in == {"R": 2} and labels == {row[2] for row in db._store.snapshot().scan("R").counts()}
        with db.batch() as b:
            b.delete_key("R", key=None)
        recomputed(db, {"v": v}, {"R": rows[1:]})


# ---------------------------------------------------------------- what is refused


def test_a_key_is_there_once_in_its_bag(db: Database) -> None:
    db.load("C", [customer(7, order(11, item(1)))])
    twice = customer(8, order(1), order(2, item(1), item(1)))
    with refused(db, errors.DuplicateKey, "rows[0].orders", "each line once"), db.batch() as b:
        b.insert("C", [twice])
    with refused(db, errors.DuplicateKey, "rows[1].orders", "each orderkey once"), db.batch() as b:
        b.upsert("C", [customer(9), customer(8, order(1), order(1, item(2)))])
    at = "operation 0 (insert C.orders)"
    for rows in ([order(12), order(11)], [order(12), order(12)]):
        with refused(db, errors.DuplicateKey, f"{at}: rows[1]", "orderkey"), db.batch() as b:
            b.at("C", custkey=7).orders.insert(rows)
    with refused(db, errors.DuplicateKey, "operation 1 (insert C.orders.items): rows[0]"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).items.upsert([item(2)])
        b.at("C", custkey=7).orders.at(orderkey=11).items.insert([item(2, 5)])


def test_many_documents_go_by_key(db: Database) -> None:
    """With all that is in them, however many there are."""
    docs = [customer(k, order(1, item(1, 2, ("a",)))) for k in range(100)]
    db.load("C", docs)
    with db.batch() as b:
        b.delete_key("C", [{"custkey": k} for k in range(1, 100)])
    assert {part: n for part, n in b.report.rows_in.items() if n != 99} == {}
    assert len(b.report.rows_in) == 5 and db.verify(deep=True).ok
    recomputed(db, {"big": big}, {"C": docs[:1]})


@pytest.mark.parametrize("many", [1, 100])
def test_fields_are_set_beside_many_rows(many: int) -> None:
    """A relation without inner bags: operations see each other, few or many."""

    @rn.record
    class Plain:
        key: int
        x: str

    @rn.view
    def plain(R: Bag[Plain]):
        return R

    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("R", Plain, key="key")
        db.create(plain)
        db.load("R", [{"key": 0, "x": "old"}])
        with db.batch() as b:
            b.insert("R", [{"key": k, "x": "new"} for k in range(1, many + 1)])
            b.at("R", key=1).set(x="set")
            b.at("R", key=0).set(x="set too")
            b.delete_key("R", [{"key": k} for k in range(2, many + 1)])
        recomputed(db, {"plain": plain}, {"R": [{"key": 0, "x": "set too"}, {"key": 1, "x": "set"}]})
        assert db.verify(deep=True).ok


def test_keys_that_are_not_there(db: Database) -> None:
    db.load("C", [customer(7, order(11, item(1)))])
    with (
        refused(db, errors.RowNotThere, "operation 0 (delete_key C): rows[0]", "a row with this custkey"),
        db.batch() as b,
    ):
        b.delete_key("C", custkey=8)
    with refused(db, errors.RowNotThere, "operation 0 (delete_key C.orders): rows[1]", "the same key"), db.batch() as b:
        b.at("C", custkey=7).orders.delete_key([{"orderkey": 11}, {"orderkey": 11}])
    for given, fields in ((None, {}), ([{"custkey": 7}], {"custkey": 7})):
        with refused(db, errors.UnknownKey, "delete_key C: which rows go"), db.batch() as b:
            b.delete_key("C", given, **fields)
    with refused(db, errors.WrongColumns, "delete_key C: rows[0]", "name"), db.batch() as b:
        b.delete_key("C", name="n")
    with refused(db, errors.NoKey, "C.info.seen: upsert needs a key", 'keys={"info.seen": ...}'), db.batch() as b:
        b.at("C", custkey=7).info.seen.upsert([1.0])
    with refused(db, errors.NoKey, "C.orders.notes: delete_key needs a key"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).notes.delete_key(x=1)


def test_fields_that_are_not_set(db: Database) -> None:
    db.load("C", [customer(7, order(11, item(1)))])
    with (
        refused(db, errors.UnknownName, "C: a field of the key is not set", "custkey", "possible name", "delete_key"),
        db.batch() as b,
    ):
        b.at("C", custkey=7).set(custkey=8)
    with refused(db, errors.UnknownName, "C.orders: a field of the key is not set", "orderkey"), db.batch() as b:
        b.at("C", custkey=7).orders.at(orderkey=11).set(orderkey=8)
    with refused(db, errors.UnknownName, "C: fields without bags are set", "orders"), db.batch() as b:
        b.at("C", custkey=7).set(orders=[])
    with refused(db, errors.UnknownKey, "C: set() needs at least one field"), db.batch() as b:
        b.at("C", custkey=7).set()
    with refused(db, errors.WrongValue, "set C.name", "string"), db.batch() as b:
        b.at("C", custkey=7).set(name=8)
    with refused(db, errors.TypeMismatch, "a label names the bag itself"), db.batch() as b:
        b.at("C", label=(7,)).set(name="x")


@pytest.mark.parametrize(
    ("keys", "error", "shown"),
    [
        (7, errors.WrongValue, "relation K: not the keys of inner bags"),
        ({"order": "orderkey"}, errors.UnknownName, "a key's path leads to no inner bag"),
        ({"orders": "key"}, errors.UnknownName, "relation K, keys of orders: the key is not a field"),
        ({"orders": "date"}, errors.TypeMismatch, "K.orders.date: the key of an inner bag is made"),
        ({"orders": "items"}, errors.TypeMismatch, "a key is made of base fields"),
        ({"orders": 7}, errors.WrongValue, "not a key"),
        ({7: "orderkey"}, errors.WrongValue, "not a key's path"),
        ({"info.seen": "value"}, errors.UnknownName, "the key is not a field"),
    ],
)  # fmt: skip
def test_inner_keys_that_cannot_be(db: Database, keys: Any, error: type[rn.RipplenestError], shown: str) -> None:
    with refused(db, error, shown):
        db.relation("K", Customer, key="custkey", keys=keys)


def test_immutable_bags_are_not_set() -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("C", Customer, key="custkey", immutable="orders", keys=KEYS["all"])
        db.load("C", [customer(7, order(11, item(1)))])
        for change in ("set", "upsert", "delete_key"):
            with refused(db, errors.Immutable, "C.orders", "immutable"), db.batch() as b:
                orders = b.at("C", custkey=7).orders
                if change == "set":
                    orders.at(orderkey=11).set(date=None)
                elif change == "upsert":
                    orders.upsert([order(11)])
                else:
                    orders.delete_key(orderkey=11)
        with db.batch() as b:
            b.upsert("C", [customer(7, order(11, item(1)), name="new")])
        assert b.report.rows_in == {"C": 2}
        db.create(big)
        recomputed(db, {"big": big}, {"C": [customer(7, order(11, item(1)), name="new")]})
        assert db.verify(deep=True).ok


# ---------------------------------------------------------------- other fields


def test_keys_keep_up_with_fields() -> None:
    """A key that gets another name or a wider type, in rows and in bags, and a bag that comes to rows with two keys."""

    @rn.record
    class Line:
        line: rn.Int
        tags: Bag[str]

    @rn.record
    class Head:
        a: rn.Int
        b: str
        lines: Bag[Line]

    @rn.view
    def v(H: Bag[Head]):
        return [{"b": h.b, "lines": [{"tags": n.tags} for n in h.lines]} for h in H]

    rows = [{"a": 1, "b": "x", "lines": [{"line": 1, "tags": ["s"]}, {"line": 2, "tags": []}]}]
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        h = db.relation("H", Head, key=("a", "b"), keys={"lines": "line"})
        db.create(v)
        db.load("H", rows)
        h.widen("a", int)
        h.widen("lines.line", int)
        h.rename("lines.line", "number")
        h.rename("a", "first")
        h.add("more", Bag[int] | None)
        with refused(db, errors.TypeMismatch, "a key stays without NULL"):
            h.widen("lines.number", int | None)
        with db.batch() as b:
            b.at("H", first=1, b="x").lines.upsert([{"number": 2**40, "tags": ["t"]}])
            b.at("H", label=(1, "x", 2)).lines.tags.insert(["u"])
        lines = [{"number": 1, "tags": ["s"]}, {"number": 2, "tags": ["u"]}, {"number": 2**40, "tags": ["t"]}]
        wanted = {"first": 1, "b": "x", "lines": lines, "more": None}
        assert db.relation("H").rows() == [wanted] and db.waiting == {} and db.verify(deep=True).ok
        assert db.view("v").rows() == [{"b": "x", "lines": [{"tags": [t]} for t in "stu"]}]
        with db.batch() as b:
            b.upsert("H", [{**wanted, "more": [5]}])
            b.at("H", first=1, b="x").more.insert([6])
        assert b.report.rows_in == {"H": 2, "H.more": 2} and db.verify(deep=True).ok
