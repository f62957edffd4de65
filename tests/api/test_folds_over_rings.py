"""Folds over rings in a database: batches keep fresh what ``rn.fold`` gives of the same rows in Python."""

# mypy: disable-error-code="no-untyped-def, arg-type, attr-defined, no-any-return"

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.compiling import forget
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.delta import compile as compiler
from ripplenest.delta.groups import swap
from ripplenest.nrc.surface.python import view
from ripplenest.state import views

W = rn.ring_variable("w")


@rn.record
class Edge:
    a: int
    b: int
    w: int


@rn.ring
class Range:
    most: int = rn.combine(max)
    least: int = rn.combine(min)

    @staticmethod
    def lift(x):
        return {"most": x, "least": x}

    @staticmethod
    def times(a, b):
        return {"most": a.most + b.most, "least": a.least + b.least}

    @staticmethod
    def answer(r):
        return {"width": r.most - r.least, "most": r.most}


def paths(E: Bag[Edge]):
    """Of the ways of two edges from each node, and of those to each node there."""
    return [
        {
            "a": a,
            "short": rn.fold(W, ((e.w, f.w) for e in es for f in E if e.b == f.a)),
            "likely": rn.fold(rn.MaxProduct, (e.w for e in es)),
            "some": rn.fold(rn.Reach, ((e.w > 1, f.w > 1) for e in es for f in E if e.b == f.a)),
            "to": [
                {
                    "b": b,
                    "range": rn.fold(Range, ((e.w, f.w) for e in fs for f in E if e.b == f.a)),
                    "moments": rn.fold(rn.moments("x", "y"), ((e.w, e.b) for e in fs)),
                }
                for b, fs in rn.group_by(es, lambda e: e.b)
                if max(e.w for e in fs) > 0
            ],
        }
        for a, es in rn.group_by(E, lambda e: e.a)
    ]


edges = st.lists(st.builds(Edge, st.integers(0, 2), st.integers(0, 2), st.integers(-1, 3)), max_size=6)


def sorted_(rows: Any) -> Any:
    return sorted(({**row, "to": sorted(row["to"], key=repr)} for row in rows), key=repr)


def in_python(held: list[Edge]) -> Any:
    """What Python says, where a range of nothing has no width."""

    def folded(over: Any, rows: Any) -> Any:
        found = list(rows)
        return rn.fold(over, found) if found or over is not Range else {"width": None, "most": None}

    def to(es: list[Edge], b: int) -> Any:
        fs = [e for e in es if e.b == b]
        ways = ((e.w, f.w) for e in fs for f in held if e.b == f.a)
        return {"b": b, "range": folded(Range, ways), "moments": rn.fold(rn.moments("x", "y"), [(e.w, b) for e in fs])}

    def of(a: int) -> Any:
        es = [e for e in held if e.a == a]
        ways = [(e.w, f.w) for e in es for f in held if e.b == f.a]
        return {
            "a": a,
            "short": rn.fold(rn.MinPlus, ways),
            "likely": rn.fold(rn.MaxProduct, [e.w for e in es]),
            "some": rn.fold(rn.Reach, [(x > 1, y > 1) for x, y in ways]),
            "to": [to(es, b) for b in {e.b for e in es} if max(e.w for e in es if e.b == b) > 0],
        }

    return sorted_(of(a) for a in {e.a for e in held})


@settings(max_examples=many(5, 200), deadline=None)
@given(batches=st.lists(st.tuples(edges, st.integers(0, 4)), min_size=1, max_size=3))
def test_batches_keep_fresh_what_python_gives(
    batches: list[tuple[list[Edge], int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    made, held = view(paths).over(w=rn.MinPlus), []
    with rn.open(tmp_path_factory.mktemp("s") / "s", engine="local") as db:
        db.relation("E", Edge)
        db.create(made)
        for come, many_go in batches:
            go, held = held[:many_go], [*held[many_go:], *come]
            with db.batch() as b:
                b.delete("E", go)
                b.insert("E", come)
            assert sorted_(db.view("paths").rows()) == in_python(held) == sorted_(made(held))
        assert db.verify().ok


PICKING = (rn.MaxProduct, rn.MinPlus, rn.MaxPlus)


def ways(E: Bag[Edge]):
    """Of the ways of three edges from each node."""
    return [
        {"a": a, "best": rn.fold(W, ((e.w, f.w, g.w) for e in es for f in E if e.b == f.a for g in E if f.b == g.a))}
        for a, es in rn.group_by(E, lambda e: e.a)
    ]


def test_a_view_over_several_rings_is_derived_once(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law (swap), in a database: rings without inverse share a derivation, and one that adds up has its own. Views are
    right after each batch, and are the same programs in a process that compiles them one by one."""
    made: list[str] = []
    monkeypatch.setattr(swap, "derived", lambda f: made.append(f.query.name) or compiler.derived(f))
    monkeypatch.setattr(views, "compile_view", swap.Programs().compile)
    forget()
    folder, rings = tmp_path_factory.mktemp("s") / "s", {r.name: r for r in (*PICKING, rn.SumProduct)}
    held = [Edge(a=0, b=1, w=2), Edge(a=1, b=2, w=3), Edge(a=1, b=0, w=1), Edge(a=2, b=0, w=3), Edge(a=0, b=2, w=1)]
    with rn.open(folder, engine="local") as db:
        db.relation("E", Edge)
        db.load("E", held)
        for name, ring in rings.items():
            db.create(view(ways).over(name, w=ring))
        assert made == ["MaxProduct", "SumProduct"]
        for _ in range(2):
            go, come = held[0], Edge(a=0, b=1, w=len(held))
            held = [*held[1:], come]
            with db.batch() as b:
                b.delete("E", [go])
                b.insert("E", [come])
            for name, ring in rings.items():
                assert sorted_ways(db.view(name).rows()) == sorted_ways(view(ways).over(w=ring)(held)), name
    forget()
    monkeypatch.setattr(views, "compile_view", compiler.compile_view)
    with rn.open(folder, engine="local") as db:
        assert not db.waiting and db.verify(deep=True).ok
    forget()


def sorted_ways(rows: Any) -> Any:
    return sorted(map(repr, rows))
