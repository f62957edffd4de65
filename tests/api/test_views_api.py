"""What users read: on Spark the same answers as in Python, and views of every shape of label, on both engines."""

from itertools import islice

import pytest
from pyspark.sql import functions as F
from support.shapes import JARHEAD, ON_SPARK, SHAPES, changes
from support.shop import ANN, BOB, FILMS, customer, item, opened, order, parts
from support.states import refused

from ripplenest import errors


@pytest.mark.parametrize("view", SHAPES, ids=lambda v: v.name)
def test_shapes(tmp_path, view):
    with opened(tmp_path) as db:
        db.load("C", [ANN, BOB])
        db.load("M", FILMS)
        db.create(view)
        for c, m in changes(db):
            wanted = view(**{name: {"C": c, "M": m}[name] for name, _ in view.query.relations})
            assert db.view(view.name).rows() == wanted


# ---------------------------------------------------------------- on Spark


def plain(value):
    """A collected row as plain Python, arrays in a canonical order."""
    if hasattr(value, "asDict"):
        return {k: plain(value[i]) for i, k in enumerate(value.__fields__)}
    return sorted(map(plain, value), key=repr) if isinstance(value, list) else value


def ordered(value):
    if isinstance(value, dict):
        return {k: ordered(v) for k, v in value.items()}
    return sorted(map(ordered, value), key=repr) if isinstance(value, list) else value


def shown(df):
    rows = plain(df.collect())
    return [r["value"] for r in rows] if df.columns == ["value"] else rows


def same(table, df):
    """Whether a table has the columns and the rows of a frame."""
    rows = [r["value"] for r in table.to_pylist()] if df.columns == ["value"] else table.to_pylist()
    return table.column_names == df.columns and sorted(ordered(rows), key=repr) == sorted(shown(df), key=repr)


def local(df):
    """The same rows, which the driver has."""
    return df.sparkSession.createDataFrame(df.toArrow())


@pytest.fixture(scope="module")
def shop(tmp_path_factory, spark):
    """Views after two batches on Spark, and what was there after each. Most are built in Python: it is faster."""
    folder = tmp_path_factory.mktemp("spark")
    with opened(folder, spark=spark, engine="spark") as db:
        db.load("C", local(spark.createDataFrame([_struct(ANN), _struct(BOB)], CUSTOMERS)))
        films = spark.createDataFrame(FILMS, "name string, gen string, dir string")
        db.load("M", local(films.select("dir", "gen", "name")))
        for view in ON_SPARK[:2]:
            db.create(view)
    with opened(folder) as db:
        for view in ON_SPARK:
            db.create(view)
    with opened(folder, spark=spark, engine="spark") as db:
        after = islice(changes(db), 3)
        yield db, [(db.version, rows, {name: db.view(name).rows() for name in db.views}) for rows in after]


ITEMS = "array<struct<part: long, qty: long, tags: array<string>>>"
CUSTOMERS = f"custkey long, name string, orders array<struct<orderkey: long, items: {ITEMS}>>"


def _struct(c):
    """A customer with tuples for structs."""
    orders = c["orders"] and [
        (o["orderkey"], [(i["part"], i["qty"], i["tags"]) for i in o["items"]]) for o in c["orders"]
    ]
    return c["custkey"], c["name"], orders


FEW = [v if i % 2 == 0 else pytest.param(v, marks=pytest.mark.long) for i, v in enumerate(ON_SPARK)]


@pytest.mark.parametrize("view", FEW, ids=lambda v: v.name)
def test_spark_gives_the_same(shop, view):
    db, steps = shop
    for _, (c, m), answers in steps:
        assert answers[view.name] == view(**{name: {"C": c, "M": m}[name] for name, _ in view.query.relations})
    df = db.view(view.name).nested()
    assert sorted(shown(df), key=repr) == ordered(steps[-1][2][view.name])
    assert df.columns == (list(view.row.names) if hasattr(view.row, "names") else ["value"])


def test_flat_and_dictionaries_are_what_nested_is_made_of(shop):
    db, steps = shop
    v = db.view("parts")
    flat, d = v.flat(), v.dictionaries()
    assert flat.columns == ["n", "big", "all", "_multiplicity"]
    assert set(d) == {"parts.big", "parts.big.its", "C.orders", "C.orders.items", "C.orders.items.tags"}
    assert d["parts.big"].columns == ["label", "o", "its", "_multiplicity"]
    assert d["C.orders.items.tags"].columns == ["label", "value", "_multiplicity"]
    big = d["parts.big"].alias("d")
    joined = flat.alias("f").join(big, F.col("f.big").eqNullSafe(F.col("d.label")))
    wanted = [{"n": r["n"], "o": b["o"]} for r in steps[-1][2]["parts"] for b in r["big"]]
    assert sorted(plain(joined.select("f.n", "d.o").collect()), key=repr) == ordered(wanted)


def test_a_label_from_spark_addresses_its_bag(shop):
    db, steps = shop
    row = next(r for r in db.view("parts").flat().collect() if r["n"] == "Ann")
    inner = next(r for r in db.view("parts").dictionaries()["C.orders"].collect() if r["orderkey"] == 11)
    rows = db.view("passed_or_made").flat().collect()
    several = next(r for r in rows if r["n"] == "Ann" and r["os"]["site"] == "C.orders")
    with db.batch() as b:
        b.at("C", label=row["all"]).orders.insert([order(77)])
        b.at("C", label=inner["items"]).orders.items.insert([item(77)])
        b.at("C", label=several["os"]).orders.delete([order(77)])
    assert 77 in [i["part"] for c in db.view("parts").rows() for o in c["all"] or [] for i in o["items"]]
    with db.batch() as b:
        b.at("C", label=inner["items"]).orders.items.delete([item(77)])
    assert {n: db.view(n).rows() for n in db.views} == steps[-1][2]


LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("parts", "passed_or_made", "odd_names")]


@pytest.mark.parametrize("name", ["liked", *LONG])
def test_changes_add_up(shop, name):
    """flat(since) ⊎ changes(since) = flat, and so for each dictionary. Arrow has the same rows, without Spark."""
    db, steps = shop
    v = db.view(name)
    created = steps[0][0]
    for since in (created, steps[1][0], db.version):
        changes = v.changes(since=since)
        assert (changes.since, changes.version) == (since, db.version)
        assert set(changes.dictionaries) == set(v.dictionaries())
        if since == db.version:
            assert changes.flat.isEmpty() and all(d.isEmpty() for d in changes.dictionaries.values())
        elif since == created:
            assert not changes.flat.isEmpty()
            assert same(changes.flat_to_arrow(), changes.flat) and same(changes.to_arrow(), changes.nested)
            parts = changes.dictionaries_to_arrow()
            assert all(same(parts[site], d) for site, d in changes.dictionaries.items())
    everything = v.changes(since=0)
    assert sorted(plain(everything.flat.collect()), key=repr) == sorted(plain(v.flat().collect()), key=repr)
    parts = v.dictionaries_to_arrow()
    assert same(v.flat_to_arrow(), v.flat()) and all(same(parts[site], d) for site, d in v.dictionaries().items())
    for site, d in v.dictionaries().items():
        assert sorted(plain(everything.dictionaries[site].collect()), key=repr) == sorted(plain(d.collect()), key=repr)
    for since in (-1, db.version + 1):
        with refused(db, errors.StateError, "no such version"):
            v.changes(since=since)


@pytest.mark.parametrize("name", ["parts", "odd_names", "bare"])
def test_nested_changes_are_the_touched_rows(shop, name):
    """The frame has what ``changed_rows`` says in plain Python, and leads from the rows of then to those of now."""
    db, steps = shop
    v = db.view(name)
    since = steps[0][0]
    went, came = v.changed_rows(since)
    assert went or came
    changes = v.changes(since=since).nested
    assert changes.columns == [*v.nested().columns, "_multiplicity"]
    for sign, wanted in ((-1, went), (1, came)):
        of_sign = changes.filter(F.col("_multiplicity") * sign > 0)
        counts = [abs(row["_multiplicity"]) for row in of_sign.select("_multiplicity").collect()]
        assert set(counts) <= {1, 2} and sum(counts) == len(wanted)
        if set(counts) == {1}:
            assert sorted(shown(of_sign.drop("_multiplicity")), key=repr) == ordered(wanted)


def test_a_relation_is_read_like_a_view(shop):
    db, steps = shop
    c = db.relation("C")
    assert sorted(plain(c.nested().collect()), key=repr) == ordered(c.rows())
    assert c.flat().columns == ["custkey", "name", "orders", "_multiplicity"]
    assert set(c.dictionaries()) == {"C.orders", "C.orders.items", "C.orders.items.tags"}
    old = c.as_of(steps[0][0])
    assert sorted(plain(old.nested().collect()), key=repr) == ordered(old.rows()) != ordered(c.rows())
    changes = c.changes(since=steps[0][0])
    assert not changes.nested.isEmpty() and set(changes.dictionaries) == set(c.dictionaries())


def test_data_frames_in_every_place(shop, spark):
    db, steps = shop
    films = spark.createDataFrame([JARHEAD], "name string, gen string, dir string")
    orders = spark.createDataFrame([(99, [(1, 5, ["t"])])], f"orderkey long, items {ITEMS}")
    with db.batch() as b:
        b.insert("M", films)
        b.at("C", custkey=7).orders.insert(orders)
    with db.batch() as b:
        b.delete("M", films)
        b.at("C", custkey=7).orders.delete([order(99, item(1, 5, ("t",)))])
    assert {n: db.view(n).rows() for n in db.views} == steps[-1][2]
    for frame, shown_ in [(films.drop("gen"), "missing fields gen"), (films.withColumn("x", F.lit(1)), "x")]:
        with refused(db, errors.WrongColumns, "insert M: rows", shown_), db.batch() as b:
            b.insert("M", frame)


def test_null_bags_are_null_on_spark(shop):
    db, _ = shop
    with db.batch() as b:
        b.insert("C", [customer(50, "null", None), customer(51, "empty", [])])
    rows = {r["n"]: r for r in db.view("parts").nested().collect()}
    assert rows["null"]["all"] is None and rows["null"]["big"] == []
    assert rows["empty"]["all"] == [] and rows["empty"]["big"] == []
    with db.batch() as b:
        b.delete("C", [customer(50, "null", None), customer(51, "empty", [])])


def test_a_python_database_answers_on_spark(tmp_path, spark):
    with opened(tmp_path, spark=spark) as db:
        db.load("C", [ANN])
        db.create(parts)
        assert sorted(shown(db.view("parts").nested()), key=repr) == ordered(parts([ANN]))
