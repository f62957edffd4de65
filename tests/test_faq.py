"""Functional aggregate queries: the examples of Incremental Functional Aggregate Queries (Bach, 2018), by its sections,
and random ones, kept fresh while rows come and go.

φ(x_F) = ⊕_{x_B} ⊗_S ψ_S(x_S): a factor ψ is a relation whose rows have the values of its variables and a weight.
"""

# ruff: noqa: E741 - matrices and edges have short names
# mypy: disable-error-code="no-untyped-def, attr-defined, no-any-return, arg-type"

from collections import Counter
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import combinations, pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Entry:
    i: int
    j: int
    w: int


@rn.record
class Edge:
    u: int
    v: int


@rn.record
class Node:
    id: int


@rn.view
def chain(A: Bag[Entry], B: Bag[Entry], C: Bag[Entry]):
    """Matrix Chain Multiplication: φ(i, l) = Σ_j Σ_k A(i, j) · B(j, k) · C(k, l)"""
    rows = [
        {"i": a.i, "l": c.j, "a": a.w, "b": b.w, "c": c.w} for a in A for b in B if a.j == b.i for c in C if b.j == c.i
    ]
    return [
        {"i": k["i"], "l": k["l"], "w": rn.fold(rn.SumProduct, ((r["a"], r["b"], r["c"]) for r in rs))}
        for k, rs in rn.group_by(rows, lambda r: {"i": r["i"], "l": r["l"]})
    ]


@rn.view
def chain_inside(A: Bag[Entry], B: Bag[Entry], N: Bag[Node]):
    """The same of two matrices, a row of the product in an inner bag of each node."""
    return [
        {
            "i": n.id,
            "row": [
                {"l": l, "w": rn.fold(rn.SumProduct, ((a.w, b.w) for a, b in rs))}
                for l, rs in rn.group_by([(a, b) for a in A if a.i == n.id for b in B if a.j == b.i], of_second)
            ],
        }
        for n in N
    ]


def of_second(pair):
    return pair._2.j


@rn.view
def triangles(E: Bag[Edge]):
    """Triangle Counting: φ = Σ_u Σ_v Σ_w ψ(u, v) · ψ(u, w) · ψ(v, w), with u < v where ψ is 1"""
    return [rn.count(a.u for a in E for b in E if a.v == b.u for c in E if c.u == a.u and c.v == b.v)]


@rn.view
def triangles_inside(E: Bag[Edge], N: Bag[Node]):
    """Of each node the others of its triangles, and how many these are."""
    return [
        {
            "id": n.id,
            "n": rn.count(
                a.u for a in E if a.u == n.id for b in E if a.v == b.u for c in E if c.u == a.u and c.v == b.v
            ),
            "others": [
                {"v": a.v, "w": b.v}
                for a in E
                if a.u == n.id
                for b in E
                if a.v == b.u
                for c in E
                if c.u == a.u and c.v == b.v
            ],
        }
        for n in N
    ]


@rn.view
def likeliest(A: Bag[Entry], B: Bag[Entry]):
    """The MaxProd semiring: max over x_2 of ψ(x_1, x_2) · ψ(x_2, x_3)"""
    rows = [{"i": a.i, "l": b.j, "a": a.w, "b": b.w} for a in A for b in B if a.j == b.i]
    return [
        {"i": k["i"], "l": k["l"], "m": rn.fold(rn.MaxProduct, ((r["a"], r["b"]) for r in rs))}
        for k, rs in rn.group_by(rows, lambda r: {"i": r["i"], "l": r["l"]})
    ]


@rn.view
def likeliest_inside(A: Bag[Entry], B: Bag[Entry], N: Bag[Node]):
    return [
        {
            "i": n.id,
            "best": [
                {"l": l, "m": rn.fold(rn.MaxProduct, ((a.w, b.w) for a, b in rs))}
                for l, rs in rn.group_by([(a, b) for a in A if a.i == n.id for b in B if a.j == b.i], of_second)
            ],
        }
        for n in N
    ]


# ---------------------------------------------------------------- what they are by the book

