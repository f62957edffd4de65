"""What is declared to be a key is known to what chooses maps: what is looked up by a key is one row."""

from pathlib import Path

import numpy as np
import pyarrow as pa

import ripplenest as rn

ROWS = 100_000


@rn.record
class Order:
    id: int
    customer: int


@rn.record
class Item:
    order: int
    part: int
    qty: int


@rn.record
class Part:
    id: int
    price: int


@rn.view
def spent(O: rn.Bag[Order], L: rn.Bag[Item], P: rn.Bag[Part]):  # type: ignore[no-untyped-def]  # noqa: E741
    rows = [
        {"who": o.customer, "qty": i.qty, "price": p.price}
        for o in O
        for i in L
        if i.order == o.id
        for p in P
        if p.id == i.part
    ]
    return [{"who": who, "spent": sum(r.qty * r.price for r in own)} for who, own in rn.group_by(rows, lambda r: r.who)]


def loaded(db: rn.Database, key: str | None) -> None:
    """Orders and parts with such a key, and their items."""
    n = np.arange(ROWS)
    db.relation("O", Order, key=key)
    db.relation("L", Item)
    db.relation("P", Part, key=key)
    db.load("O", pa.table({"id": n, "customer": n % 1000}))
    db.load("L", pa.table({"order": n, "part": n % 5000, "qty": n % 7}))
    db.load("P", pa.table({"id": n, "price": n % 11}))


def kept(path: Path, key: str | None) -> str:
    """Which maps are kept where orders and parts have such a key, and why."""
    with rn.open(path) as db:
        loaded(db, key)
        view = db.create(spent)
        with db.batch() as b:
            b.insert("L", [Item(order=7, part=7, qty=7)])
        assert db.verify().ok
        found = str(view.explain())
    with rn.open(path) as db:  # which compiles it as it was
        assert not db.waiting
    return found


def test_what_is_found_by_a_key_is_not_joined_before(tmp_path: Path) -> None:
    """Of an order's items the parts are looked up; where a part could be many rows, items are kept with their worth."""
    worth = "sums of qty·price"
    assert worth not in kept(tmp_path / "keys", "id") and worth in kept(tmp_path / "none", None)


def test_a_key_that_is_renamed_stays_one(tmp_path: Path) -> None:
    """The view has the maps that it had, and so does not wait for others."""
    with rn.open(tmp_path / "s") as db:
        loaded(db, "id")
        db.create(spent)
        before = db._store.tables().keys()
        db.relation("P").rename("id", "number")
        assert not db.waiting and db._store.tables().keys() == before
    with rn.open(tmp_path / "s") as db:
        assert not db.waiting and dict(db._declared.views["spent"].options.keys)["P"] == ("number",)
