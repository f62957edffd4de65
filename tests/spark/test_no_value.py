"""What is said of a row without a value: on Spark, which names a condition alone, the same as in this process."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import ripplenest as rn
from ripplenest import Bag
from ripplenest.errors import EvaluationError
from ripplenest.state import tasks
from ripplenest.tasks import whole


@rn.record
class Left:
    id: int
    n: int
    x: float
    s: str
    day: dt.date


@rn.record
class Right:
    id: int
    m: int


GOOD = Left(1, 1, 1.0, "2024-01-01", dt.date(2024, 1, 1))


@rn.view
def divided(L: Bag[Left], R: Bag[Right]):
    return [{"id": a.id, "d": a.n // b.m} for a in L for b in R if a.id == b.id]


@rn.view
def counted(L: Bag[Left], R: Bag[Right]):
    return [{"id": a.id, "d": int(a.x) + b.m} for a in L for b in R if a.id == b.id]


@rn.view
def multiplied(L: Bag[Left], R: Bag[Right]):
    return [{"id": a.id, "d": a.n * b.m} for a in L for b in R if a.id == b.id]


@rn.view
def dated(L: Bag[Left], R: Bag[Right]):
    return [{"id": a.id, "d": dt.date.fromisoformat(a.s), "m": b.m} for a in L for b in R if a.id == b.id]


@rn.view
def later(L: Bag[Left], R: Bag[Right]):
    return [{"id": a.id, "d": a.day + dt.timedelta(days=b.m)} for a in L for b in R if a.id == b.id]


BAD: list[tuple[rn.View, dict[str, object], int, str]] = [
    (divided, {}, 0, "division by zero"),
    (counted, {"x": float("nan")}, 1, "a cast that fails"),
    (multiplied, {"n": 2**62}, 9, "long overflow"),
    (dated, {"s": "soon"}, 1, "a cast that fails"),
    (later, {"day": dt.date(9999, 12, 31)}, 9, "a day outside the years 1 to 9999"),
]


def rows(more: dict[str, object], m: int) -> tuple[dict[str, object], dict[str, object]]:
    return {**{name: getattr(GOOD, name) for name in ("n", "x", "s", "day")}, "id": 2, **more}, {"id": 2, "m": m}


def said_of_a_batch(db: rn.Database, view: rn.View, more: dict[str, object], m: int) -> str:
    db.create(view)
    left, right = rows(more, m)
    with pytest.raises(EvaluationError) as caught, db.batch(policy="incremental") as b:
        b.insert("L", [left])
        b.insert("R", [right])
    db.drop(view.name)
    return str(caught.value)


def said_of_a_view(db: rn.Database, view: rn.View, more: dict[str, object], m: int) -> str:
    left, right = rows(more, m)
    with db.batch() as b:
        b.insert("L", [left])
        b.insert("R", [right])
    with pytest.raises(EvaluationError) as caught:
        db.create(view)
    with db.batch() as b:
        b.delete_key("L", id=2)
        b.delete_key("R", id=2)
    return str(caught.value)


def opened(path: Path, **options: Any) -> rn.Database:
    db = rn.open(path, **options)
    db.relation("L", Left, key="id")
    db.relation("R", Right, key="id")
    db.load("L", [GOOD])
    db.load("R", [Right(1, 1)])
    return db


@pytest.mark.parametrize("by_tasks", [False, True])
def test_the_same_is_said_on_spark(
    spark: SparkSession, tmp_path: Path, by_tasks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a batch and when a view is made, by a job of few rows and by tasks."""
    here = opened(tmp_path / "local", engine="local")
    there = opened(tmp_path / "spark", engine="spark", spark=spark)
    if by_tasks:
        monkeypatch.setattr(tasks, "ALONE", 0)
    for view, more, m, wanted in BAD:
        for said in (said_of_a_batch, said_of_a_view):
            before = there.version
            assert said(there, view, more, m) == (text := said(here, view, more, m))
            assert f"view {view.name}: {wanted}" in text and there.version == before + 2
    if by_tasks:  # what is too much for a process says Spark's condition
        monkeypatch.setattr(whole, "MOST", 1)
        assert "a scalar has no value" in said_of_a_view(there, *BAD[0][:3])
