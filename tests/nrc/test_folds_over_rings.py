"""Folds over rings: a view gives what ``rn.fold`` gives of the same rows in Python, batches keep it fresh, and what is
no ring is refused with what is."""

# mypy: disable-error-code="no-untyped-def, arg-type, attr-defined, no-any-return"

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import QueryError
from ripplenest.nrc.errors import TypeMismatch
from ripplenest.nrc.surface.python import view

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


def test_what_is_no_ring_is_refused_with_what_is() -> None:
    def texts(E: Bag[Edge]):
        return [rn.fold(Range, (str(e.w) for e in E)) for _ in [1]]

    def none(E: Bag[Edge]):
        return [rn.fold("sum", (e.w for e in E)) for _ in [1]]

    def of(make: Callable[[], Any]) -> str:
        with pytest.raises((QueryError, TypeMismatch)) as caught:
            make()
        return str(caught.value)

    own: Any = rn
    said = of(lambda: view(texts).query)
    assert "the column most of the ring Range is of another type" in said and Path(__file__).name in said
    assert "a fold is over a ring" in of(lambda: view(none).query)
    assert "a fold is over a ring" in of(lambda: own.fold(3, [1]))
    assert "a ring is made of a class" in of(lambda: own.ring(3))
    assert "variables with names" in of(lambda: own.moments(3))
