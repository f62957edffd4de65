"""The first of the other rows of a group: rows of the group are kept once, not for each of its rows."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.choices import Choices
from support.compiling import compiled_once
from support.laws import law
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Part:
    id: int
    kind: str | None
    price: int
    weight: float | None
    like: int | None
    notes: Bag[str]


def nearest(part: Any, parts: Any) -> Any:
    """The least price of the others of its kind, in a function that views call."""
    return min((p.price for p in parts if p.kind == part.kind and p.id != part.id), default=None)


@rn.view
def rivals(P: Bag[Part]) -> list[Any]:
    """Of the same kind, with their bags."""
    return [
        {"id": a.id, "cheap": rn.top(2, [b for b in P if b.kind == a.kind and b.id != a.id], key=lambda b: b.price)}
        for a in P
    ]


@rn.view
def extremes(P: Bag[Part]) -> list[Any]:
    """Values of others, of a group and of all, also as a condition; the one that a row names is another one."""
    return [
        {
            "id": a.id,
            "least": nearest(a, P),
            "most": max((b.weight for b in P if b.id != a.id), default=None),
            "but": [b["w"] for b in rn.top(1, [{"w": b.price} for b in P if b.id != a.like], key=lambda r: -r["w"])],
        }
        for a in P
        if a.price >= max((b.price for b in P if b.kind == a.kind and a.id != b.id), default=0)
    ]


@rn.view
def inside(P: Bag[Part]) -> list[Any]:
    """In the bag of a group, where it is asked as before."""
    return [
        {"kind": kind, "parts": [{"id": a.id, "next": sorted(
            (b.weight or 0.0 for b in P if b.kind == kind and b.id != a.id), reverse=True)[:1]} for a in parts]}
        for kind, parts in rn.group_by(P, lambda p: p.kind)
    ]  # fmt: skip


@rn.view
def twins(P: Bag[Part]) -> list[Any]:
    """Whether there is another one like it, and those that are the only ones."""
    return [
        {"id": a.id, "twin": any(b.weight == a.weight and b.price < 2 for b in P if b.id != a.id)}
        for a in P
        if not any(b.kind == a.kind for b in P if b.id != a.like)
    ]


def earlier(part: Any, parts: Any) -> Any:
    return [p for p in parts if p.price <= part.price and p.id != part.id]


def later(part: Any, parts: Any) -> Any:
    return [p for p in parts if p.price >= part.price and p.id != part.id]


@rn.view
def so_far(P: Bag[Part]) -> list[Any]:
    """Up to a row, in another order than that in which they are first."""
    return [
        {
            "id": a.id,
            "most": max((b.weight for b in earlier(a, P) if b.kind == a.kind), default=None),
            "two": [b.id for b in rn.top(2, later(a, P), key=lambda b: (b.weight, b.id))],
        }
        for a in P
    ]


@rn.view
def every_other(P: Bag[Part]) -> list[Any]:
    """As many as a number can say."""
    others = 9223372036854775807
    return [{"id": a.id, "o": rn.top(others, [b.price for b in P if b.id != a.id], key=lambda n: n)} for a in P]


VIEWS = (rivals, extremes, inside, twins, so_far, every_other)


@pytest.fixture(scope="module", autouse=True)
def once() -> Iterator[None]:
    with compiled_once():
        yield


def part(c: Choices, i: int) -> dict[str, Any]:
    kind, like = c.pick(["a", "a", "b", None]), c.pick([None, c.number(6), i])
    weight = c.pick([None, 0.5, float("nan"), -0.0, 2.0])
    notes = [c.pick("xy") for _ in range(c.number(2))]
    return {"id": i, "kind": kind, "price": c.number(3), "weight": weight, "like": like, "notes": notes}


@law(examples=many(12, 200), tries=200)
def test_they_are_the_first_after_every_batch(c: Choices) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local", policy="incremental") as db:
        db.relation("P", Part, key="id")
        rows = {i: part(c, i) for i in range(c.number(7))}
        db.load("P", [*rows.values()])
        for view in VIEWS:
            db.create(view)
        for _ in range(1 + c.number(4)):
            with db.batch() as b:
                for i in {c.number(8) for _ in range(3)}:
                    if i in rows and c.one_in(2):
                        b.delete_key("P", id=i)
                        del rows[i]
                    else:
                        rows[i] = part(c, i)
                        b.upsert("P", [rows[i]])
            for view in VIEWS:
                assert db.view(view.name).rows() == view(P=[*rows.values()]), view.name


@pytest.mark.parametrize("view", [rivals, extremes, twins, so_far])
def test_rows_of_a_group_are_kept_once(tmp_path: Path, view: rn.View) -> None:
    """What is stored grows with the rows, and a batch reads what has become another."""
    stored = []
    for many_rows in (200, 400):
        with rn.open(tmp_path / str(many_rows), engine="local") as db:
            db.relation("P", Part, key="id")
            blank = {"weight": 1.0, "like": None, "notes": []}
            db.load("P", [{"id": i, "kind": "ab"[i % 2], "price": i, **blank} for i in range(many_rows)])
            db.create(view)
            size = db._state.snapshot().size
            stored.append(sum(size(m.name) for m in db._declared.plan().maps))
            with db.batch() as b:
                b.insert("P", [{"id": many_rows, "kind": "a", "price": many_rows // 2, **blank}])
            assert b.report.rows_read < 60
    assert stored[1] < 2.5 * stored[0]


@rn.view
def beside_the_first(P: Bag[Part]) -> list[Any]:
    """Around rows that are none of a relation."""
    return [
        {"id": v.id, "above": max((p.price for p in P if v.price - 1 < p.price < v.price + 3), default=None)}
        for v in rn.top(3, P, key=lambda p: (p.price, p.id))
    ]


def test_rows_around_them_may_be_first_rows_themselves(tmp_path: Path) -> None:
    with rn.open(tmp_path, engine="local") as db:
        db.relation("P", Part, key="id")
        blank = {"kind": None, "weight": 1.0, "like": None, "notes": []}
        db.load("P", [{"id": i, "price": i * 7 % 20, **blank} for i in range(20)])
        db.create(beside_the_first)
        with db.batch() as b:
            b.delete_key("P", id=0)
            b.insert("P", [{"id": 20, "price": 2, **blank}])
        assert db.view("beside_the_first").rows() == beside_the_first(P=db.relation("P").rows()) and db.verify()
