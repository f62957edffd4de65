"""Names of maps are of what they store: other names of fields, and fields that nobody reads, are none of it."""

from collections import Counter

import pytest
from attrs import evolve
from support.choices import Choices
from support.correlated import correlated_query, folding_query
from support.laws import law
from support.nearest import nearest_query
from support.programs import COST, planned, query_of
from support.queries import grouped_query, random_query
from support.schemas import random_schema
from support.sizes import many

from ripplenest.delta.program import MapKind, TriggerProgram
from ripplenest.nrc.errors import QueryError
from ripplenest.nrc.renaming import with_relation
from ripplenest.nrc.syntax import Query
from ripplenest.nrc.types import LONG, Base, Record, Type

COUNTS: Counter[str] = Counter()
EVERY = evolve(COST, materialize="full")  # every map there could be


def random_view(c: Choices) -> tuple[Query, bool]:
    """A view over some relations, and whether a field gets another name, or one comes."""
    schema = random_schema(c)
    make = c.pick((random_query, correlated_query, grouped_query, folding_query, nearest_query))
    return evolve(query_of(schema, make(c, schema)), keys=()), c.one_in(2)


def own(program: TriggerProgram) -> tuple[list[str], list[Type]]:
    """The names of the maps that are none of deltas, and what their rows have."""
    found = [m for m in program.maps if m.kind is not MapKind.AUXILIARY]
    return [m.name for m in found], [m.row for m in found]


@law(random_view, examples=many(60, 2000))
def test_maps_keep_their_names(case: tuple[Query, bool]) -> None:
    """Law: a view whose rows stay the same has the same maps, whose rows have the same columns.

    Left out are views of which a field that comes is more than nobody's: it makes other rows, another order of first
    rows, or other labels of inner bags.
    """
    query, renames = case
    for name, row in query.relations:
        if not isinstance(row, Record) or not isinstance(row.fields[0][1], Base):
            continue  # bags keep their names
        (first, t), *rest = row.fields
        grown = Record((*row.fields, ("more", LONG)))  # a map of all columns of a part is that part
        wanted = Record((("renamed", t), *rest, ("more", LONG))) if renames else Record((*grown.fields, ("most", LONG)))
        try:
            before = with_relation(query, name, grown)
            after = with_relation(before, name, wanted, (first, "renamed") if renames else None)
        except QueryError:
            continue  # of a view that passes rows on
        made, other = (planned(q, EVERY)[0].program for q in (before, after))
        (kept, columns), (still, others) = map(own, (made, other))
        if made.row != other.row or (kept != still and not renames):
            continue  # one that passes rows on has others, and first rows are in the order of all columns
        if columns != others and not renames:
            COUNTS["whole"] += 1
            continue  # an inner bag that has the row around it as an element is known by all of that row
        assert [m.name for m in made.maps] == [m.name for m in other.maps]
        COUNTS["renamed" if renames else "grown"] += 1
        COUNTS["auxiliary"] += any(m.kind is MapKind.AUXILIARY for m in made.maps)
        COUNTS["shared"] += any(m.name.startswith("G/") for m in made.maps)


def test_coverage() -> None:
    if sum(COUNTS.values()) < 20:
        pytest.skip("the tests of this module did not all run")
    assert all(COUNTS[what] > 10 for what in ("renamed", "grown", "auxiliary")), COUNTS
    assert COUNTS["whole"] * 20 < COUNTS["grown"], COUNTS
