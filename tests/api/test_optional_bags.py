"""Totals of bags that the optional side of an outer join has: of a bag that is always empty nothing ever changes."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many
from support.states import MEMORY, recomputed

import ripplenest as rn
from ripplenest import Bag, Database


@rn.record
class Line:
    n: int


@rn.record
class Order:
    id: int
    k: int
    lines: Bag[Line]


@rn.record
class User:
    id: int
    k: int


@rn.view
def joined(U: Bag[User], O: Bag[Order]):  # noqa: E741
    return [
        {"id": u.id, "n": len(o.lines), "some": any(line.n > 1 for line in o.lines), "lines": o.lines}
        for u, o in rn.left_join(U, O, lambda u, o: u.k == o.k)
    ]


@rn.view
def grouped(U: Bag[User], O: Bag[Order]):  # noqa: E741
    """Where both sides are groups."""
    return [
        {"k": a.k, "b": b.k, "n": len(b.us), "sum": sum(len(o.lines) for o in a.os)}
        for a, b in rn.full_join(
            [{"k": k, "os": os} for k, os in rn.group_by(O, lambda o: o.k)],
            [{"k": k, "us": us} for k, us in rn.group_by(U, lambda u: u.k)],
            lambda a, b: a["k"] == b["k"],
        )
    ]


@rn.view
def of_either(U: Bag[User], O: Bag[Order]):  # noqa: E741
    """A bag that is one of an order, or another one, which changes as well."""
    return [
        {"id": u.id, "n": len(row.lines)}
        for u in U
        for row in [{"lines": o.lines} for o in O if o.k == u.k]
        + [{"lines": [{"n": o.k} for o in O if o.id == u.id]}]
    ]


VIEWS = (joined, grouped, of_either)
COUNTS: Counter[str] = Counter()


def opened(folder: Path | str) -> Database:
    db = rn.open(folder, engine="local", policy="strict")
    db.relation("U", User, key="id")
    db.relation("O", Order, key="id")
    for view in VIEWS:
        db.create(view)
    return db


def user(c: Choices, key: int) -> dict[str, Any]:
    return {"id": key, "k": c.number(4)}


def order(c: Choices, key: int) -> dict[str, Any]:
    return {**user(c, key), "lines": [{"n": c.number(3)} for _ in range(c.number(3))]}


@law(examples=many(6, 300))
def test_views_are_what_they_say_after_every_batch(c: Choices) -> None:
    with TemporaryDirectory(dir=MEMORY) as folder, opened(folder) as db:
        for _ in range(4):
            with db.batch() as b:
                for name, made in (("U", user), ("O", order)):
                    b.upsert(name, [made(c, key) for key in range(5) if c.one_in(2)])
                    b.discard_key(name, [{"id": key} for key in range(5) if c.one_in(4)])
            recomputed(db, {view.name: view for view in VIEWS}, {name: db.relation(name).rows() for name in "UO"})
            COUNTS["without"] += any(row["b"] is None for row in db.view("grouped").rows())
            COUNTS["with"] += any(row["n"] for row in db.view("joined").rows())
        assert db.verify().ok


def test_enough_was_met() -> None:
    assert min(COUNTS["without"], COUNTS["with"]) > many(6, 300), COUNTS


def test_what_is_read(tmp_path: Path) -> None:
    """By strict, which takes all of them: of 200 users and orders, what a line that comes meets."""
    with opened(tmp_path / "s") as db:
        with db.batch() as b:
            b.insert("U", [{"id": i, "k": i} for i in range(200)])
            b.insert("O", [{"id": i, "k": i, "lines": [{"n": 1}]} for i in range(0, 200, 2)])
        with db.batch() as b:
            b.at("O", id=4).lines.insert([{"n": 5}])
        assert b.report.verdict == "incremental" and b.report.rows_read < 30


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_no_join_is_shown_that_no_change_reaches(view: rn.View) -> None:
    facts = rn.explain(view, materialize="none").json()
    assert "scan" not in {a["how"] for s in facts["statements"] for join in s["joins"] for a in join}
