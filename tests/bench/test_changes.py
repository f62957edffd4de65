"""The batches that are measured: what comes goes again, so many items at a time, and deep updates say what whole rows
say."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ripplenest.bench.changes import Change
from ripplenest.bench.data import Data
from ripplenest.bench.measure import stored_rows
from ripplenest.bench.workloads import F2, GROUPBY, JOINGROUP, NESTED, TRIANGLES, WORKLOADS, Workload

DATA = Data(0.0005, 7)
SIZES = (1, 2, 7, 50)


def rows_of(tables: dict[str, pa.Table]) -> dict[str, Counter[str]]:
    return {name: Counter(map(repr, table.to_pylist())) for name, table in tables.items()}


def applied(state: dict[str, Counter[str]], keys: dict[str, tuple[str, ...]], change: Change) -> None:
    """Apply whole rows; one that goes is there, by its key."""
    for write in change.writes:
        rows = state[write.relation]
        for row in write.rows.to_pylist():
            key = [row[k] for k in keys[write.relation]]
            if write.verb == "insert":
                rows[repr(row)] += 1
            else:
                start = _start(row, keys[write.relation], key)
                (old,) = [text for text in rows if (text[:-1] + ",").startswith(start)]
                del rows[old]


def _start(row: dict[str, Any], names: tuple[str, ...], key: list[Any]) -> str:
    """The keys are the first fields."""
    assert list(row)[: len(names)] == list(names)
    return repr(dict(zip(names, key, strict=True)))[:-1] + ","


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=lambda w: w.name)
def test_what_comes_goes_again(workload: Workload) -> None:
    state = before = rows_of(dict(workload.tables(DATA)))
    state = {name: Counter(rows) for name, rows in before.items()}
    changes = workload.changes(DATA)
    kinds: Counter[str] = Counter()
    for _ in range(2):
        for rows in SIZES:
            for change in changes.there(rows):
                applied(state, workload.keys, change)
                kinds[change.kind] += 1
                assert change.rows == rows
        assert state != before
        for rows in SIZES:
            for change in changes.back(rows):
                applied(state, workload.keys, change)
                kinds[change.kind] += 1
        assert state == before
    usual = {"insert": 8, "mixed": 6, "delete": 8}
    assert kinds == (usual | {"deep insert": 8, "deep delete": 8} if changes.deep else usual)


def test_a_batch_has_so_many_items() -> None:
    flat, nested = [w.changes(DATA) for w in (F2, GROUPBY, JOINGROUP, TRIANGLES)], NESTED.changes(DATA)
    for rows in SIZES:
        for change in (change for changes in flat for change in changes.there(rows)):
            assert sum(write.rows.num_rows for write in change.writes) == rows
        for change in nested.there(rows):
            if change.kind.startswith("deep"):
                assert change.inner.items.num_rows == rows
            else:
                orders = [order for w in change.writes for d in w.rows.to_pylist() for order in d["orders"]]
                assert sum(len(order["items"]) for order in orders) == rows


def test_documents_are_the_flat_tables_nested() -> None:
    tables = NESTED.tables(DATA)
    flat = [
        {"orderkey": order["orderkey"], **item}
        for document in tables["D"].to_pylist() for order in document["orders"] for item in order["items"]
    ]  # fmt: skip
    assert Counter(map(repr, flat)) == Counter(map(repr, DATA.items.to_pylist()))
    owners = {o["orderkey"]: d["custkey"] for d in tables["D"].to_pylist() for o in d["orders"]}
    assert owners == {o["orderkey"]: o["custkey"] for o in DATA.orders.to_pylist()}
    everything = sum(t.num_rows for t in (DATA.customers, DATA.orders, DATA.items, DATA.parts))
    assert sum(map(stored_rows, tables.values())) == everything
    assert any(not d["orders"] for d in tables["D"].to_pylist())


def test_a_seed_is_a_database() -> None:
    again, other = Data(DATA.scale, DATA.seed), Data(DATA.scale, 8)
    for name in ("customers", "orders", "items", "parts"):
        assert getattr(again, name).equals(getattr(DATA, name))
    assert not other.items.equals(DATA.items) and not other.orders.equals(DATA.orders)


def test_scale_one_has_six_million_items() -> None:
    """By what chunks draw: all of them would take seconds."""
    data = Data(1, 1)
    assert (data.customer_count, data.order_count, data.part_count) == (150_000, 1_500_000, 200_000)
    assert next(data.item_batches()).num_rows == pytest.approx(400_000, rel=0.01)


def test_a_graph_is_skewed_and_its_edges_differ() -> None:
    edges = Data(0.02, 4).edges
    assert edges.num_rows == 20_000 == edges.group_by(["x", "y"]).aggregate([]).num_rows
    degrees = np.bincount(edges.column("x").to_numpy(), minlength=2**16)
    assert degrees.max() > 100 and (degrees == 0).mean() > 0.5
    assert edges.equals(Data(0.02, 4).edges) and not edges.equals(Data(0.02, 5).edges)
