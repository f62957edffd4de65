"""Nested TPC-H: flat tables to views of one to five levels (F), with totals in the innermost bag (NN), and nested rows
to flat totals (NF); after each kind of update all of them are what DuckDB makes of the tables, and what Spark does.

The views of TraNCE, narrow and wide, with and without the parts' names. Updates u1 to u8: items come (u1), go (u2) and
change (u3), whole orders come and go (u4), a price changes (u5), an order moves to another customer (u6), one loses all
of its items (u7), and items come to few orders (u8).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.sizes import RUN, many

import ripplenest as rn

Asked = Callable[[str], list[dict[str, Any]]]
Ask = Callable[[dict[str, pa.Table]], AbstractContextManager[Asked]]
Table = list[dict[str, Any]]
Tables = dict[str, Table]

RELATIONS = """
relation R : Bag(⟨key: long, name: string, note: string?⟩) key key
relation N : Bag(⟨key: long, up: long, name: string, note: string?⟩) key key
relation C : Bag(⟨key: long, up: long, name: string, note: string?⟩) key key
relation O : Bag(⟨key: long, up: long, name: string, note: string?⟩) key key
relation L : Bag(⟨up: long, line: long, part: long, qty: long, note: string?⟩) key up, line
relation P : Bag(⟨key: long, name: string?, price: long⟩) key key
"""
LEVELS = "LOCNR"  # the innermost first
COLUMNS = {
    "L": "up bigint, line bigint, part bigint, qty bigint, note varchar",
    "P": "key bigint, name varchar, price bigint",
}
TOTALS = "cast(sum(i.qty * p.price) as bigint) as total, count(*) as n from L i join P p on p.key = i.part"
OTHERS = "key bigint, up bigint, name varchar, note varchar"


def innermost(kind: str, wide: bool, parts: bool, within: str) -> str:
    """The bag of the items of ``within``."""
    wider = ", line: i.line, note: i.note" if wide else ""
    if kind == "NN":
        bag = f"[⟨name: p.name, qty: i.qty, price: p.price⟩ | i in L{within}, p in P, p.key = i.part]"
        return f"group[α](x in {bag} by name: x.name of total: sum(x.qty, x.price), n: count())"
    if parts:
        return f"[⟨name: p.name, qty: i.qty{wider}⟩ | i in L{within}, p in P, p.key = i.part]"
    return f"[⟨part: i.part, qty: i.qty{wider}⟩ | i in L{within}]"


def nested(kind: str, level: int, wide: bool, parts: bool) -> str:
    """The text of a view."""
    found = innermost(kind, wide, parts, ", i.up = l1.key" if level else "")
    for i in range(1, level + 1):
        within = f", l{i}.up = l{i + 1}.key" if i < level else ""
        wider = f", note: l{i}.note" if wide else ""
        found = f"[⟨name: l{i}.name{wider}, xs: {found}⟩ | l{i} in {LEVELS[i]}{within}]"
    return found


def flat(level: int) -> str:
    """Totals by the name of the outermost level, of what is in it."""
    chain = "".join(f", l{i} in {LEVELS[i]}, l{i}.up = l{i + 1}.key" for i in range(level - 1, 0, -1))
    top = f"l{level} in {LEVELS[level]}{chain}, i in L, i.up = l1.key" if level else "i in L"
    name = f"l{level}.name" if level else "p.name"
    bag = f"[⟨name: {name}, qty: i.qty, price: p.price⟩ | {top}, p in P, p.key = i.part]"
    return f"group[α](x in {bag} by name: x.name of total: sum(x.qty, x.price))"


def kinds() -> Iterator[tuple[str, int, bool, bool]]:
    for level in (0, 1, 2, 3, 4) if RUN.long else (0, 2, 4):
        yield from (("F", level, wide, parts) for wide in (False, True) for parts in (False, True))
        yield "NN", level, level % 2 == 0, True
        yield "NF", level, False, True


VIEWS = {f"{kind}{level}{'w' * wide}{'p' * parts}": (kind, level, wide, parts) for kind, level, wide, parts in kinds()}


def text(kind: str, level: int, wide: bool, parts: bool) -> str:
    return flat(level) if kind == "NF" else nested(kind, level, wide, parts)


# ---------------------------------------------------------------- the oracle


def wanted(db: Asked, kind: str, level: int, wide: bool, parts: bool) -> Any:
    """What the view is, by SQL over flat tables; bags are put together here."""
    if kind == "NF":
        joins = "".join(f" join {LEVELS[i]} l{i} on l{i}.key = l{i - 1}.up" for i in range(2, level + 1))
        joins = f" join O l1 on l1.key = i.up{joins}" if level else ""
        name = f"l{level}.name" if level else "p.name"
        total = "cast(sum(i.qty * p.price) as bigint) as total"
        sql = f"select {name} as name, {total} from L i{joins} join P p on p.key = i.part"
        return Counter(map(frozen, db(f"{sql} group by {name}")))
    by: dict[Any, Counter[Any]] = {}
    for up, row in innermost_rows(db, kind, wide, parts):
        by.setdefault(up if level else None, Counter())[row] += 1
    for i in range(1, level + 1):
        above: dict[Any, Counter[Any]] = {}
        for row in db(f"select * from {LEVELS[i]}"):
            own = {"name": row["name"], **({"note": row["note"]} if wide else {})}
            inner = frozenset(by.get(row["key"], Counter()).items())
            above.setdefault(row["up"] if i < level else None, Counter())[frozen({**own, "xs": inner})] += 1
        by = above
    return by.get(None, Counter())


def innermost_rows(db: Asked, kind: str, wide: bool, parts: bool) -> Iterator[tuple[Any, Any]]:
    wider = ", i.line, i.note" if wide else ""
    if kind == "NN":
        sql = f"select i.up, p.name, {TOTALS} group by i.up, p.name"
    elif parts:
        sql = f"select i.up, p.name, i.qty{wider} from L i join P p on p.key = i.part"
    else:
        sql = f"select i.up, i.part, i.qty{wider} from L i"
    for row in db(sql):
        yield row.pop("up"), frozen(row)


def top_groups(db: Asked) -> Counter[Any]:
    """NN0 is one group over all items."""
    return Counter(map(frozen, db(f"select p.name, {TOTALS} group by p.name")))


def frozen(value: Any) -> Any:
    """Rows and bags as values that can be counted."""
    if isinstance(value, dict):
        return frozenset((name, frozen(v)) for name, v in value.items())
    return frozenset(Counter(map(frozen, value)).items()) if isinstance(value, list) else value


@contextmanager
def by_duckdb(tables: dict[str, pa.Table]) -> Iterator[Asked]:
    with duckdb.connect() as db:
        for name, table in tables.items():
            db.from_arrow(table).create(name)
        yield lambda sql: db.sql(sql).to_arrow_table().to_pylist()


def answers(tables: Tables, ask: Ask) -> dict[str, Any]:
    arrow = {name: pa.Table.from_pylist(tables[name], schema(name)) for name in (*LEVELS, "P")}
    with ask(arrow) as db:
        return {name: top_groups(db) if name == "NN0wp" else wanted(db, *of) for name, of in VIEWS.items()}


def schema(name: str) -> pa.Schema:
    types = {"bigint": pa.int64(), "varchar": pa.string()}
    columns = (c.split() for c in COLUMNS.get(name, OTHERS).split(", "))
    return pa.schema([(column, types[t]) for column, t in columns])


# ---------------------------------------------------------------- tables and updates


def tables(r: Random) -> Tables:
    def level(many: int, ups: int) -> Table:
        notes = ["x", None]
        return [
            {"key": i, "up": r.randrange(ups), "name": r.choice("ab"), "note": r.choice(notes)} for i in range(many)
        ]

    regions = [{"key": i, "name": "ab"[i], "note": None} for i in range(2)]
    parts = [{"key": i, "name": ["nut", "bolt", "nut", None][i], "price": 1 + i} for i in range(4)]
    found = {"R": regions, "N": level(3, 2), "C": level(4, 3), "O": level(6, 5), "P": parts}
    return {**found, "L": [item(r, up, line) for up in range(5) for line in range(r.randrange(4))]}


def item(r: Random, up: int, line: int) -> dict[str, Any]:
    return {"up": up, "line": line, "part": r.randrange(5), "qty": r.randrange(-1, 4), "note": None}


def of_order(t: Tables, up: int) -> Table:
    return [i for i in t["L"] if i["up"] == up]


def changed(t: Tables, r: Random) -> Iterator[tuple[str, Tables]]:
    """Each update, and the tables after it."""
    lines = iter(range(100, 1000))
    t = {**t, "L": [*t["L"], *(item(r, r.randrange(6), next(lines)) for _ in range(4))]}
    yield "u1", t
    t = {**t, "L": t["L"][2:]}
    yield "u2", t
    t = {**t, "L": [{**i, "qty": i["qty"] + 1} if n % 3 == 0 else i for n, i in enumerate(t["L"])]}
    yield "u3", t
    order = {"key": 9, "up": 1, "name": "b", "note": "x"}
    gone = t["O"][0]["key"]
    kept = [i for i in t["L"] if i["up"] != gone]
    t = {**t, "O": [*t["O"][1:], order], "L": [*kept, *(item(r, 9, next(lines)) for _ in range(3))]}
    yield "u4", t
    t = {**t, "P": [{**p, "price": p["price"] * 7} if p["key"] == 1 else p for p in t["P"]]}
    yield "u5", t
    t = {**t, "O": [{**o, "up": (o["up"] + 1) % 4} if o["key"] == 9 else o for o in t["O"]]}
    yield "u6", t
    t = {**t, "L": [i for i in t["L"] if i["up"] != 9]}
    yield "u7", t
    t = {**t, "L": [*t["L"], *(item(r, 2, next(lines)) for _ in range(6))]}
    yield "u8", t


@pytest.fixture(params=[0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
def seeded(request: pytest.FixtureRequest) -> Random:
    return Random(request.param)


def kept(folder: Path, t: Tables) -> rn.Database:
    db = rn.open(folder, engine="local")
    program = rn.parse(RELATIONS + "".join(f"view {name} = {text(*of)}\n" for name, of in VIEWS.items()))
    for relation in program.relations:
        db.relation(relation.name, relation.annotation, key=relation.key)
        db.load(relation.name, t[relation.name])
    for view in program.views:
        db.create(view)
    return db


def test_every_view_is_what_sql_makes_of_the_tables(tmp_path: Path, seeded: Random) -> None:
    assert_kept(tmp_path / "s", seeded, by_duckdb)


@pytest.mark.long
def test_every_view_is_what_spark_makes_of_the_tables(tmp_path: Path, spark: SparkSession) -> None:
    @contextmanager
    def by_spark(tables: dict[str, pa.Table]) -> Iterator[Asked]:
        for name, table in tables.items():
            spark.createDataFrame(table).createOrReplaceTempView(name)
        yield lambda sql: spark.sql(sql).toArrow().to_pylist()
        for name in tables:
            spark.catalog.dropTempView(name)

    assert_kept(tmp_path / "s", Random(0), by_spark)


def assert_kept(folder: Path, seeded: Random, ask: Ask) -> None:
    now = tables(seeded)
    met: Counter[str] = Counter()
    with kept(folder, now) as db:
        assert_all(db, answers(now, ask), "load")
        for update, after in changed(now, seeded):
            with db.batch() as b:
                for name, rows_after in after.items():
                    b.delete(name, [row for row in now[name] if row not in rows_after])
                    b.insert(name, [row for row in rows_after if row not in now[name]])
            now = after
            assert b.report.verdict == "incremental"
            assert_all(db, answers(now, ask), update)
            met[update] += sum(b.report.rows_out.values()) > 0
        assert db.verify().ok
    assert len(met) == 8 and len(VIEWS) == many(18, 30)


def assert_all(db: rn.Database, expected: dict[str, Any], update: str) -> None:
    for name, found in expected.items():
        assert Counter(map(frozen, db.view(name).rows())) == found, (update, name)
