"""Views that differ only in what is made of the same rows, its folds, its limit or its order, are different views."""

import itertools
from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn
from ripplenest.errors import ViewChanged
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.typecheck import check
from ripplenest.nrc.values import from_value, to_value


@rn.record
class Row:
    g: int
    v: int


RULES = {
    "first": "top[t](2, x in R order x.v)",
    "more": "top[t](3, x in R order x.v)",
    "last": "top[t](3, x in R order x.v desc)",
    "any": "group[t](x in R by g: x.g of f: any(x.v > 3))",
    "all": "group[t](x in R by g: x.g of f: all(x.v > 3))",
    "least": "group[t](x in R by g: x.g of f: min(x.v))",
    "greatest": "group[t](x in R by g: x.g of f: max(x.v))",
    "sorted": "([x | x in R] sorted v, g)",
    "reversed": "([x | x in R] sorted v desc, g)",
}
ROWS = [Row(n % 2, n) for n in range(8)]


def ruled(name: str) -> Any:
    text = f"relation R : Bag(⟨g: long, v: long⟩)\nview v = {RULES[name]}"
    return rn.parse(text).views[0]


def wanted(view: Any, rows: list[Row]) -> list[Any]:
    """What the interpreter says."""
    (row,) = (row for _, row in view.query.relations)
    held = BagValue.weighted((to_value(r, row, ""), 1) for r in rows)
    found: list[Any] = from_value(evaluate(view.query.body, {"R": held}), check(view.query.body))
    return found


@pytest.mark.parametrize("names", list(itertools.pairwise(RULES)), ids="-".join)
def test_another_rule_is_another_view(names: tuple[str, str], tmp_path: Path) -> None:
    """It is not taken for the one that is kept, and batches after it has replaced that run its program."""
    before, after = map(ruled, names)
    with rn.open(tmp_path / "s", engine="local") as db:
        db.relation("R", Row)
        db.load("R", ROWS)
        db.create(before)
        with db.batch(policy="incremental") as b:
            b.delete("R", ROWS[:1])
        with pytest.raises(ViewChanged):
            db.create(after)
        db.replace(after)
        with db.batch(policy="incremental") as b:
            b.delete("R", [ROWS[1], ROWS[7]])
        found = db.view("v").rows()
        assert sorted(found, key=repr) == sorted(wanted(after, ROWS[2:7]), key=repr)
        if names[1] == "reversed":
            assert [row["v"] for row in found] == [6, 5, 4, 3, 2]
        assert db.verify().ok
