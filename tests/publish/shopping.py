"""Random batches for the shop, made from what it holds: every kind of change, at every depth."""

from random import Random
from typing import Any

from support.shop import customer, item, movie, order

from ripplenest import Database
from ripplenest.api.batch import Batch

KINDS = ("new", "gone", "upsert", "same again", "order in", "order out", "item in", "item out", "tag in", "tag out",
         "film in", "film out", "nothing")  # fmt: skip


def items(r: Random) -> list[dict[str, Any]]:
    return [item(part, r.randint(1, 3), tuple(r.choices("ab", k=r.randint(0, 2)))) for part in range(r.randint(0, 2))]


def orders(r: Random) -> list[dict[str, Any]] | None:
    return [order(key, *items(r)) for key in range(r.randint(0, 3))] if r.randrange(5) else None


def film(r: Random) -> dict[str, Any]:
    return movie(r.choice("xyz"), r.choice([None, "Drama", "Ann"]), r.choice([None, "d"]))


def random_customer(r: Random, key: int) -> dict[str, Any]:
    return customer(key, r.choice([None, "Ann", "Drama"]), orders(r))


def random_batch(r: Random, db: Database, b: Batch) -> set[str]:
    """A few changes, each of another customer or film; what kinds they were."""
    free = {c["custkey"]: c for c in db.view("customers").rows()}
    films = db.view("movies").rows()
    done = set()
    for kind in r.sample(KINDS, k=r.randint(6, len(KINDS))):
        if kind == "film in":
            b.insert("M", [film(r)] * r.randint(1, 2))
            done.add(kind)
        elif kind == "film out" and films:
            b.delete("M", [films.pop(r.randrange(len(films)))])
            done.add(kind)
        elif kind == "new":
            key = r.randint(100, 10**9)
            b.insert("C", [random_customer(r, key)])
            done.add(kind)
        elif kind != "nothing" and free:
            old = free.pop(r.choice(list(free)))
            done |= {kind} if _change(r, b, kind, old) else set()
    return done


def _change(r: Random, b: Batch, kind: str, old: dict[str, Any]) -> bool:
    """Change one customer; False when there is nothing of the kind to change."""
    match kind:
        case "gone":
            b.delete("C", [old])
        case "upsert":
            b.upsert("C", [random_customer(r, old["custkey"])])
        case "same again":
            b.upsert("C", [old])
        case _:
            return _deep(r, b, kind, old)
    return True


def _deep(r: Random, b: Batch, kind: str, old: dict[str, Any]) -> bool:
    what, _, way = kind.partition(" ")
    if old["orders"] is None:
        return False
    bag, rows = b.at("C", custkey=old["custkey"]).orders, old["orders"]
    if what == "order":
        return _one(r, bag, rows, way, lambda: order(r.randint(10, 10**9), *items(r)))
    rows = [o for o in rows if what == "item" or o["items"]]
    if not rows:
        return False
    chosen = r.choice(rows)
    bag, rows = bag.at(orderkey=chosen["orderkey"]).items, chosen["items"]
    if what == "item":
        return _one(r, bag, rows, way, lambda: item(r.randint(10, 10**9), r.randint(1, 3), ("c",)))
    chosen = r.choice(rows)
    return _one(r, bag.at(part=chosen["part"]).tags, chosen["tags"], way, lambda: r.choice("ab"))


def _one(r: Random, bag: Any, rows: list[Any], way: str, new: Any) -> bool:
    if way == "in":
        bag.insert([new()])
    elif rows:
        bag.delete([r.choice(rows)])
    return way == "in" or bool(rows)
