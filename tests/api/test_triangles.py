"""Triangles of a skewed graph, counted, listed, and by node: what a batch reads, and states of before."""

from random import Random

import pytest
from support.compiling import forget

import ripplenest as rn
from ripplenest import Bag
from ripplenest.plan import planned
from ripplenest.plan.product import Step


@rn.record
class Edge:
    x: int
    y: int
    w: int


@rn.record
class Node:
    n: int


@rn.view
def counted(E: Bag[Edge]):
    return [{"n": len([1 for a in E for b in E if b.x == a.y for c in E if c.x == a.x and c.y == b.y])}]


@rn.view
def listed(E: Bag[Edge]):
    return [{"x": a.x, "y": b.x, "z": c.y} for a in E for b in E for c in E if a.y == b.x and b.y == c.y and c.x == a.x]


@rn.view
def by_node(V: Bag[Node], E: Bag[Edge]):
    return [
        {
            "n": v.n,
            "closed": [
                {"y": a.y, "z": b.y}
                for a in E
                if a.x == v.n
                for b in E
                if b.x == a.y
                for c in E
                if c.x == v.n and c.y == b.y
            ],
        }
        for v in V
    ]


VIEWS = (counted, listed, by_node)
HUBS = 3


def graph(nodes: int) -> list[tuple[int, int]]:
    """Hubs that all nodes lead to and that lead to all, and some edges between nodes."""
    r = Random(4)
    spokes = {pair for i in range(HUBS, nodes) for h in range(HUBS) for pair in ((h, i), (i, h))}
    return sorted(spokes | {(r.randrange(nodes), r.randrange(nodes)) for _ in range(nodes)})


def rows(edges: list[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"x": x, "y": y, "w": 1} for x, y in edges]


def opened(folder, edges, nodes):
    db = rn.open(folder, engine="local")
    db.relation("V", Node)
    db.relation("E", Edge)
    db.load("V", [{"n": n} for n in range(nodes)])
    db.load("E", rows(edges))
    return db


def check(db) -> None:
    data = {name: db.relation(name).rows() for name in db.relations}
    for view in VIEWS:
        assert db.view(view.name).rows() == view(**{name: data[name] for name, _ in view.query.relations})


def test_a_batch_reads_the_shorter_lists(tmp_path) -> None:
    """Edges at hubs come and go: rows are read for nodes, not for hubs, however many these have.

    incremental-faq, section "Incrementalize it!".
    """
    reads = []
    for nodes in (80, 240):
        with opened(tmp_path / str(nodes), edges := graph(nodes), nodes) as db:
            for view in VIEWS:
                db.create(view, materialize="none")
            with db.batch() as b:
                b.insert("E", rows([(0, nodes + i) for i in range(5)] + [(nodes + i, 0) for i in range(5)]))
                b.delete("E", rows([e for e in edges if 0 in e and e[0] != e[1]][40:50]))
            reads.append(b.report.rows_read)
            assert b.report.verdict == "incremental"
            assert len(db.view("counted").rows()) == 1 and db.verify().ok
    assert max(reads) < 1500 and reads[1] < 1.3 * reads[0], reads


def test_views_are_right_after_any_batch(tmp_path) -> None:
    """incremental-faq, section "Triangle Counting": counted, listed, and in inner bags by node."""
    r, nodes = Random(5), 6
    with opened(tmp_path, graph(nodes), nodes) as db:
        for view in VIEWS:
            db.create(view)
        for _ in range(4):
            held = [(e["x"], e["y"]) for e in db.relation("E").rows()]
            with db.batch() as b:
                b.insert("E", rows([(r.randrange(nodes + 2), r.randrange(nodes)) for _ in range(4)]))
                b.delete("E", rows(r.sample(held, 3)))
            check(db)


def test_a_state_of_before_gets_the_access_keys_that_it_lacks(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier release looked tables up by keys of one source: its views are not built anew."""
    nodes = 6
    with monkeypatch.context() as before:
        forget()
        before.setattr(planned, "_probes", by_one_source)
        with opened(tmp_path, graph(nodes), nodes) as db:
            for view in VIEWS:
                db.create(view)
            keys, version = len(db._store.tables()["E"].indexes), db.version
    forget()
    with rn.open(tmp_path, engine="local") as db:
        assert db.waiting == {} and db.version == version
        for n in range(2):
            with db.batch() as b:
                b.insert("E", rows([(0, nodes + n), (nodes + n, 1)]))
            check(db)
        assert len(db._store.tables()["E"].indexes) > keys
        kinds = [entry.note["kind"] for entry in db.history(3)]
        assert kinds == ["batch", "batch", "index"] and db.verify(deep=True).ok


def by_one_source(levels):
    for p in (p for level in levels for m in level for _, products in m.triggers for p in products):
        for step in p.steps:
            if p.how(step) == "probe":
                own: Step = step.alone or step
                yield p.sources[step.source].table, own.columns
