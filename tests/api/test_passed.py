"""Rows that are compared with a total of theirs: a batch reads those whom it passes, in inner bags and beside them."""

from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Line:
    no: int
    val: int


@rn.record
class Doc:
    id: int
    lines: Bag[Line]


@rn.view
def above(D: Bag[Doc]) -> list[Any]:
    return [{"id": d.id, "above": [x.no for x in d.lines if x.val > rn.avg(y.val for y in d.lines)]} for d in D]


@rn.view
def how_many(D: Bag[Doc]) -> list[Any]:
    """A map of its lines would be kept for it that is read in no order."""
    return [{"id": d.id, "n": len([x for x in d.lines if x.val > rn.avg(y.val for y in d.lines)])} for d in D]


@rn.view
def flat(D: Bag[Doc]) -> list[Any]:
    """Found by the document, and where they lie by what is compared."""
    return [{"id": d.id, "no": x.no} for d in D for x in d.lines if x.val > rn.avg(y.val for y in d.lines)]


@pytest.mark.parametrize(("view", "materialize"), [(above, "cost"), (how_many, "cost"), (flat, "cost"), (flat, "none")])
def test_a_line_more_reads_whom_the_average_passes(view: rn.View, materialize: str, tmp_path: Path) -> None:
    read = []
    for n in (50, 400):
        with rn.open(tmp_path / str(n), engine="local") as db:
            db.relation("D", Doc, key="id", keys={"lines": "no"})
            db.load("D", [Doc(k, [Line(i, i * 7919 % 100_003) for i in range(n)]) for k in range(60)])
            db.create(view, materialize=materialize)
            for j in range(3):
                with db.batch(policy="strict") as b:
                    b.at("D", id=0).lines.insert([Line(n + j, 3)])
                read.append(b.report.rows_read)
            assert db.verify().ok
            if n == 50:
                assert db.view(view.name).rows() == view(db.relation("D").rows())
    assert max(read) <= 20
