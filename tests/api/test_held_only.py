"""A batch is refused over a row only where some row of the view asks about it: at every depth, with labels or without
parameters, for overflow as for division."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.states import recomputed, refused

import ripplenest as rn
from ripplenest import Bag, errors
from ripplenest.run.policy import Policy

MAX = 2**63 - 1
POLICIES = ("auto", "incremental", "full")


@rn.record
class Owner:
    key: int


@rn.record
class Box:
    key: int
    box: int


@rn.record
class Item:
    box: int
    n: int


@rn.view
def boxes(C: Bag[Owner], B: Bag[Box], X: Bag[Item]):
    """The dictionary of boxes is key-bound by itself: its rows hold labels of what can fail."""
    return [
        {"key": c.key, "boxes": [{"rest": [7 % i.n for i in X if i.box == b.box]} for b in B if b.key == c.key]}
        for c in C
    ]


@rn.view
def deeper(C: Bag[Owner], B: Bag[Box], X: Bag[Item]):
    """Two key-bound dictionaries around one that can fail."""
    return [
        {
            "key": c.key,
            "boxes": [
                {"box": b.box, "again": [{"rest": [7 % i.n for i in X if i.box == d.box]} for d in B if d.box == b.box]}
                for b in B
                if b.key == c.key
            ],
        }
        for c in C
    ]


@rn.view
def everything(C: Bag[Owner], B: Bag[Box], X: Bag[Item]):  # noqa: ARG001
    """The label of the inner bag has no parameters, so one label stands for all of X."""
    return [{"key": c.key, "rest": [7 % i.n for i in X]} for c in C]


@rn.view
def sums(C: Bag[Owner], B: Bag[Box], X: Bag[Item]):  # noqa: ARG001
    return [{"key": c.key, "more": [i.n + 1 for i in X if i.box == c.key]} for c in C]


@rn.view
def below(C: Bag[Owner], B: Bag[Box], X: Bag[Item]):  # noqa: ARG001
    """A condition that fails, not a head."""
    return [{"key": c.key, "some": [i.n for i in X if i.box == c.key if i.n * i.n < 3]} for c in C]


@rn.view
def by_computed_key(C: Bag[Owner], B: Bag[Box], X: Bag[Item]):  # noqa: ARG001
    """The key by which C is looked up has no value for some rows of X, which need not have a partner."""
    return [{"key": c.key} for i in X for c in C if c.key == 7 % i.n]


VIEWS = {v.name: v for v in (boxes, deeper, everything, sums, below, by_computed_key)}
BAD = {"boxes": 0, "deeper": 0, "everything": 0, "sums": MAX, "below": MAX, "by_computed_key": 0}


@pytest.fixture(params=VIEWS)
def view(request: pytest.FixtureRequest) -> rn.View:
    return VIEWS[request.param]


@pytest.fixture
def db(tmp_path: Path, view: rn.View) -> Iterator[rn.Database]:
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Owner)
        db.relation("B", Box)
        db.relation("X", Item)
        db.create(view)
        yield db


def rows(view: rn.View) -> dict[str, list[dict[str, int]]]:
    """Rows that would have no value if somebody held them: everything but an owner."""
    return {"B": [{"key": 1, "box": 1}], "X": [{"box": 1, "n": BAD[view.name]}]}


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_that_nobody_holds_are_not_asked_about(db: rn.Database, view: rn.View, policy: Policy) -> None:
    for name, found in rows(view).items():
        with db.batch(policy=policy) as b:
            b.insert(name, found)
        assert b.report.verdict == ("full" if policy == "full" else "incremental")
    assert db.view(view.name).rows() == []
    recomputed(db, {view.name: view}, {"C": [], **rows(view)})


@pytest.mark.parametrize("policy", POLICIES)
def test_rows_that_are_held_refuse_the_batch(db: rn.Database, view: rn.View, policy: Policy) -> None:
    """The owner that would hold them, whichever comes last; and its going makes room for them."""
    for name, found in rows(view).items():
        with db.batch() as b:
            b.insert(name, found)
    with refused(db, errors.EvaluationError), db.batch(policy=policy) as b:
        b.insert("C", [Owner(key=1)])
    with db.batch() as b:
        b.delete("X", rows(view)["X"])
    with db.batch(policy=policy) as b:
        b.insert("C", [Owner(key=1)])
    with refused(db, errors.EvaluationError), db.batch(policy=policy) as b:
        b.insert("X", rows(view)["X"])
    with db.batch(policy=policy) as b:
        b.delete("C", [Owner(key=1)])
    with db.batch(policy=policy) as b:
        b.insert("X", rows(view)["X"])
    recomputed(db, {view.name: view}, {"C": [], **rows(view)})


def test_a_view_over_rows_that_it_does_not_hold_is_created_and_loaded(tmp_path: Path, view: rn.View) -> None:
    """Building asks no more than maintaining does."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Owner)
        db.relation("B", Box)
        db.relation("X", Item)
        db.load("X", rows(view)["X"])
        db.create(view)
        db.load("B", rows(view)["B"])
        with refused(db, errors.EvaluationError):
            db.load("C", [Owner(key=1)])
        recomputed(db, {view.name: view}, {"C": [], **rows(view)})


def test_the_counts_of_domains_are_read_as_well(tmp_path: Path) -> None:
    """A batch that brings the second owner of a label reads its count; the report says so."""
    with rn.open(tmp_path / "state", engine="local", policy="incremental") as db:
        db.relation("C", Owner)
        db.relation("B", Box)
        db.relation("X", Item)
        db.create(sums)
        read = []
        for _ in range(2):
            with db.batch() as b:
                b.insert("C", [Owner(key=1)])
            read.append(b.report.rows_read)
        assert read == [0, 1]


def test_on_spark(spark: Any, tmp_path: Path, view: rn.View) -> None:
    """The same answers: nobody asks about rows that are not held, and those that are refuse the batch."""
    with rn.open(tmp_path / "state", spark) as db:
        db.relation("C", Owner)
        db.relation("B", Box)
        db.relation("X", Item)
        db.create(view)
        with db.batch() as b:
            for name, found in rows(view).items():
                b.insert(name, found)
        assert b.report.verdict == "incremental"
        assert db.view(view.name).rows() == []
        with refused(db, errors.EvaluationError), db.batch() as b:
            b.insert("C", [Owner(key=1)])
        with db.batch(policy="full") as b:
            b.insert("B", [{"key": 2, "box": 2}])
