"""Nested TPC-H: views of one to five levels (F), with totals in the innermost bag (NN), and flat totals of all that is
in a row (NF), of flat tables and of nested rows; after each kind of update all of them are what DuckDB makes of the
tables, and what Spark does.

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
from attrs import frozen as immutable
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


@immutable
class View:
    """A nested view (F), one with totals in the innermost bag (NN), or flat totals (NF) of ``level`` levels; ``wide``
    ones have all columns, and ``parts`` are named. Of flat tables, or of rows as they are nested in ``documents``."""

    kind: str
    level: int
    wide: bool
    parts: bool = True
    documents: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind}{self.level}{'w' * self.wide}{'p' * self.parts}{'d' * self.documents}"

    @property
    def text(self) -> str:
        return self.flat if self.kind == "NF" else self.nested

    def rows(self, i: int) -> str:
        """What the rows of a level are, within those of the next one."""
        if self.documents:
            return f"D{self.level}" if i == self.level else f"l{i + 1}.xs"
        return LEVELS[i]

    def within(self, i: int) -> str:
        """How they are joined to these."""
        return "" if self.documents or i == self.level else f", {'i' if i == 0 else f'l{i}'}.up = l{i + 1}.key"

    @property
    def innermost(self) -> str:
        """The bag of the items."""
        items = f"i in {self.rows(0)}{self.within(0)}"
        wider = ", line: i.line, note: i.note" if self.wide else ""
        if self.kind == "NN":
            bag = f"[⟨name: p.name, qty: i.qty, price: p.price⟩ | {items}, p in P, p.key = i.part]"
            return f"group[α](x in {bag} by name: x.name of total: sum(x.qty, x.price), n: count())"
        if self.parts:
            return f"[⟨name: p.name, qty: i.qty{wider}⟩ | {items}, p in P, p.key = i.part]"
        return f"[⟨part: i.part, qty: i.qty{wider}⟩ | {items}]"

    @property
    def nested(self) -> str:
        found = self.innermost
        for i in range(1, self.level + 1):
            wider = f", note: l{i}.note" if self.wide else ""
            found = f"[⟨name: l{i}.name{wider}, xs: {found}⟩ | l{i} in {self.rows(i)}{self.within(i)}]"
        return found

    @property
    def flat(self) -> str:
        """Totals by the columns of the outermost level, of what is in it."""
        top = f"l{self.level}" if self.level else "p"
        levels = [f"l{i} in {self.rows(i)}{self.within(i)}" for i in range(self.level, 0, -1)]
        items = f"i in {self.rows(0)}{self.within(0)}"
        wider = [f", note: {top}.note", ", note: x.note"] if self.has_notes else ["", ""]
        rows = ", ".join([*levels, items, "p in P, p.key = i.part"])
        bag = f"[⟨name: {top}.name, qty: i.qty, price: p.price{wider[0]}⟩ | {rows}]"
        return f"group[α](x in {bag} by name: x.name{wider[1]} of total: sum(x.qty, x.price))"

    @property
    def has_notes(self) -> bool:
        """Parts have none."""
        return self.wide and self.level > 0


def kinds() -> Iterator[View]:
    both = (False, True)
    for level in (0, 1, 2, 3, 4) if RUN.long else (0, 2, 4):
        yield from (View("F", level, wide, parts) for wide in both for parts in both)
        yield from (View(kind, level, wide) for kind in ("NN", "NF") for wide in both)
    for level in (1, 2, 3, 4) if RUN.long else (2,):
        yield from (View(kind, level, wide=True, documents=True) for kind in ("F", "NN", "NF"))


VIEWS = {view.name: view for view in kinds()}
DOCUMENTS = sorted({view.level for view in VIEWS.values() if view.documents})


def document(level: int) -> str:
    """The type of rows of a level with all that is in them."""
    if not level:
        return "⟨line: long, part: long, qty: long, note: string?⟩"
    return f"⟨key: long, name: string, note: string?, xs: Bag({document(level - 1)})⟩"


def documents(t: Tables, level: int) -> Table:
    """The rows of a level, nested."""

    def inner(i: int, up: int) -> Table:
        rows = [row for row in t[LEVELS[i]] if row["up"] == up]
        return rows if not i else [{**row, "xs": inner(i - 1, row["key"])} for row in rows]

    top = [{**row, "xs": inner(level - 1, row["key"])} for row in t[LEVELS[level]]]
    return [without_up(row) for row in top]


def without_up(row: dict[str, Any]) -> dict[str, Any]:
    own = {name: value for name, value in row.items() if name != "up"}
    return {**own, "xs": list(map(without_up, own["xs"]))} if "xs" in own else own


# ---------------------------------------------------------------- the oracle


def wanted(db: Asked, view: View) -> Any:
    """What the view is, by SQL over flat tables; bags are put together here."""
    level, wide = view.level, view.wide
    if (view.kind, level) == ("NN", 0):  # one group over all items
        return Counter(map(frozen, db(f"select p.name, {TOTALS} group by p.name")))
    if view.kind == "NF":
        joins = "".join(f" join {LEVELS[i]} l{i} on l{i}.key = l{i - 1}.up" for i in range(2, level + 1))
        joins = f" join O l1 on l1.key = i.up{joins}" if level else ""
        top = f"l{level}" if level else "p"
        columns = ", ".join(f"{top}.{name}" for name in (["name", "note"] if view.has_notes else ["name"]))
        total = "cast(sum(i.qty * p.price) as bigint) as total"
        sql = f"select {columns}, {total} from L i{joins} join P p on p.key = i.part"
        return Counter(map(frozen, db(f"{sql} group by {columns}")))
    by: dict[Any, Counter[Any]] = {}
    for up, row in innermost_rows(db, view):
        by.setdefault(up if level else None, Counter())[row] += 1
    for i in range(1, level + 1):
        above: dict[Any, Counter[Any]] = {}
        for row in db(f"select * from {LEVELS[i]}"):
            own = {"name": row["name"], **({"note": row["note"]} if wide else {})}
            inner = frozenset(by.get(row["key"], Counter()).items())
            above.setdefault(row["up"] if i < level else None, Counter())[frozen({**own, "xs": inner})] += 1
        by = above
    return by.get(None, Counter())


def innermost_rows(db: Asked, view: View) -> Iterator[tuple[Any, Any]]:
    wider = ", i.line, i.note" if view.wide else ""
    if view.kind == "NN":
        sql = f"select i.up, p.name, {TOTALS} group by i.up, p.name"
    elif view.parts:
        sql = f"select i.up, p.name, i.qty{wider} from L i join P p on p.key = i.part"
    else:
        sql = f"select i.up, i.part, i.qty{wider} from L i"
    for row in db(sql):
        yield row.pop("up"), frozen(row)


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
        return {name: wanted(db, view) for name, view in VIEWS.items()}


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
    return {"up": up, "line": line, "part": r.randrange(5), "qty": r.randrange(-1, 4), "note": r.choice(["x", None])}


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
    nested = "".join(f"relation D{level} : Bag({document(level)}) key key\n" for level in DOCUMENTS)
    program = rn.parse(RELATIONS + nested + "".join(f"view {name} = {view.text}\n" for name, view in VIEWS.items()))
    t = {**t, **{f"D{level}": documents(t, level) for level in DOCUMENTS}}
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
                for level in DOCUMENTS:
                    put(b, f"D{level}", documents(now, level), documents(after, level))
            now = after
            assert b.report.verdict == "incremental"
            assert_all(db, answers(now, ask), update)
            met[update] += sum(b.report.rows_out.values()) > 0
        assert db.verify().ok
    assert len(met) == 8 and len(VIEWS) == many(27, 52)


def put(b: Any, name: str, before: Table, after: Table) -> None:
    """Whole documents in the place of those with their keys."""
    kept = {row["key"] for row in after}
    b.upsert(name, [row for row in after if row not in before])
    b.delete(name, [row for row in before if row["key"] not in kept])


def assert_all(db: rn.Database, expected: dict[str, Any], update: str) -> None:
    for name, found in expected.items():
        assert Counter(map(frozen, db.view(name).rows())) == found, (update, name)
