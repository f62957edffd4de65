"""Functional aggregate queries: the examples of Incremental Functional Aggregate Queries (Bach, 2018), by its sections,
and random ones, kept fresh while rows come and go.

φ(x_F) = ⊕_{x_B} ⊗_S ψ_S(x_S): a factor ψ is a relation whose rows have the values of its variables and a weight.
"""

# ruff: noqa: E741 - matrices and edges have short names
# mypy: disable-error-code="no-untyped-def, attr-defined, no-any-return, arg-type"

from collections import Counter
from collections.abc import Callable
from functools import reduce
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from support import faq
from support.choices import seeded
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

COUNTS: Counter[str] = Counter()


def shown(rows: list[dict[str, Any]]) -> Counter[Any]:
    """Rows as tuples, inner bags as sets: their rows have keys."""
    return Counter(
        tuple(frozenset(tuple(r.values()) for r in v) if isinstance(v, list) else v for v in row.values())
        for row in rows
    )


def in_duckdb(tables: dict[str, list[faq.Rows]], queries: list[str]) -> list[Counter[Any]]:
    duck = duckdb.connect()
    for name, held in tables.items():
        columns = ", ".join(f"{c} bigint" for c in faq.named(name, held[0]))
        duck.execute(f"create table {name} ({columns})")
        duck.executemany(f"insert into {name} values ({', '.join('?' * len(held[0]))})", held)
    return [Counter(duck.execute(q).fetchall()) for q in queries]


@pytest.mark.parametrize("seed", range(many(2, 120)))
def test_random_queries_are_those_of_brute_force(seed: int, tmp_path: Path) -> None:
    """Section "Functional Aggregate Queries": φ(x_F) = ⊕ ⊗ ψ over any hypergraph, and what updates leave of it
    (section "Incrementalize it!"), in each ring; alone also that of DuckDB, and inside of nested views."""
    c = seeded(seed)
    asked = {
        f"{name}{kind}": (
            faq.random_faq(c, (seed + i + kind) % 2 == 1, 2 + kind + (seed + i) % (5 - kind), kind == 1),
            r,
        )
        for i, (name, r) in enumerate(faq.RINGS.items())
        for kind in (0, 1)
    }
    text = "".join(f"\nview {name} = {q.text(r)}" for name, (q, r) in asked.items())
    program = rn.parse(faq.RELATIONS + text, "random")
    tables = {t: [faq.random_row(c, t) for _ in range(8)] for t in (*faq.ARITY, faq.NODES)}
    alone = {name: q.sql(r) for name, (q, r) in asked.items() if not q.inside}
    with rn.open(tmp_path / "s", engine="local") as db:
        for relation in program.relations:
            db.relation(relation.name, relation.annotation)
            db.load(relation.name, [faq.named(relation.name, row) for row in tables[relation.name]])
        for view in program.views:
            small = len(asked[view.name][0].factors) < 5  # there are as many maps as ways to take deltas
            db.create(view, materialize=c.pick(("cost", "none", "full" if small else "first")))
        agree(db, asked, tables, alone)
        for step in range(2):
            with db.batch() as b:
                for name, held in tables.items():
                    go, come = held[: 3 + 2 * step], [faq.random_row(c, name) for _ in range(4)]
                    b.delete(name, [faq.named(name, row) for row in go])
                    b.insert(name, [faq.named(name, row) for row in come])
                    tables[name] = held[len(go) :] + come
            agree(db, asked, tables, alone)
        assert db.verify().ok


def agree(
    db: rn.Database,
    asked: dict[str, tuple[faq.Faq, faq.Semiring]],
    tables: dict[str, list[faq.Rows]],
    alone: dict[str, str],
) -> None:
    """Views are what brute force finds, and DuckDB of those that stand alone."""
    oracle = dict(zip(alone, in_duckdb(tables, [*alone.values()]), strict=True))
    for name, (q, ring) in asked.items():
        found = shown(db.view(name).rows())
        assert found == q.answers(ring, tables), (name, q)
        assert found == oracle.get(name, found), (name, q)
        count(name, q, found)


def count(name: str, q: faq.Faq, found: Counter[Any]) -> None:
    """What was drawn, of queries that have answers."""
    kinds = (name[:-1], "cyclic" if q.is_cyclic else "acyclic")
    what = (*kinds, " ".join(kinds), f"{len(q.variables)} variables", f"{len(q.free)} free", f"inside {q.inside}")
    met = any(answer not in (None, False, frozenset()) for row in found for answer in row[-1:])
    COUNTS.update(what if met else ())


def test_coverage() -> None:
    if sum(COUNTS.values()):
        rings = (f"{name} {kind}" for name in faq.RINGS for kind in ("cyclic", "acyclic"))
        numbers = (*(f"{n} variables" for n in range(2, 7)), *(f"{n} free" for n in range(3)), "inside True")
        assert all(COUNTS[what] for what in (*rings, *numbers)), COUNTS
