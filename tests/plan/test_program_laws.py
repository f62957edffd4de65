"""Law 6 of the trigger program, in this process.

Law 8 is in ``test_metamorphic.py``, longer histories are in ``test_sequences.py``.

Families: the maps after any batches = their definitions on the accumulated input; the nested view = direct
evaluation of the query ("catches bugs in code that both share"); both ways of keeping a dictionary agree.
"""

import pytest
from support.correlated import correlated_cases, folding_cases
from support.counts import Counts
from support.laws import law
from support.programs import COST, Running, part_tables, planned, query_of
from support.sizes import many
from support.strategies import Case, cases, weighed_cases

from ripplenest.data.columns import base_types
from ripplenest.delta.compile import Options
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.typecheck import check
from ripplenest.schema.shape import shape_of, with_inputs

COUNTS = Counts()


def law_6(case: Case, options: Options = COST) -> None:
    query = query_of(case.schema, case.query)
    stages, program = planned(query, options)
    COUNTS.query(case.query)
    shape = shape_of(stages.program)
    assert with_inputs(shape, {d.site.name: d for d in shape.dictionaries if d.of_input}) == shape
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


@law(cases(batches=3), examples=many(24, 100))
def test_law_6(case: Case) -> None:
    """The trigger program after any sequence of batches = recomputation (design law 6, theorem 8 after each batch)."""
    law_6(case)


@law(cases(batches=2), examples=many(24, 100))
def test_law_6_with_domains(case: Case) -> None:
    """As law 6, with an explicit domain for every dictionary: both choices give the same view."""
    law_6(case, Options(force_domain=True))


@pytest.mark.parametrize("force_domain", [False, True])
@law(correlated_cases, examples=many(15, 100))
def test_law_6_on_correlated_views(force_domain: bool, case: Case) -> None:
    """As law 6, on views whose inner bags are joined to the rows around them."""
    law_6(case, Options(force_domain=force_domain))


@pytest.mark.parametrize("force_domain", [False, True])
@law(weighed_cases(batches=2), examples=many(10, 100))
def test_law_6_with_weights(force_domain: bool, case: Case) -> None:
    """As law 6, on views whose rows are there as often as values say."""
    law_6(case, Options(force_domain=force_domain))


@pytest.mark.parametrize("force_domain", [False, True])
@law(folding_cases, examples=many(10, 100))
def test_law_6_on_correlated_folds(force_domain: bool, case: Case) -> None:
    """As law 6, on views with totals, extremes and first rows at any depth, joined to the rows around them."""
    law_6(case, Options(force_domain=force_domain))


@pytest.mark.long
@pytest.mark.parametrize("force_domain", [False, True])
@law(cases(batches=5), examples=3000, fresh=True)
def test_law_6_long(force_domain: bool, case: Case) -> None:
    """As law 6, on more cases and longer histories."""
    law_6(case, Options(force_domain=force_domain))


@law(cases(), examples=many(24, 100))
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
