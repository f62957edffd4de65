"""The life of a database: relations, loads, views, batches, compaction and a vacuum through the public API."""

from collections.abc import Callable, Mapping
from typing import Any

from ripplenest import Database
from support import shop
from support.api_life import ApiLife, batches
from support.lives import SOURCE, Found, digest_of
from support.shop import ANN, BOB, FILMS, customer, item, movie, order
from support.states import state

VIEWS = (shop.customers, shop.movies, shop.related, shop.tags, shop.best)
BATCHES = 4


def operations(seq: int) -> list[tuple[str, str, list[Any]]]:
    """Batch ``seq`` on the shop: (verb, relation, rows) one after another."""
    return [
        [("insert", "C", [BOB]), ("insert", "M", [movie("Alien", "Horror"), movie("Drive", "Drama", "Refn")])],
        [("upsert", "C", [customer(7, "Ann", [order(11, item(3, 4, ("b", "c")))])]), ("delete", "M", FILMS[:1])],
        [("delete", "C", [BOB]), ("insert", "C", [customer(9, "Cid", [order(1, item(1))])])],
        [("insert", "M", [movie("Tenet", "Action", "Nolan")]), ("delete", "M", [movie("Alien", "Horror")])],
    ][seq - 1]


def rows_after(loaded: Mapping[str, bool], batches: int) -> dict[str, list[Any]]:
    """What the relations hold after the loads and ``batches``."""
    rows: dict[str, list[Any]] = {name: list(first) if loaded[name] else [] for name, first in LOADS.items()}
    for seq in range(1, batches + 1):
        for verb, relation, given in operations(seq):
            keys = {row["custkey"] for row in given} if verb == "upsert" else set()
            rows[relation] = [row for row in rows[relation] if not keys or row["custkey"] not in keys]
            for row in given:
                (rows[relation].remove if verb == "delete" else rows[relation].append)(row)
    return rows


LOADS = {"C": [ANN], "M": FILMS}


class DatabaseLife(ApiLife):
    """Relations, loads, views, batches, compaction and a vacuum through the public API."""

    def steps(self, db: Database, acknowledge: Callable[[], None]) -> None:
        db.relation("C", shop.Customer, key="custkey")
        acknowledge()
        db.relation("M", shop.Movie)
        acknowledge()
        for name, rows in LOADS.items():
            db.load(name, rows)
            acknowledge()
        for view in VIEWS:
            db.create(view)
            acknowledge()
        for seq in range(1, BATCHES + 1):
            with db.batch(SOURCE, seq) as b:
                for verb, relation, rows in operations(seq):
                    getattr(b, verb)(relation, rows)
            acknowledge()
        db._store.compact(everything=True)
        acknowledge()
        db._store.vacuum(2)

    def look(self, handle: Database) -> Found:
        db, done, loaded = handle, batches(handle), _loaded(handle)
        rows = rows_after(loaded, done)
        for view in VIEWS:
            if view.name in db.views:
                assert db.view(view.name).rows() == view(**{r: rows[r] for r, _ in view.query.relations}), view.name
        return Found(db.version, done)

    def digest(self, handle: Database) -> str:
        now = state(handle)
        tables = {t: sorted(map(repr, rows.items())) for t, rows in now.pop("tables").items()}
        del now["version"]  # it says how often a compaction was begun
        return digest_of((tables, now, batches(handle)))


def _loaded(db: Database) -> dict[str, bool]:
    return {name: db._store.applied(f"load:{name}", 1) is not None for name in LOADS}
