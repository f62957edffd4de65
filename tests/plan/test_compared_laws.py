"""Law 6 on views that compare totals, nested at random, after any batches: what stands in the order of totals is read
between an old value and a new one."""

from collections import Counter

import pytest
from support.compared import compared_case
from support.counts import Counts
from support.laws import law
from support.programs import ASKED, COST, Running, planned, query_of
from support.sizes import many
from support.strategies import Case

from ripplenest.delta.compile import Options
from ripplenest.delta.program import MapKind
from ripplenest.nrc.interpret import evaluate
from ripplenest.plan.planned import Plan

pytestmark = pytest.mark.xdist_group("compared")  # one worker, which counts what it met
COUNTS, SEEN = Counts(), Counter[str]()


@pytest.mark.parametrize("force_domain", [False, True])
@law(compared_case, examples=many(100, 3000))
def test_law_6_of_compared_totals(force_domain: bool, case: Case) -> None:
    """The trigger program after any batches = evaluation of the query, and its maps are those of the new input."""
    query = query_of(case.schema, case.query)
    _, program = planned(query, Options(force_domain=force_domain) if force_domain else COST)
    SEEN.update({"queries", *in_order(program)})
    running, asked = Running.start(program, case.parts), ASKED["between"]
    assert running.nested() == evaluate(query.body, case.db)
    for parts, batch in case.steps():
        COUNTS.batch(batch)
        running = running.apply(batch.delta)
        assert running.maps() == Running.start(program, batch.after(parts)).maps()
        result = evaluate(query.body, batch.nested_after(case.schema, parts))
        COUNTS.result(result)
        assert running.nested() == result
    SEEN["read between"] += ASKED["between"] > asked


def in_order(program: Plan) -> set[str]:
    """What stands in an order in which it is read: relations, groups, first rows; totals also where it is not known
    of which place they are."""
    kinds = {m.name: m.kind for m in (*program.maps, *program.others)}
    found = {kinds[table].value if table in kinds else "relations" for table in program.ranges}
    is_total = {m.name for m in program.maps if m.answers is not None and m.answers.nothing is not None}
    read = [(p.sources[s.source].table, s) for m in program.maps for _, ps in m.triggers for p in ps for s in p.steps]
    free = any(table in is_total and s.is_ranged and not s.place for table, s in read)
    return found | ({"places unknown"} if free else set())


def test_coverage() -> None:
    queries = SEEN["queries"]
    if queries < 100:
        pytest.skip("the law did not run")
    assert COUNTS.filled > COUNTS.results / 3, (COUNTS.filled, COUNTS.results)
    assert SEEN["read between"] > queries / 4 and SEEN["relations"] > queries / 5, SEEN
    assert all(SEEN[what] > queries / 20 for what in ("places unknown", MapKind.GROUP.value, MapKind.TOP.value)), SEEN
