"""Windows of rows that are joined, have totals or a name, or are of several tables: batches read what changes, what is
stored grows with the rows, and both are what Python counts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.run import running


@rn.record
class Customer:
    id: int
    region: str


@rn.record
class Order:
    id: int
    customer: int
    day: int
    total: int


@rn.view
def leaders(C: Bag[Customer], O: Bag[Order]):  # noqa: E741
    spent = [{"id": c.id, "r": c.region, "t": sum(o.total for o in O if o.customer == c.id)} for c in C]
    return [{"id": a.id, "rank": 1 + len([b for b in spent if b.r == a.r and b.t > a.t])} for a in spent]


@rn.view
def places(C: Bag[Customer], O: Bag[Order]):  # noqa: E741
    """Those that ties share."""
    spent = [{"id": c.id, "r": c.region, "t": sum(o.total for o in O if o.customer == c.id)} for c in C]
    return [{"id": a.id, "place": 1 + len({b.t for b in spent if b.r == a.r and b.t > a.t})} for a in spent]


@rn.view
def visits(C: Bag[Customer], O: Bag[Order]):  # noqa: E741
    """How many orders there were from the first one of a visit on, and before that of the next."""
    named = [{"r": c.region, "at": o.day, "id": o.id} for c in C for o in O if o.customer == c.id]
    starts = [s for s in named if not any(p.r == s.r and p.at < s.at and s.at - p.at <= 2 for p in named)]
    return [
        {
            "id": s.id,
            "n": len([
                o for o in named if o.r == s.r and o.at >= s.at
                and not any(z.r == s.r and s.at < z.at and z.at <= o.at for z in starts)
            ]),
        }
        for s in starts
    ]  # fmt: skip


@rn.view
def balances(C: Bag[Customer], O: Bag[Order]):  # noqa: E741
    """Of rows of two tables together."""
    rows = [{"id": c.id, "day": c.id, "n": 1} for c in C] + [{"id": -o.id, "day": o.day, "n": o.total} for o in O]
    return [{"id": a.id, "sum": sum(b.n for b in rows if (b.day, b.id) <= (a.day, a.id))} for a in rows]


@rn.view
def months(C: Bag[Customer], O: Bag[Order]):  # noqa: E741
    """Groups by what is computed, of totals that can fail."""
    spent = [{"m": c.id % 40, "t": sum(o.total for o in O if o.customer == c.id) + 1} for c in C]
    return [{"m": m, "t": sum(s.t for s in ss)} for m, ss in rn.group_by(spent, lambda s: s.m)]


@pytest.mark.parametrize("view", [leaders, places, visits, balances, months], ids=lambda v: v.name)
def test_batches_read_what_changes(tmp_path: Path, view: rn.View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "WORTH", 50)
    read, stored = [], []
    for size in (50, 400):
        with rn.open(tmp_path / str(size), engine="local") as db:
            load(db, size)
            db.create(view)
            size_of = db._state.snapshot().size
            stored.append(sum(size_of(m.name) for m in db._declared.plan().maps) / size)
            for n in range(3):
                with db.batch(policy="incremental") as b:
                    b.insert("O", [{"id": 10_000 + n, "customer": size // 2, "day": 20 * size + 9 * n, "total": 1}])
                    b.delete_key("O", id=size // 2 + 7 * n)
                read.append(b.report.rows_read / sum(b.report.rows_out.values()))
                own = {name: db.relation(name).rows() for name, _ in view.query.relations}
                assert size > 50 or db.view(view.name).rows() == view(**own)
            assert db.verify()
    assert stored[1] < 1.2 * stored[0] and max(stored) < 22  # rows for each customer, who has two orders
    assert max(read) < 10, read


def load(db: rn.Database, size: int) -> None:
    days: Callable[[int], int] = lambda i: i * 7_919 % (8 * size)  # noqa: E731
    rows: dict[str, list[dict[str, Any]]] = {
        "C": [{"id": i, "region": "NS"[i % 2]} for i in range(size)],
        "O": [{"id": i, "customer": i % size, "day": days(i), "total": i * i % 1_009} for i in range(1, 2 * size)],
    }
    for name, record in (("C", Customer), ("O", Order)):
        db.relation(name, record, key="id")
        db.load(name, rows[name])
