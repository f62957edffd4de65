"""Ripplenest as it is measured: one workload in a state of its own, by the public names."""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from attrs import frozen

import ripplenest as rn
from ripplenest.bench.changes import Change, Changes, Inner
from ripplenest.bench.workloads import Relation, Workload

ENGINE: Literal["auto"] = "auto"  # as users have it who say nothing: Spark for what is estimated beyond this process
Policy = Literal["auto", "incremental", "full"]


@frozen
class Applied:
    """A batch: seconds in all and by phase, whether it was maintained or recomputed, by which engine, and how many
    stored rows it read."""

    seconds: float
    phases: Mapping[str, float]
    verdict: str
    engine: str
    rows_read: int


def opened(folder: Path) -> rn.Database:
    """The state in ``folder``."""
    return rn.open(folder, engine=ENGINE)


def declare(db: rn.Database, relations: Iterable[Relation]) -> None:
    """The relations of a workload."""
    for r in relations:
        db.relation(r.name, r.record, key=r.key)


def apply(db: rn.Database, change: Change, policy: Policy = "incremental") -> Applied:
    """One batch, from its first row until it is committed. "read" is what is done with rows before the block ends."""
    started = time.perf_counter()
    with db.batch(policy=policy) as b:
        if change.inner:
            _deep(b, change.inner)
        else:
            for write in change.writes:
                {"insert": b.insert, "delete": b.delete}[write.verb](write.relation, write.rows)
        read = time.perf_counter() - started
    seconds = time.perf_counter() - started
    found = b.report
    return Applied(seconds, {"read": read, **found.phases}, found.verdict, found.engine, found.rows_read)


def inserted(db: rn.Database, changes: Changes, rows: int) -> float:
    """The seconds of a batch that inserts ``rows`` items, which later ones of its round take back."""
    found = [(change.kind, apply(db, change, "auto").seconds) for change in changes.round(rows)]
    return next(seconds for kind, seconds in found if kind == "insert")


def _deep(b: Any, change: Inner) -> None:
    each = rn.each(change.items)
    bag = b.at("D", custkey=each.custkey).orders.at(orderkey=each.orderkey).items
    {"insert": bag.insert, "delete": bag.delete}[change.verb](each)


def nested(db: rn.Database, view: str, like: pa.Schema) -> pa.Table:
    """All rows of a view, as Arrow."""
    return db.view(view).to_arrow().cast(like)


def load(db: rn.Database, workload: Workload, tables: Mapping[str, object]) -> None:
    """Fill the relations."""
    declare(db, workload.relations)
    for name, rows in tables.items():
        db.load(name, rows)
