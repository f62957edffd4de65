"""Rows three bags deep that are joined by the key of their document and by their own columns, which rows of all
documents have: they are found through the document, whatever changes."""

from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest import Bag

FEW, MORE = 30, 240


@rn.record
class Line:
    no: int
    kind: str
    sum: int


@rn.record
class Bill:
    no: int
    lines: Bag[Line]


@rn.record
class Firm:
    id: int
    bills: Bag[Bill]


@rn.record
class Rate:
    id: int
    firm: int
    kind: str


def lines(F: Bag[Firm]) -> Any:
    return [{"firm": f.id, "no": x.no, "kind": x.kind, "sum": x.sum} for f in F for b in f.bills for x in b.lines]


@rn.view
def pairs(F: Bag[Firm]):
    return [
        {"firm": a.firm, "a": a.no, "b": b.no}
        for a in lines(F) for b in lines(F)
        if a.firm == b.firm and a.kind == b.kind and a.sum == b.sum and a.no < b.no
    ]  # fmt: skip


@rn.view
def rated(F: Bag[Firm], R: Bag[Rate]):
    return [{"rate": r.id, "no": x.no} for x in lines(F) for r in R if r.firm == x.firm and r.kind == x.kind]


@rn.view
def others(F: Bag[Firm]):
    """And whether there are any, and how many."""
    return [
        {
            "no": a.no,
            "any": any(b.firm == a.firm and b.kind == a.kind and b.no != a.no for b in lines(F)),
            "n": len([b for b in lines(F) if b.firm == a.firm and b.kind == a.kind]),
        }
        for a in lines(F)
    ]


VIEWS = (pairs, rated, others)


def firm(i: int) -> dict[str, Any]:
    own = [[{"no": 10 * i + 3 * k + j, "kind": "abc"[j], "sum": i % 5} for j in range(3)] for k in range(2)]
    return {"id": i, "bills": [{"no": 2 * i + k, "lines": of} for k, of in enumerate(own)]}


def read(folder: Path, view: rn.View, size: int) -> list[int]:
    with rn.open(folder, engine="local", policy="incremental") as db:
        db.relation("F", Firm, key="id", keys={"bills": "no", "bills.lines": "no"})
        db.relation("R", Rate, key="id")
        db.load("F", [firm(i) for i in range(size)])
        db.load("R", [Rate(i, i, "abc"[i % 3]) for i in range(size)])
        db.create(view)
        found = []
        for write in (
            lambda b: b.at("F", id=7).bills.at(no=14).lines.insert([{"no": 9_000, "kind": "b", "sum": 2}]),
            lambda b: b.insert("F", [firm(1_000)]),
            lambda b: b.delete_key("F", id=9),
            lambda b: b.upsert("R", [Rate(4, 5, "c"), Rate(1_001, 3, "a")]),
            lambda b: b.upsert("F", [{**firm(8), "bills": firm(8)["bills"][:1]}]),
        ):
            with db.batch() as b:
                write(b)
            found.append(b.report.rows_read)
        assert db.verify(deep=size == FEW).ok  # which evaluates pairs by pairs
        return found


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_they_are_found_through_the_document(tmp_path: Path, view: rn.View) -> None:
    few, more = read(tmp_path / "few", view, FEW), read(tmp_path / "more", view, MORE)
    assert all(after <= before + 5 for before, after in zip(few, more, strict=True)), (few, more)
    assert sum(more) > 0
