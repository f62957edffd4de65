"""Groups whose folds multiply columns of what they join."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

import ripplenest as rn
from ripplenest.run import marginals
from support.choices import Choices
from support.joining import OF_NUMBERS, grouped_chain, grouped_joins
from support.schemas import Schema, random_schema
from support.strategies import Case, case_of

BATCHES = 3
ROWS = 12  # of a matrix, at most, which has two rows and two columns


def joined_case(c: Choices) -> Case:
    """A group of a join of numbers, or of any join."""
    if c.number(3):
        return case_of(c, OF_NUMBERS, grouped_chain(c, OF_NUMBERS), BATCHES)
    schema = random_schema(c)
    return case_of(c, schema, grouped_joins(c, schema), BATCHES)


def chained_case(c: Choices) -> Case:
    """The product of four to seven matrices whose entries are numbers of some kind: of three of them sums of products
    have more digits than a decimal."""
    names, entry = "ABCDEFG"[: 4 + c.number(4)], c.pick(("int", "long", "long?", "decimal(12,2)?", "decimal(3,0)"))
    (view,) = rn.parse(chain_of(names, "bool", entry), "chain").views
    return case_of(c, Schema(view.query.relations), view.query.body, BATCHES, ROWS)


def chain_of(names: str, place: str, entry: str = "long") -> str:
    """The product of such matrices, whose rows and columns are of type ``place``."""
    relations = "\n".join(f"relation {x} : Bag(⟨i: {place}, j: {place}, w: {entry}⟩)" for x in names)
    joined = ", ".join(f"{y} in {y.upper()}, {y}.i = {x}.j" for x, y in pairwise(names.lower()))
    weights = {x: f"w{x}: {x}.w" for x in names.lower()}
    rows = f"[⟨i: a.i, l: {names[-1].lower()}.j, {', '.join(weights.values())}⟩ | a in A, {joined}]"
    folds = f"w: sum({', '.join(f'r.w{x}' for x in weights)}), n: count(r.wb)"
    return f"{relations}\nview p = group[g](r in {rows} by i: r.i, l: r.l of {folds})"


@contextmanager
def adding_up() -> Iterator[None]:
    """All that statements make of sum maps is added up, and read in the place of what it is made of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marginals, "MANY", 0)
        patch.setattr(marginals, "FEWER", 1e-9)
        yield
