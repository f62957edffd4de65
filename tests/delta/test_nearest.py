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
from ripplenest.run import stretches

COUNTS: Counter[str] = Counter()
Kept = tuple[Case, Materialize, bool, int]


def kept(c: Choices) -> Kept:
    schema = random_schema(c)
    return case_of(c, schema, nearest_query(c, schema), 3), c.pick(MODES), c.one_in(4), 1 + c.number(4)


@pytest.mark.xdist_group("first rows behind edges")
@law(kept, examples=many(95, 9000))
def test_law_6_behind_edges(given: Kept) -> None:
    """After each batch the view is its query on what is there then, and each map is what it would be if it was built;
    however few places are read at once."""
    with pytest.MonkeyPatch.context() as patch:
        *others, first = given
        patch.setattr(stretches, "FIRST", first)
        check(*others)


def check(case: Case, mode: Materialize, force_domain: bool) -> None:
    query = query_of(case.schema, case.query)
    stages, plan = planned(query, Options(mode, force_domain=force_domain))
    meant = exact(query.body)
    edges = [m for m in plan.maps if m.ranked is not None and m.ranked.nearest is not None]
    COUNTS["ties"] += any(".behind]" in m.name for m in edges)
    calls = (n.fn for m in stages.program.maps for n in nodes(m.term) if isinstance(n, Call))
    COUNTS["moved"] += any(fn.startswith(("at_most", "at_least")) for fn in calls)
    terms = (m.term for m in stages.program.maps if m.name.startswith("O/"))
    COUNTS["products"] += any(isinstance(n, Call) and n.fn == "mul_decimal" for t in terms for n in nodes(t))
    running = Running.start(plan, case.parts)
    assert running.nested() == evaluate(meant, case.db)
    for parts, batch in case.steps():
        before, running = running, running.apply(batch.delta)
        assert running.nested() == evaluate(meant, batch.nested_after(case.schema, parts))
        built = Running.start(plan, batch.after(parts))
        assert running.maps() == built.maps()
        for m in edges:
            COUNTS["edges"] += 1
            kind = "" if m.ranked.nearest.by is None else " so far"
            COUNTS[("open" if m.ranked.nearest.open else "closed") + kind] += 1
            COUNTS[("descending" if m.ranked.compared.descending else "ascending") + kind] += 1
            COUNTS["groups" + kind] += m.ranked.keys > 1
            COUNTS["changed" + kind] += before.tables[m.name].counts() != running.tables[m.name].counts()
            COUNTS["several" + kind] += m.ranked.limit > 1
            changed = before.tables[m.name].counts() != running.tables[m.name].counts()
            COUNTS["changed between"] += m.ranked.nearest.until is not None and changed


@pytest.mark.xdist_group("first rows behind edges")
def test_enough_was_met() -> None:
    if not COUNTS:
        pytest.skip("the law did not run here")
    for what in ("open", "closed", "ascending", "descending", "groups", "changed", "several"):
        assert COUNTS[what] > many(8, 400), COUNTS
        assert COUNTS[f"{what} so far"] > many(4, 200), COUNTS
    assert all(COUNTS[what] > many(2, 200) for what in ("ties", "moved", "products", "changed between")), COUNTS
