"""Lives of a relation: random batches of operations of every verb, at every depth, and what they leave.

Keys present or not, NULL and NaN, rows that come and go in one batch, on what earlier batches have left.
"""

import copy
import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.intake import apply
from ripplenest.intake.columns import ColumnChanges
from ripplenest.intake.operations import KEYED
from ripplenest.nrc.errors import RipplenestError
from ripplenest.nrc.values import NAN
from support.choices import Choices
from support.states import MEMORY

COUNTS: Counter[str] = Counter()
NEVER = 1 << 40
Document = dict[str, Any]
Operation = tuple[str, str, tuple[object, ...], Any]  # verb, path, address and what is given


@rn.record
class Inner:
    b: float | None
    c: str


@rn.record
class Row:
    a: int
    inner: Inner
    d: str | None


@rn.view
def related(R: Bag[Row]):
    return [{"a": r.a, "others": [s.d for s in R if s.inner.c == r.inner.c]} for r in R]


@rn.record
class Item:
    line: int
    part: float | None
    tags: Bag[str]


@rn.record
class Order:
    orderkey: int
    date: str | None
    items: Bag[Item]
    notes: Bag[str] | None


@rn.record
class Info:
    city: str
    seen: Bag[Inner]


@rn.record
class Customer:
    custkey: int
    info: Info
    orders: Bag[Order] | None
    rests: Bag[Bag[int]]


@rn.view
def deep(R: Bag[Customer]):
    return [{"c": c.info, "o": [{"d": o.date, "t": [t for i in o.items for t in i.tags]} for o in c.orders]} for c in R]


def flat_row(c: Choices) -> Document:
    if c.one_in(3):
        inner = {"b": c.pick((1.5, None, NAN, -0.0, 0.0)), "c": c.pick(("x", "y"))}
        return {"a": c.number(4), "inner": inner, "d": c.pick((None, "", "é"))}
    return {"a": c.number(2), "inner": {"b": 0.0, "c": "x"}, "d": None}


def flat_batch(c: Choices, _: list[Document]) -> list[Operation]:
    verbs = ("insert", "insert", "delete", "upsert", "delete_key", "discard_key")
    return [(c.pick(verbs), "", (), [flat_row(c) for _ in range(c.number(4))]) for _ in range(1 + c.number(3))]


def some(c: Choices, make: Callable[[Choices, int], Document]) -> list[Document]:
    """Rows with different keys; now and then one of them twice."""
    found = [make(c, key) for key in range(3) if not c.one_in(3)]
    return found + copy.deepcopy(found[:1]) if c.one_in(15) else found


def item(c: Choices, key: int) -> Document:
    return {"line": key, "part": c.pick((None, 1.0, -0.0, NAN)), "tags": [c.pick("ab") for _ in range(c.number(3))]}


def order(c: Choices, key: int) -> Document:
    notes = c.pick((None, [], ["x"], ["x", "x"]))
    return {"orderkey": key, "date": c.pick((None, "d", "d")), "items": some(c, item), "notes": notes}


def customer(c: Choices, key: int) -> Document:
    seen = [{"b": c.pick((0.0, NAN)), "c": "xyz"[i] if not c.one_in(20) else "x"} for i in range(c.number(3))]
    orders = None if c.one_in(8) else some(c, order)
    rests = [[1, 1], [], [1, 1]][c.number(3) :]
    return {"custkey": key, "info": {"city": c.pick("pq"), "seen": seen}, "orders": orders, "rests": rests}


def document(c: Choices, pool: list[Document]) -> Document:
    """One of a few documents, often, so that deletes find what is there and upserts what is nearly there."""
    if c.one_in(4):
        pool.append(customer(c, c.number(5)))
    found = copy.deepcopy(c.pick(pool))
    if c.one_in(3) and found["orders"]:
        found["orders"][0]["items"] = some(c, item)
    return found


def nested_batch(c: Choices, pool: list[Document]) -> list[Operation]:
    """Often one kind of operation alone: of several one is often refused."""
    return [o for _ in range(c.pick((1, 1, 2))) for o in (whole(c, pool) if c.one_in(2) else inner(c))]


def whole(c: Choices, pool: list[Document]) -> list[Operation]:
    verb = c.pick(("insert", "delete", "upsert", "delete_key", "discard_key"))
    return [(verb, "", (), [document(c, pool) for _ in range(1 + c.number(2))])]


def inner(c: Choices) -> list[Operation]:
    """One to three operations on inner bags, of one shape or nearly."""
    verb = c.pick(("insert", "delete", "upsert", "delete_key", "discard_key"))
    path = c.pick(
        (
            *("orders",) * 2,
            "items",
            *("notes", "all items") * 2,
            "labelled",
            "seen",
            "set date",
            "set by date",
            "set city",
        )
    )
    found: list[Operation] = []
    for _ in range(1 + c.number(3)):
        make = order if path in ("orders", "labelled") else item
        rows = some(c, make) if verb == "upsert" else [make(c, c.number(5))]
        found.append((verb, path, (c.number(3), c.number(3)), rows))
    return found


