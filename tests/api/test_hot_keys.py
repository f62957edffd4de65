"""Keys that change in each batch: what a batch reads of them does not grow with the batches before it."""

import tempfile

import pyarrow as pa
import pytest
from support.states import MEMORY

import ripplenest as rn
from ripplenest.store import merging

GROUPS, HOT, LIMIT, BATCHES = 60, 20, 5, 24
ROWS = GROUPS * 2 * BATCHES


@rn.record
class Reading:
    group: int
    value: int


@rn.view
def counted(R: rn.Bag[Reading]):
    return [{"group": g, "rows": len(rs)} for g, rs in rn.group_by(R, lambda r: r.group)]


@rn.view
def greatest(R: rn.Bag[Reading]):
    return [
        {"group": g, "first": rn.top(LIMIT, rs, key=lambda r: r.value, desc=True)}
        for g, rs in rn.group_by(R, lambda r: r.group)
    ]


def first_rows_go(view) -> list[int]:
    """By batch how many rows it reads for each of the HOT groups whose greatest row it takes."""
    read = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("R", Reading, key="value")
        db.load("R", pa.table({"group": [n % GROUPS for n in range(ROWS)], "value": range(ROWS)}))
        db.create(view)
        for n in range(BATCHES):
            last = ROWS - (n + 1) * GROUPS
            with db.batch() as b:
                b.delete("R", [Reading(g, last + g) for g in range(HOT)])
            read.append(b.report.rows_read / HOT)
        assert db.verify().ok
    return read


def test_a_group_is_read_as_its_rows_before_and_after_the_last_merge():
    assert max(first_rows_go(counted)[8:]) <= 4


def test_first_rows_are_read_as_few_times_as_they_are_shown():
    """At most four times: those that are there, those that were there when the view was made and what took them away,
    and a few more of the tables around them."""
    assert max(first_rows_go(greatest)[8:]) <= 4 * LIMIT + 4


@pytest.mark.parametrize("hot", [HOT, 5 * HOT])  # row by row, and by columns
def test_rows_that_come_again_are_read_as_those_before_and_after_the_last_merge(hot: int):
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, rn.open(folder, engine="local") as db:
        db.relation("R", Reading, key="group")
        db.load("R", pa.table({"group": range(1000), "value": range(1000)}))
        read = []
        for n in range(BATCHES):
            with db.batch() as b:
                b.upsert("R", [Reading(g, n) for g in range(hot)])
            read.append(b.report.rows_read / hot)
        assert db.verify().ok and max(read[8:]) <= 5


def test_unless_nothing_is_merged_for_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(merging, "WORTH", 0)
    assert max(first_rows_go(counted)[8:]) > 8 and max(first_rows_go(greatest)[8:]) > 8 * LIMIT
