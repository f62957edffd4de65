"""Flat views with totals are what other databases make of the same rows, whatever changes: DuckDB is asked about all of
them, SQLite about those that it has words for.

Views are drawn: keys, folds and conditions over a join, and what there is of distinct, exists, differences, first rows
and joins.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from support.sizes import many

import ripplenest as rn

RELATIONS = """
relation A : Bag(⟨k: long?, s: string?, n: long?, x: double?⟩)
relation B : Bag(⟨k: long?, m: long⟩)
"""
TABLES = {"A": "k bigint, s varchar, n bigint, x double", "B": "k bigint, m bigint"}
VALUES: dict[str, dict[str, Sequence[Any]]] = {
    "A": {"k": (None, 1, 2, 3), "s": (None, "", "a"), "n": (None, 0, 1, -1, 7), "x": (None, 0.0, 0.25, -1.5, 2.0**40)},
    "B": {"k": (None, 1, 2), "m": (0, 5)},
}
FOLDS = {  # by text
    "count()": "count(*)",
    "count(r.n)": "count(n)",
    "sum(r.n)": "sum(n)",
    "sum(r.x)": "sum(x)",
    "sum(r.n, r.m)": "sum(n * m)",
    "avg(r.n)": "avg(n)",
    "min(r.n)": "min(n)",
    "max(r.x)": "max(x)",
    "max(r.s)": "max(s)",
    "any(r.n > 0)": "coalesce(max(case when n > 0 then 1 else 0 end), 0) = 1",
    "all(r.n > 0)": "coalesce(min(case when n > 0 then 1 else 0 end), 1) = 1",
}
CONDITIONS = {"": "", ", a.n > 0": " and n > 0", ", a.s is null": " and s is null", ', a.s != "a"': " and s <> 'a'"}
ROWS = "[⟨k: a.k, s: a.s, n: a.n, x: a.x, m: b.m⟩ | a in A, b in B, a.k = b.k{0}]"
JOINED = "from A join B on A.k = B.k{0}"
FIXED = {
    "once": ("distinct([⟨k: a.k, s: a.s⟩ | a in A])", "select distinct k, s from A"),
    "some": (
        "[a.k | a in A, exists([b | b in B, b.k = a.k])]",
        "select k from A where exists (select 1 from B where B.k = A.k)",
    ),
    "none": (
        "[a.k | a in A, not exists([b | b in B, b.k = a.k])]",
        "select k from A where not exists (select 1 from B where B.k = A.k)",
    ),
    "above": (
        "[a.k | a in A, b in B, b.m > avg(c.n | c in A, c.k = a.k)]",
        "select A.k from A, B where B.m > (select avg(n) from A c where c.k = A.k)",
    ),
    "counted": (
        "[⟨m: b.m, n: count([a | a in A, a.k = b.k])⟩ | b in B]",
        "select m, (select count(*) from A where A.k = B.k) from B",
    ),
    "of sums": (
        "[sum(g.v | g in group[g](r in A by s: r.s of v: sum(r.n)), g.v > 0) | u in [0]]",
        "select sum(v) from (select sum(n) as v from A group by s) where v > 0",
    ),
    "first": (
        "top[t](4, a in [⟨k: a.k, s: a.s, n: a.n⟩ | a in A] order a.n desc, a.s, a.k nulls first)",
        "select k, s, n from A order by n desc nulls last, s nulls last, k nulls first limit 4",
    ),
    "first of each": (
        "[⟨m: b.m, n: c.n⟩ | b in B, c in top[t](2, a in [a | a in A, a.k = b.k] order a.n nulls first)]",
        "select m, n from (select m, n, row_number() over (partition by B.i order by n nulls first) as r"
        " from (select *, row_number() over () as i from B) B join A on A.k = B.k) where r <= 2",
    ),
    "greatest": (
        "[a.s | a in A, a.n = max(c.n | c in A, c.k = a.k)]",
        "select s from A where n = (select max(n) from A c where c.k = A.k)",
    ),
    "of first": (
        "[min(t.x | t in top[t](5, a in A order a.x desc)) | u in [0]]",
        "select min(x) from (select x from A order by x desc nulls last limit 5)",
    ),
    "left": ("difference([a.k | a in A], [b.k | b in B])", "select k from A except all select k from B"),
    "both": ("intersect([a.k | a in A], [b.k | b in B])", "select k from A intersect all select k from B"),
}
BY_DUCKDB_ALONE = ("left", "both")  # what SQLite has no words for
Asked = Callable[[str], Sequence[tuple[Any, ...]]]


def drawn(r: Random) -> tuple[str, str]:
    """A group over a join, as text and as SQL."""
    keys = r.sample(["k", "s"], r.randrange(1, 3))
    folds = r.sample(sorted(FOLDS), r.randrange(1, 4))
    text, sql = r.choice(sorted(CONDITIONS.items()))
    by = ", ".join(f"{k}: r.{k}" for k in keys)
    of = ", ".join(f"f{i}: {f}" for i, f in enumerate(folds))
    columns = ", ".join([*(f"A.{k}" for k in keys), *(FOLDS[f] for f in folds)])
    grouped = ", ".join(f"A.{k}" for k in keys)
    rows = ROWS.format(text)
    return f"group[g](r in {rows} by {by} of {of})", f"select {columns} {JOINED.format(sql)} group by {grouped}"


def views(r: Random) -> dict[str, tuple[str, str]]:
    return {**FIXED, **{f"g{i}": drawn(r) for i in range(many(6, 12))}}


def rows_of(r: Random, name: str, count: int) -> list[dict[str, Any]]:
    return [{c: r.choice(values) for c, values in VALUES[name].items()} for _ in range(count)]


def databases() -> Iterator[tuple[str, Asked, Callable[[str, list[tuple[Any, ...]]], Any]]]:
    duck, lite = duckdb.connect(), sqlite3.connect(":memory:")
    yield "duckdb", lambda sql: duck.execute(sql).fetchall(), lambda sql, rows: rows and duck.executemany(sql, rows)
    yield "sqlite", lambda sql: lite.execute(sql).fetchall(), lite.executemany


def values(row: Any) -> tuple[Any, ...]:
    """A row as numbers and texts: a truth value is a number to SQLite, and one that is whole of any type."""
    found = tuple(row.values()) if isinstance(row, Mapping) else row if isinstance(row, tuple) else (row,)
    return tuple(v if isinstance(v, str | None) else float(v) for v in found)


@pytest.mark.parametrize("seed", range(many(2, 30)))
def test_flat_totals_are_those_of_other_databases(seed: int, tmp_path: Path) -> None:
    r = Random(seed)
    asked = views(r)
    program = rn.parse(RELATIONS + "".join(f"view `{name}` = {text}\n" for name, (text, _) in asked.items()))
    now: dict[str, list[dict[str, Any]]] = {name: rows_of(r, name, 12) for name in TABLES}
    met: Counter[str] = Counter()
    with rn.open(tmp_path / "s", engine="local") as db:
        for relation in program.relations:
            db.relation(relation.name, relation.annotation)
            db.load(relation.name, now[relation.name])
        for view in program.views:
            db.create(view, materialize=r.choice(("cost", "full")))
        for step, (name, many_go) in enumerate([("A", 3), ("B", 2), ("A", 99), ("B", 99), ("A", 0)]):
            assert_all(db, asked, now, met)
            going, coming = now[name][:many_go], rows_of(r, name, 5 if step != 3 else 0)
            with db.batch() as b:
                b.delete(name, going)
                b.insert(name, coming)
            now[name] = now[name][many_go:] + coming
        assert_all(db, asked, now, met)
    assert met["duckdb"] == 6 * len(asked) and met["sqlite"] == 6 * (len(asked) - len(BY_DUCKDB_ALONE))
    assert met["rows"] > 100


def assert_all(
    db: rn.Database, asked: Mapping[str, tuple[str, str]], now: Mapping[str, list[dict[str, Any]]], met: Counter[str]
) -> None:
    ours = {name: Counter(map(values, db.view(name).rows())) for name in asked}
    for which, ask, fill in databases():
        for table, columns in TABLES.items():
            ask(f"create table {table} ({columns})")
            places = ", ".join("?" * len(VALUES[table]))
            fill(f"insert into {table} values ({places})", [tuple(row.values()) for row in now[table]])
        for name, (_, sql) in asked.items():
            if which == "sqlite" and name in BY_DUCKDB_ALONE:
                continue
            wanted = Counter(map(values, ask(sql)))
            assert ours[name] == wanted, (which, name, sql)
            met[which] += 1
            met["rows"] += wanted.total()
