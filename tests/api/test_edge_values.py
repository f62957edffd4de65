"""R24: values at the edges of what types hold, and sums beyond it; lone surrogates and odd names.

By tables: the same value through a load, a batch, a key, an address and a reopened state. What is refused leaves the
version and the whole state as they were.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal as Number
from pathlib import Path
from typing import Any

import attrs
import pytest
from support.products import product
from support.shop import Movie, customers, opened
from support.states import recomputed, refused, state, unchanged

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.data.rows import Rows
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.surface.records import annotation_type
from ripplenest.nrc.syntax import At, Query
from ripplenest.nrc.types import BOOL, LONG, Base, nullable
from ripplenest.nrc.values import to_value
from ripplenest.plan.planned import Target
from ripplenest.plan.product import Col, Op, Source
from ripplenest.run.joiner import Task
from ripplenest.spark.joiner import SparkJoiner

NAN, INF = float("nan"), float("inf")
KINDS: dict[str, Any] = {
    **{t.__name__: t for t in (bool, int, float, str, bytes, date, datetime)},
    "Int": rn.Int,
    "Decimal": rn.Decimal[5, 2],
    "wide": rn.Decimal[38, 0],
    "fine": rn.Decimal[38, 38],
}
AHEAD, BEHIND = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
EDGES: dict[str, list[Any]] = {
    "bool": [True, False],
    "int": [0, 2**63 - 1, -(2**63), 2**53 + 1],
    "Int": [0, 2**31 - 1, -(2**31)],
    "float": [NAN, -NAN, INF, -INF, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 2],
    "Decimal": [Number(x) for x in ("0", "-0.00", "999.99", "-999.99", "0.01", "1E+2", "1.500")],
    "wide": [Number(10**38 - 1), Number(1 - 10**38), 0],
    "fine": [Number(f"0.{'9' * 38}"), Number("-1E-38")],
    "str": ["", "\0", "a\0b", " ", "a", "a ", "A", "\u00e9", "e\u0301", "\uffff", "\U0001f600", "\u202e", "NULL"],
    "bytes": [b"", b"\0", b"\xff", b"\xed\xa0\x80"],
    "date": [date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 10), date(1970, 1, 1)],
    "datetime": [
        *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1969, 12, 31, 23, 59, 59, 999999)),
        *(datetime(2024, 3, 31, 2, 30), datetime(2024, 3, 31, 2, 30, tzinfo=UTC), datetime(1, 1, 2, tzinfo=AHEAD)),
        *(datetime(2024, 3, 31, 16, 30, tzinfo=AHEAD), datetime(9999, 12, 31, tzinfo=UTC)),
    ],
}
NOT_VALUES: dict[str, list[Any]] = {
    "bool": [0, 1, "true", None],
    "int": [2**63, -(2**63) - 1, 10**400, 1.0, True, "1", None],
    "Int": [2**31, -(2**31) - 1, True, None],
    "float": [10**400, True, "1", Number(1), None],
    "Decimal": [*map(Number, ("0.005", "1000", "1E+9", "NaN", "sNaN", "Infinity", "-Infinity")), 0.5, 10**400, True],
    "wide": [Number(10**38), Number("0.1"), 10**38],
    "fine": [Number(1), Number("1E-39")],
    "str": ["\ud800", "a\udfff", "\ud83d\ude00"[:1], b"a", 1, None],
    "bytes": ["a", 1, None],
    "date": [datetime(2020, 1, 1), "2020-01-01", 0, None],
    "datetime": [
        *(date(2020, 1, 1), "2020-01-01", datetime(1, 1, 1, tzinfo=AHEAD)),
        *(datetime(9999, 12, 31, 23, tzinfo=BEHIND), None),
    ],
}


def distinct(kind: str) -> dict[Any, Any]:
    """By canonical value, the first way to write it."""
    t = annotation_type(KINDS[kind], kind)
    found: dict[Any, Any] = {}
    for value in EDGES[kind]:
        found.setdefault(to_value(value, t, kind), value)
    return found


@contextmanager
def machine_zone(name: str) -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


@pytest.mark.parametrize("kind", KINDS)
def test_values_at_the_edges(folder: Path, kind: str) -> None:
    """R24: each value through a load, a batch, as a key, as a row, in an inner bag and as an address, before and after
    the state is opened again; two ways to write one value are one key, wherever the machine is."""
    cell = rn.record(type("Cell", (), {"__annotations__": {"k": KINDS[kind], "n": int, "more": Bag[KINDS[kind]]}}))

    @rn.view
    def edges(E: Bag[cell], U: Bag[KINDS[kind]]):  # type: ignore[valid-type]
        return [
            {"e": e, "same": [x for x in e.more if x == e.k], "other": [u for u in U if u == e.k], "n": e.n} for e in E
        ]

    values = list(distinct(kind).values())
    rows = [{"k": v, "n": i, "more": [v, v]} for i, v in enumerate(values)]
    with machine_zone("Pacific/Kiritimati"), rn.open(folder / "state", engine="local") as db:
        db.relation("E", cell, key="k")
        db.relation("U", KINDS[kind])
        db.create(edges)
        db.load("E", rows[::2])
        db.load("U", values[::2])
        with db.batch() as b:
            b.insert("E", rows[1::2])
            b.insert("U", [*values[1::2], *EDGES[kind]])
        for v in EDGES[kind]:  # every one of them is the key of a row by now
            with pytest.raises(errors.DuplicateKey), db.batch() as b:
                b.insert("E", [{"k": v, "n": 0, "more": []}])
        recomputed(db, {"edges": edges}, {"E": rows, "U": [*values, *EDGES[kind]]})
        before = state(db)
    with machine_zone("America/Los_Angeles"), rn.open(folder / "state", engine="local") as db:
        assert state(db) == before
        with db.batch() as b:
            for v in EDGES[kind]:
                b.at("E", k=v).more.insert([v])
                b.at("E", k=v).more.delete([v])
            b.delete("U", EDGES[kind])
        recomputed(db, {"edges": edges}, {"E": rows, "U": values})
        with db.batch() as b:
            b.delete("E", rows)
            b.delete("U", values)
        assert not any(db._store.snapshot().scan(t).consolidated().counts() for t in db._store.tables())


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_a_column_cannot_hold(folder: Path, kind: str) -> None:
    """R24: through a load, every verb of a batch, an inner bag, a key and an address: WrongValue with its place."""
    cell = rn.record(type("Cell", (), {"__annotations__": {"k": KINDS[kind], "n": int, "more": Bag[KINDS[kind]]}}))
    good = {"k": EDGES[kind][0], "n": 0, "more": []}
    with rn.open(folder / "state", engine="local") as db:
        for name in ("E", "L"):
            db.relation(name, cell, key="k")
        db.relation("U", KINDS[kind])
        db.load("E", [good])
        with unchanged(db):
            for bad in NOT_VALUES[kind]:
                inner = good | {"more": [good["k"], bad]}
                for name, row, place in [("L", good | {"k": bad}, ".k"), ("L", inner, ".more[1]"), ("U", bad, "")]:
                    with misfit(f"load {name}: rows[0]{place}"):
                        db.load(name, [row])
                    for verb in ("insert", "delete", "upsert")[: 3 if name == "L" else 2]:
                        with misfit(f"{verb} {name}: rows[0]{place}"), db.batch() as b:
                            getattr(b, verb)(name, [row])
                with misfit("E.k"), db.batch() as b:
                    b.at("E", k=bad).more.insert([])
                with misfit("insert E.more: rows[0]"), db.batch() as b:
                    b.at("E", k=good["k"]).more.insert([bad])


@contextmanager
def misfit(place: str) -> Iterator[None]:
    with pytest.raises(errors.WrongValue) as caught:
        yield
    assert str(caught.value).startswith(f"{place}: ")


def test_names_that_cannot_be(folder: Path) -> None:
    """R24: names, sources, addresses and constants that no file can hold are refused before anything is written."""
    with opened(folder / "state") as db:
        surrogates(db)


def surrogates(db: rn.Database) -> None:
    query = customers.query
    for bad in ("\ud800", "a\udc80"):
        with refused(db, errors.WrongValue, "relation name", "lone surrogate"):
            db.relation(bad, Movie)
        with refused(db, errors.WrongValue, "batch source", "lone surrogate"):
            db.batch(bad, 1)
        with refused(db, errors.WrongValue, "C.name", "lone surrogate"), db.batch() as b:
            b.at("C", name=bad)
        with refused(db, errors.WrongValue, "view name", "lone surrogate"):
            db.create(Named(attrs.evolve(query, name=bad)))
    for bad in ("", 7, None):
        with refused(db, errors.WrongValue, "view name"):
            db.create(Named(attrs.evolve(query, name=bad)))
    for taken in ("C", "C.orders", "M"):
        with refused(db, errors.NameTaken, taken):
            db.create(Named(attrs.evolve(query, name=taken)))
    for own in ("C", "C.orders"):
        with pytest.raises(errors.NameTaken, match="that it reads"):
            rn.explain(attrs.evolve(query, name=own))


@attrs.frozen
class Named:
    query: Query


@rn.record
class Numbers:
    n: int
    x: float


@rn.view
def sums(R: Bag[Numbers]):
    return [{"n": r.n + 1, "back": -r.n} for r in R]


@rn.view
def ratios(R: Bag[Numbers]):
    return [{"r": 1.0 / r.x, "n": r.n} for r in R if r.n != 5]


@rn.view
def wholes(R: Bag[Numbers]):
    return [{"i": int(r.x)} for r in R]


FINE = {"n": 1, "x": 1.5}
NO_VALUE = [
    (sums, {"n": 2**63 - 1}),
    (sums, {"n": -(2**63)}),
    (ratios, {"x": 0.0}),
    (ratios, {"x": -0.0}),
    (wholes, {"x": NAN}),
    (wholes, {"x": INF}),
    (wholes, {"x": 2.0**63}),
]


@pytest.mark.parametrize(("view", "bad"), NO_VALUE, ids=[f"{v.name} {bad}" for v, bad in NO_VALUE])
def test_rows_for_which_a_view_has_no_value(folder: Path, view: rn.View, bad: dict[str, Any]) -> None:
    """R24: overflow, 1/0 and casts that fail refuse the load, the batch (by triggers or recomputed) and the new view
    that meet them; the row itself is fine where nothing asks."""
    row = {**FINE, **bad}
    with rn.open(folder / "state", engine="local") as db:
        db.relation("R", Numbers)
        db.create(view)
        with refused(db, errors.EvaluationError):
            db.load("R", [FINE, row])
        for policy in ("auto", "incremental", "full"):
            with refused(db, errors.EvaluationError), db.batch(policy=policy) as b:  # type: ignore[arg-type]
                b.insert("R", [FINE, row])
        db.load("R", [FINE])
        with db.batch() as b:
            b.insert("R", [row])
            b.delete("R", [row])
        with refused(db, errors.EvaluationError), db.batch() as b:
            b.insert("R", [row])
        recomputed(db, {view.name: view}, {"R": [FINE]})
    with rn.open(folder / "other", engine="local") as db:
        db.relation("R", Numbers)
        db.load("R", [row])
        with refused(db, errors.EvaluationError):
            db.create(view)


@rn.record
class Words:
    k: int
    words: Bag[str]


@rn.view
def words(X: Bag[Words]):
    return [w for x in X for w in x.words]


@rn.view
def pairs(X: Bag[Words]):
    return [{"k": x.k, "ws": [w for w in x.words for _ in x.words]} for x in X]


def heavy(n: int) -> list[dict[str, Any]]:
    return [{"k": 1, "words": BagValue({"a": n})}]


def held(db: rn.Database) -> dict[str, Any]:
    """The version and the stored rows; ``support.states`` would ask for every copy of a row."""
    store = db._store
    return {t: store.snapshot().scan(t).consolidated().counts() for t in store.tables()} | {"version": db.version}


def too_many(db: rn.Database, *operations: tuple[str, list[dict[str, Any]]], policy: Any = None) -> None:
    """The batch, or the load, is refused over a multiplicity, and changes nothing."""
    before = held(db)
    with pytest.raises(errors.EvaluationError, match="multiplicity overflow"):
        if operations[0][0] == "load":
            db.load("X", operations[0][1])
        with db.batch(policy=policy) as b:
            for verb, rows in operations:
                getattr(b, verb)("X", rows)
    assert held(db) == before


HEAVIEST = {"a part": (None, 2**62), "a part and a map": (words, 2**62), "a map": (pairs, 2**31)}


@pytest.mark.parametrize(("view", "most"), HEAVIEST.values(), ids=list(HEAVIEST))
def test_multiplicities_that_64_bits_cannot_count(folder: Path, view: rn.View | None, most: int) -> None:
    """R24: what would be there too often is refused, and so is what is so near the end that a small change, which
    nobody looks at, could cross it: a table whose sums overflow can be read by nobody."""
    with rn.open(folder / "state", engine="local") as db:
        db.relation("X", Words, key="k")
        if view is not None:
            db.create(view)
        for n in (most + 1, 2**63 - 1, 2**64):
            too_many(db, ("load", heavy(n)))
            for policy in ("auto", "incremental", "full"):
                too_many(db, ("insert", heavy(n)), policy=policy)
        with misfit("insert X: rows[0].words"), db.batch() as b:
            b.insert("X", heavy(-1))
        db.load("X", heavy(most))
        with db.batch() as b:
            b.at("X", k=1).words.insert(["a"] * 3)
        too_many(db, ("upsert", heavy(2**63 - 1)))
        assert set(held(db)["X.words"].values()) == {most + 3}
        with db.batch() as b:
            b.delete("X", heavy(most + 3))
        assert not any(rows for table, rows in held(db).items() if table != "version")


# ---------------------------------------------------------------- R23, R24: the same on Spark, packed


def test_values_at_the_edges_are_keys_on_spark(spark: Any) -> None:
    """R23, R24: every value of every kind finds itself alone in a null-safe join on Spark, and NULL finds NULL. One
    join of all kinds: a row has a value in the column of its kind, and NULL in the others."""
    types = [nullable(annotation_type(t, kind)) for kind, t in KINDS.items()]
    columns = (LONG, LONG, *(t for t in types if isinstance(t, Base)))
    values = [(n, v) for n, kind in enumerate(KINDS) for v in (*distinct(kind), None)]
    rows = Rows.of_pairs(
        columns,
        [((i, n, *(v if n == m else None for m in range(len(KINDS)))), i + 1) for i, (n, v) in enumerate(values)],
    )
    sources = tuple(Source(name, At.DELTA, columns) for name in "TU")
    keys = range(1, len(columns))
    conditions = tuple(Op("same", (Col(0, k, columns[k]), Col(1, k, columns[k])), BOOL) for k in keys)
    join = product(sources, conditions, (Col(0, 0, LONG), Col(1, 0, LONG)))
    found = SparkJoiner(spark).join([Task("m", join, (rows, rows))], [Target("m", (LONG, LONG), "m")])
    assert len(columns) == len(KINDS) + 2 and len(values) > 50
    assert found["m"].counts() == {(i, i): (i + 1) ** 2 for i in range(len(values))}
