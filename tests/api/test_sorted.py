"""How bags are shown: sorted where the view says so, and the same wherever rows are read."""

# mypy: disable-error-code="no-untyped-def, attr-defined, no-any-return"

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import QueryError
from ripplenest.nrc.serial import query_from_json, query_to_json
from ripplenest.nrc.surface.python import view


@rn.record
class Line:
    part: str
    price: float | None


@rn.record
class Order:
    key: int
    lines: Bag[Line]


@rn.record
class Customer:
    name: str
    orders: Bag[Order]


def shown(C: Bag[Customer]):
    return sorted(
        [
            {
                "name": c.name,
                "orders": sorted(
                    [
                        {
                            "key": o.key,
                            "lines": rn.sorted(o.lines, key=lambda x: (x.price, x.part), desc=(True, False)),
                            "two": sorted([x.part for x in o.lines], reverse=True)[:2],
                            "last": [
                                {"what": {"part": p}, "n": 1} for p in sorted([x.part for x in o.lines]) if p > "a"
                            ],
                        }
                        for o in c.orders
                    ],
                    key=lambda o: o["key"],
                    reverse=True,
                ),
            }
            for c in C
        ],
        key=lambda c: c["name"],
    )


prices = st.sampled_from([None, 1.0, 2.0, -1.0, float("nan")])
lines = st.lists(st.builds(Line, st.sampled_from("abc"), prices), max_size=4)
orders = st.lists(st.builds(Order, st.integers(0, 9), lines), max_size=3, unique_by=lambda o: o.key)
customers = st.lists(st.builds(Customer, st.sampled_from("abcdef"), orders), max_size=4, unique_by=lambda c: c.name)


def plain(c: list[Customer]) -> Any:
    """What the same Python gives, as text: NaN is no value that equals itself."""
    made: Any = shown(c)
    for row in made:
        for order in row["orders"]:  # dicts, as a database gives them
            order["lines"] = [{"part": x.part, "price": x.price} for x in order["lines"]]
    return repr(made)


