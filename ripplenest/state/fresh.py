"""How a commit keeps views fresh: by triggers, in this process or on Spark, or by computing maps again."""

from collections.abc import Mapping

from attrs import Factory, evolve, frozen

from ripplenest.data.index import Columns, Places
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.plan.planned import Plan
from ripplenest.run.engines import Chosen, Engines
from ripplenest.run.handing import Handing
from ripplenest.run.policy import Decision, GivenUp, Policy, Trial, Work, after_failure, after_giving_up, decide
from ripplenest.run.propagate import propagate
from ripplenest.state.recomputing import Found, Recomputing
from ripplenest.state.tasks import Pending
from ripplenest.store.files import Files
from ripplenest.version.folding import Unfolding

Fresh = tuple[Decision, Chosen, Found]
"""What was decided, who did it, and what it does to maps."""


@frozen
class Freshening:
    """The views of ``plan`` at a ``version`` whose parts change by ``changes``. What tasks write of it is in ``files``.
    """

    engines: Engines
    recomputing: Recomputing
    plan: Plan
    version: Unfolding
    changes: Mapping[str, Rows]
    files: Files
    work: Work = Factory(lambda self: self.costs(), takes_self=True)

    def costs(self) -> Work:
        """What triggers and recomputation cost."""
        changed = {part: len(rows) for part, rows in self.changes.items()}
        return Work(self.plan, self.version.size, changed, self.changes, self._many)

    def _many(self, table: str, columns: Columns, keys: Rows) -> Places | None:
        """How many rows of a table keys have; None where arrays stand for some."""
        apart = any(table in fold.parts for fold in self.version.folds)
        return None if apart else self.version.many(table, columns, keys)

    def found(self, policy: Policy) -> Fresh:
        """Raises NotIncremental, EvaluationError."""
        decision = decide(policy, self.work)
        if decision.how == "full":
            return self._again(decision)
        try:
            return self._by_triggers(decision)
        except EvaluationError as error:
            # Perhaps of rows that were and rows that came together, which no state holds (run/one_state.py).
            return self._again(after_failure(policy, error, self.work))
        except GivenUp as tried:
            decision, engine, found = self._again(after_giving_up(policy, tried, self.work))
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
        joiner, handing = engine.writing(self.files), self._handing(engine)
        done = propagate(self.plan, self.version, self.changes, joiner, engine.here, handing, trial)
        return decision, engine.told(done.here), Found.of(done)

    def _handing(self, engine: Chosen) -> Handing | None:
        """What the tasks of an engine may read."""
        if engine.name != "spark":
            return None
        apart = frozenset(part for fold in self.version.folds for part in fold.parts)
        return Handing(self.files.stored, self.version.size, self.recomputing.state.room, apart)

    def _again(self, decision: Decision) -> Fresh:
        engine = self.engines.choose(decision.rows)
        pending = Pending.of(self.version, self.changes)
        staging = self.files.staging if pending.staged else None
        held = self.files.held
        reached = self.plan.reached(self.changes)
        found = self.recomputing.found(reached, pending, engine, decision.rows, held, staging)
        return decision, engine, found
