"""Random functional aggregate queries (Bach, Incremental Functional Aggregate Queries, 2018), kept fresh while rows
come and go: against brute force and DuckDB, eliminated by hand, and with what a change of a factor adds."""

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from attrs import evolve
from support import faq
from support.choices import Choices, seeded
from support.sizes import many

import ripplenest as rn

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


@pytest.mark.parametrize("seed", range(many(1, 120)))
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
            changed(db, tables, 3 + 2 * step, c)
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


@pytest.mark.parametrize("seed", range(many(1, 60)))
def test_inside_out_in_any_order(seed: int, tmp_path: Path) -> None:
    """Section "How do we go on and solve a FAQ?": InsideOut eliminates one variable after the other; written as a view,
    in any order, it comes to φ, and is kept fresh like that."""
    c = seeded(seed)
    asked = {}
    for i, (name, ring) in enumerate(faq.RINGS.items()):
        q = faq.random_faq(c, variables=2 + (seed + i) % 4, cyclic=(seed + i) % 4 > 1)
        order = sorted(set(q.variables) - set(q.free), key=lambda _: c.number(100))
        asked[name] = q, ring, q.inside_out(ring, order)
        COUNTS["eliminated"] += len(order)
    program = rn.parse(faq.RELATIONS + "".join(f"\nview {n} = {text}" for n, (_, _, text) in asked.items()), "orders")
    tables = {t: [faq.random_row(c, t) for _ in range(8)] for t in (*faq.ARITY, faq.NODES)}
    with rn.open(tmp_path / "s", engine="local") as db:
        for relation in program.relations:
            db.relation(relation.name, relation.annotation)
            db.load(relation.name, [faq.named(relation.name, row) for row in tables[relation.name]])
        for view in program.views:
            db.create(view)
        for step in range(3):
            for name, (q, ring, text) in asked.items():
                assert shown(db.view(name).rows()) == q.answers(ring, tables), (step, text)
            changed(db, tables, 3 + step, c)


def changed(db: rn.Database, tables: dict[str, list[faq.Rows]], goes: int, c: Choices) -> None:
    """A batch that takes some rows of each table away, and puts others there."""
    with db.batch() as b:
        for name, held in tables.items():
            go, come = held[:goes], [faq.random_row(c, name) for _ in range(4)]
            b.delete(name, [faq.named(name, row) for row in go])
            b.insert(name, [faq.named(name, row) for row in come])
            tables[name] = held[goes:] + come


@pytest.mark.parametrize("seed", range(many(1, 60)))
def test_phi_after_an_update_is_phi_and_its_delta(seed: int, tmp_path: Path) -> None:
    """Section "Incrementalize it!": φ(ψ ⊕ δ) = φ(ψ) ⊕ φ(δ), for a factor ψ that changes by δ; and what comes and
    goes leaves nothing, in every ring."""
    c = seeded(seed)
    views, asked = "", {}
    for i, (name, ring) in enumerate(faq.RINGS.items()):
        q = faq.random_faq(c, variables=2 + (seed + i) % 4, cyclic=(seed + i) % 3 == 2)
        (_, first), *others = q.factors
        whole, delta = (evolve(q, factors=((t, first), *others)) for t in "AD")
        views += f"\nview {name} = {whole.text(ring)}\nview {name}_delta = {delta.text(ring)}"
        asked[name] = ring
    one = "Bag(⟨x: long, y: long, w: long⟩)"
    program = rn.parse(f"relation A : {one}\nrelation D : {one}\n{faq.RELATIONS}{views}", "deltas")
    with rn.open(tmp_path / "s", engine="local") as db:
        for relation in program.relations:
            db.relation(relation.name, relation.annotation)
            like = relation.name if relation.name in faq.ARITY else "R"
            rows = [faq.random_row(c, like) for _ in range(8 if relation.name != "N" else 0)]
            db.load(relation.name, [faq.named(like, row) for row in rows])
        for view in program.views:
            db.create(view)
        before = {view.name: by_keys(db, view.name) for view in program.views}
        with db.batch() as b:
            b.insert("A", db.relation("D").rows())
        for name, ring in asked.items():
            wanted = added(before[name], before[f"{name}_delta"], ring)
            assert by_keys(db, name) == wanted, name
            COUNTS["deltas"] += before[name] != wanted
        with db.batch() as b:
            b.delete("A", db.relation("D").rows())
        assert {name: by_keys(db, name) for name in before} == before


def by_keys(db: rn.Database, view: str) -> dict[Any, Any]:
    return {tuple(row.values())[:-1]: [*row.values()][-1] for row in db.view(view).rows()}


def added(phi: dict[Any, Any], delta: dict[Any, Any], ring: faq.Semiring) -> dict[Any, Any]:
    """φ ⊕ δφ"""
    found = dict(phi)
    for key, w in delta.items():
        known = found.get(key)
        found[key] = w if known is None else known if w is None else ring.plus(known, w)
    return found


def test_coverage() -> None:
    if sum(COUNTS.values()):
        rings = (f"{name} {kind}" for name in faq.RINGS for kind in ("cyclic", "acyclic"))
        numbers = (*(f"{n} variables" for n in range(2, 7)), *(f"{n} free" for n in range(3)), "inside True")
        assert all(COUNTS[what] for what in (*rings, *numbers, "eliminated", "deltas")), COUNTS
