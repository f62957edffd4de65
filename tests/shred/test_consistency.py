"""Definitions 1 and 2 (nrc-ivm, appendix C.3): what they promise, and every way of breaking them."""

import re

import pytest
from support.choices import Choices
from support.laws import law
from support.schemas import random_schema
from support.shared_labels import consistent_bags, consistent_update

from ripplenest.nrc.bags import EMPTY, BagValue, LabelValue, Value
from ripplenest.shred.consistency import add, inconsistent, inconsistent_update
from ripplenest.shred.values import Parts

L, M, OTHER = LabelValue("R.a", ("l",)), LabelValue("R.a.b", ("m",)), LabelValue("S.c", ("s",))


def bag(*values: Value) -> BagValue:
    """Each value once, as a row with one field."""
    return BagValue.of((("a", v),) for v in values)


BEFORE: Parts = {"R": bag(L), "R.a": {L: bag(M)}, "R.a.b": {M: EMPTY}, "S.c": {}}
FRESH, DEEPER = LabelValue("R.a", ("f",)), LabelValue("R.a.b", ("g",))


@law()
def test_a_consistent_update_keeps_consistency(c: Choices) -> None:
    """⟨R, R^Γ⟩ and the update consistent (definitions 1 and 2) ⟹ ⟨R ⊎ ΔR, R^Γ ⊎ ΔR^Γ⟩ consistent."""
    schema = random_schema(c)
    parts = consistent_bags(c, schema)
    update = consistent_update(c, schema, parts)
    assert not list(inconsistent_update(parts, update.delta))
    assert not list(inconsistent(update.after(parts)))


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"R": bag(FRESH), "R.a": {FRESH: EMPTY}},
        {"R": bag(FRESH), "R.a": {FRESH: bag(DEEPER)}, "R.a.b": {DEEPER: bag(1)}},
        {"R": bag(L), "R.a": {FRESH: bag(M)}},
        {"R": -bag(L)},
        {"R.a": {L: -bag(M)}},
    ],
    ids=["nothing", "fresh", "fresh and deeper", "held before", "a row goes", "an inner row goes"],
)
def test_consistent_updates(update: Parts) -> None:
    assert not list(inconsistent_update(BEFORE, update))
    assert not list(inconsistent(add(BEFORE, update)))


@pytest.mark.parametrize(
    ("before", "update", "fault"),
    [
        (BEFORE, {"R": bag(FRESH)}, "update: R: the label .* no definition in R.a"),
        (BEFORE, {"R": -bag(FRESH)}, "update: R: the label .* no definition in R.a"),
        (BEFORE, {"R": bag(FRESH), "R.a": {FRESH: bag(DEEPER)}}, "update: R.a: the label .* no definition in R.a.b"),
        (BEFORE, {"R.a": {L: bag(DEEPER)}}, "update: R.a: the label .* no definition in R.a.b"),
        (BEFORE, {"R.a": {OTHER: EMPTY}}, "update: R.a: a definition of the label .* belongs to S.c"),
        ({**BEFORE, "R.a": {}}, {}, "before: R: the label .* no definition in R.a"),
        ({**BEFORE, "S.c": {M: EMPTY}}, {}, "before: S.c: a definition of the label .* belongs to R.a.b"),
    ],
    ids=["fresh", "fresh and negative", "deeper", "in an old bag", "another site", "undefined before", "twice before"],
)
def test_inconsistent_updates(before: Parts, update: Parts, fault: str) -> None:
    """Each fault alone; those of the update are there even where nothing is wrong with the sum."""
    found = list(inconsistent_update(before, update))
    assert found
    assert all(re.match(fault, text) for text in found)
