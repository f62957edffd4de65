"""The life of a database whose views and relations are defined anew: replaced, dropped, given other fields."""

from collections.abc import Callable
from typing import Any

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.nrc.types import Record
from support.api_life import ApiLife, batches
from support.lives import SOURCE, Found, digest_of
from support.shop import ANN, BOB, Customer, customer, item, order, tags
from support.states import state


@rn.view
def parts(C: Bag[Customer]):
    return [
        {
            "n": c.name,
            "big": [i.part for o in c.orders for i in o.items if i.qty > 1],
            "least": min(i.part for o in c.orders for i in o.items),
            "first": rn.top(1, [i.part for o in c.orders for i in o.items], desc=True),
        }
        for c in C
    ]


def replaced() -> Any:
    @rn.view
    def parts(C: Bag[Customer]):
        return [
            {
                "n": c.name,
                "big": [i.part for o in c.orders for i in o.items if i.qty > 2],
                "least": min(i.part for o in c.orders for i in o.items),
                "first": rn.top(2, [i.part for o in c.orders for i in o.items], desc=True),
            }
            for c in C
        ]

    return parts


NEW = customer(9, "Cid", [order(1, item(1, 5, ("x",)))])


class RedefineLife(ApiLife):
    """A batch, a view replaced and one dropped, a field added, and a batch with it."""

    def steps(self, db: Database, acknowledge: Callable[[], None]) -> None:
        if batches(db) == 0:
            db.relation("C", Customer, key="custkey")
            acknowledge()
            for view in (parts, tags):
                db.create(view)
                acknowledge()
            with db.batch(SOURCE, 1) as b:
                b.insert("C", [ANN, BOB])
            acknowledge()
        if batches(db) == 1:
            if "vip" not in _fields(db):
                db.replace(replaced())
                acknowledge()
            if "tags" in db.views:
                db.drop("tags")
                acknowledge()
            if "vip" not in _fields(db):
                db.relation("C").add("vip", bool, default=False)
                acknowledge()
            with db.batch(SOURCE, 2) as b:
                b.insert("C", [{**NEW, "vip": True}])
                b.delete("C", [{**BOB, "vip": False}])
            acknowledge()
        db.vacuum(keep=1)
        db.compact(everything=True)
        acknowledge()

    def look(self, handle: Database) -> Found:
        """Each view is its definition, one of two; nothing of a dropped one is left behind."""
        db, done = handle, batches(handle)
        if "C" in db.relations:
            rows = [{k: v for k, v in row.items() if k != "vip"} for row in db.relation("C").rows()]
            wanted = [[], [ANN, BOB], [ANN, NEW]][done]
            assert sorted(row["custkey"] for row in rows) == sorted(row["custkey"] for row in wanted)
            if "parts" in db.views:
                assert db.view("parts").rows() in (parts(C=rows), replaced()(C=rows))
            if "tags" in db.views:
                assert db.view("tags").rows() == tags(C=rows)
        assert db.verify().ok and db.waiting == {}
        return Found(db.version, done)

    def digest(self, handle: Database) -> str:
        """Labels are of the version that a batch made, which is another when a definition was made twice."""
        tables = sorted((t, len(rows)) for t, rows in state(handle)["tables"].items())
        shown = [handle.relation("C").rows(), *(handle.view(name).rows() for name in handle.views)]
        return digest_of((tables, shown, _fields(handle), handle.views, batches(handle)))


def _fields(db: Database) -> tuple[str, ...]:
    row = db.relation("C").shape.row
    assert isinstance(row, Record)
    return row.names
