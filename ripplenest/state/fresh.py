"""How a commit keeps views fresh: by triggers, in this process or on Spark, or by computing maps again."""

from collections.abc import Mapping
from contextlib import ExitStack

from attrs import evolve, frozen

from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.planned import Plan
from ripplenest.run.engines import Chosen, Engines
from ripplenest.run.policy import Decision, GivenUp, Policy, Trial, Work, after_failure, after_giving_up, decide
from ripplenest.run.propagate import propagate
from ripplenest.state.recomputing import Found, Recomputing
from ripplenest.state.tasks import Pending
from ripplenest.version.folding import Unfolding

Fresh = tuple[Decision, Chosen, Found]
"""What was decided, who did it, and what it does to maps."""


@frozen
class Freshening:
    """The views of ``plan`` at a ``version`` whose parts change by ``changes``."""

    engines: Engines
    recomputing: Recomputing
    plan: Plan
    version: Unfolding
    changes: Mapping[str, Rows]

    @property
    def work(self) -> Work:
        """What it costs."""
        return Work(self.plan, self.version.size, {part: len(rows) for part, rows in self.changes.items()})

    def found(self, policy: Policy, held: ExitStack) -> Fresh:
        """What tasks write of it is there until ``held`` ends. Raises NotIncremental, EvaluationError."""
        decision = decide(policy, self.work)
        if decision.how == "full":
            return self._again(decision, held)
        try:
            return self._by_triggers(decision)
        except EvaluationError as error:
            # Triggers also ask about rows that were and rows that came together, which no state holds.
            return self._again(after_failure(policy, error, self.work), held)
        except GivenUp as tried:
            decision, engine, found = self._again(after_giving_up(policy, tried, self.work), held)
            return decision, engine, evolve(found, rows_read=found.rows_read + tried.read)

    def _by_triggers(self, decision: Decision) -> Fresh:
        """Elsewhere where it turns out to be more work than this process does. Raises GivenUp."""
        engine = self.engines.choose(decision.rows)
        try:
            return self._tried(decision, engine, min(engine.most, decision.most))
        except GivenUp as tried:
            if tried.rows > decision.most:
                raise
            return self._tried(decision, self.engines.choose(tried.rows), decision.most)

    def _tried(self, decision: Decision, engine: Chosen, most: float) -> Fresh:
        trial = Trial(self.work, most) if decision.bound > most else None
        done = propagate(self.plan, self.version, self.changes, engine.joiner, engine.here, trial)
        return decision, engine.told(done.here), Found.of(done)

    def _again(self, decision: Decision, held: ExitStack) -> Fresh:
        engine = self.engines.choose(decision.rows)
        pending = Pending(self.version, self.changes)
        return decision, engine, self.recomputing.found(self.plan, pending, engine, decision.rows, held)
