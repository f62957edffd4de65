"""What a batch asks an engine of jobs: the little that others wait for is joined here, and all else is one question.

Random views together, kept fresh by an engine that is asked for every level, and by one whose questions are jobs.
"""

from collections import Counter

import pytest
from support.choices import Choices
from support.correlated import correlated_query
from support.failing import SCHEMA, random_level, term
from support.laws import law
from support.programs import Memory, changed_tables, part_tables, planned, query_of
from support.queries import grouped_query, random_query
from support.schemas import Schema, random_schema
from support.sizes import many
from support.strategies import case_of

from ripplenest.data.rows import Row, Rows
from ripplenest.delta.compile import Options
from ripplenest.delta.materialize import MODES
from ripplenest.delta.program import MapKind
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import Expr
from ripplenest.plan.planned import Plan, Target, merged
from ripplenest.run import propagate as module
from ripplenest.run.build import build
from ripplenest.run.joiner import Joined, PythonJoiner, Task
from ripplenest.run.propagate import Propagation, propagate
from ripplenest.run.schedule import awaited

COUNTS: Counter[str] = Counter()
BATCHES = 3


class Asked(PythonJoiner):
    """An engine that knows what it was asked."""

    def __init__(self, jobs: int) -> None:
        self.each, self.questions = jobs, list[list[Target]]()

    def join(self, tasks: list[Task], targets: list[Target]) -> Joined:  # type: ignore[override]
        self.questions.append(targets)
        return Joined(super().join(tasks, targets), self.each)


def failing_query(c: Choices, _: Schema) -> Expr:
    return term(random_level(c))


def counts(done: Propagation) -> dict[str, dict[Row, int]]:
    return {name: rows.counts() for name, rows in done.changes.items()}


@pytest.mark.parametrize("most", [0, 3, 10_000])
@law(examples=many(16, 120))
def test_one_question_is_as_good_as_many(most: int, c: Choices) -> None:
    """propagate with an engine of jobs = propagate; where all that others wait for is small, it is one job."""
    can_fail = c.number(3) == 0
    schema = SCHEMA if can_fail else random_schema(c)
    mode = Options(c.pick(MODES), force_domain=bool(c.number(2)))
    makers = (failing_query,) if can_fail else (random_query, correlated_query, grouped_query)
    bodies = [c.pick(makers)(c, schema) for _ in range(1 + c.number(2))]
    plans = [planned(query_of(schema, e, f"V{i}"), mode)[1] for i, e in enumerate(bodies)]
    plan = merged(plans)
    case = case_of(c, schema, bodies[0], BATCHES)
    tables = {name: rows for p in plans for name, rows in part_tables(p.program, case.parts).items()}
    try:
        tables |= build(plan, Memory(tables, {}), PythonJoiner())
    except EvaluationError:
        return
    for _, batch in case.steps():
        changes = {n: rows for p in plans for n, rows in changed_tables(p.program, batch.delta).items()}
        memory = Memory(tables, plan.indexes)
        try:
            expected = propagate(plan, memory, changes, PythonJoiner())
        except EvaluationError:
            with pytest.raises(EvaluationError):
                propagate(plan, memory, changes, Asked(1), PythonJoiner())
            COUNTS["no value"] += 1
            return
        done = in_jobs(most, plan, memory, changes)
        assert counts(done) == counts(expected) and list(done.changes) == list(expected.changes)
        for name, rows in {**changes, **done.changes}.items():
            tables[name] = tables[name].plus(rows).consolidated()


def in_jobs(most: int, plan: Plan, memory: Memory, changes: dict[str, Rows]) -> Propagation:
    jobs, here = Asked(1), Asked(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HERE", most)
        done = propagate(plan, memory, changes, jobs, here)
    assert len(jobs.questions) >= done.jobs >= bool(jobs.questions)
    first = awaited(plan, changes)
    assert {t.map for targets in here.questions for t in targets} <= first
    if most == 10_000:
        assert len(jobs.questions) <= 1 and not {t.map for targets in jobs.questions for t in targets} & first
        assert bool(here.questions) <= (done.here >= 0)
    counted(plan, changes, jobs, here)
    return done


def counted(plan: Plan, changes: dict[str, Rows], jobs: Asked, here: Asked) -> None:
    first = awaited(plan, changes)
    last = {t.map for t in jobs.questions[-1]} if jobs.questions else set()
    changing = [m for m in plan.maps if m.kind is MapKind.AUXILIARY and any(part in changes for part, _ in m.triggers)]
    COUNTS["batches"] += 1
    COUNTS["asked here"] += bool(here.questions)
    COUNTS["several jobs"] += len(jobs.questions) > 1
    COUNTS["several levels in one job"] += sum(any(m.name in last for m in level) for level in plan.levels) > 1
    COUNTS["auxiliary maps that others wait for"] += any(m.name in first for m in changing)
    COUNTS["auxiliary maps that nobody waits for"] += any(m.name not in first for m in changing)


def test_coverage() -> None:
    """The law above met each of these; a batch without a value is rare."""
    rare = "no value"
    assert len(COUNTS) >= many(6, 7) and min(n for what, n in COUNTS.items() if what != rare) > 3, COUNTS
