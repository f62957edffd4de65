"""Views with groups: incremental = recompute after every batch, whatever is kept."""

from unittest.mock import patch

import pytest
from support.choices import Choices
from support.counts import Counts
from support.laws import law
from support.programs import Running, planned, query_of
from support.queries import grouped_query
from support.schemas import random_schema
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import Materialize
from ripplenest.nrc.interpret import evaluate
from ripplenest.run import build, groups

BATCHES = 3
COUNTS = Counts()


def grouped_case(c: Choices) -> Case:
    schema = random_schema(c)
    return case_of(c, schema, grouped_query(c, schema), BATCHES)


@pytest.mark.parametrize("materialize", ["full", "cost"])
@law(grouped_case, examples=many(25, 2500))
def test_law_6_with_groups(materialize: Materialize, case: Case) -> None:
    query = query_of(case.schema, case.query)
    _, program = planned(query, Options(materialize))
    running = Running.start(program, case.parts)
    assert running.nested() == evaluate(query.body, case.db)
    for i, (parts, batch) in enumerate(case.steps()):
        running = running.apply(batch.delta)
        wanted = evaluate(query.body, batch.nested_after(case.schema, parts))
        assert running.nested() == wanted, f"batch {i}"
        COUNTS.batch(batch)
        COUNTS.result(wanted)


@law(grouped_case, examples=many(40, 600))
def test_what_is_built_in_stretches_is_the_same(case: Case) -> None:
    """Of groups, and of first rows, by place and of all."""
    query = query_of(case.schema, case.query)
    _, program = planned(query)
    with patch.object(build, "STRETCH", 2), patch.object(groups, "STRETCH", 2):
        running = Running.start(program, case.parts)
    assert running.nested() == evaluate(query.body, case.db)
