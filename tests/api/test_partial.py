"""Scalars that can fail: rows that no view holds must not refuse a batch, and rows that one holds must."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import ripplenest as rn
from ripplenest import Bag
from ripplenest.nrc.errors import EvaluationError


@rn.record
class Owner:
    key: int


@rn.record
class Item:
    key: int
    qty: float


@rn.view
def shares(C: Bag[Owner], X: Bag[Item]):
    return [{"key": c.key, "shares": [1.0 / i.qty for i in X if i.key == c.key]} for c in C]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[rn.Database]:
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Owner)
        db.relation("X", Item)
        db.create(shares)
        yield db


def test_a_row_that_nobody_holds_is_not_divided(db: rn.Database) -> None:
    with db.batch() as b:
        b.insert("X", [Item(key=1, qty=0.0), Item(key=2, qty=4.0)])
        b.insert("C", [Owner(key=2)])
    assert db.view("shares").rows() == [{"key": 2, "shares": [0.25]}]


def test_a_row_that_is_held_refuses_the_batch(db: rn.Database) -> None:
    with db.batch() as b:
        b.insert("X", [Item(key=1, qty=0.0)])
    version = db.version
    with pytest.raises(EvaluationError), db.batch() as b:
        b.insert("C", [Owner(key=1)])
    assert db.version == version and db.view("shares").rows() == []
