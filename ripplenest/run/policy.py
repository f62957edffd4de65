"""How a batch keeps views fresh: by their triggers, or by computing them again.

``auto`` takes what the estimates call cheaper; ``incremental`` always runs the triggers; ``strict`` too, and refuses
views and batches whose triggers do not cost what the change costs; ``full`` always recomputes. Both ways change the
maps by the same signed rows, so that nothing downstream notices; the batch's report says which it was, and why.

Policies. A batch is maintained or recomputed (``ripplenest/run/policy.py``); both give the same signed rows, so
nothing downstream can tell. "auto" compares estimates with the sizes at hand and recomputes only what is clearly
cheaper that way, or what triggers cannot do: they also ask about rows that went and rows that came together, which no
state holds, and a division can fail for those. "strict" refuses instead.
"""

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from attrs import evolve, frozen

from ripplenest.errors import BatchMisuse
from ripplenest.nrc.arguments import one_of
from ripplenest.nrc.errors import EvaluationError, NotIncremental
from ripplenest.plan.planned import Plan
from ripplenest.plan.product import Product

Policy = Literal["auto", "incremental", "strict", "full"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
How = Literal["incremental", "full"]

SMALL = 100_000  # rows of work that are done before they are worth a thought
MARGIN = 1.5  # estimates are rough, so recomputing must look clearly cheaper


@frozen
class Decision:
    """How the views of a batch are kept fresh, and why; ``rows`` of work that is."""

    how: How
    why: str
    rows: float = 0.0


def check_policy(policy: object) -> Policy:
    """``policy`` if there is such a policy. Raises BatchMisuse."""
    return one_of(policy, POLICIES, "there is no such policy", error=BatchMisuse)


def decide(policy: Policy, plan: Plan, sizes: Callable[[str], int], changes: Mapping[str, int]) -> Decision:
    """How to apply a batch that changes parts by so many rows; ``sizes`` of the stored tables before it.

    Raises NotIncremental when the policy is strict and recomputing is clearly cheaper.
    """
    work = Work(plan, sizes, changes)
    match policy:
        case "full":
            return Decision("full", "policy full", work.full())
        case "incremental":
            return Decision("incremental", "policy incremental", work.incremental())
        case "strict":
            return _not_full(_cheaper(work))
        case "auto":
            return _cheaper(work)


def _cheaper(work: "Work") -> Decision:
    triggers, again = work.incremental(), work.full()
    if triggers <= SMALL:
        why = f"about {triggers:,.0f} rows of work, and triggers do what is below {SMALL:,}"
        return Decision("incremental", why, triggers)
    if triggers <= MARGIN * again:
        why = f"about {triggers:,.0f} rows of work, and recomputing ({again:,.0f}) would not clearly be cheaper"
        return Decision("incremental", why, triggers)
    why = f"about {again:,.0f} rows to recompute, {triggers:,.0f} rows of work for the triggers"
    return Decision("full", why, again)


def after_failure(policy: Policy, error: EvaluationError, work: "Work") -> Decision:
    """What to do when triggers met rows for which the view has no value: such rows may be in no state, neither before
    the batch nor after it, so that recomputing can still succeed. Raises ``error`` where the policy does not recompute.
    """
    if policy == "auto":
        return Decision("full", f"the triggers met rows for which the view has no value: {error}", work.full())
    error.possible = ('policy="auto", which recomputes where triggers fail',)
    raise error


def _not_full(found: Decision) -> Decision:
    """Raises NotIncremental for a batch that had better be recomputed."""
    if found.how == "full":
        what = f"the batch changes so much that its views had better be recomputed: {found.why}"
        raise NotIncremental(what, possible=["smaller batches", "another policy"])
    return evolve(found, why="policy strict")


FOUND = 2  # rows read in order that one costs which is looked up: it is searched for, and gathered


@frozen
class Work:
    """Rows read and made, estimated from what is stored.

    A row of a part stands behind as many rows of another table as that one has for each row of the part, and a key of
    it leads to them, or to the one row that it stands behind.
    """

    plan: Plan
    sizes: Callable[[str], int]
    changes: Mapping[str, int]

    def incremental(self) -> float:
        """For the statements of the changed parts: the change is read, its keys are looked up in other tables, and what
        is found makes rows."""
        changes: dict[str, float] = dict(self.changes)
        total = 0.0
        for m in self.plan.maps:
            passed_on = 0.0
            for part, products in m.triggers:
                rows = changes.get(part, 0.0)
                if rows:
                    made = rows * self._each(m.name, part)
                    passed_on += rows + made
                    total += sum(rows + FOUND * self._found(p, part, rows, made) + made for p in products)
                    total += sum(self._scanned(p) for p in products)
            if m.kind.passes_on:
                changes[m.name] = passed_on
        return total

    def full(self) -> float:
        """For building every map from the parts after the batch, and comparing it with what it holds."""
        read = sum(self._after(s.table) for m in self.plan.maps for p in m.build for s in p.sources)
        return float(read + sum(2 * self.sizes(m.name) for m in self.plan.maps))

    def _each(self, table: str, part: str) -> float:
        return self.sizes(table) / max(self.sizes(part), 1)

    def _found(self, p: Product, part: str, rows: float, made: float) -> float:
        """Rows that are looked up: the last table has at least one for each that is made."""
        found = [rows * max(1.0, self._each(p.sources[s.source].table, part)) for s in p.steps if p.how(s) == "probe"]
        return sum(found[:-1]) + max(found[-1], made) if found else 0.0

    def _scanned(self, p: Product) -> int:
        """Rows of the tables that no equality leads to: these are read whole."""
        scanned = (p.sources[step.source] for step in p.steps if p.how(step) == "scan")
        return sum(self.sizes(s.table) for s in scanned)

    def _after(self, table: str) -> int:
        return self.sizes(table) + self.changes.get(table, 0)
