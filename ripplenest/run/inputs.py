"""The small inputs of a statement: the change itself, and what probes find in other tables at the keys of the change.

A statement may read a table before or after the batch (``At``), and an auxiliary map as of its turn
(``delta/program.py``); these must not be mixed up. Statements of a level that ask the same table for the same keys are
given the same rows, which are read once: what is asked is a function of the rows that ask, of the step and of its
conditions, and the engine sees by their identity that they are the same.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from ripplenest.data import columnar
from ripplenest.data.rows import Rows
from ripplenest.nrc.errors import EvaluationError
from ripplenest.nrc.syntax import At
from ripplenest.plan import evaluate
from ripplenest.plan.lower import nullable_base
from ripplenest.plan.planned import Plan
from ripplenest.plan.product import Product, Scalar, Step, sources_of
from ripplenest.run import answers
from ripplenest.run.joiner import Task
from ripplenest.run.passing import visible
from ripplenest.run.sizes import are_few
from ripplenest.vector import join
from ripplenest.vector.binding import Binding, Input
from ripplenest.version.version import Tables

NO_KEYS = Rows.empty(())
NO_PLACE = Rows.of_counts((), {(): 1})  # of what does not depend on what is around it
Found = TypeVar("Found", Rows, Rows | None)


@frozen
class Run:
    """One run over a program: the tables before it, and what is known to change; of groups and first rows what readers
    have ``seen``.

    What it cost: stored rows that were ``read``, ``jobs``, and rows that were joined ``here`` in place of one.
    """

    plan: Plan
    reader: Tables
    changes: dict[str, Rows]
    caused: dict[str, dict[str, Rows]] = field(factory=dict)
    seen: dict[str, Rows] = field(factory=dict)
    built: dict[str, Rows] = field(factory=dict)
    read: list[int] = field(factory=list)
    jobs: list[int] = field(factory=list)
    here: list[int] = field(factory=list)
    _known: dict[Hashable, tuple[Rows | None, Any]] = field(factory=dict)

    def next_level(self) -> None:
        """What statements read from now on is not what those of the levels before have read."""
        self._known.clear()

    def task(self, target: str, p: Product, part: str) -> Task | None:
        """A product of a statement for ``part`` with the rows of each source that can take part; None when the product
        is empty.

        A source is read whole where a key has no value for some row, which may be a row without a partner.
        """
        product = p
        found: dict[int, Rows] = {}
        steps: list[Step] = []
        for step in p.steps:
            apart = step.via is None and not step.place and p.sources[step.source].at is not At.DELTA
            if apart and not _possible(p, steps, found):
                return None
            looked_up = self._places(p, steps, step, found) if step.place else self._keys(p, step, found)
            if looked_up is None:
                product = p.cautious()
            steps.append(evolve(step, keys=(), via=None) if looked_up is None else step)
            found[step.source] = self._source(p, steps[-1], looked_up or NO_KEYS, part)
            if found[step.source].is_empty:
                return None
        return Task(target, product, tuple(found[i] for i in range(len(p.sources))))

    def scan(self, p: Product) -> Iterator[Rows]:
        """Every source whole; of a fold that has a row for every place, those that the others ask for."""
        found: dict[int, Rows] = {}
        read: list[Step] = []
        for step in p.steps:
            table = p.sources[step.source].table
            rows = self._once(table, None, partial(self._whole, table))
            places = self._places(p, read, step, found) if step.place else NO_KEYS
            found[step.source] = self._completed(table, rows, places)
            read.append(step)
        return (found[i] for i in range(len(p.sources)))

    def _source(self, p: Product, step: Step, keys: Rows, part: str) -> Rows:
        source = p.sources[step.source]
        change = self.changes.get(source.table)
        if source.at is At.DELTA:
            return change if change is not None else Rows.empty(source.types)
        turn = part if source.table in self.plan.auxiliaries else None
        asked = (source.table, source.at, turn, step.columns, id(keys))

        def read() -> Rows:
            rows = self._before(source.table, step, keys)
            if turn is not None:
                return reduce(Rows.plus, self._passed(source.table, turn, source.at), rows)
            before = self._completed(source.table, rows, keys)  # whose change says when it gets a row of its own
            return before.plus(change) if source.at is At.NEW and change is not None else before

        return self._once(asked, keys, read)

    def _places(self, p: Product, read: Sequence[Step], step: Step, found: Mapping[int, Rows]) -> Rows:
        """The places for which combinations of the rows ``found`` by the steps ``read`` ask, each once."""
        inputs = [Input(found[own.source].consolidated()) for own in read]
        keys, asking = join.keys_of(join.combinations(p, read, inputs), step.keys)
        if not keys:
            return NO_PLACE if len(asking) else NO_KEYS
        types = tuple(nullable_base(k.scalar.type) for k in step.keys)
        return columnar.each_once(Rows.of_columns(types, keys).consolidated())

    def _completed(self, table: str, rows: Rows, places: Rows) -> Rows:
        """What is read of a map, also of a fold that has a row for every place."""
        m = self.plan.passing.get(table)
        if m is None or m.answers is None or m.answers.nothing is None:
            return rows
        return answers.completed(m.answers, rows, places)

    def _keys(self, p: Product, step: Step, found: Mapping[int, Rows]) -> Rows | None:
        """The keys that the rows of the source already read ask for, or the constants. None when one has no value."""
        if not step.keys:
            return NO_KEYS
        own = tuple(c for c in p.conditions if sources_of(c) == {step.via} and c not in p.partial)
        rows = None if step.via is None else found[step.via]
        return self._once((id(rows), step.via, step.keys, own), rows, lambda: _keys(step, rows, own))

    def _once(self, asked: Hashable, keeps: Rows | None, read: Callable[[], Found]) -> Found:
        """What ``read`` gives, the same for all of a level who ask so; ``keeps`` is what ``asked`` has the id of."""
        if asked not in self._known:
            self._known[asked] = (keeps, read())
        found: Found = self._known[asked][1]
        return found

    def _passed(self, table: str, part: str, at: At) -> Iterator[Rows]:
        """What parts whose turn came before that of ``part`` did to an auxiliary map, and ``part`` itself for M⁺."""
        turn = self.plan.turns[part] + (at is At.NEW)
        return (rows for cause, rows in self.caused.get(table, {}).items() if self.plan.turns[cause] < turn)

    def _whole(self, table: str) -> Rows:
        return self._visible(table, self.built[table] if table in self.built else self.reader.scan(table))

    def _before(self, table: str, step: Step, keys: Rows) -> Rows:
        rows = self.reader.probe(table, step.columns, keys) if step.keys else self.reader.scan(table)
        self.read.append(len(rows))
        return self._visible(table, rows)

    def _visible(self, table: str, rows: Rows) -> Rows:
        return visible(self.plan.shown.get(table), rows)


def _possible(p: Product, steps: Sequence[Step], found: Mapping[int, Rows]) -> bool:
    if are_few(found.values()):
        return evaluate.possible(p, steps, {i: rows.counts() for i, rows in found.items()})
    return join.possible(p, steps, [Input(found[step.source]) for step in steps])


def _keys(step: Step, rows: Rows | None, own: Sequence[Scalar]) -> Rows | None:
    """NULL asks only when NULL equals NULL; rows that do not fulfil the conditions on their source alone ask nothing.
    None when a key has no value."""
    try:
        return _keys_by_rows(step, rows, own) if rows is None or are_few([rows]) else _keys_by_columns(step, rows, own)
    except EvaluationError:
        return None


def _keys_by_rows(step: Step, rows: Rows | None, own: Sequence[Scalar]) -> Rows:
    via = step.via
    bindings: list[evaluate.Binding] = [{}] if rows is None or via is None else [{via: row} for row, _ in rows.pairs()]
    asking = (b for b in bindings if all(evaluate.value(c, b) is True for c in own))
    keys = dict.fromkeys(tuple(evaluate.value(k.scalar, b) for k in step.keys) for b in asking)
    asked = [key for key in keys if all(v is not None or k.null_safe for v, k in zip(key, step.keys, strict=True))]
    return Rows.of_counts(tuple(k.scalar.type for k in step.keys), dict.fromkeys(asked, 1))


def _keys_by_columns(step: Step, rows: Rows, own: Sequence[Scalar]) -> Rows:
    assert step.via is not None
    keys, _ = join.keys_of(join.fulfilling(Binding.of(step.via, Input(rows)), own), step.keys)
    return Rows.of_columns(tuple(k.scalar.type for k in step.keys), keys)