Rows = dict[str, list[Any]]


def by_key(rows: Rows, names: str, plus: Callable[[int, int], int]) -> dict[tuple[int, int], int]:
    """⊕ of ⊗ along a chain of matrices."""
    found: dict[tuple[int, int], int] = {}
    for entries in product(*(rows[name] for name in names)):
        if all(a.j == b.i for a, b in pairwise(entries)):
            key, w = (entries[0].i, entries[-1].j), reduce(lambda a, b: a * b, [e.w for e in entries])
            found[key] = plus(found[key], w) if key in found else w
    return found


def of_graph(rows: Rows) -> Counter[tuple[int, int, int]]:
    edges = Counter((e.u, e.v) for e in rows["E"])
    nodes = sorted({x for e in edges for x in e})
    found = {(u, v, w): edges[u, v] * edges[v, w] * edges[u, w] for u, v, w in product(nodes, repeat=3)}
    return Counter({key: n for key, n in found.items() if n})


def wanted(name: str, rows: Rows) -> Any:
    nodes = [n.id for n in rows["N"]]
    if name.startswith("triangles"):
        found = of_graph(rows)
        if name == "triangles":
            return [sum(found.values())]
        return [
            {
                "id": n,
                "n": sum(c for (u, _, _), c in found.items() if u == n),
                "others": [{"v": v, "w": w} for (u, v, w), c in sorted(found.items()) if u == n for _ in range(c)],
            }
            for n in nodes
        ]
    plus, key = (max, "m") if name.startswith("likeliest") else ((lambda a, b: a + b), "w")
    made = by_key(rows, "ABC" if name == "chain" else "AB", plus)  # type: ignore[arg-type]
    if not name.endswith("inside"):
        return [{"i": i, "l": l, key: w} for (i, l), w in sorted(made.items())]
    inner = "best" if key == "m" else "row"
    return [{"i": n, inner: [{"l": l, key: w} for (i, l), w in sorted(made.items()) if i == n]} for n in nodes]


VIEWS = (chain, chain_inside, triangles, triangles_inside, likeliest, likeliest_inside)
RELATIONS: dict[str, type] = {"A": Entry, "B": Entry, "C": Entry, "E": Edge, "N": Node}


def row(r: Random, name: str) -> Any:
    if name == "E":
        u, v = sorted(r.sample(range(6), 2))
        return Edge(u, v)
    return Entry(r.randrange(4), r.randrange(4), r.randrange(0, 9))


@pytest.mark.parametrize("seed", range(many(2, 20)))
def test_the_examples_of_the_paper_are_kept_fresh(seed: int, tmp_path: Path) -> None:
    """Section "Incrementalize it!": φ ⊕ δφ after each update, with retractions, in every ring: a greatest product that
    goes leaves the next one."""
    r = Random(seed)
    rows: Rows = {n: [row(r, n) for _ in range(9)] for n in "ABCE"} | {"N": [Node(i) for i in range(5)]}
    with rn.open(tmp_path / "s", engine="local") as db:
        for name, record in RELATIONS.items():
            db.relation(name, record)
            db.load(name, rows[name])
        for view in VIEWS:
            db.create(view, materialize=r.choice(("cost", "full", "none")))
        for step in range(6):
            for view in VIEWS:
                assert db.view(view.name).rows() == wanted(view.name, rows), (step, view.name)
            with db.batch() as b:
                for name in r.sample("ABCE", 3):
                    go = r.sample(rows[name], min(len(rows[name]), 3 if step < 3 else 9))
                    come = [row(r, name) for _ in range(0 if step == 3 else 4)]
                    b.delete(name, go)
                    b.insert(name, come)
                    for gone in go:
                        rows[name].remove(gone)
                    rows[name] += come
        assert db.verify().ok


# ---------------------------------------------------------------- random ones

