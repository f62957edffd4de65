"""The life of a database whose views and relations are defined anew: replaced, dropped, given other fields."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.nrc.types import Record
from support.crashes import Tell
from support.lives import SOURCE, Found, Life, digest_of
from support.shop import ANN, BOB, Customer, customer, item, order, tags
from support.states import MEMORY, state


@rn.view
def parts(C: Bag[Customer]):
    return [{"n": c.name, "big": [i.part for o in c.orders for i in o.items if i.qty > 1]} for c in C]


def replaced() -> Any:
    @rn.view
    def parts(C: Bag[Customer]):
        return [{"n": c.name, "big": [i.part for o in c.orders for i in o.items if i.qty > 2]} for c in C]

    return parts


NEW = customer(9, "Cid", [order(1, item(1, 5, ("x",)))])


class RedefineLife(Life[Database]):
    """A batch, a view replaced and one dropped, a field added, and a batch with it."""

    def open(self, folder: Path) -> Database:
        return rn.open(folder, engine="python")

    def live(self, folder: Path, tell: Tell) -> None:
        with self.open(folder) as db:
            self.go_on(db, tell)

    def go_on(self, handle: Database, tell: Tell) -> None:
        db = handle

        def acknowledge() -> None:
            tell(f"{db.version} {_batches(db)}")

        acknowledge()
        if _batches(db) == 0:
            db.relation("C", Customer, key="custkey")
            acknowledge()
            for view in (parts, tags):
                db.create(view)
                acknowledge()
            with db.batch(SOURCE, 1) as b:
                b.insert("C", [ANN, BOB])
            acknowledge()
        if _batches(db) == 1:
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
        db, batches = handle, _batches(handle)
        if "C" in db.relations:
            rows = [{k: v for k, v in row.items() if k != "vip"} for row in db.relation("C").rows()]
            wanted = [[], [ANN, BOB], [ANN, NEW]][batches]
            assert sorted(row["custkey"] for row in rows) == sorted(row["custkey"] for row in wanted)
            if "parts" in db.views:
                assert db.view("parts").rows() in (parts(C=rows), replaced()(C=rows))
            if "tags" in db.views:
                assert db.view("tags").rows() == tags(C=rows)
        assert db.verify().ok and db.waiting == {}
        return Found(db.version, batches)

    def digest(self, handle: Database) -> str:
        now = state(handle)
        tables = {t: sorted(map(repr, rows.items())) for t, rows in now.pop("tables").items()}
        return digest_of((sorted(tables.items()), _fields(handle), handle.views, _batches(handle)))

    @property
    def last(self) -> str:
        return _undisturbed()


@cache
def _undisturbed() -> str:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        life = RedefineLife()
        life.live(Path(folder) / "state", lambda _: None)
        with life.open(Path(folder) / "state") as db:
            return life.digest(db)


def _batches(db: Database) -> int:
    return db._store.last_seq(SOURCE) or 0


def _fields(db: Database) -> tuple[str, ...]:
    row = db.relation("C").shape.row
    assert isinstance(row, Record)
    return row.names
