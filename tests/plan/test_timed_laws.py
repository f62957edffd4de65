"""Law 6 on views over time: windows, spans and what lies between, nested at random, after any batches."""

from collections import Counter

import pytest
from support.counts import Counts
from support.laws import law
from support.programs import COST, Running, planned, query_of
from support.sizes import many
from support.strategies import Case
from support.timed import timed_case

from ripplenest.delta.compile import Options
from ripplenest.delta.program import Map, MapKind
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.syntax import Call
from ripplenest.nrc.walk import nodes

pytestmark = pytest.mark.xdist_group("timed")  # one worker, which counts what it met
COUNTS, SEEN = Counts(), Counter[str]()
MOVED = ("micros_after", "days_after", "add_long", "sub_long", "to_long", "coalesce", "micros_between", "days_between")
FUNCTIONS = (*MOVED, "tumble_timestamp", "tumble_date", "tumble_long", "eq", "lt", "le", "gt", "ge")


@pytest.mark.parametrize("force_domain", [False, True])
@law(timed_case, examples=many(25, 1000))
def test_law_6_over_time(force_domain: bool, case: Case) -> None:
    """The trigger program after any batches = evaluation of the query, and its maps are those of the new input."""
    query = query_of(case.schema, case.query)
    stages, program = planned(query, Options(force_domain=force_domain) if force_domain else COST)
    SEEN["queries"] += 1
    SEEN["ranges"] += bool(program.ranges)
    SEEN["computed keys"] += any(map(holds_computed, stages.program.maps))
    SEEN.update({node.fn for node in nodes(case.query) if isinstance(node, Call)})
    running = Running.start(program, case.parts)
    assert running.nested() == evaluate(query.body, case.db)
    for parts, batch in case.steps():
        COUNTS.batch(batch)
        running = running.apply(batch.delta)
        assert running.maps() == Running.start(program, batch.after(parts)).maps()
        result = evaluate(query.body, batch.nested_after(case.schema, parts))
        COUNTS.result(result)
        assert running.nested() == result


def holds_computed(m: Map) -> bool:
    """Whether rows of a map are found by what is computed of others."""
    kept = m.kind is MapKind.AUXILIARY and not m.summed
    return kept and any(isinstance(node, Call) for c in m.products for node in nodes(c.head))


def test_coverage() -> None:
    """Half of the views have rows after a batch, a fourth read ranges, and each function is in a sixth of them."""
    queries = SEEN["queries"]
    if queries < 50:
        pytest.skip("the law did not run")
    assert COUNTS.filled > COUNTS.results / 2 and SEEN["ranges"] > queries / 4, (COUNTS.filled, SEEN)
    assert SEEN["computed keys"] > queries / 20, SEEN
    assert all(SEEN[fn] > queries / 6 for fn in FUNCTIONS), SEEN
    assert COUNTS.share("deletes") > 0.6 and COUNTS.share("deep") > 0.5, COUNTS.kinds