@settings(max_examples=many(15, 200), deadline=None)
@given(c=customers, more=customers)
def test_rows_are_shown_in_the_order_of_the_same_python(
    c: list[Customer], more: list[Customer], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In Python and as Arrow, at every depth; after a batch, too; and by calling the view on lists."""
    with rn.open(tmp_path_factory.mktemp("s") / "s", engine="local") as db:
        db.relation("C", Customer, key="name")
        db.load("C", c)
        db.create(view(shown))
        for held in (c, list({x.name: x for x in (*c, *more)}.values())):
            if held is not c:
                with db.batch() as b:
                    b.upsert("C", more)
            handle = db.view("shown")
            assert repr(handle.rows()) == plain(held) == repr(view(shown)(held))
            assert repr(handle.to_arrow().to_pylist()) == plain(held)
            for x in held:
                assert repr([handle.get(name=x.name)]) == plain([x])


def ways(C: Bag[Customer]):
    """Bags of one path that are sorted in one way, in two, and in none; through other bags, records and products."""
    rows = [{"n": c.name, "o": rn.sorted(c.orders, key=lambda o: o.key, desc=True)} for c in C]
    other = [{"n": c.name, "o": rn.sorted(c.orders, key=lambda o: o.key)} for c in C]
    return rn.sorted(
        [
            {"n": r.n, "row": {"deep": r.o}, "all": rows, "some": rows + other, "none": c.orders, "words": words}
            for r in rows
            for c in C
            if c.name == r.n
            for words in [sorted([o.key for o in c.orders], reverse=True)]
        ],
        key=lambda r: r.n,
        desc=True,
    )


@settings(max_examples=many(10, 100), deadline=None)
@given(c=customers)
def test_a_call_shows_the_orders_that_a_database_shows(
    c: list[Customer], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By the path of the term, and by the sites of labels."""
    made = view(ways)
    with rn.open(tmp_path_factory.mktemp("s") / "s", engine="local") as db:
        db.relation("C", Customer, key="name")
        db.load("C", c)
        assert repr(db.create(made).rows()) == repr(made(c))


def by_the_opposite(C: Bag[Customer]):
    rows = [{"name": c.name, "key": o.key} for c in C for o in c.orders]
    return [
        {"two": sorted(rows, key=lambda r: -r["key"])[:2], "all": sorted(rows, key=lambda r: (-r["key"], r["name"]))}
    ]


def test_by_minus_a_number_is_by_the_number_from_the_last_one_on(tmp_path: Path) -> None:
    """As everybody writes it, who has several fields to sort by: it was cut so, and shown in another order."""
    c = [Customer(n, [Order(k, []) for k in keys]) for n, keys in (("b", (1, 3, 2)), ("a", (3, 4)))]
    (wanted,) = by_the_opposite(c)
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("C", Customer, key="name")
        db.load("C", c)
        handle = db.create(view(by_the_opposite))
        assert [r["key"] for r in wanted["all"]] == [4, 3, 3, 2, 1]
        for (found,) in (handle.rows(), handle.to_arrow().to_pylist(), view(by_the_opposite)(c)):
            assert found["all"] == wanted["all"] and [r["key"] for r in found["two"]] == [4, 3]


def test_the_first_rows_are_those_that_are_shown_first(tmp_path: Path) -> None:
    """With copies, with rows that agree in what they are sorted by, and with those that differ in their bags alone."""
    c = [Customer(n, [Order(o, TIES[o:]) for o in (2, 3, 1)]) for n in "bca"]

    @rn.view
    def all_orders(C: Bag[Customer]):
        return rn.sorted(
            [{"key": o.key, "lines": rn.sorted(o.lines, key=lambda x: x.part)} for c in C for o in c.orders]
            + [{"key": o.key, "lines": [x for x in o.lines if x.part > c.name]} for c in C for o in c.orders],
            key=lambda o: o.key,
            desc=True,
        )

    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("C", Customer, key="name")
        db.load("C", c)
        handle, shown = db.create(all_orders), repr(all_orders(c))
        assert repr(handle.rows()) == shown
        for n in range(20):
            assert repr(handle.limit(n)) == repr(handle.rows()[:n])
        assert [row["key"] for row in next(iter(handle.batches(7))).to_pylist()] == [3] * 6 + [2]


@rn.view
def by_price(C: Bag[Customer]):
    return [
        {
            "name": c.name,
            "orders": sorted(
                [{"key": o.key, "lines": rn.sorted(o.lines, key=lambda x: x.price)} for o in c.orders],
                key=lambda o: o["key"],
                reverse=True,
            ),
        }
        for c in C
    ]


NAN = float("nan")
TIES = [Line(p, price) for price in (1.0, None, NAN, -1.0, 1.0) for p in "ba"]
NULLS = [{"a": a, "b": {"c": c}} for a, c in ((2, "x"), (1, None), (3, None), (1, "x"))]


def test_arrays_of_spark_are_in_order(spark: SparkSession, tmp_path: Path) -> None:
    """In a DataFrame, and of what changed; rows that agree, too, are where plain Python and Arrow have them."""
    with rn.open(tmp_path / "s", spark=spark, engine="local") as db:
        db.relation("C", Customer, key="name")
        db.load("C", [Customer("a", [Order(n, TIES) for n in (2, 3, 1)])])
        handle, before = db.create(by_price), db.version
        with db.batch() as b:
            b.upsert("C", [Customer("a", [Order(n, TIES[n:]) for n in (2, 3, 1)])])
        wanted = repr(handle.rows())
        (_, came) = handle.changes(since=before).nested.sort("_multiplicity").drop("_multiplicity").collect()
        assert repr(handle.to_arrow().to_pylist()) == wanted
        assert repr([row.asDict(recursive=True) for row in handle.nested().collect()]) == wanted
        assert repr([came.asDict(recursive=True)]) == wanted


def test_rows_that_agree_come_with_null_last_wherever_they_are_read(tmp_path: Path) -> None:
    text = "relation R : Bag(⟨a: long, b: ⟨c: string?⟩⟩)\nview v = ([x | x in R] sorted a desc)"
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", R)
        db.load("R", NULLS)
        db.create(rn.parse(text).views[0])
        found = db.view("v").rows()
        assert [(row["a"], row["b"]["c"]) for row in found] == [(3, None), (2, "x"), (1, "x"), (1, None)]
        assert db.view("v").to_arrow().to_pylist() == found


def test_a_publication_has_arrays_in_order(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("C", Customer, key="name")
        db.load("C", [Customer("a", [Order(n, [Line(p, 1.0) for p in "bca"]) for n in (2, 3, 1)])])
        db.create(view(shown))
        db.publish("shown", tmp_path / "delta")
        (row,) = deltalake.DeltaTable(tmp_path / "delta").to_pyarrow_table().to_pylist()
    assert [o["key"] for o in row["orders"]] == [3, 2, 1]
    assert [x["part"] for x in row["orders"][0]["lines"]] == ["a", "b", "c"] and row["orders"][0]["two"] == ["c", "b"]


@rn.record
class Inner:
    c: str | None


@rn.record
class R:
    a: int
    b: Inner


def test_an_order_is_kept_in_text_and_in_a_state(tmp_path: Path) -> None:
    text = "relation R : Bag(⟨a: long, b: ⟨c: string?⟩⟩)\nview v = ([x | x in R] sorted b.c desc nulls first, a)"
    (made,) = rn.parse(text).views
    assert query_from_json(query_to_json(made.query)) == made.query
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", R, key="a")
        db.load("R", [{"a": a, "b": {"c": c}} for a, c in ((1, "x"), (2, None), (3, "y"), (4, "y"))])
        db.create(made)
    with rn.open(tmp_path / "s", engine="local") as db:
        assert [row["a"] for row in db.view("v").rows()] == [2, 3, 4, 1]
        db.relation("R").rename("a", "id")
        assert [row["id"] for row in db.view("v").rows()] == [2, 3, 4, 1]


def test_what_cannot_be_sorted_is_refused_with_what_can() -> None:
    def of(function: Any) -> str:
        with pytest.raises(QueryError) as caught:
            view(function)
        return str(caught.value)

    def through(C: Bag[Customer]):
        return [c.orders for c in sorted(C, key=lambda c: c.name)]

    def computed(C: Bag[Customer]):
        return sorted(C, key=lambda c: len(c.orders))

    def word(C: Bag[Customer]):
        return sorted(C, desc=True)

    assert "whose rows do not hold what they are sorted by" in of(through)
    assert "`[... for x in sorted(xs, key=...)[:n]]`" in of(through)
    assert "rows are sorted by what they show" in of(computed)
    assert "sorted with the keyword desc" in of(word)
    with pytest.raises(QueryError, match="sorted by base values"):
        rn.parse("relation R : Bag(⟨a: Bag(long)⟩)\nview v = (R sorted a)")


@rn.record
class Dated:
    cid: rn.Int
    x: rn.Int


@rn.view
def falling(C: Bag[Dated]):
    return rn.sorted([{"cid": c.cid, "x": c.x} for c in C], key=lambda c: c.x, desc=True)


LATER = """
relation C : Bag(⟨cid: int, x: int⟩)
view positive = [ {cid: c.cid, x: c.x} | c in C, c.x >= 0 ]
view falling = ([ {cid: c.cid, x: c.x} | c in C ] sorted cid)
"""


@rn.view
def nested(C: Bag[Dated]):
    return [{"x": c.x, "below": rn.sorted([d.cid for d in C if d.x < c.x], desc=True)} for c in C]


def test_inner_bags_are_shown_in_the_order_that_they_had(tmp_path: Path) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("C", Dated)
        db.load("C", [{"cid": i, "x": i * i % 7} for i in range(6)])
        db.create(nested)
        version, before = db.version, db.view("nested").rows()
        db.drop("nested")
    with rn.open(tmp_path / "s", engine="local") as db:
        assert db.view("nested", as_of=version).rows() == before
        assert {"x": 4, "below": [4, 3, 1, 0]} in before


@pytest.mark.parametrize("how", ["dropped", "widened", "renamed", "replaced", "replaced by another order"])
def test_older_versions_are_shown_in_the_order_that_they_had(how: str, tmp_path: Path) -> None:
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("C", Dated)
        db.load("C", [{"cid": i, "x": i * i % 7} for i in range(6)])
        db.create(falling)
        version = db.version

        def shown() -> Any:
            then = db.view("falling", as_of=version)
            return then.limit(2), then.rows(), then.to_arrow().to_pylist()

        before = shown()
        assert [row["x"] for row in before[1]] == [4, 4, 2, 2, 1, 0]
        match how:
            case "dropped":
                db.drop("falling")
            case "widened":
                db.relation("C").widen("cid", int)
            case "renamed":
                db.relation("C").rename("x", "y")
            case "replaced":
                text = LATER.replace("view falling", "view other").replace("view positive", "view falling")
                db.replace(rn.parse(text).view("falling"))
            case _:
                db.replace(rn.parse(LATER).view("falling"))
                assert [row["cid"] for row in db.view("falling").rows()] == [*range(6)]
        assert shown() == before
    with rn.open(tmp_path / "s", engine="local") as db:
        assert shown() == before
