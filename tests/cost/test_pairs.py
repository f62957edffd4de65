"""Places for which rows of several sources come together that belong to nobody."""

from collections import Counter
from itertools import combinations

import pytest
from support.choices import Choices
from support.laws import law
from support.sizes import many

from ripplenest.cost.pairs import paired
from ripplenest.nrc.bags import BagValue
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.normal import Comprehension, term
from ripplenest.nrc.syntax import Call, Elem, Proj, Rel, Tuple, Var
from ripplenest.nrc.types import LONG, Record

NAMES = ("a", "b", "c")
ROW = Record(tuple((name, LONG) for name in NAMES))
KEYS = [frozenset(columns) for n in (1, 2) for columns in combinations(NAMES, n)]
COUNTS: Counter[str] = Counter()


def path(var: str, name: str) -> Elem:
    return Proj(Var(var), name)


def product(c: Choices) -> tuple[Comprehension, dict[str, list[frozenset[str]]]]:
    """Sources that are equated, with the columns that are unique in them, and a place of some of their columns."""
    variables = [f"x{i}" for i in range(2 + c.number(3))]
    keys = {var.upper(): [c.pick(KEYS)] for var in variables if not c.one_in(3)}
    pairs = [(c.pick(variables), c.pick(variables)) for _ in range(1 + c.number(4))]
    equal = tuple(
        Call(c.pick(("eq", "same")), (path(x, c.pick(NAMES)), path(y, c.pick(NAMES)))) for x, y in pairs if x != y
    )
    place = tuple((f"p{i}", path(c.pick(variables), c.pick(NAMES))) for i in range(1 + c.number(3)))
    generators = tuple((var, Rel(var.upper(), ROW)) for var in variables)
    return Comprehension(generators, equal, Tuple(place)), keys


def rows(c: Choices, unique: list[frozenset[str]]) -> BagValue:
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for _ in range(c.number(8)):
        row = tuple(c.number(4) for _ in NAMES)
        key = tuple(v for name, v in zip(NAMES, row, strict=True) if not unique or name in unique[0])
        found.setdefault(key, row)
    return BagValue.of(tuple(zip(NAMES, row, strict=True)) for row in found.values())


@law(examples=many(400, 40_000))
def test_places_are_no_more_than_rows_of_one_source(c: Choices) -> None:
    """Law: where nothing is paired, there are no more places than one source has rows."""
    made, keys = product(c)
    assert isinstance(made.head, Tuple)
    found = paired(made, [t for _, t in made.head.fields], frozenset(), keys)
    COUNTS["paired" if found else "not paired"] += 1
    data = {rel.name: rows(c, keys.get(rel.name, [])) for _, rel in made.generators}
    places = len([*evaluate(term((made,), Record(tuple((p, LONG) for p, _ in made.head.fields))), data).counts])
    most = max(len([*bag.counts]) for bag in data.values())
    assert found or places <= most
    COUNTS["several sources"] += not found and len({t.of.name for _, t in made.head.fields}) > 1
    COUNTS["more places"] += places > most


ONE_DOCUMENT = [
    ({}, ["i", "r"]),
    ({"I": [frozenset(("a",))]}, []),
    ({"R": [frozenset(("a", "b"))]}, ["i", "r"]),  # that of one row of I there may be several
]


@pytest.mark.parametrize(("keys", "wanted"), ONE_DOCUMENT)
def test_what_many_rows_of_both_have(keys, wanted) -> None:
    """Items and returns with the same line ``a``, for the documents ``c`` of both."""
    c = Comprehension(
        (("i", Rel("I", ROW)), ("r", Rel("R", ROW))), (Call("eq", (path("i", "a"), path("r", "a"))),), Tuple(())
    )
    assert paired(c, [path("i", "c"), path("r", "c")], frozenset(), keys) == wanted
    assert paired(c, [path("i", "c"), path("i", "b"), path("r", "a")], frozenset(), keys) == []  # i.a is r.a


def test_coverage() -> None:
    if COUNTS:
        wanted = ("paired", "not paired", "several sources", "more places")
        assert all(COUNTS[what] >= many(5, 500) for what in wanted), COUNTS