RINGS = {  # the folds that they are in text, and in SQL
    "SumProduct": ("sum({})", "sum({})", " · ", " * "),
    "MaxProduct": ("max({})", "max({})", " · ", " * "),
    "MinPlus": ("min({})", "min({})", " + ", " + "),
    "MaxPlus": ("max({})", "max({})", " + ", " + "),
    "Reach": ("any({})", "bool_or({})", " and ", " and "),
}


def queries(r: Random) -> Iterator[tuple[str, str]]:
    """A query over each ring with 2 to 6 variables, as text and as SQL: cyclic or not, with some of them free."""
    for text, sql, times, stars in RINGS.values():
        count = r.randrange(2, 7)
        pairs = list(combinations(range(count), 2))
        edges = [pairs[0], *r.sample(pairs, min(len(pairs), r.randrange(1, 4)))]
        names = [f"e{n}" for n in range(len(edges))]
        columns: dict[int, list[str]] = {}
        for name, (i, j) in zip(names, edges, strict=True):
            columns.setdefault(i, []).append(f"{name}.x")
            columns.setdefault(j, []).append(f"{name}.y")
        equal = [f"{a} = {b}" for own in columns.values() for a, b in pairwise(own)]
        tables = [r.choice("RS") for _ in edges]
        free = r.sample(sorted(columns), r.randrange(1, min(len(columns), 3)))
        weights = [f"{n}.w > 2" if "and" in times else f"{n}.w" for n in names]
        fields = [*(f"k{v}: {columns[v][0]}" for v in free), f"w: {times.join(weights)}"]
        froms = [f"{n} in {t}" for n, t in zip(names, tables, strict=True)]
        keys = ", ".join(f"k{v}: x.k{v}" for v in free)
        yield (
            f"group[g](x in [⟨{', '.join(fields)}⟩ | {', '.join([*froms, *equal])}] "
            f"by {keys} of f: {text.format('x.w')})",
            f"select {', '.join([*(columns[v][0] for v in free), sql.format(stars.join(weights))])} "
            f"from {', '.join(f'{t} {n}' for n, t in zip(names, tables, strict=True))} "
            f"where {' and '.join(['true', *equal])} group by {', '.join(columns[v][0] for v in free)}",
        )


@pytest.mark.parametrize("seed", range(many(2, 60)))
def test_random_queries_are_those_of_duckdb(seed: int, tmp_path: Path) -> None:
    r = Random(seed)
    asked = {f"q{n}": q for n, q in enumerate([*queries(r), *queries(r)])}
    relations = "".join(f"relation {n} : Bag(⟨x: long, y: long, w: long⟩)\n" for n in "RS")
    program = rn.parse(relations + "".join(f"view {name} = {text}\n" for name, (text, _) in asked.items()))
    rows: dict[str, list[tuple[int, ...]]] = {n: [_triple(r) for _ in range(8)] for n in "RS"}
    met = 0
    with rn.open(tmp_path / "s", engine="local") as db:
        for relation in program.relations:
            db.relation(relation.name, relation.annotation)
            db.load(relation.name, _named(rows[relation.name]))
        for view in program.views:
            db.create(view, materialize=r.choice(("cost", "full", "none")))
        for step in range(4):
            duck = duckdb.connect()
            for name, held in rows.items():
                duck.execute(f"create table {name} (x bigint, y bigint, w bigint)")
                if held:
                    duck.executemany(f"insert into {name} values (?, ?, ?)", held)
            for name, (text, sql) in asked.items():
                found = Counter(tuple(row.values()) for row in db.view(name).rows())
                assert found == Counter(duck.execute(sql).fetchall()), (step, text, sql)
                met += len(found)
            with db.batch() as b:
                for name, held in rows.items():
                    go, come = held[: 3 + step], [_triple(r) for _ in range(4)]
                    b.delete(name, _named(go))
                    b.insert(name, _named(come))
                    rows[name] = held[3 + step :] + come
    assert met > 40


def _triple(r: Random) -> tuple[int, ...]:
    return r.randrange(3), r.randrange(3), r.randrange(6)


def _named(rows: list[tuple[int, ...]]) -> list[dict[str, int]]:
    return [dict(zip("xyw", row, strict=True)) for row in rows]
