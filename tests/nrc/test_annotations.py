"""Annotations mean types: ``Bag[X]`` and ``list[X]`` are the same at every depth, in records, of rows and with NULL."""

from collections import Counter
from datetime import date, datetime
from typing import Annotated, Any, assert_never

from support.choices import Choices, seeded
from support.schemas import MAX_DEPTH, row_type

import ripplenest as rn
from ripplenest.nrc.surface.markers import Bag, Int
from ripplenest.nrc.surface.records import annotation_text, annotation_type, record
from ripplenest.nrc.types import Bag as BagType
from ripplenest.nrc.types import Base, Dict, Label, Record, Type, nullable, optional

COUNTS: Counter[str] = Counter()
CASES = 300


def spelled(t: Type, c: Choices, above: str) -> Any:
    """An annotation that means ``t``, each bag in it spelled by chance."""
    match t:
        case Base():
            return Annotated[object, t]
        case BagType(row, null):
            generic: Any = c.pick((Bag, list))
            COUNTS[f"{generic.__name__} in {above}{', or NULL' if null else ''}"] += 1
            bag = generic[spelled(row, c, generic.__name__)]
            return bag | None if null else bag
        case Record() if t.is_optional:
            COUNTS["record | None"] += 1
            return spelled(t.there, c, above) | None
        case Record(fields):
            return record(type("Row", (), {"__annotations__": {n: spelled(f, c, "record") for n, f in fields}}))
        case Label() | Dict():
            raise AssertionError(t)
        case _:
            assert_never(t)


def test_bags_have_two_spellings() -> None:
    """annotation_type(spelled(t)) == t"""
    for seed in range(CASES):
        c = seeded(seed)
        t = row_type(c, MAX_DEPTH)
        assert annotation_type(spelled(t, c, "rows"), "rows") == t
        if isinstance(t, Record):
            loose = optional(t.there)
            assert isinstance(loose, Record) and str(loose.there) == str(t.there)  # which says what firm does


def test_a_type_is_written_as_its_annotation() -> None:
    """annotation_type(annotation_text(t)) == t"""
    kinds = ("bool", "int", "long", "double", "string", "binary", "date", "timestamp")
    bases = [*map(Base, kinds), Base("decimal", False, 8, 2)]
    names = {"Bag": Bag, "rn": rn, "Int": Int, "date": date, "datetime": datetime}
    for t in [*bases, *(nullable(b) for b in bases), *(BagType(BagType(b), True) for b in bases)]:
        assert annotation_type(eval(annotation_text(t), names), "") == t  # noqa: S307 - what it says is Python


def test_what_was_covered() -> None:
    assert COUNTS["record | None"] >= 20, COUNTS
    for bag in ("Bag", "list"):
        for above in ("Bag", "list", "record"):
            for null in ("", ", or NULL"):
                assert COUNTS[f"{bag} in {above}{null}"] >= 2, COUNTS
