"""Laws 6 and 8 of the trigger program, in this process.

Families: the maps after any batches = their definitions on the accumulated input; the nested view = direct
evaluation of the query ("catches bugs in code that both share"); one batch = any split of it; both ways of keeping a
dictionary agree.
"""

import pytest
from hypothesis import given, settings
from support.correlated import correlated_cases
from support.counts import Counts
from support.programs import Running, part_tables, planned, query_of
from support.strategies import LAW, LONG, Case, cases
from support.updates import Batch

from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.typecheck import check
from ripplenest.plan.columns import base_types
from ripplenest.shred.consistency import add
from ripplenest.shred.values import Parts

COUNTS = Counts()
FEWER = settings(LAW, max_examples=100)


def law_6(case: Case, force_domain: bool = False) -> None:
    query = query_of(case.schema, case.query)
    _, program = planned(query, force_domain)
    COUNTS.query(case.query)
    running = Running.start(program, case.parts)
    assert running.nested() == evaluate(query.body, case.db)
    for parts, batch in case.steps():
        COUNTS.batch(batch)
        running = running.apply(batch.delta)
        after = batch.after(parts)
        assert running.maps() == Running.start(program, after).maps()
        result = evaluate(query.body, batch.nested_after(case.schema, parts))
        COUNTS.result(result)
        assert running.nested() == result


@FEWER
@given(cases(batches=3))
def test_law_6(case: Case) -> None:
    """The trigger program after any sequence of batches = recomputation (design law 6, theorem 8 after each batch)."""
    law_6(case)


@FEWER
@given(cases(batches=2))
def test_law_6_with_domains(case: Case) -> None:
    """As law 6, with an explicit domain for every dictionary: both choices give the same view."""
    law_6(case, force_domain=True)


@pytest.mark.parametrize("force_domain", [False, True])
@settings(LAW, max_examples=150)
@given(case=correlated_cases)
def test_law_6_on_correlated_views(force_domain: bool, case: Case) -> None:
    """As law 6, on views whose inner bags are joined to the rows around them."""
    law_6(case, force_domain)


@pytest.mark.long
@pytest.mark.parametrize("force_domain", [False, True])
@LONG
@given(case=cases(batches=5))
def test_law_6_long(force_domain: bool, case: Case) -> None:
    """As law 6, on more cases and longer histories."""
    law_6(case, force_domain)


def pieces(delta: Parts) -> list[Parts]:
    """A batch as one batch per part and label."""
    found: list[Parts] = []
    for name, part in delta.items():
        if isinstance(part, dict):
            found += [{name: {label: bag}} for label, bag in part.items()]
        else:
            found.append({name: part})
    return found


@FEWER
@given(cases())
def test_law_8_a_batch_is_any_split_of_it(case: Case) -> None:
    """One batch = its pieces one after the other, in either order (design law 8)."""
    _, program = planned(query_of(case.schema, case.query))
    (batch,) = case.batches
    start = Running.start(program, case.parts)
    whole = start.apply(batch.delta).everything()
    for order in (pieces(batch.delta), pieces(batch.delta)[::-1]):
        split = start
        for piece in order:
            split = split.apply(piece)
        assert split.everything() == whole


@FEWER
@given(cases())
def test_law_8_a_batch_and_its_negation(case: Case) -> None:
    """A batch and its negation = nothing (design law 8)."""
    _, program = planned(query_of(case.schema, case.query))
    (batch,) = case.batches
    start = Running.start(program, case.parts)
    assert start.apply(batch.delta).apply(negated(batch)).everything() == start.everything()


def negated(batch: Batch) -> Parts:
    return {
        name: {label: -bag for label, bag in part.items()} if isinstance(part, dict) else -part
        for name, part in batch.delta.items()
    }


@FEWER
@given(cases(batches=2))
def test_law_8_two_batches_are_their_sum(case: Case) -> None:
    """Two batches = one batch that does both (design law 8)."""
    _, program = planned(query_of(case.schema, case.query))
    first, second = case.batches
    start = Running.start(program, case.parts)
    both = start.apply(add(first.delta, second.delta))
    assert start.apply(first.delta).apply(second.delta).everything() == both.everything()


@FEWER
@given(cases())
def test_columns_of_a_program_are_those_of_its_types(case: Case) -> None:
    """Every map has the columns of its row type, and the view has the type of its term."""
    query = query_of(case.schema, case.query)
    stages, program = planned(query)
    assert stages.row == check(query.body).row
    for m in program.maps:
        assert m.types == base_types(program.program.by_name[m.name].row)
    assert set(part_tables(program.program, {})) == set(program.program.parts)


def test_coverage() -> None:
    """The laws above saw every construct, results with rows, deletes and deep updates."""
    COUNTS.check()
