"""Functional aggregate queries: the examples of Incremental Functional Aggregate Queries (Bach, 2018), by its sections,
kept fresh while rows come and go. Random ones: ``tests/test_random_faq.py``.

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


@rn.view
def most(A: Bag[Entry], B: Bag[Entry]):
    """A ⊕ for each variable, which do not commute: max over j of Σ_k of ψ(i, j) · ψ(j, k)"""
    rows = [{"i": a.i, "j": a.j, "w": sum(b.w for b in B if b.i == a.j), "a": a.w} for a in A]
    return [{"i": i, "m": max(r["a"] * r["w"] for r in rs)} for i, rs in rn.group_by(rows, lambda r: r["i"])]


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
    if name == "most":
        return of_most(rows)
    plus, key = (max, "m") if name.startswith("likeliest") else ((lambda a, b: a + b), "w")
    made = by_key(rows, "ABC" if name == "chain" else "AB", plus)  # type: ignore[arg-type]
    if not name.endswith("inside"):
        return [{"i": i, "l": l, key: w} for (i, l), w in sorted(made.items())]
    inner = "best" if key == "m" else "row"
    return [{"i": n, inner: [{"l": l, key: w} for (i, l), w in sorted(made.items()) if i == n]} for n in nodes]


def of_most(rows: Rows) -> Any:
    sums = {b.i: sum(c.w for c in rows["B"] if c.i == b.i) for b in rows["B"]}
    found = {i: [a.w * sums[a.j] for a in rows["A"] if a.i == i and a.j in sums] for i in {a.i for a in rows["A"]}}
    return [{"i": i, "m": max(own, default=None)} for i, own in sorted(found.items())]


VIEWS = (chain, chain_inside, triangles, triangles_inside, likeliest, likeliest_inside, most)
RELATIONS: dict[str, type] = {"A": Entry, "B": Entry, "C": Entry, "E": Edge, "N": Node}


def row(r: Random, name: str) -> Any:
    if name == "E":
        u, v = sorted(r.sample(range(6), 2))
        return Edge(u, v)
    return Entry(r.randrange(4), r.randrange(4), r.randrange(0, 9))


@pytest.mark.parametrize("seed", range(many(2, 20)))
def test_the_examples_of_the_paper_are_kept_fresh(seed: int, tmp_path: Path) -> None:
    """Sections "Matrix Chain Multiplication", "Triangle Counting" and the MaxProd semiring of "Differential Dataflow",
    each also inside of a nested view, after each update (section "Incrementalize it!"), with retractions in every ring:
    a greatest product that goes leaves the next one. One has a ⊕ for each variable ("Functional Aggregate Queries")."""
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


def test_the_listing_of_the_paper(tmp_path: Path) -> None:
    """Section "Matrix Chain Multiplication": the matrix 1 2 / 3 4 as a table of its entries that are not zero, and its
    square times one. An entry that is listed as zero adds nothing."""
    square = [Entry(1, 1, 1), Entry(1, 2, 2), Entry(2, 1, 3), Entry(2, 2, 4)]
    wanted = [(1, 1, 7), (1, 2, 10), (2, 1, 15), (2, 2, 22)]
    with rn.open(tmp_path / "s", engine="local") as db:
        for name, held in {"A": square, "B": square, "C": [Entry(1, 1, 1), Entry(2, 2, 1)]}.items():
            db.relation(name, Entry)
            db.load(name, held)
        db.create(chain)
        assert [tuple(r.values()) for r in db.view("chain").rows()] == wanted
        with db.batch() as b:
            b.insert("C", [Entry(1, 2, 0), Entry(2, 1, 0), Entry(2, 3, 0)])
        found = [tuple(r.values()) for r in db.view("chain").rows()]
        assert [r for r in found if r[-1]] == wanted and [r for r in found if not r[-1]] == [(1, 3, 0), (2, 3, 0)]


@rn.ring
class MaxProd:
    """pub struct MaxProd { pub value: u32 }: its += is max, and its * multiplies."""

    value: int = rn.combine(max)

    @staticmethod
    def lift(x):
        return {"value": x}

    @staticmethod
    def times(a, b):
        return {"value": a.value * b.value}


@rn.view
def by_max_prod(A: Bag[Entry], B: Bag[Entry]):
    """What ``likeliest`` is, over a ring of one's own; and several rings in one view."""
    rows = [{"i": a.i, "l": b.j, "a": a.w, "b": b.w} for a in A for b in B if a.j == b.i]
    return [
        {
            "i": k["i"],
            "l": k["l"],
            "m": rn.fold(MaxProd, ((r["a"], r["b"]) for r in rs)),
            "w": rn.fold(rn.SumProduct, ((r["a"], r["b"]) for r in rs)),
        }
        for k, rs in rn.group_by(rows, lambda r: {"i": r["i"], "l": r["l"]})
    ]


@rn.view
def widest(A: Bag[Entry], B: Bag[Entry]):
    """A query over what another one comes to."""
    return [rn.fold(rn.MaxPlus, ((r["m"], r["w"]) for r in by_max_prod(A, B)))]


def test_a_ring_of_ones_own(tmp_path: Path) -> None:
    """Section "Differential Dataflow": a semiring is two functions, whose ⊕ consolidates rows of equal indices, each as
    often as it is there. Section "Tying things together": what comes out is another collection, which others read;
    and a query is not of a single semiring."""
    r = Random(5)
    rows: Rows = {name: [row(r, name) for _ in range(12)] for name in "AB"}
    rows["A"].append(rows["A"][0])
    assert rn.testing.check_ring(MaxProd, [0, 1, 2, 7]) == 3 * 4**3
    with rn.open(tmp_path / "s", engine="local") as db:
        for name in "AB":
            db.relation(name, Entry)
            db.load(name, rows[name])
        db.create(by_max_prod)
        db.create(widest)
        for _ in range(3):
            best, sums = by_key(rows, "AB", max), by_key(rows, "AB", lambda a, b: a + b)
            wanted = [{"i": i, "l": l, "m": best[i, l], "w": sums[i, l]} for i, l in sorted(best)]
            assert db.view("by_max_prod").rows() == wanted
            assert db.view("widest").rows() == [max(r["m"] + r["w"] for r in wanted)]
            gone = rows["A"].pop(0)
            with db.batch() as b:
                b.delete("A", [gone])
