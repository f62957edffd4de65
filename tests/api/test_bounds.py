"""What an explanation says of costs: with the sizes of a state a bound, which averages of inner bags are not."""

from pathlib import Path

import ripplenest as rn
from ripplenest import Bag


@rn.record
class Owner:
    key: int
    items: Bag[int]


@rn.view
def pairs(C: Bag[Owner]):
    return [{"key": c.key, "pairs": [{"a": a, "b": b} for a in c.items for b in c.items]} for c in C]


SKEWED = [{"key": 0, "items": list(range(40))}, *({"key": i, "items": [i]} for i in range(1, 60))]
OUTPUT = 40 * 40 + 59


def test_the_cost_of_a_view_is_not_below_the_size_of_its_rows(tmp_path: Path) -> None:
    """C takes the largest inner bag, not the average one: 60 owners with 99 items have 1,659 pairs, not 240."""
    with rn.open(tmp_path / "state", engine="local") as db:
        db.relation("C", Owner)
        db.load("C", SKEWED)
        db.create(pairs)
        found = db.view("pairs").explain()
        assert int(found.json()["steps"]) >= OUTPUT
        assert sum(len(row["pairs"]) for row in db.view("pairs").rows()) == OUTPUT
        assert f"at most {int(found.json()['steps']):,} steps, up to a constant factor" in found.text
        assert "average" not in found.text


def test_averages_are_called_what_they_are() -> None:
    """Rows of a part alone do not say how large its largest bag is."""
    counted, in_symbols = rn.explain(pairs, {"C": 60, "C.items": 99}), rn.explain(pairs)
    steps = int(counted.json()["steps"])
    assert steps < OUTPUT
    assert f"about {steps:,} steps, up to a constant factor" in counted.text
    assert "no bound: inner bags of C.items are taken to have their average size." in counted.text
    assert "at most" not in counted.text
    assert "at most" in in_symbols.text and "average" not in in_symbols.text