def run(b: Any, o: Operation, keys: dict[str, str]) -> None:
    """One operation; where rows have no key they are inserted instead."""
    verb, path, address, rows = o
    if not path:
        written(b, verb, rows, keys.get("", ""), "R")
        return
    custkey, orderkey = address
    at = b.at("R", label=custkey) if path == "labelled" else b.at("R", custkey=custkey)
    match path:
        case "orders" | "labelled":
            written(at.orders, verb, rows, keys.get("orders", ""))
        case "items":
            written(at.orders.at(orderkey=orderkey).items, verb, rows, keys.get("orders.items", ""))
        case "all items":
            written(at.orders.at_all(date="d").items, verb, rows, keys.get("orders.items", ""))
        case "notes":
            written(at.orders.at(orderkey=orderkey).notes, verb, ["x"], "")
        case "seen":
            written(at.info.seen, verb, [{"b": NAN, "c": "x"}], keys.get("info.seen", ""))
        case "set by date":
            at.orders.at_all(date="de"[len(rows) % 2]).set(date="ed"[custkey % 2])
        case "set date":
            at.orders.at(orderkey=orderkey).set(date=["d", "e"][len(rows) % 2])
        case "set city":
            at.info.set(city="pq"[custkey % 2])
        case _:
            raise AssertionError(path)


def written(bag: Any, verb: str, rows: list[Any], key: str, *name: str) -> None:
    if verb in KEYED and key:
        getattr(bag, verb)(*name, [{key: row[key]} for row in rows])
    else:
        getattr(bag, verb if key or verb == "delete" else "insert")(*name, rows)


Life = list[list[Operation]]


Way = Callable[[Any, list[Operation], dict[str, str]], None]


def one_by_one(b: Any, operations: list[Operation], keys: dict[str, str]) -> None:
    for o in operations:
        run(b, o, keys)


def life(
    open_: Callable[[str], Database],
    keys: dict[str, str],
    batches: Life,
    few: int,
    exact: bool,
    way: Way = one_by_one,
    said: Callable[[RipplenestError], object] = str,
) -> list[object]:
    """What each batch did or said, and what there was after it; ``exact``: with the labels."""
    seen: list[object] = []
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        patch.setattr(apply, "FEW", few)
        patch.setattr(apply, "ColumnChanges", Counted)
        with open_(f"{folder}/s") as db:
            for operations in batches:
                seen.append(done(db, operations, keys, way, said))
                snapshot = db._state.snapshot()
                if exact:
                    seen.append({t: snapshot.scan(t).counts() for t in sorted(db._store.tables())})
                seen.append([db.view(name).rows() for name in db.views])
                COUNTS["rows"] += len(snapshot.scan("R").counts())
            assert db.verify().ok
    return seen


class Counted(ColumnChanges):
    """Counts what is done by columns to its end."""

    def write(self, *operation: Any) -> None:
        super().write(*operation)
        COUNTS["by columns"] += 1

    def replace(self, *rows: Any) -> None:
        super().replace(*rows)
        COUNTS["by columns"] += 1


def done(
    db: Database, operations: list[Operation], keys: dict[str, str], way: Way, said: Callable[[RipplenestError], object]
) -> object:
    try:
        with db.batch() as b:
            way(b, operations, keys)
    except RipplenestError as error:
        COUNTS[type(error).__name__] += 1
        return said(error)
    for verb, path, _, _ in operations:
        COUNTS[f"{verb} {path}"] += 1
    return b.report.rows_in, b.report.rows_out


def random_batches(batch: Callable[[Choices, list[Document]], list[Operation]]) -> Callable[[Choices], Life]:
    def made(c: Choices) -> Life:
        pool: list[Document] = []
        first = batch is nested_batch
        if first:
            pool += [customer(c, key) for key in range(3)]
        documents = [("insert", "", (), copy.deepcopy(pool))] if first else []
        return [documents, *(batch(c, pool) for _ in range(1 + c.number(12 if first else 5)))]

    return made


KEYS: dict[str, dict[str, str]] = {
    "all": {"orders": "orderkey", "orders.items": "line"},
    "outer": {"orders": "orderkey", "info.seen": "c"},
    "inner": {"orders.items": "line"},
    "none": {},
}


def documents(name: str) -> tuple[Callable[[str], Database], dict[str, str]]:
    """A database of customers with the keys of that name, and these."""

    def opened(folder: str) -> Database:
        db = rn.open(folder, engine="local")
        db.relation("R", Customer, key="custkey", keys=KEYS[name])
        db.create(deep)
        return db

    return opened, {"": "custkey", **KEYS[name]}
