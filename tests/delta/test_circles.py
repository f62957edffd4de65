"""Groups that would be asked for by what they answer: a reader in such a circle has a copy for itself."""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from support.sizes import many

import ripplenest as rn
from ripplenest import Bag
from ripplenest.delta.compile import compile_view


@rn.record
class Item:
    x: int


@rn.record
class Row:
    k: int
    items: Bag[Item]


@rn.record
class Limit:
    most: int | None


@rn.record
class Log:
    at: int
    w: int


@rn.record
class Task:
    logs: Bag[Log]


@rn.record
class Project:
    tasks: Bag[Task]


@rn.record
class Team:
    id: int
    projects: Bag[Project]


def counted(a, e):  # type: ignore[no-untyped-def]
    """By x how many items there are, if that is wanted."""
    return [{"n": len([1 for i in items if e.most <= 3])} for x, items in rn.group_by(a.items, lambda i: i.x)]


@rn.view
def totals(A: Bag[Row], E: Bag[Limit]):
    """The places of the sum have a count in them."""
    return [
        min(sum(q["n"] + p.x for q in c if q["n"] >= r["n"]) for p in a.items for r in c)
        for a in A
        for c in [counted(a, e) for e in E]
    ]


@rn.view
def bags(A: Bag[Row], E: Bag[Limit]):
    """So do those of an inner bag."""
    return [
        {"k": a.k, "of": [{"n": r["n"], "more": [q["n"] for q in c if q["n"] > r["n"]]} for r in c]}
        for a in A
        for c in [counted(a, e) for e in E]
    ]


@rn.view
def firsts(A: Bag[Row], E: Bag[Limit]):
    """And those of first rows, in which a total is read whose places have one."""
    return [
        {
            "k": a.k,
            "tops": [
                rn.top(
                    1, [{"n": q["n"], "s": sum(p["n"] for p in c if p["n"] <= q["n"])} for q in c if q["n"] >= r["n"]]
                )
                for r in c
            ],
        }
        for a in A
        for c in [counted(a, e) for e in E]
    ]


@rn.view
def alone(T: Bag[Team]):
    """Shown in bags of groups by what is first behind an edge: the labels of these bags are made of it."""
    rows = [
        {"no": t.id + 9000, "id": t.id, "at": o.at, "w": o.w}
        for t in T for p in t.projects for q in p.tasks for o in q.logs
    ]  # fmt: skip
    near = [
        {"no": x.no, "id": x.id, "w": x.w, "alone": not any(y.no == x.no and abs(x.at - 1 - y.at) <= 0 for y in rows)}
        for x in rows
    ]
    return [
        {"w": w, "of": [{"id": i, "rows": [{"no": x.no, "is": x.alone} for x in h]} for i, h in rn.group_by(g, by_id)]}
        for w, g in rn.group_by(near, lambda x: x.w)
    ]


def by_id(x):  # type: ignore[no-untyped-def]
    return x.id


VIEWS = (totals, bags, firsts)
EMPTY: Mapping[str, list[Any]] = {"A": [], "E": [], "T": []}


@pytest.mark.parametrize("view", VIEWS, ids=lambda v: v.name)
def test_a_reader_in_a_circle_has_a_group_for_itself(view: rn.View) -> None:
    """The counts are asked for by whoever shows them, and by what is asked for with one of them."""
    maps = compile_view(view.query).program.maps
    counts = [m for m in maps if m.group is not None and m.group.folds == ("count(…)",)]
    assert len({m.name for m in counts}) == len({m.at for m in counts}) > 1


@pytest.mark.parametrize("policy", ["incremental", "full"])
def test_they_are_kept_fresh(policy: Any, tmp_path: Any) -> None:
    random = Random(7)
    rows: dict[str, list[Any]] = {name: [] for name in EMPTY}
    with rn.open(tmp_path, engine="local", policy=policy) as db:
        db.relation("A", Row)
        db.relation("E", Limit)
        db.relation("T", Team)
        for view in (*VIEWS, alone):
            db.create(view)
        for _ in range(many(6, 200)):
            with db.batch() as b:
                for name, held in rows.items():
                    gone = [row for row in held if random.random() < 0.4]
                    came = [random_row(random, name) for _ in range(random.randint(0, 2))]
                    held[:] = [row for row in held if not any(row is other for other in gone)] + came
                    b.delete(name, gone)
                    b.insert(name, came)
            for view in VIEWS:
                assert db.view(view.name).rows() == view(A=rows["A"], E=rows["E"]), view.name
            assert db.view("alone").rows() == alone(T=rows["T"])
        assert db.verify().ok


def random_row(random: Any, name: str) -> dict[str, Any]:
    if name == "E":
        return {"most": random.choice([1, 3, 4, None])}
    if name == "T":
        logs = [{"at": random.randint(0, 3), "w": random.randint(0, 1)} for _ in range(random.randint(0, 4))]
        return {"id": random.randint(0, 2), "projects": [{"tasks": [{"logs": logs}, {"logs": logs[:1]}]}]}
    return {"k": random.randint(0, 2), "items": [{"x": random.randint(0, 2)} for _ in range(random.randint(0, 4))]}
