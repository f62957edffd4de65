"""``-`` of rows that hold inner bags, which are the same where all that they hold is: whatever their labels are."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.choices import Choices
from support.in_order import in_order
from support.laws import law
from support.sizes import many
from support.states import MEMORY

import ripplenest as rn
from ripplenest import Bag, errors

pytestmark = pytest.mark.xdist_group("taken away")  # one worker, which counts what it met
COUNTS: Counter[str] = Counter()


@rn.record
class Tag:
    t: str
    notes: Bag[int]


@rn.record
class Item:
    sku: str
    tags: Bag[Tag] | None


@rn.view
def left(A: Bag[Item], B: Bag[Item]):
    return A - B


@rn.view
def inside(A: Bag[Item], B: Bag[Item]):
    """The same in inner bags, of which each is there for the rows around it; and in the bags of those."""
    return [
        {
            "sku": i.sku,
            "left": [t for j in A if j.sku == i.sku for t in j.tags or []]
            - [t for j in B if j.sku == i.sku for t in j.tags or []],
            "notes": [{"t": t.t, "n": t.notes + t.notes - t.notes} for t in i.tags or []],
        }
        for i in A
    ]


@rn.view
def by_name(A: Bag[Item], B: Bag[Item]):
    return sorted(A - B, key=lambda i: i.sku, reverse=True)


VIEWS = (left, inside, by_name)


def an_item(c: Choices) -> dict[str, Any]:
    tags = [{"t": c.pick("xy"), "notes": [c.number(2) for _ in range(c.number(3))]} for _ in range(c.number(3))]
    return {"sku": c.pick("ab"), "tags": None if c.one_in(5) else tags}


@law(examples=many(12, 200), tries=50)
def test_equal_rows_cancel(c: Choices) -> None:
    """All ways to read a view show what it is of the rows that are there, or say that there are less than none."""
    with TemporaryDirectory(dir=MEMORY) as folder, rn.open(Path(folder) / "s", engine="local") as db:
        rows: dict[str, list[Any]] = {"A": [], "B": []}
        for name in rows:
            db.relation(name, Item)
        for view in VIEWS:
            db.create(view)
        for _ in range(3):
            taken = [an_item(c) for _ in range(c.number(3))]
            with db.batch(policy="incremental") as b:
                for name, more in (("A", [an_item(c) for _ in range(2)] + taken), ("B", taken)):
                    b.insert(name, more)
                    rows[name] += more
                if c.one_in(6):
                    b.insert("B", [extra := an_item(c)])
                    rows["B"].append(extra)
            for view in VIEWS:
                read(db, view, rows)


def read(db: rn.Database, view: rn.View, rows: dict[str, list[Any]]) -> None:
    handle = db.view(view.name)
    try:
        meant = view(rows["A"], rows["B"])
    except errors.RipplenestError:
        COUNTS["less than none"] += 1
        for read_all in (handle.rows, handle.to_arrow, lambda: handle.limit(1)):
            with pytest.raises(errors.EvaluationError, match="less than 0 times"):
                read_all()
        return
    COUNTS[f"{view.name}: rows"] += bool(meant)
    stored = [handle.flat_to_arrow(), *handle.dictionaries_to_arrow().values()]
    COUNTS[f"{view.name}: signed"] += any(n < 0 for table in stored for n in table["_multiplicity"].to_pylist())
    assert in_order(handle.rows()) == in_order(meant) == in_order(handle.to_arrow().to_pylist())
    assert in_order(handle.batches(1).read_all().to_pylist()) == in_order(meant) and handle.count() == len(meant)
    assert in_order(handle.where(sku="a")) == in_order([row for row in meant if row["sku"] == "a"])
    first = [in_order(row) for row in handle.limit(2)]
    assert len(first) == min(2, len(meant)) and all(row in in_order(meant) for row in first)
    if view is by_name:
        for found in (handle.rows(), handle.to_arrow().to_pylist()):
            assert [row["sku"] for row in found] == sorted((row["sku"] for row in meant), reverse=True)


def test_limit_of_a_dropped_view_shows_what_was_left(folder) -> None:
    """Also of a version at which the program that kept it is not known any longer."""
    items = [{"sku": n, "tags": [{"t": "x", "notes": [1]}]} for n in "abcd"]
    with rn.open(folder / "state", engine="local") as db:
        for name, rows in (("A", items), ("B", items[:3])):
            db.relation(name, Item)
            db.load(name, rows)
        db.create(left)
        then = db.version
        db.drop("left")
        handle = db.view("left", as_of=then)
        assert handle.limit(1) == handle.rows() == items[3:]


def test_coverage() -> None:
    """Each view had rows of which some are there less than 0 times as they are stored."""
    if not COUNTS:
        pytest.skip("the law did not run")
    assert COUNTS["less than none"] > 5, COUNTS
    assert all(COUNTS[f"{v.name}: {what}"] > 4 for v in VIEWS for what in ("rows", "signed")), COUNTS
