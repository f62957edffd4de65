"""Rows that are asked for by what a group answers: programs that find them by it, over random views and batches."""

from collections import Counter
from collections.abc import Iterator

import pytest
from support.answered import SCHEMA, answered_query
from support.choices import Choices
from support.laws import law
from support.programs import Running, planned, query_of
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES, Materialize
from ripplenest.delta.program import TriggerProgram
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.access import Join, joins
from ripplenest.nrc.rewriting.disjoint import disjoint

COUNTS: Counter[str] = Counter()
Kept = tuple[Case, Materialize, bool]


def kept(c: Choices) -> Kept:
    return case_of(c, SCHEMA, answered_query(c), 3), c.pick(MODES), c.one_in(4)


@pytest.mark.xdist_group("rows by what is answered")
@law(kept, examples=many(60, 2000))
def test_law_6_by_answers(given: Kept) -> None:
    """After each batch the view is its query on what is there then, and each map is what it would be if it was built.
    """
    case, mode, force_domain = given
    query = query_of(case.schema, case.query)
    _, plan = planned(query, Options(mode, force_domain=force_domain))
    count(plan.program)
    running = Running.start(plan, case.parts)
    assert running.nested() == evaluate(query.body, case.db)
    for parts, batch in case.steps():
        running = running.apply(batch.delta)
        assert running.nested() == evaluate(query.body, batch.nested_after(case.schema, parts))
        assert running.maps() == Running.start(plan, batch.after(parts)).maps()


def count(program: TriggerProgram) -> None:
    for c in (c for s in program.statements for c in s.products):
        every = [*joins(c)]
        COUNTS["apart"] += len(every) > len([*disjoint(c)])
        COUNTS["implied"] += any(e.implied for j in every for e in keys(j))
        COUNTS["by answers"] += any(not r.placed and r.via for j in every for r in j.reads() if r.how == "probe")


def keys(j: Join) -> Iterator[object]:
    return (e for r in j.reads() for e in r.keys)


@pytest.mark.xdist_group("rows by what is answered")
def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    assert all(COUNTS[what] > many(10, 400) for what in ("apart", "implied", "by answers")), COUNTS
