"""Groups by what can fail: a batch is refused exactly where the view has no value, and reads the rows of its groups."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.nrc.errors import EvaluationError


@rn.record
class Item:
    id: int
    n: int
    kept: bool


@rn.record
class Owner:
    id: int


@rn.view
def groups(C: Bag[Owner], S: Bag[Item]):  # noqa: ARG001
    return [{"k": k, "ids": [s.id for s in ss]} for k, ss in rn.group_by(S, lambda s: 60 // s.n)]


@rn.view
def folded(C: Bag[Owner], S: Bag[Item]):  # noqa: ARG001
    return [
        {"k": k, "t": sum(s.id for s in ss), "top": max(s.id for s in ss), "share": [s.n / len(ss) for s in ss]}
        for k, ss in rn.group_by(S, lambda s: 60 // s.n)
    ]


@rn.view
def some(C: Bag[Owner], S: Bag[Item]):  # noqa: ARG001
    """Of some rows; of the others nobody asks."""
    return [{"k": k, "ids": [s.id for s in ss]} for k, ss in rn.group_by([s for s in S if s.kept], lambda s: 60 // s.n)]


@rn.view
def others(C: Bag[Owner], S: Bag[Item]):  # noqa: ARG001
    """Of more rows than there are in the groups."""
    return [
        {"k": k, "ids": [s.id for s in ss], "all": [s.id for s in S if 60 // s.n == k]}
        for k, ss in rn.group_by([s for s in S if s.kept], lambda s: 60 // s.n)
    ]


@rn.view
def of_owners(C: Bag[Owner], S: Bag[Item]):
    """What is the same for all owners is made where there are none, too."""
    return [{"c": c.id, "k": k, "ids": [s.id for s in ss]} for c in C for k, ss in rn.group_by(S, lambda s: 60 // s.n)]


@rn.view
def within(C: Bag[Owner], S: Bag[Item]):
    return [
        {"c": c.id, "gs": [{"k": k, "n": len(ss)} for k, ss in rn.group_by(S, lambda s: 60 // (s.n - c.id))]}  # noqa: B023
        for c in C
    ]


VIEWS = (groups, folded, some, others, of_owners, within)


@pytest.mark.parametrize("view", VIEWS, ids=lambda v: v.name)
def test_a_batch_is_refused_exactly_where_the_view_has_no_value(tmp_path: Path, view: rn.View) -> None:
    refused = taken = 0
    for seed in range(6):
        r = Random(seed)
        with rn.open(tmp_path / str(seed), engine="local") as db:
            db.relation("C", Owner, key="id")
            db.relation("S", Item, key="id")
            db.create(view)
            found: dict[str, dict[int, dict[str, Any]]] = {"C": {}, "S": {}}
            for _ in range(12):
                new = {name: dict(rows) for name, rows in found.items()}
                with_value = True
                try:
                    with db.batch() as b:
                        for name, key, row in drawn(r, new):
                            b.upsert(name, [row]) if row is not None else b.delete_key(name, id=key)
                        with_value = has_value(view, new)
                except EvaluationError:
                    assert not with_value or (view is of_owners and not new["C"])
                    refused += 1
                    continue
                assert with_value
                found, taken = new, taken + 1
                assert db.view(view.name).rows() == view(**{name: [*rows.values()] for name, rows in found.items()})
            assert db.verify()
    assert refused > 5 and taken > 20, (refused, taken)


def drawn(r: Random, found: dict[str, dict[int, dict[str, Any]]]) -> Iterator[tuple[str, int, dict[str, Any] | None]]:
    """Changes of ``found``, which is changed."""
    for name in ("S", "S", "C"):
        key = r.randrange(6) if name == "S" else r.choice((0, 7))
        if key in found[name] and r.random() < 0.5:
            del found[name][key]
            yield name, key, None
        elif name == "S" or r.random() < 0.3:
            more = {} if name == "C" else {"n": r.choice((0, 1, 2, 3, 7, 60)), "kept": r.random() < 0.5}
            row = {"id": key, **more}
            found[name][key] = row
            yield name, key, row


def has_value(view: rn.View, found: dict[str, dict[int, dict[str, Any]]]) -> bool:
    try:
        view(**{name: [*rows.values()] for name, rows in found.items()})
    except EvaluationError:
        return False
    return True


@pytest.mark.parametrize("view", [groups, folded, some], ids=lambda v: v.name)
def test_a_batch_reads_its_groups(tmp_path: Path, view: rn.View) -> None:
    for size in (100, 1_600):
        with rn.open(tmp_path / str(size), engine="local") as db:
            db.relation("C", Owner, key="id")
            db.relation("S", Item, key="id")
            db.load("S", [{"id": i, "n": i, "kept": True} for i in range(1, size)])
            db.create(view)
            assert view is folded or not any("Dom" in m.name for m in db._declared.plan().maps)
            with db.batch(policy="strict") as b:
                b.insert("S", [{"id": size, "n": 2, "kept": True}])
            assert b.report.rows_read < 12
            assert db.verify()


def test_rows_that_no_group_asks_for_need_no_key(tmp_path: Path) -> None:
    """Those that groups are made of have one; others that are compared with it are asked about where there is a group.
    """
    with rn.open(tmp_path, engine="local") as db:
        db.relation("C", Owner, key="id")
        db.relation("S", Item, key="id")
        db.create(others)
        with db.batch() as b:
            b.insert("S", [{"id": 1, "n": 0, "kept": False}])
        assert db.view("others").rows() == []
        with pytest.raises(EvaluationError), db.batch() as b:
            b.insert("S", [{"id": 2, "n": 1, "kept": True}])
        assert db.verify()
