"""First rows behind edges: programs that keep them, over random views and batches."""

from collections import Counter

import pytest
from support.choices import Choices
from support.laws import law
from support.nearest import nearest_query
from support.programs import Running, planned, query_of
from support.schemas import random_schema
from support.sizes import many
from support.strategies import Case, case_of

from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES, Materialize
from ripplenest.nrc.interpret import evaluate
from ripplenest.nrc.rewriting.exact import exact
from ripplenest.nrc.syntax import Call
from ripplenest.nrc.walk import nodes

COUNTS: Counter[str] = Counter()
Kept = tuple[Case, Materialize, bool]


def kept(c: Choices) -> Kept:
    schema = random_schema(c)
    return case_of(c, schema, nearest_query(c, schema), 3), c.pick(MODES), c.one_in(4)


@pytest.mark.xdist_group("first rows behind edges")
@law(kept, examples=many(40, 3000))
def test_law_6_behind_edges(given: Kept) -> None:
    """After each batch the view is its query on what is there then, and each map is what it would be if it was built.
    """
    case, mode, force_domain = given
    query = query_of(case.schema, case.query)
    stages, plan = planned(query, Options(mode, force_domain=force_domain))
    meant = exact(query.body)
    edges = [m for m in plan.maps if m.ranked is not None and m.ranked.nearest is not None]
    COUNTS["ties"] += any(".behind]" in m.name for m in edges)
    calls = (n.fn for m in stages.program.maps for n in nodes(m.term) if isinstance(n, Call))
    COUNTS["moved"] += any(fn.startswith(("at_most", "at_least")) for fn in calls)
    running = Running.start(plan, case.parts)
    assert running.nested() == evaluate(meant, case.db)
    for parts, batch in case.steps():
        before, running = running, running.apply(batch.delta)
        assert running.nested() == evaluate(meant, batch.nested_after(case.schema, parts))
        built = Running.start(plan, batch.after(parts))
        assert running.maps() == built.maps()
        for m in edges:
            COUNTS["edges"] += 1
            COUNTS["open" if m.ranked.nearest.open else "closed"] += 1
            COUNTS["ascending" if not m.ranked.order.by[0].descending else "descending"] += 1
            COUNTS["groups"] += m.ranked.keys > 1
            COUNTS["changed"] += before.tables[m.name].counts() != running.tables[m.name].counts()


@pytest.mark.xdist_group("first rows behind edges")
def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    assert all(COUNTS[what] > many(8, 400) for what in ("open", "closed", "ascending", "descending")), COUNTS
    assert all(COUNTS[what] > many(8, 400) for what in ("groups", "changed")), COUNTS
    assert all(COUNTS[what] > many(2, 200) for what in ("ties", "moved")), COUNTS
