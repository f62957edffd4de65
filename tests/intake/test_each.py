"""Deep operations for each row of a table are those of its rows one by one: at every depth, with every verb."""

from itertools import groupby
from typing import Any

import pyarrow as pa
import pytest
from support.customers import COUNTS, KEYS, NEVER, Life, Operation, documents, life, nested_batch, random_batches, run
from support.laws import law
from support.sizes import many

import ripplenest as rn
from ripplenest.intake.operations import KEYED
from ripplenest.nrc.errors import RipplenestError
from ripplenest.nrc.values import NAN

ALONE = ("", "labelled")  # nothing is asked of a table there
SEEN = {"b": NAN, "c": "x"}


def singles(batches: Life) -> Life:
    """Operations of one row each, but for those on whole documents."""
    return [[single for o in operations for single in single_rows(o)] for operations in batches]


def single_rows(o: Operation) -> list[Operation]:
    verb, path, address, rows = o
    return [(verb, path, address, [row]) for row in rows] if path else [o]


def by_tables(b: Any, operations: list[Operation], keys: dict[str, str]) -> None:
    """Those of one verb and path that follow one another as one for each row of a table."""
    for number, ((verb, path), group) in enumerate(groupby(operations, key=lambda o: o[:2])):
        found = list(group)
        if path in ALONE:
            for o in found:
                run(b, o, keys)
        else:
            for_each(b, verb, path, found, keys, number)
            COUNTS[f"each {path}"] += len(found) > 1


def for_each(b: Any, verb: str, path: str, found: list[Operation], keys: dict[str, str], number: int) -> None:
    """``number`` says what the table is: dicts, or columns of Arrow; its rows' fields beside the address, or in one."""
    asks = {
        "items": "ko",
        "notes": "ko",
        "all items": "kd",
        "set date": "ko",
        "set by date": ["k", "d", "new"],
        "set city": ["k", "city"],
    }
    inside, rows = number % 2 == 1 and verb not in KEYED, []
    for _, _, (k, o), (row, *_) in found:
        own = {"notes": "x", "seen": SEEN}.get(path, row)
        asked = {"k": k, "o": o, "d": "e" if path == "set by date" else "d", "new": "ed"[k % 2], "city": "pq"[k % 2]}
        given = {} if path.startswith("set") else {"row": own} if inside or path == "notes" else own
        rows.append({**{name: asked[name] for name in asks.get(path, "k")}, **given})
    each = rn.each(pa.Table.from_pylist(rows) if number % 3 else rows)
    at = b.at("R", custkey=each.k)
    match path:
        case "set city":
            at.info.set(city=each.city)
        case "set by date":
            at.orders.at_all(date=each.d).set(date=each.new)
        case "set date":
            at.orders.at(orderkey=each.o).set(date="e")
        case "orders":
            written(at.orders, verb, each, inside, keys.get("orders", ""))
        case "items":
            written(at.orders.at(orderkey=each.o).items, verb, each, inside, keys.get("orders.items", ""))
        case "all items":
            written(at.orders.at_all(date=each.d).items, verb, each, inside, keys.get("orders.items", ""))
        case "notes":
            written(at.orders.at(orderkey=each.o).notes, verb, each, inside, "")
        case "seen":
            written(at.info.seen, verb, each, inside, keys.get("info.seen", ""))
        case _:
            raise AssertionError(path)


def written(bag: Any, verb: str, each: rn.Each, inside: bool, key: str) -> None:
    if verb in KEYED and key:
        getattr(bag, verb)(**{key: each[key]})
    else:
        getattr(bag, verb if key or verb == "delete" else "insert")(each.row if inside else each)


def what(error: RipplenestError) -> object:
    return type(error), error.what, error.wanted, error.got


@pytest.mark.parametrize("few", [0, NEVER])
@pytest.mark.parametrize("name", KEYS)
@law(random_batches(nested_batch), examples=many(5, 60))
def test_for_each_row_is_row_by_row(few: int, name: str, batches: Life) -> None:
    opened, keys = documents(name)
    one = singles(batches)
    assert life(opened, keys, one, few, False, by_tables, what) == life(opened, keys, one, NEVER, False, said=what)


def test_enough_was_met() -> None:
    paths = ("orders", "items", "notes", "all items", "seen", "set date", "set by date", "set city")
    assert all(COUNTS[f"each {path}"] > many(2, 20) for path in paths), COUNTS
    assert all(COUNTS[e] > many(5, 50) for e in ("DuplicateKey", "RowNotThere", "UnknownKey")), COUNTS
    assert COUNTS["by columns"] > many(50, 250), COUNTS
