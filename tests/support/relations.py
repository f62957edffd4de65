"""Relations of any shape with rows for them, as users have them, and what a state holds of these."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

import ripplenest as rn
from ripplenest import Bag, Database
from ripplenest.data.level_values import nested_type
from ripplenest.nrc.errors import RipplenestError
from ripplenest.nrc.surface.records import annotation_type
from ripplenest.nrc.types import Bag as BagType
from ripplenest.nrc.types import Base, Record, Type, has_columns
from ripplenest.nrc.values import from_value
from ripplenest.schema.relation import Relation, declare
from support.choices import Choices
from support.schemas import random_bag, row_type


def relation(c: Choices) -> Relation:
    """A relation with rows of any type, keys, and bags that stay arrays."""
    row = row_type(c, 3)
    own, inner = _able(row, True), list(Relation("R", row).parts.items())[1:]
    rows = {path.removeprefix("R."): part.row for path, part in inner}
    keys = {path: c.pick(able) for path, t in rows.items() if (able := _able(t, False)) and not c.one_in(3)}
    immutable = tuple(path for path in rows if c.one_in(3))
    return declare("R", row, c.pick(own) if own and not c.one_in(3) else None, immutable, c.one_in(2), keys)


@rn.record
class Item:
    line: int
    qty: float | None
    tags: Bag[str]


@rn.record
class Order:
    order: int
    note: str | None
    items: Bag[Item] | None


@rn.record
class Customer:
    name: str
    orders: Bag[Order]
    codes: Bag[int]


@rn.record
class Price:
    part: str | None
    at: int | None
    price: float


KEYED: list[tuple[type, Any, dict[str, str]]] = [
    (Price, "part", {}),
    (Price, ("part", "at"), {}),
    (Price, None, {}),
    (Order, "order", {"items": "line"}),
    (Customer, "name", {"orders": "order", "orders.items": "line"}),
]


def keyed(c: Choices) -> Relation:
    """A relation of any kind, or one of those in which all rows that hold bags have keys."""
    if c.one_in(5):
        return relation(c)
    row, key, keys = c.pick(KEYED)
    return declare("R", annotation_type(row, "R"), key, keys=keys)


def _able(row: Type, may_be_null: bool) -> list[str]:
    """The fields that can be a key."""
    fields = row.fields if isinstance(row, Record) else ()
    return [n for n, t in fields if isinstance(t, Base) and (may_be_null or not t.nullable)]


def distinct(c: Choices, value: Any, t: Type, n: int) -> Any:
    """``value`` with texts and numbers that many rows differ in, so that most keys are there once."""
    match t:
        case Base(kind="long") if value is not None and not c.one_in(30):
            return value + 3 * n + c.number(3)
        case Base(kind="string") if value is not None and not c.one_in(30):
            return f"{value}{n}é"
        case Record() if isinstance(value, dict):
            return {name: distinct(c, value[name], inner, n) for name, inner in t.there.fields}
        case BagType(row) if value is not None:
            return [distinct(c, v, row, n + i) for i, v in enumerate(value)]
    return value


def rows_of(c: Choices, r: Relation) -> pa.Table:
    """Rows as a user has them; now and then one has a NULL where none may be."""
    many = c.pick((0, 1, 6, 30))
    bags = [random_bag(c, r.row, 3) for _ in range(many)]
    values = [from_value(v, r.row) for bag in bags for v, n in bag for _ in range(n)][:many]
    found = [distinct(c, value, r.row, 10 * i) for i, value in enumerate(values)]
    if found and c.one_in(6):
        at = c.number(len(found))
        found[at] = spoilt(c, found[at], r.row)
    fields = r.row.fields if has_columns(r.row) else (("value", r.row),)
    schema = pa.schema([(name, nested_type(t)) for name, t in fields])
    return pa.Table.from_pylist([v if has_columns(r.row) else {"value": v} for v in found], schema)


def spoilt(c: Choices, value: Any, t: Type) -> Any:
    match t:
        case Record() if value:
            name, inner = c.pick(t.there.fields)
            return {**value, name: spoilt(c, value[name], inner)}
        case BagType(row) if value:
            return [spoilt(c, value[0], row), *value[1:]]
    return None


@contextmanager
def opened(folder: Path, r: Relation) -> Iterator[Database]:
    with rn.open(folder, engine="local") as db:
        db._commits.relation(r)
        yield db


def outcome(load: Callable[[], int]) -> str:
    try:
        return f"loaded {load()}"
    except RipplenestError as error:
        return f"{error!r} {error}"


def stored(db: Database) -> dict[str, Any]:
    snapshot = db._store.snapshot()
    return {table: Counter(snapshot.scan(table).counts()) for table in snapshot.tables}


def shown(db: Database) -> Counter[str]:
    return Counter(map(repr, db.relation("R").rows()))
