"""How a batch keeps views fresh: by their triggers, or by computing them again.

``auto`` takes what the estimates call cheaper; ``incremental`` always runs the triggers; ``strict`` too, and refuses
views and batches whose triggers do not cost what the change costs; ``full`` always recomputes. Both ways change the
maps by the same signed rows, so that nothing downstream notices; the batch's report says which it was, and why.

Policies. A batch is maintained or recomputed (``ripplenest/run/policy.py``); both give the same signed rows, so
nothing downstream can tell. "auto" compares estimates with the sizes at hand and recomputes only what is clearly
cheaper that way, or what triggers cannot do: they also ask about rows that went and rows that came together, which no
state holds, and a division can fail for those. "strict" refuses instead.

What groups, first rows and domains pass on is not known before: a new row can change what others see of its key, or
nothing. So there is a least and a most that triggers can cost. Where recomputing lies in between, triggers are tried:
before each level it is known what the levels before passed on, and when recomputing is clearly cheaper (MARGIN) than
what is done and what comes next together, they are given up.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf, prod
from typing import Literal, get_args

from attrs import evolve, field, frozen

from ripplenest.data.rows import Rows
from ripplenest.delta.program import MapKind
from ripplenest.errors import BatchMisuse
from ripplenest.nrc.arguments import one_of
from ripplenest.nrc.errors import EvaluationError, NotIncremental
from ripplenest.plan.pairs import joins
from ripplenest.plan.planned import Plan, PlannedMap
from ripplenest.plan.product import Product, Step
from ripplenest.plan.ranges import ranged, told_by
from ripplenest.run import changed
from ripplenest.run.counted import Many, looked_up
from ripplenest.run.engines import MOST
from ripplenest.store.files import Filed

Policy = Literal["auto", "incremental", "strict", "full"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
How = Literal["incremental", "full"]

SMALL = 100_000  # rows of work that are done before they are worth a thought
MARGIN = 1.5  # estimates are rough, so recomputing must look clearly cheaper


@frozen
class Decision:
    """How the views of a batch are kept fresh, and why; ``rows`` of work that is at least, and at most ``bound``.
    Triggers are given up rather than do more than ``most``."""

    how: How
    why: str
    rows: float
    bound: float
    most: float = inf


def check_policy(policy: object) -> Policy:
    """``policy`` if there is such a policy. Raises BatchMisuse."""
    return one_of(policy, POLICIES, "there is no such policy", error=BatchMisuse)


def decide(policy: Policy, work: "Work") -> Decision:
    """How to apply a batch that is so much ``work``.

    Raises NotIncremental when the policy is strict and recomputing is clearly cheaper.
    """
    match policy:
        case "full":
            return _again(work, "policy full")
        case "incremental":
            rough = _maintained(work.roughly())
            return rough if rough.bound <= MOST else _maintained(work)
        case "strict":
            return _not_full(_cheaper(work))
        case "auto":
            return _cheaper(work)


def _maintained(work: "Work") -> Decision:
    most = work.incremental()
    return Decision("incremental", "policy incremental", _least(work, most), most)


def _cheaper(work: "Work") -> Decision:
    """To count takes time, and says less of the triggers than sizes do, never more."""
    rough = _as_estimated(work.roughly())
    return rough if rough.how == "incremental" and rough.most == inf and rough.bound <= MOST else _as_estimated(work)


def _as_estimated(work: "Work") -> Decision:
    triggers = work.incremental()
    if triggers <= SMALL:
        why = f"about {triggers:,.0f} rows of work, and triggers do what is below {SMALL:,}"
        return Decision("incremental", why, triggers, triggers)
    again = work.full() + work.paired()
    if triggers <= MARGIN * again:
        why = f"about {triggers:,.0f} rows of work, and recomputing ({again:,.0f}) would not clearly be cheaper"
        return Decision("incremental", why, _least(work, triggers), triggers)
    least, most = work.least(), MARGIN * again
    if least <= most:
        why = f"{least:,.0f} to {triggers:,.0f} rows of work, as it turns out, and {again:,.0f} to recompute"
        return Decision("incremental", why, least, triggers, most)
    return _again(work, f"about {again:,.0f} rows to recompute, {least:,.0f} rows of work for the triggers")


def _least(work: "Work", most: float) -> float:
    """Of work that is so much at most: the same where nothing is passed on."""
    return work.least() if work.plan.passing else most


def _again(work: "Work", why: str) -> Decision:
    rows = work.full()
    return Decision("full", why, rows, rows)


def after_failure(policy: Policy, error: EvaluationError, work: "Work") -> Decision:
    """What to do when triggers met rows for which the view has no value: such rows may be in no state, neither before
    the batch nor after it, so that recomputing can still succeed. Raises ``error`` where the policy does not recompute.
    """
    if policy == "auto":
        return _again(work, f"the triggers met rows for which the view has no value: {error}")
    error.possible = (
        'policy="auto", which recomputes, and goes on if what the batch leads to has a value: '
        "triggers also meet rows that no state holds together",
    )
    raise error


def after_giving_up(policy: Policy, tried: "GivenUp", work: "Work") -> Decision:
    """What to do when triggers were given up. Raises NotIncremental when the policy is strict."""
    triggers = f"{tried.rows:,.0f} rows of work for the triggers, as it turned out"
    found = _again(work, f"about {work.full():,.0f} rows to recompute, {triggers}")
    return _not_full(found) if policy == "strict" else found


def _not_full(found: Decision) -> Decision:
    """Raises NotIncremental for a batch that had better be recomputed."""
    if found.how == "full":
        what = f"the batch changes so much that its views had better be recomputed: {found.why}"
        raise NotIncremental(what, possible=["smaller batches", "another policy"])
    return evolve(found, why="policy strict")


WORTH = 10_000  # rows of work of a product for which it is worth to look at the change,
EACH = 1_000  # and for each row of that
FOUND = 2  # rows read in order that one costs which is looked up: it is searched for, and gathered


@frozen
class Work:
    """Rows read and made when parts change by so many rows, estimated from the ``sizes`` of the stored tables before.

    A row of a part stands behind as many rows of another table as that one has for each row of the part, and a key of
    it leads to them, or to the one row that it stands behind. Where that is much, and the ``rows`` are at hand, only
    those count of which a product reads what has become another; and those little of which a value has moved, between
    whose old place and new one is read what lies there. Then it is asked, too, how ``many`` rows the first table has
    that they are looked up in: of a large one a small one may lead to few, or none.
    """

    plan: Plan
    _sizes: Callable[[str], int] = field(alias="sizes")
    changes: Mapping[str, int]
    rows: Mapping[str, Rows] = field(factory=dict)
    _many: Many | None = field(default=None, alias="many")
    _known: dict[str, int] = field(factory=dict, init=False, eq=False)

    def sizes(self, table: str) -> int:
        """The rows of a stored table, asked once."""
        if table not in self._known:
            self._known[table] = self._sizes(table)
        return self._known[table]

    def roughly(self) -> "Work":
        """The same by sizes alone. Law: what triggers cost is no less."""
        return evolve(self, sizes=self.sizes, many=None)

    def incremental(self) -> float:
        """For the statements of the changed parts, at most, as far as it depends on what is passed on."""
        changes: dict[str, float] = dict(self.changes)
        total = 0.0
        for m in self.plan.maps:
            total += self._of(m, changes, self.rows)
            if m.kind.passes_on:
                changes[m.name] = self._passed_on(m, changes)
        return total

    def least(self) -> float:
        """The same, if nothing that is passed on changes."""
        return self.of(self.plan.maps, self.changes)

    def of(
        self, maps: Iterable[PlannedMap], changes: Mapping[str, float], known: Mapping[str, Rows] | None = None
    ) -> float:
        """For the statements of ``maps``: the change is read, its keys are looked up in other tables, and what is found
        makes rows. Changes that are ``known`` are looked at, which those of maps are when it is their turn."""
        rows_of = self.rows if known is None else known
        return sum([self._of(m, changes, rows_of) for m in maps], 0.0)

    def _of(self, m: PlannedMap, changes: Mapping[str, float], known: Mapping[str, Rows]) -> float:
        total = 0.0
        for part, products in m.triggers:
            if rows := changes.get(part):
                total += sum([self._product(m, p, part, rows, known.get(part)) for p in products])
        return total

    def _product(self, m: PlannedMap, p: Product, part: str, rows: float, known: Rows | None) -> float:
        made = rows * self._each(m.name, part) / m.alternatives.get(part, 1)
        probed = {s.source: rows * self._led(p, s.source, part) for s in p.steps if p.how(s) == "probe"}
        joined, scanned = self._joined(p, probed, made), self._scanned(p, rows)
        if joined + scanned > min(WORTH, EACH * rows) and known is not None and rows == len(known):
            new, moved = _read(self.plan, p, known)
            made, scanned = made * new / rows, self._scanned(p, new)
            probed = {source: many * new / rows for source, many in probed.items()}
            if self._many is not None and sum(probed.values()) > WORTH:
                probed, share = _counted(probed, looked_up(p, known, self._many))
                made, scanned = made * share, self._scanned(p, new * share)
            joined = self._joined(p, probed, made) + FOUND * moved
        return rows + joined + scanned

    def _passed_on(self, m: PlannedMap, changes: Mapping[str, float]) -> float:
        """At most, how many rows change of what others see: no more than there are, before and after."""
        rows = sum(changes.get(part, 0.0) for part, _ in m.triggers)
        made = sum(changes.get(part, 0.0) * self._each(m.name, part) for part, _ in m.triggers)
        is_replaced = m.kind in (MapKind.GROUP, MapKind.TOP)  # a row that comes takes the place of one that goes
        return min(rows + made if is_replaced else max(rows, made), 2 * (self.sizes(m.name) + rows))

    def full(self) -> float:
        """For building every map that may change from the parts after the batch, and comparing it with what it holds.
        A map grows as the tables that it is built of do."""
        after, total = dict[str, float](), 0.0
        for m in self._again:
            tables = [[s.table for s in p.sources] for p in m.build]
            growth = [prod(self._growth(t, after) for t in each) for each in tables]
            after[m.name] = self.sizes(m.name) * (sum(growth) / len(growth) if growth else 1.0)
            total += sum(self._after(t, after) for each in tables for t in each) + self.sizes(m.name) + after[m.name]
        return total

    def paired(self) -> float:
        """For rows that such a build asks of each of those before them."""
        return sum([self._paired(p) for m in self._again for p in m.build], 0.0)

    def _paired(self, p: Product) -> float:
        before, pairs = 0.0, 0.0
        for step in p.steps:
            own = self._after(p.sources[step.source].table, {})
            pairs += 0.0 if _is_found(step) else before * own
            before = max(before, own)
        return pairs

    @property
    def _again(self) -> Sequence[PlannedMap]:
        """The maps that may change."""
        return self.plan.reached(self.changes).maps if self.changes else self.plan.maps

    def _each(self, table: str, part: str) -> float:
        return self.sizes(table) / max(self.sizes(part), 1)

    def _led(self, p: Product, source: int, part: str) -> float:
        """How many rows of a source one of a part leads to, which is at least the one that it stands behind."""
        return max(1.0, self._each(p.sources[source].table, part))

    def _scanned(self, p: Product, rows: float) -> float:
        """Rows of the tables that no equality leads to: these are read whole, where there are ``rows`` for which they
        are. With each of these each of them is asked that nothing computed is equal to, and that lies in no order."""
        scanned = [step for step in p.steps if p.how(step) == "scan"] if rows else []
        many = ((self.sizes(p.sources[s.source].table), _is_found(s)) for s in scanned)
        return sum([size if is_found else size * max(rows, 1) for size, is_found in many], 0.0)

    def _joined(self, p: Product, probed: Mapping[int, float], made: float) -> float:
        """For rows that are looked up, and those that are made. The last table has at least one for each of these; none
        is read twice, but those that stand behind several rows are joined with each."""
        last = next(reversed(probed), None)
        found = {s: max(rows, made) if s == last else rows for s, rows in probed.items()}
        read = sum(min(rows, self.sizes(p.sources[s].table)) for s, rows in found.items())
        return FOUND * read + max(made, sum(found.values()) - read)

    def _growth(self, table: str, maps: Mapping[str, float]) -> float:
        """How many times as many rows a table has after the batch; once where it had none."""
        before = self.sizes(table)
        return self._after(table, maps) / before if before else 1.0

    def _after(self, table: str, maps: Mapping[str, float]) -> float:
        """The rows of a table after the batch: of ``maps`` it is said, and of changes seen, where their rows are here;
        else all of them come."""
        if table in maps:
            return maps[table]
        rows, changed = self.rows.get(table), self.changes.get(table, 0)
        gone = 0 if rows is None or isinstance(rows, Filed) else rows.cancelled()
        return max(self.sizes(table) + changed - gone, 0)


def _is_found(step: Step) -> bool:
    """Whether an equality, or an order, says which rows are joined."""
    return joins(step) or step.band is not None


def _counted(probed: Mapping[int, float], known: Mapping[int, int]) -> tuple[dict[int, float], float]:
    """What is looked up where for some sources it is ``known``, and the share of rows that are joined with all of
    these: sources that are reached by others have no more than that. Estimates of few are kept: keys may be hot, and
    then recomputing meets them, too."""
    share = min((min(1.0, known[s] / probed[s]) for s in known), default=1.0)
    return {s: min(rows, known[s]) if s in known else rows * share for s, rows in probed.items()}, share


def _read(plan: Plan, p: Product, change: Rows) -> tuple[int, int]:
    """How many rows of a change a product joins, and of how many more a value has only moved."""
    source = p.steps[0].source
    read = changed.joined(p, source, change) if len(p.sources) > 1 else change
    for step in p.steps:
        stored = plan.ranges.get(p.sources[step.source].table, ())
        ways = (told_by(p, step, r) for r in ranged(step) if r.via == source and r.order in stored)
        if told := [by for by in ways if by is not None]:
            asked = changed.fulfilling(p, source, change).as_read(p.columns_joined[source])
            new = min(len(asked.as_read([c.column for c in by])) for by in told)
            return new, len(asked) - new
    return len(read), 0


class GivenUp(Exception):
    """Triggers that would do so many ``rows`` of work in all, as far as is known, and have ``read`` stored rows."""

    def __init__(self, rows: float, read: int) -> None:
        super().__init__(rows, read)
        self.rows, self.read = rows, read


@frozen
class Trial:
    """Triggers that are given up rather than do more than ``most`` rows of ``work``."""

    work: Work
    most: float

    def check(self, level: Iterable[PlannedMap], changes: Mapping[str, Rows], read: int, made: int) -> None:
        """Before a level: the ``changes`` of parts and of maps before it, for which rows were read and made. Raises
        GivenUp."""
        sizes = {part: len(rows) for part, rows in changes.items()}
        known = {part: rows for part, rows in changes.items() if part in self.work.rows or len(rows) <= WORTH}
        rows = FOUND * read + made + self.work.of(level, sizes, known)
        if rows > self.most:
            raise GivenUp(rows, read)
