"""What nobody asks for does not fail: of groups that are left out, of rows that something else is true of, of limits
that are looked up, of constants. And clocks and limits beside groups, and beside what is NULL, are kept fresh."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Item:
    id: int
    n: int
    m: int
    kept: bool


@rn.record
class Owner:
    id: int
    of: int


@rn.record
class Clock:
    id: int
    at: int
    high: int
    w: int | None


@rn.record
class Entry:
    id: int
    u: int
    v: int
    w: int | None


@rn.view
def counted(S: Bag[Item]):
    """What is asked of the rows of a group may fail for those of others."""
    return [{"n": len([s for s in ss if 60 // s.n > 5])} for k, ss in rn.group_by(S, lambda s: s.kept) if k]


@rn.view
def summed(S: Bag[Item]):
    return [{"n": sum(s.id for s in ss if 60 // s.n > 5)} for k, ss in rn.group_by(S, lambda s: s.kept) if k]


@rn.view
def under_a_condition(C: Bag[Owner], S: Bag[Item]):
    """The same is computed of rows of which something is true that can fail, and so is asked behind the map."""
    asked = [{"c": c.id, "n": len([s for s in S if 60 // s.m > 3 and 60 // s.n == c.id])} for c in C]
    return asked + [{"c": 60 // s.n, "n": 0} for s in S if 60 // s.m > 3]


@rn.view
def beside_groups(C: Bag[Owner], S: Bag[Item]):
    """It is computed where there is a group, too."""
    asked = [{"c": c.id, "n": len([s for s in S if 60 // s.n == c.id])} for c in C]
    return asked + [{"c": 60 // s.n, "n": k} for k, cs in rn.group_by(C, lambda c: c.of) for s in S]


@rn.view
def beside_totals(C: Bag[Owner], S: Bag[Item]):
    asked = [{"c": c.id, "n": len([s for s in S if 60 // s.n == c.id])} for c in C]
    return asked + [{"c": 60 // s.n, "n": n} for n in [len(C)] if n > 0 for s in S]


@rn.view
def with_none(K: Bag[Clock], E: Bag[Entry]):
    return [{"late": e.v < k.at, "n": 60 // 0} for e in E for k in K if k.id == 1]


@rn.view
def where_late(K: Bag[Clock], E: Bag[Entry]):
    return [{"n": e.v if e.v < k.at else 60 // 0} for e in E for k in K if k.id == 1]


@rn.view
def few(K: Bag[Clock], E: Bag[Entry]):
    """A limit that is looked up, and that nobody asks for where it has no value."""
    return [{"id": e.id, "few": e.v < 60 // k.at if e.v > 0 else False} for e in E for k in K if k.id == e.u]


@rn.view
def by_each(E: Bag[Entry]):
    """Rows compared with the keys of groups."""
    return [{"id": e.id, "of": of, "is": e.v < of} for of, es in rn.group_by(E, lambda e: e.u) for e in E]


@rn.view
def late(K: Bag[Clock], E: Bag[Entry]):
    """What a row has, or else something of its group, beside a clock."""
    return [
        {"u": u, "is": [(e.w or e.u) < k.at for e in es]}
        for u, es in rn.group_by(E, lambda e: e.u)
        for k in K
        if k.id == 1
    ]


@rn.view
def outside(K: Bag[Clock], E: Bag[Entry]):
    """What is beyond one of two limits is a group, and no row of a relation."""
    return [
        {"u": u, "n": len(es)}
        for u, es in rn.group_by(E, lambda e: e.u)
        for k in K
        if k.id == 1 and (u < k.at or u > k.high)
    ]


@rn.view
def outside_in_all(K: Bag[Clock], E: Bag[Entry]):
    return [
        {"u": u}
        for u, es in rn.group_by(E, lambda e: e.u)
        for k in K
        if k.id == 1 and (len(es) < k.at or len(es) > k.high)
    ]


@rn.view
def few_of_each(K: Bag[Clock], E: Bag[Entry]):
    return [{"few": all(len(es) < k.at for u, es in rn.group_by(E, lambda e: e.u))} for k in K if k.id == 1]


@rn.view
def beyond(K: Bag[Clock], E: Bag[Entry]):
    """Three that may be NULL are compared."""
    return [{"id": e.id} for e in E for k in K if k.id == 1 and (e.w + e.w < k.w or e.id > k.high)]


Rows = Mapping[str, Sequence[Mapping[str, Any]]]


def item(n: int, m: int, kept: bool = True) -> dict[str, Any]:
    return {"id": 10 * n + m, "n": n, "m": m, "kept": kept}


def clock(at: int, high: int = 0, w: int | None = None) -> dict[str, Any]:
    return {"id": 1, "at": at, "high": high, "w": w}


def entry(id_: int, u: int, v: int = 0, w: int | None = None) -> dict[str, Any]:
    return {"id": id_, "u": u, "v": v, "w": w}


LIVES: dict[str, tuple[rn.View, list[Rows], list[Any]]] = {
    "counted": (counted, [{"S": [item(2, 1), item(0, 1, False)]}], [{"n": 1}]),
    "summed": (summed, [{"S": [item(2, 1), item(0, 1, False)]}], [{"n": 21}]),
    "under a condition": (
        under_a_condition,
        [{"S": [item(0, 30), item(2, 15)]}, {"C": [{"id": 30, "of": 1}]}],
        [{"c": 30, "n": 0}, {"c": 30, "n": 1}],
    ),
    "beside groups": (beside_groups, [{"S": [item(0, 1)]}], []),
    "beside totals": (beside_totals, [{"S": [item(0, 1)]}], []),
    "of no row": (with_none, [{"K": [clock(5)]}], []),
    "on no side": (where_late, [{"K": [clock(5)]}], []),
    "a limit": (few, [{"K": [clock(0)]}, {"E": [entry(1, 1)]}], [{"id": 1, "few": False}]),
    "keys": (by_each, [{"E": [entry(1, 1)]}], [{"id": 1, "of": 1, "is": True}]),
    "of a group": (
        late,
        [{"K": [clock(1)], "E": [entry(1, 1, w=2)]}, {"K": [clock(3)], "E": [entry(3, 3)]}],
        [{"u": 1, "is": [True]}, {"u": 3, "is": [False]}],
    ),
    "groups beyond": (
        outside,
        [{"K": [clock(2, hi)], "E": [entry(i, i) for i in range(8)]} for hi in (3, 5)],
        [{"u": u, "n": 1} for u in (0, 1, 6, 7)],
    ),
    "groups of a size beyond": (
        outside_in_all,
        [{"K": [clock(2, 2)], "E": [entry(i, i // 2) for i in range(4)]}, {"E": [entry(8, 0), entry(9, 3)]}],
        [{"u": 0}, {"u": 3}],
    ),
    "all groups": (
        few_of_each,
        [{"K": [clock(at)], "E": [entry(1, 1), entry(2, 2)]} for at in (2, 1, 3)],
        [{"few": True}],
    ),
    "NULL": (beyond, [{"K": [clock(1, 1)], "E": [entry(2, 1)]}, {"E": [entry(3, 1, w=1)]}], [{"id": 2}, {"id": 3}]),
}


@pytest.mark.parametrize(("view", "batches", "rows"), LIVES.values(), ids=LIVES)
def test_it_is_kept_fresh(folder, view: rn.View, batches: list[Rows], rows: list[Any]) -> None:
    with rn.open(folder / "state", engine="local") as db:
        for name, record in (("S", Item), ("C", Owner), ("K", Clock), ("E", Entry)):
            db.relation(name, record, key="id")
        db.create(view)
        for batch in batches:
            with db.batch() as b:
                for name, some in batch.items():
                    b.upsert(name, some)
            assert db.verify().ok
        assert sorted(db.view(view.name).rows(), key=repr) == sorted(rows, key=repr)
