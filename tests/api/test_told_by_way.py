"""Groups that are told by way of others, and conditions that ask twice whether something is NULL: such views compile,
and have the rows that Python has."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Order:
    id: int
    c: int
    at: int
    n: int | None


@rn.record
class Follow:
    src: int
    dst: int
    at: int


@rn.view
def asked_twice(O: Bag[Order], F: Bag[Follow]) -> list[Any]:  # noqa: E741
    return [
        {"k": o.id, "s": max(f.at for f in F if f.src == o.id)}
        for o in O
        if o.n is None or max(f.at for f in F if f.src == o.id) is None
    ]


@rn.view
def within_groups(F: Bag[Follow]) -> list[Any]:
    """A window in a group is told by the key of the group, which the rows that it is of say."""
    rows = [
        {"c": k, "at": z.at, "n": len([y for y in rs if y.at > z.at])}
        for k, rs in rn.group_by(F, lambda q: q.dst) for z in rs
    ]  # fmt: skip
    return [{"k": a.c, "f": sum(a.n for b in rows if b.c == a.c)} for a in rows]


@rn.view
def beside_labels(O: Bag[Order]) -> list[Any]:  # noqa: E741
    """An answer is compared with what the label of a bag holds."""
    rows = [{"c": o.c, "at": o.at, "n": o.n} for o in O]
    return [
        {
            "k": x.c,
            "b": [
                {"k": k}
                for k, _ in rn.group_by(
                    [
                        y for y in rows
                        if y.c == x.c
                        if rn.coalesce(max(z.n for z in rows if z.c == x.c if z.at != y.at), x.n) == 2
                    ],
                    lambda q: q.c,
                )
            ],
        }
        for x in rows
    ]  # fmt: skip


@pytest.mark.parametrize("view", [asked_twice, within_groups, beside_labels], ids=lambda v: v.name)
def test_they_have_their_rows(view: rn.View, tmp_path: Path) -> None:
    random = Random(view.name)
    with rn.open(tmp_path, engine="local") as db:
        db.relation("O", Order, key="id")
        db.relation("F", Follow, key=("src", "dst"))
        db.create(view)
        for _ in range(12):
            with db.batch(policy="incremental") as b:
                orders = {random.randrange(8) for _ in range(4)}
                b.upsert("O", [Order(i, i % 3, random.randrange(4), random.choice([None, 1, 2])) for i in orders])
                follows = {(random.randrange(6), random.randrange(3)) for _ in range(4)}
                b.upsert("F", [Follow(src, dst, random.randrange(4)) for src, dst in follows])
                b.discard_key("O", [{"id": random.randrange(8)}])
            own = {name: db.relation(name).rows() for name, _ in view.query.relations}
            assert db.view(view.name).rows() == view(**own)
        assert db.verify().ok and len(db.view(view.name).rows())
