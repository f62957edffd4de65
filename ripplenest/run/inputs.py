"""The small inputs of a statement: the change itself, and what probes find in other tables at the keys of the change.

A statement may read a table before or after the batch (``At``), and an auxiliary map as of its turn
(``delta/program.py``); these must not be mixed up. Statements that ask a table at the same time are given the same
rows, which are read once (``run/rounds.py``), and so are those that ask for the same keys later: what is asked is a
function of the rows that ask, of the step and of its conditions, and the engine sees by their identity that they are
the same. It says as of which moment of the batch a table is read, and no statement reads a map before that has its
changes up to this moment.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial, reduce

from attrs import evolve, field, frozen

from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.rewriting.access import MOST_KEYS
from ripplenest.nrc.syntax import At
from ripplenest.plan import evaluate
from ripplenest.plan.lower import nullable_base
from ripplenest.plan.planned import Plan
from ripplenest.plan.product import Col, Product, Source, Step
from ripplenest.plan.ranges import Ranged, decided_by, ranged, told_by
from ripplenest.run import answers, changed, keys, one_state
from ripplenest.run.handing import Came, Handing
from ripplenest.run.joiner import Task
from ripplenest.run.known import Known
from ripplenest.run.one_state import Sign
from ripplenest.run.probes import Probes
from ripplenest.run.rounds import Looked, Lookup, Work
from ripplenest.run.sizes import are_few
from ripplenest.run.step import Stepper
from ripplenest.vector import join
from ripplenest.vector.binding import Binding, Input
from ripplenest.vector.combinations import Combinations
from ripplenest.version.version import Tables

NO_KEYS = Rows.empty(())
NO_PLACE = Rows.of_counts((), {(): 1})  # of what does not depend on what is around it


@frozen
class Run:
    """One run over a program: the tables before it, and what is known to change, as statements see it; where what is
    stored changes otherwise, that (``moved``); of groups and first rows what readers have ``seen``. What parts have
    ``caused`` in auxiliary maps may be ``added_up``: how many rows it is then, by map and part. By map the ``pieces``
    that it is told of without a join.

    What it cost: stored rows that were ``read``, of which by map so many were ``cancelled`` by others of it, ``jobs``,
    and rows that were joined ``here`` in place of one. Tables may be read by tasks, as ``handing`` says (``by_tasks``:
    for which targets they were), and who has these may do the ``steps`` of keys. Rows of one state alone are joined
    where that is ``apart`` (``one_state.py``).
    """

    plan: Plan
    reader: Tables
    changes: dict[str, Rows]
    moved: dict[str, Rows] = field(factory=dict)
    caused: dict[str, dict[str, Rows]] = field(factory=dict)
    added_up: dict[tuple[str, str], int] = field(factory=dict)
    seen: dict[str, Rows] = field(factory=dict)
    built: dict[str, Rows] = field(factory=dict)
    pieces: dict[str, Rows] = field(factory=dict)
    read: list[int] = field(factory=list)
    cancelled: dict[str, int] = field(factory=dict)
    jobs: list[int] = field(factory=list)
    here: list[int] = field(factory=list)
    by_tasks: list[str] = field(factory=list)
    handing: Handing | None = None
    steps: Stepper | None = None
    apart: bool = False
    combinations: Combinations = field(factory=Combinations)
    known: Known = field(factory=Known)
    probes: Probes = field(init=False)

    @probes.default
    def _probes(self) -> Probes:
        return Probes(self.plan, self.reader, self.read, self.known)

    def next_level(self) -> None:
        """What statements have read is there for those of the levels to come, unless it is much, or whole tables."""
        self.known.next_level()
        self.combinations.forget()

    def in_vain(self, table: str, rows: int) -> None:
        """So many more rows of a table were read that others of it cancel: exactly, or, of an order, those that were
        read beyond what the first rows change by."""
        self.cancelled[table] = self.cancelled.get(table, 0) + max(rows, 0)

    def handed(self, handing: Handing, source: Source, came: Came, how: str) -> Rows:
        """The rows of a source, which nobody reads here."""

        def whole() -> Rows:
            rows = handing.rows(source, self.plan, came)
            if source.at is not At.DELTA and how == "whole":
                self.read.append(len(rows))
            return rows

        return self.known.once((source.table, source.at, how), None, whole)

    def task(
        self, target: str, p: Product, part: str, change: Rows | None, sign: Sign | None = None
    ) -> Work[Task | None]:
        """A product with the rows of each source that can take part, of the change those that chose it.

        A source is read whole where a key has no value for some row, which may be a row without a partner.
        """
        product = p
        found: dict[int, Rows] = {}
        steps: list[Step] = []
        mixed = set[int]()  # sources of which rows are there that others asked for
        for step in p.steps:
            apart = not step.via and not step.place and p.sources[step.source].at is not At.DELTA
            if apart and not self._possible(p, steps, found):
                return None
            if (lying := self._within(p, steps, step, found, mixed)) is not None:
                steps.append(step)
                found[step.source] = self._source(p, step, lying, part, sign)
                if found[step.source].is_empty:
                    return None
                continue
            alone = len(step.via) <= 1 and mixed.isdisjoint(step.via)
            read, asked = self._asked(p, steps, step, found, alone)
            if read.keys != step.keys and not read.keys:
                product = p.cautious()
            steps.append(read)
            if change is not None and not found:
                found[step.source] = self._as_read(p, step.source, change, sign)
            else:
                looked = yield from self._looked(p, read, asked, part, sign)
                found[step.source] = self._source(p, read, looked, part, sign)
                if looked.keys is not asked:
                    mixed.add(step.source)
            is_others = step.source in mixed and step is not p.steps[-1] and not self._meets(p, steps, step, found)
            if found[step.source].is_empty or is_others:
                return None
        rows = tuple(found[i] for i in range(len(p.sources)))
        return Task(target, product, rows, combinations=self.combinations)

    def _asked(
        self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows], alone: bool
    ) -> tuple[Step, Rows]:
        """What is looked up at ``step``, and by which of its keys: by none where one has no value, by those of one
        source where all are too many. Each row of the source that they come from asks ``alone``, or combinations do.
        A change is there.
        """
        if p.sources[step.source].at is At.DELTA:
            return step, NO_KEYS
        if step.place:
            return step, self._places(self._combined(p, read, found), step)
        asked = self._keys(p, step, found) if alone else self._joined(p, read, step, found)
        if asked == "too many" or (asked == "no value" and len(step.via) == 1):
            step = step.alone or step
            asked = self._keys(p, step, found)
        return (step, asked) if isinstance(asked, Rows) else (evolve(step, keys=(), via=()), NO_KEYS)

    def _within(
        self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows], mixed: Set[int]
    ) -> Looked | None:
        """What is read between values of a source that was read before, of those of its rows that this product asked
        for, and of these what does not come to nothing; None where it is not read so."""
        table = p.sources[step.source].table
        ways = [r for r in ranged(step) if r.via in found and r.order in self.plan.ranges.get(table, ())]
        if not ways:
            return None
        via = ways[0].via
        rows, own = found[via], p.conditions_on(via)

        def looked(asking: Callable[[], Binding], told: Sequence[keys.Told | None]) -> Looked | None:
            asked = [keys.within(step, r, asking, t) for r, t in zip(ways, told, strict=True)]
            some = [a for a in asked if a is not None]
            return self.probes.within(table, *some) if some else None

        def alone() -> Binding:
            return join.fulfilling(Binding.of(via, self.indexed(rows)), own)

        def joined() -> Binding:
            made = self._own(p, read, via, found)
            return alone() if made is None else made

        if via in mixed:
            return looked(joined, [None] * len(ways))
        told = tuple(_told(p, step, r) for r in ways)
        asked = ("within", table, id(rows), tuple(ways), step.keys, own, told)
        return self.known.once(asked, rows, lambda: looked(alone, told), lasts=True)

    def _own(self, p: Product, read: Sequence[Step], source: int, found: Mapping[int, Rows]) -> Binding | None:
        """The rows of a source that go with what it was looked up by; None where that is not known, or they are many.
        """
        own = next(s for s in p.steps if s.source == source)
        steps = _linked(read, (*p.behind(own), own))
        inputs = [self.indexed(found[s.source]) for s in steps or ()]
        return None if steps is None else self.combinations.within(p, steps, inputs, MOST_KEYS)

    def scan(self, p: Product) -> tuple[Rows, ...]:
        """Every source whole; of a fold that has a row for every place, those that the others ask for: by no key that
        can fail where one has no value, which may be that of a row without a partner. Raises EvaluationError."""
        try:
            return self._scanned(p)
        except EvaluationError:
            cautious = p.cautious()
            if cautious == p:
                raise
            return self._scanned(cautious)

    def _scanned(self, p: Product) -> tuple[Rows, ...]:
        found: dict[int, Rows] = {}
        read: list[Step] = []
        for step in p.steps:
            table = p.sources[step.source].table
            rows = self.known.once(table, None, partial(self._whole, table))
            places = self._places(self._asking(p, read, step, found), step) if step.place else NO_KEYS
            found[step.source] = self._completed(table, rows, places)
            read.append(step)
        return tuple(found[i] for i in range(len(p.sources)))

    def _looked(self, p: Product, step: Step, keys: Rows, part: str, sign: Sign | None) -> Work[Looked]:
        """What is stored of a source that has ``keys``, or what others ask for, too; of a change all."""
        source = p.sources[step.source]
        if source.at is At.DELTA:
            return Looked(self._as_read(p, step.source, self._change(source, part), sign), keys)
        table = source.table
        looked: Looked = (yield Lookup(table, step.columns, keys)) if step.keys else self.probes.scanned(table, keys)
        return looked

    def _change(self, source: Source, part: str) -> Rows:
        """How a table changes: of an auxiliary map, what ``part`` has done to it."""
        nothing = Rows.empty(source.types)
        if source.table in self.plan.auxiliaries:
            return self.caused.get(source.table, {}).get(part, nothing)
        return self.changes.get(source.table, nothing)

    def _as_read(self, p: Product, source: int, change: Rows, sign: Sign | None) -> Rows:
        """What a product joins of a change: nothing, where nothing that it reads of a row becomes another."""
        if sign is not None:
            return self.known.once((id(change), sign), change, partial(one_state.of_sign, change, sign), lasts=True)
        if len(p.sources) == 1:  # what cancels is as soon found in what it makes
            return change
        read, rest = p.columns_read[source], p.columns_joined[source]
        asked = (id(change), read) if rest == read else (id(change), read, rest, p.conditions_on(source))
        return self.known.once(asked, change, lambda: changed.joined(p, source, change), lasts=True)

    def _source(self, p: Product, step: Step, looked: Looked, part: str, sign: Sign | None) -> Rows:
        """The rows of a source as of the moment at which it is read."""
        source = p.sources[step.source]
        if source.at is At.DELTA:
            return looked.rows
        table = source.table
        turn = part if table in self.plan.auxiliaries else None
        change = self.changes.get(table)

        def read() -> Rows:
            if turn is not None:
                return reduce(Rows.plus, self._passed(table, turn, source.at), looked.rows)
            # A place whose change says when it gets a row of its own.
            before = self._completed(table, looked.rows, looked.keys) if step.place else looked.rows
            if change is None:
                return before
            if sign is not None:
                return one_state.beside(before, change, source.at, sign)
            return before.plus(change) if source.at is At.NEW else before

        return self.known.once((table, source.at, turn, step.place, id(looked), sign), looked, read, lasts=True)

    def _asking(self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows]) -> Binding:
        """What asks for places where all is read: rows whose columns these are, which are fewer than combinations."""
        of = {k.scalar.source if isinstance(k.scalar, Col) else None for k in step.keys}
        match [*of]:
            case [int(source)] if source in found:
                return Binding.of(source, self.indexed(found[source]))
        return self._combined(p, read, found)

    def _combined(self, p: Product, read: Sequence[Step], found: Mapping[int, Rows]) -> Binding:
        """Combinations of the rows ``found`` by the steps ``read``."""
        return self.combinations.of(p, read, [self.indexed(found[own.source]) for own in read])

    def _places(self, asking: Binding, step: Step) -> Rows:
        """The places for which these ask."""
        keys, which = join.keys_of(asking, step.keys)
        if not keys:
            return NO_PLACE if len(which) else NO_KEYS
        return Rows.of_columns(tuple(nullable_base(k.scalar.type) for k in step.keys), keys)

    def _completed(self, table: str, rows: Rows, places: Rows) -> Rows:
        """What is read of a map, also of a fold that has a row for every place."""
        m = self.plan.passing.get(table)
        if m is None or m.answers is None or m.answers.nothing is None:
            return rows
        return answers.completed(m.answers, rows, places)

    def _keys(self, p: Product, step: Step, found: Mapping[int, Rows]) -> keys.Asked:
        """The keys that the rows of the source already read ask for, or the constants."""
        if not step.keys:
            return NO_KEYS
        own = p.conditions_on(*step.via)
        rows = found[step.via[0]] if step.via else None
        asked = (id(rows), step.via, step.keys, own)
        return self.known.once(asked, rows, lambda: keys.keys_of(step, rows, own, self.indexed), lasts=True)

    def _joined(self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows]) -> keys.Asked:
        """The keys that combinations of rows of several sources ask for. What was read without its keys hangs together
        with nothing."""
        steps = _linked(read, p.behind(step))
        if steps is None:
            return "no value"
        rows = {s.source: found[s.source] for s in steps}
        asked = (tuple(map(id, rows.values())), steps, step.keys, step.via)
        joined = lambda: keys.joined(p, steps, step, rows, self.indexed, self.combinations)  # noqa: E731
        return self.known.once(asked, rows, joined, lasts=True)

    def _meets(self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows]) -> bool:
        """Whether some row that was read at ``step``, of those that others asked for, too, goes with what it was looked
        up by. Where that is not known, or they are many, it may."""
        steps = _linked(read, (*p.behind(step), step))
        try:
            return steps is None or self._possible(p, steps, {s.source: found[s.source] for s in steps}, MOST_KEYS)
        except EvaluationError:
            return True

    def indexed(self, rows: Rows) -> Input:
        """``rows`` with their indexes, the same for all of a level who look them up."""
        return self.known.once((id(rows), "input"), rows, lambda: Input.of(rows))

    def _possible(
        self, p: Product, steps: Sequence[Step], found: Mapping[int, Rows], most: int | None = None
    ) -> bool:
        """Whether some combination of the rows ``found`` can be in the result. More than ``most`` are not looked at."""
        if are_few(found.values()):
            return evaluate.possible(p, steps, {i: rows.counts() for i, rows in found.items()})
        made = self.combinations.within(p, steps, [self.indexed(found[step.source]) for step in steps], most)
        return made is None or len(made) > 0

    def _passed(self, table: str, part: str, at: At) -> Iterator[Rows]:
        """What parts whose turn came before that of ``part`` did to an auxiliary map, and ``part`` itself for M⁺."""
        turn = self.plan.turns[part] + (at is At.NEW)
        return (rows for cause, rows in self.caused.get(table, {}).items() if self.plan.turns[cause] < turn)

    def stored(self, table: str) -> Rows:
        """All rows of a table, as they are stored."""
        return self.built[table] if table in self.built else self.reader.scan(table)

    def _whole(self, table: str) -> Rows:
        return self.probes.visible(table, self.stored(table))


def _told(p: Product, step: Step, r: Ranged) -> keys.Told | None:
    by = told_by(p, step, r)
    return None if by is None else keys.Told(by, decided_by(p, step, r))


def _linked(read: Sequence[Step], wanted: Sequence[Step]) -> tuple[Step, ...] | None:
    """The ``wanted`` steps as they were ``read``; None where one was read without its keys."""
    before = {s.source: s for s in read}
    found = tuple(before[s.source] for s in wanted)
    return None if any(s.keys and not own.keys for s, own in zip(wanted, found, strict=True)) else found
