"""The unit record, which has no fields, at every depth of a view: Spark and Delta have no empty structs."""

from pathlib import Path
from typing import Any

import pytest

import ripplenest as rn

VIEWS = {
    "the row": "[{} | x in R]",
    "a field": "[{k: x.k, u: {}} | x in R]",
    "a field of a field": "[{k: x.k, r: {u: {}, v: {w: {}}}} | x in R]",
    "rows of a bag": "[{k: x.k, us: [{} | y in R, y.k <= x.k]} | x in R]",
    "a field inside a bag": "[{k: x.k, us: [{u: {}, n: y.k} | y in R, y.k <= x.k]} | x in R]",
    "two bags down": "[{k: x.k, us: [{vs: [{u: {}} | z in R, z.k < y.k], u: {}} | y in R, y.k <= x.k]} | x in R]",
    "nothing but bags of units": "[{us: [{} | y in R, y.k <= x.k]} | x in R]",
}


def plain(value: Any) -> Any:
    """Spark's rows as plain Python, the unit as a record without fields; sorted, as arrays have no order."""
    match value:
        case {"unit": None}:
            return {}
        case dict():
            return {name: plain(v) for name, v in value.items()}
        case list():
            return sorted(map(plain, value), key=str)
    return value


@pytest.mark.parametrize("what", VIEWS)
def test_units_on_spark(spark: Any, tmp_path: Path, what: str) -> None:
    """nested() and changes().nested are rows() and changed_rows(); flat parts and dictionaries can be read."""
    program = rn.parse(f"relation R : Bag(⟨k: long⟩) key k\nview v = {VIEWS[what]}")
    with rn.open(tmp_path / "state", spark=spark, engine="local") as db:
        db.relation("R", program.relation("R").annotation, key="k")
        db.load("R", [{"k": 1}, {"k": 2}])
        db.create(program.view("v"))
        start = db.version
        with db.batch() as b:
            b.insert("R", [{"k": 0}, {"k": 5}])
            b.delete("R", [{"k": 2}])
        kept = db.view("v")
        nested = [plain(row.asDict(recursive=True)) for row in kept.nested().collect()]
        assert sorted(nested, key=str) == plain(kept.rows())
        changes = kept.changes(since=start)
        found: dict[int, list[Any]] = {-1: [], 1: []}
        for row in changes.nested.collect():
            fields = row.asDict(recursive=True)
            n = fields.pop("_multiplicity")
            found[1 if n > 0 else -1] += [plain(fields)] * abs(n)
        went, came = kept.changed_rows(since=start)
        if what == "the row":
            assert (found, went, came) == ({-1: [], 1: [{}]}, [], [{}])  # one unit more than before
        else:
            assert sorted(found[-1], key=str) == plain(went) and sorted(found[1], key=str) == plain(came) and came
        for df in (kept.flat(), changes.flat, *kept.dictionaries().values(), *changes.dictionaries.values()):
            df.collect()


def test_a_row_that_is_a_unit_changes(spark: Any, tmp_path: Path) -> None:
    program = rn.parse("relation R : Bag(⟨k: long⟩)\nview v = [{} | x in R]")
    with rn.open(tmp_path / "state", spark=spark, engine="local") as db:
        db.relation("R", program.relation("R").annotation)
        db.create(program.view("v"))
        with db.batch() as b:
            b.insert("R", [{"k": 0}, {"k": 1}])
        (row,) = db.view("v").changes(since=2).nested.collect()
        assert row.asDict() == {"_multiplicity": 2} and db.view("v").nested().count() == 2
